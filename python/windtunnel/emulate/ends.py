"""Both ends of a path, seen from the command that starts them (``end.py`` is what they are)."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import windtunnel
from windtunnel.emulate.end import MESSAGE
from windtunnel.errors import InputError, RunFailedError
from windtunnel.kernel.tools import path, require
from windtunnel.uninterrupted import uninterrupted

#: Addresses of the near and the far end: a private network, and a unique local one.
ADDRESSES = (("10.0.0.1/24", "fd00::1/64"), ("10.0.0.2/24", "fd00::2/64"))
NAMES = ("near", "far")
#: An end is there within a fraction of a second; one that is not after this long never will be.
_STARTS_S = 20.0
#: An end asks its command to end and waits for it a little; then it is killed.
_ENDS_S = 0.6
#: What an end's interpreter runs: the standard library and these few files, whatever else the current folder has.
_PROGRAM = (
    "import json, sys; sys.path.append(sys.argv[1]); from windtunnel.emulate.end import main; "
    "main(int(sys.argv[2]), json.loads(sys.argv[3]))"
)


@dataclass
class End:
    """One end. ``pid``: its first process; ``fd``: its device, which is here alone."""

    name: str
    namespace: str | None
    channel: socket.socket
    process: subprocess.Popen[bytes]
    pid: int = 0
    fd: int = -1
    device: str = ""
    addresses: list[str] = field(default_factory=list)
    #: Whether its command can be reached, its exit code, and the packets that found no place in the device.
    ready: bool = False
    exit_code: int | None = None
    dropped: int = 0

    def run(self, words: Sequence[str], *, wait: bool = False) -> None:
        """Start a command. ``wait``: it is to say when it listens."""
        self._say(run=list(words), wait=wait)

    def hear(self, timeout_s: float) -> bool:
        """Take note of the next message; False if none came in this time. Raises InputError for what the end cannot do,
        and RunFailedError if it is gone.
        """
        self.channel.settimeout(timeout_s)
        try:
            text, descriptors, _, _ = socket.recv_fds(self.channel, MESSAGE, 1)
        except (TimeoutError, BlockingIOError):
            return False
        except OSError:
            text, descriptors = b"", []
        for descriptor in descriptors:
            os.set_inheritable(descriptor, False)
            self.fd = descriptor
        if not text:
            raise RunFailedError(f"the process of the {self.name} end was ended from outside")
        self._take(json.loads(text))
        return True

    def end(self) -> None:
        """Ask the end to end."""
        self._say(end=True)

    def enter(self) -> str:
        """The command with which a shell of the user gets to this end."""
        if self.namespace is not None:
            return f"ip netns exec {self.namespace} bash"
        mine = Path("/proc/self/ns/user").readlink() == Path(f"/proc/{self.pid}/ns/user").readlink()
        return f"nsenter -t {self.pid} {'' if mine else '-U --preserve-credentials '}-n bash"

    def _say(self, **message: Any) -> None:
        try:
            self.channel.send(json.dumps(message).encode())
        except OSError as error:
            if error.errno is not None and not isinstance(error, ConnectionError):
                raise InputError(f"the command of the {self.name} end cannot be started: {error.strerror}") from None

    def _take(self, message: dict[str, Any]) -> None:
        if "error" in message:
            raise InputError(message["error"])
        self.pid = message.get("pid", self.pid)
        self.device = message.get("device", self.device)
        self.addresses = message.get("addresses", self.addresses)
        self.ready = message.get("ready", self.ready)
        self.exit_code = message.get("exit", self.exit_code)
        self.dropped = message.get("dropped", self.dropped)


@contextmanager
def open_ends(
    namespaces: Sequence[str | None], mtu: int, outputs: Sequence[int | None], *, stdin: bool
) -> Iterator[tuple[End, End]]:
    """The near and the far end, with their devices; all of it is gone with the block.

    ``namespaces``: names, or None for a new one. ``outputs``: descriptors for what commands write (None: ours).
    ``stdin``: the near command has our standard input. Raises InputError for what the system lacks or does not allow.
    """
    if sys.platform != "linux":
        raise InputError("emulate needs Linux")
    if namespaces[0] is not None and namespaces[0] == namespaces[1]:
        raise InputError(f"--in and --far-in: both ends cannot be in one namespace, `{namespaces[0]}`")
    require({"ip": "iproute2"}, "emulate")
    with ExitStack() as stack:
        ends = []
        for index, name in enumerate(NAMES):
            settings = {
                "namespace": namespaces[index],
                "addresses": ADDRESSES[index],
                "device": "windtunnel%d",
                "mtu": mtu,
                "ip": shutil.which("ip", path=path()),
            }
            with uninterrupted():
                end = _start(name, settings, outputs[index], stdin=stdin and index == 0)
                stack.callback(_stop, end)
            ends.append(end)
        for end in ends:
            while end.fd < 0 or not end.pid:
                if not end.hear(_STARTS_S):
                    raise RunFailedError(f"the {end.name} end did not start in {_STARTS_S:g} s")
        yield ends[0], ends[1]


def _start(name: str, settings: dict[str, Any], output: int | None, *, stdin: bool) -> End:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    root = str(Path(windtunnel.__file__).parents[1])
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _PROGRAM, root, str(theirs.fileno()), json.dumps(settings)],
            stdin=None if stdin else subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=[theirs.fileno()],
        )
    return End(name, settings["namespace"], ours, process)


def end_both(ends: Sequence[End]) -> None:
    """End the commands of both ends, and learn what became of their devices."""
    for end in ends:
        end.end()
    for end in ends:
        # Without a word from it, the end is gone already, or is killed with the block.
        with suppress(RunFailedError, InputError):
            while end.hear(_ENDS_S):
                pass


def _stop(end: End) -> None:
    """Nothing of an end stays: its processes, its network, and our descriptors."""
    with uninterrupted():
        end.channel.close()
        if end.fd >= 0:
            os.close(end.fd)
        try:
            end.process.wait(_ENDS_S)
        except subprocess.TimeoutExpired:
            end.process.send_signal(signal.SIGKILL)
            end.process.wait()

"""Captures of the kernel of this machine, in real time, for the tests of ``windtunnel explain``.

    python python/tests/local_captures.py

makes those that are missing in ``data/explain-local``; README.md there says what they are. It takes root, namespaces,
``/dev/net/tun``, and ``ip``, ``tc`` and ``dumpcap``. Time is the machine's, so that no two are equal.

On the paths of ``kernel_captures.py`` the sender is behind a router: its device is a pair of Ethernet's, which takes
several segments as one packet (TSO, GSO), and the path that ``windtunnel
emulate`` carries out is between the router and the receiver. There packets have no link layer, and are captured from
all devices, as ``tcpdump -i any`` does, with Linux's cooked headers. Over ``tbf`` the two ends are neighbours, and the
kernel's own token bucket is in the sender's device: what it drops, no capture shows. ``loopback`` has no path at all.
"""

from __future__ import annotations

import io
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from header_captures import COOKED, INTERFACE, LINK_HEADER, PACKET, add, bare, blocks, keep, start
from kernel_captures import PATHS

DATA = Path(__file__).parent / "data" / "explain-local"
#: What this kernel has; others need a module that a kernel may lack.
CONTROLLERS = ("reno", "cubic", "bbr")
ENDS = ("sender", "receiver")
TBF, LOOPBACK = "tbf", "loopback"
_SECONDS = 15
#: Bytes of a packet that are captured: headers with all options, behind the longest link header.
_SNAPLEN = 96
#: Lengths of records with link headers, twice where data and acknowledgements alternate.
DISTANCES = (98 + 2, 200, 232, 116)
_PORT = 7000
#: A program for one end: the sender sends for some seconds, or some bytes, with a controller; the receiver counts.
_PROGRAM = """
import socket, sys, time
if sys.argv[1] == "receive":
    listening = socket.create_server(("0.0.0.0", PORT))
    connection, _ = listening.accept()
    while connection.recv(1 << 20):
        pass
else:
    _, _, host, controller, seconds, size = sys.argv
    connection = socket.socket()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, controller.encode())
    connection.connect((host, PORT))
    end, left, part = time.monotonic() + float(seconds), int(size), bytes(1 << 16)
    while left > 0 and time.monotonic() < end:
        left -= connection.send(part)
""".replace("PORT", str(_PORT))


@dataclass(frozen=True)
class LocalCapture:
    """One of the captures. ``path``: the name of one, ``tbf`` or ``loopback``."""

    path: str
    controller: str
    end: str

    @property
    def name(self) -> str:
        """Path, controller and end."""
        return f"{self.path}, {self.controller}, {self.end}"

    @property
    def truth(self) -> tuple[str, ...]:
        """Its controller."""
        return (self.controller,)

    @property
    def file(self) -> Path:
        """Where it is kept."""
        return DATA / f"{self.path}-{self.controller}-{self.end}.pcapng.xz"


def captures() -> list[LocalCapture]:
    """Those that are kept: one of each kind."""
    return [
        LocalCapture(*words)
        for words in (
            ("fifo-1bdp", "reno", "sender"),
            ("fifo-1bdp", "cubic", "sender"),
            ("fifo-1bdp", "bbr", "receiver"),
            ("pie", "reno", "receiver"),
            ("pie", "cubic", "sender"),
            ("fq_codel", "cubic", "receiver"),
            ("fq_codel", "bbr", "sender"),
            ("loss", "reno", "sender"),
            ("loss", "cubic", "receiver"),
            (TBF, "cubic", "sender"),
            (LOOPBACK, "cubic", "sender"),
            (LOOPBACK, "bbr", "sender"),
        )
    ]


def lacks() -> str:
    """What this machine lacks to make them, beyond what an emulation needs."""
    missing = [name for name in ("ip", "tc", "dumpcap") if shutil.which(name) is None]
    if missing:
        return f"needs {' and '.join(missing)}"
    try:
        modules = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text(encoding="utf-8").split()
    except OSError:
        modules = []
    without = [name for name in CONTROLLERS if name not in modules]
    return f"needs a kernel with {' and '.join(without)}" if without else ""


def headers(capture: bytes, before: float = float("inf")) -> bytes:
    """The TCP headers of a capture of one device, with the link's, as times since its first packet; those of IPv4."""
    made, link, unit, first = None, 0, 1, None
    for kind, content in blocks(capture):
        if kind == INTERFACE:
            link, unit = struct.unpack_from("<H", content)[0], _nanoseconds(content[8:])
            made = start(link)
        elif kind == PACKET and made is not None:
            _, high, low, kept, length = struct.unpack_from("<5I", content)
            front = LINK_HEADER[link]
            packet = bare(content[20 + front : 20 + kept])
            if packet is None:
                continue
            head = content[20 : 20 + front]
            if link == COOKED:
                # A device without addresses leaves whatever was there.
                head = head[:6] + bytes(8) + head[14:]
            micros = ((high << 32) + low) * unit // 1000
            first = micros if first is None else first
            if micros - first < before * 1e6:
                add(made, micros - first, head + packet, length)
    return (made or io.BytesIO()).getvalue()


def _nanoseconds(options: bytes) -> int:
    """The unit of an interface's times (``if_tsresol``): microseconds, or what the option says."""
    at = 0
    while at + 4 <= len(options):
        code, length = struct.unpack_from("<HH", options, at)
        if code == 9:
            return int(10 ** (9 - options[at + 4]))
        at += 4 + length + -length % 4
    return 1000


class _Host:
    """A network namespace of a name of its own, which goes away."""

    def __init__(self, letter: str) -> None:
        self.name = f"wt{os.getpid()}{letter}"

    def __enter__(self) -> _Host:
        _do(["ip", "netns", "add", self.name])
        self.do("ip", "link", "set", "lo", "up")
        return self

    def __exit__(self, *_: object) -> None:
        _do(["ip", "netns", "del", self.name])

    def words(self, *words: str) -> list[str]:
        """A command there."""
        return ["ip", "netns", "exec", self.name, *words]

    def do(self, *words: str) -> None:
        _do(self.words(*words))


def _do(words: Sequence[str]) -> None:
    # A sender waits until its buffer takes the last data.
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=_SECONDS + 60)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr}")


@contextmanager
def _captured(host: _Host, device: str, file: Path) -> Iterator[None]:
    """Captures what passes a device."""
    words = host.words("dumpcap", "-q", "-i", device, "-s", str(_SNAPLEN), "-w", str(file))
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    # It says so when it has begun.
    for line in process.stderr:
        if line.startswith("File:"):
            break
    try:
        yield
    finally:
        time.sleep(0.3)
        process.terminate()
        process.communicate(timeout=20)


@contextmanager
def _running(words: Sequence[str]) -> Iterator[None]:
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.kill()
        process.wait(timeout=20)


def _pair(one: _Host, other: _Host) -> None:
    """A pair of devices ``eth0`` between two hosts, 10.1.0.1 and 10.1.0.2."""
    _do(["ip", "-n", one.name, "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", other.name])
    for host, address in ((one, "10.1.0.1/24"), (other, "10.1.0.2/24")):
        host.do("ip", "addr", "add", address, "dev", "eth0")
        host.do("ip", "link", "set", "eth0", "up")


def _listens(host: _Host) -> None:
    for _ in range(100):
        done = subprocess.run(host.words("cat", "/proc/net/tcp"), capture_output=True, text=True, check=True, timeout=9)
        if f":{_PORT:04X} 00000000:0000 0A" in done.stdout:
            return
        time.sleep(0.1)
    raise RuntimeError("the receiver does not listen")


def _ends(folder: Path, host: str, controller: str, size: int) -> tuple[list[str], list[str]]:
    """The words of the sender and the receiver."""
    file = folder / "end.py"
    file.write_text(_PROGRAM, encoding="utf-8")
    python = [sys.executable, str(file)]
    return [*python, "send", host, controller, str(_SECONDS), str(size)], [*python, "receive"]


def record(path: str, controller: str) -> dict[str, bytes]:
    """What both ends capture, as pcapng with headers alone."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = {end: folder / f"{end}.pcapng" for end in ENDS}
        match path:
            case "tbf":
                _over_tbf(folder, controller, files)
            case "loopback":
                _over_loopback(folder, controller, files)
            case _:
                _emulated(path, folder, controller, files)
        return {end: headers(file.read_bytes(), _SECONDS) for end, file in files.items() if file.exists()}


def _over_loopback(folder: Path, controller: str, files: dict[str, Path]) -> None:
    send, receive = _ends(folder, "127.0.0.1", controller, 400_000_000)
    with _Host("a") as host, _running(host.words(*receive)), _captured(host, "lo", files["sender"]):
        _listens(host)
        host.do(*send)


def _over_tbf(folder: Path, controller: str, files: dict[str, Path]) -> None:
    send, receive = _ends(folder, "10.1.0.2", controller, 1 << 40)
    with ExitStack() as stack:
        one, other = (stack.enter_context(_Host(letter)) for letter in "ab")
        _pair(one, other)
        one.do("tc", "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", "8mbit", "burst", "5kb", "latency", "40ms")
        stack.enter_context(_running(other.words(*receive)))
        for host, end in ((one, "sender"), (other, "receiver")):
            stack.enter_context(_captured(host, "eth0", files[end]))
        _listens(other)
        one.do(*send)


def _emulated(path: str, folder: Path, controller: str, files: dict[str, Path]) -> None:
    (folder / "path.toml").write_text(scenario(path), encoding="utf-8")
    send, receive = _ends(folder, "10.0.0.2", controller, 1 << 40)
    with ExitStack() as stack:
        one, router, far = (stack.enter_context(_Host(letter)) for letter in "abc")
        _pair(one, router)
        one.do("ip", "route", "add", "default", "via", "10.1.0.2")
        router.do("sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward")
        words = [sys.executable, "-m", "windtunnel", "emulate", "path.toml", "--no-live", "--out", "out"]
        words += ["--in", router.name, "--far-in", far.name, "--duration", f"{_SECONDS + 60} s"]
        process = subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        stack.callback(_ended, process)
        _has_device(far)
        far.do("ip", "route", "add", "10.1.0.0/24", "via", "10.0.0.1")
        stack.enter_context(_running(far.words(*receive)))
        stack.enter_context(_captured(one, "eth0", files["sender"]))
        stack.enter_context(_captured(far, "any", files["receiver"]))
        _listens(far)
        one.do(*send)


def _ended(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    process.wait(timeout=60)


def _has_device(host: _Host) -> None:
    for _ in range(200):
        done = subprocess.run(host.words("ip", "addr"), capture_output=True, text=True, check=True, timeout=9)
        if "10.0.0.2/24" in done.stdout:
            return
        time.sleep(0.1)
    raise RuntimeError("the emulation does not begin")


def scenario(path: str) -> str:
    """The path's bottleneck and delay, as a file."""
    [of] = [each for each in PATHS if each.name == path]
    queue = ", ".join(f'{key} = "{value}"' for key, value in of.queue.items())
    impair = f'impair = [{{ kind = "loss", probability = "{of.loss}", affects = "data" }}]\n' if of.loss else ""
    return (
        f'duration = "1 s"\n[bottleneck]\nrate = "{of.rate}"\nqueue = {{ {queue} }}\n{impair}'
        f'[[flow]]\ncc = "cubic"\nrtt = "{of.rtt}"\n'
    )


def main() -> int:
    """Make those that are missing."""
    if missing := lacks():
        print(missing)
        return 1
    for each in captures():
        if not each.file.exists():
            keep(each.file, record(each.path, each.controller)[each.end], DISTANCES)
            print(f"{each.file.name}: {each.file.stat().st_size / 1e3:.0f} kB", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

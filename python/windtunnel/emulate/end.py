"""The process of one end of a path. It is started with a socket, on which it is told what to do.

It moves into the end's network and forks. The child is the first process of a namespace of processes: it makes the
device, sends its descriptor, starts the end's command when it is told to, and says how that ended. When the socket is
closed, or when this process or the one that started it dies, the child ends, and with it everything that the command
has started. The device goes with its last descriptor, and a network without a name with its last process.

Messages are JSON, one for each packet of the socket. This process gets ``run`` (the words of a command), ``wait`` (tell
when it listens) and ``end``; it sends ``pid``, ``device``, ``ready``, ``exit``, ``dropped`` and ``error``.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from windtunnel.emulate import device, namespaces
from windtunnel.emulate.namespaces import RefusedError

#: The most bytes of a message: a command line of the system has fewer.
MESSAGE = 1 << 18
#: A terminal sends these to all processes. The command ends by them; this process goes on until its socket is closed.
_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
#: Time for a command that is asked to end.
_GRACE_S = 0.3
#: How often a command is asked whether it listens.
_LOOK_S = 0.02
#: The state of a TCP socket that listens.
_LISTENS = "0A"


def main(number: int, settings: dict[str, Any]) -> None:
    """Carry out one end; ``number`` is the descriptor of its socket."""
    usual = [each for each in _ENDS if signal.getsignal(each) != signal.SIG_IGN]
    for each in _ENDS:
        signal.signal(each, signal.SIG_IGN)
    os.set_inheritable(number, False)
    channel = socket.socket(fileno=number)
    namespaces.die_with_parent()
    # Without a reader there is nothing left to do.
    with suppress(ConnectionError):
        child = _first_process(channel, settings["namespace"])
        if child:
            with channel:
                _say(channel, pid=child)
            os.waitpid(child, 0)
        elif child == 0:
            namespaces.die_with_parent()
            _End(channel, settings, usual).carry_out()


def _first_process(channel: socket.socket, namespace: str | None) -> int | None:
    """Fork inside of the end's network; None if that is refused."""
    try:
        if namespace is None:
            namespaces.leave_network()
        else:
            namespaces.enter_network(namespace)
    except RefusedError as error:
        _say(channel, error=str(error))
        return None
    return os.fork()


class _End:
    """The first process of an end."""

    def __init__(self, channel: socket.socket, settings: dict[str, Any], usual: Sequence[signal.Signals]) -> None:
        self.channel, self.settings, self.usual = channel, settings, usual
        self.device = ""
        self.command: int | None = None

    def carry_out(self) -> None:
        """Make the device, then do what is said until the socket is closed."""
        try:
            self._make_device()
        except RefusedError as error:
            _say(self.channel, error=str(error))
            return
        while (told := _hear(self.channel)) is not None:
            if "run" in told:
                ended = self._run(told["run"], wait=bool(told.get("wait")))
                if ended:
                    return
            elif "end" in told:
                self._end()
                return

    def _make_device(self) -> None:
        settings = self.settings
        ip, alone = settings["ip"], settings["namespace"] is None
        if not alone and (route := device.taken(ip, settings["addresses"])):
            raise RefusedError(f"the namespace `{settings['namespace']}` has a route to these addresses: {route}")
        descriptor, self.device = device.open_device(settings["device"])
        try:
            mine = device.configure(ip, self.device, settings["addresses"], settings["mtu"], alone=alone)
            text = json.dumps({"device": self.device, "addresses": mine}).encode()
            socket.send_fds(self.channel, [text], [descriptor])
        finally:
            os.close(descriptor)

    def _run(self, words: Sequence[str], *, wait: bool) -> bool:
        """Run a command, and go on until it has ended, or until this end is to end; returns whether it is."""
        before = _sockets()
        try:
            self.command = os.posix_spawnp(
                words[0], list(words), os.environ, setsigdef=[*self.usual, signal.SIGPIPE, signal.SIGXFSZ]
            )
        except OSError as error:
            _say(self.channel, error=f"{words[0]}: cannot be started: {error.strerror}")
            return False
        watched = select.poll()
        watched.register(self.channel, select.POLLIN)
        watched.register(os.pidfd_open(self.command), select.POLLIN)
        while True:
            if wait and _sockets() - before:
                _say(self.channel, ready=True)
                wait = False
            for number, _ in watched.poll(1000 * _LOOK_S if wait else 1000):
                if number != self.channel.fileno():
                    _say(self.channel, exit=self._exit_code())
                    return False
                told = _hear(self.channel)
                if told is None or "end" in told:
                    self._end()
                    return True
            self._reap()

    def _end(self) -> None:
        """Ask the command to end, wait a little, and tell what became of the device."""
        until = time.monotonic() + _GRACE_S
        if self.command is not None:
            os.kill(self.command, signal.SIGTERM)
            while self._reap() and time.monotonic() < until:
                time.sleep(0.005)
        _say(self.channel, dropped=device.dropped(self.settings["ip"], self.device))

    def _exit_code(self) -> int:
        assert self.command is not None
        _, status = os.waitpid(self.command, 0)
        self.command = None
        code = os.waitstatus_to_exitcode(status)
        return code if code >= 0 else 128 - code

    def _reap(self) -> bool:
        """Take note of children that have ended, the command's orphans among them; returns whether it goes on."""
        while self.command is not None:
            # The command's own end is awaited through its descriptor, which says how it ended.
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is None:
                return True
            if ended.si_pid == self.command:
                return False
            os.waitpid(ended.si_pid, 0)
        return False


def _sockets() -> set[str]:
    """The sockets of this network that others can reach: TCP that listens, and UDP."""
    reachable = set()
    for name in ("tcp", "tcp6", "udp", "udp6"):
        try:
            lines = Path("/proc/self/net", name).read_text(encoding="utf-8").splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            words = line.split()
            if name.startswith("udp") or words[3] == _LISTENS:
                reachable.add(f"{name} {words[1]} {words[9]}")
    return reachable


def _say(channel: socket.socket, **message: Any) -> None:
    channel.send(json.dumps(message).encode())


def _hear(channel: socket.socket) -> dict[str, Any] | None:
    """The next message; None if there will be no more."""
    try:
        text = channel.recv(MESSAGE)
    except ConnectionResetError:
        return None
    message: dict[str, Any] | None = json.loads(text) if text else None
    return message

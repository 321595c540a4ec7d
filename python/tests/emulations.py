"""What tests of emulations share: whether this machine can carry one out, programs for both ends, and what is left."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from windtunnel.kernel.tools import path


def _lacks() -> str:
    """What this machine lacks for an emulation."""
    if sys.platform != "linux":
        return "needs Linux"
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        return "needs /dev/net/tun"
    if shutil.which("ip", path=path()) is None or shutil.which("unshare") is None:
        return "needs ip and unshare"
    words = [
        "unshare",
        *([] if os.geteuid() == 0 else ["--user", "--map-root-user"]),
        "--net",
        "--pid",
        "--fork",
        "true",
    ]
    done = subprocess.run(words, capture_output=True, check=False)
    return "needs network namespaces" if done.returncode else ""


needs_namespaces = pytest.mark.skipif(bool(_lacks()), reason=_lacks() or "none")
needs_root = pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="needs root")

SCENARIO = """\
title = "Path"
duration = "1 s"

[bottleneck]
rate = "8 Mbit/s"
queue = { kind = "fifo", limit = "100 kB" }

[[flow]]
cc = "cubic"
rtt = "20 ms"
"""

#: Sends to each connection as many bytes as it receives before it closes.
SERVER = """
import socket
listening = socket.create_server(("::", 7000), family=socket.AF_INET6, dualstack_ipv6=True)
while True:
    connection, _ = listening.accept()
    count = 0
    while chunk := connection.recv(1 << 16):
        count += len(chunk)
    connection.sendall(b"%d" % count)
    connection.close()
"""
#: Sends half a megabyte, and prints what the server has counted.
CLIENT = """
import socket, sys
for host in sys.argv[1:] or ["10.0.0.2"]:
    connection = socket.create_connection((host, 7000), 10)
    connection.sendall(bytes(500_000))
    connection.shutdown(socket.SHUT_WR)
    print(host, connection.recv(100).decode(), flush=True)
"""


def program(folder: Path, name: str, text: str) -> list[str]:
    """The words that run a program of Python."""
    file = folder / f"{name}.py"
    file.write_text(textwrap.dedent(text), encoding="utf-8")
    return [sys.executable, str(file)]


def descendants(process: int) -> set[int]:
    """All processes that it has started, and those that these have."""
    parents: dict[int, int] = {}
    for each in Path("/proc").iterdir():
        if each.name.isdigit():
            try:
                parents[int(each.name)] = int((each / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
    below, new = set(), {process}
    while new:
        new = {child for child, parent in parents.items() if parent in new}
        below |= new
    return below


def networks(processes: set[int]) -> set[int]:
    """The network namespaces in which these processes are, without ours."""
    return {inode for process in processes if (inode := _network(process))} - {_network(os.getpid())}


def left_of(processes: set[int], of_networks: set[int]) -> list[str]:
    """What is left of processes and networks."""
    alive = [f"process {process}" for process in processes if _is_alive(process)]
    every = {int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit()}
    return alive + [f"process {process} in a network" for process in every if _network(process) in of_networks]


def _is_alive(process: int) -> bool:
    """Whether it has not ended. The first process of all takes note of an orphan when it likes."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


def _network(process: int) -> int:
    try:
        return os.stat(f"/proc/{process}/ns/net").st_ino  # noqa: PTH116 - a link of the kernel's
    except OSError:
        return 0

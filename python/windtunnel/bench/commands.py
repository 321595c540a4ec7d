"""What a command takes in addition to its simulation: the CPU time of whole processes, and their peak memory.

The scenario is one of a minute with two flows, whose simulation takes a few hundredths of a second. The goals are those
of `docs/speed.md` for the machine there; the time of an idle interpreter stands next to them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from windtunnel.errors import RunFailedError

_SCENARIO = """\
title = "CUBIC and Reno for a minute"
duration = "60 s"
bottleneck = { rate = "40 Mbit/s", queue = { kind = "fifo", limit = "1 BDP" } }
flow = [{ name = "cubic", cc = "cubic", rtt = "40 ms" }, { name = "reno", cc = "reno", rtt = "40 ms" }]
"""
_FILE = "minute.toml"

#: Commands with the most CPU seconds that they may take; the interpreter alone has no goal.
COMMANDS: tuple[tuple[str, Sequence[str], float | None], ...] = (
    ("python", ("-c", "pass"), None),
    ("windtunnel --version", ("-m", "windtunnel", "--version"), 0.1),
    ("windtunnel run", ("-m", "windtunnel", "run", _FILE, "--force"), 0.25),
    ("windtunnel run --figures", ("-m", "windtunnel", "run", _FILE, "--force", "--figures"), 1.2),
)


@dataclass(frozen=True)
class CommandTime:
    """A command, the fastest of several times."""

    command: str
    cpu_seconds: float
    """User and system time of the process."""
    required_cpu_seconds: float | None
    peak_mib: float
    met: bool
    """Whether it takes no more than required."""


def command_times(repeat: int) -> Iterator[CommandTime]:
    """Each command ``repeat`` times, in turn. Raises RunFailedError."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / _FILE).write_text(_SCENARIO, encoding="utf-8")
        for _, arguments, _ in COMMANDS:  # what Python compiles when it first loads a module
            _time(arguments, folder)
        rounds = [[_time(arguments, folder) for _, arguments, _ in COMMANDS] for _ in range(repeat)]
    for (command, _, most), taken in zip(COMMANDS, zip(*rounds, strict=True), strict=True):
        seconds = min(seconds for seconds, _ in taken)
        peak = max(peak for _, peak in taken)
        yield CommandTime(command, seconds, most, peak, most is None or seconds <= most)


def _time(arguments: Sequence[str], folder: Path) -> tuple[float, float]:
    """CPU seconds and peak memory in MiB of a process."""
    command = [sys.executable, *arguments]
    # Only this wait tells what one process took.
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RunFailedError(f"{' '.join(command)} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024

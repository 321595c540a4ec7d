"""What a command takes in addition to its simulation: the CPU time of whole processes, and their peak memory.

The scenario is one of a minute with two flows, whose simulation takes a few hundredths of a second. The goals are those
of `docs/speed.md` for the machine there; the time of an idle interpreter stands next to them.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from windtunnel.bench.child import Taken, taken_by

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
            _taken(arguments, folder)
        rounds = [[_taken(arguments, folder) for _, arguments, _ in COMMANDS] for _ in range(repeat)]
    for (command, _, most), taken in zip(COMMANDS, zip(*rounds, strict=True), strict=True):
        seconds = min(once.cpu_seconds for once in taken)
        peak = max(once.peak_bytes for once in taken) / 2**20
        yield CommandTime(command, seconds, most, peak, most is None or seconds <= most)


def _taken(arguments: Sequence[str], folder: Path) -> Taken:
    return taken_by([sys.executable, *arguments], folder)

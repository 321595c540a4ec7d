"""What a command takes: its CPU time and its peak memory, without those of the process that starts it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from windtunnel.errors import RunFailedError

#: Runs the command that follows, and says on standard output what it took. Linux counts the memory of the process that
#: starts a program towards the peak of the program. The peak therefore comes from a process that is small itself.
_GO_BETWEEN = """\
import resource, subprocess, sys
status = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL)
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(status, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024))
"""


@dataclass(frozen=True)
class Taken:
    """What a process took."""

    cpu_seconds: float
    """User and system time."""
    peak_bytes: int
    """The largest resident memory."""


def taken_by(command: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None) -> Taken:
    """Runs a command in a folder, without its output. Raises RunFailedError if it fails."""
    between = [sys.executable, "-I", "-S", "-c", _GO_BETWEEN, *command]
    done = subprocess.run(between, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode or done.stdout.split()[0] != "0":
        last = done.stderr.splitlines()[-1:]
        raise RunFailedError(f"{' '.join(command)} failed{''.join(f': {line}' for line in last)}")
    _, seconds, peak = done.stdout.split()
    return Taken(float(seconds), int(peak))

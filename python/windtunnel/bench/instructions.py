"""What a packet costs in instructions and in accesses to memory: valgrind counts them. They vary neither with the clock
nor with what else the machine does.

Two runs that differ only in their length are subtracted, so that neither start-up nor slow start counts. Of a run in
Python, callgrind counts the core's simulation alone (``crates/py/src/counted.rs``); a program is counted as a whole.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from windtunnel import _core
from windtunnel.errors import RunFailedError

#: The functions of the core that simulate, as callgrind writes their names.
_SIMULATION = "*_core::counted::*"

#: First-level caches of 32 KiB in eight ways, as usual processors have had for years. The last level is callgrind's
#: default, and is not reported.
_CACHES = ("--cache-sim=yes", "--I1=32768,8,64", "--D1=32768,8,64")

#: glibc moves tables of more than this many bytes by their pages, and does not copy them. By default it learns the
#: threshold during the run, and copies a table or not depending on what lies next to it: with other variables in the
#: environment the references of W5 differed by 4 %. With this they differ by 0.2 %.
_ALLOCATOR = {"MALLOC_MMAP_THRESHOLD_": "131072"}


@dataclass(frozen=True)
class Cost:
    """What a packet costs."""

    instructions: float
    data_references: float | None = None
    """Reads and writes of memory; None where caches were not simulated."""
    l1_misses: float | None = None
    """Those that a first-level data cache of 32 KiB did not have."""


@dataclass(frozen=True)
class _Count:
    """The same of a whole run, and the packets that it delivered."""

    packets: int
    instructions: int
    data_references: int
    l1_misses: int
    """These two are 0 where caches were not simulated."""


#: The arguments of a program that simulates for this many seconds and prints ``N packets``.
Command = Callable[[float], Sequence[str]]


def available() -> bool:
    """Whether valgrind is installed."""
    return shutil.which("valgrind") is not None


def of_core(file: Path, overrides: Sequence[str] = ()) -> Command:
    """Runs of a scenario file in the core that is installed, in an interpreter that loads nothing else."""
    script = Path(__file__).with_name("counted.py")
    start = (sys.executable, "-I", str(script), _core.__file__, str(file), *overrides)
    return lambda seconds: (*start, f"duration={seconds} s")


def per_packet(
    command: Command, shorter: float, longer: float, *, cache: bool = False, only: str | None = _SIMULATION
) -> Cost:
    """The cost of a packet between ``shorter`` and ``longer`` seconds of a run; ``only`` within the functions whose
    names match this. Raises RunFailedError if a run fails, or if nothing was counted.
    """
    with ThreadPoolExecutor(2) as both:
        first, second = both.map(lambda seconds: _count(command(seconds), cache, only), (shorter, longer))
    packets = second.packets - first.packets
    if packets <= 0 or second.instructions <= first.instructions:
        raise RunFailedError(f"valgrind counted nothing between {shorter} s and {longer} s of {command(longer)[0]}")
    return Cost(
        instructions=(second.instructions - first.instructions) / packets,
        data_references=(second.data_references - first.data_references) / packets if cache else None,
        l1_misses=(second.l1_misses - first.l1_misses) / packets if cache else None,
    )


def _count(command: Sequence[str], cache: bool, only: str | None) -> _Count:
    options = ["--tool=callgrind", "--callgrind-out-file=/dev/null"]
    options += _CACHES if cache else ()
    options += [f"--toggle-collect={only}"] if only else ()
    done = subprocess.run(
        ["valgrind", *options, *command],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | _ALLOCATOR,
    )
    packets = re.search(r"^(\d+) packets", done.stdout, re.MULTILINE)
    names = re.search(r"Events +: (.*)", done.stderr)
    numbers = re.search(r"Collected : (.*)", done.stderr)
    if done.returncode or not (packets and names and numbers):
        last = [line for line in done.stderr.splitlines() if not line.startswith(("==", "--"))][-1:]
        raise RunFailedError(f"under valgrind: {last[0] if last else f'ended with {done.returncode}'}")
    seen = dict(zip(names[1].split(), map(int, numbers[1].split()), strict=False))
    return _Count(
        packets=int(packets[1]),
        instructions=seen["Ir"],
        data_references=seen.get("Dr", 0) + seen.get("Dw", 0),
        l1_misses=seen.get("D1mr", 0) + seen.get("D1mw", 0),
    )

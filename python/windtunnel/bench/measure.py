"""The measurement of a work: runs in processes of their own, on one core, and instructions counted by valgrind."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from windtunnel.bench import instructions
from windtunnel.bench.works import Work
from windtunnel.errors import InputError, RunFailedError
from windtunnel.workers import run_python

#: What the worker ends with if a scenario is refused, such as for its memory.
REFUSED = 2


@dataclass(frozen=True)
class Measurement:
    """The best speed over a work's repetitions, their largest peak of memory, and what is required."""

    work: str
    title: str
    packets: int
    events: int
    cpu_seconds: float
    simulated_seconds: float
    packets_per_second: float
    events_per_second: float
    peak_mib: float
    digest: str
    required_packets_per_second: float | None
    required_peak_mib: float | None
    met: bool
    acks: int | None = None
    """ACKs that a controller written in Python handled."""
    acks_per_second: float | None = None
    required_acks_per_second: float | None = None
    holds_per_second: float | None = None
    """Speed of the calibration (``crates/calibration``) next to the fastest run."""
    packets_per_hold: float | None = None
    """Packets delivered in the time of a hold: the median over the repetitions."""
    cost: instructions.Cost | None = None
    """What a packet costs; None without valgrind, and for works whose packets are not counted."""
    bytes_per_flow: float | None = None
    """What the run took of memory, over its flows; None for works with few flows."""


def measure(
    work: Work, repeat: int = 1, *, count: bool = True, cache: bool = False, memory: int | None = None
) -> Measurement:
    """Run a work ``repeat`` times, each in a new process, and take the fastest.

    ``count``: count instructions, if valgrind is installed and the work says how; ``cache``: and accesses to memory.
    ``memory`` is the number of bytes that a run may take. Raises InputError if it needs more, RunFailedError if it
    fails.
    """
    runs = [run(work.file, memory=memory) for _ in range(repeat)]
    if len({one["digest"] for one in runs}) > 1:
        raise RunFailedError(f"{work.name}: two runs of the same scenario differ in their digests")
    best = min(runs, key=lambda one: one["cpu_seconds"])
    peak = max(one["peak_mib"] for one in runs)
    seconds = best["cpu_seconds"]
    speed, acks = best["packets"] / seconds, best["acks"]
    acks_speed = None if acks is None else acks / seconds
    cost = None
    if count and work.counted is not None and instructions.available():
        cost = instructions.per_packet(instructions.of_core(work.file), *work.counted, cache=cache)
    return Measurement(
        work=work.name,
        title=work.title,
        packets=best["packets"],
        events=best["events"],
        cpu_seconds=seconds,
        simulated_seconds=best["simulated_seconds"],
        packets_per_second=speed,
        events_per_second=best["events"] / seconds,
        peak_mib=peak,
        digest=best["digest"],
        required_packets_per_second=work.packets_per_second,
        required_peak_mib=work.peak_mib,
        met=_reaches(speed, work.packets_per_second)
        and _reaches(acks_speed, work.acks_per_second)
        and (work.peak_mib is None or peak < work.peak_mib),
        acks=acks,
        acks_per_second=acks_speed,
        required_acks_per_second=work.acks_per_second,
        holds_per_second=best["holds_per_second"],
        packets_per_hold=median(one["packets"] / one["cpu_seconds"] / one["holds_per_second"] for one in runs),
        cost=cost,
        bytes_per_flow=None if work.flows is None else best["run_mib"] * 2**20 / work.flows,
    )


def _reaches(speed: float | None, required: float | None) -> bool:
    return required is None or (speed is not None and speed >= required)


def run(file: Path, overrides: Sequence[str] = (), memory: int | None = None) -> dict[str, Any]:
    """One run in a process of its own: what ``worker.py`` prints. Raises InputError if the scenario is refused,
    RunFailedError if the run fails.
    """
    done = run_python(["-m", "windtunnel.bench.worker", str(file), str(memory or 0), *overrides])
    if done.returncode != 0:
        # The last line of a traceback says what happened.
        lines = done.stderr.strip().splitlines()
        why = lines[-1] if lines else f"ended with {done.returncode}"
        raise InputError(why) if done.returncode == REFUSED else RunFailedError(f"{file.stem}: {why}")
    printed: dict[str, Any] = json.loads(done.stdout)
    return printed

"""The benchmark: fixed works, each in a process of its own, on one core.

A packet is one data segment delivered through the bottleneck. For a controller written in Python, the measure is how
many ACKs per second it handles; the time includes the run's other work. CPU seconds are those of the simulation alone;
peak memory is that of the whole process, including the interpreter.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from windtunnel.workers import run_python

_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Work:
    """A fixed work: the scenario file ``<name>.toml`` beside this module, and the speed required of it.

    ``<name>.py``, if it exists, is the plugin with the work's controller, which counts the ACKs that it handles.
    """

    name: str
    title: str
    packets_per_second: float | None = None
    peak_mib: float | None = None
    acks_per_second: float | None = None

    @property
    def file(self) -> Path:
        """Its scenario."""
        return _HERE / f"{self.name.lower()}.toml"


WORKS = (
    Work("W1", "one Reno-MDS flow, 100 Mbit/s, 40 ms, DelTiM, 60 s, recording at 10 ms", 8e6, 300),
    Work("W2", "CUBIC and Reno, 1 Gbit/s, 20 ms, brick wall 12 ms, 30 s", 8e6, 300),
    Work("W3", "16 flows, 1 Gbit/s, 20 ms, DelTiM, 30 s", 6e6, 300),
    # A link of 100 Gbit/s carries this many packets of 1500 bytes per second, so this speed is faster than real time.
    Work("W4", "one Scalable-MDS flow, 100 Gbit/s, 20 ms, DelTiM, 10 s", 100e9 / 12_000, 300),
    Work("W5", "1000 flows, 10 Gbit/s, mixed RTTs, 10 s", 3e6),
    Work("W6", "CUBIC and Reno with loss recovery, 1 Gbit/s, 20 ms, tail drop of one BDP, 30 s", 5e6, 300),
    Work("W7", "one flow with loss recovery, 100 Gbit/s, 20 ms, 5 s, without loss", 5e6, 1024),
    # Loss may cost three times as much per packet.
    Work("W8", "the same with a burst of 10,000 losses", 5e6 / 3, 1024),
    Work("W9", "one flow with loss recovery, 100 Gbit/s, 100 ms, 4 s", 3e6, 1024),
    Work("W10", "1000 flows with loss recovery, 10 Gbit/s, 20 ms, FQ-CoDel, 10 s", 2e6, 1024),
    Work("W11", "one flow with a controller in Python, 1 Gbit/s, 20 ms, 10 s", peak_mib=300, acks_per_second=2e5),
    # 0.8 of W6.
    Work("W12", "CUBIC and Scalable with loss recovery, 1 Gbit/s, 20 ms, DualPI2, 30 s", 4e6, 300),
    # Half of W6's speed.
    Work("W13", "100 flows with loss recovery, 1 Gbit/s, 20 ms, CAKE, 30 s", 2.5e6, 300),
)


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

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


class BenchError(RuntimeError):
    """A work whose process failed."""


def measure(work: Work, repeat: int = 1) -> Measurement:
    """Run a work ``repeat`` times, each in a new process, and take the fastest. Raises BenchError."""
    runs = [_run(work) for _ in range(repeat)]
    if len({run["digest"] for run in runs}) > 1:
        raise BenchError(f"{work.name}: two runs of the same scenario differ in their digests")
    best = min(runs, key=lambda run: run["cpu_seconds"])
    peak = max(run["peak_mib"] for run in runs)
    seconds = best["cpu_seconds"]
    speed, acks = best["packets"] / seconds, best["acks"]
    acks_speed = None if acks is None else acks / seconds
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
    )


def _reaches(speed: float | None, required: float | None) -> bool:
    return required is None or (speed is not None and speed >= required)


def _run(work: Work) -> dict[str, Any]:
    done = run_python(["-m", "windtunnel.bench.worker", str(work.file)])
    if done.returncode != 0:
        # The last line of a traceback says what happened.
        what = done.stderr.strip().splitlines()
        raise BenchError(f"{work.name}: {what[-1] if what else f'ended with {done.returncode}'}")
    run: dict[str, Any] = json.loads(done.stdout)
    return run

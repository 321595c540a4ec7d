"""What a packet costs as the number of flows grows: from one flow, whose state a first-level cache holds, to as many as
fit into no cache.

The flows are equal, and each has the same share of the link, so that only their number differs: a window of seven
segments, as at 2 Mbit/s and 40 ms.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from windtunnel.bench import instructions
from windtunnel.bench.measure import run

#: The numbers of flows.
FLOWS = (1, 10, 100, 1000, 10_000, 50_000)

ENDPOINTS = ("ideal", "linux")

_SHARE_MBPS = 2

#: Packets of 1500 bytes that a flow sends in a second.
_PACE = _SHARE_MBPS * 1e6 / 12_000

#: Start-up, slow start among it, which is subtracted.
_START = 0.2

#: One round trip: what is measured is at least this long, so that each flow sends a window.
_ROUND_TRIP = 0.04

#: From this number of flows on, they take most of the memory of a run.
_MANY = 1000

#: What is measured has at least this many packets: few where each is counted, many where they are timed. The times of
#: half a million differed by a fifth between rounds.
_COUNTED, _TIMED = 20_000, 4_000_000


@dataclass(frozen=True)
class Step:
    """What a packet costs with this many flows."""

    flows: int
    endpoints: str
    cpu_ns: float
    """User time of a packet: the median over the rounds."""
    holds: float
    """The same in holds (``crates/calibration``), which a faster machine hardly changes."""
    cost: instructions.Cost | None
    """None without valgrind."""
    bytes_per_flow: float | None
    """What a run takes of memory, over its flows. None for few flows: of these it is mostly series over a long run."""


def scenario(flows: int, endpoints: str = "ideal") -> str:
    """The scenario file of this many flows."""
    return (
        f'duration = "1 s"\nendpoints = "{endpoints}"\n'
        f'[bottleneck]\nrate = "{_SHARE_MBPS * flows} Mbit/s"\nqueue = "deltim"\n'
        '[record]\npoints = "100 ms"\ninterval = "100 ms"\n'
        f'[[flow]]\ncc = "reno-mds"\nrtt = "40 ms"\niw = "4 packets"\ncount = {flows}\n'
    )


def steps(
    rounds: int, *, count: bool, cache: bool, memory: int | None, numbers: Sequence[int] = FLOWS
) -> Iterator[Step]:
    """The table, step by step; arguments are those of :func:`windtunnel.bench.measure.measure`."""
    with tempfile.TemporaryDirectory() as folder:
        for endpoints in ENDPOINTS:
            for flows in numbers:
                file = Path(folder, f"{endpoints}-{flows}.toml")
                file.write_text(scenario(flows, endpoints), encoding="utf-8")
                yield _step(file, flows, endpoints, rounds, count and instructions.available(), cache, memory)


def span(flows: int, packets: int) -> tuple[float, float]:
    """The lengths of the two runs that are subtracted: between them this many packets, or a round trip of each flow."""
    return _START, _START + max(_ROUND_TRIP, packets / (flows * _PACE))


def _step(file: Path, flows: int, endpoints: str, rounds: int, count: bool, cache: bool, memory: int | None) -> Step:
    shorter, longer = span(flows, _TIMED)
    seconds, holds, memory_mib = [], [], []
    for _ in range(rounds):
        first, second = (run(file, [f"duration={length} s"], memory) for length in (shorter, longer))
        cost = (second["user_seconds"] - first["user_seconds"]) / (second["packets"] - first["packets"])
        seconds.append(cost)
        holds.append(cost * second["holds_per_second"])
        memory_mib.append(first["run_mib"])
    counted = None
    if count:
        counted = instructions.per_packet(instructions.of_core(file), *span(flows, _COUNTED), cache=cache)
    per_flow = max(memory_mib) * 2**20 / flows if flows >= _MANY else None
    return Step(flows, endpoints, 1e9 * median(seconds), median(holds), counted, per_flow)

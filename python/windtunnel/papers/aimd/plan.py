"""How long setups run, when they count as converged, and how often they are run.

The report measured 250 seconds "once the flows had converged", and does not say how it found convergence. Here MSER-5
decides, run by run and with no threshold (``features/rates.py``), within the first two minutes. The slowest setup
(200 Mbit/s, 100 ms, 200 ms of buffer: 5000 packets) has CUBIC sawteeth of about 15 s (K); two minutes are eight of
them.

Tail drop with few packets locks the phases of the flows: which flow is hit depends on when they started. Every setup is
therefore run with several start offsets of its second group of flows, and the spread is shown.
"""

from __future__ import annotations

from windtunnel import models
from windtunnel.papers.setups import Measurement, Setup

#: Seconds within which a run has to converge, and that are measured afterwards.
LIMIT_S, SPAN_S = 120, 250

#: Start of the second group of flows in ms, in the twins; the scenario files have 37 ms. No two differ by a multiple of
#: a base RTT of the grid.
TWIN_STARTS_MS = (3.1, 71.9, 118.6, 154.3, 216.8, 309.4, 482.7)
#: Twins by the setup's packets: (up to, twins); larger setups have fewer. The whole suite is about 1.2 * 10^9 packets.
BUDGET = ((3e6, 7), (float("inf"), 3))
QUICK_TWINS = 2

#: Quantiles of the whiskers.
LOW, HIGH = 0.01, 0.99

#: Bytes of data in an Ethernet frame, and its size: a link of the grid carries at most rate * DATA / FRAME.
DATA, FRAME = models.MSS, 1514.0


def fair_mbps(rate_mbps: float, flows: int) -> float:
    """An equal share of the goodput that the link can carry."""
    return rate_mbps * DATA / FRAME / flows


def starts(setup: Setup, *, quick: bool) -> tuple[tuple[str, ...], ...]:
    """The overrides of the setup's twins."""
    count = next(count for most, count in BUDGET if setup.packets <= most)
    return tuple((f'flow.1.start="{ms} ms"',) for ms in TWIN_STARTS_MS[: QUICK_TWINS if quick else count])


def steady(name: str, flows: str, *arguments: float) -> Measurement:
    """A measurement of the 250 seconds after convergence."""
    listed = ", ".join(f"{a!r}" for a in (*arguments, LIMIT_S, SPAN_S))
    return Measurement("rates", flows, f"steady_{name}({listed})")


def whisker(flows: str, fair: float) -> tuple[Measurement, Measurement, Measurement]:
    """P1, mean and P99 of the normalised rate of one or several flows."""
    return (
        steady("quantile", flows, LOW, fair),
        steady("mean", flows, fair),
        steady("quantile", flows, HIGH, fair),
    )

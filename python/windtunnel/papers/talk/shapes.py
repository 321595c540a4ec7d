"""Is slow start always exponential? The flight of each round trip, and what bends it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from windtunnel.experiment.expectation import Limits
from windtunnel.papers.features.probes import sending_rate
from windtunnel.papers.rows import Row, trial_row
from windtunnel.papers.setups import Excerpt, Setup
from windtunnel.papers.suite import Group, Results, Value
from windtunnel.papers.talk.plan import measured, scenario_setup
from windtunnel.result import RunResult

#: The round trip of the path, in seconds, and the rounds that are shown. The first flight leaves after the handshake.
RTT_S, ROUNDS = 0.1, 7
#: Rounds from and to which growth is measured, the first flight being 0.
FROM, TO = 1, 5
SEEDS = 3


@dataclass(frozen=True)
class Shape:
    """A start: what bends it, how it is set, and by what its flights grow."""

    id: str
    cause: str
    settings: tuple[str, ...]
    low: float
    high: float
    why: str


_PER_ACK = 'flow.0.cc={ kind="reno", slow_start={ kind="standard", growth="per-ack" } }'
SHAPES = (
    Shape("every", "none: an ACK for each packet", (_PER_ACK, 'flow.0.ack="immediate"'), 1.95, 2.05,
          "each ACK sends two packets"),
    Shape("delayed", "delayed ACKs, counted", (_PER_ACK, 'flow.0.ack="quick-signal"'), 1.45, 1.6,
          "an ACK for two packets sends three"),
    Shape("application", "the application: 5 Mbit/s", ('flow.0.app={ kind="media", protocol="tcp", rate="5 Mbps" }',),
          0.0, 1.4, "no more data than that"),
    Shape("receiver", "the receive window: 64 KiB", ('flow.0.tcp.receive_window="65536 B"',), 0.0, 1.4,
          "44 packets in each round trip"),
    Shape("queue", "the queue: 10 packets", ('bottleneck.queue.limit="10 packets"',), 0.0, 1.4,
          "bursts of two packets per ACK overflow it before the link is full"),
)  # fmt: skip
_GROWTH = Value(
    "growth", f"growth of the flight per round trip, rounds {FROM} to {TO}", "",
    [measured("0", f"flight_growth({RTT_S}, {FROM}, {TO})")],
)  # fmt: skip


def flights(run: RunResult) -> Excerpt:
    """Packets sent in each round trip after the handshake."""
    time, rate = sending_rate(run.tables, 0)
    first = float(time[np.flatnonzero(rate > 0)[0]])
    step = float(time[1] - time[0])
    number = np.floor((time - first + step / 2) / RTT_S).astype(int)
    sent = np.bincount(number[number >= 0], (rate * step)[number >= 0], minlength=ROUNDS)
    return {"flights": np.asarray(sent[:ROUNDS], dtype=np.float64)}


def shapes_group(setups: dict[str, Setup]) -> Group:
    """The flights of all starts, and their growth."""
    used = {
        shape: scenario_setup(setups, f"shape-{shape.id}", "start", 'duration="3 s"', *shape.settings, seeds=SEEDS)
        for shape in SHAPES
    }
    for setup in used.values():
        setup.excerpt = flights
        _GROWTH.prepare(setup)

    def rows(results: Results) -> list[Row]:
        return [
            trial_row(f"shapes/{s.id}", "shapes", f"bent by {s.cause}: {_GROWTH.what}", f"{s.low:g} to {s.high:g}",
                      Limits(s.low, s.high), _GROWTH.values(results, setup), "", s.why)
            for s, setup in used.items()
        ]  # fmt: skip

    def png(results: Results) -> bytes | None:
        from windtunnel.papers.talk.startup_figure import draw_shapes

        excerpts = {s: e for s, setup in used.items() if (e := results.excerpt(setup.name)) is not None}
        return draw_shapes(excerpts) if excerpts else None

    caption = "It is always exponential? One flow at 40 Mbit/s, 100 ms: what it sends in each round trip"
    return Group("shapes", "Shapes of slow start", caption, [c.name for c in used.values()], rows, png)

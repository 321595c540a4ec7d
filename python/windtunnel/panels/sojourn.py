"""Sojourn times: how long dequeued packets had been in the queue."""

from __future__ import annotations

from windtunnel.panels.gaps import longest_step
from windtunnel.panels.looks import queue_look
from windtunnel.panels.model import Flag, Panel, Series
from windtunnel.panels.run import Run
from windtunnel.panels.tables import Samples, Tables, rows, split

QUANTITY = "Sojourn time"
TITLE = "Queue Sojourn Time"


def samples(tables: Tables, *, extremes: bool = True) -> list[Samples]:
    """Sojourn time in ms of each queue; flagged where the dequeue left the queue empty.

    Where no single dequeue was recorded, the means of intervals, with their range.
    """
    if points := rows(tables, "sojourn_points", extremes=extremes):
        return split(points, "queue", "ms", flag=points.get("empty"))
    table = rows(tables, "queues")
    if not table:
        return []
    return split(
        table, "queue", "sojourn_mean_ms", flag=table["emptied"] > 0, low="sojourn_min_ms", high="sojourn_max_ms"
    )


def panel(run: Run) -> Panel:
    """The panel."""
    single = bool(rows(run.tables, "sojourn_points"))
    series = tuple(
        Series(
            f"queue{s.index}", run.queue(s.index), queue_look(s.index), s.t, s.y, flag=s.flag, low=s.low, high=s.high,
            step="" if single else "mean", gap=None if single else longest_step(s.t),
        )
        for s in samples(run.tables)
    )  # fmt: skip
    what = "empty after the dequeue" if single else "emptied in the interval"
    return Panel(
        "sojourn", TITLE, "ms", series, quantity=QUANTITY, kind="points" if single else "line",
        flag=Flag(what, "circle" if single else "cross", "red"),
        empty="" if series else "No packet was dequeued.",
    )  # fmt: skip

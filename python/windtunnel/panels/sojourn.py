"""Sojourn times: how long dequeued packets had been in the queue."""

from __future__ import annotations

import numpy as np

from windtunnel.distinct import distinct
from windtunnel.panels.gaps import longest_step
from windtunnel.panels.looks import queue_look
from windtunnel.panels.model import Flag, Panel, Series
from windtunnel.panels.run import Run
from windtunnel.panels.tables import Samples, Tables, rows, split

QUANTITY = "Sojourn time"
TITLE = "Queue Sojourn Time"
# Of single dequeues, and of intervals.
LEFT_EMPTY = Flag(
    "queue left empty", "circle", "red", "queue empty after dequeue", "queue not empty after dequeue"
)  # fmt: skip
_EMPTIED = Flag("queue left empty in the interval", "cross", "red")


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


def of_classes(run: Run) -> dict[int, list[tuple[str, Samples]]]:
    """The means of intervals, with their range, of the classes of each queue that has any: what they are called, and
    their sojourn times in ms.
    """
    table = rows(run.tables, "classes")
    if not table:
        return {}
    queue = np.asarray(table["queue"], dtype=np.int64)
    by_queue = {}
    for index in distinct(queue):
        mine = split(
            table, "class", "sojourn_mean_ms", low="sojourn_min_ms", high="sojourn_max_ms", keep=queue == index
        )
        by_queue[int(index)] = [(run.class_of(int(index), s.index), s) for s in mine]
    return by_queue


def by_class(run: Run) -> list[tuple[str, str, Samples]]:
    """Keys, labels and the means of intervals of each queue or, where a queue has classes, of these in its place."""
    classes = of_classes(run)
    entries = []
    for s in samples({"queues": run.tables.get("queues", {})}):
        parts = classes.get(s.index, [])
        entries += [(f"queue{s.index}class{part.index}", label, part) for label, part in parts]
        if not parts:
            entries.append((f"queue{s.index}", run.queue(s.index), s))
    return entries


def panel(run: Run) -> Panel:
    """The panel. Where a queue has classes, one cloud of dots would show none of them: lines, then, for all."""
    several = bool(rows(run.tables, "classes"))
    single = not several and bool(rows(run.tables, "sojourn_points"))
    entries = (
        by_class(run)
        if several
        else [(f"queue{s.index}", run.queue(s.index), s) for s in samples(run.tables)]
    )  # fmt: skip
    series = tuple(
        Series(
            key, label, queue_look(order if several else s.index), s.t, s.y, flag=s.flag, low=s.low, high=s.high,
            step="" if single else "mean", gap=None if single else longest_step(s.t),
        )
        for order, (key, label, s) in enumerate(entries)
    )  # fmt: skip
    flag = LEFT_EMPTY if single else _EMPTIED
    flagged = not several or any(s.flag is not None for s in series)
    return Panel(
        "sojourn", TITLE, "ms", series, quantity=QUANTITY, kind="points" if single else "line",
        markers="none", flag=flag if flagged else None, empty="" if series else "No packet was dequeued.",
    )  # fmt: skip

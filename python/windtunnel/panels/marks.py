"""Frequencies of marks and drops: the number at a queue since the sample before, over the time since that."""

from __future__ import annotations

import numpy as np

from windtunnel.panels.looks import queue_look
from windtunnel.panels.means import AVERAGES, average, usual_average
from windtunnel.panels.model import Look, Panel, Series
from windtunnel.panels.run import Run
from windtunnel.panels.tables import Samples, Table, Tables, rows, split

#: Kinds: number in ``mark_points``, counter in ``queues``, label, look where there is one queue.
KINDS = (
    (0, "sce", "SCE", Look("slate", "circle")),
    (1, "ce", "CE", Look("purple", "triangle")),
    (2, "drops", "drop", Look("red", "cross")),
)
DROP = 2
#: Frequencies that range over more than this factor need a logarithmic axis.
LOG_RANGE = 30.0


def samples(tables: Tables, kind: int, *, extremes: bool = True) -> list[Samples]:
    """Frequency in Hz of a kind of mark (0 SCE, 1 CE, 2 drop) at each queue; means since the sample before."""
    counter = KINDS[kind][1]
    # A queue without recorded single marks of this kind has counted them nevertheless.
    by_queue = {s.index: s for s in _counted(rows(tables, "queues"), counter)}
    if points := rows(tables, "mark_points", extremes=extremes):
        single = split(points, "queue", "hz", who="flow", keep=points["kind"] == kind)
        by_queue |= {s.index: s for s in single}
    return [by_queue[queue] for queue in sorted(by_queue)]


def _counted(table: Table, counter: str) -> list[Samples]:
    """Marks per second of each interval, for queues that have any."""
    out = []
    for s in split(table, "queue", counter):
        length = np.diff(s.t, prepend=0.0)
        some = length > 0
        if np.any(s.y[some] > 0):
            out.append(Samples(s.index, s.t[some], s.y[some] / length[some]))
    return out


def panel(run: Run) -> Panel:
    """The panel."""
    several = len(run.queues) > 1
    series, kinds = [], set()
    for kind, counter, usual, look in KINDS:
        label = run.labels.get(counter, usual)
        for s in samples(run.tables, kind):
            # With several queues colours stand for queues, as in the panel of sojourn times; the marker shows the kind.
            mine = Look(queue_look(s.index).colour, look.marker) if several else look
            of = f" ({run.queue(s.index)})" if several else ""
            series.append(Series(f"{counter}{s.index}", label + of, mine, s.t, s.y, step="mean", who=s.who))
            kinds.add(kind)
    drops, marks = DROP in kinds, bool(kinds - {DROP})
    title = "Mark and Drop Frequency" if drops and marks else "Drop Frequency" if drops else "Mark Frequency"
    # Bands have a law each: the frequencies of what all of them do, one by one, are a carpet.
    mean = usual_average(run.duration_s, 0.0) if _of_bands(run) else 0.0
    positive = [y[y > 0] for y in (average(s, mean).y for s in series)]
    values = np.concatenate(positive) if positive else np.empty(0)
    return Panel(
        "marks",
        title,
        "Hz",
        tuple(series),
        quantity="Frequency",
        kind="points",
        markers="all",
        log=len(values) > 0 and float(values.max()) > LOG_RANGE * float(values.min()),
        averages=AVERAGES if series else (),
        average=mean,
        empty="" if series else _nothing(run.tables),
    )


def _of_bands(run: Run) -> bool:
    """Whether a queue has a band for each flow."""
    return any(
        len(queue.get("bands") or ()) > 1 and not queue.get("classes") for queue in run.summary.get("queues", ())
    )


def _nothing(tables: Tables) -> str:
    lost = int(np.sum(np.asarray(tables.get("flows", {}).get("lost", 0))))
    packets = f"{lost} packet{' was' if lost == 1 else 's were'}"
    return "No queue marked or dropped a packet." + (f" On the wire {packets} lost." if lost else "")

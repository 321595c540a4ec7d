"""The series that the panels of the figure plot: single events where the run has them, else the interval series."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from windtunnel.figures.legible import legible
from windtunnel.flow_groups import by_name
from windtunnel.state_tables import STATE_TABLES

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Tables = Mapping[str, Mapping[str, npt.NDArray[np.generic]]]

#: With more flows than this a reader no longer finds a single one; groups are distinguished instead.
MANY_FLOWS = 8
#: Kinds of marks: number in ``mark_points``, counter in ``queues``, label.
MARK_KINDS = ((0, "sce", "SCE"), (1, "ce", "CE"), (2, "drops", "drop"))


class Result(Protocol):
    """What the figures need from a result; ``windtunnel.RunResult`` has it."""

    @property
    def summary(self) -> Mapping[str, Any]:
        """The core's summary."""
        ...

    @property
    def tables(self) -> Tables:
        """Columns by table and name."""
        ...


@dataclass(frozen=True)
class Series:
    """Points of one flow (-1: all flows), queue or kind of mark.

    ``t`` in seconds, ascending, ``y`` and ``flag`` have one shape ``(n,)``. ``flag``: what the panel
    singles out (the queue emptied, the window limited).
    """

    index: int
    t: Array
    y: Array
    flag: Mask

    def between(self, start: float, end: float) -> Series:
        """The points from ``start`` to ``end``, and one more on each side, so that a line reaches the edge."""
        first = max(0, int(np.searchsorted(self.t, start, "left")) - 1)
        last = int(np.searchsorted(self.t, end, "right")) + 1
        return Series(self.index, self.t[first:last], self.y[first:last], self.flag[first:last])


def throughput(result: Result) -> list[Series]:
    """IP throughput in Mbit/s of all flows (-1, where there are several) and of each flow."""
    points = _rows(result, "throughput_points")
    series = _split(points, "flow", "mbps") if points else _split(_rows(result, "flows"), "flow", "throughput_mbps")
    several = len({s.index for s in series if s.index >= 0}) > 1
    if several and not any(s.index < 0 for s in series) and not points:
        series.insert(0, _sum(series))
    return [s for s in series if s.index >= 0 or several]


def cwnd(result: Result) -> list[Series]:
    """Congestion window in bytes of each flow; flagged where it kept the sender from sending."""
    if points := _rows(result, "cwnd_points"):
        return _split(points, "flow", "bytes", points["limited"] != 0)
    rows = _rows(result, "flows")
    # For an interval: limited for most of its ACKs.
    series = _split(rows, "flow", "cwnd_bytes", np.nan_to_num(rows["cwnd_limited"]) > 0.5) if rows else []
    # Datagrams have no window, and a flow that stands for many connections has several.
    return [s for s in series if np.any(s.y > 0)]


def ssthresh(result: Result) -> list[Series]:
    """Slow-start threshold in bytes of each flow whose sender has a finite one; NaN while it is infinite."""
    rows = _rows(result, "flows")
    series = _split(rows, "flow", "ssthresh_bytes") if "ssthresh_bytes" in rows else []
    return [s for s in series if np.isfinite(s.y).any()]


def retransmissions(result: Result) -> list[Series]:
    """Segments that each flow sent again in an interval, at its end; flows and intervals without are left out."""
    rows = _rows(result, "flows")
    series = _split(rows, "flow", "retransmits") if "retransmits" in rows else []
    some = [Series(s.index, s.t[s.y > 0], s.y[s.y > 0], s.flag[s.y > 0]) for s in series]
    return [s for s in some if len(s.t)]


def sojourn(result: Result) -> list[Series]:
    """Sojourn time in ms of each queue; flagged where the dequeue left the queue empty."""
    if points := _rows(result, "sojourn_points"):
        return _split(points, "queue", "ms", points["empty"] != 0)
    rows = _rows(result, "queues")
    return _split(rows, "queue", "sojourn_mean_ms", rows["emptied"] > 0) if rows else []


def marks(result: Result) -> list[tuple[int, Series]]:
    """Frequency in Hz of each kind of mark (0 SCE, 1 CE, 2 drop) at each queue; kinds without a mark are left out."""
    found: list[tuple[int, Series]] = []
    points, rows = _rows(result, "mark_points"), _rows(result, "queues")
    for kind, counter, _ in MARK_KINDS:
        by_queue: dict[int, Series] = {}
        # A queue without recorded single marks of this kind has counted them nevertheless.
        for s in _split(rows, "queue", counter) if rows else ():
            hz = s.y / np.diff(s.t, prepend=0.0)
            some = s.y > 0
            if some.any():
                by_queue[s.index] = Series(s.index, s.t[some], hz[some], s.flag[some])
        if points:
            keep = points["kind"] == kind
            by_queue |= {s.index: s for s in _split({k: v[keep] for k, v in points.items()}, "queue", "hz")}
        found += [(kind, by_queue[queue]) for queue in sorted(by_queue)]
    return found


def state(result: Result, table: str, name: str) -> list[Series]:
    """The number ``name`` of each flow or queue in a table of state; those that do not have it are left out."""
    rows = _rows(result, table)
    series = _split(rows, STATE_TABLES[table], name) if name in rows else []
    return [s for s in series if np.isfinite(s.y).any()]


def names(result: Result, what: str) -> list[str]:
    """Names of the ``flows`` or ``queues``, fit to be drawn."""
    return [legible(str(one.get("name", i))) for i, one in enumerate(result.summary.get(what, ()))]


def groups(flow_names: Sequence[str]) -> list[tuple[str, list[int]]]:
    """Flows as (label, indices): one by one if they are few, else by name without its number: ``("reno x 6", ...)``."""
    if len(flow_names) <= MANY_FLOWS:
        return [(name, [i]) for i, name in enumerate(flow_names)]
    return by_name(flow_names)


def _rows(result: Result, name: str) -> dict[str, npt.NDArray[Any]]:
    """A table's columns; None if it is absent or has no rows."""
    table = result.tables.get(name, {})
    return dict(table) if table and len(table["time_s"]) else {}


def _split(
    table: Mapping[str, npt.NDArray[Any]], key: str, value: str, flag: npt.NDArray[Any] | None = None
) -> list[Series]:
    """The rows of each value of ``key``, by time."""
    if not table or not len(table["time_s"]):
        return []
    keys, t = np.asarray(table[key], dtype=np.int64), np.asarray(table["time_s"], dtype=np.float64)
    y = np.asarray(table[value], dtype=np.float64)
    flags = np.zeros(len(t), dtype=np.bool_) if flag is None else np.asarray(flag, dtype=np.bool_)
    order = np.lexsort([t, keys])
    edges = np.flatnonzero(np.diff(keys[order], prepend=keys[order][0] - 1))
    return [
        Series(int(keys[part[0]]), t[part], y[part], flags[part]) for part in np.split(order, edges[1:]) if len(part)
    ]


def _sum(series: Sequence[Series]) -> Series:
    """The sum of interval series that share their times."""
    t = np.unique(np.concatenate([s.t for s in series]))
    total = np.zeros(len(t))
    for s in series:
        total[np.searchsorted(t, s.t)] += np.nan_to_num(s.y)
    return Series(-1, t, total, np.zeros(len(t), dtype=np.bool_))

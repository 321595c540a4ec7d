"""When a curve first reaches a level, stays below it, or crosses another curve."""

from __future__ import annotations

import math

import numpy as np

from windtunnel.papers.features.method import method
from windtunnel.papers.features.series import Column
from windtunnel.papers.features.view import View


def _first(time: Column, condition: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> float:
    hits = np.flatnonzero(condition)
    return float(time[hits[0]]) if len(hits) else math.nan


@method
def first_at_least(view: View, after: float, level: float, since: float = 0.0) -> float:
    """First time after ``after`` at which the value reaches ``level``, minus ``since``.

    A level read from an image is known to half a pixel; a symbol no further from the level than that is drawn at it.
    """
    part = view.series.window(after, math.inf)
    return _first(part.time, part.value >= level - view.axis.step / 2) - since


@method
def last_before(view: View, time: float) -> float:
    """The last value before ``time``."""
    part = view.series.window(0.0, math.nextafter(time, 0.0))
    return float(part.value[-1]) if len(part) else math.nan


@method
def t_last_above(view: View, start: float, stop: float, level: float, since: float = 0.0, scale: float = 1.0) -> float:
    """Time of the last value above ``level`` in the window, minus ``since``, times ``scale`` (1000 for ms)."""
    part = view.series.window(start, stop)
    hits = np.flatnonzero(part.value > level)
    return (float(part.time[hits[-1]]) - since) * scale if len(hits) else math.nan


@method
def t_stays_below(view: View, after: float, level: float, hold: float) -> float:
    """First bin after ``after`` from which on every bin's largest value stays below ``level`` for ``hold`` seconds."""
    tops = view.series.window(after, math.inf).bin_max(view.width)
    above = tops.time[tops.value >= level]
    for time in tops.time[tops.value < level]:
        following = above[(above > time) & (above <= time + hold)]
        if not len(following):
            return float(time)
    return math.nan


@method
def t_first_empty(view: View, after: float) -> float:
    """Time of the first dequeue after ``after`` that left the queue empty."""
    part = view.other("empty").window(after, math.inf)
    return float(part.time[0]) if len(part) else math.nan


def _difference(view: View, after: float) -> tuple[Column, Column]:
    """Bin times, and the second flow's bin median minus the first's, for a flow written ``0,1``."""
    first, second = (
        view.other(f).window(after, math.inf).bin_median(view.width, view.axis.step) for f in view.flow.split(",")
    )
    time, i, j = np.intersect1d(
        np.round(first.time / view.width - 0.5), np.round(second.time / view.width - 0.5), return_indices=True
    )
    return (time + 0.5) * view.width, second.value[j] - first.value[i]


@method
def t_falls_below(view: View, after: float) -> float:
    """First time after ``after`` at which the second flow is not above the first."""
    time, difference = _difference(view, after)
    return _first(time, difference <= 0)


@method
def t_rises_above(view: View, after: float) -> float:
    """First time after ``after`` at which the second flow is above the first."""
    time, difference = _difference(view, after)
    return _first(time, difference > 0)


@method
def t_first_share(view: View, share: float, start: float, stop: float, after: float, since: float = 0.0) -> float:
    """First time after ``after`` with at least ``share`` of the mean over the later window, minus ``since``."""
    later = view.series.window(start, stop)
    if not len(later):
        return math.nan
    part = view.series.window(after, math.inf)
    return _first(part.time, part.value >= share * float(later.value.mean())) - since


@method
def recovery_time(view: View, since: float, level: float) -> float:
    """Seconds from ``since`` to the first second in which the link's utilisation is ``level`` or more, from 0 to 1."""
    table = view.run.tables["queues"]
    mine = np.asarray(table["queue"]) == int(view.flow.removeprefix("queue "))
    time, used = (np.asarray(table[c], dtype=np.float64)[mine] for c in ("time_s", "utilization"))
    width = max(1, round(1.0 / float(time[1] - time[0])))
    means = np.convolve(used, np.full(width, 1.0 / width), "valid")
    starts = time[: len(means)] - (time[1] - time[0])
    hits = np.flatnonzero((starts >= since - 1e-9) & (means >= level))
    return float(starts[hits[0]]) - since if len(hits) else math.nan

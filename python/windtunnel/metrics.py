"""Measures of fairness, use and convergence, computed from a run's tables."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def jain_index(values: npt.ArrayLike, axis: int = -1) -> Array:
    """Jain's fairness index ``(sum x)^2 / (n sum x^2)``: 1 if all are equal, ``1/n`` if one has everything.

    ``values``: shape ``(..., n)``, any unit, not negative; the index is taken along ``axis``, which is removed. NaN
    where all are 0 or none is given. Source: Jain, Chiu and Hawe, "A quantitative measure of fairness", DEC TR-301,
    1984.
    """
    x = np.asarray(values, dtype=np.float64)
    squares = x.shape[axis] * np.sum(np.square(x), axis=axis) if x.ndim else np.square(x)
    total = np.square(np.sum(x, axis=axis)) if x.ndim else np.square(x)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(total / squares)


def utilization(throughput_mbps: npt.ArrayLike, rate_mbps: npt.ArrayLike) -> Array:
    """Share of a link's rate that was used: throughput over rate, elementwise, broadcast. NaN where the rate is 0."""
    rate = np.asarray(rate_mbps, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(rate > 0, np.asarray(throughput_mbps, dtype=np.float64) / rate, np.nan)


def normalised_rates(throughput_mbps: npt.ArrayLike, axis: int = -1) -> Array:
    """Each flow's throughput over the mean of all: 1 is a fair share. Shape as given; NaN where all are 0."""
    x = np.asarray(throughput_mbps, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(x / np.mean(x, axis=axis, keepdims=True))


def by_flow(time_s: npt.ArrayLike, flow: npt.ArrayLike, values: npt.ArrayLike) -> tuple[Array, Array]:
    """Interval series as a matrix: times of shape ``(t,)`` and values of shape ``(t, flows)``.

    The arguments are columns of the ``flows`` table, shape ``(t * flows,)``. NaN where a flow has no row.
    """
    cells = Cells(time_s, flow)
    return cells.times, cells.matrix(values)


class Cells:
    """The places of a table's rows in a matrix of shape ``(t, flows)``; ``times``, shape ``(t,)``, are its rows'."""

    def __init__(self, time_s: npt.ArrayLike, flow: npt.ArrayLike) -> None:
        self.times, self._row = np.unique(np.asarray(time_s, dtype=np.float64), return_inverse=True)
        self._flow = np.asarray(flow, dtype=np.int64)
        self._flows = int(self._flow.max(initial=-1)) + 1

    def matrix(self, values: npt.ArrayLike, flows: int = 0) -> Array:
        """A column of the table as a matrix of at least ``flows`` columns. NaN where a flow has no row."""
        matrix = np.full((len(self.times), max(self._flows, flows)), np.nan)
        matrix[self._row, self._flow] = np.asarray(values, dtype=np.float64)
        return matrix


def mser_truncation(values: npt.ArrayLike, limit: int, batch: int = 5) -> int:
    """The number of values that belong to the transient: the truncation point of the MSER-5 rule.

    The rule takes the mean of each ``batch`` of values. Among the truncation points up to ``limit`` values, it chooses
    the one with the least standard error of the remaining values: a transient widens it, and so does discarding more
    than the transient. No threshold is involved. ``values``: shape ``(t,)``, equally spaced in time; an incomplete last
    batch is left out. Source: White, Cobb and Spratt, "A comparison of five steady-state truncation heuristics for
    simulation", WSC 2000.
    """
    x = np.asarray(values, dtype=np.float64)
    means = x[: len(x) // batch * batch].reshape(-1, batch).mean(axis=1)
    points = range(min(limit // batch, len(means) - 2) + 1)
    errors = [float(np.var(means[k:])) / (len(means) - k) for k in points]
    return batch * int(np.argmin(errors)) if errors else 0


def time_mean(time_s: npt.ArrayLike, values: npt.ArrayLike, start: float = 0.0, end: float = np.inf) -> float:
    """Mean over time of an interval series: each value holds from the row before to its own time.

    ``time_s`` (ascending, interval ends, s) and ``values``: shape ``(t,)``; the mean is over ``start < time_s <= end``,
    weighted by the interval's length, without NaN. NaN if nothing is left.
    """
    t = np.asarray(time_s, dtype=np.float64)
    x = np.asarray(values, dtype=np.float64)
    width = np.diff(t, prepend=0.0)
    keep = (t > start) & (t <= end) & np.isfinite(x)
    return float(np.average(x[keep], weights=width[keep])) if np.any(width[keep] > 0) else float("nan")


def settling_time(time_s: npt.ArrayLike, values: npt.ArrayLike, low: float, high: float, hold_s: float = 0.0) -> float:
    """The first time from which ``values`` stay within ``[low, high]`` for ``hold_s`` seconds (inf: to the end).

    ``time_s`` (ascending, s) and ``values``: shape ``(t,)``; NaN counts as outside. Returns seconds on the axis of
    ``time_s``; NaN if it never happens. A stretch that the end of the series cuts short counts only for
    ``hold_s = inf``.
    """
    t = np.asarray(time_s, dtype=np.float64)
    inside = (np.asarray(values, dtype=np.float64) >= low) & (np.asarray(values, dtype=np.float64) <= high)
    edges = np.flatnonzero(np.diff(inside.astype(np.int8), prepend=0, append=0))
    for first, past in zip(edges[::2], edges[1::2], strict=True):
        to_the_end = past == len(t)
        if to_the_end if np.isinf(hold_s) else t[past - 1] - t[first] >= hold_s:
            return float(t[first])
    return float("nan")


def convergence_time(
    time_s: npt.ArrayLike, throughput_mbps: npt.ArrayLike, fairness: float = 0.95, hold_s: float = 1.0
) -> float:
    """Seconds until Jain's index of the flows' throughputs is at least ``fairness`` for ``hold_s`` seconds.

    ``time_s``: shape ``(t,)``; ``throughput_mbps``: shape ``(t, flows)``, as from :func:`by_flow`. NaN if they never
    converge.
    """
    return settling_time(time_s, jain_index(throughput_mbps), fairness, 1.0 + 1e-9, hold_s)

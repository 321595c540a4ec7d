"""Normalised rates and sawteeth, from the series of intervals: one row per interval and flow.

A normalised rate is goodput over ``fair_mbps``, the equal share of what the link can carry. A view of several flows
(``0-3``) is the mean over them. *Steady* methods wait until the run has converged: the latest of the flows' truncation
points by MSER-5 (:func:`windtunnel.metrics.mser_truncation`) within ``limit`` seconds; they then look at ``span``
seconds. Intervals are one second, except for the methods of sawteeth.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from windtunnel.metrics import Array, by_flow, mser_truncation
from windtunnel.papers.features.method import method
from windtunnel.papers.features.view import View, flow_numbers

#: A window below this share of its value one interval earlier has been reduced. Every response reduces it by more.
FALL = 0.9
#: Fewest intervals in a sawtooth from which a slope can be taken.
SHORTEST = 5


def matrix(view: View, column: str) -> tuple[Array, Array]:
    """Interval ends, and ``column`` of every flow: shapes ``(t,)`` and ``(t, flows)``."""
    table = view.run.tables["flows"]
    return by_flow(
        np.asarray(table["time_s"], dtype=np.float64),
        np.asarray(table["flow"], dtype=np.int64),
        np.asarray(table[column], dtype=np.float64),
    )


def _normalised(view: View, fair_mbps: float, start: float, stop: float) -> Array:
    """One value per interval of the window, the mean over the view's flows."""
    time, goodput = matrix(view, "goodput_mbps")
    chosen = (time > start) & (time <= stop)
    return np.asarray(np.nan_to_num(goodput[chosen][:, flow_numbers(view.flow)]).mean(axis=1) / fair_mbps)


@method
def rate_mean(view: View, fair_mbps: float, start: float, stop: float) -> float:
    """Mean normalised rate of the window."""
    values = _normalised(view, fair_mbps, start, stop)
    return float(values.mean()) if len(values) else math.nan


@method
def rate_quantile(view: View, quantile: float, fair_mbps: float, start: float, stop: float) -> float:
    """Quantile of the window's normalised rates, one per interval."""
    values = _normalised(view, fair_mbps, start, stop)
    return float(np.quantile(values, quantile)) if len(values) else math.nan


@method
def steady_from(view: View, limit: float) -> float:
    """When the run has converged: the latest of the flows' truncation points, in seconds."""
    time, goodput = matrix(view, "goodput_mbps")
    most = int(np.searchsorted(time, limit, "right"))
    series = np.nan_to_num(goodput).T
    points = [mser_truncation(values, most) for values in series]
    last = max(points, default=0)
    return float(time[last - 1]) if last else 0.0


@method
def steady_mean(view: View, fair_mbps: float, limit: float, span: float) -> float:
    """Mean normalised rate over ``span`` seconds after convergence."""
    start = steady_from(view, limit)
    return rate_mean(view, fair_mbps, start, start + span)


@method
def steady_quantile(view: View, quantile: float, fair_mbps: float, limit: float, span: float) -> float:
    """Quantile of the one-second normalised rates of ``span`` seconds after convergence."""
    start = steady_from(view, limit)
    return rate_quantile(view, quantile, fair_mbps, start, start + span)


@method
def steady_ratio_quantile(view: View, quantile: float, limit: float, span: float) -> float:
    """Quantile of the one-second ratios of two groups' mean rates (``0/1-9``), ``span`` seconds after convergence."""
    start = steady_from(view, limit)
    above, _, below = view.flow.partition("/")
    top, bottom = (
        _normalised(View(view.run, view.panel, part, view.axis), 1.0, start, start + span) for part in (above, below)
    )
    some = bottom > 0
    return float(np.quantile(top[some] / bottom[some], quantile)) if some.any() else math.nan


@method
def rate_elasticity(view: View, start: float, stop: float) -> float:
    """Change in a flow's rate, in percent, per percent of change in its window, while all windows grow.

    The slope of log rate over log window, pooled over all stretches between two reductions by any flow: a reduction by
    another flow shortens the round trip and raises the rate. It is negative where the rate falls as the window grows.
    """
    (flow,) = flow_numbers(view.flow)
    time, rates = matrix(view, "throughput_mbps")
    _, windows = matrix(view, "cwnd_mean_bytes")
    chosen = (time > start) & (time <= stop)
    every = windows[chosen]
    rate, window = rates[chosen, flow], every[:, flow]
    if len(rate) == 0:
        return math.nan
    falls = np.flatnonzero((every[1:] < FALL * every[:-1]).any(axis=1)) + 1
    above = below = 0.0
    for first, past in pairwise([0, *falls.tolist(), len(window)]):
        # The interval of a reduction mixes two windows.
        x, y = window[first + 1 : past], rate[first + 1 : past]
        good = (x > 0) & (y > 0)
        if np.count_nonzero(good) < SHORTEST:
            continue
        lx, ly = np.log(x[good]), np.log(y[good])
        above += float(np.sum((lx - lx.mean()) * (ly - ly.mean())))
        below += float(np.sum(np.square(lx - lx.mean())))
    return above / below if below > 0 else math.nan


@method
def goodput_quantile(view: View, quantile: float, start: float, stop: float) -> float:
    """Quantile of a flow's goodput over the intervals of the window, in Mbit/s."""
    (flow,) = flow_numbers(view.flow)
    time, rates = matrix(view, "goodput_mbps")
    values = rates[(time > start) & (time <= stop), flow]
    return float(np.quantile(values, quantile)) if len(values) else math.nan

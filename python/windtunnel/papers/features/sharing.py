"""How flows share a link over a window, and how fast they get there; goodputs from the interval series."""

from __future__ import annotations

import math

import numpy as np

from windtunnel.metrics import Array, convergence_time, jain_index
from windtunnel.papers.features.method import method
from windtunnel.papers.features.rates import matrix
from windtunnel.papers.features.view import View, flow_numbers


@method
def goodput_sum(view: View, start: float, stop: float) -> float:
    """What the view's flows (``all``: every flow) deliver together, in Mbit/s."""
    return float(_means(view, start, stop).sum())


@method
def jain_mean(view: View, start: float, stop: float) -> float:
    """Jain's index of the flows' mean goodputs over the window."""
    rates = _means(view, start, stop)
    return float(jain_index(rates)) if len(rates) else math.nan


@method
def share_percent(view: View, of: str, start: float, stop: float) -> float:
    """The part of the view's flows in the goodput of the flows ``of`` over the window, in percent."""
    every = _means(View(view.run, view.panel, of, view.axis), start, stop).sum()
    return 100.0 * float(_means(view, start, stop).sum() / every) if every > 0 else math.nan


@method
def converged_in(view: View, start: float, stop: float, fairness: float, hold: float) -> float:
    """Seconds from ``start`` until Jain's index of the flows' goodputs, as means over a second, is at least
    ``fairness`` for ``hold`` seconds; the whole window if that never happens.
    """
    time, rates = _by_second(view, start, stop)
    moment = convergence_time(time, rates, fairness, hold)
    return moment - start if math.isfinite(moment) else stop - start


def _means(view: View, start: float, stop: float) -> Array:
    time, goodput = matrix(view, "goodput_mbps")
    flows = range(goodput.shape[1]) if view.flow == "all" else flow_numbers(view.flow)
    chosen = np.nan_to_num(goodput[(time > start) & (time <= stop)][:, flows])
    return np.asarray(chosen.mean(axis=0)) if len(chosen) else np.empty(0)


def _by_second(view: View, start: float, stop: float) -> tuple[Array, Array]:
    """Second by second, the view's flows' goodputs."""
    time, goodput = matrix(view, "goodput_mbps")
    chosen = (time > start) & (time <= stop + 1e-9)
    second = np.floor((time[chosen] - start) - 1e-9).astype(np.int64)
    rows = np.nan_to_num(goodput[chosen][:, flow_numbers(view.flow)])
    seconds = np.unique(second)
    means = np.array([rows[second == s].mean(axis=0) for s in seconds]).reshape(len(seconds), rows.shape[1])
    return np.asarray(start + seconds + 1.0, dtype=np.float64), np.asarray(means, dtype=np.float64)

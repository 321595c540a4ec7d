"""Shapes that a single figure shows, and the text or our reading of the figure names: ramps and knees."""

from __future__ import annotations

import math

import numpy as np

from windtunnel.papers.features.method import method
from windtunnel.papers.features.view import View


def _marks(view: View, start: float, stop: float) -> list[float]:
    return [float(t) for t in view.other("CE", "mark").window(start, stop).time]


@method
def after_marks(view: View, start: float, stop: float, near: float, far: float) -> float:
    """Smallest value between ``near`` and ``far`` seconds after a CE mark, averaged over the marks of the window."""
    lows = [view.series.window(t + near, t + far).value for t in _marks(view, start, stop)]
    return float(np.mean([v.min() for v in lows if len(v)])) if any(len(v) for v in lows) else math.nan


@method
def ramp_duration(view: View, start: float, stop: float, near: float, level: float) -> float:
    """Time from the first point of the ramp, ``near`` seconds after a CE mark, to ``level``; mean over the marks."""
    spans = []
    for mark in _marks(view, start, stop):
        ramp = view.series.window(mark + near, stop + 60.0)
        full = np.flatnonzero(ramp.value >= level - view.axis.step / 2)
        if len(full):
            spans.append(float(ramp.time[full[0]] - ramp.time[0]))
    return float(np.mean(spans)) if spans else math.nan


@method
def white_ramp_length(view: View, start: float, stop: float) -> float:
    """Length of the stretch before a CE mark in which every bin has a dequeue that did not empty the queue; mean."""
    bins = view.other("not empty").bins(view.width)
    filled = set(bins.number.tolist())
    lengths = []
    for mark in _marks(view, start, stop):
        last = first = math.floor(mark / view.width)
        while first - 1 in filled:
            first -= 1
        lengths.append((last - first + 1) * view.width)
    return float(np.mean(lengths)) if lengths else math.nan


def _knee(view: View, start: float, fit: float, stop: float) -> float:
    """Time at which throughput rises by more than a pixel above the straight line fitted to [start, fit]."""
    curve = view.other("0", "throughput")
    straight = curve.window(start, fit)
    if len(straight) < 2:
        return math.nan
    slope, offset = np.polyfit(straight.time, straight.value, 1)
    part = curve.window(start, stop)
    # One pixel of the throughput panel, also when another panel is asked about: a run has one knee.
    pixel = float(curve.value.max()) / 340
    on_line = np.flatnonzero(part.value - (slope * part.time + offset) <= pixel)
    return float(part.time[on_line[-1]]) if len(on_line) else math.nan


@method
def knee_t(view: View, start: float, fit: float, stop: float) -> float:
    """Time of the knee between a straight and a convex rise."""
    return _knee(view, start, fit, stop)


@method
def knee_value(view: View, start: float, fit: float, stop: float) -> float:
    """Value at the knee."""
    time = _knee(view, start, fit, stop)
    part = view.series.window(time, math.inf)
    return float(part.value[0]) if len(part) else math.nan

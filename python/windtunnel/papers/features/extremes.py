"""Extremes of the plotted values, and the ranges of autoscaled axes."""

from __future__ import annotations

import math

import numpy as np

from windtunnel.papers.features.method import method
from windtunnel.papers.features.series import Series
from windtunnel.papers.features.view import View

#: Methods whose value no run can change, and what it follows from.
GIVEN = {
    "axis_x_min": "the origin, which every axis includes",
    "axis_x_max": "the duration of the scenario, as long as anything is sent",
}


def _max(series: Series) -> float:
    return float(series.value.max()) if len(series) else math.nan


def _min(series: Series) -> float:
    return float(series.value.min()) if len(series) else math.nan


@method
def peak(view: View) -> float:
    """PEAK: the largest value of the whole run."""
    return _max(view.series)


@method
def t_peak(view: View) -> float:
    """TPEAK: its time, in seconds."""
    return t_max(view, 0.0, math.inf)


def _columns(view: View, start: float, stop: float) -> Series:
    """The window in whole pixel columns, including those that contain its ends, as in an image."""
    first, last = math.floor(start / view.width), stop if math.isinf(stop) else math.floor(stop / view.width)
    return view.series.window(first * view.width, math.nextafter((last + 1) * view.width, 0.0))


@method
def max_(view: View, start: float, stop: float) -> float:
    """MAX: the largest value in the window."""
    return _max(_columns(view, start, stop))


@method
def min_(view: View, start: float, stop: float) -> float:
    """MIN: the smallest value in the window."""
    return _min(_columns(view, start, stop))


@method
def t_max(view: View, start: float, stop: float) -> float:
    """The time of MAX, in seconds."""
    part = _columns(view, start, stop)
    return float(part.time[np.argmax(part.value)]) if len(part) else math.nan


@method
def t_min(view: View, start: float, stop: float) -> float:
    """The time of MIN, in seconds."""
    part = _columns(view, start, stop)
    return float(part.time[np.argmin(part.value)]) if len(part) else math.nan


@method
def axis_x_min(view: View) -> float:
    """Left end of an autoscaled axis: the earliest symbol, or the origin, which every axis includes."""
    time = view.series.time
    return min(0.0, float(time[0])) if len(time) else math.nan


@method
def axis_x_max(view: View) -> float:
    """Right end of an autoscaled axis. The four panels share it, so it is the last symbol of any panel."""
    ends = [view.other("all", panel).time for panel in ("throughput", "sojourn", "cwnd", "mark")]
    return max((float(t[-1]) for t in ends if len(t)), default=math.nan)


@method
def axis_y_max(view: View) -> float:
    """Top of an autoscaled axis: the largest value of the panel, or the origin, which every axis includes."""
    return max(0.0, _max(view.series)) if len(view.series) else math.nan


@method
def relative_range(view: View, start: float, stop: float) -> float:
    """The difference between the largest and smallest value of the window, in percent of the mean."""
    part = view.series.window(start, stop)
    return 100.0 * (_max(part) - _min(part)) / float(part.value.mean()) if len(part) else math.nan


@method
def quantile_range(view: View, low: float, high: float, start: float, stop: float) -> float:
    """The difference between the quantiles ``high`` and ``low`` of the window's values."""
    part = view.series.window(start, stop)
    return float(np.quantile(part.value, high) - np.quantile(part.value, low)) if len(part) else math.nan

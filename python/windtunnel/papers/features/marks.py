"""Marks: their times, numbers, frequencies and the levels on which the frequencies sit."""

from __future__ import annotations

import math

import numpy as np

from windtunnel.papers.features.method import method
from windtunnel.papers.features.series import Series
from windtunnel.papers.features.view import View

#: How close a frequency must be to a level (packet rate over a whole number) to be on it. The levels of k and k + 1
#: packets are at least 10 % apart for every k that the figures name (up to 9).
LEVEL_SHARE = 0.03


def _nth(series: Series, number: float) -> tuple[float, float]:
    index = int(number) - 1
    if not 0 <= index < len(series):
        return math.nan, math.nan
    return float(series.time[index]), float(series.value[index])


@method
def mark_t(view: View, number: float, start: float, stop: float) -> float:
    """Time of the mark ``number`` (from 1) in the window."""
    return _nth(view.series.window(start, stop), number)[0]


@method
def mark_hz(view: View, number: float, start: float, stop: float) -> float:
    """Frequency of the mark ``number``: 1 over the time since the mark before it."""
    return _nth(view.series.window(start, stop), number)[1]


@method
def mean_mark_t(view: View, start: float, stop: float) -> float:
    """Mean time of the marks in the window."""
    part = view.series.window(start, stop)
    return float(part.time.mean()) if len(part) else math.nan


@method
def first_mark_t(view: View, start: float, stop: float) -> float:
    """Time of the first mark in the window."""
    part = view.series.window(start, stop)
    return float(part.time[0]) if len(part) else math.nan


@method
def last_mark_t(view: View, start: float, stop: float) -> float:
    """Time of the last mark in the window."""
    part = view.series.window(start, stop)
    return float(part.time[-1]) if len(part) else math.nan


@method
def mark_count(view: View, start: float, stop: float, apart: float = 0.0) -> float:
    """Number of marks in the window; marks closer than ``apart`` seconds to the one before are one symbol."""
    time = view.series.window(start, stop).time
    return float(np.count_nonzero(np.diff(time) >= apart) + 1) if len(time) else 0.0


@method
def mark_rate(view: View, start: float, stop: float) -> float:
    """Marks per second of the window."""
    return len(view.series.window(start, stop)) / (stop - start)


@method
def quantile(view: View, share: float, start: float, stop: float) -> float:
    """MARKQ: a quantile of the plotted frequencies; symbols on the same pixel count once."""
    part = view.series.window(start, stop)
    if not len(part):
        return math.nan
    column, row = np.floor(part.time / view.width), np.round(part.value / view.axis.step)
    _, first = np.unique(column * (row.max() + 1) + row, return_index=True)
    return float(np.quantile(part.value[first], share))


def _band(view: View, start: float, stop: float, low: float, high: float) -> Series:
    part = view.series.window(start, stop)
    keep = (part.value >= low) & (part.value < high)
    return Series(part.time[keep], part.value[keep])


@method
def band_mean(view: View, start: float, stop: float, low: float, high: float) -> float:
    """Mean frequency of the marks between ``low`` and ``high`` Hz."""
    band = _band(view, start, stop, low, high)
    return float(band.value.mean()) if len(band) else math.nan


@method
def band_count(view: View, start: float, stop: float, low: float, high: float) -> float:
    """Number of the marks between ``low`` and ``high`` Hz."""
    return float(len(_band(view, start, stop, low, high)))


@method
def level_near(view: View, level: float, start: float, stop: float) -> float:
    """Median of the frequencies on ``level``; NaN if no mark is on it."""
    band = _band(view, start, stop, level * (1 - LEVEL_SHARE), level * (1 + LEVEL_SHARE))
    return float(np.median(band.value)) if len(band) else math.nan


@method
def t_first_level(view: View, level: float) -> float:
    """Time of the first mark whose frequency reaches ``level``."""
    part = view.series
    hits = np.flatnonzero(part.value >= level * (1 - LEVEL_SHARE))
    return float(part.time[hits[0]]) if len(hits) else math.nan


@method
def t_settled(view: View, tolerance: float, *levels: float) -> float:
    """Time of the first mark from which on all marks are within ``tolerance`` Hz of one of ``levels``."""
    part = view.series
    near = np.zeros(len(part), dtype=bool)
    for level in levels:
        near |= np.abs(part.value - level) <= tolerance
    stray = np.flatnonzero(~near)
    first = int(stray[-1]) + 1 if len(stray) else 0
    return float(part.time[first]) if first < len(part) else math.nan

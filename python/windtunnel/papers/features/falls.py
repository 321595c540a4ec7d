"""The teeth of a saw: the falls of cwnd by more than a given share within five bins (SAW)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from windtunnel.papers.features.method import method
from windtunnel.papers.features.series import Series
from windtunnel.papers.features.view import View

#: Bins within which the whole fall must happen.
SPAN = 5


@dataclass(frozen=True)
class Fall:
    """A fall: the last time at the peak, the peak, and the lowest value within the span after it."""

    time: float
    peak: float
    trough: float


def find_falls(series: Series, width: float, share: float) -> list[Fall]:
    """All falls of ``series`` by more than ``share`` within :data:`SPAN` bins of ``width`` seconds.

    A fall starts at the last sample of the highest value of its bin; no higher value may follow within the fall.
    """
    tops = series.bin_max(width)
    falls: list[Fall] = []
    after = -math.inf
    for middle, peak in zip(tops.time, tops.value, strict=True):
        in_bin = series.window(max(middle - width / 2, after), middle + width / 2)
        if not len(in_bin) or in_bin.value.max() < peak:
            continue
        start = float(in_bin.time[np.flatnonzero(in_bin.value == peak)[-1]])
        ahead = series.window(start, start + SPAN * width)
        lowest = int(np.argmin(ahead.value))
        if ahead.value[lowest] >= (1.0 - share) * peak or ahead.value[: lowest + 1].max() > peak:
            continue
        falls.append(Fall(start, float(peak), float(ahead.value[lowest])))
        after = float(ahead.time[lowest])
    return falls


def _falls(
    view: View, start: float, stop: float, share: float, above: float = 0.0, below: float = math.inf
) -> list[Fall]:
    falls = find_falls(view.series.window(start, stop), view.width, share)
    return [f for f in falls if above <= f.peak < below]


def _nth(falls: list[Fall], number: float) -> Fall:
    index = int(number) - 1
    return falls[index] if 0 <= index < len(falls) else Fall(math.nan, math.nan, math.nan)


@method
def fall_t(view: View, number: float, start: float, stop: float, share: float) -> float:
    """Time of the fall ``number`` (from 1) in the window."""
    return _nth(_falls(view, start, stop, share), number).time


@method
def fall_peak(view: View, number: float, start: float, stop: float, share: float) -> float:
    """Value before the fall ``number``."""
    return _nth(_falls(view, start, stop, share), number).peak


@method
def fall_trough(view: View, number: float, start: float, stop: float, share: float) -> float:
    """Value after the fall ``number``."""
    return _nth(_falls(view, start, stop, share), number).trough


@method
def fall_count(view: View, start: float, stop: float, share: float) -> float:
    """Number of falls in the window."""
    return float(len(_falls(view, start, stop, share)))


@method
def first_fall_t(view: View, start: float, stop: float, share: float) -> float:
    """Time of the first fall in the window."""
    return _nth(_falls(view, start, stop, share), 1).time


@method
def fall_peak_mean(
    view: View, start: float, stop: float, share: float, above: float = 0.0, below: float = math.inf
) -> float:
    """Mean value before a fall, over the falls that start between ``above`` and ``below``."""
    falls = _falls(view, start, stop, share, above, below)
    return float(np.mean([f.peak for f in falls])) if falls else math.nan


@method
def fall_trough_mean(view: View, start: float, stop: float, share: float) -> float:
    """Mean value after a fall."""
    falls = _falls(view, start, stop, share)
    return float(np.mean([f.trough for f in falls])) if falls else math.nan


@method
def fall_ratio(view: View, start: float, stop: float, share: float) -> float:
    """Mean ratio of the value after a fall to the value before it."""
    falls = _falls(view, start, stop, share)
    return float(np.mean([f.trough / f.peak for f in falls])) if falls else math.nan


@method
def fall_period(
    view: View, start: float, stop: float, share: float, above: float = 0.0, below: float = math.inf
) -> float:
    """Mean spacing of the falls that start between ``above`` and ``below``: (last - first) / (n - 1)."""
    falls = _falls(view, start, stop, share, above, below)
    return (falls[-1].time - falls[0].time) / (len(falls) - 1) if len(falls) > 1 else math.nan

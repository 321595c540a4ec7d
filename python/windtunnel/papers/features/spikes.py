"""Spikes of the queue's delay that stand apart from each other, and small ripples."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from windtunnel.papers.features.method import method
from windtunnel.papers.features.paint import visible_tops
from windtunnel.papers.features.series import Series
from windtunnel.papers.features.view import View


@dataclass(frozen=True)
class Spike:
    """The highest point of a spike."""

    time: float
    height: float


def find_spikes(series: Series, level: float, apart: float) -> list[Spike]:
    """Highest point of each stretch above ``level``; stretches closer than ``apart`` seconds are one spike."""
    keep = series.value > level
    time, value = series.time[keep], series.value[keep]
    if not len(time):
        return []
    cuts = np.flatnonzero(np.diff(time) >= apart) + 1
    spikes = []
    for t, v in zip(np.split(time, cuts), np.split(value, cuts), strict=True):
        top = int(np.argmax(v))
        spikes.append(Spike(float(t[top]), float(v[top])))
    return spikes


def _spikes(view: View, start: float, stop: float, level: float, apart: float, below: float = math.inf) -> list[Spike]:
    spikes = find_spikes(view.series.window(start, stop), level, apart)
    return [s for s in spikes if s.height < below]


def _nth(spikes: list[Spike], number: float) -> Spike:
    index = int(number) - 1
    return spikes[index] if 0 <= index < len(spikes) else Spike(math.nan, math.nan)


@method
def spike_t(view: View, number: float, start: float, stop: float, level: float, apart: float) -> float:
    """Time of the spike ``number`` (from 1) in the window."""
    return _nth(_spikes(view, start, stop, level, apart), number).time


@method
def spike(view: View, number: float, start: float, stop: float, level: float, apart: float) -> float:
    """Height of the spike ``number``."""
    return _nth(_spikes(view, start, stop, level, apart), number).height


@method
def spike_mean(view: View, start: float, stop: float, level: float, apart: float, below: float = math.inf) -> float:
    """Mean height of the spikes that are lower than ``below``."""
    spikes = _spikes(view, start, stop, level, apart, below)
    return float(np.mean([s.height for s in spikes])) if spikes else math.nan


@method
def spike_count(view: View, start: float, stop: float, level: float, apart: float) -> float:
    """Number of spikes."""
    return float(len(_spikes(view, start, stop, level, apart)))


def _interior_maxima(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Positions that no neighbour exceeds and at least one falls below."""
    left, mid, right = values[:-2], values[1:-1], values[2:]
    hits: np.ndarray[tuple[int], np.dtype[np.intp]] = np.flatnonzero(
        (mid >= left) & (mid >= right) & ((mid > left) | (mid > right))
    )
    return hits + 1


@method
def ripple_period(view: View, start: float, stop: float, level: float) -> float:
    """Mean spacing of the ripple's crests above ``level``."""
    crests = find_spikes(view.series.window(start, stop), level, 2 * view.width)
    return (crests[-1].time - crests[0].time) / (len(crests) - 1) if len(crests) > 1 else math.nan


@method
def ripple_low_envelope(view: View, start: float, stop: float) -> float:
    """Mean of the local minima of the bins' maxima: the valleys between the ripple's crests."""
    tops = visible_tops(view.series.window(start, stop), view.width)
    valleys = _interior_maxima(-tops.value) if len(tops) > 2 else np.empty(0, dtype=np.intp)
    return float(tops.value[valleys].mean()) if len(valleys) else math.nan

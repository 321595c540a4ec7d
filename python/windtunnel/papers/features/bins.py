"""Averages and shares over the figure's bins (one bin is one pixel column)."""

from __future__ import annotations

import math

import numpy as np

from windtunnel.papers.features import paint
from windtunnel.papers.features.method import method
from windtunnel.papers.features.series import Series
from windtunnel.papers.features.view import View


def _mean(values: Series) -> float:
    return float(values.value.mean()) if len(values) else math.nan


@method
def bin_mean(view: View, start: float, stop: float) -> float:
    """BINMEAN: the median of each non-empty bin, averaged over the bins of the window."""
    return _mean(view.series.window(start, stop).bin_median(view.width, view.axis.step))


@method
def upper(view: View, start: float, stop: float) -> float:
    """UPPER: the median over bins of each bin's maximum, the visible upper edge of the band."""
    tops = paint.visible_tops(view.series.window(start, stop), view.width)
    return float(np.median(tops.value)) if len(tops) else math.nan


@method
def median(view: View, start: float, stop: float) -> float:
    """The median of all values in the window."""
    part = view.series.window(start, stop)
    return float(np.median(part.value)) if len(part) else math.nan


@method
def value_at(view: View, time: float) -> float:
    """The median of the bin that contains ``time``, or of the nearest one that is not empty."""
    width = view.width
    near = view.series.window(time - 20 * width, time + 20 * width).bin_median(width, view.axis.step)
    if not len(near):
        return math.nan
    middle = (math.floor(time / width) + 0.5) * width
    return float(near.value[np.argmin(np.abs(near.time - middle))])


@method
def mean_at(view: View, *times: float) -> float:
    """The mean of the values at several times."""
    return float(np.mean([value_at(view, t) for t in times]))


@method
def mid_at(view: View, time: float) -> float:
    """The middle of each bin's range, averaged over ``time`` +- 0.4 s."""
    part = view.series.window(time - 0.4, time + 0.4)
    low, high = part.bin_min(view.width), part.bin_max(view.width)
    return float(np.mean((low.value + high.value) / 2)) if len(part) else math.nan


@method
def mean_over_flows(view: View, start: float, stop: float) -> float:
    """The mean over all flows of each flow's BINMEAN."""
    flows = view.run.flows(view.panel)
    means = [_mean(view.other(str(f)).window(start, stop).bin_median(view.width, view.axis.step)) for f in flows]
    return float(np.mean(means)) if means else math.nan


@method
def ratio_of_means(view: View, start: float, stop: float) -> float:
    """For a flow written ``1/0``: BINMEAN of flow 1 over BINMEAN of flow 0."""
    above, below = view.flow.split("/")
    means = [_mean(view.other(f).window(start, stop).bin_median(view.width, view.axis.step)) for f in (above, below)]
    return means[0] / means[1]


@method
def band_edge(view: View, share: float, start: float, stop: float) -> float:
    """The quantile ``share`` of all values of a band of flows: an edge of its thick part (0.05, 0.95) or its middle."""
    part = view.series.window(start, stop)
    return float(np.quantile(part.value, share)) if len(part) else math.nan


@method
def red_fraction(view: View, start: float, stop: float) -> float:
    """REDFRAC: share of bins that show red: a dequeue that left the queue empty, not painted over by later ones."""
    return paint.visible_share(view, "empty", "not empty", start, stop)


@method
def white_fraction(view: View, start: float, stop: float) -> float:
    """WHITEFRAC: share of bins that show white: a dequeue that did not leave the queue empty, not painted over."""
    return paint.visible_share(view, "not empty", "empty", start, stop)

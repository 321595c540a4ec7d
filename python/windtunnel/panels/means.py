"""Series of means, each since the sample before: averaged over equal times, and thinned. Both keep every sum.

The first sample counts from 0 s, or from the time of a NaN that precedes it.
"""

from __future__ import annotations

import dataclasses
from typing import Any, TypeAlias

import numpy as np

from windtunnel.panels.model import Array, Index, Series

#: A time, or an array of them.
Number: TypeAlias = float | Array

#: Seconds over which a reader may average (0: the samples as they were recorded).
AVERAGES = (0.0, 0.01, 0.05, 0.2, 1.0, 10.0)
#: The usual one: Flent's step.
USUAL_S = 0.2
# A series is averaged into at most the first number of steps, plus the second one for each of its samples.
_MOST_STEPS, _STEPS_PER_SAMPLE = 100_000, 20
# A run that is shorter than this many steps is averaged over shorter ones.
_STEPS = 25


def usual_average(duration_s: float, spacing_s: float) -> float:
    """The time over which to average, unless a reader chooses another: :data:`USUAL_S` for a run of some seconds.

    ``spacing_s`` is the time between two samples. Samples that are farther apart than half the usual time are averaged
    over a longer one, because each is the mean over a round trip without a queue, which alternates with the real one.
    """
    for step in (step for step in AVERAGES if step >= USUAL_S):
        if spacing_s <= step / 2 and duration_s >= _STEPS * step:
            return step
    return max((s for s in AVERAGES if s < USUAL_S and 2 * spacing_s <= s and duration_s >= _STEPS * s), default=0.0)


def durations(x: Array, y: Array) -> Array:
    """The time that each sample stands for; 0 for the NaN that precedes the first one."""
    from_zero = not len(y) or np.isfinite(y[0])
    return np.diff(x, prepend=0.0 if from_zero else x[0])


def average(series: Series, step: float) -> Series:
    """The means over ``step`` seconds each, and those of its range.

    The series as it is if ``step`` is 0, or so much shorter than the time between samples that there is no mean of any.
    """
    if step <= 0 or len(series) < 2:
        return series
    lasted = durations(series.x, series.y)
    start = float(series.x[0] - lasted[0])
    edges = _edges(start, series.x, step)
    if edges is None:
        return series
    knots = np.concatenate([[start], series.x])
    # A start that is not 0 s is marked by NaN.
    late = start > 0

    def means(values: Array) -> Array:
        filled = values if np.isfinite(values).all() else np.nan_to_num(values)
        sums = np.concatenate([[0.0], np.cumsum(filled * lasted)])
        averages = np.diff(np.interp(edges, knots, sums)) / np.diff(edges)
        return np.concatenate([[np.nan], averages]) if late else np.asarray(averages)

    low, high = (None if bound is None else means(bound) for bound in (series.low, series.high))
    x = edges if late else edges[1:]
    return dataclasses.replace(series, x=x, y=means(series.y), flag=None, who=None, low=low, high=high)


def average_columns(x: Array, values: Array, step: float) -> tuple[Array, Array]:
    """The same for many series that share their times, from 0 s on: a column for each, without NaN."""
    edges = _edges(0.0, x, step) if step > 0 and len(x) > 1 else None
    if edges is None:
        return x, values
    knots = np.concatenate([[0.0], x])
    sums = np.zeros((len(knots), values.shape[1]))
    np.cumsum(values * np.diff(knots)[:, np.newaxis], axis=0, out=sums[1:])
    # As np.interp does it for one series.
    before = np.minimum(np.searchsorted(knots, edges, side="right") - 1, len(knots) - 2)
    slopes = (sums[before + 1] - sums[before]) / (knots[before + 1] - knots[before])[:, np.newaxis]
    at_edges = slopes * (edges - knots[before])[:, np.newaxis] + sums[before]
    at_edges[edges == knots[-1]] = sums[-1]
    return edges[1:], np.diff(at_edges, axis=0) / np.diff(edges)[:, np.newaxis]


def _edges(start: float, x: Array, step: float) -> Array | None:
    """The ends of the steps from a start on; None if they are so short that there is no mean of any."""
    end = float(x[-1])
    if too_many_steps(start, end, step, len(x)):
        return None
    return np.concatenate([[start], np.arange(*step_numbers(start, end, step)) * step, [end]])


def too_many_steps(start: Number, end: Number, step: float, samples: int | Index) -> Any:
    """Whether steps are so much shorter than the time between samples that there is no mean of any."""
    return (end - start) / step > _MOST_STEPS + _STEPS_PER_SAMPLE * samples


def step_numbers(start: Number, end: Number, step: float) -> tuple[Any, Any]:
    """The number of the first step that begins after a start, and that of the first one that does not begin before an
    end.
    """
    return np.floor(start / step + 1e-9) + 1, np.ceil(end / step - 1e-9)


def thin_means(series: Series, limit: int) -> Series:
    """About ``limit`` samples with the same integral and the same extremes.

    The time is cut into equal columns. Each keeps its least and its greatest sample; those before, between and after
    them become one mean each, over the time that is known.
    """
    n = len(series)
    if n <= limit:
        return series
    starts = _segments(series, max(1, limit // 5))
    lasts = np.append(starts[1:], n) - 1
    lasted = durations(series.x, series.y)
    finite = np.isfinite(series.y)
    time = np.add.reduceat(np.where(finite, lasted, 0.0), starts)
    with np.errstate(invalid="ignore", divide="ignore"):
        y = np.add.reduceat(np.where(finite, series.y, 0.0) * lasted, starts) / time
    # Single samples are exact, and so are those of a moment, which stand for no time.
    y = np.where((lasts == starts) | ((time <= 0) & finite[lasts]), series.y[lasts], y)
    return dataclasses.replace(
        series,
        x=series.x[lasts],
        y=y,
        flag=None if series.flag is None else np.logical_or.reduceat(series.flag, starts),
        who=None if series.who is None else series.who[lasts],
        low=None if series.low is None else np.fmin.reduceat(series.low, starts),
        high=None if series.high is None else np.fmax.reduceat(series.high, starts),
    )


def _segments(series: Series, columns: int) -> Index:
    """The first samples of what becomes one sample."""
    x, y = series.x, series.y
    span = float(x[-1] - x[0]) or 1.0
    column = np.minimum(((x - x[0]) * (columns / span)).astype(np.int64), columns - 1)
    first = np.flatnonzero(np.diff(column, prepend=-1))
    alone = np.zeros(len(x), dtype=np.bool_)
    # The start of a series that does not start at 0 s.
    alone[0] = bool(np.isnan(y[0]))
    for low in (np.where(np.isnan(y), np.inf, y), np.where(np.isnan(y), np.inf, -y)):
        # The first of the least of each column: the order is by column, then by value.
        order = np.lexsort([low, column])
        alone[order[first]] = True
    new = np.zeros(len(x), dtype=np.bool_)
    new[first] = True
    new |= alone
    new[1:] |= alone[:-1]
    return np.flatnonzero(new).astype(np.int64)

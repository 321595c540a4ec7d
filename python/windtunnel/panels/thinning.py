"""Fewer points, the same picture.

A run records up to 10^6 points of a series; a printed panel has room for some thousands. Both methods keep every
extreme: for a queue, the peak is the message.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from windtunnel.distinct import distinct
from windtunnel.panels.means import thin_means
from windtunnel.panels.model import Array, Choice, Index, Kind, Panel, Series, Ticks

#: Cells of a panel on a large screen (columns, rows): dots in one cell are one dot.
CELLS = (2000, 400)
# The least number of points of a series, however many there are of them.
_LEAST = 40


def thin(panel: Panel, limit: int) -> Panel:
    """The panel with about ``limit`` points in all that draw the same picture, whatever part of it is shown.

    Lines, dots and their flagged samples keep every extreme, means and ticks their sums.
    """
    total = sum(len(s) for s in panel.series)
    choices = tuple(
        Choice(c.name, c.unit, _each(panel.kind, c.series, limit // len(panel.choices)), c.log, c.x)
        for c in panel.choices
    )
    series = choices[0].series if choices else _each(panel.kind, panel.series, limit)
    kept = sum(len(s) for s in series)
    note = panel.note
    if kept < 0.9 * total:
        note = f"{note} {kept} of {total} samples are here; every extreme is among them.".strip()
    thresholds = _each("line", panel.thresholds, limit // 2)
    ticks = tuple(thin_ticks(one, max(limit // (4 * len(panel.ticks)), _LEAST)) for one in panel.ticks)
    return replace(panel, series=series, choices=choices, thresholds=thresholds, ticks=ticks, note=note)


def thin_ticks(ticks: Ticks, limit: int) -> Ticks:
    """At most ``limit`` ticks: those of an equal part of the time become one, at the last, with all that they count."""
    if len(ticks.x) <= limit:
        return ticks
    first = np.flatnonzero(np.diff(_bins(ticks.x, limit), prepend=-1))
    return replace(
        ticks,
        x=ticks.x[np.append(first[1:], len(ticks.x)) - 1],
        retransmits=np.add.reduceat(ticks.retransmits, first),
        rtos=np.add.reduceat(ticks.rtos, first),
    )


def _each(kind: Kind, every: tuple[Series, ...], limit: int) -> tuple[Series, ...]:
    """Few samples of one series leave more room to the others."""
    left, count, out = limit, len(every), {}
    for index in sorted(range(len(every)), key=lambda i: len(every[i])):
        out[index] = thin_series(kind, every[index], max(left // count, _LEAST))
        left, count = left - len(out[index]), count - 1
    return tuple(out[index] for index in range(len(every)))


def thin_series(
    kind: Kind,
    series: Series,
    limit: int,
    cells: tuple[int, int] = CELLS,
    *,
    log: bool = False,
    extent: tuple[float, float, float, float] | None = None,
) -> Series:
    """At most about ``limit`` samples of a series that draw the same line, or the same dots."""
    if len(series) <= limit:
        return series
    if series.step == "mean":
        return thin_means(series, limit)
    if kind == "path":
        return _only(series, np.arange(0, len(series), -(-len(series) // limit), dtype=np.int64))
    if kind == "line":
        series = _with_gaps(series)
        keep = thin_line(series.x, series.y, limit)
        if series.flag is not None:
            flagged = np.flatnonzero(series.flag)
            keep = np.union1d(keep, flagged[thin_line(series.x[flagged], series.y[flagged], limit // 4)])
        return _only(series, keep)
    finite = np.isfinite(series.y) & ((series.y > 0) if log else True)
    parts = [finite] if series.flag is None else [finite & series.flag, finite & ~series.flag]
    kept = []
    for part in parts:
        mine = np.flatnonzero(part)
        share = max(_LEAST, int(limit * len(mine) / max(1, int(finite.sum()))))
        kept.append(mine[thin_cloud(series.x[mine], series.y[mine], share, cells, log=log, extent=extent)])
    return _only(series, np.sort(np.concatenate(kept)))


def _with_gaps(series: Series) -> Series:
    """The same with NaN in each gap: among fewer samples, gaps could no longer be told from what is left out."""
    if series.gap is None:
        return series
    after = np.flatnonzero(np.diff(series.x) > series.gap) + 1
    if not len(after):
        return replace(series, gap=None)
    index = np.sort(np.concatenate([np.arange(len(series), dtype=np.int64), after]))
    repeated = series.only(index)
    y = repeated.y.copy()
    y[np.searchsorted(index, after)] = np.nan
    return replace(repeated, y=y, gap=None)


def _only(series: Series, keep: Index) -> Series:
    """Some samples. A range of those left out goes to the sample that is kept before them."""
    low = None if series.low is None else np.fmin.reduceat(series.low, keep)
    high = None if series.high is None else np.fmax.reduceat(series.high, keep)
    return replace(series.only(keep), low=low, high=high)


def thin_line(x: Array, y: Array, limit: int) -> Index:
    """Indices of at most about ``limit`` points, ascending, that draw the same line.

    ``x`` (ascending) and ``y``: shape ``(n,)``, NaN in ``y`` allowed. The range of ``x`` is cut into equal columns;
    each keeps its first, least, greatest and last value (the M4 rule: Jugel et al., "M4: a visualization-oriented time
    series data aggregation", VLDB 2014). A gap (NaN) stays a gap.
    """
    n = len(x)
    if n <= limit:
        return np.arange(n, dtype=np.int64)
    column = _bins(x, max(1, limit // 4))
    starts = np.flatnonzero(np.diff(column, prepend=-1))
    lengths = np.diff(starts, append=n)
    nan = np.isnan(y)
    keep = np.concatenate(
        [
            starts,
            starts + lengths - 1,
            _extreme(np.where(nan, np.inf, y), starts, lengths, np.minimum),
            _extreme(np.where(nan, -np.inf, y), starts, lengths, np.maximum),
            np.flatnonzero(nan & ~np.roll(nan, 1)),
        ]
    )
    return distinct(keep).astype(np.int64)


def cell_means(t: Array, y: Array, cells: int) -> tuple[Array, Array, Array, Array]:
    """The middles of ``cells`` equal parts of a time, and the mean, least and greatest of ``y`` in each.

    Each value of ``y`` is the mean since the one before it, or NaN where it is unknown; NaN where a part has none.
    """
    edges = np.linspace(t[0], t[-1], cells + 1)
    finite = np.isfinite(y[1:])
    lasted = np.diff(t) * finite

    def summed(values: Array) -> Array:
        return np.diff(np.interp(edges, t, np.concatenate([[0.0], np.cumsum(values)])))

    with np.errstate(invalid="ignore", divide="ignore"):
        mean = summed(np.where(finite, y[1:], 0.0) * lasted) / summed(lasted)
    # A value that ends beyond a part but reaches into it belongs to the part too.
    first = np.searchsorted(t, edges[:-1], side="right")
    last = np.minimum(np.searchsorted(t, edges[1:], side="left"), len(t) - 1)
    low, high = mean.copy(), mean.copy()
    for i, (a, b) in enumerate(zip(first, last, strict=True)):
        low[i], high[i] = np.fmin.reduce(y[a : b + 1], initial=mean[i]), np.fmax.reduce(y[a : b + 1], initial=mean[i])
    return (edges[:-1] + edges[1:]) / 2, mean, low, high


def thin_cloud(
    x: Array,
    y: Array,
    limit: int,
    cells: tuple[int, int],
    *,
    log: bool = False,
    extent: tuple[float, float, float, float] | None = None,
) -> Index:
    """Indices of at most about ``limit`` points, ascending, that draw the same cloud of dots.

    ``x`` and ``y``: shape ``(n,)``, finite; with ``log`` ``y`` is positive and its cells are equal on a logarithmic
    axis. The plot area, ``extent = (x0, x1, y0, y1)`` or the range of the points, is divided into ``cells`` (columns,
    rows) of about the size of a dot, and each keeps one point; if that is still more than ``limit``, the cells grow. In
    addition every column keeps its least and greatest point.
    """
    n = len(x)
    if n == 0:
        return np.empty(0, dtype=np.int64)
    across, up = cells
    height = np.log(y) if log else y
    wide, high = (None, None) if extent is None else (extent[:2], extent[2:])
    if high is not None and log:
        high = (float(np.log(high[0])), float(np.log(high[1])))
    while True:
        column, row = _bins(x, across, wide), _bins(height, up, high)
        _, first = np.unique(column * up + row, return_index=True)
        if len(first) <= limit or min(across, up) <= 2:
            break
        shrink = min(0.9, (limit / len(first)) ** 0.5)
        across, up = max(2, int(across * shrink)), max(2, int(up * shrink))
    order = np.lexsort([y, column])
    ends = np.flatnonzero(np.diff(column[order], prepend=-1))
    extremes = np.concatenate([order[ends], order[np.append(ends[1:], n) - 1]])
    return distinct(np.concatenate([first, extremes])).astype(np.int64)


def _bins(values: Array, count: int, extent: tuple[float, float] | None = None) -> Index:
    """The bin, 0 to ``count - 1``, of each value; bins divide ``extent`` (default: the range of all) equally."""
    low, high = extent or (float(np.min(values)), float(np.max(values)))
    if not high > low:
        return np.zeros(len(values), dtype=np.int64)
    return np.clip((values - low) * (count / (high - low)), 0, count - 1).astype(np.int64)


def _extreme(y: Array, starts: Index, lengths: Index, which: np.ufunc) -> Index:
    """The index of the first least (greatest) value of each column."""
    best = np.repeat(which.reduceat(y, starts), lengths)
    hits = np.flatnonzero(y == best)
    column = np.searchsorted(starts, hits, side="right") - 1
    _, first = np.unique(column, return_index=True)
    return np.asarray(hits[first], dtype=np.int64)

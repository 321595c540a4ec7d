"""The cells of a data set as columns of the page: the numbers of ``cells.parquet``, in full.

Of cells that are too many for a page, neighbours are one bin. A bin keeps the sums of its cells (so that its mean is
that of all values in it) and their extremes. It has no interval, because its values are not of one kind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from windtunnel.campaign.page.grid import Grid, Places
from windtunnel.table import Table
from windtunnel.texts import Texts

Numbers = npt.NDArray[np.float64]

#: Rows of a page. A row takes about 250 bytes of it, and the page stays below 3 MB.
MOST_ROWS = 8_000
COUNTS = ("runs", "failed", "distinct", "count", "pairs")
VALUES = (
    "mean", "mean_low", "mean_high", "median", "median_low", "median_high", "std", "min", "max", "offset_share",
    "phase_locked", "difference", "difference_low", "difference_high", "p", "p_corrected", "effect", "dominance",
)  # fmt: skip


@dataclass(frozen=True)
class Rows:
    """Rows of the page. ``cell``: the number of the cell, or of the first one in a bin; ``cells``: how many are in it.
    ``metric`` and ``baseline`` are places in lists; ``axes`` has the places on each axis.
    """

    cell: Places
    cells: Places
    metric: Places
    baseline: Places
    axes: Sequence[Places]
    counts: Mapping[str, Places]
    values: Mapping[str, Numbers]


def grid_of(document: Mapping[str, Any], cells: int) -> Grid:
    """The grid on which a page shows ``cells`` cells."""
    grid = Grid.of(document)
    each = max(1, len(document["metrics"])) * max(1, len(document["baselines"]))
    return grid if cells * each <= MOST_ROWS else grid.fitting(MOST_ROWS // each)


def rows_of(table: Table, grid: Grid, document: Mapping[str, Any]) -> Rows:
    """The rows of a page, from ``cells.parquet``."""
    cell = _whole(table, "cell")
    metric = _index(table, "metric", list(document["metrics"]))
    baseline = _index(table, "baseline", [baseline_name(one) for one in document["baselines"]])
    counts = {name: _whole(table, name) for name in COUNTS}
    values = {name: _number(table, name) for name in VALUES}
    places = grid.places(cell)
    if not grid.is_binned:
        return Rows(cell, np.ones_like(cell), metric, baseline, grid.by_axis(places), counts, values)
    return _binned(grid, cell, places, metric, baseline, counts, values)


def baseline_name(baseline: Mapping[str, str]) -> str:
    """A baseline as the column of the same name has it."""
    return ", ".join(f"{axis} = {label}" for axis, label in baseline.items())


def _binned(
    grid: Grid,
    cell: Places,
    places: Sequence[Places],
    metric: Places,
    baseline: Places,
    counts: Mapping[str, Places],
    values: Mapping[str, Numbers],
) -> Rows:
    """Rows of bins, in the order of their first cells, then of the metrics."""
    sizes = (*(each.bins for each in grid.dimensions), int(metric.max()) + 1, int(baseline.max()) + 1)
    keys = np.ravel_multi_index((*places, metric, baseline), sizes)
    # Of cells in the plan's order the first of a bin is the least.
    unique, first, which = np.unique(keys, return_index=True, return_inverse=True)
    bins = len(unique)

    def total(numbers: npt.NDArray[Any]) -> Numbers:
        return np.bincount(which, np.nan_to_num(numbers.astype(np.float64)), bins).astype(np.float64)

    def extreme(pick: np.ufunc, numbers: Numbers) -> Numbers:
        extremes = np.full(bins, np.nan)
        pick.at(extremes, which, numbers)
        return extremes

    def mean(numbers: Numbers, weight: Places) -> Numbers:
        counted = np.where(np.isfinite(numbers), weight, 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            return total(numbers * counted) / total(counted)

    difference = values["difference"]
    binned = {
        "mean": mean(values["mean"], counts["count"]),
        "min": extreme(np.fmin, values["min"]),
        "max": extreme(np.fmax, values["max"]),
        "difference": mean(difference, counts["pairs"]),
        "difference_min": extreme(np.fmin, difference),
        "difference_max": extreme(np.fmax, difference),
    }
    sums = {name: total(counts[name]).astype(np.int64) for name in ("runs", "failed", "count", "pairs")}
    axes = grid.by_axis([positions[first] for positions in places])
    cells = np.bincount(which, minlength=bins)
    return Rows(cell[first], cells, metric[first], baseline[first], axes, sums, binned)


def _column(table: Table, name: str, missing: float) -> npt.NDArray[Any]:
    column = table[name]
    assert not isinstance(column, Texts)
    return np.ma.filled(column if column.dtype.kind in "iu" else column.astype(np.float64), missing)


def _whole(table: Table, name: str) -> Places:
    return _column(table, name, 0).astype(np.int64)


def _number(table: Table, name: str) -> Numbers:
    return _column(table, name, np.nan).astype(np.float64)


def _index(table: Table, name: str, among: Sequence[str]) -> Places:
    """The place of each text in a list; 0 for none."""
    column = table[name]
    assert isinstance(column, Texts)
    return np.maximum(column.among(among), 0)

"""Distributions of a metric over runs and over cells: a curve for each value of an axis tells which share has at most
a value. With many values, neighbours are one curve. All values count; a curve keeps its least and greatest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

import numpy as np

from windtunnel.campaign.page.cells import Numbers
from windtunnel.campaign.page.grid import Dimension, Grid, Places
from windtunnel.panels.cdf import curve
from windtunnel.panels.looks import TOTAL, flow_look
from windtunnel.panels.model import Abscissa, Choice, Panel, Series

#: Curves in a panel; more cannot be told apart.
MOST_CURVES = 12
#: Values whose greatest is this many times their least are shown on a logarithmic axis.
_LOG_RATIO = 100.0
NOTHING = "No run has a value of this metric."


def panel(
    id: str,
    metric: str,
    grid: Grid,
    runs: tuple[Places, Numbers],
    cells: tuple[Places, Numbers],
    points: int,
    foremost: Set[str] = frozenset(),
) -> Panel:
    """The panel of a metric. ``runs`` and ``cells``: the cell and the value of each; ``points`` of a curve at most.
    Curves by the axes ``foremost`` are offered first: who opens the page compares their values.
    """
    choices: list[Choice] = []
    for what, (cell, values) in (("runs", runs), ("means of cells", cells)):
        finite = np.isfinite(values)
        if finite.any():
            offered = list(_choices(what, metric, grid, cell[finite], values[finite], points))
            choices += sorted(offered, key=lambda choice: choice.name.partition("by ")[2] not in foremost)
    if not choices:
        return Panel(id, "Distribution", "%", empty=NOTHING)
    first = choices[0]
    return Panel(
        id, "Distribution", first.unit, first.series, quantity="Share", x=first.x, choices=tuple(choices)
    )  # fmt: skip


def _choices(what: str, metric: str, grid: Grid, cell: Places, values: Numbers, points: int) -> Iterator[Choice]:
    log = bool(values.min() > 0 and values.max() / values.min() > _LOG_RATIO)
    x = Abscissa(metric, "", time=False, log=log)
    few = Grid(tuple(_few(each) for each in grid.dimensions))
    for axis, positions in zip(few.axes, few.by_axis(few.places(cell)), strict=True):
        if len(axis.labels) > 1:
            yield Choice(f"{what}, by {axis.name}", "%", _curves(axis.labels, positions, values, points), x=x)
    yield Choice(f"all {what}", "%", (_series("all", "all", None, values, points),), x=x)


def _few(dimension: Dimension) -> Dimension:
    return Dimension(dimension.axes, width=-(-dimension.size // MOST_CURVES))


def _curves(labels: Sequence[str], positions: Places, values: Numbers, points: int) -> tuple[Series, ...]:
    out = []
    for index, label in enumerate(labels):
        mine = values[positions == index]
        if len(mine):
            out.append(_series(f"v{index}", label, index, mine, points))
    return tuple(out)


def _series(key: str, label: str, index: int | None, values: Numbers, points: int) -> Series:
    x, y = curve(values)
    if len(x) > points:
        keep = np.unique(np.round(np.linspace(0, len(x) - 1, points)).astype(np.int64))
        x, y = x[keep], y[keep]
    return Series(key, label, TOTAL if index is None else flow_look(index), x, y, step="hold")

"""A panel whose lines hide each other, as strips one below the other: one for each flow, on the same ordinates."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from windtunnel.figures.draw import TITLE_WIDTH, Window, averaged, draw, highest, visible
from windtunnel.panels.model import Array, Panel, Series

# Fewer lines can be told apart in one panel; of more, strips would be too low.
_LEAST, _MOST = 3, 8
# The parts of a panel's width in which the ranges of its lines are compared.
_CELLS = 100
# Lines hide each other if their ranges together are this much larger than what they cover.
_HIDDEN = 1.5
# The space below a strip as a share of its height, and the room that the numbers on an axis take, in points.
_GAP = 0.12
_TICK_LABELS = 17.0


def crowded(panel: Panel, window: Window) -> bool:
    """Whether lines of several flows lie on top of each other in most of the window."""
    lines = _shown(panel, window)
    if panel.kind != "line" or panel.log or not panel.x.time or not _LEAST <= len(lines) <= _MOST:
        return False
    ranges = [_ranges(s, window) for s in lines]
    low, high = (np.array([one[i] for one in ranges]) for i in (0, 1))
    with np.errstate(invalid="ignore"):
        drawn = np.nansum(high - low, axis=0)
        covered = np.where(np.isfinite(high), high, -np.inf).max(axis=0)
        covered = covered - np.where(np.isfinite(low), low, np.inf).min(axis=0)
    told = np.isfinite(covered) & (covered > 0)
    return bool(told.any()) and float(np.median(drawn[told] / covered[told])) > _HIDDEN


def draw_strips(frame: Axes, panel: Panel, window: Window) -> None:
    """Draw a panel as strips inside axes that bear its title and labels; what all flows have together is the first."""
    lines = _shown(panel, window)
    total = [s for s in panel.series if s.total]
    top = window.top if window.top is not None else 1.06 * highest(lines, window)
    shared = replace(window, bottom=0.0 if window.bottom is None else window.bottom, top=top)
    name = frame.get_label()
    # Its own ordinates mean nothing: a search for the panel's axes must find the strips.
    frame.set_label(f"{name} strips")
    rows = [*((s, window) for s in total), *((s, shared) for s in lines)]
    height = 1.0 / len(rows)
    strips: list[Axes] = []
    for row, (s, part) in enumerate(rows, start=1):
        strip = frame.inset_axes((0.0, 1.0 - row * height, 1.0, (1.0 - _GAP) * height))
        strip.set_label(f"{name} {s.key}")
        draw(strip, _alone(panel, s), part, legend=False)
        strip.yaxis.set_major_locator(MaxNLocator(2, prune="upper"))
        strips.append(strip)
    _label(frame, strips, ["x: all flows"] if total else [])


def _shown(panel: Panel, window: Window) -> list[Series]:
    """The lines of flows that have something in the window, averaged as they are drawn."""
    lines = (visible(averaged(s, panel.average), window) for s in panel.series if not s.total)
    return [s for s in lines if len(s)]


def _ranges(s: Series, window: Window) -> tuple[Array, Array]:
    """The least and greatest value of a line in each part of the window's width; infinite where it has none."""
    position = (s.x - window.start) / (window.end - window.start) * _CELLS
    inside = np.isfinite(s.y) & (position >= 0) & (position < _CELLS)
    cell, y = position[inside].astype(int), s.y[inside]
    low, high = np.full(_CELLS, np.inf), np.full(_CELLS, -np.inf)
    np.minimum.at(low, cell, y)
    np.maximum.at(high, cell, y)
    empty = low > high
    return np.where(empty, np.nan, low), np.where(empty, np.nan, high)


def _alone(panel: Panel, s: Series) -> Panel:
    """The panel with one series, and what belongs to it."""
    return replace(
        panel,
        series=(s,),
        thresholds=tuple(one for one in panel.thresholds if one.flow == s.flow),
        ticks=tuple(replace(one, row=0) for one in panel.ticks if one.flow == s.flow),
    )


def _label(frame: Axes, strips: Sequence[Axes], hints: Sequence[str]) -> None:
    """Title and labels of a panel are at its frame, once; times below the last strip."""
    last = strips[-1]
    what, _, more = last.get_title(loc="left").rstrip(")").partition(" (")
    title = f"{what} ({'; '.join(filter(None, ('a strip per flow', *hints, more)))})"
    frame.set_title(textwrap.fill(title, TITLE_WIDTH))
    frame.set_xlabel(last.get_xlabel(), labelpad=_TICK_LABELS)
    frame.set_ylabel(last.get_ylabel(), labelpad=1.7 * _TICK_LABELS)
    frame.set(xticks=[], yticks=[])
    frame.spines[:].set_visible(False)
    for strip in strips:
        strip.set(title="", xlabel="", ylabel="")
        strip.set_title("", loc="left")
        strip.tick_params(labelbottom=strip is last, bottom=strip is last)

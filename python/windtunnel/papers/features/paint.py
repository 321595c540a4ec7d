"""What an image shows of crowded symbols: they are three pixels wide, and later ones paint over earlier ones.

The published figures were read as images. A symbol is a plus of five pixels; where a dequeue that leaves the queue
empty (red) and one that does not (white) fall on one pixel, the later one is seen.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from windtunnel.papers.features.series import Series
from windtunnel.papers.features.view import PIXELS_X, PIXELS_Y, View

#: The pixels of a symbol about its centre.
PLUS = ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1))

#: Pixels kept free around the plot area, for the arms of symbols at its edge.
MARGIN = 2


def visible_tops(series: Series, width: float) -> Series:
    """Largest value that each bin shows, from its own symbols and the arms of those in neighbouring bins."""
    tops = series.bin_max(width)
    if not len(tops):
        return tops
    column = np.round(tops.time / width - 0.5).astype(np.int64)
    filled = np.full(column[-1] - column[0] + 3, -math.inf)
    filled[column - column[0] + 1] = tops.value
    shown = np.maximum(np.maximum(filled[:-2], filled[1:-1]), filled[2:])
    return Series(tops.time, shown[column - column[0]])


def _last_painted(view: View, colour: str) -> npt.NDArray[np.float64]:
    """For each pixel the time of the last symbol of ``colour`` that covers it, or minus infinity."""
    series, axis = view.other(colour), view.axis
    column = np.round((series.time - axis.x_min) / axis.bin_width).astype(np.int64)
    row = np.round((series.value - axis.y_min) / axis.step).astype(np.int64)
    inside = (column >= 0) & (column <= PIXELS_X) & (row >= 0) & (row <= PIXELS_Y)
    column, row, time = column[inside] + MARGIN, row[inside] + MARGIN, series.time[inside]
    painted = np.full((PIXELS_X + 2 * MARGIN + 1, PIXELS_Y + 2 * MARGIN + 1), -math.inf)
    for across, up in PLUS:
        np.maximum.at(painted, (column + across, row + up), time)
    return painted


def visible_share(view: View, colour: str, other: str, start: float, stop: float) -> float:
    """Share of the non-empty pixel columns of the window that show ``colour``."""
    mine, theirs = _last_painted(view, colour), _last_painted(view, other)
    first, last = (math.floor((t - view.axis.x_min) / view.width) + MARGIN for t in (start, stop))
    mine, theirs = mine[first:last], theirs[first:last]
    shown = np.count_nonzero(np.any(mine > theirs, axis=1))
    drawn = np.count_nonzero(np.any(np.maximum(mine, theirs) > -math.inf, axis=1))
    return shown / drawn if drawn else math.nan

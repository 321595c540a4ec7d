"""Draws published readings into the panels of a measured figure, with the error of the reading as error bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from matplotlib.patheffects import Normal, Stroke

from windtunnel.figures.style import INK, flow_look
from windtunnel.panels.units import FACTORS
from windtunnel.papers.readings import Reading, by_panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LEGEND = (
    "Circles, dashed levels (in flows' colours), ticks: read from the published figure, with the error of the reading"
)
#: Height of a tick for a moment, as a share of the panel's.
_TICK = 0.05
_POINT: dict[str, Any] = {
    "fmt": "o",
    "ms": 4.2,
    "mfc": "none",
    "mec": INK,
    "mew": 0.9,
    "ecolor": INK,
    "elinewidth": 0.8,
    "zorder": 6,
}
_LEVEL: dict[str, Any] = {"fmt": "none", "ecolor": INK, "elinewidth": 0.8, "capsize": 2.0, "zorder": 6}


def add_readings(figure: Figure, listed: Sequence[Reading]) -> None:
    """Draw the readings into the axes that have their panels as labels; nothing if there are none."""
    panels = by_panel(listed)
    drawn = [axes for axes in figure.axes if panels.get(str(axes.get_label()))]
    for axes in drawn:
        _panel(axes, panels[str(axes.get_label())])
    if drawn:
        figure.text(0.99, 0.993, _LEGEND, ha="right", va="top", fontsize=8, color=INK)


def _panel(axes: Axes, listed: Sequence[Reading]) -> None:
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    factor = _factor(axes)
    highest = max((r.y + r.y_error for r in listed if r.y is not None), default=0.0) / factor
    for reading in listed:
        _draw(axes, reading, factor, right)
    axes.set_xlim(left, right)
    # A published value above all that was measured must be seen; the zoomed views keep their own range.
    axes.set_ylim(bottom, max(top, min(1.03 * highest, 2.0 * top)))


def _draw(axes: Axes, reading: Reading, factor: float, right: float) -> None:
    if reading.y is None:
        assert reading.x is not None
        ends = [reading.x - reading.x_error, reading.x + reading.x_error]
        moment: dict[str, Any] = {"transform": axes.get_xaxis_transform(), "color": INK, "zorder": 6}
        axes.plot([reading.x, reading.x], [0.0, _TICK], lw=0.9, **moment)
        axes.plot(ends, [_TICK / 2, _TICK / 2], lw=0.8, **moment)
        return
    y, error = reading.y / factor, reading.y_error / factor
    if reading.x is None:
        axes.errorbar([right], [y], yerr=[error], clip_on=False, **{**_POINT, "fmt": "<"})
    elif reading.until is not None:
        end = min(reading.until, right)
        colour = INK if reading.flow is None else flow_look(reading.flow).colour
        axes.plot([reading.x, end], [y, y], color=colour, lw=1.0, ls=(0, (5, 2)), zorder=6)
        axes.errorbar([(reading.x + end) / 2], [y], yerr=[error], **_LEVEL)
        text = axes.text(end, y, reading.label, ha="right", va="bottom", fontsize=7, color=INK, zorder=7, clip_on=True)
        text.set_path_effects([Stroke(linewidth=2, foreground="white"), Normal()])
    else:
        axes.errorbar([reading.x], [y], xerr=[reading.x_error], yerr=[error], **_POINT)


def _factor(axes: Axes) -> float:
    """How many of the table's unit is one of the axis, whose label ends in its unit."""
    unit = axes.get_ylabel().rpartition("(")[2].rstrip(")").partition(",")[0]
    return FACTORS.get(unit, 1.0)

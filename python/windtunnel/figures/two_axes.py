"""Time series on two axes, as Flent draws them: rates on the left axis, round-trip times on the right, in one panel.

A panel may have a second, lower one with the same time axis: probabilities of marks, in percent. Several panels are
in a grid with the same scales, so that they can be compared; one legend serves all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from windtunnel.figures.legible import legible
from windtunnel.figures.style import INK, RC, SOFT, Dash
from windtunnel.panels.model import Array

_PANEL_INCHES = (5.4, 2.9)
_LOWER_INCHES = 1.5
#: The right axis and the lower one reach to this quantile of each curve: the overshoot of a slow start would flatten
#: the rest.
_SHOWN = 0.97
#: Room above the highest value, and the share of the panel's height that the round-trip times take, from below.
_MARGIN, _RIGHT_SHARE = 1.14, 0.62
#: How the line of a round trip is distinguished from that of the same flow's rate.
TCP_RTT: Dash = (0, (2.5, 1.2))


@dataclass(frozen=True)
class Curve:
    """A line: seconds and values of one shape; NaN where there is none."""

    label: str
    time_s: Array
    value: Array
    colour: str
    dash: Dash = "solid"
    width: float = 1.1


Curves: TypeAlias = Sequence[Curve]


@dataclass(frozen=True)
class Panel:
    """What one panel shows: rates, round-trip times, and probabilities in a lower panel."""

    title: str
    left: Curves
    right: Curves
    lower: Curves = ()


@dataclass(frozen=True)
class Labels:
    """The labels of the axes."""

    left: str = "Throughput (Mbit/s)"
    right: str = "RTT (ms)"
    lower: str = "Probability (%)"


def two_axes(
    panels: Sequence[Panel],
    *,
    title: str = "",
    labels: Labels | None = None,
    columns: int = 1,
    rate_mbps: float | None = None,
    right_low: float = 0.0,
    right_high: float | None = None,
    span: tuple[float, float] | None = None,
) -> Figure:
    """Draw the panels in reading order.

    ``rate_mbps``, if given, is a line across: the link's rate. ``right_low`` is the lower end of the right axis, such
    as a little less than the path's round trip; ``right_high`` its upper end, by default by the curves. ``span`` is the
    time shown, by default all. Where round-trip times leave the panel, a note says how far they reach.
    """
    labels = labels or Labels()
    rows = -(-len(panels) // columns)
    lower = any(panel.lower for panel in panels)
    width, height = _PANEL_INCHES[0], _PANEL_INCHES[1] + (_LOWER_INCHES if lower else 0.0)
    if len(panels) == 1:
        width, height = 8.0, 4.4 + (_LOWER_INCHES if lower else 0.0)
    left_top = _MARGIN * max((rate_mbps or 0.0), _top(c for p in panels for c in p.left))
    right_top = right_high or _right_top([c for p in panels for c in p.right], right_low)
    lower_top = max(_MARGIN * _shown([c for p in panels for c in p.lower]), 1.0)
    with mpl.rc_context({**RC, "axes.spines.right": True}):
        figure = Figure(figsize=(columns * width, rows * height + 0.7), dpi=120, layout="constrained")
        ratios = (_PANEL_INCHES[1], _LOWER_INCHES) if lower else (1.0,)
        grid = figure.subplots(rows * len(ratios), columns, squeeze=False, height_ratios=ratios * rows)
        for index, panel in enumerate(panels):
            row, column = divmod(index, columns)
            own = grid[row * len(ratios) : (row + 1) * len(ratios), column]
            right = _draw(own[0], panel, left_top, (right_low, right_top), rate_mbps)
            if lower:
                _lines(own[1], panel.lower)
                own[1].set_ylim(0.0, lower_top)
                own[1].spines["right"].set_visible(False)
                own[0].tick_params(labelbottom=False)
            if span is not None:
                for axes in own:
                    axes.set_xlim(*span)
            if index + columns >= len(panels):
                own[-1].set_xlabel("Time (s)")
            if column == 0:
                own[0].set_ylabel(labels.left)
                if lower:
                    own[1].set_ylabel(labels.lower)
            if column == columns - 1 or index == len(panels) - 1:
                right.set_ylabel(labels.right)
        for axes in grid[:, len(panels) % columns or columns :][-len(ratios) :].flat:
            axes.axis("off")
        figure.legend(handles=_handles(panels), loc="outside lower center", ncols=4 if columns > 1 else 3)
        if title:
            figure.suptitle(legible(title), fontsize=11, x=0.01, ha="left")
    return figure


def _draw(axes: Axes, panel: Panel, top: float, right_range: tuple[float, float], rate_mbps: float | None) -> Axes:
    """Rates above round-trip times: in what is printed, the former are the message."""
    axes.set_title(legible(panel.title))
    right = axes.twinx()
    right.grid(visible=False)
    axes.set_zorder(right.get_zorder() + 1)
    axes.patch.set_visible(False)
    if rate_mbps is not None:
        axes.axhline(rate_mbps, color=SOFT, lw=0.6, ls=(0, (1, 2)))
    _lines(axes, panel.left)
    _lines(right, panel.right)
    axes.set_ylim(0.0, top)
    right.set_ylim(*right_range)
    highest = max((c for c in panel.right), key=lambda c: _top([c]), default=None)
    if highest is not None and _top([highest]) > right_range[1]:
        at = float(highest.time_s[int(np.nanargmax(highest.value))])
        note = f"RTT up to {_top([highest]):.0f} ms at {at:.0f} s"
        axes.annotate(
            note, (1.0, 1.0), (-3, -3), xycoords="axes fraction", textcoords="offset points", ha="right", va="top",
            color=INK, fontsize=7.5, bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1.0},
        )  # fmt: skip
    return right


def _lines(axes: Axes, curves: Curves) -> None:
    for curve in curves:
        axes.plot(curve.time_s, curve.value, color=curve.colour, ls=curve.dash, lw=curve.width)
    ends = [c.time_s[[0, -1]] for c in curves if len(c.time_s)]
    if ends:
        axes.set_xlim(min(0.0, *(e[0] for e in ends)), max(e[1] for e in ends))


def _handles(panels: Sequence[Panel]) -> list[Line2D]:
    """An entry for each label, in the order in which the panels show them."""
    handles: dict[str, Line2D] = {}
    for panel in panels:
        for curve in (*panel.left, *panel.right, *panel.lower):
            label = legible(curve.label)
            handles.setdefault(label, Line2D([], [], color=curve.colour, ls=curve.dash, lw=1.4, label=label))
    return list(handles.values())


def _top(curves: Iterable[Curve]) -> float:
    return max((float(np.nanmax(c.value)) for c in curves if np.isfinite(c.value).any()), default=0.0)


def _right_top(curves: Curves, low: float) -> float:
    """The top of the right axis: round-trip times take the lower part of the panel, rates the upper."""
    return low + max(_shown(curves) - low, 1.0) / _RIGHT_SHARE


def _shown(curves: Curves) -> float:
    """The value up to which an axis shows each of the curves; 0 without any."""
    finite = [c.value[np.isfinite(c.value)] for c in curves]
    return max((float(np.quantile(values, _SHOWN)) for values in finite if len(values)), default=0.0)

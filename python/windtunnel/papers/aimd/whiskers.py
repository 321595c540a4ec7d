"""Whisker plots of normalised rates: P1, mean and P99, for two groups of flows side by side."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np

from windtunnel.figures.style import INK, RC, SOFT, flow_look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI = 120
#: Backgrounds by CUBIC's mode: light where it changes part-way up the sawtooth, dark for the cubic function alone.
SHADES = {"Reno-friendly": "white", "mixed": "#ededed", "CUBIC": "#d2d2d2"}
#: Height of the strip that shows another rule's modes, relative to the axes.
STRIP = 0.03
#: Half the distance between the whiskers of a setup, and the distance from them to the dots of single runs.
APART, ASIDE = 0.19, 0.11


@dataclass(frozen=True)
class Whisker:
    """P1, mean and P99, each averaged over the runs, and the mean of each run."""

    low: float
    mean: float
    high: float
    runs: tuple[float, ...]


@dataclass(frozen=True)
class Category:
    """A place on the x axis: its label, the label shared with its neighbours, one whisker per group, the mode.

    ``predicted`` is the mode by another rule, drawn as a strip along the axis; empty for none.
    """

    label: str
    group: str
    whiskers: tuple[Whisker | None, ...]
    mode: str = "Reno-friendly"
    predicted: str = ""


def whisker(low: Sequence[float], mean: Sequence[float], high: Sequence[float]) -> Whisker | None:
    """The whisker of several runs, or None if nothing was run."""
    if not mean or not all(map(math.isfinite, (*low, *mean, *high))):
        return None
    return Whisker(float(np.mean(low)), float(np.mean(mean)), float(np.mean(high)), tuple(mean))


def draw(
    panels: Sequence[tuple[str, Sequence[str], Sequence[Category]]],
    *,
    title: str,
    x_label: str,
    y_label: str = "Normalised rate",
    top: float = 0.0,
    modes: bool = True,
) -> bytes:
    """Panels one above the other, each with its title, the names of its groups, and its categories; a PNG.

    The y axis reaches to ``top``, or further where a whisker does.
    """
    from matplotlib.figure import Figure

    with mpl.rc_context(RC):
        figure = Figure(figsize=(10, 1.2 + 3.6 * len(panels)), layout="constrained")
        grid = figure.subplots(len(panels), 1, squeeze=False)[:, 0]
        for axes, (name, groups, categories) in zip(grid, panels, strict=True):
            _panel(axes, categories, top)
            axes.set_title(name)
            axes.set_ylabel(y_label)
            _legend(axes, groups, modes=modes)
        two_levels = any(category.group for category in panels[-1][2])
        grid[-1].set_xlabel(x_label, labelpad=20.0 if two_levels else 4.0)
        figure.suptitle(title, fontsize=11, x=0.01, ha="left")
        return _png(figure)


def _png(figure: Figure) -> bytes:
    out = io.BytesIO()
    figure.savefig(out, format="png", dpi=DPI)
    return out.getvalue()


def _panel(axes: Axes, categories: Sequence[Category], top: float) -> None:
    for x, category in enumerate(categories):
        axes.axvspan(x - 0.5, x + 0.5, color=SHADES[category.mode], lw=0, zorder=0)
        if category.predicted:
            shade = SHADES[category.predicted]
            axes.axvspan(x - 0.5, x + 0.5, ymax=STRIP, fc=shade, ec=SOFT, lw=0.5, zorder=1)
        for flow, drawn in enumerate(category.whiskers):
            if drawn is None:
                continue
            look, at = flow_look(flow), x + (2 * flow - 1) * APART
            axes.vlines(at, drawn.low, drawn.high, color=look.colour, lw=1.3)
            axes.hlines([drawn.low, drawn.high], at - 0.06, at + 0.06, color=look.colour, lw=1.3)
            axes.plot([at], [drawn.mean], look.marker, color=look.colour, ms=5.5, zorder=3)
            if len(drawn.runs) > 1:
                aside = [at + (2 * flow - 1) * ASIDE] * len(drawn.runs)
                axes.plot(aside, drawn.runs, ".", color=look.colour, ms=2.8, zorder=3)
    axes.axhline(1.0, color=INK, lw=0.8, ls=(0, (4, 2)), zorder=1)
    axes.set_xlim(-0.5, len(categories) - 0.5)
    highest = max((w.high for c in categories for w in c.whiskers if w is not None), default=0.0)
    axes.set_ylim(0, max(top, 1.03 * highest))
    axes.grid(axis="x", visible=False)
    axes.set_xticks(range(len(categories)), [c.label for c in categories])
    axes.tick_params(axis="x", length=0)
    _groups(axes, categories)


def _groups(axes: Axes, categories: Sequence[Category]) -> None:
    """Draw the second level of labels, and lines between the groups."""
    names = [c.group for c in categories]
    edges = [i for i in range(1, len(names)) if names[i] != names[i - 1]]
    for edge in edges:
        axes.axvline(edge - 0.5, color=SOFT, lw=0.7)
    for first, past in zip([0, *edges], [*edges, len(names)], strict=True):
        if names[first]:
            axes.annotate(
                names[first], ((first + past - 1) / 2, 0), (0, -26), xycoords=("data", "axes fraction"),
                textcoords="offset points", ha="center", color=INK,
            )  # fmt: skip


def _legend(axes: Axes, groups: Sequence[str], *, modes: bool) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Line2D | Patch] = []
    for flow, name in enumerate(groups):
        look = flow_look(flow)
        label = f"{name}: P1, mean, P99"
        handles.append(Line2D([], [], color=look.colour, marker=look.marker, ms=5.5, lw=1.3, label=label))
    handles.append(Line2D([], [], color=SOFT, marker=".", ms=4, lw=0, label="one run's mean (whiskers: averages)"))
    if modes:
        for name, label in (("mixed", "CUBIC partly Reno-friendly"), ("CUBIC", "never Reno-friendly")):
            handles.append(Patch(facecolor=SHADES[name], edgecolor=SOFT, lw=0.5, label=label))
        handles.append(Patch(facecolor="none", edgecolor=SOFT, lw=0.5, label="strip: by the equation"))
    axes.legend(handles=handles, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=len(handles), borderaxespad=0.1,
                handletextpad=0.5, columnspacing=1.2, fontsize=8)  # fmt: skip

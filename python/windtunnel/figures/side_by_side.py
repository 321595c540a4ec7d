"""Runs below each other, a column for each panel: the same flows with other algorithms, on the same ordinates."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from windtunnel.figures.draw import Window, draw
from windtunnel.figures.four_panel import flow_legend
from windtunnel.figures.legible import legible
from windtunnel.figures.style import RC
from windtunnel.panels import Result, Run, panel_of

_PANEL_INCHES = (5.0, 2.4)
#: Characters of a line above a panel.
_TITLE = 46


def side_by_side(results: Mapping[str, Result], panels: Sequence[str], title: str) -> Figure:
    """Draw the ``panels``, which are over time, of runs with these names."""
    runs = {name: Run(result) for name, result in results.items()}
    rows, columns = len(runs), len(panels)
    with mpl.rc_context(RC):
        width, height = _PANEL_INCHES
        figure = Figure(figsize=(columns * width, rows * height + 0.8), dpi=120)
        figure.set_layout_engine(ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.07))
        for column, panel in enumerate(panels):
            drawn: dict[str, list[Axes]] = {}
            for row, (name, run) in enumerate(runs.items()):
                axes = figure.add_subplot(rows, columns, row * columns + column + 1)
                shown = panel_of(run, panel)
                draw(axes, shown, Window(0.0, run.duration_s), legend=False)
                above = legible(f"{name}: {axes.get_title(loc='left')}".replace("\n", " "))
                axes.set_title(textwrap.fill(above, _TITLE))
                drawn.setdefault(shown.unit, []).append(axes)
            for same in drawn.values():
                top = max(axes.get_ylim()[1] for axes in same)
                for axes in same:
                    axes.set_ylim(top=top)
        figure.suptitle(legible(title), fontsize=11, x=0.01, ha="left")
        flow_legend(figure, next(iter(runs.values())), columns)
    return figure

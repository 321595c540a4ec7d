"""Figures of an experiment: the means of its checks with their intervals, against what was varied."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from string import Template
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np

from windtunnel.experiment.measures import Expression
from windtunnel.experiment.scales import PLAIN, Scale
from windtunnel.experiment.statistics import summary_of_all
from windtunnel.figures.style import INK, RC, SOFT, flow_look
from windtunnel.papers.suite import Group

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from windtunnel.papers.experiments import Experiment
    from windtunnel.papers.suite import Results

DPI = 120
#: Horizontal distance between series where the x axis has names, in names.
ASIDE = 0.16


@dataclass(frozen=True)
class PanelSpec:
    """A panel as the data describe it.

    ``x`` are numbers or names, and ``series`` maps a label to the id of its checks, in which ``$x`` stands for each of
    them; names that have an order are ``connected``. ``limits`` are drawn as dashed lines. With ``measured_x`` the
    place on the x axis is that check's mean. ``curve``, an expression in ``x``, is drawn too, with ``curve_label``.
    """

    title: str
    x: Sequence[float | str]
    xlabel: str
    ylabel: str
    series: Mapping[str, str]
    limits: Sequence[float] = ()
    log: bool = False
    ylim: Sequence[float] = ()
    connected: bool = False
    measured_x: Mapping[str, str] = field(default_factory=dict)
    curve: str = ""
    curve_label: str = ""


@dataclass(frozen=True)
class Point:
    """A mean and its interval."""

    x: float
    mean: float
    low: float
    high: float


def group_of(experiment: Experiment) -> Group:
    """The group of an experiment, with its figure if it has one."""
    title, caption = f"{experiment.id}: {experiment.title}", f"{experiment.claim} ({experiment.source})"
    group = Group(experiment.id, title, caption, experiment.setups, experiment.rows, statement=True)
    if experiment.figure is not None:
        group.png = figure_of(experiment, experiment.figure)
    return group


def figure_of(experiment: Experiment, data: Mapping[str, Any]) -> Callable[[Results], bytes | None]:
    """The function that draws the figure ``data`` of an experiment; None if none of its checks was run."""
    panels = [PanelSpec(**panel) for panel in data["panel"]]

    def png(results: Results) -> bytes | None:
        values = {check.id.partition("/")[2]: check.values(results) for check in experiment.checks}
        drawn = filled(panels, values, {check.id.partition("/")[2]: check.scale for check in experiment.checks})
        return draw(data["title"], drawn) if drawn else None

    return png


#: All are plain.
NO_SCALES: Mapping[str, Scale] = {}


def filled(
    panels: Sequence[PanelSpec], values: Mapping[str, Sequence[float]], scales: Mapping[str, Scale] = NO_SCALES
) -> list[tuple[PanelSpec, dict[str, list[Point]]]]:
    """The panels and lines that have points: the quick selection leaves others without."""
    lines = [(spec, {label: _points(spec, label, values, scales) for label in spec.series}) for spec in panels]
    some = [(spec, {label: points for label, points in of_panel.items() if points}) for spec, of_panel in lines]
    return [(spec, of_panel) for spec, of_panel in some if of_panel]


def _points(
    spec: PanelSpec, label: str, values: Mapping[str, Sequence[float]], scales: Mapping[str, Scale]
) -> list[Point]:
    out = []
    for position, x in enumerate(spec.x):
        check = Template(spec.series[label]).substitute(x=x)
        summary = summary_of_all(values.get(check, ()), scales.get(check, PLAIN))
        if summary.interval is None or summary.mean is None:
            continue
        at = float(position) if isinstance(x, str) else float(x)
        if label in spec.measured_x:
            at = float(np.mean(values[Template(spec.measured_x[label]).substitute(x=x)]))
        out.append(Point(at, summary.mean, *summary.interval))
    return out


def draw(title: str, panels: Sequence[tuple[PanelSpec, Mapping[str, Sequence[Point]]]]) -> bytes:
    """The panels side by side, as a PNG."""
    out = io.BytesIO()
    with mpl.rc_context(RC):
        figure(title, panels).savefig(out, format="png", dpi=DPI)
    return out.getvalue()


def figure(title: str, panels: Sequence[tuple[PanelSpec, Mapping[str, Sequence[Point]]]]) -> Figure:
    """The panels side by side."""
    from matplotlib.figure import Figure

    with mpl.rc_context(RC):
        width = max(6.0, 4.6 * len(panels))
        drawn = Figure(figsize=(width, 3.9), layout="constrained", dpi=DPI)
        for axes, (spec, lines) in zip(drawn.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
            _panel(axes, spec, lines)
        drawn.suptitle(title, fontsize=11, x=0.01, ha="left")
    return drawn


def _panel(axes: Axes, spec: PanelSpec, lines: Mapping[str, Sequence[Point]]) -> None:
    named = all(isinstance(x, str) for x in spec.x)
    places = list(spec.series)
    for label, points in lines.items():
        index = places.index(label)
        look = flow_look(index)
        aside = ASIDE * (index - (len(places) - 1) / 2) if named and not (spec.connected or spec.measured_x) else 0.0
        x, mean = [p.x + aside for p in points], [p.mean for p in points]
        # Rounding may leave an end on the wrong side.
        error = [[max(0.0, p.mean - p.low) for p in points], [max(0.0, p.high - p.mean) for p in points]]
        style = "none" if named and not spec.connected else look.dash
        axes.errorbar(x, mean, error, color=look.colour, marker=look.marker, ms=4.5, lw=1.2, ls=style, elinewidth=1.1,
                      capsize=2.5, label=label)  # fmt: skip
    if spec.curve:
        xs = np.linspace(*axes.get_xlim(), 200).tolist()
        curve = Expression.of_names(spec.curve)
        axes.plot(xs, [curve.of_numbers({"x": x}) for x in xs], color=INK, lw=0.9, label=spec.curve_label)
    for limit in spec.limits:
        axes.axhline(limit, color=SOFT, lw=0.9, ls=(0, (4, 2)), zorder=1)
    axes.set(title=spec.title, xlabel=spec.xlabel, ylabel=spec.ylabel)
    if spec.log:
        axes.set_xscale("log")
    axes.set_ylim(*(spec.ylim or (0.0, None)))
    if not spec.measured_x:
        ticks = [float(position) if isinstance(x, str) else float(x) for position, x in enumerate(spec.x)]
        axes.set_xticks(ticks, [str(x) for x in spec.x])
        axes.minorticks_off()
    if named and not spec.measured_x:
        axes.set_xlim(-0.6, len(spec.x) - 0.4)
    if len(lines) > 1 or spec.curve:
        axes.legend(loc="best")

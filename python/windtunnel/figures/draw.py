"""A panel, drawn into axes of Matplotlib. What it shows and how it is thinned is settled in ``windtunnel.panels``."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from windtunnel.figures.legible import legible
from windtunnel.figures.log_axis import set_log, set_log_x
from windtunnel.figures.style import SLATE, drawn
from windtunnel.panels.gaps import broken
from windtunnel.panels.looks import COLOURS
from windtunnel.panels.means import average, durations, thin_means
from windtunnel.panels.model import Array, Flag, Panel, Series
from windtunnel.panels.thinning import cell_means, thin_cloud, thin_line, thin_series

Drawstyle: TypeAlias = Literal["default", "steps-pre", "steps-post"]

#: Points drawn in a panel, approximately at most.
POINTS = 20_000
# Cells of a panel that keep one symbol each: as large as a dot, and as a cross.
_DOT_CELLS = (520, 300)
_CROSS_CELLS = (90, 50)
# Symbols that distinguish lines: in a panel, and at most per line.
_SYMBOLS = 64
_SYMBOLS_PER_LINE = 12
# Up to this many dots are drawn larger.
_FEW_DOTS = 1000
_SINGLE_DOTS = 100
# The number of parts of a panel's width over which a line of means is averaged, if it has more points.
_CELLS = 400
# More lines than this hide each other: they are thinner, and bands and thresholds are left out.
_FEW_LINES = 8
_FEW_THRESHOLDS = 4
_THRESHOLD_DASH = (0, (4, 2))
# What changed during the run.
_CHANGE_DASH = (0, (1, 2))
# Rows of ticks under the top of a panel: their distance as a share of its height.
_TICK_ROW = 0.03
# Up to this many seconds, times are shown in milliseconds.
_SHORT_RUN = 0.1
# Entries and characters of a legend in a row, and the height of a row in points.
_LEGEND_COLUMNS, _LEGEND_CHARACTERS, _LEGEND_POINTS = 4, 84, 14.0
# The longest line of a title, in characters: a longer one would leave the figure.
TITLE_WIDTH = 60


@dataclass(frozen=True)
class Window:
    """The part of a panel to draw, in its units: abscissas from ``start`` to ``end``; ordinates if they are given."""

    start: float
    end: float
    bottom: float | None = None
    top: float | None = None


def draw(axes: Axes, panel: Panel, window: Window, *, legend: bool | None = None) -> None:
    """Draw a panel. A legend is above it if ``legend`` says so, or by default if its series are not flows."""
    series = [part for s in panel.series if len(part := visible(averaged(s, panel.average), window))]
    axes.set_ylabel(_ordinate(panel))
    if panel.kind == "points":
        hints = _draw_points(axes, panel, series, window)
    elif panel.kind == "path":
        hints = _draw_paths(axes, series)
    else:
        hints = _draw_lines(axes, panel, series, window)
    above = legend if legend is not None else any(s.flow is None and not s.total for s in series)
    above = above and (len(series) > 1 or panel.markers == "all")
    what = f": {panel.choices[0].name}" if panel.choices else ""
    title = (panel.short_title or panel.title) + what + (f" ({'; '.join(hints)})" if hints else "")
    # With its own legend between the title and the panel.
    entries, columns = _entries(axes)
    rows = -(-len(entries) // columns)
    pad = 6.0 + _LEGEND_POINTS * rows if above and (len(title) > 20 or rows > 1) else None
    axes.set_title(textwrap.fill(legible(title), TITLE_WIDTH), pad=pad)
    if above and series:
        _legend_above(axes)
    for time, _ in panel.changes:
        if window.start <= time <= window.end:
            axes.axvline(time, color=SLATE, linewidth=0.7, linestyle=_CHANGE_DASH, zorder=1.0)
    _limits(axes, panel, series, window)
    _label_abscissa(axes, panel, window)
    if not series:
        _say(axes, panel.empty or "There is nothing in this time.")


def averaged(series: Series, step: float) -> Series:
    """A series of means, averaged; others as they are."""
    return average(series, step) if series.step == "mean" else series


def visible(s: Series, window: Window) -> Series:
    """The part of a series in the window, and one more sample on each side, so that a line reaches the edge."""
    if len(s) and not np.all(s.x[1:] >= s.x[:-1]):
        return s
    first = max(0, int(np.searchsorted(s.x, window.start, "left")) - 1)
    last = int(np.searchsorted(s.x, window.end, "right")) + 1
    return s.only(slice(first, last))


def _ordinate(panel: Panel) -> str:
    what = panel.quantity or panel.title
    terms = [panel.unit] if panel.unit else []
    if panel.log:
        terms.append("log scale")
    if panel.average:
        terms.append(f"means of {1e3 * panel.average:g} ms" if panel.average < 1 else f"means of {panel.average:g} s")
    return legible(what + (f" ({', '.join(terms)})" if terms else ""))


def _draw_lines(axes: Axes, panel: Panel, series: Sequence[Series], window: Window) -> list[str]:
    """Lines, and all that goes with them. Returns what a reader must be told."""
    hints = []
    count = len(series)
    # Lines are compared, so that either none is averaged or all are.
    dense = any(s.step == "mean" and not s.total and len(s) > _CELLS for s in series)
    # So are those that turn so often that the last one drawn would hide the others.
    dense |= panel.sawtooth and count > 1 and any(_reversals(s.y) > 2 * _CELLS for s in series)
    lines = [s for s in series if not s.total]
    if len(lines) < count:
        hints.append("x: all flows")
    for s in series:
        if s.total:
            _crosses(axes, s, window, series, colour=drawn(s.look).colour, label="all flows")
    thresholds = [part for s in panel.thresholds if np.isfinite((part := visible(s, window)).y).any()]
    if count > _FEW_THRESHOLDS:
        thresholds = []
    for order, s in enumerate(lines):
        _line(axes, panel, s, order, len(lines), dense=dense)
    if panel.flag is not None and _flagged(axes, panel.flag, lines, window):
        hints.append(f"x: {'limited' if thresholds else panel.flag.label}")
    if dense and len(lines) <= _FEW_LINES:
        hints.append("bands: ranges")
    for s in thresholds:
        keep = thin_line(s.x, s.y, POINTS // (4 * len(thresholds)))
        axes.plot(
            s.x[keep], s.y[keep], color=drawn(s.look).colour, linestyle=_THRESHOLD_DASH, linewidth=0.7, alpha=0.75,
            zorder=1.5, label=f"_{panel.threshold} of {s.key}", drawstyle=_drawstyle(s),
        )  # fmt: skip
    if thresholds:
        hints.append(f"dashed: {panel.threshold}")
    if _ticks(axes, panel, window):
        hints.append("ticks: retransmits" if thresholds else "ticks: retransmissions")
    return hints


def _line(axes: Axes, panel: Panel, s: Series, order: int, count: int, *, dense: bool) -> None:
    """One of ``count`` lines. Many means are averaged once more, over a small part of the width, with their range."""
    look = drawn(s.look)
    few = count <= _FEW_LINES
    step = _drawstyle(s)
    x, y = s.x, s.y
    band = None if s.low is None or s.high is None or not few else (s.low, s.high)
    if dense and s.step and len(x) > 1 and band is None:
        x, y, low, high = cell_means(*(_from_the_start(x, y) if s.step == "mean" else _held(s)), _CELLS)
        band = (low, high) if few else None
        step = "default"
    elif s.step == "mean":
        thinned = thin_means(s, max(POINTS // (2 * count), 40))
        x, y = thinned.x, thinned.y
        band = None if thinned.low is None or thinned.high is None or not few else (thinned.low, thinned.high)
    if band is not None:
        how: Literal["pre", "post", "mid"] = "pre" if step == "steps-pre" else "post" if s.step == "hold" else "mid"
        low, high = band
        axes.fill_between(x, low, high, step=how, color=look.colour, alpha=0.2, linewidth=0, zorder=1.5)
    if step == "steps-pre":
        x, y = _from_the_start(x, y)
    elif step == "steps-post" or not s.step:
        x, y = broken(x, y, s.gap)
    keep = thin_line(x, y, max(POINTS // (2 * count), 40))
    every = max(1, len(keep) // max(2, min(_SYMBOLS_PER_LINE, _SYMBOLS // count)))
    axes.plot(
        x[keep], y[keep], color=look.colour, linestyle=look.dash, linewidth=0.9 if few else 0.55,
        marker=look.marker, markersize=4.5 if few else 3.5, markeredgecolor="white", markeredgewidth=0.4,
        label=legible(s.label), drawstyle=step, alpha=1.0 if few else 0.75,
        # Symbols of different flows are not on top of each other.
        markevery=(order * every // 5 % every, every),
    )  # fmt: skip


def _from_the_start(x: Array, y: Array) -> tuple[Array, Array]:
    """A line of means with its beginning, which Matplotlib would leave out: a step needs the point before it."""
    if len(y) > 1 and np.isnan(y[0]):
        return x, np.concatenate([y[1:2], y[1:]])
    return np.concatenate([x[:1] - durations(x, y)[:1], x]), np.concatenate([y[:1], y])


def _held(s: Series) -> tuple[Array, Array]:
    """Values that hold until the next sample, as means since the sample before."""
    x, y = broken(s.x, s.y, s.gap)
    return np.append(x, x[-1] + np.median(np.diff(x))), np.concatenate([y[:1], y])


def _reversals(y: Array) -> int:
    """How often a line turns."""
    steps = np.diff(y[np.isfinite(y)])
    steps = steps[steps != 0]
    return int(np.sum(np.sign(steps[1:]) != np.sign(steps[:-1])))


def _drawstyle(s: Series) -> Drawstyle:
    return "steps-pre" if s.step == "mean" else "steps-post" if s.step == "hold" else "default"


def _crosses(
    axes: Axes, s: Series, window: Window, every: Sequence[Series], *, colour: str, label: str, zorder: float = 1.8
) -> None:
    keep = thin_cloud(s.x, s.y, POINTS // max(1, len(every)), _CROSS_CELLS, extent=_extent(every, window))
    keep = keep[np.isfinite(s.y[keep])]
    axes.plot(
        s.x[keep], s.y[keep], linestyle="none", marker="x", markersize=3, markeredgewidth=0.6, color=colour,
        alpha=0.8, zorder=zorder, label=label, rasterized=len(keep) > 1000,
    )  # fmt: skip


def _flagged(axes: Axes, flag: Flag, series: Sequence[Series], window: Window) -> bool:
    """Crosses on the flagged samples, in the flow's colour unless the flag has its own; tells whether there are any."""
    shown = False
    for s in series:
        if s.flag is None or not s.marked:
            continue
        mine = s.flag & np.isfinite(s.y)
        if not mine.any():
            continue
        some = s.only(mine)
        colour = drawn(s.look).colour if flag.colour is None else COLOURS[flag.colour]
        few = int(mine.sum()) < _SINGLE_DOTS
        _crosses(axes, some, window, series, colour=colour, label=flag.label, zorder=3 if few else 1.9)
        shown = True
    return shown


def _ticks(axes: Axes, panel: Panel, window: Window) -> bool:
    """A row of ticks for each flow, under the top of the panel. Returns whether there are any."""
    shown = False
    for s in panel.ticks:
        inside = (s.x >= window.start) & (s.x <= window.end) & (s.retransmits > 0)
        t = s.x[inside]
        t = t[thin_line(t, np.zeros(len(t)), POINTS // len(panel.ticks))]
        if not len(t):
            continue
        shown = True
        axes.plot(
            t, np.full(len(t), 1 - _TICK_ROW * (s.row + 0.5)), linestyle="none", marker="|", markersize=5,
            markeredgewidth=0.8, color=drawn(s.look).colour, label=f"_retransmissions of {s.key}",
            transform=axes.get_xaxis_transform(),
        )  # fmt: skip
    return shown


def _draw_points(axes: Axes, panel: Panel, series: Sequence[Series], window: Window) -> list[str]:
    """Dots; flagged ones in the flag's colour. What holds until the next sample is a line of steps."""
    extent, share = _extent(series, window, floating=panel.floating), POINTS // max(1, len(series))
    single = len(series) == 1
    hints: list[str] = []
    for order, s in enumerate(series):
        parts = [(s, drawn(s.look).colour, legible(s.label))]
        if s.flag is not None and panel.flag is not None and panel.flag.colour is not None:
            flagged = panel.flag.legend or panel.flag.label
            parts = [
                (s.only(~s.flag), drawn(s.look).colour, (single and panel.flag.others) or legible(s.label)),
                (s.only(s.flag), COLOURS[panel.flag.colour], flagged if single else f"_{flagged}"),
            ]
            hints = [f"{panel.flag.colour}: {flagged}"]
        if s.step == "hold":
            keep = thin_line(s.x, s.y, share)
            axes.plot(
                s.x[keep], s.y[keep], color=parts[0][1], label=parts[0][2], linewidth=1.0, drawstyle=_drawstyle(s),
                zorder=1.6 + order / 100, rasterized=True,
            )  # fmt: skip
            continue
        for part, colour, label in parts:
            _dots(axes, part, colour, label, share, extent, panel, 2 + order / 10)
    return hints


def _dots(
    axes: Axes, s: Series, colour: str, label: str, limit: int, extent: tuple[float, float, float, float],
    panel: Panel, zorder: float,
) -> None:  # fmt: skip
    if s.step == "mean":
        # Their sum remains, and no dot stands for a time without any.
        s = thin_means(s, limit)
        s = s.only(s.y > 0)
    if panel.log:
        s = s.only(s.y > 0)
        extent = (extent[0], extent[1], *_ends(s.y))
    else:
        s = s.only(np.isfinite(s.y))
    s = thin_series("points", replace(s, step=""), limit, _DOT_CELLS, log=panel.log, extent=extent)
    size = 2.2 if len(s) >= _FEW_DOTS else 3.5 if len(s) >= _SINGLE_DOTS else 6.0
    own = panel.markers == "all" or (panel.markers == "few" and len(s) < _FEW_DOTS)
    marker = drawn(s.look).marker if own else "."
    marker = "." if marker == "o" else marker
    axes.plot(
        s.x, s.y, linestyle="none", marker=marker, markersize=size if marker == "." else max(size * 0.8, 3.5),
        markeredgewidth=0.9 if marker == "x" else 0, color=colour, label=label, zorder=zorder, rasterized=True,
    )  # fmt: skip


def _ends(y: Array) -> tuple[float, float]:
    return (float(y.min()), float(y.max())) if len(y) else (1.0, 1.0)


def _draw_paths(axes: Axes, series: Sequence[Series]) -> list[str]:
    """Curves in a plane, with where they start and end."""
    for s in series:
        look = drawn(s.look)
        axes.plot(
            s.x, s.y, color=look.colour, linewidth=0.6, alpha=0.8, marker=".", markersize=2.5, label=legible(s.label)
        )
        axes.plot(s.x[:1], s.y[:1], linestyle="none", marker="o", markersize=6, color=look.colour, label="_start")
        axes.plot(s.x[-1:], s.y[-1:], linestyle="none", marker="s", markersize=6, color=look.colour, label="_end")
    return ["dot: start; square: end"] if series else []


def _extent(series: Sequence[Series], window: Window, *, floating: bool = False) -> tuple[float, float, float, float]:
    """The part of the plane that a panel shows."""
    lowest = min((float(v.min()) for v in _inside(series, window)), default=0.0) if floating else 0.0
    bottom = lowest if window.bottom is None else window.bottom
    top = highest(series, window) if window.top is None else window.top
    return window.start, window.end, bottom, top


def _inside(series: Sequence[Series], window: Window) -> list[Array]:
    """The values in the window, ranges included."""
    columns = []
    for s in series:
        mine = (s.x >= window.start) & (s.x <= window.end)
        columns += [c[mine & np.isfinite(c)] for c in (s.y, s.low, s.high) if c is not None]
    return [values for values in columns if len(values)]


def highest(series: Sequence[Series], window: Window) -> float:
    """The largest value in the window, ranges included."""
    return max((float(values.max()) for values in _inside(series, window)), default=0.0)


def _limits(axes: Axes, panel: Panel, series: Sequence[Series], window: Window) -> None:
    """The window's ranges. Ordinates start at 0, unless numbers are negative or the panel's floats, and leave a little
    room above.
    """
    values = _inside(series, window)
    if panel.x.log and values:
        set_log_x(axes, window.start, window.end)
    else:
        axes.set_xlim(window.start, window.end)
    if panel.log:
        positive = np.concatenate([v[v > 0] for v in values]) if values else np.empty(0)
        low, high = _ends(positive)
        set_log(axes, window.bottom if window.bottom and window.bottom > 0 else low / 1.2, window.top or high * 1.2)
        return
    low = min((float(v.min()) for v in values), default=0.0)
    high = max((float(v.max()) for v in values), default=0.0)
    if panel.ticks and panel.kind == "line":
        # The rows of ticks are above the lines.
        high /= 1 - _TICK_ROW * (1 + max(one.row for one in panel.ticks))
    floor = low if panel.floating else min(low, 0.0)
    room = 0.06 * (high - floor or 1.0)
    top = window.top if window.top is not None else (high + room if high or low < 0 else 1.0)
    bottom = -0.015 * top if panel.kind == "points" else 0.0
    if low < 0 or (panel.floating and low > 0):
        bottom = floor - room
    axes.set_ylim(bottom if window.bottom is None else window.bottom, top)


def _label_abscissa(axes: Axes, panel: Panel, window: Window) -> None:
    """Time in seconds or, for the first moments of a run, in milliseconds."""
    if not panel.x.time:
        axes.set_xlabel(legible(panel.x.label + (f" ({panel.x.unit})" if panel.x.unit else "")))
        return
    short = window.end < _SHORT_RUN
    axes.set_xlabel("Time (ms)" if short else "Time (s)")
    if short:
        axes.xaxis.set_major_formatter(FuncFormatter(lambda t, _: f"{1e3 * t:g}"))


def _entries(axes: Axes) -> tuple[list[str], int]:
    """The labels in the legend, and how many of them are in a row."""
    labels = [str(line.get_label()) for line in axes.lines]
    shown = [label for label in labels if not label.startswith("_")]
    return shown, max(1, min(_LEGEND_COLUMNS, _LEGEND_CHARACTERS // (4 + max(map(len, shown), default=0))))


def _legend_above(axes: Axes, markerscale: float = 2.0) -> None:
    """A legend next to the title, where it covers no data."""
    legend = axes.legend(
        loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=_entries(axes)[1], borderaxespad=0.1, columnspacing=1.0,
        handletextpad=0.3, handlelength=1.6, markerscale=markerscale,
    )  # fmt: skip
    legend.set_in_layout(True)


def _say(axes: Axes, message: str) -> None:
    """Says why there is nothing; draws no axis, which would look like a measurement."""
    text = "\n".join(textwrap.wrap(legible(message), 62))
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color=SLATE)
    axes.set_yticks([])
    axes.grid(visible=False)

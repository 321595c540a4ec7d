"""The four panels; each is drawn into the axes that it receives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, TypeVar

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter

from windtunnel.figures.series import (
    MANY_FLOWS,
    MARK_KINDS,
    Array,
    Result,
    Series,
    cwnd,
    groups,
    marks,
    names,
    retransmissions,
    sojourn,
    ssthresh,
    throughput,
)
from windtunnel.figures.style import INK, PURPLE, RED, SLATE, TOTAL, Look, flow_look, queue_look
from windtunnel.figures.thinning import cell_means, thin_cloud, thin_line, without_gaps

T = TypeVar("T")
#: How a line goes from point to point.
Drawing: TypeAlias = Literal["default", "steps-pre"]

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
# The share of a panel's width over which a line of means is averaged, if it has more points.
_CELLS = 200
# Frequencies that range over more than this factor need a logarithmic axis.
_LOG_RANGE = 30.0
# Rows of ticks under the top of a panel: their distance as a share of its height, and their maximum number.
_TICK_ROW = 0.03
_TICK_ROWS = 8
# In a panel with more flows than this, their thresholds would hide the windows.
_THRESHOLDS = 4
_THRESHOLD_DASH = (0, (4, 2))
_DROP = 2
_KILO = 1e3


@dataclass(frozen=True)
class Window:
    """The part of a panel to draw: seconds from ``start`` to ``end``; the ordinates if they are given."""

    start: float
    end: float
    bottom: float | None = None
    top: float | None = None


def flow_looks(result: Result) -> tuple[list[Look], list[tuple[str, Look]]]:
    """The look of each flow, and the entries of a legend (of groups, if the flows are many)."""
    flow_names = names(result, "flows")
    looks = [flow_look(i) for i in range(len(flow_names))]
    legend = []
    for i, (label, members) in enumerate(groups(flow_names)):
        legend.append((label, flow_look(i)))
        for member in members:
            looks[member] = flow_look(i)
    return looks, legend


def draw_throughput(axes: Axes, result: Result, window: Window) -> None:
    """IP throughput of each flow, and the sum of all as crosses."""
    every = visible(throughput(result), window)
    if _top(throughput(result)) == 0:
        every = []
    unit, factor = ("Gbps", _KILO) if _top(every) >= 10 * _KILO else ("Mbps", 1.0)
    looks, _ = flow_looks(result)
    several = any(s.index < 0 for s in every)
    # Lines are compared, so that either none is averaged or all are.
    averaged = any(s.index >= 0 and len(s.t) > _CELLS for s in every)
    axes.set_title("IP Throughput" + (" (x: all flows)" if several else ""))
    axes.set_ylabel(f"Throughput ({unit})")
    for s in every:
        if s.index >= 0:
            _mean_line(axes, s.t, s.y / factor, look_of(looks, s.index), s.index, len(every), averaged=averaged)
        else:
            keep = thin_cloud(s.t, s.y, POINTS // len(every), _CROSS_CELLS, extent=_extent(every, window))
            axes.plot(
                s.t[keep], s.y[keep] / factor, linestyle="none", marker="x", markersize=3, markeredgewidth=0.6,
                color=TOTAL.colour, alpha=0.8, zorder=1.8, label="all flows", rasterized=len(keep) > 1000,
            )  # fmt: skip
    _limits(axes, every, window, factor)
    _if_empty(axes, every, "No packet reached a receiver.")


def draw_cwnd(axes: Axes, result: Result, window: Window) -> None:
    """Congestion windows, with red crosses where they keep the sender from sending, and ticks for retransmissions.

    For few flows also ssthresh, as a thin dashed line below.
    """
    every = visible(cwnd(result), window)
    top = _top(every)
    unit, factor = ("MB", _KILO**2) if top >= 10 * _KILO**2 else ("kB", _KILO) if top >= 10 * _KILO else ("bytes", 1.0)
    looks, _ = flow_looks(result)
    again = [s for s in retransmissions(result) if np.any((s.t >= window.start) & (s.t <= window.end))]
    few = len(every) <= _THRESHOLDS
    thresholds = [s for s in visible(ssthresh(result), window) if np.isfinite(s.y).any()] if few else []
    notes = ["x: flow is cwnd-limited", "ticks: retransmissions"]
    if thresholds:
        # A shorter text, because the title would otherwise reach into that of the next panel.
        notes = ["x: limited", "dashed: ssthresh", "ticks: retransmits"]
    axes.set_title(f"cwnd ({'; '.join(notes if again else notes[:-1])})")
    axes.set_ylabel(f"cwnd ({unit})")
    _ticks(axes, again, looks)
    for s in thresholds:
        keep = thin_line(s.t, s.y, POINTS // (4 * len(thresholds)))
        axes.plot(
            s.t[keep], s.y[keep] / factor, color=look_of(looks, s.index).colour, linestyle=_THRESHOLD_DASH,
            linewidth=0.7, alpha=0.75, zorder=1.5, label=f"_ssthresh of flow {s.index}",
        )  # fmt: skip
    for s in every:
        _line(axes, s.t, s.y / factor, look_of(looks, s.index), s.index, len(every))
    t, y = _flagged(every)
    keep = thin_cloud(t, y, POINTS // 4, _CROSS_CELLS, extent=_extent(every, window))
    if len(keep):
        axes.plot(
            t[keep], y[keep] / factor, linestyle="none", marker="x", markersize=3.2, markeredgewidth=0.7, color=RED,
            # Many crosses go under the lines: where nearly all points are limited, they must not hide the flows.
            label="cwnd-limited", zorder=3 if len(keep) < _SINGLE_DOTS else 1.9, rasterized=len(keep) > 1000,
        )  # fmt: skip
    _limits(axes, every, window, factor)
    _if_empty(axes, every, _no_window(result))


def draw_sojourn(axes: Axes, result: Result, window: Window) -> None:
    """Sojourn times of dequeued packets; red where the dequeue left the queue empty."""
    every = visible(sojourn(result), window)
    queue_names = names(result, "queues")
    several = len(every) > 1
    # With several queues their legend stands between the title and the panel.
    axes.set_title("Queue Sojourn Time (red: queue empty after dequeue)", pad=20.0 if several else None)
    axes.set_ylabel("Sojourn time (ms)")
    extent, share = _extent(every, window), POINTS // (len(every) + 1)
    for s in every:
        look = queue_look(s.index)
        label = look_of(queue_names, s.index) if several else "queue not empty after dequeue"
        _dots(axes, s.t[~s.flag], s.y[~s.flag], look.colour, label, share, extent)
    t, y = _flagged(every)
    _dots(axes, t, y, RED, "queue empty after dequeue" if not several else "_queue empty after dequeue", share, extent)
    if several:
        _legend_above(axes, markerscale=4.0)
    _limits(axes, every, window, 1.0, margin=0.015)
    _if_empty(axes, every, "No packet was dequeued.")


def draw_mark(axes: Axes, result: Result, window: Window) -> None:
    """Mark frequencies: the marks of a kind at a queue since the point before, over the time since that."""
    every = [(kind, s) for kind, one in marks(result) for s in visible([one], window)]
    found = [s for _, s in every]
    several = len(names(result, "queues")) > 1
    title = "Drop Frequency" if {kind for kind, _ in every} == {_DROP} else "Mark Frequency"
    axes.set_title(title + (" (colours: queues)" if several and every else ""))
    axes.set_ylabel("Frequency (Hz)")
    inside = [s.y[(s.t >= window.start) & (s.t <= window.end) & (s.y > 0)] for s in found]
    values = np.concatenate(inside) if inside else np.empty(0)
    log = len(values) > 0 and float(values.max()) > _LOG_RANGE * float(values.min())
    # Colour, marker and its size: distinguishable in grey too.
    styles = {0: (SLATE, ".", 2.5), 1: (PURPLE, "^", 3.5), 2: (RED, "x", 4.5)}
    # With several queues colours stand for queues, as in the panel of sojourn times; the marker shows the kind.
    seen: set[int] = set()
    for kind, s in every:
        colour, marker, size = styles[kind]
        colour = queue_look(s.index).colour if several else colour
        positive = s.y > 0
        t, y = s.t[positive], s.y[positive]
        keep = thin_cloud(t, y, POINTS // len(every), _DOT_CELLS, log=log)
        if len(keep) < _FEW_DOTS:
            size = max(size, 3.5)
        label = MARK_KINDS[kind][2] if kind not in seen else "_" + MARK_KINDS[kind][2]
        seen.add(kind)
        axes.plot(
            t[keep], y[keep], linestyle="none", marker=marker, markersize=size, color=colour, zorder=2 + kind / 10,
            markeredgewidth=0.9 if marker == "x" else 0, label=label, rasterized=True,
        )  # fmt: skip
    if log:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FuncFormatter(_decade))
        axes.set_xlim(window.start, window.end)
        axes.set_ylim(window.bottom if window.bottom and window.bottom > 0 else None, window.top)
    else:
        _limits(axes, found, window, 1.0)
    if seen:
        _legend_above(axes, ink=several)
    _if_empty(axes, found, _no_marks(result))


#: By the panel's name, which is its table's name without ``_points``.
DRAW: Mapping[str, Callable[[Axes, Result, Window], None]] = {
    "throughput": draw_throughput,
    "sojourn": draw_sojourn,
    "cwnd": draw_cwnd,
    "mark": draw_mark,
}


def visible(every: Sequence[Series], window: Window) -> list[Series]:
    """The part of each series in the window; series without a point there are left out."""
    cut = [s.between(window.start, window.end) for s in every]
    return [s for s in cut if len(s.t)]


def look_of(looks: Sequence[T], index: int) -> T:
    """The legend entry of a flow or queue."""
    return looks[index % len(looks)]


def _extent(every: Sequence[Series], window: Window) -> tuple[float, float, float, float]:
    """The part of the plane that a panel shows."""
    bottom = 0.0 if window.bottom is None else window.bottom
    return window.start, window.end, bottom, _top(every) if window.top is None else window.top


def _top(every: Sequence[Series]) -> float:
    finite = [s.y[np.isfinite(s.y)] for s in every]
    return max((float(y.max()) for y in finite if len(y)), default=0.0)


def _line(axes: Axes, t: Array, y: Array, look: Look, index: int, count: int, draw: Drawing | None = None) -> None:
    """One of ``count`` lines; without ``draw`` broken where there are no points for a long time."""
    if draw is None:
        t, y = without_gaps(t, y)
    keep = thin_line(t, y, max(POINTS // (2 * count), 40))
    step = max(1, len(keep) // max(2, min(_SYMBOLS_PER_LINE, _SYMBOLS // count)))
    axes.plot(
        t[keep], y[keep], color=look.colour, linestyle=look.dash, linewidth=0.9 if count <= MANY_FLOWS else 0.6,
        marker=look.marker, markersize=4.5, markeredgecolor="white", markeredgewidth=0.4, label=f"flow {index}",
        drawstyle=draw or "default", alpha=1.0 if count <= MANY_FLOWS else 0.5,
        # Symbols of different flows do not stand on top of each other.
        markevery=(index * step // 5 % step, step),
    )  # fmt: skip


def _mean_line(axes: Axes, t: Array, y: Array, look: Look, index: int, count: int, *, averaged: bool) -> None:
    """One of ``count`` lines whose points are means since the previous point: steps.

    If ``averaged`` because there are too many points, the line is their mean over a short time, and a pale band their
    range.
    """
    draw: Drawing = "steps-pre"
    if averaged and len(t) > 1:
        t, y, low, high = cell_means(t, y, _CELLS)
        if count <= MANY_FLOWS:
            axes.fill_between(t, low, high, step="mid", color=look.colour, alpha=0.2, linewidth=0, zorder=1.5)
        draw = "default"
    _line(axes, t, y, look, index, count, draw)


def _ticks(axes: Axes, every: Sequence[Series], looks: Sequence[Look]) -> None:
    """A row of ticks for each flow, under the top of the panel; flows with the same look share a row."""
    rows: dict[Look, int] = {}
    for s in every:
        look = look_of(looks, s.index)
        row = rows.setdefault(look, len(rows)) % _TICK_ROWS
        t = s.t[thin_line(s.t, s.y, POINTS // len(every))]
        axes.plot(
            t, np.full(len(t), 1 - _TICK_ROW * (row + 0.5)), linestyle="none", marker="|", markersize=5,
            markeredgewidth=0.8, color=look.colour, label=f"_retransmissions of flow {s.index}",
            transform=axes.get_xaxis_transform(),
        )  # fmt: skip


def _dots(
    axes: Axes, t: Array, y: Array, colour: str, label: str, limit: int, extent: tuple[float, float, float, float]
) -> None:
    finite = np.isfinite(y)
    t, y = t[finite], y[finite]
    keep = thin_cloud(t, y, limit, _DOT_CELLS, extent=extent)
    size = 2.2 if len(keep) >= _FEW_DOTS else 3.5 if len(keep) >= _SINGLE_DOTS else 6.0
    axes.plot(
        t[keep], y[keep], linestyle="none", marker=".", markersize=size, markeredgewidth=0, color=colour, label=label,
        rasterized=True,
    )  # fmt: skip


def _flagged(every: Sequence[Series]) -> tuple[Array, Array]:
    """The flagged points of all series."""
    if not every:
        return np.empty(0), np.empty(0)
    t = np.concatenate([s.t[s.flag] for s in every])
    y = np.concatenate([s.y[s.flag] for s in every])
    finite = np.isfinite(y)
    return t[finite], y[finite]


def _limits(axes: Axes, every: Sequence[Series], window: Window, factor: float, margin: float = 0.0) -> None:
    """The window's ranges; the ordinates start at 0 and leave a little room above the visible points.

    ``margin`` is a share of the height below 0, for dots that lie on the axis.
    """
    axes.set_xlim(window.start, window.end)
    top = 0.0
    for s in every:
        y = s.y[(s.t >= window.start) & (s.t <= window.end)]
        top = max(top, float(np.nanmax(y, initial=0.0)) / factor)
    top = window.top / factor if window.top is not None else (top or 1.0) * 1.06
    axes.set_ylim(-margin * top if window.bottom is None else window.bottom / factor, top)


def _legend_above(axes: Axes, markerscale: float = 2.0, *, ink: bool = False) -> None:
    """A legend beside the title, where it covers no data; with ``ink`` its symbols take that neutral colour."""
    legend = axes.legend(
        loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=4, borderaxespad=0.1, columnspacing=1.0, handletextpad=0.1,
        markerscale=markerscale,
    )  # fmt: skip
    for line in legend.get_lines() if ink else ():
        line.set_color(INK)
        line.set_markeredgecolor(INK)


def _decade(value: float, _: int | None = None) -> str:
    """A tick of a logarithmic axis as a plain number, where that is short."""
    return f"{value:g}" if 1e-3 <= value < 1e5 else f"$10^{{{round(np.log10(value))}}}$"


def _no_window(result: Result) -> str:
    rows = result.tables.get("flows", {})
    if not len(rows.get("time_s", ())) or len(result.tables.get("cwnd_points", {}).get("time_s", ())):
        return "No ACK was received."
    return "No flow has a single congestion window: datagrams have none,\nand each of many connections has its own."


def _no_marks(result: Result) -> str:
    lost = int(np.sum(np.asarray(result.tables.get("flows", {}).get("lost", 0))))
    return "No queue marked or dropped a packet." + (f"\nOn the wire {lost} were lost." if lost else "")


def _if_empty(axes: Axes, every: Sequence[Series], message: str) -> None:
    """Says why there is nothing; draws no axis, which would look like a measurement."""
    if not every:
        axes.text(0.5, 0.5, message, transform=axes.transAxes, ha="center", va="center", color=SLATE)
        axes.set_yticks([])
        axes.grid(visible=False)

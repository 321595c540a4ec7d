"""The suite's figures: the graphs, with both throughputs and their sum on one axis, round trips of probe and TCP on the
other; and the map of ramps, with Reno's share above and P95 of the queueing delay below.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np

from windtunnel.figures.files import png
from windtunnel.figures.style import INK, PURPLE, RC, flow_look
from windtunnel.figures.two_axes import TCP_RTT, Curve, Panel, two_axes
from windtunnel.metrics import Array
from windtunnel.papers.sce.graphs import flow_names, title
from windtunnel.papers.sce.plan import RATE_MBPS, RTT_MS
from windtunnel.papers.sce.ramp_map import BEGINS_MS, EXTENTS_MS, mails_ramps
from windtunnel.papers.setups import Excerpt

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DPI = 110
#: The right axis, the same in all figures, starts a little below the path's round trip, so that an empty queue's line
#: is seen. The RTT of a flow with a window of two segments, whose ACKs are delayed, may leave it.
_LOW_MS, _HIGH_MS = RTT_MS - 1.0, RTT_MS + 11.0
#: The mail's ramps by the letter that marks them.
LETTERS = {"basic": "B", "straddling": "S", "single": "C", "detached": "A"}
_KEY = (
    "The mail's ramps: B below the AQM's target of 5 ms, S straddling it, C from it on (where CE begins), "
    "A entirely above it.\nA ramp that straddles the target has a probability of 1/20 there."
)
#: Shares are shown around an equal one; delays on a logarithmic scale.
_SHARES, _DELAYS = "RdBu", "viridis_r"


def draw_graphs(graphs: Sequence[tuple[dict[str, Any], Excerpt | None]]) -> bytes:
    """All graphs that were run, two in a row."""
    panels = [_panel(graph, excerpt, general=True) for graph, excerpt in graphs if excerpt is not None]
    figure = two_axes(panels, columns=2, rate_mbps=RATE_MBPS, right_low=_LOW_MS, right_high=_HIGH_MS)
    return png(figure, DPI)


def draw_graph(graph: dict[str, Any], excerpt: Excerpt) -> bytes:
    """A single graph."""
    return png(two_axes([_panel(graph, excerpt)], rate_mbps=RATE_MBPS, right_low=_LOW_MS, right_high=_HIGH_MS), DPI)


def _panel(graph: dict[str, Any], excerpt: Excerpt, *, general: bool = False) -> Panel:
    """``general``: the names of flows that one legend for all graphs can have."""
    time = excerpt["time_s"]
    rates = [np.nan_to_num(excerpt[f"throughput_mbps/{flow}"]) for flow in (0, 1)]
    names = _general(graph) if general else flow_names(graph["flows"])
    looks = [flow_look(_look(graph, flow)) for flow in (0, 1)]
    left = [Curve("sum of both", time, rates[0] + rates[1], INK, width=0.7)]
    left += [Curve(names[i], time, rates[i], looks[i].colour) for i in (0, 1)]
    right = [
        Curve(f"{names[i]}: TCP RTT", time, excerpt[f"srtt_ms/{i}"], looks[i].colour, TCP_RTT, 0.8) for i in (0, 1)
    ]
    right.append(Curve("probe: RTT", time, excerpt["rtt_mean_ms/2"], PURPLE, width=0.9))
    return Panel(title(graph), left, right)


def _look(graph: dict[str, Any], flow: int) -> int:
    """A kind of flow has the same look in every graph: Reno, Reno-SCE, the other Reno-SCE."""
    if graph["flows"][flow] == "reno":
        return 0
    return 1 if flow == 1 else 2


def _general(graph: dict[str, Any]) -> tuple[str, str]:
    first, second = flow_names(graph["flows"])
    return (first, second) if graph["flows"][0] == "reno" else ("the other Reno-SCE", "Reno-SCE")


@dataclass(frozen=True)
class Map:
    """A law's means, by extent (rows) and beginning (columns)."""

    name: str
    shares: Array
    delays_ms: Array


def draw_maps(maps: Sequence[Map]) -> bytes:
    """The figure as a PNG."""
    from matplotlib.colors import LogNorm, Normalize
    from matplotlib.figure import Figure

    shown = np.concatenate([m.delays_ms[np.isfinite(m.delays_ms)] for m in maps])
    scales = (Normalize(0.0, 1.0), LogNorm(float(shown.min()), float(shown.max())))
    with mpl.rc_context({**RC, "axes.grid": False, "axes.spines.top": True, "axes.spines.right": True}):
        figure = Figure(figsize=(3.4 * len(maps) + 0.9, 7.0), layout="constrained")
        grid = figure.subplots(2, len(maps), squeeze=False, sharex=True, sharey=True)
        for column, each in enumerate(maps):
            for axes, values, colours, scale, digits in (
                (grid[0, column], each.shares, _SHARES, scales[0], 2),
                (grid[1, column], each.delays_ms, _DELAYS, scales[1], 1),
            ):
                image = axes.imshow(values, cmap=colours, norm=scale, origin="lower", aspect="auto")
                _numbers(axes, values, scale, digits)
                _mark(axes)
                if column == len(maps) - 1:
                    label = "Reno's share of both throughputs" if digits == 2 else "Queueing delay, P95 (ms)"
                    where = grid[0 if digits == 2 else 1, :]
                    bar = figure.colorbar(image, ax=where, label=label, fraction=0.03, pad=0.01)
                    bar.ax.yaxis.set_major_formatter("{x:g}")
                    bar.ax.yaxis.set_minor_formatter("{x:g}")
            grid[0, column].set_title(each.name)
            grid[1, column].set_xlabel("Delay at which the ramp begins (ms)")
        for axes in grid[:, 0]:
            axes.set_ylabel("Its extent: from there to probability 1 (ms)")
        grid[0, 0].set_xticks(range(len(BEGINS_MS)), [f"{b:g}" for b in BEGINS_MS])
        grid[0, 0].set_yticks(range(len(EXTENTS_MS)), [f"{e:g}" for e in EXTENTS_MS])
        figure.suptitle("One queue, each law of SCE against Reno", fontsize=11, x=0.01, ha="left")
        figure.text(0.5, -0.02, _KEY, ha="center", va="top", color=INK, fontsize=9)
        out = io.BytesIO()
        figure.savefig(out, format="png", dpi=110, bbox_inches="tight")
    return out.getvalue()


def _numbers(axes: Axes, values: Array, scale: mpl.colors.Normalize, digits: int) -> None:
    for row, column in np.ndindex(values.shape):
        value = float(values[row, column])
        if np.isfinite(value):
            depth = float(scale(value))
            light = abs(depth - 0.5) > 0.3 if digits == 2 else depth > 0.55
            axes.text(
                column, row, f"{value:.{digits}f}", ha="center", va="center", fontsize=7,
                color="white" if light else INK,
            )  # fmt: skip


def _mark(axes: Axes) -> None:
    """Frames around the mail's ramps, and their letters."""
    from matplotlib.patches import Rectangle
    from matplotlib.patheffects import withStroke

    halo = [withStroke(linewidth=2.5, foreground="white")]
    for name, ramp in mails_ramps().items():
        column, row = BEGINS_MS.index(ramp.begin), EXTENTS_MS.index(ramp.extent)
        corner = (column - 0.47, row - 0.47)
        axes.add_patch(Rectangle(corner, 0.94, 0.94, fill=False, ec=INK, lw=1.6, path_effects=halo))
        axes.text(
            column - 0.4, row + 0.38, LETTERS[name], ha="left", va="top", fontsize=8, fontweight="bold", color=INK,
            path_effects=halo,
        )  # fmt: skip

"""The figure of claim P54: rates over Reno's against the loss probability, a panel for each kind of queue."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import matplotlib as mpl

from windtunnel.figures.style import INK, RC, SOFT, flow_look

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Line:
    """The ratios for decrease factor ``b``, number ``index``: their means, the runs, and the model's prediction."""

    b: float
    index: int
    losses: Sequence[float]
    ratios: Sequence[float]
    runs: Sequence[Sequence[float]]
    in_bytes: bool
    model: Sequence[float]


@dataclass(frozen=True)
class Panel:
    """A kind of queue."""

    title: str
    lines: Sequence[Line]


#: The claim's threshold: rates that differ by a factor of 2.
TWICE = 0.5


def draw(panels: Sequence[Panel]) -> bytes:
    """The figure as a PNG: windows in whole packets above, in bytes below, the legend in the free place."""
    from matplotlib.figure import Figure

    with mpl.rc_context(RC):
        figure = Figure(figsize=(10, 6.6), layout="constrained")
        grid = figure.subplots(2, len(panels), sharex=True, sharey=True)
        for row, (in_bytes, name) in enumerate(((False, "whole packets"), (True, "bytes"))):
            for axes, panel in zip(grid[row], panels, strict=True):
                lines = [line for line in panel.lines if line.in_bytes == in_bytes]
                if not lines:
                    axes.axis("off")
                    continue
                axes.set_title(f"{panel.title}: {name}")
                _draw_panel(axes, lines)
        for axes in grid[:, 0]:
            axes.set_ylabel("Rate over Reno's")
        for above, below in zip(*grid, strict=True):
            last = below if below.axison else above
            last.set_xlabel("Packets lost (%)")
            last.tick_params(labelbottom=True)
        most = max((p for panel in panels for line in panel.lines for p in line.losses), default=0.01)
        ratios = [ratio for panel in panels for line in panel.lines for runs in line.runs for ratio in runs]
        grid[0, 0].set_xlim(0.0, 105.0 * most)
        grid[0, 0].set_ylim(min([0.9 * TWICE, *ratios]) - 0.02, max([1.0, *ratios]) + 0.05)
        _legend(grid[1, -1], panels)
        title = "AIMD(a, b) against Reno, a from the formula; windows in whole packets and in bytes"
        figure.suptitle(title, fontsize=11, x=0.01, ha="left")
        out = io.BytesIO()
        figure.savefig(out, format="png", dpi=120)
    return out.getvalue()


def _draw_panel(axes: Axes, lines: Sequence[Line]) -> None:
    axes.axhline(1.0, color=INK, lw=0.8, ls=(0, (4, 2)))
    axes.axhline(TWICE, color=SOFT, lw=0.8)
    axes.annotate(
        "half of Reno's rate", (1, TWICE), (-2, -3), xycoords=("axes fraction", "data"), textcoords="offset points",
        ha="right", va="top", color=SOFT, fontsize=8,
    )  # fmt: skip
    for line in lines:
        look, x = flow_look(line.index), [100.0 * p for p in line.losses]
        axes.plot(x, line.ratios, look.marker, ls="-", lw=1.2, color=look.colour, ms=5.0, zorder=3)
        for at, runs in zip(x, line.runs, strict=True):
            axes.vlines(at, min(runs), max(runs), color=look.colour, lw=1.0)
        if line.model:
            axes.plot(x, line.model, color=look.colour, lw=1.2, ls=":")


def _legend(axes: Axes, panels: Sequence[Panel]) -> None:
    from matplotlib.lines import Line2D

    handles = []
    for index, b in sorted({(line.index, line.b) for panel in panels for line in panel.lines}):
        look = flow_look(index)
        label = f"b = {b:g}: mean and range of the runs"
        handles.append(Line2D([], [], color=look.colour, marker=look.marker, ms=5.0, lw=1.2, label=label))
    handles.append(Line2D([], [], color=INK, lw=1.2, ls=":", label="model: whole packets, independent losses"))
    handles.append(Line2D([], [], color=INK, lw=0.8, ls=(0, (4, 2)), label="equal rates"))
    axes.legend(handles=handles, loc="center")

"""The figures of convergence: throughput with its moving average, the window, and the phase graph of two flows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np

from windtunnel.figures.files import png
from windtunnel.figures.style import INK, RC, RED, SOFT, flow_look
from windtunnel.papers.features.transients import moving_average
from windtunnel.papers.setups import Excerpt
from windtunnel.papers.talk.controllers import title
from windtunnel.papers.talk.convergence import JOINS_S, PHASE_BDP, PHASE_BUFFER, STEPS, ZOOMS
from windtunnel.papers.talk.gallery_figure import window

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DPI = 110
#: Throughput is shown as Wireshark does: points of short intervals, and a moving average.
SHORT_S, LONG_S = 0.1, 1.0


def draw_alternating(excerpt: Excerpt) -> bytes:
    """Throughput over the link's rate, and the window below."""
    from matplotlib.figure import Figure

    with mpl.rc_context(RC):
        figure = Figure(figsize=(9, 5.4), layout="constrained")
        above, below = figure.subplots(2, 1, sharex=True)
        _throughput(above, excerpt)
        times, rates = zip(*STEPS, strict=True)
        above.step(times, rates, where="post", color=RED, lw=1.0, ls=(0, (4, 2)), label="the link's rate")
        above.set(ylim=(0, 7.5), title="Throughput", xlabel="")
        above.legend(loc="upper center", ncols=3)
        window(below, excerpt)
        below.set_title("Window")
        figure.suptitle("Reno, 100 ms, 5 and 2.5 Mbit/s by turns", fontsize=11, x=0.01, ha="left")
    return png(figure, DPI)


def _throughput(axes: Axes, excerpt: Excerpt) -> None:
    time, mbps = np.asarray(excerpt["time_s"]), np.asarray(excerpt["mbps/0"])
    axes.plot(
        time, moving_average(time, mbps, SHORT_S), ".", color=flow_look(4).colour, ms=1.6, alpha=0.5, label="100 ms"
    )
    axes.plot(
        time, moving_average(time, mbps, LONG_S), color=flow_look(0).colour, lw=1.2, label="moving average of 1 s"
    )
    axes.set(xlabel="Time (s)", ylabel="Throughput (Mbit/s)", xlim=(0, time[-1]))


def draw_constant(name: str, excerpt: Excerpt) -> bytes:
    """The window over the whole run, and throughput in two parts of it."""
    from matplotlib.figure import Figure

    with mpl.rc_context(RC):
        figure = Figure(figsize=(10, 6.4), layout="constrained")
        grid = figure.subplots(2, 2)
        _throughput(grid[0, 0], excerpt)
        grid[0, 0].set(title="Throughput", ylim=(0, 26))
        grid[0, 0].legend(loc="lower right", ncols=2)
        window(grid[0, 1], excerpt)
        grid[0, 1].set_title("Window")
        for axes, (start, stop), what in zip(grid[1], ZOOMS, ("start-up", "the sawtooth"), strict=True):
            window(axes, excerpt)
            axes.set(xlim=(start, stop), title=f"Window: {what}")
            time, cwnd = np.asarray(excerpt["time_s"]), np.asarray(excerpt["cwnd/0"])
            shown = cwnd[(time >= start) & (time <= stop)]
            axes.set_ylim(0, 1.3 * float(np.nanmax(shown)))
        figure.suptitle(name, fontsize=11, x=0.01, ha="left")
    return png(figure, DPI)


def draw_phases(excerpts: Mapping[str, Excerpt]) -> bytes:
    """A panel for each controller: the second flow's rate over the first's, from the time it joins."""
    from matplotlib.figure import Figure

    columns = min(3, len(excerpts))
    rows = -(-len(excerpts) // columns)
    with mpl.rc_context(RC):
        figure = Figure(figsize=(3.7 * columns, 3.7 * rows + 0.5), layout="constrained")
        grid = figure.subplots(rows, columns, squeeze=False)
        for axes, (cc, excerpt) in zip(grid.flat, excerpts.items(), strict=False):
            time = np.asarray(excerpt["time_s"])
            first, second = (np.nan_to_num(np.asarray(excerpt[f"cwnd/{i}"])) for i in (0, 1))
            some = time >= JOINS_S
            full = PHASE_BDP + PHASE_BUFFER
            axes.plot([0, PHASE_BDP], [PHASE_BDP, 0], color=SOFT, lw=0.9, ls=(0, (4, 2)), label="the link is full")
            axes.plot([0, full], [full, 0], color=RED, lw=0.9, ls=(0, (4, 2)), label="the buffer is full")
            axes.plot([0, full], [0, full], color=SOFT, lw=0.9, ls=(0, (1, 1.5)), label="equal windows")
            axes.plot(first[some], second[some], color=flow_look(0).colour, lw=0.5, alpha=0.5)
            points = axes.scatter(first[some], second[some], c=time[some], cmap="viridis", s=4, zorder=3)
            at = np.flatnonzero(some)[[0, -1]]
            axes.plot(first[at[0]], second[at[0]], "o", color=INK, ms=7, mfc="none", zorder=4, label="start")
            axes.plot(first[at[1]], second[at[1]], "x", color=RED, ms=8, mew=1.8, zorder=4, label="end")
            axes.set(title=title(cc), xlim=(-5, 1.05 * full), ylim=(-5, 1.05 * full), aspect="equal")
            axes.set(xlabel="First flow's window (packets)", ylabel="Second flow's window (packets)")
        for axes in list(grid.flat)[len(excerpts) :]:
            axes.axis("off")
        handles, labels = grid[0, 0].get_legend_handles_labels()
        figure.colorbar(points, ax=grid, label="Time (s)", shrink=0.8)
        figure.legend(handles, labels, loc="outside lower center", ncols=5)
        figure.suptitle(
            "Phase graph: two flows, 20 Mbit/s, 100 ms; the second joins at 20 s", fontsize=11, x=0.01, ha="left"
        )
    return png(figure, DPI)

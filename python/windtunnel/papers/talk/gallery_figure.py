"""The figure of a controller: the talk's five plots of it, and its window with the overflows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np

from windtunnel.figures.files import png
from windtunnel.figures.style import INK, RC, RED, SOFT, flow_look
from windtunnel.papers.features.transients import moving_average
from windtunnel.papers.setups import Excerpt
from windtunnel.papers.talk.controllers import Controller
from windtunnel.papers.talk.plan import DISPLACED, FIVE, FRIENDLY, LOSS, ONE, RATE_MBPS, Kind, against

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DPI = 100
#: Slow start's overshoot, which would flatten the rest, is over by this time.
SPIKE_S = 5.0
#: Rates are means over this time, as the talk's IO graphs have them.
MEAN_S = 1.0


def draw(controller: Controller, excerpts: Mapping[Kind, Excerpt]) -> bytes:
    """The six panels as a PNG."""
    from matplotlib.figure import Figure

    with mpl.rc_context(RC):
        figure = Figure(figsize=(11, 9), layout="constrained")
        grid = figure.subplots(3, 2)
        rates(grid[0, 0], excerpts[ONE], ["throughput"])
        grid[0, 0].set_title("One stream")
        window(grid[0, 1], excerpts[ONE], after_s=SPIKE_S)
        grid[0, 1].set_title("Its window")
        rates(grid[1, 0], excerpts[FRIENDLY], [controller.title, against(controller.name)])
        grid[1, 0].set_title("Against Reno")
        rates(grid[1, 1], excerpts[LOSS], ["throughput"])
        grid[1, 1].set_title("One stream, 1 % random loss")
        for axes, kind, title in (
            (grid[2, 0], FIVE, "Five streams"),
            (grid[2, 1], DISPLACED, "Five streams, ten seconds apart"),
        ):
            rates(axes, excerpts[kind], [f"{n}" for n in range(1, 6)])
            axes.set_title(title)
        figure.suptitle(f"{controller.title}: 40 Mbit/s, 100 ms", fontsize=11, x=0.01, ha="left")
    return png(figure, DPI)


def rates(axes: Axes, excerpt: Excerpt, names: list[str]) -> None:
    """The flows' throughputs; several with their sum."""
    time = np.asarray(excerpt["time_s"])
    every = [np.asarray(excerpt[f"mbps/{index}"]) for index in range(len(names))]
    if len(every) > 1:
        axes.plot(time, moving_average(time, np.nansum(every, axis=0), MEAN_S), color=SOFT, lw=0.8, label="sum")
    for index, values in enumerate(every):
        axes.plot(time, moving_average(time, values, MEAN_S), color=flow_look(index).colour, lw=1.1, label=names[index])
    axes.axhline(RATE_MBPS, color=SOFT, lw=0.6, ls=(0, (1, 2)))
    axes.set(xlabel="Time (s)", ylabel="Throughput (Mbit/s)", xlim=(0, time[-1]), ylim=(0, 1.2 * RATE_MBPS))
    if len(every) > 1:
        axes.legend(loc="upper center", ncols=6, columnspacing=1.0, handlelength=1.2, borderaxespad=0.1)


def window(axes: Axes, excerpt: Excerpt, *, after_s: float = 0.0) -> None:
    """The congestion window in steps, ssthresh, and each overflow of the buffer as a mark below.

    The axis is for the time after ``after_s``: where the window was much larger before, a note says how large.
    """
    time = np.asarray(excerpt["time_s"])
    cwnd, ssthresh = (np.asarray(excerpt[f"{name}/0"]) for name in ("cwnd", "ssthresh"))
    axes.step(time, cwnd, where="post", color=INK, lw=1.0, label="cwnd")
    highest, later = float(np.nanmax(cwnd)), float(np.nanmax(cwnd[time > after_s]))
    top = 1.18 * highest
    if later < 0.7 * highest:
        top = 1.35 * later
        axes.annotate(
            f"slow start: up to {highest:.0f}", (0.03, 0.82), xycoords="axes fraction", color=SOFT, fontsize=8
        )
    if np.isfinite(ssthresh).any():
        shown = np.where(ssthresh < top, ssthresh, np.nan)
        axes.step(time, shown, where="post", color=flow_look(1).colour, lw=0.9, ls="--", label="ssthresh")
    times = np.asarray(excerpt["overflows"])
    if len(times):
        axes.plot(times, np.full(len(times), 0.02 * top), "|", color=RED, ms=9, mew=1.4, label="buffer overflow")
    axes.set(xlabel="Time (s)", ylabel="Window (packets)", xlim=(0, time[-1]), ylim=(0, top))
    axes.legend(loc="upper right", ncols=3, borderaxespad=0.1)

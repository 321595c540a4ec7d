"""The figures of efficiency: two windows above each other; goodput and delay against the load."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib as mpl
import numpy as np

from windtunnel.figures.files import png
from windtunnel.figures.style import INK, RC, RED, SOFT, flow_look
from windtunnel.papers.setups import Excerpt
from windtunnel.papers.talk.efficiency import LINE_BUFFER, LINE_KBPS, LINE_PACKETS
from windtunnel.papers.talk.gallery_figure import rates, window

DPI = 110


def draw_tahoe(tahoe: Excerpt, reno: Excerpt) -> bytes:
    """Throughput and window of both."""
    from matplotlib.figure import Figure

    with mpl.rc_context(RC):
        figure = Figure(figsize=(10, 5.6), layout="constrained")
        grid = figure.subplots(2, 2, sharex=True, sharey="col")
        for row, (name, excerpt) in enumerate((("Tahoe", tahoe), ("Reno", reno))):
            rates(grid[row, 0], excerpt, ["throughput"])
            grid[row, 0].set_title(f"{name}: throughput")
            window(grid[row, 1], excerpt)
            grid[row, 1].set_title(f"{name}: window")
        for axes in grid[0]:
            axes.set_xlabel("")
        top = 1.2 * max(float(np.nanmax(e["cwnd/0"])) for e in (tahoe, reno))
        grid[0, 1].set_ylim(0, top)
    return png(figure, DPI)


def draw_knee(points: Sequence[tuple[int, float, float]]) -> bytes:
    """Goodput above, delay below, both against the window."""
    from matplotlib.figure import Figure

    windows, goodputs, delays = (np.array(column, dtype=float) for column in zip(*points, strict=True))
    with mpl.rc_context(RC):
        figure = Figure(figsize=(8, 5.4), layout="constrained")
        above, below = figure.subplots(2, 1, sharex=True)
        above.plot(windows, goodputs, color=flow_look(0).colour, marker="o", ms=4, lw=1.3)
        above.axhline(LINE_KBPS, color=SOFT, lw=0.7, ls=(0, (1, 2)))
        above.set(ylabel="Goodput (kbit/s)", ylim=(0, 1.3 * LINE_KBPS))
        below.plot(windows, delays * 1e-3, color=flow_look(1).colour, marker="s", ms=4, lw=1.3)
        below.set(
            ylabel="Queueing delay (s)", xlabel="Load: window of the sender (packets)", xscale="log", ylim=(0, None)
        )
        below.set_xticks([1, 2, 4, 8, 16, 32, 64], ["1", "2", "4", "8", "16", "32", "64"])
        below.minorticks_off()
        for axes in (above, below):
            axes.axvline(LINE_PACKETS, color=INK, lw=0.8, ls=(0, (4, 2)))
            axes.axvline(LINE_PACKETS + LINE_BUFFER, color=RED, lw=0.8, ls=(0, (4, 2)))
        for x, text, colour in ((LINE_PACKETS, "knee: the line is full", INK),
                                (LINE_PACKETS + LINE_BUFFER, "cliff: the buffer is full", RED)):  # fmt: skip
            above.annotate(text, (x, 1.0), (4, -2), xycoords=("data", "axes fraction"), textcoords="offset points",
                           va="top", color=colour, fontsize=8.5)  # fmt: skip
        figure.suptitle(
            "Knee and cliff: a 56 kbit/s line, 200 ms, 20 packets of buffer", fontsize=11, x=0.01, ha="left"
        )
    return png(figure, DPI)

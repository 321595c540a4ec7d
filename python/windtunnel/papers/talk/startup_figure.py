"""The figures of slow start: a row for each fault, with throughput and queue; the flights of bent starts."""

from __future__ import annotations

from collections.abc import Mapping

import matplotlib as mpl
import numpy as np

from windtunnel.figures.files import png
from windtunnel.figures.style import RC, SOFT, flow_look
from windtunnel.papers.features.transients import moving_average
from windtunnel.papers.setups import Excerpt
from windtunnel.papers.talk.shapes import ROUNDS, Shape
from windtunnel.papers.talk.startup import FAULTS, Fault, starts

DPI = 100
#: Seconds that the panels show, by fault.
_SPAN_S = {"slow": 8.0, "luck": 20.0}


def draw_faults(excerpts: Mapping[tuple[Fault, str], Excerpt]) -> bytes:
    """Throughput on the left, the queue on the right."""
    from matplotlib.figure import Figure

    with mpl.rc_context(RC):
        figure = Figure(figsize=(10, 2.1 * len(FAULTS) + 0.6), layout="constrained")
        grid = figure.subplots(len(FAULTS), 2)
        for row, fault in enumerate(FAULTS):
            rate, queue = grid[row]
            for index, name in enumerate(starts()):
                excerpt, look = excerpts[fault, name], flow_look(index)
                time = np.asarray(excerpt["time_s"])
                mbps = moving_average(time, np.asarray(excerpt["mbps/0"]), 0.2)
                # Lines that coincide stay visible: each is thinner than the one before it.
                width = 3.4 / (1 + index)
                rate.plot(time, mbps, color=look.colour, lw=width, label=name)
                queue.plot(time, np.asarray(excerpt["queue_packets"]), color=look.colour, lw=width)
            rate.axhline(fault.rate_mbps, color=SOFT, lw=0.6, ls=(0, (1, 2)))
            span = _SPAN_S.get(fault.id, 5.0)
            rate.set(title=f"{fault.name}: {fault.path}", ylabel="Mbit/s", xlim=(0, span), ylim=(0, None))
            queue.set(title="queue", ylabel="packets", xlim=(0, span), ylim=(0, None))
        for axes in grid[-1]:
            axes.set_xlabel("Time (s)")
        handles, labels = grid[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4)
    return png(figure, DPI)


def draw_shapes(excerpts: Mapping[Shape, Excerpt]) -> bytes:
    """Packets per round trip on a logarithmic axis: what is exponential is straight."""
    from matplotlib.figure import Figure

    with mpl.rc_context(RC):
        figure = Figure(figsize=(8, 4.4), layout="constrained")
        axes = figure.subplots()
        for index, (shape, excerpt) in enumerate(excerpts.items()):
            look = flow_look(index)
            sent = np.asarray(excerpt["flights"])
            axes.plot(
                np.arange(len(sent)), sent, color=look.colour, marker=look.marker, ms=5, lw=1.3, label=shape.cause
            )
        axes.set(xlabel="Round trip", ylabel="Packets sent in it", yscale="log", xlim=(-0.1, ROUNDS - 0.9))
        axes.set_yticks([10, 20, 50, 100, 200, 500], ["10", "20", "50", "100", "200", "500"])
        axes.minorticks_off()
        axes.legend(loc="upper left", title="bent by")
        figure.suptitle("Is slow start always exponential? 40 Mbit/s, 100 ms", fontsize=11, x=0.01, ha="left")
    return png(figure, DPI)

"""A sawtooth cycle as the report draws it: packet rate, window and RTT against round trips (left) and time (right)."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np

from windtunnel.figures.style import INK, RC, SOFT, flow_look
from windtunnel.models.sawteeth import Cycle, Path

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from windtunnel.models.values import Result

NAMES = ("Reno", "C-Reno")
DPI = 120


def draw(cycle: Cycle, path: Path, title: str) -> bytes:
    """The figure as a PNG: one cycle, with the end of the cycle before it and the start of the one after it."""
    from matplotlib.figure import Figure

    rounds, time = _repeated(cycle.rounds), _repeated(1e3 * cycle.time_s)
    columns = ((rounds, float(cycle.rounds[-1]), "Round trips"), (time, float(1e3 * cycle.time_s[-1]), "Time (ms)"))
    with mpl.rc_context(RC):
        figure = Figure(figsize=(9, 7), layout="constrained")
        grid = figure.subplots(3, 2, sharex="col", sharey="row")
        for column, (x, end, label) in enumerate(columns):
            rate, window, rtt = grid[:, column]
            for flow, name in enumerate(NAMES):
                look = flow_look(flow)
                rate.plot(x, _periodic(cycle.rates[:, flow]), color=look.colour, lw=1.6, ls=_dash(flow))
                window.plot(x, _periodic(cycle.windows[:, flow]), color=look.colour, lw=1.6, ls=_dash(flow), label=name)
            rtt.plot(x, _periodic(1e3 * cycle.rtt_s), color=INK, lw=1.4)
            rtt.axhline(1e3 * path.base_rtt_s, color=SOFT, lw=0.9, ls=":")
            rtt.set_xlabel(label)
            rtt.xaxis.get_major_locator().set_params(integer=True)
            rtt.set_xlim(-0.12 * end, 1.12 * end)
            for axes in (rate, window, rtt):
                _mark_cycle(axes, end)
        for axes, label, title_of in zip(
            grid[:, 0],
            ("Packet rate (packets/s)", "Window (packets)", "RTT (ms)"),
            ("Packet rate", "Window", "Round-trip time"),
            strict=True,
        ):
            axes.set_ylabel(label)
            axes.set_title(title_of)
        slowest, fastest = float(cycle.rates.min()), float(cycle.rates.max())
        grid[0, 0].set_ylim(slowest - 0.15 * (fastest - slowest), fastest + 0.1 * (fastest - slowest))
        grid[1, 0].set_ylim(bottom=0)
        low, high = 1e3 * path.base_rtt_s, float(1e3 * cycle.rtt_s.max())
        grid[2, 0].set_ylim(low - 0.14 * (high - low), high + 0.1 * (high - low))
        grid[2, 1].annotate(
            "base RTT", (1, low), (-4, -3), xycoords=("axes fraction", "data"), textcoords="offset points",
            ha="right", va="top", color=SOFT, fontsize=8,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
        )  # fmt: skip
        handles, labels = grid[1, 0].get_legend_handles_labels()
        edge = grid[1, 0].axvline(0.0, color=SOFT, lw=0.8, ls=(0, (1, 2)))
        figure.legend([*handles, edge], [*labels, "start and end of the cycle"], loc="outside lower center", ncols=3)
        figure.suptitle(title, fontsize=11, x=0.01, ha="left")
        out = io.BytesIO()
        figure.savefig(out, format="png", dpi=DPI)
    return out.getvalue()


def _dash(flow: int) -> str:
    return ("-", "--")[flow]


def _repeated(axis: Result) -> Result:
    """Three cycles in a row; the middle one starts at 0."""
    return np.concatenate([axis - axis[-1], axis, axis + axis[-1]])


def _periodic(values: Result) -> Result:
    return np.concatenate([values] * 3)


def _mark_cycle(axes: Axes, end: float) -> None:
    for edge in (0.0, end):
        axes.axvline(edge, color=SOFT, lw=0.8, ls=(0, (1, 2)))

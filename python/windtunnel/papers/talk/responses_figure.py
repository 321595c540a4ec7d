"""The figure of response functions: four panels of curves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np

from windtunnel.figures.files import png
from windtunnel.figures.style import INK, RC, RED, SOFT, flow_look
from windtunnel.papers.talk.responses import (
    HS_LOW,
    ILLINOIS_DELAYS,
    VEGAS_ALPHA,
    VEGAS_BETA,
    cubic_curve,
    highspeed_decrease,
    highspeed_increase,
    illinois_alpha,
    illinois_beta,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DPI = 110
_FIRST, _SECOND = flow_look(0).colour, flow_look(1).colour


def draw() -> bytes:
    """HighSpeed, Illinois, CUBIC, Vegas."""
    from matplotlib.figure import Figure

    with mpl.rc_context({**RC, "axes.spines.right": True}):
        figure = Figure(figsize=(10.5, 7.4), layout="constrained")
        grid = figure.subplots(2, 2)
        _highspeed(grid[0, 0])
        _illinois(grid[0, 1])
        _cubic(grid[1, 0])
        _vegas(grid[1, 1])
    return png(figure, DPI)


def _twin(axes: Axes, left: str, right: str) -> Axes:
    """A second axis, in the colour of its curve."""
    other = axes.twinx()
    other.grid(visible=False)
    for which, label, colour in ((axes, left, _FIRST), (other, right, _SECOND)):
        which.set_ylabel(label, color=colour)
        which.tick_params(axis="y", labelcolor=colour)
    return other


def _highspeed(axes: Axes) -> None:
    w = np.geomspace(10, 83_000, 300)
    axes.plot(w, highspeed_increase(w), color=_FIRST, lw=1.5)
    other = _twin(axes, "a(w): packets per round trip", "b(w): part that a loss takes")
    other.plot(w, highspeed_decrease(w), color=_SECOND, lw=1.5, ls="--")
    axes.axvline(HS_LOW, color=SOFT, lw=0.8, ls=(0, (1, 2)))
    axes.annotate("Reno below 38", (HS_LOW, 1.0), (4, -4), xycoords=("data", "axes fraction"),
                  textcoords="offset points", va="top", color=SOFT, fontsize=8)  # fmt: skip
    axes.set(title="HighSpeed: a(w), b(w)", xlabel="Window w (packets)", xscale="log", ylim=(0, 80))
    other.set_ylim(0, 0.6)


def _illinois(axes: Axes) -> None:
    d = np.linspace(0, 100, 600)
    axes.plot(d, illinois_alpha(d, 100.0), color=_FIRST, lw=1.5)
    other = _twin(axes, "alpha: packets per round trip", "beta: part that a loss takes")
    other.plot(d, illinois_beta(d, 100.0), color=_SECOND, lw=1.5, ls="--")
    for part in ILLINOIS_DELAYS:
        axes.axvline(100 * part, color=SOFT, lw=0.8, ls=(0, (1, 2)))
    axes.set(
        title="Illinois: alpha, beta", xlabel="Mean queueing delay (% of the longest)", xlim=(0, 100), ylim=(0, 11)
    )
    other.set_ylim(0, 0.6)


def _cubic(axes: Axes) -> None:
    for index, w_max in enumerate((100.0, 583.0, 1000.0)):
        t = np.linspace(0, 16, 400)
        axes.plot(t, cubic_curve(t, w_max) / w_max, color=flow_look(index).colour, ls=flow_look(index).dash, lw=1.5,
                  label=f"Wmax = {w_max:g} packets")  # fmt: skip
    axes.axhline(1.0, color=SOFT, lw=0.8, ls=(0, (1, 2)))
    axes.set(title="CUBIC: W(t) = C (t - K)$^3$ + Wmax", xlabel="Seconds since the loss", ylabel="W over Wmax",
             xlim=(0, 16), ylim=(0.6, 1.6))  # fmt: skip
    axes.spines["right"].set_visible(False)
    axes.legend(loc="upper left")


def _vegas(axes: Axes) -> None:
    """What Vegas does in each round, by window and by packets in the queue."""
    queued = np.linspace(0, 8, 400)
    step = np.where(queued < VEGAS_ALPHA, 1, np.where(queued > VEGAS_BETA, -1, 0))
    axes.step(queued, step, where="post", color=INK, lw=1.6)
    bands = (
        (0, VEGAS_ALPHA, _FIRST, "too little\nqueued"),
        (VEGAS_ALPHA, VEGAS_BETA, SOFT, "just right"),
        (VEGAS_BETA, 8, RED, "too much\nqueued"),
    )
    for low, high, colour, text in bands:
        axes.axvspan(low, high, color=colour, alpha=0.12, lw=0)
        axes.annotate(text, ((low + high) / 2, -1.45), ha="center", color=colour, fontsize=8.5)
    axes.set(title="Vegas: bands of diff", xlabel="diff = W (RTT - BaseRTT) / BaseRTT: packets in the queue",
             ylabel="Change per round trip (packets)", xlim=(0, 8), ylim=(-1.6, 1.6))  # fmt: skip
    axes.set_yticks([-1, 0, 1], ["-1", "0", "+1"])
    axes.spines["right"].set_visible(False)

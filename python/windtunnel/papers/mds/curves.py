"""Figures 1 and 17: curves of the models, with units."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import numpy as np

from windtunnel import models
from windtunnel.experiment.measures.language import call_of
from windtunnel.figures.style import INK

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: The figures that are curves.
FIGURES = ("1", "17")

#: Figure 17's lines: the longest acceptable round trip in ms by link rate in Mbit/s.
LINES: dict[str, Callable[[models.Result], models.Result]] = {
    "Reno / DCTCP": lambda mbps: 1e3 * models.reno_max_rtt(mbps * 1e6),
    "CUBIC": lambda mbps: 1e3 * models.cubic_max_rtt(mbps * 1e6),
    "Scalable a=1/100": lambda mbps: 1e3 * models.scalable_max_rtt(60.0, 0.01) + 0 * mbps,
    "Scalable a=1/200": lambda mbps: 1e3 * models.scalable_max_rtt(60.0, 0.005) + 0 * mbps,
}


def value(method: str, line: str) -> float:
    """``reduction(tau)`` in percent, or ``max_rtt(mbps)`` of a line in ms."""
    name, (argument,) = call_of(method)
    x = np.asarray(float(argument))
    if name == "reduction":
        return float(100.0 * models.reduction_per_signal(x))
    if name == "max_rtt":
        return float(LINES[line](x))
    raise ValueError(f"no curve {method!r}")


def draw(figure: str, published: Sequence[tuple[str, float]]) -> bytes:
    """A curve figure as a PNG, with the ``published`` points: the method of each, with its argument, and its value."""
    drawn = _reduction() if figure == "1" else _max_rtt()
    (axes,) = drawn.axes
    xs = [float(call_of(method)[1][0]) for method, _ in published]
    axes.plot(xs, [y for _, y in published], "o", ms=3.5, mfc="none", mec=INK, mew=0.7, label="published", zorder=6)
    axes.legend()
    out = io.BytesIO()
    drawn.savefig(out, format="png", dpi=120)
    return out.getvalue()


def _canvas() -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    return figure, figure.add_subplot()


def _reduction() -> Figure:
    tau = np.arange(1, 129)
    figure, axes = _canvas()
    axes.plot(tau, 100 * models.reduction_per_signal(tau), color="#0072b2")
    for t in (32, 64):
        share = float(100 * models.reduction_per_signal(t))
        axes.annotate(f"{share:.2f} % at {t}", (t, share), (t, share + 6), ha="center", arrowprops={"arrowstyle": "-"})
    axes.set(
        xlabel="τ (SCE marks per drop or CE mark)",
        ylabel="reduction of cwnd per SCE mark (%)",
        title="cwnd reduction per SCE mark against τ, β = 0.5",
        xlim=(0, 130),
        ylim=(0, 52),
    )
    axes.grid(alpha=0.3)
    return figure


def _max_rtt() -> Figure:
    rate = np.logspace(0, 6, 121)
    styles = (("#0072b2", "-"), ("#d55e00", "--"), ("#e69f00", "-."), ("#009e73", ":"))
    figure, axes = _canvas()
    for (name, line), (colour, style) in zip(LINES.items(), styles, strict=True):
        axes.loglog(rate, line(rate), color=colour, linestyle=style, label=name)
    axes.set(
        xlabel="bandwidth (Mbit/s)",
        ylabel="path RTT (ms)",
        title="Longest RTT with a recovery within one minute after a 50 % rate drop",
    )
    axes.grid(which="both", alpha=0.3)
    return figure

"""The figures of shares: bars for all controllers, and heat maps of round trips, of all pairs, and of cheats."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np

from windtunnel.figures.files import png
from windtunnel.figures.style import RC, SOFT, flow_look
from windtunnel.metrics import Array
from windtunnel.papers.talk.cheating import ATTACKS, Attack, Sender
from windtunnel.papers.talk.controllers import title
from windtunnel.papers.talk.fairness import LONG_MS, SHORT_MS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DPI = 110
_MAP_RC = {**RC, "axes.grid": False, "axes.spines.top": True, "axes.spines.right": True}
#: Where a bar of a share has its equal one.
_EQUAL = {"%": 50.0, "": 1.0}
#: Shares further than this from a half are on dark ground.
_DARK = 34


def draw_charts(charts: Sequence[tuple[str, str, Sequence[tuple[str, Sequence[float]]]]]) -> bytes:
    """A panel for each number, a bar for each controller, and whiskers from the least to the largest run."""
    from matplotlib.figure import Figure

    names = [name for name, _ in charts[0][2]]
    with mpl.rc_context({**RC, "axes.grid.axis": "x"}):
        figure = Figure(figsize=(12, 1.6 + 0.27 * len(names)), layout="constrained")
        y = np.arange(len(names))
        for index, (axes, (what, unit, bars)) in enumerate(
            zip(figure.subplots(1, 3, sharey=True), charts, strict=True)
        ):
            means = np.array([np.mean(v) if len(v) else np.nan for _, v in bars])
            ends = np.array([(min(v), max(v)) if len(v) else (np.nan, np.nan) for _, v in bars])
            axes.barh(y, means, color=flow_look(index).colour, height=0.62)
            axes.hlines(y, ends[:, 0], ends[:, 1], color="black", lw=1.1)
            if unit in _EQUAL:
                axes.axvline(_EQUAL[unit], color=SOFT, lw=0.9, ls=(0, (4, 2)))
            words = what.split(", ")
            axes.set_xlabel(f"{what} ({unit})" if unit else what)
            axes.set_title(words[0])
            axes.set_xlim(left=0)
        figure.axes[0].set_yticks(y, names)
        figure.axes[0].invert_yaxis()
    return png(figure, DPI)


def draw_round_trips(names: Sequence[str], means: Mapping[tuple[str, int], float]) -> bytes:
    """Controllers down, ratios of round trips across."""
    columns = [long for long in LONG_MS if any(at == long for _, at in means)]
    values = np.array([[means.get((cc, long), np.nan) for long in columns] for cc in names])
    from matplotlib.colors import LogNorm
    from matplotlib.figure import Figure

    with mpl.rc_context(_MAP_RC):
        figure = Figure(figsize=(6.4, 1.8 + 0.3 * len(names)), layout="constrained")
        axes = figure.subplots()
        image = axes.imshow(values, cmap="RdBu_r", norm=LogNorm(1 / 32, 32), aspect="auto")
        _numbers(
            figure.axes[0], values, lambda v: abs(np.log2(v)) > 3.2, lambda v: f"{v:.0f}" if v >= 10 else f"{v:.1f}"
        )
        axes.set_xticks(range(len(columns)), [f"{SHORT_MS} : {long} ms" for long in columns])
        axes.set_yticks(range(len(names)), [title(cc) for cc in names])
        bar = figure.colorbar(image, ax=axes, label="rate of the short over that of the long")
        bar.set_ticks([1 / 16, 1 / 4, 1, 4, 16], labels=["1/16", "1/4", "1", "4", "16"])
        figure.suptitle("RTT fairness: 1 is equal rates", fontsize=11, x=0.01, ha="left")
    return png(figure, DPI)


def draw_pairs(names: Sequence[str], means: Mapping[tuple[str, str], float]) -> bytes:
    """The share of the row's controller next to the column's, in percent."""
    from matplotlib.figure import Figure

    values = np.full((len(names), len(names)), np.nan)
    for (first, second), share in means.items():
        row, column = names.index(first), names.index(second)
        values[column, row] = 100.0 - share
        values[row, column] = share
    side = 2.6 + 0.36 * len(names)
    with mpl.rc_context(_MAP_RC):
        figure = Figure(figsize=(side + 1.2, side), layout="constrained")
        axes = figure.subplots()
        image = axes.imshow(values, cmap="RdBu", vmin=0, vmax=100)
        _numbers(axes, values, _on_dark, lambda v: f"{v:.0f}")
        labels = [title(cc) for cc in names]
        axes.set_xticks(range(len(names)), labels, rotation=60, ha="right", rotation_mode="anchor")
        axes.set_yticks(range(len(names)), labels)
        axes.set(xlabel="beside", ylabel="share of")
        figure.colorbar(image, ax=axes, label="share of the row's controller (%)", shrink=0.8)
        figure.suptitle("Inter-protocol fairness: 50 is equal", fontsize=11, x=0.01, ha="left")
    return png(figure, DPI)


def draw_cheats(senders: Sequence[Sender], means: Mapping[tuple[Attack, Sender], float]) -> bytes:
    """Misbehaviours down, senders across; red is what the cheat gains."""
    from matplotlib.figure import Figure

    values = np.array([[means.get((attack, sender), np.nan) for sender in senders] for attack in ATTACKS])
    with mpl.rc_context(_MAP_RC):
        figure = Figure(figsize=(9, 4), layout="constrained")
        axes = figure.subplots()
        image = axes.imshow(values, cmap="RdBu_r", vmin=0, vmax=100, aspect="auto")
        _numbers(axes, values, _on_dark, lambda v: f"{v:.0f}", size=None)
        axes.set_xticks(range(len(senders)), [sender.name for sender in senders], rotation=20, ha="right")
        axes.set_yticks(range(len(ATTACKS)), [attack.name for attack in ATTACKS])
        figure.colorbar(image, ax=axes, label="share of the cheat (%)")
        figure.suptitle("What a lie gains next to an honest flow: 50 is fair", fontsize=11, x=0.01, ha="left")
    return png(figure, DPI)


def _on_dark(share: float) -> bool:
    return abs(share - 50) > _DARK


def _numbers(
    axes: Axes,
    values: Array,
    dark: Callable[[float], bool],
    text: Callable[[float], str],
    *,
    size: float | None = 7.5,
) -> None:
    """The value in each cell, white on dark ones."""
    for (row, column), value in np.ndenumerate(values):
        if np.isfinite(value):
            colour = "white" if dark(value) else "black"
            axes.text(column, row, text(value), ha="center", va="center", fontsize=size, color=colour)

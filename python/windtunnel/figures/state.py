"""A panel of one number of the state of controllers or queues."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from windtunnel.figures.legible import legible
from windtunnel.figures.panels import POINTS, Window, flow_looks, look_of, visible
from windtunnel.figures.series import MANY_FLOWS, Result, names, state
from windtunnel.figures.style import queue_look
from windtunnel.figures.thinning import thin_line
from windtunnel.state_tables import state_unit

_TITLES = {"cc": "Controller State", "aqm": "Queue State", "qdisc": "Queue Discipline State"}


def draw_state(axes: Axes, result: Result, window: Window, table: str, name: str) -> None:
    """The number ``name`` of each flow's controller (``table`` "cc") or of each queue ("aqm", "qdisc") that has it.

    A number holds until the next one is recorded: steps. Where it does not exist, the line is broken.
    """
    every = visible(state(result, table, name), window)
    of_flows = table == "cc"
    looks, _ = flow_looks(result)
    queue_names = names(result, "queues")
    unit = state_unit(name)
    shown = legible(name)
    axes.set_title(f"{_TITLES[table]}: {shown}")
    axes.set_ylabel(f"{shown} ({unit})" if unit else shown)
    for s in every:
        look = look_of(looks, s.index) if of_flows else queue_look(s.index)
        keep = thin_line(s.t, s.y, max(POINTS // len(every), 40))
        axes.plot(
            s.t[keep], s.y[keep], color=look.colour, linestyle=look.dash if of_flows else "-", drawstyle="steps-post",
            linewidth=0.9 if len(every) <= MANY_FLOWS else 0.6,
            label=f"flow {s.index}" if of_flows else look_of(queue_names, s.index),
        )  # fmt: skip
    axes.set_xlim(window.start, window.end)
    _fit(axes, [s.y[(s.t >= window.start) & (s.t <= window.end)] for s in every])
    if not of_flows and len(every) > 1:
        axes.legend(loc="upper right")


def _fit(axes: Axes, values: list[np.ndarray]) -> None:
    """The ordinates start at 0, unless numbers are negative or lie in a narrow range far from 0 (sequence numbers)."""
    finite = np.concatenate([v[np.isfinite(v)] for v in values]) if values else np.empty(0)
    if not len(finite):
        return
    low, high = float(finite.min()), float(finite.max())
    margin = 0.06 * (high - min(low, 0.0) or 1.0)
    axes.set_ylim(0.0 if low >= 0 else low - margin, high + margin)

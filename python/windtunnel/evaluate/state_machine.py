"""The figure of a state machine: each arm's mode over time, where it is told, what is in flight, and the moment that
decides.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from windtunnel.experiment.measures.bbr_state import MODES, Machine

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from windtunnel.result import RunResult

_INCHES = (9.0, 2.3)
#: Characters of a line of the title.
_TITLE = 110


class Arm(NamedTuple):
    """A run by the name of its arm; the moment that decides is NaN where the run has none."""

    name: str
    result: RunResult
    at_s: float


def figure(arms: Sequence[Arm], title: str) -> Figure:
    """A row for each arm."""
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    from windtunnel.figures.legible import legible
    from windtunnel.figures.style import RC

    with mpl.rc_context(RC):
        width, height = _INCHES
        whole = Figure(figsize=(width, height * len(arms) + 0.7), dpi=120)
        whole.set_layout_engine(ConstrainedLayoutEngine())
        for axes, arm in zip(whole.subplots(len(arms), 1, squeeze=False)[:, 0], arms, strict=True):
            _draw(axes, arm)
        axes.set_xlabel("Time (s)")
        whole.suptitle(textwrap.fill(legible(title), _TITLE), fontsize=11, x=0.01, ha="left")
    return whole


def _draw(axes: Axes, arm: Arm) -> None:
    machine = Machine.of(arm.result)
    time = machine["time_s"]
    if machine.tells("mode"):
        axes.step(time, machine["mode"], where="post", lw=1.2, color="#2b5c8a")
        axes.set_yticks(range(len(MODES)), MODES)
    else:
        axes.set_yticks([])
    axes.set(title=arm.name, ylim=(len(MODES) - 0.6, -0.4), xlim=(0, float(time[-1])))
    right = axes.twinx()
    # Its grid would cross the steps.
    right.grid(visible=False)
    right.plot(time, machine["in_flight_bytes"] / 1e3, lw=0.6, color="#8a8a8a")
    right.set_ylabel("in flight (kB)")
    right.set_ylim(bottom=0)
    if np.isfinite(arm.at_s):
        axes.axvline(arm.at_s, color="#c0392b", lw=1.0, ls=(0, (4, 2)))
        near = arm.at_s > 0.8 * float(time[-1])
        axes.annotate(
            f"decides: {arm.at_s:.4g} s", (arm.at_s, 0), xytext=(-4 if near else 4, -4), textcoords="offset points",
            ha="right" if near else "left", va="top", color="#c0392b", fontsize=8,
        )  # fmt: skip

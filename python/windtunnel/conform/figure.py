"""The picture of a stack's window next to its shadow's."""

from __future__ import annotations

from collections.abc import Callable

import matplotlib as mpl
import numpy as np

from windtunnel.figures.files import png
from windtunnel.figures.style import RC, flow_look
from windtunnel.papers.features.probes import state
from windtunnel.papers.features.window_laws import MSS
from windtunnel.papers.setups import Excerpt, Setup
from windtunnel.papers.suite import Group, Results
from windtunnel.result import RunResult

DPI = 110
#: Changes that are drawn at most: more than pixels.
CHANGES = 6000

#: The sections that show both windows, and the setup that they draw.
ARMS = {"9002-7.3": "newreno", "9438-4.4": "cubic", "9406-4.2": "hystart"}


def add_figure(group: Group, setups: dict[str, Setup]) -> None:
    """Give a section that compares with a shadow its picture."""
    arm = ARMS.get(group.id)
    if arm is not None:
        setups[arm].excerpt = windows
        group.png = drawn(arm)


def windows(run: RunResult) -> Excerpt:
    """``time_s``, and both windows in packets: ``cwnd`` and ``shadow_cwnd``."""
    time, own = state(run.tables, 0, "cwnd")
    _, shadow = state(run.tables, 0, "shadow_cwnd")
    chosen = np.unique(np.linspace(0, len(time) - 1, CHANGES).astype(np.int64))
    return {"time_s": time[chosen], "cwnd": own[chosen] / MSS, "shadow_cwnd": shadow[chosen] / MSS}


def drawn(arm: str) -> Callable[[Results], bytes | None]:
    """A function that draws both windows of a setup."""
    return lambda results: _draw(excerpt) if (excerpt := results.excerpt(arm)) is not None else None


def _draw(excerpt: Excerpt) -> bytes:
    from matplotlib.figure import Figure

    with mpl.rc_context(RC):
        figure = Figure(figsize=(9, 3.6), layout="constrained")
        axes = figure.subplots()
        time = excerpt["time_s"]
        own, shadow = flow_look(0), flow_look(1)
        axes.plot(time, excerpt["cwnd"], color=own.colour, lw=1.4, drawstyle="steps-post", label="the stack")
        axes.plot(
            time, excerpt["shadow_cwnd"], color=shadow.colour, lw=1.2, ls=(0, (4, 2)), drawstyle="steps-post",
            label="the shadow, which decides nothing",
        )  # fmt: skip
        axes.set(xlabel="Time (s)", ylabel="cwnd (packets of 1472 B)", xlim=(0, None), ylim=(0, None))
        figure.legend(loc="outside upper right", ncols=2)
    return png(figure, DPI)

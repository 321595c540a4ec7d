"""The figures of the overflow counts: measured next to printed ones, and over the buffers that were tried."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np

from windtunnel.figures.files import png
from windtunnel.figures.style import RC, RED, SOFT, flow_look
from windtunnel.papers.talk.controllers import title
from windtunnel.papers.talk.plan import BUFFER_PACKETS

if TYPE_CHECKING:
    from windtunnel.papers.talk.collateral import Printed

DPI = 110


def draw_counts(counts: Sequence[tuple[str, float, float | None]]) -> bytes:
    """A bar for each controller, and a mark where a slide prints a count."""
    from matplotlib.figure import Figure

    with mpl.rc_context({**RC, "axes.grid.axis": "x"}):
        figure = Figure(figsize=(8, 1.2 + 0.28 * len(counts)), layout="constrained")
        axes = figure.subplots()
        y = np.arange(len(counts))
        axes.barh(y, [m for _, m, _ in counts], color=flow_look(0).colour, height=0.62, label="measured")
        said = [(i, s) for i, (_, _, s) in enumerate(counts) if s is not None]
        if said:
            axes.plot([s for _, s in said], [i for i, _ in said], "D", color=RED, ms=6, ls="none", label="on the slide")
        axes.set_yticks(y, [name for name, _, _ in counts])
        axes.invert_yaxis()
        axes.set_xlabel("Buffer overflows in 60 s")
        axes.set_xlim(left=0)
        axes.legend(loc="lower right")
        figure.suptitle("Collateral damage: one stream, 40 Mbit/s, 100 ms", fontsize=11, x=0.01, ha="left")
    return png(figure, DPI)


def draw_buffers(lines: Mapping[Printed, Sequence[tuple[int, float]]]) -> bytes:
    """Counts against the buffer, a line for each controller, dashed at its printed count."""
    from matplotlib.figure import Figure

    with mpl.rc_context(RC):
        figure = Figure(figsize=(8, 4.6), layout="constrained")
        axes = figure.subplots()
        for index, (said, points) in enumerate(lines.items()):
            look = flow_look(index)
            x, y = zip(*points, strict=True)
            axes.plot(x, y, color=look.colour, marker=look.marker, ms=4, lw=1.2, label=title(said.controller))
            axes.axhline(said.overflows, color=look.colour, lw=0.8, ls=(0, (4, 3)))
        axes.axvline(BUFFER_PACKETS, color=SOFT, lw=0.9, ls=(0, (1, 2)))
        axes.annotate(
            "the suite's", (BUFFER_PACKETS, 1.0), (3, -2), xycoords=("data", "axes fraction"),
            textcoords="offset points", va="top", color=SOFT, fontsize=8,
        )  # fmt: skip
        axes.set(xlabel="Buffer (packets)", ylabel="Overflows in 60 s", xlim=(0, None), ylim=(0, None))
        axes.legend(loc="upper right", title="dashed: the slide's count", ncols=2)
        figure.suptitle("Which buffer did the talk's testbed have?", fontsize=11, x=0.01, ha="left")
    return png(figure, DPI)

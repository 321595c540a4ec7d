"""A picture for a table: measured over published values with their intervals, where the document gives numbers."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

from windtunnel.experiment.verdict import Kind
from windtunnel.papers.rows import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Fewer numbers than this are read faster than drawn.
_FEWEST = 4
#: Ratios beyond this are drawn at the edge.
_FARTHEST = 4.0


def comparison(rows: Sequence[Row]) -> bytes | None:
    """A PNG: a row's ratio with its interval, and the precision of the source around 1; None if there is too little."""
    shown = [row for row in rows if row.verdict != "info" and _drawable(row)]
    if len(shown) < _FEWEST:
        return None
    import matplotlib as mpl
    from matplotlib.figure import Figure

    from windtunnel.figures.style import RC

    with mpl.rc_context(RC):
        figure = Figure(figsize=(10, 0.9 + 0.19 * len(shown)), layout="constrained")
        _panel(figure.add_subplot(), shown)
        out = io.BytesIO()
        figure.savefig(out, format="png", dpi=100)
    return out.getvalue()


def _drawable(row: Row) -> bool:
    """Whether both values are there and positive: a ratio says nothing about zero."""
    return isinstance(row.expected, float) and row.expected > 0 and row.measured is not None and row.measured > 0


def _panel(axes: Axes, rows: Sequence[Row]) -> None:
    from windtunnel.figures.style import INK, RED, SOFT, flow_look

    colours: dict[Kind, str] = {"agrees": flow_look(2).colour, "differs": RED, "info": SOFT}
    for y, row in enumerate(rows):
        expected, measured = row.expected, row.measured
        assert isinstance(expected, float)
        assert measured is not None
        colour, precision = colours[row.word.kind], (row.tolerance or 0.0) / expected
        axes.plot([1 - precision, 1 + precision], [y, y], color=SOFT, lw=6, alpha=0.35, solid_capstyle="butt")
        if row.interval is not None:
            axes.plot([end / expected for end in row.interval], [y, y], color=colour, lw=1.2)
        axes.plot([measured / expected], [y], "o", color=colour, ms=3.6)
    axes.axvline(1.0, color=INK, lw=0.8)
    low, high = axes.get_xlim()
    axes.set_xlim(max(low, 1 / _FARTHEST), min(high, _FARTHEST))
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_yticks(range(len(rows)), [row.what for row in rows], fontsize=7)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(
        "Measured over published value or reference: unperturbed run and interval of all; grey: the source's precision"
    )

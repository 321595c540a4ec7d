"""How figures look: colours that colour-blind readers can distinguish, markers and dashes for printing in grey."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from windtunnel.panels import looks
from windtunnel.panels.looks import COLOURS
from windtunnel.panels.model import Look

#: A line style of matplotlib: solid, or an offset with the lengths of dashes and gaps, in points.
Dash: TypeAlias = Literal["solid"] | tuple[float, Sequence[float]]

INK: Final = COLOURS["ink"]
SOFT: Final = COLOURS["soft"]
GRID: Final = COLOURS["grid"]
#: What a panel singles out: an emptied queue, a drop. No flow and no queue has this colour.
RED: Final = COLOURS["red"]
SLATE: Final = COLOURS["slate"]
PURPLE: Final = COLOURS["purple"]

_MARKERS = {"circle": "o", "square": "s", "triangle": "^", "diamond": "D", "down": "v", "plus": "P", "cross": "x"}
# Lengths of dashes are in pixels of a page; here they are points.
_POINTS = 0.7


@dataclass(frozen=True)
class Drawn:
    """How a series is distinguished, in Matplotlib's words."""

    colour: str
    marker: str
    dash: Dash = "solid"


def drawn(look: Look) -> Drawn:
    """A look in Matplotlib's words."""
    dash: Dash = (0, tuple(_POINTS * part for part in look.dash)) if look.dash else "solid"
    return Drawn(COLOURS[look.colour], _MARKERS[look.marker], dash)


def flow_look(index: int) -> Drawn:
    """The look of a flow (or group of flows)."""
    return drawn(looks.flow_look(index))


def queue_look(index: int) -> Drawn:
    """The look of a queue."""
    return drawn(looks.queue_look(index))


#: Settings of matplotlib for all figures; SVG text stays text, and equal data give equal files.
RC: Final[dict[Any, Any]] = {
    "font.size": 9.0,
    "font.family": "sans-serif",
    "axes.titlesize": 10.0,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.edgecolor": SOFT,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.formatter.useoffset": False,
    "grid.color": GRID,
    "grid.linewidth": 0.6,
    "text.color": INK,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "svg.fonttype": "none",
    "svg.hashsalt": "windtunnel",
}

"""How figures look: colours that colour-blind readers can distinguish, markers and dashes for printing in grey."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

#: A line style of matplotlib: solid, or an offset with the lengths of dashes and gaps, in points.
Dash: TypeAlias = Literal["solid"] | tuple[float, Sequence[float]]

INK: Final = "#24292f"
SOFT: Final = "#59636e"
GRID: Final = "#e4e7eb"
#: What a panel singles out: an emptied queue, a limited window, a drop. No flow and no queue has this colour.
RED: Final = "#c01c28"
SLATE: Final = "#66727f"
PURPLE: Final = "#b8578f"

# The palette of Okabe and Ito ("Color universal design", 2008), with its light colours darkened so that thin lines
# stand out on white paper; its vermillion is left out because it is close to RED. The report's page uses the same.
_FLOW_COLOURS = ("#0072b2", "#e08a00", "#009e73", PURPLE, "#3ba3e0")
# No flow has these, so that no queue looks like a flow.
_QUEUE_COLOURS = (SLATE, "#5546a8", "#bfa100", "#75471d")
_MARKERS = ("o", "s", "^", "D", "v", "P")
_DASHES: tuple[Dash, ...] = ("solid", (0, (5, 1.5)), (0, (1.5, 1.2)))


@dataclass(frozen=True)
class Look:
    """How a series is distinguished."""

    colour: str
    marker: str
    dash: Dash = "solid"


def flow_look(index: int) -> Look:
    """The look of a flow (or group of flows), the same in every panel; 30 differ."""
    return Look(
        _FLOW_COLOURS[index % len(_FLOW_COLOURS)],
        _MARKERS[index % len(_MARKERS)],
        _DASHES[index // len(_FLOW_COLOURS) % len(_DASHES)],
    )


def queue_look(index: int) -> Look:
    """The look of a queue."""
    return Look(_QUEUE_COLOURS[index % len(_QUEUE_COLOURS)], _MARKERS[index % len(_MARKERS)])


#: The sum of all flows.
TOTAL: Final = Look(INK, "x")

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

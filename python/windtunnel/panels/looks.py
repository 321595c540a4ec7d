"""The looks of flows and queues: the same in every panel, in figures and on pages."""

from __future__ import annotations

from typing import Final

from windtunnel.panels.model import Look

#: Colours by name. Pages have a dark theme too (``web/src/style.css``, which repeats these for the light one). They are
#: those of Okabe and Ito ("Color universal design", 2008), the light ones darkened so that thin lines stand out on
#: white, and three of Tol's "muted" scheme (2021), which are as safe for colour-blind readers.
COLOURS: Final = {
    "ink": "#24292f",
    "soft": "#59636e",
    "grid": "#e4e7eb",
    "blue": "#0072b2",
    "orange": "#e08a00",
    "green": "#009e73",
    "purple": "#b8578f",
    "sky": "#3ba3e0",
    "navy": "#332288",
    "olive": "#7d7d1e",
    "wine": "#882255",
    "red": "#c01c28",
    "slate": "#66727f",
    "indigo": "#5546a8",
    "ochre": "#bfa100",
    "brown": "#75471d",
}

# Red is reserved for what the panels single out: an emptied queue, a drop. No flow and no queue has it.
_FLOWS = ("blue", "orange", "green", "purple", "sky", "navy", "olive", "wine")
# No flow has these, so that no queue looks like a flow.
_QUEUES = ("slate", "indigo", "ochre", "brown")
_MARKERS = ("circle", "square", "triangle", "diamond", "down", "plus")
_DASHES: tuple[tuple[int, ...], ...] = ((), (7, 3), (2, 3), (9, 3, 2, 3))

#: The sum of all flows.
TOTAL: Final = Look("ink", "plus")


def flow_look(index: int) -> Look:
    """The look of a flow or group; 192 differ, and 24 in a row do without colour."""
    styles = len(_MARKERS) * len(_DASHES)
    return Look(
        _FLOWS[(index + index // styles) % len(_FLOWS)],
        _MARKERS[index % len(_MARKERS)],
        _DASHES[index // len(_MARKERS) % len(_DASHES)],
    )


def queue_look(index: int) -> Look:
    """The look of a queue."""
    return Look(_QUEUES[index % len(_QUEUES)], _MARKERS[index % len(_MARKERS)])

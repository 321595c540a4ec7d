"""How series are distinguished: markers, dashes, and the same colours as in the printed figures."""

from collections.abc import Sequence
from dataclasses import dataclass

from windtunnel.flow_groups import by_name

# Red is reserved for what the panels single out, so no flow or queue has it.
_FLOW_COLOURS = ("blue", "orange", "green", "purple", "sky")
# No flow has these, so that no queue looks like a flow.
_QUEUE_COLOURS = ("slate", "indigo", "ochre", "brown")
_MARKERS = ("circle", "square", "triangle", "diamond", "down", "plus")
_DASHES: tuple[list[int], ...] = ([], [7, 3], [2, 3])
# With more flows than this, colours no longer distinguish them; groups are distinguished instead.
_TELLABLE = 24


@dataclass(frozen=True)
class Look:
    """How a series is distinguished: colour, and marker and dash for readers without colour."""

    colour: str
    marker: str
    dash: list[int]


def flow_look(index: int) -> Look:
    """The look of a flow, the same in every panel."""
    return Look(
        _FLOW_COLOURS[index % len(_FLOW_COLOURS)],
        _MARKERS[index % len(_MARKERS)],
        _DASHES[index // len(_FLOW_COLOURS) % len(_DASHES)],
    )


def flow_groups(flows: Sequence[str]) -> list[tuple[str, list[int]]]:
    """Label and members of each look: each flow or, with very many, the flows whose names differ only in a number."""
    return by_name(flows) if len(flows) > _TELLABLE else [(name, [i]) for i, name in enumerate(flows)]


def flow_looks(flows: Sequence[str]) -> list[Look]:
    """The look of each flow, which is that of its group."""
    looks = [flow_look(0)] * len(flows)
    for i, (_, members) in enumerate(flow_groups(flows)):
        for member in members:
            looks[member] = flow_look(i)
    return looks


def queue_look(index: int) -> Look:
    """The look of a queue."""
    return Look(_QUEUE_COLOURS[index % len(_QUEUE_COLOURS)], _MARKERS[index % len(_MARKERS)], [])


#: The sum of all flows.
TOTAL = Look("ink", "plus", [])

"""What was in flight, and what the nearest controllers would have had after the same acknowledgements and losses."""

from __future__ import annotations

from typing import Final

import numpy as np

from windtunnel.panels.groups import NAMED
from windtunnel.panels.model import Choice, Look, Panel, Series
from windtunnel.panels.run import Run

#: The flight, and controllers from the nearest on.
_LOOKS: Final = (
    Look("red", "circle"),
    Look("blue", "square", (6, 2)),
    Look("orange", "triangle", (2, 2)),
    Look("green", "diamond", (6, 2, 2, 2)),
)


def panel(run: Run) -> Panel | None:
    """The panel, with a choice for each of the first flows; None for all but captures and logs with packets."""
    table = run.recorded.get("laws")
    if table is None:
        return None
    choices = []
    for flow in np.unique(table["flow"])[:NAMED].tolist():
        names = ("in flight", *run.records[flow]["laws"])
        mine = table["flow"] == flow
        series = []
        for number, (name, look) in enumerate(zip(names, _LOOKS, strict=False)):
            rows = mine & (table["law"] == number)
            x, y = table["time_s"][rows], table["segments"][rows]
            series.append(Series(f"law {number}", name, look, x, y))
        choices.append(Choice(run.flow(flow), "segments", tuple(series)))
    return Panel(
        "laws", "In Flight, and What the Nearest Controllers Would Have Had", "segments", choices[0].series,
        short_title="Nearest Controllers", quantity="In flight", choices=tuple(choices), shown=False, markers="none",
        note="Each controller takes over the flight where its line begins: at the start of a stretch of up to 16 round "
        "trips without congestion. Answers to congestion are between the lines.",
    )  # fmt: skip

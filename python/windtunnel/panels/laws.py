"""What was in flight, and what near controllers would have had after the same acknowledgements and losses."""

from __future__ import annotations

from typing import Final

import numpy as np

from windtunnel.panels.groups import NAMED
from windtunnel.panels.model import Choice, Look, Panel, Series
from windtunnel.panels.run import Run

_FLIGHT: Final = Look("blue", "circle")
_LAW: Final = Look("orange", "triangle", (6, 2))


def panel(run: Run) -> Panel | None:
    """The panel, with a choice for each of the first flows and each of its nearest controllers; None for all but
    captures and logs with packets.
    """
    table = run.recorded.get("laws")
    if table is None:
        return None
    choices = []
    for flow in np.unique(table["flow"])[:NAMED].tolist():
        for number, name in enumerate(run.records[flow]["laws"], 1):
            series = []
            for law, label, look in ((0, "in flight", _FLIGHT), (number, f"as {name} would", _LAW)):
                rows = (table["flow"] == flow) & (table["law"] == law)
                series.append(Series(f"law {law}", label, look, table["time_s"][rows], table["segments"][rows]))
            choices.append(Choice(f"{run.flow(flow)}, {name}", "segments", tuple(series)))
    return Panel(
        "laws", "In Flight, and What a Near Controller Would Have Had", "segments", choices[0].series,
        short_title="In Flight", quantity="In flight", choices=tuple(choices), shown=False, markers="none",
        note="The controller takes over the flight where its line begins, at the start of a stretch of up to 16 round "
        "trips without congestion. Answers to congestion are between the lines.",
    )  # fmt: skip

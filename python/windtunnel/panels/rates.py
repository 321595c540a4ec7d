"""Rates as the sender sees them: at which it paces, and at which its data are delivered."""

from __future__ import annotations

from functools import partial

import numpy as np

from windtunnel.panels.model import Choice, Panel
from windtunnel.panels.of_flows import flow_series, group_choices
from windtunnel.panels.run import Run
from windtunnel.panels.tables import split
from windtunnel.panels.units import RATES, greatest, suited

TITLE = "Pacing and Delivery Rate"
_COLUMNS = (("delivery rate", "delivery_rate_mbps"), ("pacing rate", "pacing_rate_mbps"))


def panel(run: Run) -> Panel | None:
    """The panel: the sender's latest sample at the end of each interval; None where no sender has one."""
    choices: list[Choice] = []
    for name, column in _COLUMNS:
        if run.grouped:
            offered = group_choices(run, *run.matrix(column), partial(suited, RATES), "hold")
            choices += [Choice(f"{name}, {one.name}", one.unit, one.series) for one in offered]
        elif found := [s for s in split(run.intervals, "flow", column) if np.isfinite(s.y).any()]:
            unit, factor = suited(RATES, greatest(s.y for s in found))
            choices.append(Choice(name, unit, flow_series(run, found, factor, "hold")))
    if not choices:
        return None
    return Panel(
        "rates", TITLE, choices[0].unit, choices[0].series, choices=tuple(choices), quantity="Rate", shown=False
    )

"""Bytes in flight: sent, and neither acknowledged nor taken for lost."""

from __future__ import annotations

from functools import partial

import numpy as np

from windtunnel.panels.gaps import start_of, unknown_before
from windtunnel.panels.model import Panel
from windtunnel.panels.of_flows import flow_series, group_choices
from windtunnel.panels.run import Run
from windtunnel.panels.tables import Samples, split
from windtunnel.panels.units import SIZES, greatest, suited

TITLE = "Bytes in Flight"


def panel(run: Run) -> Panel | None:
    """The panel: the last value of each interval; None where no flow tells it."""
    if run.grouped:
        time, values = run.matrix("in_flight_bytes")
        if not np.any(values > 0):
            return None
        choices = group_choices(run, time, values, partial(suited, SIZES), "hold", summed=True)
        return Panel("in_flight", TITLE, choices[0].unit, choices[0].series, choices=choices, shown=False)
    found = [
        Samples(s.index, s.t, unknown_before(s.t, s.y, start_of(run.record(s.index))))
        for s in split(run.intervals, "flow", "in_flight_bytes")
        if np.any(s.y > 0)
    ]
    if not found:
        return None
    unit, factor = suited(SIZES, greatest(s.y for s in found))
    return Panel("in_flight", TITLE, unit, flow_series(run, found, factor, "hold"), quantity="In flight", shown=False)

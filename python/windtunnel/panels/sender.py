"""What a sender tells: its bytes in flight, the rate at which it paces, and that at which its data are delivered."""

from __future__ import annotations

from functools import partial

import numpy as np

from windtunnel.panels.gaps import start_of, unknown_before
from windtunnel.panels.model import Choice, Panel
from windtunnel.panels.of_flows import flow_series, group_choices
from windtunnel.panels.run import Run
from windtunnel.panels.tables import Samples, split
from windtunnel.panels.units import RATES, SIZES, greatest, suited

_in_flight = partial(Panel, "in_flight", "Bytes in Flight", sawtooth=True, shown=False)

_COLUMNS = (("delivery rate", "delivery_rate_mbps"), ("pacing rate", "pacing_rate_mbps"))


def in_flight(run: Run) -> Panel | None:
    """The panel of what is sent and neither acknowledged nor taken for lost: the last value of each interval.

    None where no flow tells it.
    """
    if run.grouped:
        time, values = run.matrix("in_flight_bytes")
        if not np.any(values > 0):
            return None
        choices = group_choices(run, time, values, partial(suited, SIZES), "hold", summed=True)
        return _in_flight(choices[0].unit, choices[0].series, choices=choices)
    samples = [
        Samples(s.index, s.t, unknown_before(s.t, s.y, start_of(run.record(s.index))))
        for s in split(run.intervals, "flow", "in_flight_bytes")
        if np.any(s.y > 0)
    ]
    if not samples:
        return None
    unit, factor = suited(SIZES, greatest(s.y for s in samples))
    return _in_flight(unit, flow_series(run, samples, factor, "hold"), quantity="In flight")


def rates(run: Run) -> Panel | None:
    """The panel of the rates: the sender's latest sample at the end of each interval; None where no sender has one."""
    choices: list[Choice] = []
    for name, column in _COLUMNS:
        if run.grouped:
            offered = group_choices(run, *run.matrix(column), partial(suited, RATES), "hold")
            choices += [Choice(f"{name}, {one.name}", one.unit, one.series) for one in offered]
        elif samples := [s for s in split(run.intervals, "flow", column) if np.isfinite(s.y).any()]:
            unit, factor = suited(RATES, greatest(s.y for s in samples))
            choices.append(Choice(name, unit, flow_series(run, samples, factor, "hold")))
    if not choices:
        return None
    return Panel(
        "rates",
        "Pacing and Delivery Rate",
        choices[0].unit,
        choices[0].series,
        choices=tuple(choices),
        quantity="Rate",
        shown=False,
    )

"""IP throughput: what reached the receivers, of each flow and of all."""

from __future__ import annotations

from functools import partial

import numpy as np

from windtunnel.panels.gaps import since_start, start_of
from windtunnel.panels.means import AVERAGES, usual_average
from windtunnel.panels.model import Panel
from windtunnel.panels.of_flows import flow_series, group_choices
from windtunnel.panels.run import Run
from windtunnel.panels.tables import Samples, Table, Tables, rows, split
from windtunnel.panels.units import RATES, greatest, suited

QUANTITY = "Throughput"
TITLE = "IP Throughput"
_EMPTY = "No packet reached a receiver."
# A flow was silent at the end if its last sample is this many times farther from it than samples are from each other.
_SILENT = 8


def samples(tables: Tables, *, extremes: bool = True) -> list[Samples]:
    """Throughput in Mbit/s of all flows (-1, where there are several) and of each; means since the sample before."""
    if points := rows(tables, "throughput_points", extremes=extremes):
        found = split(points, "flow", "mbps")
    else:
        found = split(rows(tables, "flows"), "flow", "throughput_mbps")
        if len(found) > 1:
            found.insert(0, _sum(found))
    several = sum(s.index >= 0 for s in found) > 1
    return [s for s in found if s.index >= 0 or several]


def of_flows(run: Run) -> list[Samples]:
    """The same from the start of each flow to the end of the run."""
    several = len(run.flows) > 1
    found = (s for s in samples(run.tables) if s.index >= 0 or several)
    return [_alive(run, _to_the_end(run.intervals, s)) for s in found]


def panel(run: Run) -> Panel:
    """The panel."""
    found = samples(run.tables)
    if greatest(s.y for s in found) <= 0:
        return Panel("throughput", TITLE, "Mbit/s", empty=_EMPTY)
    if run.grouped and run.intervals:
        return _of_groups(run)
    found = of_flows(run)
    unit, factor = suited(RATES, greatest(s.y for s in found))
    spacing = max((float(np.median(np.diff(s.t))) for s in found if len(s.t) > 2), default=0.0)
    return Panel(
        "throughput",
        TITLE,
        unit,
        flow_series(run, found, factor, "mean"),
        quantity=QUANTITY,
        averages=AVERAGES,
        average=usual_average(run.duration_s, spacing),
    )


def _of_groups(run: Run) -> Panel:
    time, values = run.matrix("throughput_mbps")
    for flow in range(len(run.flows)):
        start = start_of(run.record(flow))
        if start is not None:
            values[time <= start, flow] = np.nan
    choices = group_choices(run, time, values, partial(suited, RATES), "mean", summed=True)
    spacing = float(time[0])
    return Panel(
        "throughput", TITLE, choices[0].unit, choices[0].series, choices=choices, quantity=QUANTITY, averages=AVERAGES,
        average=usual_average(run.duration_s, spacing),
    )  # fmt: skip


def _alive(run: Run, s: Samples) -> Samples:
    """Without the time before the flow started."""
    if s.index < 0:
        return s
    return Samples(s.index, *since_start(s.t, s.y, start_of(run.record(s.index))))


def _to_the_end(intervals: Table, s: Samples) -> Samples:
    """With a last sample for what arrived after the last point: a flow may have fallen silent."""
    if not intervals or len(s.t) < 1:
        return s
    length, end = float(intervals["time_s"].min()), float(intervals["time_s"].max())
    if end - s.t[-1] <= _SILENT * np.median(np.diff(s.t, prepend=0.0)):
        return s
    # Only the intervals that started after it; times are sums of lengths, and not exact.
    after = intervals["time_s"] - length > s.t[-1] - 1e-9
    mine = after & ((intervals["flow"] == s.index) | (s.index < 0))
    times = np.unique(intervals["time_s"][mine])
    if not len(times) or times[-1] - s.t[-1] <= _SILENT * np.median(np.diff(s.t, prepend=0.0)):
        return s
    # The intervals start a little after the last point: what they hold counts for the time since it.
    held = float(np.sum(intervals["throughput_mbps"][mine])) * length
    return Samples(s.index, np.append(s.t, times[-1]), np.append(s.y, held / (times[-1] - s.t[-1])))


def _sum(found: list[Samples]) -> Samples:
    """The sum of interval series that share their times."""
    t = np.unique(np.concatenate([s.t for s in found]))
    total = np.zeros(len(t))
    for s in found:
        total[np.searchsorted(t, s.t)] += np.nan_to_num(s.y)
    return Samples(-1, t, total)

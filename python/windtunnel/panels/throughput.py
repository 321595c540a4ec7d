"""IP throughput: what reached the receivers, of each flow and of all."""

from __future__ import annotations

from functools import cached_property, partial
from typing import Any

import numpy as np

from windtunnel.distinct import distinct
from windtunnel.panels.gaps import since_start, start_of
from windtunnel.panels.means import AVERAGES, usual_average
from windtunnel.panels.model import Array, Index, Panel
from windtunnel.panels.of_flows import flow_series, group_choices
from windtunnel.panels.run import Run
from windtunnel.panels.tables import Samples, Tables, rows, split
from windtunnel.panels.units import RATES, greatest, suited

QUANTITY = "Throughput"
TITLE = "IP Throughput"
_EMPTY = "No packet reached a receiver."
# A flow was silent at the end if its last sample is this many times farther from it than samples are from each other.
_SILENT = 8


def samples(tables: Tables, *, extremes: bool = True) -> list[Samples]:
    """Throughput in Mbit/s of all flows (-1, where there are several) and of each; means since the sample before."""
    if points := rows(tables, "throughput_points", extremes=extremes):
        series = split(points, "flow", "mbps")
    else:
        series = split(rows(tables, "flows"), "flow", "throughput_mbps")
        if len(series) > 1:
            series.insert(0, _sum(series))
    several = sum(s.index >= 0 for s in series) > 1
    return [s for s in series if s.index >= 0 or several]


def of_flows(run: Run) -> list[Samples]:
    """The same from the start of each flow to the end of the run; all flows together only where they share a link."""
    several, ends = flows_share(run), Ends(run)
    return [_alive(run, ends.reached(s)) for s in samples(run.tables) if s.index >= 0 or several]


def flows_share(run: Run) -> bool:
    """Whether there are several flows, and all of them share a link."""
    return len(run.flows) > 1 and run.is_shared(range(len(run.flows)))


def panel(run: Run) -> Panel:
    """The panel."""
    if not _any(run):
        return Panel("throughput", TITLE, "Mbit/s", empty=run.labels.get("nothing arrived", _EMPTY))
    if run.grouped and run.intervals:
        return _of_groups(run)
    flows = of_flows(run)
    unit, factor = suited(RATES, greatest(s.y for s in flows))
    spacing = max((_median(np.diff(s.t)) for s in flows if len(s.t) > 2), default=0.0)
    return Panel(
        "throughput",
        TITLE,
        unit,
        flow_series(run, flows, factor, "mean"),
        quantity=QUANTITY,
        averages=AVERAGES,
        average=usual_average(run.duration_s, spacing),
    )


def _any(run: Run) -> bool:
    """Whether a packet reached a receiver."""
    points = rows(run.tables, "throughput_points")
    rates = points.get("mbps", ()) if points else run.intervals.get("throughput_mbps", ())
    return greatest([rates]) > 0


def _of_groups(run: Run) -> Panel:
    time, values = run.matrix("throughput_mbps")
    starts = np.array([-np.inf if start is None else start for start in map(start_of, run.records)])
    values[:, : len(starts)][time[:, np.newaxis] <= starts] = np.nan
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


def _median(values: Array) -> float:
    """The median. ``np.median`` takes ten times as long for a few hundred, and loads masked arrays."""
    ordered = np.sort(values)
    return float((ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2)


class Ends:
    """What arrived after the last points of flows, which may have fallen silent."""

    def __init__(self, run: Run) -> None:
        self._run = run
        time = run.intervals.get("time_s", np.empty(0))
        self._length, self._end = (float(time.min()), float(time.max())) if len(time) else (0.0, 0.0)

    def is_silent(self, last: Any, usual: Any) -> Any:
        """Whether a flow may have fallen silent after its last sample; ``usual`` is the time between two of them."""
        return self._end - last > _SILENT * usual

    def reached(self, s: Samples) -> Samples:
        """The samples, with a last one for what arrived after them."""
        if not self._run.intervals or len(s.t) < 1:
            return s
        usual = _median(np.diff(s.t, prepend=0.0))
        if not self.is_silent(s.t[-1], usual):
            return s
        time, rate = self._intervals(s.index)
        # Only the intervals that started after it; times are sums of lengths, and not exact.
        after = time - self._length > s.t[-1] - 1e-9
        last = float(time[after].max(initial=-np.inf))
        if last - s.t[-1] <= _SILENT * usual:
            return s
        # The intervals start a little after the last point: what they hold counts for the time since it.
        held = float(np.sum(rate[after])) * self._length
        return Samples(s.index, np.append(s.t, last), np.append(s.y, held / (last - s.t[-1])))

    def _intervals(self, flow: int) -> tuple[Array, Array]:
        """The times and rates of a flow's intervals, in their order; of all flows for -1."""
        table = self._run.intervals
        if flow < 0:
            return table["time_s"], table["throughput_mbps"]
        mine = self._rows[slice(*np.searchsorted(self._flows, [flow, flow + 1]))]
        return table["time_s"][mine], table["throughput_mbps"][mine]

    @cached_property
    def _rows(self) -> Index:
        """The rows of the intervals, flow by flow."""
        return np.argsort(self._run.intervals["flow"], kind="stable")

    @cached_property
    def _flows(self) -> Index:
        """The flow of each of these rows."""
        return np.asarray(self._run.intervals["flow"])[self._rows]


def _sum(series: list[Samples]) -> Samples:
    """The sum of interval series that share their times."""
    t = distinct(np.concatenate([s.t for s in series]))
    total = np.zeros(len(t))
    for s in series:
        total[np.searchsorted(t, s.t)] += np.nan_to_num(s.y)
    return Samples(-1, t, total)

"""Fairness: Jain's index of the rates of the flows that are active, over time; and the phase graph of two flows.

In the phase graph, equal shares are on the diagonal; where both fill the link, they are on the line from one axis to
the other (Chiu and Jain, "Analysis of the increase and decrease algorithms for congestion avoidance", 1989).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from windtunnel.distinct import distinct
from windtunnel.kinds import has_trait
from windtunnel.metrics import jain_index
from windtunnel.panels.looks import TOTAL, flow_look
from windtunnel.panels.means import USUAL_S, average, average_columns
from windtunnel.panels.model import Abscissa, Array, Choice, Panel, Series
from windtunnel.panels.run import Run
from windtunnel.panels.units import RATES, SIZES, Unit, greatest, suited

TITLE = "Fairness"
# Pairs of more flows than this would be a list that is too long to read.
_FLOWS = 4


def panel(run: Run) -> Panel | None:
    """The panel; None where fewer than two flows send data of their own accord."""
    flows = [i for i, one in enumerate(run.records) if has_trait(one.get("application") or "bulk", "elastic")]
    time, values = run.matrix("throughput_mbps")
    if len(flows) < 2 or not len(time):
        return None
    step = USUAL_S if run.duration_s >= 5 * USUAL_S else 0.0
    at, means = average_columns(time, np.nan_to_num(values[:, flows]), step)
    rates = _alive(run, flows, at, means)
    column = {flow: position for position, flow in enumerate(flows)}
    series = [Series("all", "all flows", TOTAL, at, _jain(rates), step="mean")]
    for index, group in enumerate(run.groups):
        mine = [column[flow] for flow in group.members if flow in column]
        if group.several and len(run.groups) > 1 and len(mine) > 1:
            series.append(
                Series(f"group{index}", group.label, flow_look(index), at, _jain(rates[:, mine]), step="mean")
            )
    over = f"{1e3 * step:g} ms" if step else "an interval"
    note = f"Jain's index of throughputs over {over}, of the flows that are active: 1 if all are equal."
    return Panel(
        "fairness",
        TITLE,
        "",
        tuple(series),
        quantity="Jain's index",
        shown=False,
        note=note,
    )


def _alive(run: Run, flows: Sequence[int], time: Array, values: Array) -> Array:
    """The rates, a column for each flow; NaN before its first packet and after its last."""
    lives = np.array([_life(run.record(flow)) for flow in flows])
    at = time[:, np.newaxis]
    return np.where((at >= lives[:, 0]) & (at <= lives[:, 1]), values, np.nan)


def _life(record: Mapping[str, Any]) -> tuple[float, float]:
    if "first_packet_s" not in record or "last_packet_s" not in record:
        return -np.inf, np.inf
    first, last = record["first_packet_s"], record["last_packet_s"]
    return (np.nan, np.nan) if first is None or last is None else (first, last)


def _jain(rates: Array) -> Array:
    """The index of each row over the flows that are active in it; NaN where fewer than two are."""
    active = np.isfinite(rates)
    out = np.full(len(rates), np.nan)
    counts = active.sum(axis=1)
    for count in distinct(counts):
        mine = np.flatnonzero(counts == count)
        if count >= 2:
            out[mine] = jain_index(rates[mine][active[mine]].reshape(len(mine), count))
    return out


def phase(run: Run) -> Panel | None:
    """The phase graph of two flows: the rate, or the window, of one over that of the other.

    None where fewer than two flows have a window.
    """
    time, windows = run.matrix("cwnd_bytes")
    flows = np.flatnonzero((windows > 0).any(axis=0))[:_FLOWS].tolist()
    if len(flows) < 2:
        return None
    _, rates = run.matrix("throughput_mbps")
    step = USUAL_S if run.duration_s >= 5 * USUAL_S else 0.0
    choices = []
    for pair in combinations(flows, 2):
        choices.append(_choice(run, pair, "throughput", time, rates[:, pair], step, RATES))
        choices.append(_choice(run, pair, "cwnd", time, windows[:, pair], step, SIZES))
    first = choices[0]
    return Panel(
        "phase", "Phase Graph", first.unit, first.series, quantity=run.flow(flows[1]), kind="path", x=first.x,
        choices=tuple(choices), shown=False,
        note="The abscissa is the first flow, the ordinate the second; the circle is the start, the square the end.",
    )  # fmt: skip


def _choice(
    run: Run, pair: tuple[int, int], what: str, time: Array, values: Array, step: float, units: tuple[Unit, ...]
) -> Choice:
    unit, factor = suited(units, greatest([values]))
    columns = [
        average(Series("", "", TOTAL, time, np.nan_to_num(values[:, i]), step="mean"), step).y / factor for i in (0, 1)
    ]
    one, other = (run.flow(flow) for flow in pair)
    series = Series(f"pair{pair[0]}-{pair[1]}", f"{other} over {one}", flow_look(0), columns[0], columns[1])
    return Choice(f"{what}: {one}, {other}", unit, (series,), x=Abscissa(f"{one}: {what}", unit, time=False))

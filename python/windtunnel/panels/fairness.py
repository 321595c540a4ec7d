"""Fairness over time: Jain's index of the rates of the flows that are active."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from windtunnel.metrics import jain_index
from windtunnel.panels.looks import TOTAL, flow_look
from windtunnel.panels.means import USUAL_S, average_columns
from windtunnel.panels.model import Array, Panel, Series
from windtunnel.panels.run import Run

TITLE = "Fairness"


def panel(run: Run) -> Panel | None:
    """The panel; None where fewer than two flows send data of their own accord."""
    flows = [i for i, one in enumerate(run.records) if one.get("application") in (None, "bulk", "transfer", "abr")]
    time, values = run.matrix("throughput_mbps")
    if len(flows) < 2 or not len(time):
        return None
    step = USUAL_S if run.duration_s >= 5 * USUAL_S else 0.0
    at, means = average_columns(time, np.nan_to_num(values[:, flows]), step)
    rates = _alive(run, flows, at, means)
    column = {flow: place for place, flow in enumerate(flows)}
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
    for count in np.unique(counts):
        mine = np.flatnonzero(counts == count)
        if count >= 2:
            out[mine] = jain_index(rates[mine][active[mine]].reshape(len(mine), count))
    return out

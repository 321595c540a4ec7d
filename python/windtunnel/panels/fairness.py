"""Fairness over time: Jain's index of the rates of the flows that are active."""

from __future__ import annotations

import numpy as np

from windtunnel.metrics import jain_index
from windtunnel.panels.gaps import while_alive
from windtunnel.panels.looks import TOTAL, flow_look
from windtunnel.panels.means import USUAL_S, average
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
    means = [_mean(time, values[:, flow], step) for flow in flows]
    at = means[0][0]
    rates = np.column_stack([_alive(run, flow, at, y) for flow, (_, y) in zip(flows, means, strict=True)])
    series = [Series("all", "all flows", TOTAL, at, _jain(rates), step="mean")]
    for index, group in enumerate(run.groups):
        mine = [flows.index(flow) for flow in group.members if flow in flows]
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


def _mean(time: Array, values: Array, step: float) -> tuple[Array, Array]:
    mean = average(Series("", "", TOTAL, time, np.nan_to_num(values), step="mean"), step)
    return mean.x, mean.y


def _alive(run: Run, flow: int, time: Array, values: Array) -> Array:
    record = run.record(flow)
    if "first_packet_s" not in record or "last_packet_s" not in record:
        return values
    return while_alive(time, values, record)


def _jain(rates: Array) -> Array:
    """The index of each row over the flows that are active in it; NaN where fewer than two are."""
    active = np.isfinite(rates)
    out = np.full(len(rates), np.nan)
    for count in np.unique(active.sum(axis=1)):
        mine = np.flatnonzero(active.sum(axis=1) == count)
        if count >= 2:
            out[mine] = jain_index(rates[mine][active[mine]].reshape(len(mine), count))
    return out

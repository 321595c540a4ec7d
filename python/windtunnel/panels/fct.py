"""Completion times of transfers, and their slowdown: the time over that on an empty path, by their sizes."""

from __future__ import annotations

import numpy as np

from windtunnel.panels.looks import flow_look
from windtunnel.panels.model import Abscissa, Array, Choice, Panel, Series
from windtunnel.panels.run import Run
from windtunnel.panels.tables import Table, rows

TITLE = "Completion of Transfers"
BY_SIZE = Abscissa("Size", "kB", time=False, log=True)


def panel(run: Run) -> Panel | None:
    """The panel: shown where there are transfers, None where none was completed."""
    table = rows(run.tables, "transfers")
    if not table:
        return None
    size = np.asarray(table["size_bytes"], dtype=np.float64) / 1e3
    time, slowdown = (np.asarray(table[name], dtype=np.float64) for name in ("time_ms", "slowdown"))
    choices = (
        Choice("completion time", "ms", _series(run, table, size, time), log=True, x=BY_SIZE),
        Choice("slowdown", "", _series(run, table, size, slowdown), log=True, x=BY_SIZE),
        Choice("completion time over the run", "ms", _series(run, table, _ends(table), time), log=True),
        Choice("slowdown over the run", "", _series(run, table, _ends(table), slowdown), log=True),
    )
    return Panel(
        "fct", TITLE, "ms", choices[0].series, quantity="Completion time", kind="points", x=BY_SIZE, log=True,
        choices=choices, note="Slowdown: the time over that of the same transfer on an empty path.",
    )  # fmt: skip


def _ends(table: Table) -> Array:
    return np.asarray(table["end_s"], dtype=np.float64)


def _series(run: Run, table: Table, x: Array, y: Array) -> tuple[Series, ...]:
    """The transfers of each flow or, where flows are many, of each group."""
    flow = np.asarray(table["flow"], dtype=np.int64)
    out = []
    for index, group in enumerate(run.groups):
        mine = np.flatnonzero(np.isin(flow, group.members) & np.isfinite(y) & (y > 0))
        if len(mine):
            mine = mine[np.argsort(x[mine], kind="stable")]
            first = group.members[0]
            out.append(
                Series(f"flow{first}", group.label, flow_look(index), x[mine], y[mine], flow=first, who=flow[mine])
            )
    return tuple(out)

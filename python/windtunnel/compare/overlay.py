"""One page with the panels of all runs: their flows and queues as those of one, with the names of the runs before
theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from windtunnel.atomic import staged_file
from windtunnel.compare.sides import RunSide
from windtunnel.report.run_page import write_report
from windtunnel.result import RunResult
from windtunnel.table import Table

#: The tables that panels read; of the others, the columns depend on the algorithms.
_TABLES = (
    "flows",
    "queues",
    "throughput_points",
    "cwnd_points",
    "sojourn_points",
    "mark_points",
    "classes",
    "transfers",
)
#: Panels in which each flow and queue stands for itself. How equally flows share says nothing across runs.
_PANELS = ("throughput", "sojourn", "cwnd", "marks", "rtt", "fct", "in_flight", "cdf")


def write(path: Path, sides: Sequence[RunSide], findings: Sequence[str], *, force: bool) -> None:
    """Write the page. Raises InputError."""
    title = " and ".join(side.name for side in sides)
    digests = [f"{side.name}: digest {side.result.digest}" for side in sides]
    with staged_file(path, force=force) as stage:
        write_report(_together(sides), stage, title=title, facts=digests, notes=findings, only=_PANELS)


def _together(sides: Sequence[RunSide]) -> RunResult:
    flows: list[dict[str, Any]] = []
    queues: list[dict[str, Any]] = []
    parts: dict[str, list[Table]] = {}
    for side in sides:
        for name in _TABLES:
            if name in side.result.tables:
                parts.setdefault(name, []).append(_moved(side.result.tables[name], len(flows), len(queues)))
        flows += [{**flow, "name": f"{side.name}: {flow['name']}", "run": side.name} for flow in side.result.flows]
        queues += [{**queue, "name": f"{side.name}: {queue['name']}"} for queue in side.result.queues]
    duration = max(float(side.result.summary["duration_s"]) for side in sides)
    tables = {name: _joined(tables) for name, tables in parts.items()}
    return RunResult({"duration_s": duration, "flows": flows, "queues": queues}, tables, {})


def _moved(table: Table, flows: int, queues: int) -> Table:
    """The table with the numbers of flows and queues that they have together; sums over all flows are left out."""
    keep = np.ones(table.rows, dtype=bool)
    if "flow" in table and "queue" not in table:
        keep = np.asarray(table["flow"]).astype(np.int64) >= 0
    columns = {name: np.asarray(column)[keep] for name, column in table.items()}
    for name, offset in (("flow", flows), ("queue", queues)):
        if name in columns:
            columns[name] = (columns[name].astype(np.int64) + offset).astype(columns[name].dtype)
    return Table(columns)


def _joined(tables: Sequence[Table]) -> Table:
    names = [name for name in tables[0] if all(name in table for table in tables)]
    return Table({name: np.concatenate([table[name] for table in tables]) for name in names})

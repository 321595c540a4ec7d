"""Thins a run for a suite's interactive reports: there are dozens of them, with up to 10^7 points each."""

from __future__ import annotations

import dataclasses

import numpy as np

from windtunnel.figures.thinning import thin_cloud
from windtunnel.result import RunResult
from windtunnel.table import Table

#: The tables of single events: the columns that tell series apart, and the value.
SERIES = {
    "throughput_points": ("flow", "mbps"),
    "cwnd_points": ("flow", "bytes"),
    "sojourn_points": ("empty", "ms"),
    "mark_points": ("kind", "hz"),
}

#: Approximate number of points kept per table.
LIMIT = 30_000

#: Cells of a panel on a large screen: each keeps one point of a series, and each column also keeps its extremes.
CELLS = (2000, 400)


def thinned(run: RunResult) -> RunResult:
    """The run with about :data:`LIMIT` points in each table of single events; every column keeps its extremes."""
    tables = dict(run.tables)
    for name, (key, value) in SERIES.items():
        if name in tables and len(tables[name][key]) > LIMIT:
            tables[name] = _thin(tables[name], key, value)
    return dataclasses.replace(run, tables=tables)


def _thin(table: Table, key: str, value: str) -> Table:
    series = np.asarray(table[key])
    names = np.unique(series)
    time, height = (np.asarray(table[column], dtype=np.float64) for column in ("time_s", value))
    kept = []
    for name in names:
        mine = np.flatnonzero((series == name) & np.isfinite(height))
        kept.append(mine[thin_cloud(time[mine], height[mine], LIMIT // len(names), CELLS)])
    index = np.sort(np.concatenate(kept))
    return Table({column: np.asarray(values)[index] for column, values in table.items()})

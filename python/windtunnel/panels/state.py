"""The state of controllers and of queues: one of its numbers at a time, which the reader chooses."""

from __future__ import annotations

import numpy as np

from windtunnel.panels.groups import named
from windtunnel.panels.looks import flow_look, queue_look
from windtunnel.panels.model import Choice, Panel, Series
from windtunnel.panels.run import Run
from windtunnel.panels.tables import Samples, Table, Tables, rows, split
from windtunnel.state_tables import STATE_TABLES, state_numbers, state_unit

TITLES = {"cc": "Controller State", "aqm": "Queue State", "qdisc": "Queue Discipline State"}


def samples(tables: Tables, table: str, number: str) -> list[Samples]:
    """A number of each flow or queue that has it; it holds until the next sample."""
    series = split(rows(tables, table), STATE_TABLES[table], number)
    return [s for s in series if np.isfinite(s.y).any()]


def panels(run: Run) -> list[Panel]:
    """A panel for each table of state that has values."""
    tables = {table: _rows(run, table) for table in STATE_TABLES}
    return [_panel(run, tables, table, numbers) for table in tables if (numbers := state_numbers(tables, table))]


def panel(run: Run, table: str, number: str) -> Panel:
    """The panel of one number."""
    title = f"{TITLES[table]}: {number}"
    series = _series(run, {table: _rows(run, table)}, table, number)
    return Panel(f"{table}.{number}", title, state_unit(number), series, quantity=number)


def _panel(run: Run, tables: Tables, table: str, numbers: list[str]) -> Panel:
    choices = tuple(
        Choice(number, state_unit(number), series)
        for number in numbers
        if (series := _series(run, tables, table, number))
    )
    note = ""
    if table == "cc" and run.grouped:
        note = "A few flows of each group, from the least to the greatest mean window."
    return Panel(table, TITLES[table], choices[0].unit, choices[0].series, choices=choices, shown=False, note=note)


def _series(run: Run, tables: Tables, table: str, number: str) -> tuple[Series, ...]:
    out = []
    of_flow = STATE_TABLES[table] == "flow"
    for order, s in enumerate(samples(tables, table, number)):
        look = queue_look(s.index) if not of_flow else flow_look(order) if run.grouped else run.look(s.index)
        key, name = (f"flow{s.index}", run.flow(s.index)) if of_flow else (f"queue{s.index}", run.queue(s.index))
        out.append(Series(key, name, look, s.t, s.y, flow=s.index if of_flow else None, step="hold"))
    return tuple(out)


def _rows(run: Run, table: str) -> Table:
    """The rows of a table; where flows are grouped, those of a few flows of each group."""
    columns = rows(run.tables, table)
    if not columns or STATE_TABLES[table] != "flow" or not run.grouped:
        return columns
    _, windows = run.matrix("cwnd_bytes")
    means = np.nan_to_num(windows).mean(axis=0) if len(windows) else np.zeros(len(run.flows))
    few = [flow for group in run.groups for flow in named(group, means[list(group.members)])]
    keep = np.isin(columns["flow"], few)
    return {name: np.asarray(column)[keep] for name, column in columns.items()}

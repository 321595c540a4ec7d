"""The state of controllers and of queues: one of its numbers at a time, which the reader chooses."""

from __future__ import annotations

import numpy as np

from windtunnel.panels.groups import named
from windtunnel.panels.looks import flow_look, queue_look
from windtunnel.panels.model import Choice, Panel, Series
from windtunnel.panels.run import Run
from windtunnel.panels.tables import Samples, Tables, rows, split
from windtunnel.state_tables import STATE_TABLES, state_numbers, state_unit

TITLES = {"cc": "Controller State", "aqm": "Queue State", "qdisc": "Queue Discipline State"}


def samples(tables: Tables, table: str, number: str) -> list[Samples]:
    """A number of each flow or queue that has it; it holds until the next sample."""
    found = split(rows(tables, table), STATE_TABLES[table], number)
    return [s for s in found if np.isfinite(s.y).any()]


def panels(run: Run) -> list[Panel]:
    """A panel for each table of state that has values."""
    return [_panel(run, table, numbers) for table in STATE_TABLES if (numbers := state_numbers(run.tables, table))]


def panel(run: Run, table: str, number: str) -> Panel:
    """The panel of one number."""
    title = f"{TITLES[table]}: {number}"
    return Panel(f"{table}.{number}", title, state_unit(number), _series(run, table, number), quantity=number)


def _panel(run: Run, table: str, numbers: list[str]) -> Panel:
    choices = tuple(
        Choice(number, state_unit(number), series) for number in numbers if (series := _series(run, table, number))
    )
    note = ""
    if table == "cc" and run.grouped:
        note = f"A few flows of each group, from the least to the greatest {numbers[0]}."
    return Panel(table, TITLES[table], choices[0].unit, choices[0].series, choices=choices, shown=False, note=note)


def _series(run: Run, table: str, number: str) -> tuple[Series, ...]:
    found = samples(run.tables, table, number)
    if table == "cc" and run.grouped:
        found = _few(run, found)
    out = []
    for order, s in enumerate(found):
        of_flow = STATE_TABLES[table] == "flow"
        look = queue_look(s.index) if not of_flow else flow_look(order) if run.grouped else run.look(s.index)
        key, name = (f"flow{s.index}", run.flow(s.index)) if of_flow else (f"queue{s.index}", run.queue(s.index))
        out.append(Series(key, name, look, s.t, s.y, flow=s.index if of_flow else None, step="hold"))
    return tuple(out)


def _few(run: Run, found: list[Samples]) -> list[Samples]:
    """A few flows of each group."""
    means = np.full(max(len(run.flows), 1), np.nan)
    for s in found:
        means[s.index] = np.nanmean(s.y)
    kept = {flow for group in run.groups for flow in named(group, means[list(group.members)])}
    return [s for s in found if s.index in kept]

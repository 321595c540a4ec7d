"""Panels of the state of controllers and of queues: one of its numbers at a time, which the reader chooses."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from windtunnel.report.columns import Columns
from windtunnel.report.looks import flow_looks, queue_look
from windtunnel.report.series import Tables, grouped, look_of, name_of, series_of
from windtunnel.state_tables import STATE_TABLES, state_numbers, state_unit

_TITLES = {"cc": "Controller State", "aqm": "Queue State", "qdisc": "Queue Discipline State"}
# The number of values in a panel, over all of its numbers: it keeps their share of the page below 3 MB. Where there are
# more, rows of each flow or queue are left out at equal distances.
_MOST_VALUES = 400_000


def state_panels(tables: Tables, flows: Sequence[str], queues: Sequence[str], columns: Columns) -> list[dict[str, Any]]:
    """A panel for each table of state that has values; their data go into ``columns``."""
    found = [(table, state_numbers(tables, table)) for table in STATE_TABLES]
    return [_panel(table, numbers, tables, (flows, queues), columns) for table, numbers in found if numbers]


def _panel(
    table: str,
    numbers: Sequence[str],
    tables: Tables,
    names: tuple[Sequence[str], Sequence[str]],
    columns: Columns,
) -> dict[str, Any]:
    subject = STATE_TABLES[table]
    flows, queues = names
    looks = flow_looks(flows)
    every = -(-len(tables[table]["time_s"]) * len(numbers) // _MOST_VALUES)
    choices: dict[str, list[dict[str, Any]]] = {number: [] for number in numbers}
    for (index,), rows in grouped(tables[table], [subject]):
        time = rows["time_s"][::every]
        t = columns.add(time, "f64")
        flow = index if subject == "flow" else None
        look = look_of(looks, index) if subject == "flow" else queue_look(index)
        label = name_of(flows if subject == "flow" else queues, index, subject)
        for number in numbers:
            values = np.asarray(rows[number], dtype=np.float64)[::every]
            if np.isfinite(values).any():
                data = {"t": t, "v": columns.add(values, "f32")}
                choices[number].append(series_of(f"{subject}{index}", label, look, data, flow, hold=True))
    offered = [
        {"name": number, "unit": state_unit(number), "series": series} for number, series in choices.items() if series
    ]
    return {
        "id": table,
        "title": _TITLES[table],
        "unit": offered[0]["unit"],
        "kind": "line",
        "log": False,
        "flag": None,
        "series": offered[0]["series"],
        "thresholds": [],
        "ticks": [],
        "choices": offered,
        "empty": "",
    }

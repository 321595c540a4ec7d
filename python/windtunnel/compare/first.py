"""The first event in which two runs differ: a packet that leaves a queue at another time, or another packet.

Where the runs did not record each departure, the beginnings of both are run again: short ones first, so that a run of
an hour whose difference is in its first second takes a second.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from windtunnel import _core
from windtunnel.compare.sides import RunSide
from windtunnel.result import RunResult

_TABLE = "dequeue_events"
_COLUMNS = ("t_ns", "queue", "flow", "seq", "size", "mark")
_MARKS = ("", ", marked SCE", ", marked CE", ", dropped")
#: The first beginning, and by how much the next ones are longer.
_FIRST_S, _LONGER = 1.0, 8.0


@dataclass(frozen=True)
class First:
    """The first event that differs, in either run in words; ``time_s`` is when the earlier one is."""

    time_s: float
    baseline: str
    candidate: str


def first_difference(baseline: RunSide, candidate: RunSide) -> First | str:
    """The first event that differs; or why there is none to tell."""
    if baseline.result.digest == candidate.result.digest:
        return "the runs are the same, packet by packet"
    if all(_TABLE in side.result.tables for side in (baseline, candidate)):
        return _first(baseline.result, candidate.result) or "every packet leaves every queue alike"
    for side in (baseline, candidate):
        version = side.result.meta.get("version")
        if version != _core.__version__:
            return f"not looked for: {side.name} is of version {version}, and its departures were not recorded"
    duration = max(float(side.result.summary["duration_s"]) for side in (baseline, candidate))
    span, alike = _FIRST_S, 0.0
    while True:
        try:
            difference = _first(_beginning(baseline, span), _beginning(candidate, span))
        except (_core.ScenarioError, _core.MemoryLimitError, MemoryError) as error:
            # A beginning may be no valid scenario: a flow would start after its end.
            if span < duration and isinstance(error, _core.ScenarioError):
                span *= _LONGER
                continue
            why = str(error).replace("\n  ", "; ")
            return f"none in the first {alike:g} s; no more could be recorded: {why}" if alike else f"not found: {why}"
        if difference is not None:
            return difference
        if span >= duration:
            return "every packet leaves every queue alike"
        alike, span = span, span * _LONGER


def _beginning(side: RunSide, span: float) -> RunResult:
    duration = float(side.result.summary["duration_s"])
    settings = ["record.events=true", "record.packets=false", "record.payloads=false", "claim=[]"]
    if span < duration:
        settings += [f'duration="{span:g} s"', "window=[]"]
    return side.scenario.override(*settings).run()


def _first(a: RunResult, b: RunResult) -> First | None:
    one, two = a.tables[_TABLE], b.tables[_TABLE]
    common = min(one.rows, two.rows)
    differs = np.zeros(common, dtype=bool)
    for name in _COLUMNS:
        differs |= np.asarray(one[name][:common]) != np.asarray(two[name][:common])
    index = int(np.argmax(differs)) if differs.any() else common
    if index == one.rows == two.rows:
        return None
    times = [int(table["t_ns"][index]) for table in (one, two) if index < table.rows]
    return First(min(times) / 1e9, _words(a, index), _words(b, index))


def _words(result: RunResult, index: int) -> str:
    table = result.tables[_TABLE]
    if index >= table.rows:
        return "no packet leaves any more"
    row: dict[str, Any] = {name: int(table[name][index]) for name in _COLUMNS}
    flow, queue = result.flows[row["flow"]]["name"], result.queues[row["queue"]]["name"]
    mark = _MARKS[row["mark"]] if row["mark"] < len(_MARKS) else ""
    return f"{row['t_ns'] / 1e9:.9f} s: seq {row['seq']} of flow {flow} ({row['size']} B) leaves {queue}{mark}"

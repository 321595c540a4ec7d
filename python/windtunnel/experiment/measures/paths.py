"""A path to what it names in a result: ``flows.cubic.goodput_mbps``, ``queue.sojourn_ms``, ``tables.cc.w_max``.

A name without its unit is enough where only one name begins so. The records of flows and queues are named or counted;
without either, the path means all of them: ``flows.goodput`` are the goodputs of all flows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from windtunnel.errors import did_you_mean
from windtunnel.experiment.measures import bbr
from windtunnel.experiment.measures.names import field_hint, root_hint, without_unit
from windtunnel.experiment.measures.values import Distribution, MetricError, Value
from windtunnel.metrics import Array
from windtunnel.result import RunResult

#: The parts of a path: names and numbers of places.
Path: TypeAlias = tuple[str | int, ...]

#: Lists of records in a summary, by their names and by that of their only record.
RECORDS = {"flows": "flows", "flow": "flows", "queues": "queues", "queue": "queues", "impairments": "impairments"}
#: Numbers of the whole run. Its events are not among them: how many there are depends on what is recorded.
NUMBERS = ("duration_s", "packets")
ROOTS = (*RECORDS, "windows", "tables", "bbr", *NUMBERS)

#: The columns that distributions of the summary are of: the table, the column, and the one that tells flow or queue.
_BEHIND = {
    ("flows", "rtt_ms"): ("flows", "rtt_ms", "flow"),
    ("flows", "cwnd_bytes"): ("flows", "cwnd_bytes", "flow"),
    ("flows", "time_ms"): ("transfers", "time_ms", "flow"),
    ("queues", "sojourn_ms"): ("sojourn_points", "ms", "queue"),
}


def show(path: Path) -> str:
    """A path as one writes it."""
    return "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in path).removeprefix(".")


def tables_behind(path: Path) -> set[str]:
    """The tables that values of the distribution at ``path`` may come from, beyond the summary."""
    name = str(path[-1])
    return {table for (_, key), (table, _, _) in _BEHIND.items() if name in (key, without_unit(key))}


def resolve(path: Path, result: RunResult) -> Value:
    """What ``path`` names in ``result``. Raises MetricError."""
    root, rest = str(path[0]), path[1:]
    match root:
        case "tables":
            return _column(path, result)
        case "bbr":
            if len(path) != 3:
                raise MetricError(f"{show(path)}: write bbr.CASE.NUMBER")
            return bbr.number(result, str(path[1]), str(path[2]))
        case "windows":
            window = _one(result.windows, rest, path, "window")
            rest = rest[1:]
            if not rest or rest[0] not in ("flows", "flow", "queues", "queue"):
                raise MetricError(f"{show(path)}: a window has flows and queues")
            records, span = window[RECORDS[str(rest[0])]], (float(window["from_s"]), float(window["to_s"]))
            return _record(_Scope(result, str(rest[0]), records, span, path), rest[1:])
        case _ if root in RECORDS:
            return _record(_Scope(result, root, result.summary[RECORDS[root]], None, path), rest)
        case _ if root in NUMBERS and not rest:
            return float(result.summary[root])
    raise MetricError(f"`{root}` is not known; there are {', '.join(ROOTS)}{root_hint(root, ROOTS)}")


@dataclass(frozen=True)
class _Scope:
    """Records of flows or queues, of the whole run or of a window."""

    result: RunResult
    root: str
    records: Sequence[Mapping[str, Any]]
    span: tuple[float, float] | None
    path: Path


def _record(scope: _Scope, rest: Path) -> Value:
    """The number, or several, that ``rest`` names in the records."""
    path, records = scope.path, scope.records
    if not rest:
        raise MetricError(f"{show(path)} is no number: name one of its keys")
    if scope.root in ("flow", "queue"):
        if len(records) != 1:
            first = ", ".join(str(record["name"]) for record in records[:10])
            raise MetricError(f"{show(path)}: there are {len(records)} {scope.root}s ({first}): name one of them")
        return _leaf(scope, 0, rest)
    if isinstance(rest[0], int) or any(record["name"] == rest[0] for record in records):
        return _leaf(scope, _index(records, rest[0], path), rest[1:])
    if members := _members(records, str(rest[0])):
        values = [_leaf(scope, index, rest[1:]) for index in members]
        return [v for v in values if isinstance(v, float | Distribution)]
    try:
        values = [_leaf(scope, index, rest) for index in range(len(records))]
    except MetricError as error:
        names = [str(record["name"]) for record in records]
        hint = did_you_mean(str(rest[0]), names)
        # More steps follow, so that this one was to be a name, or it is near to one.
        if (len(rest) > 1 or hint) and rest[0] not in records[0]:
            what = f"no {scope.root[:-1]} is named `{rest[0]}`; there are {', '.join(names[:20])}"
            raise MetricError(f"{show(path)}: {what}{hint}") from None
        raise error
    return [v for v in values if isinstance(v, float | Distribution)]


def _members(records: Sequence[Mapping[str, Any]], name: str) -> list[int]:
    """Flows of one table with a ``count``, which are called ``name-1``, ``name-2``, ...: the name means all of them."""
    member = re.compile(re.escape(name) + r"-\d+")
    return [index for index, record in enumerate(records) if member.fullmatch(str(record["name"]))]


def _leaf(scope: _Scope, index: int, rest: Path) -> float | Distribution:
    value: Any = scope.records[index]
    for part in rest:
        if value is None:
            return float("nan")  # what a flow does not have
        value = value[_key(value, str(part), scope.path)] if isinstance(value, Mapping) else _missing(scope.path)
    if isinstance(value, Mapping):
        if "mean" not in value:
            raise MetricError(f"{show(scope.path)} is no number: its keys are {', '.join(value)}")
        last = _key(_parent(scope.records[index], rest), str(rest[-1]), scope.path)
        behind = _BEHIND.get((RECORDS[scope.root], last))
        column = None
        if behind is not None:
            table, name, which = behind
            column = partial(_rows, scope.result, table, name, which, index, scope.span, scope.path)
        return Distribution(show(scope.path), value, column)
    if value is None:
        return float("nan")
    if isinstance(value, bool | int | float):
        return float(value)
    raise MetricError(f"{show(scope.path)} is no number: it is {value!r}")


def _parent(record: Any, rest: Path) -> Any:
    for part in rest[:-1]:
        record = record[_key(record, str(part), rest)]
    return record


def _missing(path: Path) -> Any:
    raise MetricError(f"{show(path)}: a part of it is a number already")


def _key(record: Mapping[str, Any], name: str, path: Path) -> str:
    """The key that ``name`` means: itself, or the only one that is this name with a unit."""
    if name in record:
        return name
    with_unit = [key for key in record if without_unit(key) == name]
    if len(with_unit) == 1:
        return with_unit[0]
    root = next((str(part) for part in path if part in RECORDS), "")
    hint = did_you_mean(name, record) if path[0] == "tables" else field_hint(root, name, record)
    raise MetricError(f"{show(path)}: there is no `{name}`; there are {', '.join(record)}{hint}")


def _one(records: Sequence[Mapping[str, Any]], rest: Path, path: Path, what: str) -> Mapping[str, Any]:
    if not rest:
        raise MetricError(f"{show(path)}: name a {what}")
    return records[_index(records, rest[0], path)]


def _index(records: Sequence[Mapping[str, Any]], name: str | int, path: Path) -> int:
    """The place of a record by its name or number."""
    names = [str(record["name"]) for record in records]
    if isinstance(name, int):
        if name < len(names):
            return name
        raise MetricError(f"{show(path)}: there is no [{name}]: there are {len(names)}")
    if name in names:
        return names.index(name)
    raise MetricError(f"{show(path)}: none is named `{name}`; there are {', '.join(names)}{did_you_mean(name, names)}")


def _column(path: Path, result: RunResult) -> Array:
    """``tables.TABLE.COLUMN``, all rows, or ``tables.TABLE.FLOW.COLUMN`` (or a queue), its rows."""
    if len(path) not in (3, 4):
        raise MetricError(f"{show(path)}: write tables.TABLE.COLUMN, or tables.TABLE.NAME.COLUMN for a flow or queue")
    table, column = str(path[1]), str(path[-1])
    if table not in result.tables:
        raise MetricError(f"{show(path)}: there is no table `{table}`; there are {', '.join(sorted(result.tables))}"
                          f"{did_you_mean(table, result.tables)}")  # fmt: skip
    columns = result.tables[table]
    name = _key(columns, column, path)
    if len(path) == 3:
        return np.asarray(columns[name], dtype=np.float64)
    which = "flow" if "flow" in columns and "queue" not in columns else "queue"
    records = result.summary[f"{which}s"]
    return _rows(result, table, name, which, _index(records, path[2], path), None, path)


def _rows(
    result: RunResult, table: str, column: str, which: str, index: int, span: tuple[float, float] | None, path: Path
) -> Array:
    """The values of a column in the rows of one flow or queue, in a span of time."""
    if table not in result.tables:
        raise MetricError(f"{show(path)}: the run did not record the table `{table}`")
    columns = result.tables[table]
    kept = np.asarray(columns[which]) == index
    if span is not None:
        time_s = np.asarray(columns["end_s" if table == "transfers" else "time_s"])
        kept &= (time_s > span[0]) & (time_s <= span[1])
    values: Array = np.asarray(columns[column], dtype=np.float64)[kept]
    return values

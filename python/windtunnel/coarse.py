"""Long tables with fewer rows, for pictures: intervals of several, with the same sums, means and extremes.

A table is read part by part, so that no more than a part and the result are in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from windtunnel.contract import columns_of, read_table, rows_of
from windtunnel.table import Table

if TYPE_CHECKING:
    from windtunnel.stored import StoredTables

#: About how many rows a table keeps: more than a picture shows, and tens of megabytes of the widest table.
ROWS = 3 << 14

#: Columns that say whose a row is.
_KEYS = ("flow", "queue", "band", "class")
#: The value of a table of points, whose extremes are kept as rows; rows of others become their mean.
_POINTS = {"cwnd_points": "bytes", "sojourn_points": "ms", "throughput_points": None}
#: Points of a subject are no fewer than this, however many subjects there are.
_LEAST = 100
#: Means over an interval, beyond those that their names call so.
_MEANS = ("throughput_mbps", "goodput_mbps", "mbps", "utilization", "cwnd_limited")
#: Counts at the end of an interval, not of an interval.
_LAST = ("backlog_packets", "backlog_bytes")

Array: TypeAlias = npt.NDArray[Any]
#: Reduces the values of groups that start at these rows.
_Reduce: TypeAlias = Callable[[Array, Array], Array]


def coarse_table(tables: StoredTables, name: str) -> Table:
    """The table with about :data:`ROWS` rows: neighbouring intervals of a subject are one."""
    files = tables.files(name)
    parts = tables.parts(name, columns_of(files[-1], name))
    if name in _POINTS:
        return _points(parts, _POINTS[name], read_table(files[-1], name=name))
    many = -(-rows_of(files) // ROWS)
    return _joined(*(_merged(part, _ticks(part["time_s"]) // many) for part in _whole(parts, many)))


def _points(parts: Iterator[Table], value: str | None, last: Table) -> Table:
    """Of the points of a subject in a part of the time, the first one and the extremes, or the mean.

    ``last`` are the last rows, from which the whole time is known, and about how many subjects there are.
    """
    (key,) = _keys(last)
    width = last["time_s"].max() / max(ROWS // (3 * (int(key.max()) + 1)), _LEAST)

    def fewer(table: Table) -> Table:
        of = np.floor(table["time_s"] / width)
        return _merged(table, of) if value is None else _extremes(table, value, of)

    table = Table()
    for part in parts:
        table = _joined(table, part) if table else part
        if table.rows > 4 * ROWS:
            table = fewer(table)
    return fewer(table)


def _merged(part: Table, of: Array) -> Table:
    """The rows of a subject with the same number ``of`` as one."""
    order, starts = _groups(part, of)
    return Table({column: _reduction(column, values)(values[order], starts) for column, values in part.items()})


def _extremes(part: Table, value: str, of: Array) -> Table:
    """Of the rows of a subject with the same number ``of`` the first, the least and the greatest, in order of time."""
    by_time = np.argsort(part["time_s"], kind="stable")
    part, of = Table({column: values[by_time] for column, values in part.items()}), of[by_time]
    order, starts = _groups(part, of)
    ends = np.append(starts[1:], len(order)) - 1
    group = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(order)))
    by_value = np.lexsort([part[value][order], group])
    kept = np.zeros(len(order), dtype=np.bool_)
    kept[starts] = kept[by_value[starts]] = kept[by_value[ends]] = True
    rows = np.sort(order[kept])
    return Table({column: values[rows] for column, values in part.items()})


def _whole(parts: Iterator[Table], many: int) -> Iterator[Table]:
    """The parts, each with whole runs of ``many`` intervals; the last one may have fewer."""
    left: Table | None = None
    for part in parts:
        table = part if left is None else _joined(left, part)
        ticks = _ticks(table["time_s"])
        end = int(np.searchsorted(ticks, (ticks[-1] // many) * many)) if len(ticks) else 0
        if end:
            yield Table({column: values[:end] for column, values in table.items()})
        left = Table({column: values[end:] for column, values in table.items()})
    if left is not None and left.rows:
        yield left


def _joined(*parts: Table) -> Table:
    """The rows one after the other, column by column out of the parts, which are empty then: both would take twice the
    memory. A number that came later than the first rows is missing there.
    """
    rows = [part.rows for part in parts]
    return Table({
        column: np.concatenate([
            part.pop(column) if column in part else np.full(n, np.nan) for part, n in zip(parts, rows, strict=True)
        ])
        for column in list(parts[-1])
    })  # fmt: skip


def _ticks(time: Array) -> Array:
    """The number of the interval of each row."""
    return np.cumsum(np.diff(time, prepend=time[:1]) > 0)


def _keys(part: Mapping[str, Array]) -> list[Array]:
    return [part[key] for key in _KEYS if key in part]


def _groups(part: Mapping[str, Array], of: Array) -> tuple[Array, Array]:
    """Rows in an order in which those of a subject and a number ``of`` are neighbours, and where each group starts."""
    keys = [*_keys(part), of]
    # Stable: within a group, rows stay in order of time.
    order = np.lexsort(keys)
    return order, np.flatnonzero(_changes([key[order] for key in keys]))


def _changes(keys: Sequence[Array]) -> Array:
    """Where a row differs from the one before in any key."""
    changes = np.zeros(len(keys[0]), dtype=np.bool_)
    changes[:1] = True
    for key in keys:
        changes[1:] |= key[1:] != key[:-1]
    return changes


def _reduction(column: str, values: Array) -> _Reduce:
    words = column.split("_")
    if column in (*_KEYS, *_LAST):
        return _last
    if "min" in words:
        return np.fmin.reduceat
    if "max" in words:
        return np.fmax.reduceat
    if "mean" in words or column in _MEANS:
        return _mean
    if values.dtype.kind in "iu":
        return np.add.reduceat
    return _last


def _last(values: Array, starts: Array) -> Array:
    last: Array = values[np.append(starts[1:], len(values)) - 1]
    return last


def _mean(values: Array, starts: Array) -> Array:
    """The mean of those that are there."""
    there = np.isfinite(values)
    with np.errstate(invalid="ignore"):
        sums = np.add.reduceat(np.where(there, values, 0.0), starts)
        return np.asarray(sums / np.add.reduceat(there.astype(np.float64), starts))

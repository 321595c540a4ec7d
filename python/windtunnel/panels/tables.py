"""From the tables of a run to samples of its flows and queues, in the tables' units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from windtunnel.panels.model import Array, Index, Mask

Column: TypeAlias = npt.NDArray[Any]
Table: TypeAlias = Mapping[str, Column]
Tables: TypeAlias = Mapping[str, Mapping[str, npt.NDArray[Any]]]


@dataclass(frozen=True, eq=False)
class Samples:
    """The rows of one flow (-1: all flows) or queue, by time; all arrays have one shape."""

    index: int
    t: Array
    y: Array
    flag: Mask | None = None
    who: Index | None = None
    low: Array | None = None
    high: Array | None = None

    def only(self, keep: Any) -> Samples:
        """Some of the rows: a mask, a slice, or their indices in order."""

        def part(column: Any) -> Any:
            return None if column is None else column[keep]

        return Samples(
            self.index, self.t[keep], self.y[keep], part(self.flag), part(self.who), part(self.low), part(self.high)
        )


def rows(tables: Tables, name: str, *, extremes: bool = True) -> Table:
    """A table's columns; empty if it is absent or has no rows.

    Without ``extremes``, of each span of ``record.points`` only its first event.
    """
    table = tables.get(name, {})
    if not table or not len(next(iter(table.values()))):
        return {}
    if not extremes and "extreme" in table:
        keep = ~np.asarray(table["extreme"], dtype=np.bool_)
        return {column: np.asarray(values)[keep] for column, values in table.items()}
    return dict(table)


def split(
    table: Table,
    key: str,
    value: str,
    *,
    flag: Column | None = None,
    who: str | None = None,
    low: str | None = None,
    high: str | None = None,
    keep: Column | None = None,
) -> list[Samples]:
    """The rows of each value of ``key``, by time; a table without that column is of one flow or queue.

    ``keep`` selects some of all rows.
    """
    if not table or value not in table or not len(table["time_s"]):
        return []
    t = np.asarray(table["time_s"], dtype=np.float64)
    keys = np.asarray(table.get(key, np.zeros(len(t))), dtype=np.int64)
    y = np.asarray(table[value], dtype=np.float64)
    chosen = np.arange(len(t)) if keep is None else np.flatnonzero(keep)
    order = chosen[np.lexsort([t[chosen], keys[chosen]])]
    if not len(order):
        return []

    def column(name: str | None) -> Array | None:
        return None if name is None or name not in table else np.asarray(table[name], dtype=np.float64)

    ordered = Samples(
        0, t, y, None if flag is None else np.asarray(flag, dtype=np.bool_),
        None if who is None or who not in table else np.asarray(table[who], dtype=np.int64), column(low), column(high),
    ).only(order)  # fmt: skip
    mine = keys[order]
    edges = [0, *(np.flatnonzero(np.diff(mine)) + 1), len(mine)]
    parts = []
    for first, last in pairwise(edges):
        part = ordered.only(slice(first, last))
        parts.append(Samples(int(mine[first]), part.t, part.y, part.flag, part.who, part.low, part.high))
    return parts


def last_time(tables: Tables) -> float:
    """The latest time in any table that has ``time_s``; 0 if none has."""
    times = [float(t["time_s"][-1]) for t in tables.values() if len(t.get("time_s", ()))]
    return max(times, default=0.0)

"""The columns of the data set: what a row says about a cell, a run and a flow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from windtunnel.campaign.model import SCENARIO
from windtunnel.campaign.plan import Cell, Plan
from windtunnel.experiment.axes import Value
from windtunnel.table import Table, masked
from windtunnel.texts import Texts

#: Columns of ``cells.parquet``, beyond the cell and its axes, and their types. ``runs`` of the cell are ``failed`` or
#: have one of ``distinct`` digests; ``count`` independent values have ``mean`` ... ``max``; ``method`` says what mean
#: and interval are.
CELL_COLUMNS: dict[str, type] = {
    "metric": str, "unit": str, "kind": str, "method": str, "runs": int, "failed": int, "distinct": int, "count": int,
    "mean": float, "mean_low": float, "mean_high": float,
    "median": float, "median_low": float, "median_high": float, "std": float, "min": float, "max": float,
    "offset_share": float, "phase_locked": bool,
    "baseline": str, "baseline_cell": int, "pairs": int,
    "difference": float, "difference_low": float, "difference_high": float,
    "p": float, "p_corrected": float, "effect": float, "dominance": float,
}  # fmt: skip
#: Columns that data sets of older versions do not have.
LATER = ("unit", "kind", "method")
#: How columns are kept; texts by their places in a list. NaN and -1 are for what there is not.
_KEPT = {str: "i4", int: "i8", float: "f8", bool: "i1"}
#: Rows that are kept as Python's objects, which take ten times the memory.
_LOOSE = 1000


class CellRows:
    """Rows of :data:`CELL_COLUMNS`, each of a cell, in little memory. ``cell`` is its index among the wanted ones."""

    def __init__(self) -> None:
        self._columns: dict[str, list[npt.NDArray[Any]]] = {name: [] for name in ("cell", *CELL_COLUMNS)}
        self._loose: list[tuple[int, dict[str, Any]]] = []
        self._texts: dict[str, int] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, cell: int, row: dict[str, Any]) -> None:
        """Add a row; what it does not have is null."""
        self._loose.append((cell, row))
        self._count += 1
        if len(self._loose) == _LOOSE:
            self._settle()

    def _settle(self) -> None:
        self._columns["cell"].append(np.array([cell for cell, _ in self._loose], np.int64))
        for name, kind in CELL_COLUMNS.items():
            values = [row.get(name) for _, row in self._loose]
            if kind is str:
                values = [-1 if text is None else self._texts.setdefault(text, len(self._texts)) for text in values]
            elif kind is not float:
                values = [-1 if value is None else value for value in values]
            self._columns[name].append(np.array(values, _KEPT[kind]))
        self._loose = []

    def column(self, name: str) -> npt.NDArray[Any]:
        """A column as it is kept."""
        if self._loose:
            self._settle()
        if len(self._columns[name]) != 1:
            self._columns[name] = [
                np.concatenate([np.empty(0, _KEPT[CELL_COLUMNS.get(name, int)]), *self._columns[name]])
            ]
        return self._columns[name][0]

    def replace(self, name: str, values: npt.NDArray[np.float64]) -> None:
        """Fill in a column."""
        self.column(name)[:] = values

    def pairs(self, one: str, other: str) -> list[tuple[str, str]]:
        """The different pairs of texts in two columns, in the order in which they come."""
        both = np.stack([self.column(one), self.column(other)], axis=1)
        different, first = np.unique(both, axis=0, return_index=True)
        texts = [*self._texts, ""]
        return [(texts[a], texts[b]) for a, b in different[np.argsort(first)].tolist()]

    def rows(self, first: int, past: int) -> Iterator[dict[str, Any]]:
        """Some of the rows, with their cells."""
        texts = [*self._texts, None]
        columns = {name: self.column(name)[first:past].tolist() for name in ("cell", *CELL_COLUMNS)}
        for row in zip(*columns.values(), strict=True):
            named = dict(zip(columns, row, strict=True))
            for name, kind in CELL_COLUMNS.items():
                value = named[name]
                if kind is str:
                    named[name] = texts[value]
                elif kind is float:
                    named[name] = None if value != value else value
                else:
                    named[name] = None if value < 0 else kind(value)
            yield named

    def table(self, first: int, past: int) -> Table:
        """Some of the rows, without their cells."""
        words, columns = list(self._texts), Table()
        for name, kind in CELL_COLUMNS.items():
            values = self.column(name)[first:past]
            if kind is str:
                columns[name] = Texts(values, words)
            elif kind is float:
                columns[name] = values
            else:
                columns[name] = masked(values.astype(kind), values < 0)
        return columns


class AxisColumns:
    """The columns of the axes. An axis of numbers is a number; one of quantities is a text, and its number in seconds,
    bytes or bits per second is in ``NAME.number`` next to it.
    """

    def __init__(self, plan: Plan) -> None:
        self._names = plan.axes
        scenarios = [tuple(Value(base.name, ()) for base in plan.campaign.bases)] if SCENARIO in plan.axes else []
        self._values = [*scenarios, *(axis.values for axis in plan.campaign.axes)]
        self._numbers = {axis.name for axis in plan.campaign.axes if axis.numeric and not _has_units(axis.values)}
        self._quantities = {axis.name for axis in plan.campaign.axes if axis.numeric} - self._numbers

    @property
    def of_texts(self) -> list[str]:
        """The names of the columns of texts."""
        return [name for name in self._names if name not in self._numbers]

    def of(self, places: Sequence[npt.NDArray[np.int64]]) -> Table:
        """The columns of cells with these places on the axes."""
        columns = Table()
        for name, values, at in zip(self._names, self._values, places, strict=True):
            if name not in self._numbers:
                columns[name] = Texts(at.astype(np.int32), [value.label for value in values])
            if name in self._numbers or name in self._quantities:
                column = np.array([value.number for value in values], np.float64)[at]
                columns[name if name in self._numbers else f"{name}.number"] = column
        return columns


def _has_units(values: Iterable[Value]) -> bool:
    return any(not _is_number(value.label) for value in values)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def where(plan: Plan, cell: Cell) -> str:
    """A cell in words: ``bottleneck.rate = 10 Mbit/s, cc = reno``."""
    pairs = zip(plan.axes, cell.values, strict=True)
    return ", ".join(f"{name} = {value.label}" for name, value in pairs) or SCENARIO

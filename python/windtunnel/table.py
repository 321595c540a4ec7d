"""A table: columns by name, which other libraries can take over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from windtunnel.extras import library
from windtunnel.texts import Texts

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    #: A column: a one-dimensional NumPy array, of numbers, truth values or ``bytes``, or texts; all columns of a table
    #: have the same length.
    Column: TypeAlias = npt.NDArray[Any] | Texts


#: Columns that a table has in files beyond its own: those of the run, before all others.
KEYS = ("scenario", "seed", "digest")
#: And those of names, each behind the column of numbers that it names.
NAMES = {"flow": "flow_name", "queue": "queue_name"}


class Table(dict[str, Any]):
    """The columns of a table by name; names end in the unit. A number that is missing is NaN; a whole number or truth
    value that is missing is masked (``numpy.ma``). Such columns, and texts, are in tables of campaigns alone: the
    columns of a run's table are plain arrays.

    Libraries that read Arrow (DuckDB, Polars, pandas, and others) take a table as it is, by its method
    ``__arrow_c_stream__`` (the Arrow PyCapsule interface), for which pyarrow is needed; a missing value is null there.
    """

    __slots__ = ()

    @classmethod
    def from_records(cls, records: Sequence[Mapping[str, Any]], kinds: Mapping[str, type] | None = None) -> Table:
        """The table of records; None for what is missing. The columns are those of ``kinds``, with their types, or the
        keys of the first record, with the types of the values.
        """
        names = list(kinds or (records[0] if records else ()))
        values = {name: [record.get(name) for record in records] for name in names}
        return cls({name: _column(values[name], (kinds or {}).get(name)) for name in names})

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(next(iter(self.values()), ()))

    def part(self, rows: Any, columns: Iterable[str] | None = None) -> Table:
        """Some of the rows (a slice, their indices, or a truth value for each), and of the columns."""
        return Table({name: self[name][rows] for name in (self if columns is None else columns)})

    def records(self) -> list[dict[str, Any]]:
        """A dictionary for each row; None for what is missing."""
        values = [_values(column) for column in self.values()]
        return [dict(zip(self, row, strict=True)) for row in zip(*values, strict=True)]

    def to_arrow(self) -> pa.Table:
        """As a ``pyarrow.Table``. Numbers are not copied; truth values are packed into bits. What is missing becomes
        null. Raises MissingExtraError if pyarrow is not installed.
        """
        library("pyarrow", "to_arrow")
        from windtunnel.arrow import arrow_table

        return arrow_table(self)

    def to_pandas(self) -> pd.DataFrame:
        """As a ``pandas.DataFrame``. Raises MissingExtraError if pandas is not installed."""
        pandas = library("pandas", "to_pandas")
        columns = {name: column.tolist() if isinstance(column, Texts) else column for name, column in self.items()}
        frame: pd.DataFrame = pandas.DataFrame(columns)
        return frame

    def to_polars(self) -> pl.DataFrame:
        """As a ``polars.DataFrame``, without copying numbers. Raises MissingExtraError if Polars or pyarrow is not
        installed.
        """
        polars = library("polars", "to_polars")
        frame: pl.DataFrame = polars.from_arrow(self.to_arrow())
        return frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """As a stream of the Arrow PyCapsule interface."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<Table of {self.rows} rows: {', '.join(self)}>"


def masked(values: npt.NDArray[Any], missing: npt.NDArray[np.bool_]) -> npt.NDArray[Any]:
    """Whole numbers or truth values; some may be missing."""
    import numpy as np

    column: npt.NDArray[Any] = np.ma.MaskedArray(values, missing) if missing.any() else values
    return column


def _column(values: Sequence[Any], kind: type | None) -> Column:
    import numpy as np

    there = [value for value in values if value is not None]
    if kind is None:
        kind = _kind(there)
    if kind is str:
        return Texts.of(values)
    if kind is float:
        return np.array([np.nan if value is None else value for value in values], np.float64)
    dtype = np.bool_ if kind is bool else np.uint64 if any(value >= 1 << 63 for value in there) else np.int64
    column = np.array([0 if value is None else value for value in values], dtype)
    return masked(column, np.array([value is None for value in values], np.bool_))


def _kind(values: Sequence[Any]) -> type:
    """What a column of these values holds: numbers are whole if all are."""
    if any(isinstance(value, str) for value in values):
        return str
    if not values or any(isinstance(value, float) for value in values):
        return float
    return bool if all(isinstance(value, bool) for value in values) else int


def _values(column: Column) -> list[Any]:
    values = column.tolist()
    if not isinstance(column, Texts) and column.dtype.kind == "f":
        return [None if value != value else value for value in values]
    return values


def stored(table: Mapping[str, Column]) -> list[tuple[str, Any]]:
    """The columns of a table as the core writes them into files."""
    import numpy as np

    columns: list[tuple[str, Any]] = []
    for name, column in table.items():
        if isinstance(column, Texts):
            columns.append((name, (np.require(column.at, np.int32, ["C", "A"]), column.words)))
        elif isinstance(column, np.ma.MaskedArray):
            columns.append((name, (np.require(column.data, None, ["C", "A"]), np.ma.getmaskarray(column))))
        else:
            columns.append((name, np.require(column, None, ["C", "A"])))
    return columns

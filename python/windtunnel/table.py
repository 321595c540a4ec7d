"""A table of a result: columns by name, which other libraries can take over."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    #: A column: a one-dimensional NumPy array, of numbers, truth values or ``bytes``; all columns of a table have the
    #: same length.
    Column: TypeAlias = npt.NDArray[Any]

#: The optional libraries, and what is said where one is missing.
_MISSING = "to_{0} needs {0}, which is not installed: pip install {0}"


#: Columns that a table has in files beyond its own: those of the run, before all others.
KEYS = ("scenario", "seed", "digest")
#: And those of names, each behind the column of numbers that it names.
NAMES = {"flow": "flow_name", "queue": "queue_name"}


class Table(dict[str, "Column"]):
    """The columns of a table by name; names end in the unit. A value that is missing is NaN.

    Libraries that read Arrow (DuckDB, Polars, pandas, and others) take a table as it is, by its method
    ``__arrow_c_stream__`` (the Arrow PyCapsule interface); a missing value is null there.
    """

    __slots__ = ()

    @property
    def rows(self) -> int:
        """The number of rows."""
        return len(next(iter(self.values()), ()))

    def to_arrow(self) -> pa.Table:
        """As a ``pyarrow.Table``. Numbers are not copied; truth values are packed into bits. NaN becomes null."""
        from windtunnel.arrow import arrow_table

        return arrow_table(self)

    def to_pandas(self) -> pd.DataFrame:
        """As a ``pandas.DataFrame``. Raises ImportError if pandas is not installed."""
        pandas = _library("pandas")
        frame: pd.DataFrame = pandas.DataFrame(dict(self))
        return frame

    def to_polars(self) -> pl.DataFrame:
        """As a ``polars.DataFrame``, without copying numbers. Raises ImportError if Polars is not installed."""
        polars = _library("polars")
        frame: pl.DataFrame = polars.from_arrow(self.to_arrow())
        return frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """As a stream of the Arrow PyCapsule interface."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<Table of {self.rows} rows: {', '.join(self)}>"


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise ImportError(_MISSING.format(name)) from None

"""Every table of a run as a file: CSV, with names and units in its header; Parquet, with columns that name the run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from windtunnel.keyed import write_table
from windtunnel.result import RunResult

if TYPE_CHECKING:
    import pyarrow as pa


def write_csv(result: RunResult, folder: Path) -> None:
    """Write every table of ``result`` to ``folder/<table>.csv``; numbers in full precision, truth values as words,
    bytes in hexadecimal digits.
    """
    import pyarrow as pa
    import pyarrow.csv

    options = pa.csv.WriteOptions(quoting_style="needed")
    for name in result.tables:
        # CSV writes a null as nothing.
        pa.csv.write_csv(_without_bytes(result.table(name)), folder / f"{name}.csv", options)


def _without_bytes(table: pa.Table) -> pa.Table:
    """The table with hexadecimal digits in place of bytes."""
    import pyarrow as pa

    from windtunnel import arrow

    for index, field in enumerate(table.schema):
        if pa.types.is_large_binary(field.type):
            digits = arrow.texts([value.hex() for value in table[field.name].to_pylist()])
            table = table.set_column(index, field.name, digits)
    return table


def write_parquet(result: RunResult, folder: Path) -> None:
    """Write every table of ``result`` to ``folder/<table>.parquet``."""
    about = {f"windtunnel.{key}": str(result.meta.get(key) or "") for key in ("title", "digest", "version")}
    for name in result.tables:
        write_table(result, name, folder / f"{name}.parquet", about=about)

"""CSV: one file per table, a header of names with units, one row per line; empty where there was no sample."""

from __future__ import annotations

from pathlib import Path

from windtunnel.result import RunResult


def write_csv(result: RunResult, folder: Path) -> None:
    """Write every table of ``result`` to ``folder/<table>.csv``; numbers in full precision, truth values as words."""
    import pyarrow as pa
    import pyarrow.csv

    options = pa.csv.WriteOptions(quoting_style="needed")
    for name in result.tables:
        # CSV writes a null as nothing.
        pa.csv.write_csv(result.table(name), folder / f"{name}.csv", options)

"""Every table of a run as a file: CSV, with names and units in its header; Parquet, with columns that name the run."""

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


def write_parquet(result: RunResult, folder: Path) -> None:
    """Write every table of ``result`` to ``folder/<table>.parquet``."""
    from windtunnel.keyed import keyed_table, write_table

    about = {f"windtunnel.{key}": str(result.meta.get(key) or "") for key in ("title", "digest", "version")}
    for name in result.tables:
        table = keyed_table(result, name).replace_schema_metadata(about)
        write_table(table, folder / f"{name}.parquet")

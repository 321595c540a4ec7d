"""Every table of a run as a file: CSV, with names and units in its header; Parquet, with columns that name the run."""

from __future__ import annotations

from pathlib import Path

from windtunnel import _core
from windtunnel.keyed import write_table
from windtunnel.result import RunResult
from windtunnel.table import stored


def write_csv(result: RunResult, folder: Path) -> None:
    """Write every table of ``result`` to ``folder/<table>.csv``; numbers in full precision, truth values as words,
    bytes in hexadecimal digits, nothing for what is missing.
    """
    for name in result.tables:
        _core.write_csv(folder / f"{name}.csv", stored(result.tables[name]))


def write_parquet(result: RunResult, folder: Path) -> None:
    """Write every table of ``result`` to ``folder/<table>.parquet``."""
    about = {f"windtunnel.{key}": str(result.meta.get(key) or "") for key in ("title", "digest", "version")}
    for name in result.tables:
        write_table(result, name, folder / f"{name}.parquet", about=about)

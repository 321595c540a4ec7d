"""Parquet: one file per table, with columns that name the run, its flows and queues, and the version as metadata."""

from __future__ import annotations

from pathlib import Path

from windtunnel.result import RunResult


def write_parquet(result: RunResult, folder: Path) -> None:
    """Write every table of ``result`` to ``folder/<table>.parquet``."""
    from windtunnel.keyed import keyed_table, write_table

    about = {f"windtunnel.{key}": str(result.meta.get(key) or "") for key in ("title", "digest", "version")}
    for name in result.tables:
        table = keyed_table(result, name).replace_schema_metadata(about)
        write_table(table, folder / f"{name}.parquet")

"""Parquet: one file per table, with the title, the digest and the version in the file's metadata."""

from __future__ import annotations

from pathlib import Path

from windtunnel.result import RunResult


def write_parquet(result: RunResult, folder: Path) -> None:
    """Write every table of ``result`` to ``folder/<table>.parquet``."""
    import pyarrow.parquet as pq

    about = {f"windtunnel.{key}": str(result.meta.get(key) or "") for key in ("title", "digest", "version")}
    for name in result.tables:
        table = result.table(name).replace_schema_metadata(about)
        pq.write_table(table, folder / f"{name}.parquet", compression="zstd")

"""Results in formats that other programs read: CSV, Parquet, xplot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from windtunnel.atomic import staged
from windtunnel.export.csv import write_csv
from windtunnel.export.parquet import write_parquet
from windtunnel.export.xplot import write_xplot
from windtunnel.result import RunResult

#: Writers by format: each fills an empty folder with files of the extension ``FORMATS[name][1]``.
FORMATS: Mapping[str, tuple[Callable[[RunResult, Path], None], str]] = {
    "csv": (write_csv, ".csv"),
    "parquet": (write_parquet, ".parquet"),
    "xplot": (write_xplot, ".xpl"),
}

__all__ = ["FORMATS", "export", "write_csv", "write_parquet", "write_xplot"]


def export(result: RunResult, kind: str, folder: Path, *, force: bool = False) -> None:
    """Write ``result`` as ``kind`` (``csv``, ``parquet`` or ``xplot``) into a new folder, complete or not at all.

    With ``force`` a folder is replaced that holds nothing else than files of this format. Raises InputError if the
    place is taken, cannot be written to, or the disk is full.
    """
    write, extension = FORMATS[kind]

    def ours(place: Path) -> bool:
        return all(f.is_file() and f.suffix == extension for f in place.iterdir())

    with staged(folder, force=force, ours=ours) as stage:
        write(result, stage)

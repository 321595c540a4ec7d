"""Tables for files that other programs read: each row names its run, and flows and queues have their names.

Rows of several runs can be put into one table, and a question to it needs no other file. The texts are the same in many
rows: in files, which have each once, they take next to no room.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from windtunnel import _core
from windtunnel.stored import parts_of
from windtunnel.table import KEYS, NAMES, stored

if TYPE_CHECKING:
    from windtunnel.result import RunResult


def write_table(
    result: RunResult, name: str, file: Path, scenario: str = "", about: Mapping[str, str] | None = None
) -> None:
    """Write the table ``name`` as Parquet, with the columns ``KEYS`` and ``NAMES`` of :mod:`windtunnel.table`.
    ``scenario``: what it is called without a title; ``about``: what the file says about itself.

    The name of a flow or a queue is null where its number is -1, which stands for all, and for connections that have
    no place in the summary.
    """
    run = zip(KEYS, (result.title or scenario, result.meta.get("seed"), result.digest), strict=True)
    if files := parts_of(result.tables, name):
        _core.merge_parts(file, files, list(run), dict(about or {}))
        return
    names = {
        number: (column, [str(record["name"]) for record in result.summary[f"{number}s"]])
        for number, column in NAMES.items()
    }
    _core.write_table(file, stored(result.tables[name]), list(run), names, dict(about or {}))

"""Rows of a run that are too many for memory: the folder into which they are written while the run goes on.

It is made when rows are to be written for the first time: most runs have too few. A part of a table is a file that is
complete, whatever ends the run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from windtunnel.stored import Files, StoredTables
from windtunnel.table import Table

if TYPE_CHECKING:
    from windtunnel.result import Tables
    from windtunnel.table import Column

#: The flows of a run, by name and controller.
Flows: TypeAlias = Sequence[tuple[str, str]]


class Place(Protocol):
    """Where the parts of a run are."""

    folder: Path | None
    """None as long as there are none."""

    def make(self, flows: Flows, queues: Sequence[str]) -> Path:
        """Make the folder for a run with these flows and queues."""
        ...

    def remove(self) -> None:
        """Remove the folder, if there is one."""
        ...


class Temporary:
    """A temporary folder, which goes when nothing refers to this object any more."""

    def __init__(self) -> None:
        self.folder: Path | None = None
        self.remove: Callable[[], Any] = lambda: None

    def make(self, flows: Flows, queues: Sequence[str]) -> Path:
        """Make the folder."""
        del flows, queues
        # Most runs need none, and no library that makes one.
        import shutil
        import tempfile
        import weakref

        self.folder = Path(tempfile.mkdtemp(prefix="windtunnel-"))
        self.remove = weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        return self.folder


def tables_of(tables: Mapping[str, Mapping[str, Column]], owner: Place) -> Tables:
    """The tables of a run: those that are in memory, and those whose rows have left it."""
    if owner.folder is None:
        return {name: Table(columns) for name, columns in tables.items()}
    left = tables_in(owner.folder)
    held = {name: Table(columns) for name, columns in tables.items() if name not in left}
    order = sorted({*tables, *left}, key=[*tables, *sorted(left)].index)
    return StoredTables({name: left.get(name) or held[name] for name in order}, owner=owner)


def tables_in(folder: Path) -> dict[str, Files]:
    """The parts of each table, in their order."""
    every = {each.name: tuple(sorted(each.glob("*.parquet"))) for each in sorted(folder.iterdir()) if each.is_dir()}
    return {name: files for name, files in every.items() if files}

"""Tables of a result that stay in their files until they are asked for.

A table with a row for each packet may be larger than the memory, and so may one with a row for each flow in each
interval of a long run. A function that needs its rows only once, one after the other, takes them in parts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, TypeAlias

from windtunnel.table import Table

#: Rows of a part: enough that the work for a part as such does not matter.
PART = 1 << 15

#: Tables with a row for each packet, which have neither intervals nor points: they are read in parts.
OF_PACKETS = ("packets", "payloads")

#: The files of a table: its rows one after the other.
Files: TypeAlias = tuple[Path, ...]


class StoredTables(Mapping[str, Table]):
    """Tables by name. One that is still in its files is read when it is asked for, which raises InputError if a file is
    damaged. ``owner`` keeps the files while they may be read: they are the parts of a run of this process.
    """

    def __init__(self, tables: Mapping[str, Table | Files], owner: object = None) -> None:
        self._files = {name: table for name, table in tables.items() if isinstance(table, tuple)}
        self._tables = {name: None if isinstance(table, tuple) else table for name, table in tables.items()}
        self._owner = owner

    def __getitem__(self, name: str) -> Table:
        table = self._tables[name]
        if table is None:
            from windtunnel.contract import read_table

            table = self._tables[name] = read_table(*self._files[name], name=name)
        return table

    def __contains__(self, name: object) -> bool:
        return name in self._tables

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    def files(self, name: str) -> Files:
        """The files of a table; none if it never was in any."""
        return self._files.get(name, ())

    def left(self, name: str) -> Files:
        """The parts of a table that left memory while its run went on; none of another one."""
        return self.files(name) if self._owner is not None else ()

    def parts(self, name: str, columns: Collection[str]) -> Iterator[Table]:
        """See :func:`parts`."""
        table = self._tables[name]
        if table is not None:
            return _slices(table, columns)
        from windtunnel.contract import read_parts

        return chain.from_iterable(read_parts(file, columns, PART, name=name) for file in self._files[name])

    @cached_property
    def coarse(self) -> Mapping[str, Table]:
        """See :func:`coarse`."""
        from windtunnel.coarse import coarse_table

        return {
            name: coarse_table(self, name) if len(self.files(name)) > 1 else self[name]
            for name in self._tables
            if not (name in OF_PACKETS and self.files(name))
        }


def parts(tables: Mapping[str, Mapping[str, Any]], name: str, columns: Collection[str]) -> Iterator[Table]:
    """The rows of a table in their order, in parts of at most :data:`PART`, with those of ``columns`` that it has.

    There is always a first part. No more than a part of a stored table is in memory.
    """
    return tables.parts(name, columns) if isinstance(tables, StoredTables) else _slices(Table(tables[name]), columns)


def parts_of(tables: Mapping[str, Table], name: str) -> Files:
    """The parts of a table that left memory while its run went on; none of another one."""
    return tables.left(name) if isinstance(tables, StoredTables) else ()


def coarse(tables: Mapping[str, Any]) -> Mapping[str, Any]:
    """The tables for a picture. One that left memory while the run went on has longer intervals, with the same sums,
    means and extremes; all others are as they are. Those of :data:`OF_PACKETS` are not there while they are in files.
    """
    return tables.coarse if isinstance(tables, StoredTables) else tables


def _slices(table: Table, columns: Collection[str]) -> Iterator[Table]:
    for first in range(0, max(table.rows, 1), PART):
        yield Table({name: table[name][first : first + PART] for name in columns if name in table})

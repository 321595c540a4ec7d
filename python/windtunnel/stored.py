"""Tables of a result folder that stay in their files until they are asked for.

A table with a row for each packet may be larger than the memory. A function that needs its rows only once, one
after the other, takes them in parts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from windtunnel.table import Table

#: Rows of a part: enough that the work for a part as such does not matter.
PART = 1 << 15


class StoredTables(Mapping[str, Table]):
    """Tables by name. One that is still in its file is read when it is asked for, which raises InputError if the
    file is damaged.
    """

    def __init__(self, tables: Mapping[str, Table | Path]) -> None:
        self._tables = dict(tables)

    def __getitem__(self, name: str) -> Table:
        table = self._tables[name]
        if isinstance(table, Path):
            from windtunnel.contract import read_table

            table = self._tables[name] = read_table(table)
        return table

    def __contains__(self, name: object) -> bool:
        return name in self._tables

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    def parts(self, name: str, columns: Collection[str]) -> Iterator[Table]:
        """See :func:`parts`."""
        table = self._tables[name]
        if not isinstance(table, Path):
            return _slices(table, columns)
        from windtunnel.contract import read_parts

        return read_parts(table, columns, PART)


def parts(tables: Mapping[str, Table], name: str, columns: Collection[str]) -> Iterator[Table]:
    """The rows of a table in their order, in parts of at most :data:`PART`, with those of ``columns`` that it has.

    There is always a first part. No more than a part of a stored table is in memory.
    """
    return tables.parts(name, columns) if isinstance(tables, StoredTables) else _slices(tables[name], columns)


def _slices(table: Table, columns: Collection[str]) -> Iterator[Table]:
    for first in range(0, max(table.rows, 1), PART):
        yield Table({name: table[name][first : first + PART] for name in columns if name in table})

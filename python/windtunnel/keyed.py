"""Tables for files that other programs read: each row names its run, and flows and queues have their names.

Rows of several runs can be put into one table, and a question to it needs no other file. The texts are the same in many
rows: as dictionaries they take next to no room.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

    from windtunnel.result import RunResult

#: Columns of the run, before all others.
KEYS = ("scenario", "seed", "digest")
#: Columns of names, each behind the column of numbers that it names.
NAMES = {"flow": "flow_name", "queue": "queue_name"}


def keyed_table(result: RunResult, name: str, scenario: str = "") -> pa.Table:
    """The table ``name`` with the columns :data:`KEYS` and :data:`NAMES`. ``scenario``: what it is called without a
    title.

    The name of a flow or a queue is null where its number is -1, which stands for all, and for connections that have
    no place in the summary.
    """
    import numpy as np

    from windtunnel import arrow

    table = result.table(name)
    for number, column in NAMES.items():
        if number in table.column_names:
            index = table.column_names.index(number) + 1
            names = [str(record["name"]) for record in result.summary[f"{number}s"]]
            table = table.add_column(index, column, _named(result, name, number, names))
    seed = result.meta.get("seed")
    seeds = np.full(table.num_rows, 0 if seed is None else seed, dtype=np.uint64)
    unknown = np.full(table.num_rows, seed is None)
    columns = (_same(result.title or scenario, table), arrow.numbers(seeds, unknown), _same(result.digest, table))
    for index, same in enumerate(columns):
        table = table.add_column(index, KEYS[index], same)
    return table


def write_table(table: pa.Table, file: Path) -> None:
    """Write a table as Parquet.

    Numbers of 64 bits and bytes are hardly ever the same in many rows: to look for those that are would take longer
    than all else, and files become smaller without.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    wide = {field.name for field in table.schema if pa.types.is_large_binary(field.type) or field.type.bit_width == 64}
    repeated = [name for name in table.column_names if name not in wide]
    pq.write_table(table, file, compression="zstd", use_dictionary=repeated)


def _same(text: str, table: pa.Table) -> pa.DictionaryArray:
    """The same text in each row of a table."""
    import numpy as np
    import pyarrow as pa

    from windtunnel import arrow

    places = arrow.numbers(np.zeros(table.num_rows, dtype=np.int32))
    return pa.DictionaryArray.from_arrays(places, arrow.texts([text]))


def _named(result: RunResult, name: str, number: str, names: Sequence[str]) -> pa.DictionaryArray:
    """The names of a column of numbers."""
    import numpy as np
    import pyarrow as pa

    from windtunnel import arrow

    numbers = np.asarray(result.tables[name][number], dtype=np.int64)
    unnamed = (numbers < 0) | (numbers >= len(names))
    places = arrow.numbers(np.where(unnamed, 0, numbers).astype(np.int32), unnamed)
    return pa.DictionaryArray.from_arrays(places, arrow.texts(names))

"""The tables of state, ``cc`` and ``aqm``: which numbers they hold, and in which unit each is.

Each number has its own column, named by the algorithm that reports it; the name ends in the unit, if there is one.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from windtunnel.errors import InputError

Tables = Mapping[str, Mapping[str, npt.NDArray[np.generic]]]

#: The tables, with the column that says whose state a row has.
STATE_TABLES: Mapping[str, str] = {"cc": "flow", "aqm": "queue", "qdisc": "queue"}

# Columns that say when and whose a row is, and are not state.
_KEYS = ("time_s", "flow", "queue", "band")
_UNITS = {
    "s": "s",
    "ms": "ms",
    "bytes": "bytes",
    "segments": "segments",
    "packets": "packets",
    "mbps": "Mbit/s",
    "seq": "sequence number",
}


def state_numbers(tables: Tables, table: str) -> list[str]:
    """The numbers in ``table`` that have a value anywhere; the first is one that changes, if any does."""
    rows = tables.get(table, {})
    entries = []
    for name, values in rows.items():
        if name not in _KEYS:
            finite = np.asarray(values, dtype=np.float64)
            finite = finite[np.isfinite(finite)]
            if len(finite):
                entries.append((bool(np.ptp(finite) == 0), name))
    return [name for _, name in sorted(entries, key=lambda entry: entry[0])]


def state_unit(name: str) -> str:
    """The unit of a number; empty without one."""
    _, _, suffix = name.rpartition("_")
    return _UNITS.get(suffix, "") if suffix != name else ""


def find_state(tables: Tables, name: str) -> tuple[str, str]:
    """The table and column that ``name`` stands for: ``w_max_bytes``, or ``cc.w_max_bytes`` to be exact.

    Raises InputError if the run did not record it.
    """
    wanted, _, column = name.rpartition(".")
    for table in STATE_TABLES:
        if wanted in ("", table) and column in state_numbers(tables, table):
            return table, column
    there = [f"{table}.{column}" for table in STATE_TABLES for column in state_numbers(tables, table)]
    hint = f"; there are {', '.join(there)}" if there else ': it was recorded with `record.state = "off"`'
    raise InputError(f"the run has no state {name!r}{hint}")

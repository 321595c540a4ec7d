"""The table of packets, a part at a time, in the order and with the types in which the core's exporters read it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from windtunnel.errors import InputError
from windtunnel.result import RunResult
from windtunnel.stored import PART, parts
from windtunnel.table import Table

#: Places of observation, in the order of the column ``tap``.
POINTS = ("sender", "queue-in", "queue-out", "receiver")

#: The columns that the core reads, with their types.
_COLUMNS: dict[str, type[np.generic]] = {
    **dict.fromkeys(("t_ns", "id", "copy_of", "seq", "ack", "ts_val_ns", "ts_ecr_ns", "window"), np.uint64),
    **dict.fromkeys((f"sack{n}_{edge}" for n in (1, 2, 3, 4) for edge in ("start", "end")), np.uint64),
    **dict.fromkeys(("cwnd", "ssthresh", "srtt_ns", "in_flight"), np.uint64),
    **dict.fromkeys(("queue", "flow", "connection", "size", "payload", "flags"), np.uint32),
    **dict.fromkeys(("accecn1", "accecn2", "accecn3"), np.uint32),
    **dict.fromkeys(("mds", "ack_rate", "accecn_kind", "accecn_n", "window_scale"), np.uint8),
    **dict.fromkeys(("tap", "dir", "proto", "ecn", "dscp", "sack_n", "drop", "state", "limit"), np.uint8),
    "retransmission": np.bool_,
}


def check_recorded(result: RunResult) -> None:
    """Raises InputError if the run has no packets."""
    if "packets" not in result.tables:
        raise InputError(
            "the result has no packets to export: run the scenario with `packets = true` in [record], "
            "or with --set record.packets=true"
        )


def packet_parts(result: RunResult) -> Iterator[dict[str, npt.NDArray[np.generic]]]:
    """The packets in order of time, as analysers expect them, a part at a time."""
    if _in_order(result):
        yield from map(_columns, parts(result.tables, "packets", _COLUMNS))
        return
    # No run has recorded them in another order: they were rearranged later.
    table = _columns(result.tables["packets"])
    order = np.argsort(table["t_ns"], kind="stable")
    for first in range(0, len(order), PART):
        rows = order[first : first + PART]
        yield {name: values[rows] for name, values in table.items()}


def _in_order(result: RunResult) -> bool:
    last: int | np.generic = 0
    for part in parts(result.tables, "packets", ["t_ns"]):
        time = part.get("t_ns", np.empty(0, np.uint64))
        if len(time) and (time[0] < last or np.any(time[1:] < time[:-1])):
            return False
        last = time[-1] if len(time) else last
    return True


def _columns(table: Table) -> dict[str, npt.NDArray[np.generic]]:
    """The columns with the types that the core reads."""
    # Only runs in which connections arrive tell these from flows.
    if "connection" not in table and "flow" in table:
        table = Table({**table, "connection": table["flow"]})
    if missing := [name for name in _COLUMNS if name not in table]:
        raise InputError(f"the packets of the result lack {', '.join(missing)}: was it made by another version?")
    if broken := [name for name in _COLUMNS if table[name].dtype.kind not in "iub"]:
        raise InputError(f"the packets of the result have no whole numbers in {', '.join(broken)}")
    return {name: np.ascontiguousarray(table[name], dtype) for name, dtype in _COLUMNS.items()}

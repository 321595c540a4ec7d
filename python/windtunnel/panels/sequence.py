"""The time-sequence graph, as tcptrace draws it: what each flow sent, sent again, and what was acknowledged.

It needs recorded packets (``record.packets = true``).
"""

from __future__ import annotations

import numpy as np

from windtunnel.panels.groups import NAMED
from windtunnel.panels.model import Choice, Look, Panel, Series
from windtunnel.panels.run import Run
from windtunnel.panels.tables import Table, rows
from windtunnel.panels.units import SIZES, greatest, suited

TITLE = "Time-Sequence Graph"
_SENDER, _TCP = 0, 6
_SENT, _AGAIN, _ACKED = Look("blue", "circle"), Look("red", "cross"), Look("green", "square")


def panel(run: Run) -> Panel | None:
    """The panel: a choice for each of the first flows; None where packets were not recorded."""
    table = rows(run.tables, "packets")
    if not table:
        return None
    at_sender = (np.asarray(table["tap"]) == _SENDER) & (np.asarray(table["proto"]) == _TCP)
    flows = np.unique(np.asarray(table["flow"])[at_sender & (np.asarray(table["payload"]) > 0)])[:NAMED]
    choices = tuple(choice for flow in flows if (choice := _choice(run, table, at_sender, int(flow))) is not None)
    if not choices:
        return None
    return Panel(
        "sequence", TITLE, choices[0].unit, choices[0].series, quantity="Sequence number", kind="points",
        choices=choices, shown=False, note="As at the sender: a segment at its last byte, an ACK when it arrives.",
    )  # fmt: skip


def _choice(run: Run, table: Table, at_sender: np.ndarray, flow: int) -> Choice | None:
    mine = at_sender & (np.asarray(table["flow"]) == flow)
    time = np.asarray(table["t_ns"], dtype=np.float64) / 1e9
    end = np.asarray(table["seq"], dtype=np.float64) + np.asarray(table["payload"], dtype=np.float64)
    again = np.asarray(table["retransmission"], dtype=np.bool_)
    data = mine & (np.asarray(table["dir"]) == 0) & (np.asarray(table["payload"]) > 0)
    acks = mine & (np.asarray(table["dir"]) == 1)
    ack = np.asarray(table["ack"], dtype=np.float64)
    unit, factor = suited(SIZES, greatest([end[data]]))
    parts = (
        ("sent", "sent", _SENT, data & ~again, end),
        ("again", "sent again", _AGAIN, data & again, end),
        ("acked", "acknowledged", _ACKED, acks, ack),
    )
    series = tuple(
        Series(key, label, look, time[part], values[part] / factor)
        for key, label, look, part, values in parts
        if part.any()
    )
    return Choice(run.flow(flow), unit, series) if series else None

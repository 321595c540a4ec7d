"""Panels of recorded packets (``record.packets = true``): one-way delays, and the time-sequence graph."""

from __future__ import annotations

import numpy as np

from windtunnel.distinct import distinct
from windtunnel.panels.groups import NAMED
from windtunnel.panels.model import Choice, Look, Panel, Series
from windtunnel.panels.run import Run
from windtunnel.panels.tables import Samples, Table, rows
from windtunnel.panels.units import SIZES, greatest, suited

#: Where packets are recorded, and the number of a protocol.
_SENDER, _RECEIVER, _TCP = 0, 3, 6
_SENT, _AGAIN, _ACKED = Look("blue", "circle"), Look("red", "cross"), Look("green", "square")


def delays(run: Run) -> list[Samples]:
    """Seconds of arrival, and delay in ms, of each data packet of each flow."""
    table = rows(run.tables, "packets")
    if not table:
        return []
    forward = np.asarray(table["dir"]) == 0
    sent = forward & (np.asarray(table["tap"]) == _SENDER)
    arrived = np.flatnonzero(forward & (np.asarray(table["tap"]) == _RECEIVER))
    ids, times = np.asarray(table["id"]), np.asarray(table["t_ns"], dtype=np.int64)
    # A copy that a medium made has no row at the sender: its time is that of the packet it was made of.
    order = np.argsort(ids[sent], kind="stable")
    origin, started = ids[sent][order], times[sent][order]
    of = np.where(np.asarray(table["copy_of"])[arrived] > 0, np.asarray(table["copy_of"])[arrived], ids[arrived])
    index = np.minimum(np.searchsorted(origin, of), max(len(origin) - 1, 0))
    matched = origin[index] == of if len(origin) else np.zeros(len(of), dtype=np.bool_)
    arrived, index = arrived[matched], index[matched]
    delay = (times[arrived] - started[index]) / 1e6
    flow = np.asarray(table["flow"], dtype=np.int64)[arrived]
    return [Samples(int(one), times[arrived][flow == one] / 1e9, delay[flow == one]) for one in distinct(flow)]


def one_way_delay(run: Run) -> Panel | None:
    """The panel of one-way delays, from the sender to the receiver; None where packets were not recorded."""
    series = tuple(
        Series(f"flow{s.index}", run.flow(s.index), run.look(s.index), s.t, s.y, flow=s.index) for s in delays(run)
    )
    if not series:
        return None
    return Panel("one_way_delay", "One-Way Delay", "ms", series, kind="points", shown=False)


def sequence(run: Run) -> Panel | None:
    """The time-sequence graph, as tcptrace draws it: what each flow sent, sent again, and what was acknowledged.

    A choice for each of the first flows; None where packets were not recorded.
    """
    table = rows(run.tables, "packets")
    if not table:
        return None
    at_sender = (np.asarray(table["tap"]) == _SENDER) & (np.asarray(table["proto"]) == _TCP)
    flows = distinct(np.asarray(table["flow"])[at_sender & (np.asarray(table["payload"]) > 0)])[:NAMED]
    choices = tuple(choice for flow in flows if (choice := _choice(run, table, at_sender, int(flow))) is not None)
    if not choices:
        return None
    return Panel(
        "sequence", "Time-Sequence Graph", choices[0].unit, choices[0].series, quantity="Sequence number",
        kind="points", choices=choices, shown=False,
        note="As at the sender: a segment at its last byte, an ACK when it arrives.",
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

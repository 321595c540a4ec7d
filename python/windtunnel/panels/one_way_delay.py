"""One-way delay of packets, from the sender to the receiver: where every packet was recorded."""

from __future__ import annotations

import numpy as np

from windtunnel.panels.model import Panel, Series
from windtunnel.panels.run import Run
from windtunnel.panels.tables import Samples, rows

TITLE = "One-Way Delay"
_SENDER, _RECEIVER = 0, 3


def samples(run: Run) -> list[Samples]:
    """Seconds of arrival, and delay in ms, of each data packet of each flow."""
    table = rows(run.tables, "packets")
    if not table:
        return []
    forward = np.asarray(table["dir"]) == 0
    sent = forward & (np.asarray(table["tap"]) == _SENDER)
    arrived = np.flatnonzero(forward & (np.asarray(table["tap"]) == _RECEIVER))
    ids, times = np.asarray(table["id"]), np.asarray(table["t_ns"], dtype=np.int64)
    # A copy that a medium made has no row at the sender: its time is that of the packet it was made of.
    known = np.argsort(ids[sent], kind="stable")
    origin, started = ids[sent][known], times[sent][known]
    of = np.where(np.asarray(table["copy_of"])[arrived] > 0, np.asarray(table["copy_of"])[arrived], ids[arrived])
    place = np.minimum(np.searchsorted(origin, of), max(len(origin) - 1, 0))
    found = origin[place] == of if len(origin) else np.zeros(len(of), dtype=np.bool_)
    arrived, place = arrived[found], place[found]
    delay = (times[arrived] - started[place]) / 1e6
    flow = np.asarray(table["flow"], dtype=np.int64)[arrived]
    return [Samples(int(one), times[arrived][flow == one] / 1e9, delay[flow == one]) for one in np.unique(flow)]


def panel(run: Run) -> Panel | None:
    """The panel; None where packets were not recorded."""
    series = tuple(
        Series(f"flow{s.index}", run.flow(s.index), run.look(s.index), s.t, s.y, flow=s.index) for s in samples(run)
    )
    if not series:
        return None
    return Panel("one_way_delay", TITLE, "ms", series, kind="points", shown=False)

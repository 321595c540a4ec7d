"""Numbers of captured packets (``record.packets``): order of arrival, volume of ACKs, what their flags say.

``start`` and ``stop`` limit the time of arrival in seconds. The view names one flow.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from windtunnel.papers.features.method import method
from windtunnel.papers.features.view import View, flow_numbers

#: Points of capture and directions, as the recorder numbers them.
SENDER, RECEIVER = 0, 3
DATA, ACK = 0, 1
#: The former NS flag, now AE: ESCE, where MDS was negotiated. SYN.
ESCE, SYN = 0x100, 0x002
#: ECN fields.
SCE = 1

Columns = dict[str, npt.NDArray[np.generic]]


def _packets(view: View, tap: int, direction: int, start: float, stop: float) -> Columns:
    table = view.run.tables["packets"]
    (flow,) = flow_numbers(view.flow)
    time = np.asarray(table["t_ns"], dtype=np.float64) * 1e-9
    keep = (np.asarray(table["flow"]) == flow) & (np.asarray(table["tap"]) == tap)
    keep &= (np.asarray(table["dir"]) == direction) & (time >= start) & (time < stop)
    keep &= np.asarray(table["flags"], dtype=np.int64) & SYN == 0
    return {name: np.asarray(table[name])[keep] for name in ("id", "seq", "ack", "payload", "flags", "ecn")}


def extents(ids: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """The reordering extent of each packet, in order of arrival: 0 if no later one arrived before it.

    It is the number of packets that arrived since the first of those that were sent later (RFC 4737 section 4.2.1).
    ``ids`` ascend in the order of sending.
    """
    x = np.asarray(ids, dtype=np.int64)
    highest = np.maximum.accumulate(x)
    # The running maximum ascends: the first arrival above x is where it first exceeds x.
    return np.asarray(np.where(x < highest, np.arange(len(x)) - np.searchsorted(highest, x, "right"), 0))


@method
def reordered_share(view: View, start: float, stop: float) -> float:
    """Share of the data packets that arrive after a later one, in percent."""
    extent = extents(_packets(view, RECEIVER, DATA, start, stop)["id"])
    return 100.0 * float(np.mean(extent > 0)) if len(extent) else math.nan


@method
def reordering_extent(view: View, quantile: float, start: float, stop: float) -> float:
    """Quantile of the extent of the packets that are reordered; 0 if none is."""
    extent = extents(_packets(view, RECEIVER, DATA, start, stop)["id"])
    late = extent[extent > 0]
    return float(np.quantile(late, quantile)) if len(late) else 0.0


@method
def acks_per_segment(view: View, start: float, stop: float) -> float:
    """ACKs that the receiver sends for each data packet that arrives."""
    arrived = len(_packets(view, RECEIVER, DATA, start, stop)["id"])
    return len(_packets(view, RECEIVER, ACK, start, stop)["id"]) / arrived if arrived else math.nan


@method
def marked_share(view: View, start: float, stop: float) -> float:
    """Share of the data packets that arrive with SCE, from 0 to 1."""
    ecn = _packets(view, RECEIVER, DATA, start, stop)["ecn"]
    return float(np.mean(np.asarray(ecn) == SCE)) if len(ecn) else math.nan


@method
def mark_flips(view: View, start: float, stop: float) -> float:
    """Changes between marked and unmarked from one data packet to the next, per packet."""
    marked = np.asarray(_packets(view, RECEIVER, DATA, start, stop)["ecn"]) == SCE
    return float(np.mean(marked[1:] != marked[:-1])) if len(marked) > 1 else math.nan


@method
def echoed_share(view: View, start: float, stop: float) -> float:
    """Bytes that ACKs with ESCE acknowledge, over the bytes that arrive with SCE."""
    acks = _packets(view, RECEIVER, ACK, start, stop)
    number = np.asarray(acks["ack"], dtype=np.float64)
    new = np.diff(np.maximum.accumulate(number)) if len(number) else number
    echo = np.asarray(acks["flags"], dtype=np.int64)[1:] & ESCE > 0
    data = _packets(view, RECEIVER, DATA, start, stop)
    marked = float(np.sum(np.asarray(data["payload"], dtype=np.float64)[np.asarray(data["ecn"]) == SCE]))
    return float(np.sum(new[echo])) / marked if marked else math.nan


@method
def most_copies(view: View) -> float:
    """How often the segment was sent that the view's flows sent most often, as captured at the sender."""
    table = view.run.tables["packets"]
    flow, seq, tap, way, payload = (np.asarray(table[c]) for c in ("flow", "seq", "tap", "dir", "payload"))
    mine = (
        (tap == SENDER)
        & (way == DATA)
        & (np.asarray(payload, dtype=np.int64) > 0)
        & np.isin(flow, flow_numbers(view.flow))
    )
    if not mine.any():
        return math.nan
    return float(np.unique(np.stack([flow[mine], seq[mine]]), axis=1, return_counts=True)[1].max())

"""Signs of misbehaviour: of receivers that want to be served faster, and of senders that do not yield
(``yielding.py``).

Savage, Cardwell, Wetherall and Anderson, "TCP Congestion Control with a Misbehaving Receiver" (CCR 29(5), 1999)
describe the three attacks with acknowledgements; RFC 3540 section 1 the marks that a receiver hides. A sign is a count
of packets that an honest end does not send. What the capture point cannot see is said to be invisible, not absent; and
data that the capture has missed are no sign: an honest receiver acknowledges them too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from windtunnel.explain.limits import Codes
from windtunnel.explain.rounds import Rounds, echoes
from windtunnel.explain.shadows import Shadows
from windtunnel.explain.trace import AHEAD, BEFORE_DATA, DSACK, DUPLICATE, NEW, PARTIAL, Columns, Flow, stretches
from windtunnel.explain.yielding import yielding

#: Fewer than this are accidents.
_LEAST = 3
_CE = 3
#: A host may take this long to answer, or to accept a connection: shorter differences say nothing of the path.
_HOST_NS = 1e6


def misbehaviour(
    flow: Flow, rounds: Rounds, codes: Codes | None, heard: Shadows | None, controller: Mapping[str, Any]
) -> list[dict[str, Any]] | None:
    """Each sign: ``sign``, ``found`` (True, False, or None where it cannot be seen from here), ``count``,
    ``evidence``. ``controller``: what the classifier says about the sender.
    """
    if flow.sends is None or flow.acks is None or not len(flow.acks["t_ns"]):
        return None
    return [
        *(_NOT_IN_LOGS if flow.logged else (_division(flow), _spoofing(flow))),
        _optimistic(flow),
        _hidden_marks(flow),
        yielding(flow, rounds, codes, heard, controller),
    ]


def _sign(sign: str, present: bool | None, count: int, evidence: str) -> dict[str, Any]:
    return {"sign": sign, "found": present, "count": count, "evidence": evidence}


#: In a log, acknowledgements name packets.
_NOT_IN_LOGS = (
    _sign("ACK division", None, 0, "a packet is acknowledged whole"),
    _sign("duplicate-ACK spoofing", None, 0, "a packet is acknowledged by its number"),
)


def _division(flow: Flow) -> dict[str, Any]:
    """Acknowledgements that end within a full segment, and acknowledge less than one."""
    acks = flow.acks
    assert acks is not None
    new = acks["acked"] > 0
    divided = new & ((acks["kind"] & PARTIAL) > 0) & (acks["acked"] < 0.9 * flow.mss)
    count = int(divided.sum())
    present = count >= _LEAST and count > 0.05 * int(new.sum())
    return _sign("ACK division", present, count, f"{count} of {int(new.sum())} acknowledgements end within a segment")


def _spoofing(flow: Flow) -> dict[str, Any]:
    """More duplicates for one number than segments were in flight above it to cause them."""
    acks, sends = flow.acks, flow.sends
    assert acks is not None and sends is not None
    duplicate = ((acks["kind"] & DUPLICATE) > 0) & ((acks["kind"] & DSACK) == 0)
    end = max((int(_ends(sends, part).max()) for part in stretches(len(sends["seq"]))), default=0)
    # Above the end of all that was captured (and a FIN) it is not known what was sent.
    duplicate &= acks["ack"] <= end + 1
    numbers, times = acks["ack"][duplicate], acks["t_ns"][duplicate]
    # The last duplicate of each number is the first of the reversed column.
    values, index, counts = np.unique(numbers[::-1], return_index=True, return_counts=True)
    if not len(values):
        return _sign("duplicate-ACK spoofing", False, 0, "no duplicate acknowledgements")
    last = times[::-1][index]
    first = acks["t_ns"][np.searchsorted(acks["ack"], values)]
    rtt = acks["rtt_ns"][acks["rtt_ns"] > 0]
    span = np.uint64(rtt.max() if len(rtt) else 0)
    # Segments sent since a round trip before the first duplicate could be what caused them: every one that arrives
    # above a hole causes one, and each retransmission may cause one more. A hole in the capture shows with the next
    # segment that was captured.
    sent_at = sends["t_ns"]
    since, until = np.searchsorted(sent_at, first - np.minimum(first, span)), np.searchsorted(sent_at, last, "right")
    payload, missed = sends["payload"], _missed(sends)
    possible = _between(since, until, len(sent_at), lambda part: np.maximum(np.ceil(payload[part] / flow.mss), 1))
    until = np.searchsorted(sent_at, last + span, "right")
    possible += _between(since, until, len(sent_at), lambda part: np.ceil(missed(part) / flow.mss))
    excess = np.maximum(counts - possible, 0)
    # Nothing above the number was sent, nor acknowledged later: nothing could have arrived out of order.
    nothing_above = counts[(values >= end) & (values >= acks["ack"].max())].sum() if end else 0
    count = int(excess.sum() + nothing_above)
    return _sign(
        "duplicate-ACK spoofing",
        count >= _LEAST,
        count,
        f"{count} duplicates beyond the segments that could cause them",
    )


def _ends(sends: Columns, part: slice) -> npt.NDArray[np.int64]:
    return np.asarray(sends["seq"][part].astype(np.int64) + sends["payload"][part].astype(np.int64))


def _between(
    since: npt.NDArray[Any], until: npt.NDArray[Any], rows: int, counts: Callable[[slice], npt.NDArray[Any]]
) -> npt.NDArray[np.float64]:
    """The sum of the counts of rows from each of ``since`` up to ``until``. The counts of each stretch are asked for
    once, in order.
    """
    edges, before = np.concatenate([since, until]), 0.0
    sums = np.zeros(len(edges))
    for part in stretches(rows):
        running = np.concatenate([[0], np.cumsum(counts(part))])
        here = (edges > part.start) & (edges <= part.stop)
        sums[here] = before + running[edges[here] - part.start]
        before += float(running[-1])
    return sums[len(since) :] - sums[: len(since)]


def _missed(sends: Columns) -> Callable[[slice], npt.NDArray[np.int64]]:
    """Before each segment, the data that the capture has missed: those between it and the end of all before it."""
    reached = int(sends["seq"][0]) if len(sends["seq"]) else 0

    def of(part: slice) -> npt.NDArray[np.int64]:
        nonlocal reached
        new = sends["kind"][part] == NEW
        ends = np.maximum.accumulate(np.concatenate([[reached], np.where(new, _ends(sends, part), 0)]))
        reached = int(ends[-1])
        return np.where(new, np.maximum(sends["seq"][part].astype(np.int64) - ends[:-1], 0), 0)

    return of


def _optimistic(flow: Flow) -> dict[str, Any]:
    """Acknowledgements of data that were not sent yet, or sooner than the path lets them come back."""
    acks = flow.acks
    assert acks is not None
    ahead = int(((acks["kind"] & BEFORE_DATA) > 0).sum())
    missed = int(((acks["kind"] & AHEAD) > 0).sum()) - ahead
    unseen = f", {missed} acknowledge data that were not captured" if missed else ""
    if not flow.at_sender:
        what = f"{ahead} acknowledge data before they pass{unseen}"
        return _sign("optimistic ACKs", True if ahead >= _LEAST else None, ahead, what)
    rtt = acks["rtt_ns"][acks["rtt_ns"] > 0].astype(float)
    handshake = flow.handshake_s
    early = 0
    # A handshake that met a full queue or jitter took longer than the path does. Later samples show such a path: they
    # take as long. On a path that never does, the handshake says how far the receiver is.
    if handshake and len(rtt) and rtt.max() + _HOST_NS < 1e9 * handshake:
        early = int(np.sum(rtt + _HOST_NS < 0.5e9 * handshake))
    count = ahead + early
    what = f"{ahead} acknowledge data before they were sent"
    if handshake:
        what += f", {early} come back in less than half of the handshake's round trip"
    what += unseen
    return _sign("optimistic ACKs", count >= _LEAST, count, what)


def _hidden_marks(flow: Flow) -> dict[str, Any]:
    """Packets that were marked CE in front of the capture point, while no acknowledgement reports it."""
    acks, sends = flow.acks, flow.sends
    assert acks is not None and sends is not None
    marked = int(np.sum(sends["ecn"] == _CE))
    received = flow.series.get("ce") if flow.series is not None else None
    if received is not None:
        marked = max(marked, int(np.nansum(received)))
    told = int(echoes(flow, acks).sum())
    if marked < _LEAST:
        return _sign("hidden marks", None, 0, "no marked packet passes the capture point")
    return _sign(
        "hidden marks", told == 0, marked, f"{marked} packets marked CE, {told} acknowledgements that report it"
    )

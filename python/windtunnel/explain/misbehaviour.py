"""Signs of misbehaviour: of receivers that want to be served faster, and of senders that do not yield.

Savage, Cardwell, Wetherall and Anderson, "TCP Congestion Control with a Misbehaving Receiver" (CCR 29(5), 1999)
describe the three attacks with acknowledgements; RFC 3540 section 1 the marks that a receiver hides. A sign is a count
of packets that an honest end does not send. What the capture point cannot see is said to be invisible, not absent; and
data that the capture has missed are no sign: an honest receiver acknowledges them too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from windtunnel.explain.rounds import Rounds, echoes
from windtunnel.explain.trace import AHEAD, BEFORE_DATA, DSACK, DUPLICATE, NEW, PARTIAL, Columns, Flow

#: Fewer than this are accidents.
_LEAST = 3
_CE = 3
#: A host may take this long to answer, or to accept a connection: shorter differences say nothing of the path.
_HOST_NS = 1e6
#: Round trips within which a loss lowers the window; the part of the window that counts as the same; the segments below
#: which a window cannot fall by much.
_ANSWER, _SAME, _SMALL = 3, 0.95, 6


def misbehaviour(flow: Flow, rounds: Rounds) -> list[dict[str, Any]] | None:
    """Each sign: ``sign``, ``found`` (True, False, or None where it cannot be seen from here), ``count``,
    ``evidence``.
    """
    if flow.sends is None or flow.acks is None or not len(flow.acks["t_ns"]):
        return None
    return [
        *(_NOT_IN_LOGS if flow.logged else (_division(flow), _spoofing(flow))),
        _optimistic(flow),
        _hidden_marks(flow),
        _ignoring(rounds),
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
    ends = np.sort(sends["seq"] + sends["payload"])
    # Above the end of all that was captured (and a FIN) it is not known what was sent.
    duplicate &= acks["ack"] <= (ends[-1] if len(ends) else 0) + 1
    numbers = acks["ack"][duplicate]
    values, counts = np.unique(numbers, return_counts=True)
    if not len(values):
        return _sign("duplicate-ACK spoofing", False, 0, "no duplicate acknowledgements")
    # Every segment that arrives above a hole causes one; each retransmission may cause one more.
    pieces = _before(np.maximum(np.ceil(sends["payload"] / flow.mss), 1))
    missed = _before(np.ceil(_missed(sends) / flow.mss))
    first = np.array([acks["t_ns"][np.searchsorted(acks["ack"], value)] for value in values])
    last = np.array([acks["t_ns"][duplicate][numbers == value].max() for value in values])
    order = np.sort(sends["t_ns"])
    rtt = acks["rtt_ns"][acks["rtt_ns"] > 0]
    span = int(rtt.max()) if len(rtt) else 0
    # Segments sent since a round trip before the first duplicate could be what caused them.
    since = np.searchsorted(order, np.where(first > span, first - np.uint64(span), 0))
    possible = pieces[np.searchsorted(order, last, "right")] - pieces[since]
    # A hole in the capture shows with the next segment that was captured.
    possible += missed[np.searchsorted(order, last + np.uint64(span), "right")] - missed[since]
    excess = np.maximum(counts - possible, 0)
    # Nothing above the number was sent, nor acknowledged later: nothing could have arrived out of order.
    nothing_above = counts[(values >= ends[-1]) & (values >= acks["ack"].max())].sum() if len(ends) else 0
    count = int(excess.sum() + nothing_above)
    return _sign(
        "duplicate-ACK spoofing",
        count >= _LEAST,
        count,
        f"{count} duplicates beyond the segments that could cause them",
    )


def _before(counts: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """How many there were before each departure, and before the end."""
    return np.concatenate([[0], np.cumsum(counts)])


def _missed(sends: Columns) -> npt.NDArray[np.int64]:
    """Before each segment, the data that the capture has missed: those between it and the end of all before it."""
    seq, new = sends["seq"].astype(np.int64), sends["kind"] == NEW
    ends = np.maximum.accumulate(np.where(new, seq + sends["payload"].astype(np.int64), 0))
    reached = np.concatenate([seq[:1], ends])[:-1]
    return np.where(new, np.maximum(seq - reached, 0), 0) if len(seq) else seq


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
    if handshake and len(rtt):
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


def _ignoring(rounds: Rounds) -> dict[str, Any]:
    """Losses and marks after which the window stays as it was. BBR does so too, within its loss bounds."""
    hit = (rounds.lost > 0) | (rounds.marked > 0)
    kept, n = [], 1
    while n + _ANSWER < len(rounds):
        before = float(rounds.window[n - 1])
        if hit[n] and before > _SMALL:
            kept.append(float(rounds.window[n + 1 : n + 1 + _ANSWER].max()) / before)
            n += _ANSWER
        n += 1
    if len(kept) < _LEAST:
        return _sign("sender ignores losses", None, 0, f"{len(kept)} losses or marks with a window before and after")
    without = sum(part > _SAME for part in kept)
    return _sign(
        "sender ignores losses",
        without > 0.8 * len(kept),
        without,
        f"{without} of {len(kept)} losses or marks did not lower the window (BBR version 1 does so too)",
    )

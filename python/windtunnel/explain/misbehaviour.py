"""Signs of misbehaviour: of receivers that want to be served faster, and of senders that do not yield.

Savage, Cardwell, Wetherall and Anderson, "TCP Congestion Control with a Misbehaving Receiver" (CCR 29(5), 1999)
describe the three attacks with acknowledgements; RFC 3540 section 1 the marks that a receiver hides. A sign is a count
of packets that an honest end does not send. What the capture point cannot see is said to be invisible, not absent; and
data that the capture has missed are no sign: an honest receiver acknowledges them too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from windtunnel.explain.rounds import Rounds, echoes
from windtunnel.explain.trace import AHEAD, BEFORE_DATA, DSACK, DUPLICATE, NEW, PARTIAL, Columns, Flow, stretches

#: Fewer than this are accidents.
_LEAST = 3
_CE = 3
#: A host may take this long to answer, or to accept a connection: shorter differences say nothing of the path.
_HOST_NS = 1e6
#: The weight of the newest round trip in the moving average of the marked share (RFC 8257 section 3.3, g), and the
#: average from which on an answer must show: it is a fall by a quarter. Linux computes in 1024ths: once its average has
#: fallen below a 64th, shares below a quarter no longer raise it, and the window stays as it is.
_G, _MARKS_THAT_SHOW = 1 / 16, 0.5
#: Round trips within which a loss lowers the window; the part of the window that counts as the same; the segments below
#: which a window cannot fall by much.
_ANSWER, _SAME, _SMALL = 3, 0.95, 6
#: The part of marks, and that of losses, that a sender leaves without an answer by accident.
_MARKS_LEFT, _LOSSES_LEFT = 0.8, 0.5
#: The lost part of what is sent up to which a sender may keep its rate (BBR's LossThresh, draft-ietf-ccwg-bbr), over a
#: few round trips; the part of the round trips in which a sender that yields does not lose more; and the fewest round
#: trips that show it.
_TOLERATED, _OVER, _GOING_ON, _LEAST_ROUNDS = 0.02, 4, 0.5, 12


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


def share_of_marks(rounds: Rounds) -> npt.NDArray[np.float64]:
    """DCTCP's alpha after each round trip, from 1 (RFC 8257 section 4.2); 0 for those without a mark."""
    alpha, out = 1.0, np.zeros(len(rounds))
    for n, share in enumerate(rounds.marked):
        alpha += _G * (float(share) - alpha)
        out[n] = alpha if share > 0 else 0.0
    return out


def _ignoring(rounds: Rounds) -> dict[str, Any]:
    """Losses and marks after which the window stays as it was.

    A loss that is not answered accuses no one by itself: BBR, Copa and PCC answer rates and delays, not single losses,
    and Illinois, which falls by an eighth where there is no queue, is back within the round trips that count. They have
    in common that no more than a tolerated part is lost for long. A deaf sender lets losses go on. (BBR version 1 does
    so too where it meets a short queue.)

    An answer to a few marks may be too small to be seen: DCTCP (RFC 8257) lowers its window by half of the moving
    average of the marked share. Marks count where that is a fall that shows, as it is for a sender that lets them go
    on.
    """
    losses, marks = _kept(rounds)
    left = sum(part > _SAME for part in losses), sum(part > _SAME for part in marks)
    count, without = len(losses) + len(marks), sum(left)
    deaf_to_marks = len(marks) >= _LEAST and left[1] > _MARKS_LEFT * len(marks)
    unanswered = len(losses) >= _LEAST and left[0] >= _LOSSES_LEFT * len(losses)
    going_on = _going_on(rounds)
    evidence = f"{without} of {count} losses or marks did not lower the window"
    deaf = deaf_to_marks or (unanswered and going_on >= _GOING_ON)
    # Too few events, or losses that BBR would not answer either.
    unknown = count < _LEAST or (unanswered and left[0] > _MARKS_LEFT * len(losses))
    if losses:
        evidence += f"; in {100 * going_on:.0f} % of the round trips more than {100 * _TOLERATED:.0f} % was lost"
    return _sign("sender ignores losses", deaf or (None if unknown else False), without, evidence)


def _kept(rounds: Rounds) -> tuple[list[float], list[float]]:
    """The part of the window that is there within some round trips after each loss, and after each mark alone."""
    lost, marked = rounds.lost > 0, share_of_marks(rounds) >= _MARKS_THAT_SHOW
    losses, marks, n = [], [], 1
    while n + _ANSWER < len(rounds):
        before, after = float(rounds.window[n - 1]), rounds.window[n + 1 : n + 1 + _ANSWER]
        alone = marked[n] and not lost[n - 1 : n + 1 + _ANSWER].any()
        if (lost[n] or alone) and before > _SMALL:
            # Nothing but an answer takes from what is in flight where nothing is lost: its least tells, because a fast
            # sender soon grows to where it was. What is lost is missing from the flight, too: the greatest tells.
            if lost[n]:
                losses.append(float(after.max()) / before)
            else:
                marks.append(float(after.min()) / max(before, float(rounds.window[n])))
            n += _ANSWER
        n += 1
    return losses, marks


def _going_on(rounds: Rounds) -> float:
    """The part of the round trips since the first loss in which more is lost than a sender may leave unanswered."""
    if not np.any(rounds.lost):
        return 0.0
    around = np.ones(_OVER)
    lost, sent = (np.convolve(column, around, "full")[: len(rounds)] for column in (rounds.lost, rounds.sent))
    since = np.arange(len(rounds)) >= np.flatnonzero(rounds.lost)[0]
    counted = since & (rounds.window > _SMALL)
    if counted.sum() < _LEAST_ROUNDS:
        return 0.0
    return float(np.mean(((rounds.lost > 0) & (lost >= _TOLERATED * sent))[counted]))

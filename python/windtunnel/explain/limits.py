"""What kept the sender from sending more, round by round.

The rules are those of T-RAT (Zhang, Breslau, Paxson, Shenker, "On the Characteristics and Origins of Internet Flow
Rates", SIGCOMM 2002), on what the sender itself saw:

- *receiver*: it filled the receive window;
- *application*: it had nothing to send. A segment is not full although the window has room, or all data are
  acknowledged
  and it stays silent;
- *pacing*: departures do not follow acknowledgements, but a clock of their own;
- *cwnd*: acknowledgements alone let it send. Recovery from losses counts here.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from windtunnel.explain.rounds import Rounds
from windtunnel.explain.trace import NEW, UNKNOWN, Flow, seconds

#: The limits, in the order of their numbers.
LIMITS = ("cwnd", "application", "receiver", "pacing")
CWND, APPLICATION, RECEIVER, PACING = range(4)
#: Departures follow acknowledgements if the median wait is less than this part of the median distance between these.
_CLOCKED = 0.2
#: A sender answers an acknowledgement within this time, if acknowledgements let it send (a busy host: some 100 us).
_PROMPT_S = 0.3e-3
#: A silence counts from this part of a round trip on.
_SILENT = 0.5

Codes = npt.NDArray[np.int_]


def limits_of(flow: Flow, rounds: Rounds) -> Codes | None:
    """The limit of each round as a number; None where packets would have to show it."""
    if flow.sends is None or flow.acks is None:
        return None
    sent_at, acked_at = seconds(flow.sends["t_ns"]), seconds(flow.acks["t_ns"])
    sent = np.searchsorted(sent_at, (rounds.start, rounds.end))
    receiver, application = _receiver(flow, sent), _application(flow, rounds, sent)
    out = np.where(receiver, RECEIVER, np.where(application, APPLICATION, CWND))
    if flow.at_sender:
        since, gaps = flow.sends["since_ack_ns"], np.diff(acked_at)
        acked = np.searchsorted(acked_at, (rounds.start, rounds.end))
        for n in np.flatnonzero((out == CWND) & (rounds.lost == 0)):
            (first, after), (first_ack, after_ack) = sent[:, n], acked[:, n]
            if after - first >= 4 and after_ack - first_ack >= 4:
                out[n] = PACING if _paced(since[first:after], gaps[first_ack : after_ack - 1]) else CWND
    return np.asarray(out, int)


def _count(of: npt.NDArray[np.bool_], span: npt.NDArray[np.int_]) -> npt.NDArray[np.int_]:
    """How many of the rows are true, by round."""
    before = np.concatenate([[0], np.cumsum(of)])
    return np.asarray(before[span[1]] - before[span[0]], int)


def _receiver(flow: Flow, sent: npt.NDArray[np.int_]) -> npt.NDArray[np.bool_]:
    """It sent up to the edge of the window, to less than a segment."""
    assert flow.sends is not None
    room = flow.sends["room"]
    return _count((room != UNKNOWN) & (room < flow.mss), sent) > 0


def _application(flow: Flow, rounds: Rounds, sent: npt.NDArray[np.int_]) -> npt.NDArray[np.bool_]:
    assert flow.sends is not None
    sends, number = flow.sends, sent[1] - sent[0]
    # A segment that is not full, and not the rest of one that segmentation offload shows as several.
    short = _count((sends["kind"] == NEW) & (sends["payload"] % flow.mss > 0), sent) > 0.05 * number
    since = sends["since_ack_ns"]
    waited = np.append(np.where(since == UNKNOWN, 0.0, seconds(since)), 0.0)
    edges = np.minimum(np.stack([sent[0], np.maximum(sent[1], sent[0] + 1)], axis=1).ravel(), len(waited) - 1)
    longest = np.where(number > 0, np.maximum.reduceat(waited, edges)[::2], 0.0)
    with np.errstate(invalid="ignore"):
        silent = (longest > _SILENT * rounds.rtt) & (rounds.least < 1)
    lost = (rounds.lost > 0) | np.append(False, rounds.lost[:-1] > 0)
    return np.asarray((short | silent) & ~lost)


def _paced(since_ack_ns: npt.NDArray[Any], gaps: npt.NDArray[np.float64]) -> bool:
    """Departures wait after acknowledgements, not for them."""
    waits = since_ack_ns[since_ack_ns != UNKNOWN]
    waited = float(np.median(seconds(waits))) if len(waits) else 0.0
    between = float(np.median(gaps))
    return waited > max(_CLOCKED * between, _PROMPT_S if between > 4 * _PROMPT_S else 0.0) and waited > 0


def shares(rounds: Rounds, codes: Codes) -> dict[str, float]:
    """The share of time of each limit."""
    length = rounds.end - rounds.start
    whole = float(length.sum()) or 1.0
    return {name: float(length[codes == code].sum()) / whole for code, name in enumerate(LIMITS)}


def spans(rounds: Rounds, codes: Codes) -> list[dict[str, Any]]:
    """Stretches of rounds with the same limit: ``from_s``, ``to_s``, ``limit``."""
    edges = [0, *(np.flatnonzero(np.diff(codes)) + 1).tolist(), len(codes)]
    return [
        {"from_s": float(rounds.start[a]), "to_s": float(rounds.end[b - 1]), "limit": LIMITS[codes[a]]}
        for a, b in pairwise(edges)
    ]


def limits(flow: Flow, rounds: Rounds, codes: Codes | None) -> dict[str, Any] | None:
    """Of a run what its own sender counted; else shares and stretches as packets show them."""
    if flow.limited:
        return {"shares": _counted(flow.limited), "spans": [], "from": "the sender's own counters"}
    if codes is not None:
        return {"shares": shares(rounds, codes), "spans": spans(rounds, codes), "from": "packets"}
    return None


def _counted(limited: Any) -> dict[str, float]:
    values = {name: float(value) for name, value in limited.items() if isinstance(value, int | float)}
    whole = sum(values.values()) or 1.0
    return {name: value / whole for name, value in values.items()}


def limited_by(codes: Codes | None, rounds: Rounds, which: Sequence[int]) -> npt.NDArray[np.bool_]:
    """Which rounds have one of these limits; all, where limits are not waits."""
    return np.ones(len(rounds), bool) if codes is None else np.isin(codes, which)

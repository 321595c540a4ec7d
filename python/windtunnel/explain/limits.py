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
from windtunnel.explain.trace import NEW, UNKNOWN, Columns, Flow, seconds

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
    sends, acks = flow.sends, flow.acks
    sent_at, acked_at = seconds(sends["t_ns"]), seconds(acks["t_ns"])
    out = np.full(len(rounds), CWND)
    for n in range(len(rounds)):
        span = slice(*np.searchsorted(sent_at, (rounds.start[n], rounds.end[n])))
        acked = slice(*np.searchsorted(acked_at, (rounds.start[n], rounds.end[n])))
        out[n] = _limit(flow, rounds, n, _rows(sends, span), _rows(acks, acked))
    return out


def _limit(flow: Flow, rounds: Rounds, n: int, sends: Columns, acks: Columns) -> int:
    if _receiver(flow, sends):
        return RECEIVER
    if _application(flow, rounds, n, sends):
        return APPLICATION
    if flow.at_sender and not rounds.lost[n] and _paced(sends, acks):
        return PACING
    return CWND


def _receiver(flow: Flow, sends: Columns) -> bool:
    """It sent up to the edge of the window, to less than a segment."""
    room = sends["room"]
    return bool(len(room) and np.any((room != UNKNOWN) & (room < flow.mss)))


def _application(flow: Flow, rounds: Rounds, n: int, sends: Columns) -> bool:
    if rounds.lost[n] or (n and rounds.lost[n - 1]):
        return False
    # A segment that is not full, and not the rest of one that segmentation offload shows as several.
    short = (sends["kind"] == NEW) & (sends["payload"] % flow.mss > 0)
    if np.mean(short) > 0.05 if len(short) else False:
        return True
    rtt = rounds.rtt[n] if np.isfinite(rounds.rtt[n]) else np.nan
    since = sends["since_ack_ns"]
    waited = seconds(since[since != UNKNOWN])
    silent = len(waited) > 0 and float(waited.max()) > _SILENT * rtt and rounds.least[n] < 1
    return bool(silent)


def _paced(sends: Columns, acks: Columns) -> bool:
    if len(sends["t_ns"]) < 4 or len(acks["t_ns"]) < 4:
        return False
    since = sends["since_ack_ns"]
    waited = float(np.median(seconds(since[since != UNKNOWN]))) if np.any(since != UNKNOWN) else 0.0
    gaps = np.diff(seconds(acks["t_ns"]))
    between = float(np.median(gaps))
    return waited > max(_CLOCKED * between, _PROMPT_S if between > 4 * _PROMPT_S else 0.0) and waited > 0


def _rows(table: Columns, span: slice) -> Columns:
    return {name: column[span] for name, column in table.items()}


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
    """Shares and stretches; of a run without packets what its own sender counted."""
    if codes is not None:
        return {"shares": shares(rounds, codes), "spans": spans(rounds, codes), "from": "packets"}
    if flow.limited:
        return {"shares": _counted(flow.limited), "spans": [], "from": "the sender's own counters"}
    return None


def _counted(limited: Any) -> dict[str, float]:
    values = {name: float(value) for name, value in limited.items() if isinstance(value, int | float)}
    whole = sum(values.values()) or 1.0
    return {name: value / whole for name, value in values.items()}


def limited_by(codes: Codes | None, rounds: Rounds, which: Sequence[int]) -> npt.NDArray[np.bool_]:
    """Which rounds have one of these limits; all, where limits are not known."""
    return np.ones(len(rounds), bool) if codes is None else np.isin(codes, which)

"""Slow start: what is sent first, how it grows, when and why it ends.

The initial window is what leaves before the first acknowledgement of data comes back, if the application had that much.
Slow start lasts while the flight grows by 30 % in a round trip: RFC 5681 doubles it, half of that where delayed
acknowledgements are counted one by one. It ends by the first loss or mark; by another limit; or earlier, which HyStart
(RFC 9406: at a rise of the round-trip time by an eighth, within 4 to 16 ms), BBR (at a rate that no longer grows) and
Vegas do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from windtunnel.explain.evidence.answers import TIME_OUT, CongestionAnswer
from windtunnel.explain.limits import APPLICATION, RECEIVER, Codes
from windtunnel.explain.rounds import Rounds
from windtunnel.explain.trace import NEW, UNKNOWN, Flow, place

#: Slow start grows by more than this in a round trip; the conservative one of RFC 9406 by a quarter.
_FAST, _CONSERVATIVE = 1.3, (1.12, 1.4)
#: A rise of the round-trip time that ends HyStart (RFC 9406 section 4.2), and that counts here.
_PART, _LEAST_S, _MOST_S = 1 / 8, 4e-3, 16e-3
#: A flight that falls to this share within some round trips without a loss has been drained.
_DRAINED, _SOON = 0.75, 6
#: The round trips at the end of a trace that show no growth.
_CUT = 2
#: An answer leaves less than this.
_HEEDED = 0.95
#: The flight grew by at least this in the round trip before a loss that ended slow start; it was nearly at its end.
_GREW, _NEARLY = 1.15, 0.95
#: Fewer round trips show no growth.
_LEAST_ROUNDS = 3


def ended(rounds: Rounds) -> int | None:
    """The round trip after which the flight no longer grew as in slow start; None if that did not happen."""
    slow = rounds.window[1:] < _FAST * np.maximum(np.maximum.accumulate(rounds.window[:-1]), 1)
    # The last round trips may be cut short.
    twice = np.flatnonzero((slow[:-1] & slow[1:])[:-_CUT])
    return int(twice[0]) if len(twice) else None


def slow_start(
    flow: Flow, rounds: Rounds, codes: Codes | None, answers: Sequence[CongestionAnswer], paced: float | None
) -> dict[str, Any]:
    """``initial`` (segments), ``growth`` per round trip, ``exit`` (cause, window, time, waiting) and ``lost`` (by the
    first loss event). ``paced``: the share of its departures that follow an acknowledgement at once.
    """
    document: dict[str, Any] = {"initial": _initial(flow, rounds)}
    if not document["initial"]["begins"]:
        return {**document, "why_not": "the capture begins within the connection"}
    end = ended(rounds)
    last = len(rounds) - 1 if end is None else end
    first = answers[0] if answers else None
    if first is not None and first.start_s <= rounds.start[0]:
        first = None
    document["growth"] = _growth(rounds, last, first)
    document["paced"] = None if paced is None else paced < 0.5
    document["exit"] = _exit(flow, rounds, codes, end, first)
    return document


def _initial(flow: Flow, rounds: Rounds) -> dict[str, Any]:
    """What leaves before the first acknowledgement of data."""
    syn = any((flow.ends.get(side) or {}).get("syn") for side in ("sender", "receiver"))
    begins = flow.handshake_s is not None or syn
    if flow.sends is None or not begins:
        return {"begins": begins, "segments": None}
    after = int(np.argmax(flow.sends["round"] > 0)) if np.any(flow.sends["round"][:4096] > 0) else 0
    rows = slice(0, after if after else min(len(flow.sends["t_ns"]), 4096))
    new = flow.sends["kind"][rows] == NEW
    payload = flow.sends["payload"][rows][new]
    seq, room = flow.sends["seq"][rows][new].astype(np.int64), flow.sends["room"][rows][new]
    time = flow.sends["t_ns"][rows][new].astype(float)
    if not len(payload):
        return {"begins": begins, "segments": None}
    rtt = rounds.rtt[np.isfinite(rounds.rtt)]
    seen = (flow.at_sender or flow.logged) and len(rtt)
    return {
        "begins": begins,
        # A segment that was lost in front of the capture point leaves a gap.
        "segments": float(seq.max() + payload[-1] - seq.min()) / flow.mss,
        # The application had no more, or the receiver took no more.
        "at_least": bool(payload[-1] % flow.mss > 0 or (room[-1] != UNKNOWN and room[-1] < flow.mss)),
        # The part of the first round trip over which it is spread.
        "spread": float(time[-1] - time[0]) / 1e9 / float(rtt[0]) if seen else None,
    }


def _growth(rounds: Rounds, last: int, first: CongestionAnswer | None) -> dict[str, Any] | None:
    """Per round trip, as a factor; None where there are too few."""
    if first is not None:
        last = min(last, int(np.searchsorted(rounds.end, first.start_s)))
    window = rounds.window[: last + 1]
    if len(window) < _LEAST_ROUNDS:
        return None
    # What comes after a round trip that was cut short is not growth.
    factor = float(np.median(window[1:] / np.maximum(window[:-1], 1)))
    return {"factor": factor, "round_trips": len(window)}


def _exit(
    flow: Flow, rounds: Rounds, codes: Codes | None, end: int | None, first: CongestionAnswer | None
) -> dict[str, Any]:
    until = len(rounds) - 1 if end is None else min(end + 1, len(rounds) - 1)
    if first is not None and first.start_s <= rounds.end[until] and _grew_until(flow, rounds, first):
        return {"cause": first.cause, "time_s": first.start_s, "segments": first.before, "lost": first.lost}
    if end is None or end + 1 >= len(rounds):
        return {"cause": None, "time_s": float(rounds.end[-1]), "segments": float(rounds.window.max())}
    time, level = _reached(flow, rounds, end)
    near = rounds.rtt[end : end + 2]
    waiting = float(np.nanmax(near)) - rounds.least_rtt() if np.isfinite(near).any() else float("nan")
    answer: dict[str, Any] = {"time_s": time, "segments": level, "waiting_ms": 1e3 * waiting}
    # A capture at the receiver shows its window later.
    limited = None if codes is None else codes[end : end + 4]
    if limited is not None and (limited == RECEIVER).any():
        return {**answer, "cause": "receiver"}
    if limited is not None and (limited == APPLICATION).any():
        return {**answer, "cause": "application"}
    rise = float(np.clip(_PART * rounds.least_rtt(), _LEAST_S, _MOST_S))
    # What a loss takes is not drained.
    quiet = len(rounds) if first is None else int(np.searchsorted(rounds.end, first.start_s))
    after = rounds.window[end + 1 : min(end + 1 + _SOON, quiet)]
    answer["drained"] = bool(after[after > 0].min(initial=level) < _DRAINED * level)
    growth = rounds.window[end + 1 :] / np.maximum(rounds.window[end:-1], 1)
    slower = (growth > _CONSERVATIVE[0]) & (growth < _CONSERVATIVE[1])
    answer["conservative_round_trips"] = int(np.argmin(np.append(slower, False)))
    return {**answer, "cause": "delay" if waiting > rise else "no sign"}


def _grew_until(flow: Flow, rounds: Rounds, first: CongestionAnswer) -> bool:
    """Whether the flight grew as in slow start in the round trip before the first answer, and the sender heeded it: one
    whose flight a loss does not lower did not end for it.
    """
    if first.cause != TIME_OUT and first.kept >= _HEEDED:
        return False
    if flow.sends is None:
        return True
    at = int(np.clip(np.searchsorted(rounds.start, first.start_s, "right") - 1, 0, len(rounds) - 1))
    near = rounds.rtt[max(at - 1, 0) : at + 1]
    rtt = float(np.nanmax(near)) if np.isfinite(near).any() else rounds.usual_rtt()
    until = place(flow.sends["t_ns"], 1e9 * (first.start_s - rtt))
    earlier = float(flow.sends["in_flight"][:until].max(initial=0)) / flow.mss
    return first.before >= _GREW * earlier


def _reached(flow: Flow, rounds: Rounds, end: int) -> tuple[float, float]:
    """When the flight first was nearly what it is at the end of slow start, and how much that was."""
    level = float(rounds.window[end])
    if flow.sends is None:
        return float(rounds.end[end]), level
    # Far from the sender a round trip's departures pass later than its end.
    until = place(flow.sends["t_ns"], 1e9 * rounds.end[min(end + 2, len(rounds) - 1)], "right")
    reached = np.flatnonzero(flow.sends["in_flight"][:until] >= _NEARLY * level * flow.mss)
    return (float(flow.sends["t_ns"][reached[0]]) / 1e9 if len(reached) else float(rounds.end[end])), level

"""The response to delay: what the window does without losses and marks, against the time spent in queues.

Only a window that falls where nothing was lost or marked, in round trips with more waiting than those in which it
grows, shows that a sender yields to delay; and a flight that keeps the same few segments in the queue shows a target
(Vegas's ``diff``: the window times the share of the round-trip time that is above its least). Where the window grows as
fast over a full queue as over an empty one, delay does not matter. What is between these is not decided: alone on a
path the delay rises with the window and the time since the last loss, so that neither cause can be told from the
others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from windtunnel.explain.evidence.published import LAWS
from windtunnel.explain.limits import PACING, Codes
from windtunnel.explain.rounds import Rounds
from windtunnel.explain.spread import spread

YIELDS, HOLDS, IGNORES = "yields", "holds", "ignores"
#: Fewer pairs of round trips, or falls, show nothing.
_LEAST_PAIRS, _LEAST_FALLS = 20, 5
#: A fall of the window is a segment, nearly; this share of falls is a habit, and this one is none.
_FALL, _OFTEN, _RARE = -0.99, 0.05, 0.02
#: Falls come with more waiting than growth does if the medians differ by this part of how waiting varies.
_APART = 0.25
#: Waiting varies enough to show what it does if it does by this part of the least round-trip time.
_VARIES = 0.1
#: Growth does not care if with much waiting it is at least this share of that with little.
_AS_FAST = 0.85
#: Segments in the queue: Vegas lets four be there, and does not answer to fewer.
_MUCH = 6.0
#: A target: the middle half of what is in the queue is no wider than this, in segments; and it is not nothing.
_HELD, _SOMETHING = 1.0, 0.5


def delay(
    rounds: Rounds, codes: Codes | None, quiet: npt.NDArray[np.bool_], probes: bool, controller: str | None
) -> dict[str, Any]:
    """``answer`` (yields, holds, ignores, or None with ``why_not``), ``queue_segments``, ``waiting_ms``, and
    ``growth`` per round trip with little and with much waiting.
    """
    first = np.flatnonzero(quiet[:-1] & quiet[1:])
    answer: dict[str, Any] = {"answer": None, "round_trips": len(first)}
    if probes or (codes is not None and len(first) and np.mean(codes[first] == PACING) > 0.5):
        return {**answer, "why_not": "the flight follows a rate, not a window"}
    if not np.isfinite(rounds.least_rtt()):
        return {**answer, "why_not": "there are no round-trip times"}
    if len(first) < _LEAST_PAIRS:
        return {**answer, "why_not": f"{len(first)} round trips without congestion are too few"}
    growth = rounds.window[first + 1] - rounds.window[first]
    waiting = rounds.rtt[first] - rounds.least_rtt()
    low, middle_low, middle_high, high = np.percentile(waiting, (10, 100 / 3, 200 / 3, 90))
    little, much = growth[waiting <= middle_low], growth[waiting >= middle_high]
    falls, rises = growth <= _FALL, growth > -_FALL * 0.5
    law = LAWS.get(controller or "")
    queue = spread(rounds.queue()[first])
    assert queue is not None
    answer |= {
        "waiting_ms": spread(1e3 * waiting),
        "queue_segments": queue,
        "growth": {"little_waiting": float(little.mean()), "much_waiting": float(much.mean())},
        "falls": float(falls.mean()),
        "law": law.queue_segments if law else None,
    }
    falls_late = False
    if falls.sum() >= _LEAST_FALLS:
        other = waiting[rises] if rises.sum() >= _LEAST_FALLS else waiting
        apart = float(np.median(waiting[falls]) - np.median(other))
        answer |= {"falls_at_ms": 1e3 * float(np.median(waiting[falls]))}
        falls_late = apart > _APART * max(float(high - low), 1e-9)
    if queue["high"] - queue["low"] <= _HELD and queue["median"] >= _SOMETHING and rises.mean() < _OFTEN:
        return {**answer, "answer": HOLDS}
    if falls_late and falls.mean() >= _OFTEN:
        return {**answer, "answer": YIELDS}
    if high - low < _VARIES * rounds.least_rtt():
        return {**answer, "why_not": "the round-trip time hardly varies"}
    held = float(np.median(rounds.queue()[first][waiting >= middle_high]))
    if held < _MUCH:
        return {**answer, "why_not": f"at most {held:.1f} segments are in the queue, which those that yield keep, too"}
    if falls.mean() < _RARE and much.mean() >= _AS_FAST * little.mean() > 0:
        return {**answer, "answer": IGNORES}
    return {**answer, "why_not": "the delay rises with the window and with the time since the last loss"}

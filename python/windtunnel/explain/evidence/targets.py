"""Fixed targets: a flight that stays at one level, and dips below it.

BBR's limit of two bandwidth-delay products, the flights of Vegas, Copa and TFRC once they have found their level, and a
receive window all keep the flight at one value; a sawtooth is at each of its values for a short time. A dip is a time
with much less in flight that no loss explains, as a probe for the round-trip time makes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from windtunnel.explain.evidence.answers import CongestionAnswer
from windtunnel.explain.evidence.published import LAWS
from windtunnel.explain.limits import APPLICATION, RECEIVER, Codes
from windtunnel.explain.rounds import Rounds
from windtunnel.explain.spread import spread

#: A level: within this share, or a segment, for this share of the time.
_WITHIN, _MOST_TIME = 0.03, 0.6
#: Fewer round trips show no level.
_LEAST_ROUNDS = 20
#: A dip is below this share of the usual flight, for no longer than this; and not what empties the queue of slow
#: start.
_DIP, _LONGEST_S, _DRAIN = 0.55, 2.0, 6
#: The flight before it has this share of the usual one, and soon afterwards that.
_LEVEL, _BACK = 0.8, 0.6


def target(rounds: Rounds, codes: Codes | None, started: int) -> dict[str, Any]:
    """``segments`` and the ``share`` of the time within 3 % or a segment of it; ``products``: in bandwidth-delay
    products; ``by``: the receiver, where its window is the level.
    """
    rows = np.flatnonzero((np.arange(len(rounds)) > started) & (rounds.sent > 0) & (rounds.window > 1))
    if codes is not None:
        rows = rows[codes[rows] != APPLICATION]
    if len(rows) < _LEAST_ROUNDS:
        return {"found": None, "why_not": f"{len(rows)} round trips after slow start are too few"}
    order = rows[np.argsort(rounds.window[rows])]
    window, length = rounds.window[order], (rounds.end - rounds.start)[order]
    upto = np.concatenate([[0], np.cumsum(length)])
    after = np.searchsorted(window, window + np.maximum(2 * _WITHIN * window, 1), "right")
    inside = upto[after] - upto[:-1]
    best = int(np.argmax(inside))
    share = float(inside[best] / max(upto[-1], 1e-9))
    level = float(np.median(window[best : after[best]]))
    product = float(np.median(rounds.rate()[rows])) * rounds.least_rtt()
    by_receiver = codes is not None and float(np.mean(codes[rows] == RECEIVER)) > 0.5
    return {
        "found": share >= _MOST_TIME,
        "segments": level,
        "share": share,
        "products": level / product if product > 0 else None,
        "by": "receiver" if by_receiver else None,
    }


def dips(
    rounds: Rounds,
    codes: Codes | None,
    answers: Sequence[CongestionAnswer],
    started: int,
    controller: str | None,
) -> dict[str, Any]:
    """``count``, and as medians with the middle half ``every_s``, ``length_s``, ``segments`` and ``share`` (of the
    usual flight).
    """
    window = rounds.window
    usual = float(np.median(window[started:])) if started < len(window) else 0.0
    low = (window < _DIP * usual) & (np.arange(len(rounds)) > started + _DRAIN) & (rounds.sent > 0)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], low.astype(int), [0]])))
    lost = np.array([answer.start_s for answer in answers])
    starts, lengths, depths = [], [], []
    for first, after in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
        length = float(rounds.end[after - 1] - rounds.start[first])
        before = rounds.start[max(first - 2, 0)]
        explained = np.searchsorted(lost, rounds.end[after - 1]) > np.searchsorted(lost, before)
        waited = codes is not None and (codes[max(first - 1, 0) : after] == APPLICATION).any()
        back = window[after : after + 4]
        falls_at_once = window[first - 1] >= _LEVEL * usual
        if (
            falls_at_once
            and length <= _LONGEST_S
            and not explained
            and not waited
            and len(back)
            and back.max() > _BACK * usual
        ):
            starts.append(float(rounds.start[first]))
            lengths.append(length)
            depths.append(float(window[first:after].min()))
    law = LAWS.get(controller or "")
    return {
        "count": len(starts),
        "every_s": spread(np.diff(starts)),
        "length_s": spread(lengths),
        "segments": spread(depths),
        "share": spread(np.asarray(depths) / usual) if usual > 0 else None,
        "law_s": law.dip_s if law else None,
    }

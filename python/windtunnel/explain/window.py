"""The congestion window, estimated from what is in flight.

A sender that its congestion window limits has as much in flight as the window permits. The most that was in flight in a
loss-free round that nothing else limited is therefore the window; in other rounds it is a bound from below.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from windtunnel.explain.limits import CWND, PACING, Codes, limited_by
from windtunnel.explain.rounds import Rounds
from windtunnel.explain.trace import Flow


def window(flow: Flow, rounds: Rounds, codes: Codes | None) -> dict[str, Any]:
    """The last estimate with its time, the greatest, and whether each is the window or only less than it."""
    exact = limited_by(codes, rounds, (CWND,)) & (rounds.lost == 0) & (rounds.sent > 0)
    answer: dict[str, Any] = {
        "mss_bytes": flow.mss,
        "rounds": len(rounds),
        "rounds_that_show_it": int(exact.sum()),
        "greatest_segments": float(rounds.window.max()),
    }
    if exact.any():
        last = int(np.flatnonzero(exact)[-1])
        answer |= {"last_segments": float(rounds.window[last]), "last_s": float(rounds.end[last])}
    elif codes is not None and (codes == PACING).mean() > 0.5:
        answer["why_not"] = "departures are paced: the window is not what limits them"
    else:
        answer["why_not"] = "something else limited the sender: its window is at least what was in flight"
    return answer

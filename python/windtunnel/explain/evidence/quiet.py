"""The round trips that show the controller's own growth: after slow start, without congestion, without other limits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from windtunnel.explain.evidence.answers import CongestionAnswer
from windtunnel.explain.limits import CWND, PACING, Codes, limited_by
from windtunnel.explain.rounds import Rounds


def quiet_rounds(
    rounds: Rounds, codes: Codes | None, answers: Sequence[CongestionAnswer], started: int
) -> npt.NDArray[np.bool_]:
    """Which they are; ``started`` is the round trip in which slow start ended."""
    quiet = limited_by(codes, rounds, (CWND, PACING)) & (rounds.lost == 0) & (rounds.sent > 0) & np.isfinite(rounds.rtt)
    quiet[: started + 1] = False
    if not answers:
        # A run without packets has no answers, but marks.
        return np.asarray(quiet & (rounds.marked == 0))
    first = np.searchsorted(rounds.end, [answer.start_s for answer in answers])
    after = np.searchsorted(rounds.start, [answer.end_s for answer in answers]) + 1
    edges = np.zeros(len(rounds) + 1, int)
    np.add.at(edges, np.minimum(first, len(rounds)), 1)
    np.add.at(edges, np.minimum(after, len(rounds)), -1)
    return np.asarray(quiet & (np.cumsum(edges[:-1]) == 0))

"""What losses, marks and timeouts leave of the window, each by itself.

A whole number of segments stands for the window, so that one answer is known to a segment: the median over several
tells more. After a timeout the window starts again at one segment, and grows by slow start up to a threshold (RFC 5681
section 3.1); the window from which on it no longer grows by more than a half in a round trip is that threshold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from windtunnel.explain.evidence.answers import CAUSES, LOSS, TIME_OUT, CongestionAnswer
from windtunnel.explain.evidence.published import kept_after_loss, kept_after_mark
from windtunnel.explain.rounds import Rounds
from windtunnel.explain.spread import spread

#: How losses are repaired.
SPREADS, WAITS = "spread", "waits"
#: Fewer answers than this tell no law; smaller windows no share.
LEAST, _SMALL = 3, 4
#: In a proportional repair the flight falls all the time (RFC 9937), so that at the usual departure half of the fall is
#: to come; a sender that waits for it sends once the flight has fallen (RFC 6675).
_FALLING, _FALLEN = 0.3, 0.15
#: Slow start grows by more than this in a round trip.
_FAST = 1.5


def usable(answer: CongestionAnswer) -> bool:
    """Whether it shows a share of the sender's own window."""
    return not answer.unused and answer.before >= _SMALL and answer.after > 0


def reductions(rounds: Rounds, answers: Sequence[CongestionAnswer], controller: str | None) -> dict[str, Any]:
    """By cause: ``kept`` (the share, its middle half and how many), ``law`` (what the controller's publication says);
    of timeouts what they leave until slow start ends; of losses how they are repaired.
    """
    document: dict[str, Any] = {}
    for cause in CAUSES:
        mine = [answer for answer in answers if answer.cause == cause]
        good = [answer for answer in mine if usable(answer)]
        if cause == TIME_OUT:
            of_cause: dict[str, Any] = {
                "restart_segments": spread([answer.restart for answer in mine]),
                "kept": spread([_threshold(rounds, each) / each.before for each in mine if each.before >= _SMALL]),
            }
        else:
            of_cause = {"kept": spread([answer.kept for answer in good]), "law": _law(cause, controller)}
        document[cause] = {"events": len(mine), **of_cause}
    repairs = spread([answer.in_repair for answer in answers if answer.cause == LOSS])
    document["repair"] = None if repairs is None or repairs["count"] < LEAST else _repair(repairs["median"])
    return document


def _law(cause: str, controller: str | None) -> tuple[float, float] | str | None:
    if controller is None:
        return None
    return kept_after_loss(controller) if cause == "loss" else kept_after_mark(controller)


def _repair(in_repair: float) -> str | None:
    if in_repair >= _FALLING:
        return SPREADS
    return WAITS if in_repair <= _FALLEN else None


def _threshold(rounds: Rounds, answer: CongestionAnswer) -> float:
    """The window at which slow start after a timeout ended, after the repair; NaN where something else came first."""
    first = max(int(np.searchsorted(rounds.start, answer.end_s, "right")) - 1, 0)
    window, expired = rounds.window[first : first + 24], rounds.timeouts[first : first + 24] > 0
    for n in range(1, len(window) - 1):
        if expired[n] or window[n] <= 0:
            return float("nan")
        if window[n + 1] < _FAST * window[n]:
            return float(window[n])
    return float("nan")

"""ECN: what the data carry, what is echoed and how, and how the sender answers.

Classic feedback (RFC 3168 section 6.1.3) echoes a mark until the sender has said that it heard it, which takes a round
trip; DCTCP's echoes each mark as it came (RFC 8257 section 3.2), and AccECN counts them (RFC 9768). A classic sender
lowers its window once in a round trip by the same share, a scalable one by half of the average share of marks.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from windtunnel.explain.evidence.answers import MARK, CongestionAnswer
from windtunnel.explain.evidence.reductions import LEAST, usable
from windtunnel.explain.rounds import Rounds, echoes
from windtunnel.explain.trace import Flow, stretches
from windtunnel.explain.yielding import share_of_marks

ECT1, ECT0, CE = 1, 2, 3
CLASSIC, EACH, COUNTED = "until CWR", "each mark", "counter"
CONSTANT, PROPORTIONAL, NONE = "once per round trip", "proportional", "none"
#: A classic echo lasts for a round trip; shorter ones than this part of it show another one. Of the echoes, this share.
_SHORT, _SOME = 0.5, 0.2
#: Averages of the marked share that differ by this much show whether the answer depends on them.
_VARIES = 0.15
#: An answer is half of the average if it is this near, to half a segment; from this half on it may be anyone's.
_NEAR, _MOST = 0.03, 0.25
#: A constant answer: its middle half is no wider.
_SAME = 0.12


def ecn(flow: Flow, rounds: Rounds, answers: Sequence[CongestionAnswer]) -> dict[str, Any] | None:
    """``data``: segments by code point; ``negotiated``; ``echoes`` and ``echo``; ``answer`` and the numbers that show
    it. None without packets, or where nothing shows code points.
    """
    if flow.sends is None or flow.acks is None or flow.logged:
        return None
    counts = np.zeros(4, np.int64)
    for part in stretches(len(flow.sends["ecn"])):
        counts += np.bincount(flow.sends["ecn"][part], minlength=4)[:4]
    told = echoes(flow, flow.acks)
    document: dict[str, Any] = {
        "data": dict(zip(("not_ect", "ect1", "ect0", "ce"), counts.tolist(), strict=True)),
        "negotiated": flow.ecn,
        "echoes": int(np.count_nonzero(told)),
        "echo": None,
        "answer": None,
    }
    if not document["echoes"]:
        return document
    document["echo"] = COUNTED if flow.accecn else _echo(flow, rounds, told)
    return {**document, **_answer(rounds, answers)}


def _echo(flow: Flow, rounds: Rounds, told: Any) -> str | None:
    """How long echoes go on."""
    acks: Any = flow.acks
    edges = np.flatnonzero(np.diff(np.concatenate([[0], told.astype(np.int8), [0]])))
    first, after = edges[::2], np.minimum(edges[1::2], len(told) - 1)
    lasted = (acks["t_ns"][after] - acks["t_ns"][first]).astype(float) / 1e9
    at = np.clip(np.searchsorted(rounds.start, acks["t_ns"][first] / 1e9, "right") - 1, 0, len(rounds) - 1)
    rtt = np.where(np.isfinite(rounds.rtt[at]), rounds.rtt[at], rounds.usual_rtt())
    # The last may be cut by the end of the capture.
    whole = edges[1::2] < len(told)
    if whole.sum() < LEAST:
        return None
    return EACH if np.mean(lasted[whole] < _SHORT * rtt[whole]) >= _SOME else CLASSIC


def _answer(rounds: Rounds, answers: Sequence[CongestionAnswer]) -> dict[str, Any]:
    marks = [answer for answer in answers if answer.cause == MARK and usable(answer)]
    if len(marks) < LEAST:
        return {"why_not": f"{len(marks)} answers to marks are too few"}
    average = share_of_marks(rounds)
    at = np.clip(np.searchsorted(rounds.start, [answer.end_s for answer in marks], "right") - 1, 0, len(rounds) - 1)
    # Until the end of an answer there is at least one round trip with marks.
    alpha = np.array([average[max(n - 2, 0) : n + 1].max() for n in at])
    taken = 1 - np.array([answer.kept for answer in marks])
    low, middle, high = np.percentile(taken, (25, 50, 75))
    segment = float(np.median([1 / answer.before for answer in marks]))
    document: dict[str, Any] = {
        "taken": {"median": float(middle), "low": float(low), "high": float(high), "count": len(marks)},
        "average_share": float(np.median(alpha)),
        "every_round_trips": _distance(rounds, marks),
        "slope": None,
    }
    if float(np.subtract(*np.percentile(alpha, (90, 10)))) >= _VARIES and len(marks) >= 2 * LEAST:
        document["slope"] = float(np.polyfit(alpha, taken, 1)[0])
    half = float(np.median(alpha)) / 2
    if middle < segment / 2:
        if half < 1.5 * segment:
            return {**document, "why_not": "so few are marked that a proportional answer would not show"}
        return {**document, "answer": NONE}
    if abs(middle - half) <= _NEAR + segment / 2:
        if half >= _MOST and document["slope"] is None:
            return {**document, "why_not": "nearly all are marked: both rules leave the same"}
        return {**document, "answer": PROPORTIONAL}
    if high - low <= _SAME + segment and middle > half:
        return {**document, "answer": CONSTANT}
    return {**document, "why_not": "the answers follow neither rule"}


def _distance(rounds: Rounds, marks: Sequence[CongestionAnswer]) -> float | None:
    starts = [answer.start_s for answer in marks]
    gaps = [after - before for before, after in pairwise(starts)]
    return float(np.median(gaps)) / rounds.usual_rtt() if gaps else None

"""Evidence as points of pictures: what each answer to congestion left, and the window against the round-trip time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from windtunnel import kinds
from windtunnel.explain.evidence.answers import CAUSES, TIME_OUT, CongestionAnswer
from windtunnel.explain.evidence.quiet import quiet_rounds
from windtunnel.explain.evidence.reductions import usable
from windtunnel.explain.evidence.start import ended
from windtunnel.explain.limits import Codes
from windtunnel.explain.rounds import Rounds

#: Points of a connection.
_MOST = 5000


def reduction_points(of_answers: Sequence[Sequence[CongestionAnswer]]) -> dict[str, Any]:
    """For each answer to a loss or a mark ``flow``, ``cause``, ``time_s``, the window ``before`` it in segments, and
    the share ``kept``.
    """
    rows = [
        (flow, CAUSES.index(answer.cause), answer.start_s, answer.before, answer.kept)
        for flow, answers in enumerate(of_answers)
        for answer in answers[:_MOST]
        if usable(answer) and answer.cause != TIME_OUT
    ]
    return _table(("flow", "cause", "time_s", "before", "kept"), rows)


def delay_points(
    of_rounds: Sequence[Rounds | None],
    of_codes: Sequence[Codes | None],
    of_answers: Sequence[Sequence[CongestionAnswer]],
) -> dict[str, Any]:
    """For each round trip after slow start without congestion ``flow``, ``rtt_ms`` and what was in flight
    (``segments``).
    """
    rows: list[tuple[float, ...]] = []
    for flow, (rounds, codes, answers) in enumerate(zip(of_rounds, of_codes, of_answers, strict=True)):
        if rounds is None or (end := ended(rounds)) is None:
            continue
        quiet = np.flatnonzero(quiet_rounds(rounds, codes, answers, end))
        for n in quiet[:: max(len(quiet) // _MOST, 1)].tolist():
            rows.append((flow, 1e3 * float(rounds.rtt[n]), float(rounds.window[n])))
    return _table(("flow", "rtt_ms", "segments"), rows)


def _table(names: Sequence[str], rows: Sequence[tuple[float, ...]]) -> dict[str, Any]:
    columns = np.array(rows, float).reshape(len(rows), len(names)).T
    return {
        name: column.astype(int) if name in ("flow", "cause") else column
        for name, column in zip(names, columns, strict=True)
    }


def laws_of_losses(evidence: Mapping[str, Any] | None) -> tuple[str, list[float]]:
    """What the candidate's publication says that a loss leaves: the candidate, and one value or the ends of a range."""
    law = ((evidence or {}).get("reductions") or {}).get("loss", {}).get("law")
    return (kinds.title(evidence["law_of"]), sorted(set(law))) if evidence and law else ("", [])

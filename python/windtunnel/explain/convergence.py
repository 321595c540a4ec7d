"""Convergence: when flows that share a path have come to equal rates, and how steady these are then.

Fairness is Jain's index of the rates of all flows that are active. Flows have converged from the moment on at which it
stays at 0.9 or above for five steps. The interval of the mean index is from batches (Student's t), because
neighbouring steps depend on each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from windtunnel.explain.rounds import Array, Rounds

_FAIR = 0.9
_STEADY = 5
_BATCHES = 10
#: Of a trace, however long.
_MOST_STEPS = 5000
#: Student's t for 9 degrees of freedom, 95 %.
_T = 2.262


def convergence(rounds: Sequence[Rounds | None]) -> dict[str, Any] | None:
    """Of two or more flows that were active together; else None."""
    those = [r for r in rounds if r is not None]
    if len(those) < 2:
        return None
    start, end = max(float(r.start[0]) for r in those), min(float(r.end[-1]) for r in those)
    step = max(5 * max(r.usual_rtt() for r in those), 0.05, (end - start) / _MOST_STEPS)
    count = int((end - start) / step) if end > start else 0
    if count < 2 * _STEADY:
        return None
    times = np.asarray(start + step * np.arange(count + 1), float)
    rates = np.array([_delivered(r, times) for r in those]) / step
    index = _jain(rates)
    fair = np.convolve(index >= _FAIR, np.ones(_STEADY), "valid") == _STEADY
    answer: dict[str, Any] = {"together_from_s": start, "step_s": step, "flows": len(those)}
    whole = _jain(rates.sum(axis=1)[:, None])[0]
    answer["jain"] = float(whole)
    answer["jain_of_steps"] = _interval(index)
    if fair.any():
        first = int(np.argmax(fair))
        after = rates[:, first:]
        answer["converged_after_s"] = float(times[first] - start)
        mean = after.mean(axis=1)
        answer["oscillation"] = float(np.mean(after.std(axis=1) / np.maximum(mean, 1e-9)))
    return answer


def _delivered(rounds: Rounds, times: Array) -> Array:
    """Segments between the times; within a round they are taken for evenly spread."""
    return np.diff(np.interp(times, np.append(rounds.start, rounds.end[-1]), np.append(0, np.cumsum(rounds.delivered))))


def _jain(rates: Array) -> Array:
    squares = (rates**2).sum(axis=0)
    index: Array = np.divide(
        rates.sum(axis=0) ** 2, len(rates) * squares, out=np.ones(rates.shape[1]), where=squares > 0
    )
    return index


def _interval(index: Array) -> dict[str, float]:
    batches = np.array([part.mean() for part in np.array_split(index, min(_BATCHES, len(index)))])
    half = _T * float(batches.std(ddof=1)) / np.sqrt(len(batches))
    mean = float(batches.mean())
    return {"mean": mean, "low": max(mean - half, 0.0), "high": min(mean + half, 1.0)}

"""Statements about the mean of several runs that differ by chance: confirmed, refuted or undecided.

Two flows over an AQM depend on their phases, so that one run says little. A statement is tried with several start
offsets and seeds. The mean over them has an interval: Student's, ``mean +- t(n - 1) s / sqrt(n)``, which contains the
true mean in 95 of 100 such experiments; a ratio's or a share's is made on a scale of its own (``Scale``). The statement
is confirmed where the whole interval lies within its limits, refuted where none of it does, and undecided otherwise:
then the runs are too few, or too different, to tell.

Runs that all give the same value are one draw: they say no more than one run, and have no interval. The number then
agrees or differs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from windtunnel.claims.decide import judge as judge_interval
from windtunnel.experiment import statistics
from windtunnel.experiment.scales import PLAIN, Scale
from windtunnel.papers.rows import Row, Verdict


@dataclass(frozen=True)
class Limits:
    """What the mean may be: from ``low`` to ``high``; ``strict``: neither of them itself ("more than 0")."""

    low: float = -math.inf
    high: float = math.inf
    strict: bool = False


def mean_interval(values: Sequence[float], scale: Scale = PLAIN) -> tuple[float, float] | None:
    """The 95 % interval of the mean; None where there are fewer than two values, or one is not a number."""
    return statistics.mean_interval(values, 0.95, "t", scale) if all(map(math.isfinite, values)) else None


def is_one_draw(values: Sequence[float]) -> bool:
    """Whether there are several values, all finite and the same."""
    return len(values) > 1 and math.isfinite(values[0]) and all(value == values[0] for value in values)


def judge(limits: Limits, values: Sequence[float], scale: Scale = PLAIN) -> Verdict:
    """The verdict on the statement that the mean is within ``limits``; rounding of fractions decides nothing."""
    if is_one_draw(values):
        return "agrees" if judge_interval(limits, (values[0], values[0])) == "confirmed" else "differs"
    return judge_interval(limits, mean_interval(values, scale))


def mean(values: Sequence[float], scale: Scale = PLAIN) -> float | None:
    """The mean, if there is one; of ratios it is geometric."""
    return statistics.mean(values, scale) if values and all(map(math.isfinite, values)) else None


def trial_row(
    id: str,
    group: str,
    what: str,
    published: float | str | None,
    limits: Limits | None,
    values: Sequence[float],
    unit: str,
    note: str = "",
    *,
    tolerance: float | None = None,
    scale: Scale = PLAIN,
    not_judged: str = "",
) -> Row:
    """The row of a number measured in several runs: their mean, its interval, and the verdict if there are limits.

    ``not_judged`` says why the row is for information although it has limits.
    """
    interval = None if is_one_draw(values) else mean_interval(values, scale)
    if interval:
        runs = f"{len(values)} runs, from {min(values):.4g} to {max(values):.4g}"
        runs += "" if scale == PLAIN else f"; {statistics.method(values, 't', scale)}"
    elif is_one_draw(values):
        runs = f"one draw: {len(values)} runs give the same value"
    else:
        runs = "no interval: fewer than two runs that show it"
    verdict: Verdict = judge(limits, values, scale) if limits is not None and not not_judged else "info"
    note = "; ".join(filter(None, [not_judged and f"not judged: {not_judged}", note]))
    return Row(
        id, group, what, published, mean(values, scale), tolerance, unit, verdict,
        "; ".join(filter(None, [note, runs])), interval, limits=None if limits is None else (limits.low, limits.high),
    )  # fmt: skip

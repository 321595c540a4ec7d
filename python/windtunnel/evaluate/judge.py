"""Whether a check is met: the mean of several runs against a limit, or run by run against the worst baseline.

The mean has a 95 % interval (Student's, on the scale of the quantity's kind). A requirement is met where the whole
interval is within the limits, not met where none of it is, and undecided otherwise: then the runs are too few, or
too different, to tell. A rule that holds always, such as one of a state machine, is met where each run keeps it.

Against a baseline the runs are compared in pairs: the same seed sets the same start offsets and the same random
streams, so that differences between seeds cancel. The worst baseline is the one with the worst mean: a new algorithm
should do no more harm than those that are standards already, whichever of them harms most.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from windtunnel.evaluate.pack import Expect
from windtunnel.experiment.expectation import Limits
from windtunnel.experiment.scales import PLAIN, Scale
from windtunnel.experiment.statistics import summary_of_all
from windtunnel.experiment.verdict import Verdict, Word, judge, word

#: A verdict; or why there is none: the algorithm cannot take part (``n/a``), its runs do not tell what is judged
#: (``unseen``), or a run ended with an error (``failed``).
State: TypeAlias = "Verdict | Literal['n/a', 'unseen', 'failed']"

#: From best to worst: where either of two limits suffices, the better verdict counts.
_BEST = ("agrees", "undecided", "differs")
#: In the order in which clauses and rows are counted.
STATES: tuple[State, ...] = ("agrees", "differs", "undecided", "unseen", "n/a", "failed", "info")


_READ: dict[State, Word] = {
    **{verdict: word(verdict, "requirement") for verdict in get_args(Verdict)},
    "n/a": Word("info", ("requirement",), "n/a", "n/a", "dim"),
    "unseen": Word("info", ("requirement",), "not visible", "not visible", "dim"),
    "failed": Word("differs", ("requirement",), "failed", "failed", "red"),
}


def read(state: State) -> Word:
    """A state as people read it: ``met``, ``not met``."""
    return _READ[state]


@dataclass(frozen=True)
class Judgement:
    """A verdict, the limit that decided in words and as a number, and whether larger values are better."""

    verdict: Verdict
    limit: float | None
    text: str
    larger: bool | None


def decide(
    expect: Expect | None, values: Sequence[float], baselines: Mapping[str, Sequence[float]], scale: Scale = PLAIN
) -> Judgement:
    """The verdict on ``values``, one for each seed; ``baselines`` have theirs in the same order of seeds."""
    if expect is None:
        return Judgement("info", None, "", None)
    judgements = [
        j for j in (_absolute(expect, values, scale), _relative(expect, values, baselines, scale)) if j is not None
    ]
    return min(judgements, key=lambda j: _BEST.index(j.verdict))


def decide_absolute(expect: Expect | None, values: Sequence[float], scale: Scale = PLAIN) -> Judgement | None:
    """The verdict on the limit that holds whatever baselines do; None where there is none."""
    return None if expect is None else _absolute(expect, values, scale)


def _absolute(expect: Expect, values: Sequence[float], scale: Scale) -> Judgement | None:
    if not expect.is_absolute:
        return None
    low, high = expect.limits
    verdict = _of_each(expect, values) if expect.each else judge(Limits(low, high), values, scale)
    where = "in each run " if expect.each else ""
    if expect.above is not None and expect.below is not None:
        return Judgement(verdict, None, f"{where}{low:g} to {high:g}", None)
    if expect.above is not None:
        return Judgement(verdict, low, f"{where}at least {low:g}", True)
    return Judgement(verdict, high, f"{where}at most {high:g}", False)


def broken(expect: Expect, values: Sequence[float]) -> int:
    """How many runs break a rule that holds always."""
    low, high = expect.limits
    return sum(value < low or value > high for value in values) if expect.each else 0


def _of_each(expect: Expect, values: Sequence[float]) -> Verdict:
    """The verdict on a rule: a run that breaks it decides; without one, a run that does not show it leaves it open."""
    if broken(expect, values):
        return "differs"
    return "agrees" if all(math.isfinite(value) for value in values) and values else "undecided"


def _relative(
    expect: Expect, values: Sequence[float], baselines: Mapping[str, Sequence[float]], scale: Scale
) -> Judgement | None:
    if not expect.is_relative:
        return None
    larger = expect.at_least is not None
    factor = expect.at_least if expect.at_least is not None else expect.at_most
    assert factor is not None
    means = {
        name: m
        for name, v in baselines.items()
        if (not expect.of or name in expect.of) and (m := summary_of_all(v, scale).mean) is not None
    }
    if not means:
        return Judgement("undecided", None, "no baseline could be measured", larger)
    worst = (min if larger else max)(means, key=lambda name: means[name])
    limit = factor * means[worst] + expect.plus
    pairs = list(zip(values, baselines[worst], strict=False))
    if scale.kind == "ratio" and not expect.plus and all(v > 0 and b > 0 for v, b in pairs):
        judged = judge(Limits(low=factor) if larger else Limits(high=factor), [v / b for v, b in pairs], scale)
    else:
        differences = [v - factor * b - expect.plus for v, b in pairs]
        judged = judge(Limits(low=0.0) if larger else Limits(high=0.0), differences)
    return Judgement(judged, limit, _words(larger, factor, worst, expect.plus), larger)


def _words(larger: bool, factor: float, worst: str, plus: float) -> str:
    times = f"{worst}'s" if factor == 1 else f"{factor:g} times {worst}'s"
    return f"at {'least' if larger else 'most'} {times}" + (f" and {plus:g}" if plus else "")


def overall(states: Sequence[State]) -> State:
    """The verdict on a clause from those on its checks: one that is not met decides, then one that is undecided."""
    deciding: tuple[State, ...] = ("failed", "differs", "undecided", "agrees", "unseen", "n/a")
    return next((state for state in deciding if state in states), "info")

"""Settings on paths: what each path's runs say about objectives and constraints, and what that is over all paths."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from windtunnel.campaign.plan import Cell
from windtunnel.search.dimensions import Point
from windtunnel.search.laboratory import Answer, Ask
from windtunnel.search.model import Tune


@dataclass(frozen=True)
class Measured:
    """Answers of a setting: ``answers[path][run]``. Each has objectives and then constraints."""

    answers: tuple[tuple[Answer, ...], ...]

    def values(self, path: int, metric: int) -> list[float]:
        """A metric of all runs of a path."""
        return [answer.values[metric] for answer in self.answers[path]]

    def mean(self, path: int, metric: int) -> float:
        """NaN where a run has no value: a setting whose runs fail is no good one."""
        values = self.values(path, metric)
        return sum(values) / len(values)

    @property
    def error(self) -> str:
        """Of the first run that failed."""
        return next((answer.error for path in self.answers for answer in path if answer.error), "")


def asks(tune: Tune, point: Point, cells: Sequence[Cell], first: int, count: int) -> list[Ask]:
    """The runs of a setting on paths, path by path. The path's keys are set first, so that they may be tuned."""
    settings = [s for d in tune.space.dimensions if d.name in point for s in d.settings(point[d.name])]
    asked = []
    for cell in cells:
        asked += tune.replicas.of(tune.base.override(*cell.settings, *settings), first, count)
    return asked


def measured(answers: Sequence[Answer], count: int) -> Measured:
    """Answers of :func:`asks`, by path."""
    return Measured(tuple(tuple(answers[n : n + count]) for n in range(0, len(answers), count)))


def objectives(tune: Tune, tried: Measured, default: Measured) -> tuple[float, ...] | None:
    """The objectives of a setting over all paths; None if one has no value.

    ``relative`` is the geometric mean of the ratios to the default, path by path: paths of other sizes count the same.
    """
    values = []
    for number, objective in enumerate(tune.objectives):
        means = [tried.mean(path, number) for path in range(len(tried.answers))]
        if not all(map(math.isfinite, means)):
            return None
        if tune.over == "worst":
            values.append(max(means) if objective.direction == "minimize" else min(means))
        elif tune.over == "mean":
            values.append(sum(means) / len(means))
        else:
            own = [default.mean(path, number) for path in range(len(means))]
            if not all(a > 0 and b > 0 for a, b in zip(means, own, strict=True)):
                return None
            values.append(math.exp(sum(math.log(a / b) for a, b in zip(means, own, strict=True)) / len(means)))
    return tuple(values)


def violation(tune: Tune, tried: Measured) -> float:
    """How far outside of its limits the worst constraint is on the worst path, in parts of the limit; 0 if none is."""
    worst = 0.0
    for number, (_, condition) in enumerate(tune.constraints, len(tune.objectives)):
        for path in range(len(tried.answers)):
            mean = tried.mean(path, number)
            if condition.limits.hold(mean):
                continue
            if not math.isfinite(mean):
                return math.inf
            limits = condition.limits
            limit = limits.low if mean <= limits.low else limits.high
            worst = max(worst, abs(mean - limit) / (abs(limit) or 1), 1e-9)
    return worst

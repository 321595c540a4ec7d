"""A hunt from its first candidate to its findings."""

from __future__ import annotations

from dataclasses import dataclass, field

from windtunnel.search.dimensions import Coordinate, Point
from windtunnel.search.explore import Trial, best, explore
from windtunnel.search.laboratory import Ask, Search
from windtunnel.search.model import Hunt
from windtunnel.search.sampler import Study
from windtunnel.search.shrink import Held, Shrunk, Variant, changed, held_of, holds, shrink

#: Candidates that are checked for each find that is wanted, before a hunt gives up.
_TRIES = 4


@dataclass(frozen=True)
class Change:
    """One dimension at another value, all else as in the minimal scenario: the median value, and how often it holds."""

    name: str
    to: Coordinate | None
    value: float
    held: Held


@dataclass
class Find:
    """A candidate whose property held in fresh runs, and the minimal scenario that it shrank to."""

    trial: Trial
    checked: Held
    shrunk: Shrunk
    final: Held
    """Of the minimal scenario, in runs that decided nothing before."""
    example: Ask
    """The run among these that is written: the one with the median value, of those in which it holds."""
    example_value: float
    around: list[Change] = field(default_factory=list)
    compared: list[tuple[str, Held]] = field(default_factory=list)
    """The minimal scenario with the settings of ``compare``."""


@dataclass
class Findings:
    """All that a hunt says."""

    trials: list[Trial]
    importances: dict[str, float]
    finds: list[Find] = field(default_factory=list)
    lucky: list[tuple[Trial, Held]] = field(default_factory=list)
    """Candidates that had the property in their first runs, but not often enough in fresh ones."""


def hunting(hunt: Hunt) -> Search[Findings]:
    """The whole hunt."""
    study = Study(hunt.space, hunt.sampler, hunt.seed, ["minimize"])
    trials = yield from explore(hunt, study)
    findings = Findings(trials, study.importances())
    seen: list[Point] = []
    # A candidate that was lucky says nothing about its neighbours, so only it is left out; of a find, all that is near.
    left = list(trials)
    for _ in range(_TRIES * hunt.finds):
        trial = best(hunt, left, seen)
        if trial is None or len(findings.finds) == hunt.finds:
            break
        left.remove(trial)
        checked = yield from holds(hunt, Variant(trial.point), hunt.seeds, hunt.check)
        if checked.share < hunt.share:
            findings.lucky.append((trial, checked))
            continue
        find = yield from _find(hunt, trial, checked)
        seen += [trial.point, find.shrunk.variant.point]
        # Two ways to the same minimal scenario are one find.
        if all(find.shrunk.variant != other.shrunk.variant for other in findings.finds):
            findings.finds.append(find)
    return findings


def _find(hunt: Hunt, trial: Trial, checked: Held) -> Search[Find]:
    small = yield from shrink(hunt, trial.point)
    first = hunt.seeds + hunt.check
    final = yield from holds(hunt, small.variant, first, hunt.check)
    shown = sorted((value, n) for n, value in enumerate(final.values) if hunt.goal.holds(value))
    value, number = shown[len(shown) // 2] if shown else (final.values[0], 0)
    example = hunt.replicas.of(small.variant.scenario(hunt), first + number, 1)[0]
    find = Find(trial, checked, small, final, example, value)
    for dimension in hunt.space.dimensions:
        now = small.variant.point.get(dimension.name)
        if now is None and dimension.when is not None and not dimension.when.holds(small.variant.point):
            continue
        for to in dimension.probes():
            if to != now:
                other = changed(hunt, small.variant, dimension.name, to)
                held = yield from holds(hunt, other, first, hunt.seeds)
                find.around.append(Change(dimension.name, to, hunt.goal.value(held.values), held))
    for name, settings in hunt.compare:
        scenario = small.variant.scenario(hunt).override(*settings)
        answers = yield hunt.replicas.of(scenario, first, hunt.check)
        find.compared.append((name, held_of(hunt, answers)))
    return find

"""A tuning: settings on paths, the trade-off front, and the proof of the chosen one on paths that were held out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from windtunnel.experiment import statistics
from windtunnel.search.dimensions import Point
from windtunnel.search.laboratory import Search
from windtunnel.search.measure import Measured, asks, measured, objectives, violation
from windtunnel.search.model import Objective, Tune
from windtunnel.search.sampler import BATCH, Study

Verdict: TypeAlias = Literal["better", "worse", "no difference shown"]


@dataclass(frozen=True)
class Setting:
    """A candidate: its objectives over the paths (None: it has none) and how far it breaks constraints."""

    number: int
    point: Point
    values: tuple[float, ...] | None
    violation: float
    error: str = ""

    @property
    def is_allowed(self) -> bool:
        """Whether it has values and breaks no constraint."""
        return self.values is not None and self.violation == 0


@dataclass(frozen=True)
class Compared:
    """The chosen setting minus the default on a held-out path, for one objective."""

    path: str
    objective: str
    chosen: float
    default: float
    difference: statistics.Contrast
    p: float | None
    """Corrected by Holm for all comparisons."""
    verdict: Verdict


@dataclass(frozen=True)
class Overall:
    """The mean difference over all held-out paths, in percent of the default where all values are more than 0."""

    objective: str
    difference: float
    interval: tuple[float, float] | None
    percent: bool
    verdict: Verdict


@dataclass
class Tuned:
    """All that a tuning says."""

    default: tuple[float, ...] | None
    default_violation: float
    settings: list[Setting]
    importances: dict[str, float]
    front: list[Setting]
    chosen: Setting | None
    compared: list[Compared]
    overall: list[Overall]
    broken: dict[str, list[str]]
    """Held-out paths on which a constraint is broken, by ``chosen`` and ``default``."""


def tuning(tune: Tune) -> Search[Tuned]:
    """The whole tuning."""
    cells = tune.cells(tune.paths)
    default = measured((yield asks(tune, {}, cells, 0, tune.seeds)), tune.seeds)
    several = len(tune.objectives) > 1
    study = Study(tune.space, tune.sampler, tune.seed, [objective.direction for objective in tune.objectives])
    settings: list[Setting] = []
    while len(settings) < tune.candidates:
        batch = study.ask(min(BATCH, tune.candidates - len(settings)))
        answers = yield [ask for c in batch for ask in asks(tune, c.point, cells, 0, tune.seeds)]
        each = len(cells) * tune.seeds
        for index, candidate in enumerate(batch):
            tried = measured(answers[index * each : (index + 1) * each], tune.seeds)
            values, far = objectives(tune, tried, default), violation(tune, tried)
            values = values if math.isfinite(far) else None
            study.tell(candidate, values, far if tune.constraints and math.isfinite(far) else None)
            settings.append(Setting(candidate.number, candidate.point, values, far, tried.error))
    front = front_of(tune.objectives, settings)
    importances = {} if several else study.importances()
    chosen = choose(tune.objectives, front)
    tuned = Tuned(
        objectives(tune, default, default), violation(tune, default), settings, importances, front, chosen, [], [], {}
    )
    if chosen is not None:
        yield from _prove(tune, tuned, chosen)
    return tuned


def front_of(wanted: Sequence[Objective], settings: Sequence[Setting]) -> list[Setting]:
    """The allowed settings that no other allowed one beats in one objective without losing in another."""
    allowed = [setting for setting in settings if setting.is_allowed]
    losses = [_losses(wanted, setting) for setting in allowed]
    unbeaten: dict[tuple[float, ...], Setting] = {}
    for setting, own in zip(allowed, losses, strict=True):
        beaten = any(all(a <= b for a, b in zip(other, own, strict=True)) and other != own for other in losses)
        if not beaten:
            unbeaten.setdefault(own, setting)
    return [unbeaten[key] for key in sorted(unbeaten)]


def choose(wanted: Sequence[Objective], front: Sequence[Setting]) -> Setting | None:
    """The setting on the front that is nearest to the best values of all objectives, each in parts of its range there;
    with one objective, the best.
    """
    if not front:
        return None
    losses = [_losses(wanted, setting) for setting in front]
    low = [min(column) for column in zip(*losses, strict=True)]
    span = [(max(column) - min(column)) or 1.0 for column in zip(*losses, strict=True)]
    far = [math.dist([(x - a) / s for x, a, s in zip(own, low, span, strict=True)], [0.0] * len(low)) for own in losses]
    return front[far.index(min(far))]


def _losses(wanted: Sequence[Objective], setting: Setting) -> tuple[float, ...]:
    """The objectives, the less the better."""
    assert setting.values is not None
    return tuple(v if o.direction == "minimize" else -v for o, v in zip(wanted, setting.values, strict=True))


def _prove(tune: Tune, tuned: Tuned, chosen: Setting) -> Search[None]:
    """Compare the chosen setting and the default on held-out paths, with seeds that tuned nothing."""
    cells = tune.cells(tune.held_out)
    answers = yield [ask for point in (chosen.point, {}) for ask in asks(tune, point, cells, tune.seeds, tune.proof)]
    half = len(answers) // 2
    new, old = measured(answers[:half], tune.proof), measured(answers[half:], tune.proof)
    names = [", ".join(value.label for value in cell.values) for cell in cells]
    tuned.compared = comparisons(tune, names, new, old)
    tuned.overall = [overall(tune, objective, tuned.compared) for objective in tune.objectives]
    for who, tried in (("chosen", new), ("default", old)):
        tuned.broken[who] = [
            f"{name} ({label})"
            for path, name in enumerate(names)
            for number, (label, condition) in enumerate(tune.constraints, len(tune.objectives))
            if not condition.limits.hold(tried.mean(path, number))
        ]


def comparisons(tune: Tune, names: Sequence[str], new: Measured, old: Measured) -> list[Compared]:
    """Each path and objective, run by run."""
    rows = [
        (name, path, number, objective)
        for number, objective in enumerate(tune.objectives)
        for path, name in enumerate(names)
    ]
    paired = [
        statistics.comparison(new.values(path, number), old.values(path, number), tune.confidence, "t")
        for _, path, number, _ in rows
    ]
    corrected = statistics.corrected([each.p for each in paired], "holm")
    return [
        Compared(
            name, objective.name, new.mean(path, number), old.mean(path, number), each, p,
            _verdict(objective, each.difference, p, 1 - tune.confidence),
        )
        for (name, path, number, objective), each, p in zip(rows, paired, corrected, strict=True)
    ]  # fmt: skip


def _verdict(objective: Objective, difference: float | None, p: float | None, level: float) -> Verdict:
    """Where all pairs differ by the same there is no p: chance has no part, and the sign decides."""
    if difference is None or difference == 0 or (p is not None and p >= level):
        return "no difference shown"
    return "better" if objective.is_better(difference) else "worse"


def overall(tune: Tune, objective: Objective, compared: Sequence[Compared]) -> Overall:
    """The mean over the held-out paths; a path is one value, because what was wanted is a setting for other paths."""
    pairs = [(row.chosen, row.default) for row in compared if row.objective == objective.name]
    pairs = [(a, b) for a, b in pairs if math.isfinite(a) and math.isfinite(b)]
    percent = bool(pairs) and all(a > 0 and b > 0 for a, b in pairs)
    values = [math.log(a / b) if percent else a - b for a, b in pairs]
    if not values:
        return Overall(objective.name, math.nan, None, False, "no difference shown")
    mean = sum(values) / len(values)
    interval = statistics.mean_interval(values, tune.confidence, "t")
    clear = interval is not None and (interval[0] > 0 or interval[1] < 0)
    verdict: Verdict = "no difference shown"
    if clear:
        verdict = "better" if objective.is_better(mean) else "worse"

    def shown(x: float) -> float:
        return 100 * math.expm1(x) if percent else x

    between = None if interval is None else (shown(interval[0]), shown(interval[1]))
    return Overall(objective.name, shown(mean), between, percent, verdict)

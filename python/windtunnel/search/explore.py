"""Points all over the space, each run several times, in batches that a sampler chooses."""

from __future__ import annotations

from dataclasses import dataclass

from windtunnel.search.dimensions import Point
from windtunnel.search.laboratory import Search
from windtunnel.search.model import Hunt
from windtunnel.search.sampler import BATCH, Study


@dataclass(frozen=True)
class Trial:
    """A point that was tried. ``value`` is the median of its runs' values, NaN if there is none."""

    number: int
    point: Point
    value: float
    values: tuple[float, ...]
    error: str
    """Of its first run that failed."""


def explore(hunt: Hunt, study: Study) -> Search[list[Trial]]:
    """Try as many points as the hunt has runs for."""
    trials: list[Trial] = []
    while len(trials) < hunt.candidates:
        batch = study.ask(min(BATCH, hunt.candidates - len(trials)))
        answers = yield [
            ask for candidate in batch for ask in hunt.replicas.of(hunt.space.scenario(candidate.point), 0, hunt.seeds)
        ]
        for index, candidate in enumerate(batch):
            own = answers[index * hunt.seeds : (index + 1) * hunt.seeds]
            values = tuple(answer.values[0] for answer in own)
            value = hunt.goal.value(values)
            study.tell(candidate, [hunt.goal.score(value)] if value == value else None)
            error = next((answer.error for answer in own if answer.error), "")
            trials.append(Trial(candidate.number, candidate.point, value, values, error))
    return trials


#: Points that are nearer than this to a find are the same find.
_APART = 0.25


def best(hunt: Hunt, trials: list[Trial], apart_from: list[Point]) -> Trial | None:
    """The best trial that has the property and is not near one of ``apart_from``."""
    candidates = [
        trial
        for trial in trials
        if hunt.goal.holds(trial.value) and all(hunt.space.distance(trial.point, p) >= _APART for p in apart_from)
    ]
    return min(candidates, key=lambda trial: (hunt.goal.score(trial.value), trial.number), default=None)

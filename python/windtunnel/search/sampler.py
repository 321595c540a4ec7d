"""Optuna's samplers, asked in batches of a fixed size: the number of jobs changes nothing that is found.

TPE (Bergstra et al., 2011) learns from any kind of dimension; CMA-ES (Hansen) needs numbers, and draws lists at random;
NSGA-II (Deb et al., 2002) is for several objectives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from windtunnel.extras import library, need
from windtunnel.search.dimensions import Point
from windtunnel.search.space import Space

if TYPE_CHECKING:
    import optuna

Sampler: TypeAlias = Literal["tpe", "cma-es", "nsga-ii", "random"]
#: Candidates that are asked for together.
BATCH = 8


def optuna_library() -> ModuleType:
    """Optuna, quiet. Raises MissingExtraError where it is not installed."""
    optuna: ModuleType = library("optuna", "a search")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


@dataclass
class Candidate:
    """A point that was drawn, and what became of it."""

    number: int
    point: Point
    trial: optuna.Trial


class Study:
    """Candidates from a sampler. ``directions``: ``minimize`` or ``maximize``, for each objective."""

    def __init__(self, space: Space, sampler: Sampler, seed: int, directions: Sequence[str]) -> None:
        self._optuna, self._space = optuna_library(), space
        self._study = self._optuna.create_study(sampler=self._sampler(sampler, seed), directions=list(directions))

    def _sampler(self, name: Sampler, seed: int) -> Any:
        samplers = self._optuna.samplers
        match name:
            case "tpe":
                return samplers.TPESampler(seed=seed, n_startup_trials=2 * BATCH, constant_liar=True)
            case "cma-es":
                need("cmaes", "cma-es")
                return samplers.CmaEsSampler(seed=seed, popsize=BATCH, warn_independent_sampling=False)
            case "nsga-ii":
                return samplers.NSGAIISampler(seed=seed, population_size=2 * BATCH)
            case "random":
                return samplers.RandomSampler(seed=seed)

    def first(self, point: Point) -> None:
        """Let the first candidate be this one."""
        self._study.enqueue_trial(dict(point))

    def ask(self, count: int) -> list[Candidate]:
        """The next candidates."""
        trials = [self._study.ask() for _ in range(count)]
        return [Candidate(trial.number, self._space.draw(trial), trial) for trial in trials]

    def tell(self, candidate: Candidate, values: Sequence[float] | None, violation: float | None = None) -> None:
        """The objectives' values; None for a candidate that has none. ``violation``: how far from what is allowed it
        is, 0 if it is allowed.
        """
        if violation is not None:
            candidate.trial.set_constraint("constraints", violation)
        if values is None:
            self._study.tell(candidate.trial, state=self._optuna.trial.TrialState.FAIL)
        else:
            self._study.tell(candidate.trial, list(values))

    def importances(self) -> dict[str, float]:
        """How much each dimension, alone, decides whether a candidate is among the best tenth (PED-ANOVA, Watanabe et
        al., 2023): shares of 1. Empty where there are too few candidates to tell.
        """
        import warnings

        from optuna.importance import PedAnovaImportanceEvaluator, get_param_importances

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                shares = get_param_importances(self._study, evaluator=PedAnovaImportanceEvaluator())
        except (ValueError, RuntimeError, ZeroDivisionError):
            return {}
        return {name: float(share) for name, share in shares.items() if share == share}

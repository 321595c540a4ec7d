"""What a hunt and a tuning are: a space, what is looked for in it, runs, a sampler."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from windtunnel.campaign.plan import Cell
from windtunnel.experiment.axes import Block
from windtunnel.experiment.measures import Condition, Expression
from windtunnel.scenario import Scenario
from windtunnel.search.goal import Goal
from windtunnel.search.laboratory import Ask
from windtunnel.search.sampler import Sampler
from windtunnel.search.space import Space

if TYPE_CHECKING:
    from windtunnel.campaign.file import Source


@dataclass(frozen=True)
class Replicas:
    """How a candidate is run several times: numbered seeds, each with other starts if ``offsets``."""

    offsets: bool

    def of(self, scenario: Scenario, first: int, count: int) -> list[Ask]:
        """The runs ``first`` to before ``first + count`` of a scenario; equal numbers are equal seeds."""
        return [Ask(scenario, n + 1, n + 1 if self.offsets else 0) for n in range(first, first + count)]


@dataclass(frozen=True)
class Hunt:
    """A search for scenarios with a property."""

    title: str
    space: Space
    goal: Goal
    sampler: Sampler
    seed: int
    """Of the sampler."""
    runs: int
    """For candidates; checks, shrinking and explanations are beyond them."""
    seeds: int
    """Runs of a candidate."""
    replicas: Replicas
    check: int
    """Fresh runs in which a candidate must hold, and each smaller scenario."""
    share: float
    """Of these."""
    finds: int
    shrink: int
    """Runs to shrink one find, at most."""
    keep: tuple[str, ...] = ()
    """Keys that shrinking leaves as they are: what the hunt is about."""
    compare: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Settings by name: what else to run the minimal scenario with."""
    source: Source | None = field(default=None, compare=False)

    @property
    def candidates(self) -> int:
        """How many points are tried."""
        return max(1, self.runs // self.seeds)


@dataclass(frozen=True)
class Objective:
    """A quantity to make small or large; of several paths the mean, or the worst."""

    name: str
    direction: Literal["minimize", "maximize"]
    quantity: Expression

    def is_better(self, difference: float) -> bool:
        """Whether a value that is larger by ``difference`` is better."""
        return difference < 0 if self.direction == "minimize" else difference > 0


@dataclass(frozen=True)
class Tune:
    """A search for the best parameters over a set of paths, and their proof on another set."""

    title: str
    base: Scenario
    space: Space
    paths: tuple[Block, ...]
    held_out: tuple[Block, ...]
    objectives: tuple[Objective, ...]
    constraints: tuple[tuple[str, Condition], ...]
    over: Literal["mean", "worst", "relative"]
    sampler: Sampler
    seed: int
    runs: int
    seeds: int
    replicas: Replicas
    proof: int
    """Runs of each held-out path."""
    confidence: float
    source: Source | None = field(default=None, compare=False)

    @property
    def candidates(self) -> int:
        """How many points are tried."""
        return max(1, self.runs // (self.seeds * len(self.cells(self.paths))))

    def cells(self, blocks: Sequence[Block]) -> list[Cell]:
        """The paths of some axes."""
        from windtunnel.campaign.model import Campaign
        from windtunnel.campaign.plan import Plan

        return list(Plan(Campaign(self.base, axes=list(blocks))).cells())

    def conditions(self) -> Iterator[Expression]:
        """The quantities of the constraints."""
        return (condition.quantity for _, condition in self.constraints)

"""Carries a search out on the engine of campaigns.

A search is a generator: it yields the runs that it wants to know about, and is sent what they gave, in the same order.
So it reads like a program that waits for its runs, it is deterministic wherever they are done, and to continue an
interrupted one is to do it again: what is in the journal is not run again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from windtunnel.engine.cache import Store
from windtunnel.engine.progress import Count
from windtunnel.engine.work import Backend
from windtunnel.experiment.measures import Expression
from windtunnel.experiment.reuse import Runs
from windtunnel.experiment.runs import Outcome, Record, Run
from windtunnel.scenario import Scenario
from windtunnel.start_offsets import starts


@dataclass(frozen=True)
class Ask:
    """A run: the scenario with a seed, and with other starts of its flows (0: its own)."""

    scenario: Scenario
    seed: int
    offset: int = 0

    def arranged(self) -> Scenario:
        """The scenario of this run. Raises ScenarioError."""
        scenario = self.scenario.override(f"seed={self.seed}")
        return scenario.override(*starts(scenario.resolve(), self.offset)) if self.offset else scenario


@dataclass(frozen=True)
class Answer:
    """The values of all metrics, NaN where there is none; or the error of a run that failed."""

    values: tuple[float, ...]
    digest: str = ""
    error: str = ""


Result = TypeVar("Result")
Asked: TypeAlias = Sequence[Ask]
Search: TypeAlias = Generator[Asked, list[Answer], Result]
#: Looks at the first run that did not fail; raises InputError for a metric that it does not have.
Check: TypeAlias = Callable[[Record], None]


class Laboratory:
    """Where the runs of one search are done. ``memory`` is what a run may hold."""

    def __init__(
        self, metrics: Sequence[Expression], journal: Store, shared: Store | None, memory: int | None, check: Check
    ) -> None:
        self._metrics, self._runs = metrics, Runs(metrics, journal, shared, memory)
        self._check: Check | None = check
        self._queue: deque[tuple[int, Ask]] = deque()
        self._answers: list[Answer | None] = []
        self._missing = 0
        self.count = Count(0)

    def conduct(self, search: Search[Result], backend: Backend, moved: Callable[[], None]) -> Result:
        """Do all that a search asks for, and return what it found; ``moved`` is called after each run."""
        results: list[Result] = []

        def next_batch(answers: list[Answer] | None) -> None:
            try:
                asked = next(search) if answers is None else search.send(answers)
                while not asked:
                    asked = search.send([])
            except StopIteration as stop:
                results.append(stop.value)
                return
            self._queue.extend(enumerate(asked))
            self._answers, self._missing = [None] * len(asked), len(asked)
            self.count.total = max(self.count.total, self.count.done + len(asked))

        def take() -> Run | None:
            while not results:
                while self._queue:
                    run = self._run(*self._queue.popleft())
                    if run is not None:
                        return run
                if self._missing:
                    return None
                next_batch([answer for answer in self._answers if answer is not None])
            return None

        next_batch(None)
        with closing(self._runs.done(take, backend)) as done:
            for run, outcome in done:
                self.count.reused += outcome.reused
                self._settle(run.index, outcome)
                moved()
        return results[0]

    def _run(self, index: int, ask: Ask) -> Run | None:
        """The run; None if the core refuses its scenario."""
        made = self._runs.make(ask.arranged, 0, index)
        if isinstance(made, Run):
            return made
        self._settle(index, made)
        return None

    def _settle(self, index: int, outcome: Outcome) -> None:
        record = Record.decode(outcome.data)
        if self._check is not None and not record.error:
            self._check(record)
            self._check = None
        self.count.done += 1
        self.count.failed += bool(record.error)
        values = tuple(record.value(metric)[0] for metric in self._metrics)
        self._answers[index] = Answer(values, record.digest, record.error)
        self._missing -= 1

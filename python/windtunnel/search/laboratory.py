"""Carries a search out on the engine of campaigns.

A search is a generator: it yields the runs that it wants to know about, and is sent what they gave, in the same order.
So it reads like a program that waits for its runs, it is deterministic wherever they are done, and to continue an
interrupted one is to do it again: what is in the journal is not run again.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from windtunnel._core import ScenarioError
from windtunnel.campaign.metrics import Expression
from windtunnel.campaign.recording import settings as recording
from windtunnel.campaign.simulate import Outcome, Record, Run, Simulate, failure, key_of_run
from windtunnel.engine.cache import Store
from windtunnel.engine.loop import outcomes
from windtunnel.engine.progress import Count
from windtunnel.engine.work import Place
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
        self._metrics, self._journal, self._shared, self._memory = metrics, journal, shared, memory
        self._by_table = tuple(metric.text for metric in metrics if metric.tables)
        self._tables = frozenset[str]().union(*(metric.tables for metric in metrics))
        self._check: Check | None = check
        self._queue: deque[tuple[int, Ask]] = deque()
        self._answers: list[Answer | None] = []
        self._missing = 0
        self.count = Count(0)

    def conduct(self, search: Search[Result], place: Place, moved: Callable[[], None]) -> Result:
        """Do all that a search asks for, and return what it found; ``moved`` is called after each run."""
        found: list[Result] = []

        def next_batch(answers: list[Answer] | None) -> None:
            try:
                asked = next(search) if answers is None else search.send(answers)
                while not asked:
                    asked = search.send([])
            except StopIteration as stop:
                found.append(stop.value)
                return
            self._queue.extend(enumerate(asked))
            self._answers, self._missing = [None] * len(asked), len(asked)
            self.count.total = max(self.count.total, self.count.done + len(asked))

        def take() -> Run | None:
            while not found:
                while self._queue:
                    run = self._run(*self._queue.popleft())
                    if run is not None:
                        return run
                if self._missing:
                    return None
                next_batch([answer for answer in self._answers if answer is not None])
            return None

        next_batch(None)
        with closing(outcomes(Simulate(), take, place)) as done:
            for run, outcome in done:
                self._journal.put(run.key, outcome.data)
                # Code that is not windtunnel's own may change without a trace.
                if not outcome.error and not outcome.foreign and self._shared is not None:
                    with suppress(OSError):
                        self._shared.put(run.key, outcome.data)
                self._settle(run.place, outcome)
                moved()
        return found[0]

    def _run(self, place: int, ask: Ask) -> Run | None:
        """The run; None if its outcome is known, or the core refuses its scenario."""
        try:
            scenario = ask.arranged()
            text, file, overrides, allow_read, built = scenario.arguments
            resolved = scenario.resolve_text()
            key = key_of_run(resolved, file)
        except (ScenarioError, OSError) as error:
            self._settle(place, failure(error))
            return None
        known = self._known(key)
        if known is not None:
            self.count.known += 1
            self._settle(place, Outcome(known))
            return None
        reduced = recording(self._tables, str(json.loads(resolved)["duration"]))
        return Run(0, place, text, file, overrides, allow_read, built, reduced, self._by_table, self._memory, key)

    def _known(self, key: bytes) -> bytes | None:
        """What is known of a run: from this search, also before it was interrupted, or from any other command."""
        data = self._journal.get(key)
        if data is None and self._shared is not None:
            with suppress(OSError):
                data = self._shared.get(key)
            if data is not None:
                self._journal.put(key, data)
        if data is None:
            return None
        record = Record.decode(data)
        return data if record.answers(self._by_table) and not record.foreign else None

    def _settle(self, place: int, outcome: Outcome) -> None:
        record = Record.decode(outcome.data)
        if self._check is not None and not record.error:
            self._check(record)
            self._check = None
        self.count.done += 1
        self.count.failed += bool(record.error)
        values = tuple(record.value(metric)[0] for metric in self._metrics)
        self._answers[place] = Answer(values, record.digest, record.error)
        self._missing -= 1

"""Reuse of runs: what a run gave is kept under a key of all that decides it, and is not run again.

It is kept in two places. A journal belongs to one command: a command that was interrupted goes on from it. The shared
cache belongs to all commands. A cache that is full or broken costs only time, and is left alone from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence

from windtunnel._core import ScenarioError
from windtunnel.engine.cache import Store
from windtunnel.engine.loop import outcomes
from windtunnel.engine.work import Backend
from windtunnel.experiment.measures import Expression
from windtunnel.experiment.runs import Outcome, Record, Run, Simulate, encoded, failed, key_of_run, recording
from windtunnel.scenario import Scenario


class Shared:
    """The shared cache, if there is one; after an error it is left alone."""

    def __init__(self, store: Store | None) -> None:
        self._store = store

    def get(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """What it knows of these keys."""
        try:
            return {} if self._store is None else self._store.get_many(keys)
        except OSError:
            self._store = None
            return {}

    def put(self, records: Iterable[tuple[bytes, bytes]]) -> None:
        """Keep records for others."""
        try:
            for key, record in records:
                if self._store is not None:
                    self._store.put(key, record)
        except OSError:
            self._store = None


class Runs:
    """The runs from which ``metrics`` are read. ``memory`` is what a run may hold, in bytes; None leaves it to the
    machine that runs it.
    """

    def __init__(
        self, metrics: Iterable[Expression], journal: Store | None, shared: Store | None, memory: int | None
    ) -> None:
        read = tuple(metrics)
        self._by_table = tuple(metric.text for metric in read if metric.tables)
        self._tables = frozenset[str]().union(*(metric.tables for metric in read))
        self._journal, self._shared, self._memory = journal, Shared(shared), memory

    def make(self, scenario: Callable[[], Scenario], cell: int, index: int) -> Run | Outcome:
        """The run of a scenario, the ``index``-th of its cell; or its outcome, where the core refuses it."""
        try:
            made = scenario()
            text, file, overrides, allow_read, built = made.arguments
            resolved = made.resolve_text()
            key = key_of_run(resolved, file)
        except (ScenarioError, OSError) as error:
            return encoded(failed(error))
        reduced = recording(self._tables)
        return Run(cell, index, text, file, overrides, allow_read, built, reduced, self._by_table, self._memory, key)

    def recall(self, run: Run) -> Outcome | None:
        """What a run gave before: to this command, when it was interrupted, or to any other one."""
        data = None if self._journal is None else self._journal.get(run.key)
        if data is not None and self._is_enough(run, data):
            return Outcome(data, reused=True)
        data = self._shared.get([run.key]).get(run.key)
        if data is None or not self._is_enough(run, data):
            return None
        if self._journal is not None:
            self._journal.put(run.key, data)
        return Outcome(data, reused=True)

    def keep(self, run: Run, outcome: Outcome) -> None:
        """Keep an outcome for this command; and for others, unless it may be another one next time."""
        if self._journal is not None:
            self._journal.put(run.key, outcome.data)
        # Code that is not windtunnel's own may change without a trace.
        if not outcome.error and not outcome.foreign:
            self._shared.put([(run.key, outcome.data)])

    def done(self, take: Callable[[], Run | None], backend: Backend) -> Generator[tuple[Run, Outcome], None, None]:
        """Each run that ``take`` gives, with its outcome, known or new; in the order in which they end."""
        return outcomes(Simulate(), take, backend, self)

    @staticmethod
    def _is_enough(run: Run, data: bytes) -> bool:
        """Whether a known run has what the metrics need, and is not of code that may have changed."""
        record = Record.decode(data)
        return record.answers(run.metrics) and not record.foreign

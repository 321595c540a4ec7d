"""Runs the scenarios of a pack by the engine of campaigns, with the cache of outcomes that all commands share."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Any

from windtunnel._core import ScenarioError
from windtunnel.campaign.metrics import Expression
from windtunnel.campaign.scales import Scale
from windtunnel.campaign.simulate import Record, Simulate, failure, key_of_run
from windtunnel.campaign.simulate import Run as Task
from windtunnel.campaign.sweep import default_place
from windtunnel.engine import cache
from windtunnel.engine.loop import outcomes
from windtunnel.evaluate.runs import Run
from windtunnel.memory import limit
from windtunnel.scenario import Scenario

#: What is kept of each flow of a run, from its summary.
FLOW_COLUMNS = ("name", "cc", "application", "throughput_mbps", "goodput_mbps", "sent", "retransmits", "rtos")


@dataclass(frozen=True)
class Outcome:
    """What a run gave: its metrics, its flows, how it went; ``error`` if it failed."""

    values: Mapping[str, float]
    scales: Mapping[str, Scale]
    flows: tuple[Mapping[str, Any], ...]
    digest: str
    foreign: tuple[str, ...] = ()
    error: str = ""


def run_all(
    runs: Sequence[Run], workers: int | None, done: Callable[[int], None], *, use_cache: bool = True
) -> list[Outcome]:
    """The outcome of each run, in their order. Equal scenarios run once: what is examined may be a baseline as well.

    What any command has run before is not run again, unless its code is not windtunnel's own.
    """
    texts = list(dict.fromkeys(run.text for run in runs))
    store = cache.shared() if use_cache else None
    try:
        records = _Records(store, done)
        records.do(texts, workers)
    finally:
        if store is not None:
            with suppress(OSError):  # a cache that cannot be written costs only time
                store.close()
    return [_outcome(records.found[run.text], run) for run in runs]


class _Records:
    """Records by the text of their scenario, as they come from the cache and from runs."""

    def __init__(self, store: cache.Store | None, done: Callable[[int], None]) -> None:
        self.found: dict[str, Record] = {}
        self._store, self._done = store, done
        self._waiting: list[str] = []

    def do(self, texts: Sequence[str], workers: int | None) -> None:
        """Get the records of all."""
        place = default_place(workers)
        total = limit(None)
        self._memory = None if total is None else total // place.workers
        self._waiting = list(reversed(texts))
        with closing(outcomes(Simulate(), self._take, place)) as stream:
            for task, outcome in stream:
                record = Record.decode(outcome.data)
                if not outcome.error and not outcome.foreign:
                    self._share(task.key, outcome.data)
                self._settle(task.text, record)

    def _take(self) -> Task | None:
        """The next run that is not known; known ones are settled on the way."""
        while self._waiting:
            text = self._waiting.pop()
            scenario = Scenario.from_toml(text)
            try:
                key = key_of_run(scenario.resolve_text(), None)
            except (ScenarioError, OSError) as error:
                self._settle(text, Record.decode(failure(error).data))
                continue
            known = self._known(key)
            if known is None:
                return Task(0, 0, text, None, (), (), False, (), (), self._memory, key)
            self._settle(text, known)
        return None

    def _settle(self, text: str, record: Record) -> None:
        self.found[text] = record
        self._done(1)

    def _known(self, key: bytes) -> Record | None:
        data = None
        with suppress(OSError):
            data = self._store.get(key) if self._store is not None else None
        record = Record.decode(data) if data is not None else None
        return record if record is not None and not record.error and not record.foreign else None

    def _share(self, key: bytes, data: bytes) -> None:
        if self._store is not None:
            with suppress(OSError):
                self._store.put(key, data)


def _outcome(record: Record, run: Run) -> Outcome:
    if record.error:
        return Outcome({}, {}, (), "", error=record.error)
    values: dict[str, float] = {}
    scales: dict[str, Scale] = {}
    for name, text in run.metrics.items():
        metric = Expression.parse(text, run.kinds.get(name))
        value, problem = record.value(metric)
        scales[name] = record.scale(metric)
        if problem:
            return Outcome({}, {}, (), record.digest, error=f"metric `{name}`: {problem}")
        values[name] = value if math.isfinite(value) else math.nan
    flows = tuple({key: flow[key] for key in FLOW_COLUMNS} for flow in record.summary["flows"])
    return Outcome(values, scales, flows, record.digest, record.foreign)

"""Runs the scenarios of a pack by the engine of campaigns, with the cache of outcomes that all commands share."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from windtunnel._core import ScenarioError
from windtunnel.campaign.sweep import default_backend
from windtunnel.engine import cache
from windtunnel.engine.work import Backend
from windtunnel.evaluate.runs import Run
from windtunnel.experiment.measures import Expression
from windtunnel.experiment.reuse import Runs
from windtunnel.experiment.runs import Outcome, Record
from windtunnel.experiment.runs import Run as Task
from windtunnel.experiment.scales import Scale
from windtunnel.memory import limit
from windtunnel.scenario import Scenario

#: What is kept of each flow of a run, from its summary.
FLOW_COLUMNS = ("name", "cc", "application", "throughput_mbps", "goodput_mbps", "sent", "retransmits", "rtos")


@dataclass(frozen=True)
class RunValues:
    """What a run gave: its metrics, its flows, how it went; ``error`` if it failed."""

    values: Mapping[str, float]
    scales: Mapping[str, Scale]
    flows: tuple[Mapping[str, Any], ...]
    digest: str
    foreign: tuple[str, ...] = ()
    error: str = ""
    untold: Mapping[str, str] = field(default_factory=dict)
    """Why metrics have no value that need a state which the run's controller does not have or tell."""


def run_all(
    runs: Sequence[Run], workers: int | None, done: Callable[[int], None], *, use_cache: bool = True
) -> list[RunValues]:
    """The outcome of each run, in their order. Equal scenarios run once: what is examined may be a baseline as well.

    What any command has run before is not run again, unless its code is not windtunnel's own.
    """
    metrics: dict[str, dict[str, Expression]] = {}
    for run in runs:
        metrics.setdefault(run.text, {}).update({text: Expression.parse(text) for text in run.metrics.values()})
    store = cache.shared() if use_cache else None
    records: dict[str, Record] = {}
    try:
        for texts, at_once in _by_memory(list(metrics), workers or os.cpu_count() or 1):
            records |= _records({text: metrics[text] for text in texts}, default_backend(at_once), store, done)
    finally:
        if store is not None:
            with suppress(OSError):  # a cache that cannot be written costs only time
                store.close()
    return [_measured(records[run.text], run) for run in runs]


def _by_memory(texts: Sequence[str], workers: int) -> Iterator[tuple[list[str], int]]:
    """The scenarios, and how many run at once: fewer where all workers would need more memory than there is."""
    total = limit(None)
    if total is None:
        yield list(texts), workers
        return
    large = {text: size for text in texts if (size := _memory(text)) * workers > total}
    yield [text for text in texts if text not in large], workers
    if large:
        yield list(large), max(1, total // max(large.values()))


def _memory(text: str) -> int:
    """The bytes that a run is expected to hold; 0 where the core refuses it, which its outcome says."""
    try:
        return int(Scenario.from_toml(text).estimate()["memory_bytes"])
    except ScenarioError:
        return 0


def _records(
    metrics: Mapping[str, Mapping[str, Expression]],
    backend: Backend,
    store: cache.Store | None,
    done: Callable[[int], None],
) -> Mapping[str, Record]:
    """What the runs of these scenarios gave, by their texts. ``metrics`` are read from each, some from its tables."""
    total = limit(None)
    memory = None if total is None else total // backend.workers
    once, texts = Runs((), None, store, memory), list(metrics)
    waiting, records = list(reversed(list(enumerate(texts)))), dict[str, Record]()

    def settle(number: int, outcome: Outcome) -> None:
        records[texts[number]] = Record.decode(outcome.data)
        done(1)

    def take() -> Task | None:
        """The next run; what the core refuses is settled on the way."""
        while waiting:
            number, text = waiting.pop()
            reads = Runs(metrics[text].values(), None, store, memory)
            made = reads.make(partial(Scenario.from_toml, text), 0, number)
            if isinstance(made, Task):
                return made
            settle(number, made)
        return None

    with closing(once.done(take, backend)) as stream:
        for task, outcome in stream:
            settle(task.index, outcome)
    return records


def _measured(record: Record, run: Run) -> RunValues:
    if record.error:
        return RunValues({}, {}, (), "", error=record.error)
    values: dict[str, float] = {}
    scales: dict[str, Scale] = {}
    untold: dict[str, str] = {}
    for name, text in run.metrics.items():
        metric = Expression.parse(text, run.kinds.get(name))
        value, problem = record.value(metric)
        scales[name] = record.scale(metric)
        if metric.text in record.untold:
            untold[name] = problem
        elif problem:
            return RunValues({}, {}, (), record.digest, error=f"metric `{name}`: {problem}")
        values[name] = value if math.isfinite(value) else math.nan
        if math.isnan(value) and (counter := _uncounted(text, record.summary["flows"][0])) is not None:
            untold[name] = f"`{record.summary['flows'][0]['cc']}` tells no `{counter}`"
    flows = tuple({key: flow[key] for key in FLOW_COLUMNS} for flow in record.summary["flows"])
    return RunValues(values, scales, flows, record.digest, record.foreign, untold=untold)


def _uncounted(text: str, flow: Mapping[str, Any]) -> str | None:
    """What a metric reads of a flow and its transport does not count: a QUIC stack does not tell retransmissions."""
    return next((name for name in FLOW_COLUMNS if flow[name] is None and re.search(rf"\b{name}\b", text)), None)

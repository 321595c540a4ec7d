"""Runs the scenarios of a pack in parallel processes. Only numbers cross between them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import Any, TypeAlias

from windtunnel.evaluate.metrics import Expression
from windtunnel.evaluate.runs import Run
from windtunnel.plugins import registrations, restore
from windtunnel.scenario import Scenario
from windtunnel.workers import pool

#: Runs that are handed to a process at once: most are over in less time than the message takes.
BATCH = 8

#: What is kept of each flow of a run, from its summary.
FLOW_COLUMNS = ("name", "cc", "application", "throughput_mbps", "goodput_mbps", "sent", "retransmits", "rtos")


@dataclass(frozen=True)
class Outcome:
    """What a run gave: its metrics, its flows, how it went; ``error`` if it failed."""

    values: Mapping[str, float]
    flows: tuple[Mapping[str, Any], ...]
    digest: str
    packets: int
    seconds: float
    foreign: tuple[str, ...] = ()
    error: str = ""


def execute(text: str, metrics: Mapping[str, str]) -> Outcome:
    """Run one scenario in this process. A failure is an outcome, too: the other runs go on."""
    start = time.perf_counter()
    try:
        result = Scenario.from_toml(text).run()
        values = {name: Expression.parse(expression).value(result.summary) for name, expression in metrics.items()}
    except Exception as error:  # any error concerns this run only, and is shown
        return Outcome({}, (), "", 0, time.perf_counter() - start, error=f"{type(error).__name__}: {error}")
    flows = tuple({key: flow[key] for key in FLOW_COLUMNS} for flow in result.summary["flows"])
    seconds = time.perf_counter() - start
    foreign = tuple(result.meta["foreign"])
    return Outcome(values, flows, str(result.summary["digest"]), int(result.summary["packets"]), seconds, foreign)


def _batch(work: Sequence[tuple[str, Mapping[str, str]]]) -> list[Outcome]:
    return [execute(text, metrics) for text, metrics in work]


#: What tells runs apart: the scenario, and what is measured.
Key: TypeAlias = tuple[str, tuple[tuple[str, str], ...]]


def run_all(
    runs: Sequence[Run], workers: int | None, done: Callable[[int], None], known: dict[Key, Outcome] | None = None
) -> list[Outcome]:
    """The outcome of each run, in their order. Equal scenarios run once: what is examined may be a baseline as well.

    ``known`` are outcomes of earlier calls, to which those of this one are added: baselines of several packs.

    No more is handed out than there are processes, so that an interrupt need not wait for queued runs.
    """
    found = {} if known is None else known
    queue = [key for key in dict.fromkeys(map(_key, runs)) if key not in found]
    batches = [queue[i : i + BATCH] for i in range(0, len(queue), BATCH)]
    workers = max(1, min(workers or os.cpu_count() or 1, len(batches) or 1))
    # Controllers that are written in Python are registered again in each process.
    with pool(workers, ["windtunnel.evaluate.execute", "windtunnel._core"], restore, registrations()) as executor:
        running: dict[Future[list[Outcome]], list[Key]] = {}
        while batches or running:
            while batches and len(running) < workers:
                batch = batches.pop(0)
                running[executor.submit(_batch, [(text, dict(metrics)) for text, metrics in batch])] = batch
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                keys = running.pop(future)
                found |= dict(zip(keys, future.result(), strict=True))
                done(len(keys))
    return [found[_key(run)] for run in runs]


def _key(run: Run) -> Key:
    return run.text, tuple(run.metrics.items())

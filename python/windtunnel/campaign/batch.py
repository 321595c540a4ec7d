"""A batch: runs that a worker does one after the other, until half a second has passed. What remains goes back.

To hand a task to a worker, and to take its outcome, costs as much as a short run, or with Dask as many of them. Batches
make that small, and move to the workers whatever is done for each run: the settings of its start, its metrics, its row.
Which runs are in a batch decides nothing about what they give.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from windtunnel._core import ScenarioError
from windtunnel.campaign.plan import Variant
from windtunnel.campaign.rows import RowsOfRecords
from windtunnel.engine.cache import key_of
from windtunnel.engine.work import GoOn
from windtunnel.experiment.measures import Expression
from windtunnel.experiment.runs import Record, Run, attempt, failed, recording
from windtunnel.memory import limit

#: Seconds after which a worker begins no other run of its batch.
SPAN = 0.5


@dataclass(frozen=True)
class Planned:
    """A run: which variant of its batch, seed and start offset, its key, and its record where it is known."""

    variant: int
    seed: int | None
    offset: int
    key: bytes
    record: bytes | None = None


@dataclass(frozen=True)
class Batch:
    """``runs`` of some scenarios. ``memory`` is what a run may hold; None: what the machine has for one when the
    batch begins.
    """

    variants: Sequence[Variant]
    runs: Sequence[Planned]
    memory: int | None


@dataclass(frozen=True)
class Done:
    """The first runs of a batch, ``count`` of them, as encoded rows. ``records`` may be kept for other campaigns.

    ``doubtful`` are the places of those that are run again when a campaign goes on: failed ones, and those that foreign
    code decided. Where ``count`` is 0, the batch ended its process, for one of its runs.
    """

    rows: bytes
    count: int
    failed: int = 0
    reused: int = 0
    doubtful: tuple[int, ...] = ()
    records: tuple[tuple[bytes, bytes], ...] = ()
    seconds: float = 0.0


class Measure:
    """The work of a campaign: a batch to the rows of its runs. ``quantities`` are read from each run."""

    def __init__(self, quantities: Sequence[Expression], *, keep: bool) -> None:
        self._quantities, self._keep = tuple(quantities), keep
        self._of_tables = tuple(quantity for quantity in quantities if quantity.tables)
        self._by_table = tuple(quantity.text for quantity in self._of_tables)
        self._recording = recording(frozenset[str]().union(*(quantity.tables for quantity in quantities)))

    @cached_property
    def name(self) -> bytes:
        """What is read from a run: rows of other quantities are other rows."""
        return key_of(f"{quantity.text}\0{quantity.kind}".encode() for quantity in self._quantities)

    def __call__(self, task: Batch, go_on: GoOn) -> Done:
        """The rows of as many runs as half a second is enough for, at least one."""
        rows = RowsOfRecords(self._quantities)
        failures, reused, doubtful = 0, 0, list[int]()
        records: list[tuple[bytes, bytes]] = []
        # Asked once for all: to read what the machine has takes as long as a short run.
        memory = limit(None) if task.memory is None else task.memory
        before = time.perf_counter()
        for run in task.runs:
            record = None if run.record is None else self._remembered(run.record)
            if record is not None:
                reused += 1
            else:
                record = self._run(task.variants[run.variant], run, memory, go_on)
                failures += bool(record.error)
                if record.error or record.foreign:
                    doubtful.append(len(rows))
                elif self._keep:
                    records.append((run.key, record.encode()))
            rows.add(record, run.seed, run.offset)
            if time.perf_counter() - before > SPAN:
                break
        took = time.perf_counter() - before
        return Done(rows.rows().encode(), len(rows), failures, reused, tuple(doubtful), tuple(records), took)

    def lost(self, task: Batch, why: str) -> Done:
        """A run that ended its process has failed; of several, it is not known which one it was."""
        if len(task.runs) > 1:
            return Done(b"", 0)
        rows = RowsOfRecords(self._quantities)
        rows.add(Record(error=why), task.runs[0].seed, task.runs[0].offset)
        return Done(rows.rows().encode(), 1, failed=1, doubtful=(0,))

    def _remembered(self, data: bytes) -> Record | None:
        """A record that has what is read, and is not of code that may have changed."""
        record = Record.decode(data)
        return record if record.answers(self._by_table) and not record.foreign else None

    def _run(self, variant: Variant, run: Planned, memory: int | None, go_on: GoOn) -> Record:
        try:
            settings = variant.settings(run.seed, run.offset)
        except (ScenarioError, OSError) as error:
            return failed(error)
        if variant.runner.kernel is not None:
            return variant.runner.record(variant.scenario.override(*settings), self._of_tables, go_on)
        text, file, overrides, allow_read, built = variant.scenario.arguments
        overrides = (*overrides, *settings)
        task = Run(0, 0, text, file, overrides, allow_read, built, self._recording, self._by_table, memory, run.key)
        return attempt(task, go_on)

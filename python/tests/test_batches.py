"""Batches: whatever a worker does of them, in whatever order and until whatever ends it, the data set is the same."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from campaigns import base, campaign

from windtunnel import Campaign, grid
from windtunnel.campaign import batch as batches
from windtunnel.campaign.batch import Batch, Done, Measure, Planned
from windtunnel.campaign.conduct import quantities_of
from windtunnel.campaign.ledger import Ledger
from windtunnel.campaign.plan import Variant
from windtunnel.campaign.results import load
from windtunnel.campaign.rows import NUMBERS, Rows, RowsOfRecords
from windtunnel.campaign.sweep import journal_of, sweep
from windtunnel.engine.cache import Store
from windtunnel.engine.progress import Count
from windtunnel.engine.threads import Threads
from windtunnel.engine.work import always
from windtunnel.experiment.runs import Record

NAMES = ("runs.parquet", "flows.parquet", "cells.parquet", "cells.csv", "campaign.json", "report.html")


class Unruly:
    """A place where batches end in any order, with any number of their runs done; those with the seed ``kills`` end
    their process.
    """

    workers, is_here = 3, True

    def __init__(self, seed: int, kills: int | None = None) -> None:
        self._random, self._kills = random.Random(seed), kills
        self.batches: list[int] = []

    @contextmanager
    def open(self, work: Any) -> Iterator[Unruly]:
        self._work: Any = work
        self._waiting: list[Batch] = []
        yield self

    def room(self) -> int:
        return 6

    def hand_in(self, task: Batch) -> None:
        self._waiting.append(task)

    def collect(self) -> Sequence[tuple[Batch, Done]]:
        task = self._waiting.pop(self._random.randrange(len(self._waiting)))
        self.batches.append(len(task.runs))
        if self._kills in {run.seed for run in task.runs}:
            return [(task, self._work.lost(task, "it was killed"))]
        some = replace(task, runs=task.runs[: self._random.randint(1, len(task.runs))])
        return [(task, self._work(some, always))]


def wanted(**more: Any) -> Campaign:
    return campaign(seeds=7, **more).override("duration=0.1 s")


def same(a: Path, b: Path) -> bool:
    return all((a / name).read_bytes() == (b / name).read_bytes() for name in NAMES)


@pytest.mark.parametrize(
    "more", [{}, {"until": "ci 10 %", "max_runs": 30}, {"offsets": 3}], ids=["all", "until", "crossed"]
)
def test_any_order_gives_the_same(more: dict[str, Any], tmp_path: Path) -> None:
    """Also where runs are added, and where offsets are crossed with seeds."""
    sweep(wanted(**more), tmp_path / "plain", backend=Threads(1), use_cache=False)
    for seed in range(4):
        sweep(wanted(**more), tmp_path / f"{seed}", backend=Unruly(seed), use_cache=False)
        assert same(tmp_path / "plain", tmp_path / f"{seed}")


def test_a_run_that_kills_costs_itself_alone(tmp_path: Path) -> None:
    """Which run of a batch ended its process is not known: they are done again, each alone."""
    sweep(wanted(), tmp_path / "plain", backend=Threads(1), use_cache=False)
    conductor, _ = sweep(wanted(), tmp_path / "killed", backend=Unruly(1, kills=5), use_cache=False)
    assert (conductor.count.done, conductor.count.failed) == (42, 6)
    good = load(tmp_path / "plain").runs.to_pylist()
    for row, other in zip(load(tmp_path / "killed").runs.to_pylist(), good, strict=True):
        assert row["error"] == ("it was killed" if row["seed"] == 5 else None)
        assert row["seed"] == 5 or row == other


class StoppedError(Exception):
    """What ends a campaign from outside."""


@pytest.mark.parametrize("after", [1, 9, 23, 40])
def test_a_campaign_goes_on(after: int, tmp_path: Path) -> None:
    """What an interrupted sweep did is not done again, and the files are those of one that was not interrupted. Failed
    runs are tried again.
    """

    @contextmanager
    def show(count: Count) -> Iterator[Callable[[], None]]:
        def moved() -> None:
            if count.done >= after:
                raise StoppedError

        yield moved

    sweep(wanted(), tmp_path / "plain", backend=Threads(1), use_cache=False)
    with pytest.raises(StoppedError):
        sweep(wanted(), tmp_path / "out", backend=Unruly(after, kills=2), use_cache=False, show=show)
    assert journal_of(tmp_path / "out").exists()
    backend = Unruly(1)
    conductor, _ = sweep(wanted(), tmp_path / "out", backend=backend, use_cache=False)
    assert (conductor.count.done, conductor.count.failed) == (42, 0)
    assert after - 6 <= conductor.count.reused < 42
    assert same(tmp_path / "plain", tmp_path / "out")


def test_a_changed_campaign_goes_on(tmp_path: Path) -> None:
    """Runs are known by what they are: with another axis value those of the first stay, with other metrics none."""
    axes = {"flow.a.cc": ["reno", "cubic"]}

    @contextmanager
    def show(count: Count) -> Iterator[Callable[[], None]]:
        def moved() -> None:
            if count.done == 14:
                raise StoppedError

        yield moved

    def interrupted() -> None:
        with pytest.raises(StoppedError):
            sweep(wanted(axes=[grid(axes)]), tmp_path / "out", backend=Threads(1), use_cache=False, show=show)

    interrupted()
    more = wanted(axes=[grid({"flow.a.cc": ["vegas", "cubic", "reno"]})])
    assert sweep(more, tmp_path / "out", use_cache=False)[0].count.reused == 14
    interrupted_again = tmp_path / "out"
    assert not journal_of(interrupted_again).exists()
    sweep(more, tmp_path / "plain", backend=Threads(1), use_cache=False)
    assert same(tmp_path / "plain", tmp_path / "out")
    with pytest.raises(StoppedError):
        sweep(wanted(axes=[grid(axes)]), tmp_path / "x", backend=Threads(1), use_cache=False, show=show)
    other = wanted(axes=[grid(axes)], metrics={"x": "packets"})
    assert sweep(other, tmp_path / "x", use_cache=False)[0].count.reused == 0


def test_a_worker_gives_back_what_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """At least one run is done, and none begins after the time of a batch."""
    wanted_runs = [Planned(0, seed, 0, bytes(16)) for seed in range(1, 6)]
    measure = Measure(quantities_of(wanted()), keep=True)
    batch = Batch([Variant(wanted().bases[0].scenario)], wanted_runs, None)
    done = measure(batch, always)
    assert (done.count, len(done.records), len(Rows.decode(done.rows))) == (5, 5, 5)
    monkeypatch.setattr(batches, "SPAN", 0.0)
    assert measure(batch, always).count == 1


class Quick(Unruly):
    """Batches end in any order, but whole, after a millisecond for each run."""

    def collect(self) -> Sequence[tuple[Batch, Done]]:
        task = self._waiting.pop(self._random.randrange(len(self._waiting)))
        self.batches.append(len(task.runs))
        return [(task, replace(self._work(task, always), seconds=1e-3 * len(task.runs)))]


def test_short_runs_are_few_tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their batches grow; those at the end are small, so that no worker waits long for another, but not tiny."""
    monkeypatch.setattr(batches, "SPAN", 1e9)
    backend = Quick(0)
    sweep(campaign(seeds=200).override("duration=0.01 s"), tmp_path / "out", backend=backend, use_cache=False)
    assert sum(backend.batches) == 1200 and len(backend.batches) < 50
    assert max(backend.batches) >= 80 and 10 <= backend.batches[-2] <= 80


def rows_of(count: int) -> tuple[Rows, list[Record]]:
    """Rows of runs with different flows, failures and problems."""
    quantities = quantities_of(campaign(metrics={"delay": "p99(queue.sojourn)", "x": "flows.b.goodput"}))
    made, records = RowsOfRecords(quantities), []
    for number in range(count):
        scenario = base().override(f"seed={number}", "duration=0.05 s")
        if number % 3 == 1:
            scenario = scenario.override(f'flow.1.name="c{number}"')
        result = scenario.run()
        record = Record(error="no") if number % 4 == 3 else Record(result.summary, {}, {}, result.digest)
        made.add(record, number, 0)
        records.append(record)
    return made.rows(), records


def test_rows() -> None:
    """Rows are what their records say; they survive encoding, parts of them are parts, and parts make the whole."""
    rows, records = rows_of(11)
    again = Rows.decode(rows.encode())
    whole = Rows.together([again.part(0, 4), again.part(4, 5), again.part(5, 11)])
    for each in (rows, again, whole):
        flows = iter(range(len(each.columns["flow"])))
        for number, record in enumerate(records):
            assert each.text("error", number) == record.error and each.text("digest", number) == record.digest
            problems = dict(each.problems(number))
            assert (1 in problems) == (not record.error and number % 3 == 1)
            for flow in record.summary.get("flows", ()):
                at = next(flows)
                assert each.text("flow_name", at) == flow["name"]
                expected = [flow["goodput_mbps"], flow["rtt_ms"]["p99"]]
                names = list(NUMBERS)
                got = each.columns["numbers"][at, [names.index("goodput_mbps"), names.index("rtt_ms.p99")]]
                assert np.array_equal(got, np.array(expected, float), equal_nan=True)
        assert next(flows, None) is None


def test_a_damaged_batch_is_done_again(tmp_path: Path) -> None:
    """Its runs are not known, and those of the others are."""
    import sqlite3
    from contextlib import closing

    store = Store(tmp_path / "journal")
    ledger = Ledger(store, bytes(16), 2, 2)
    rows, _ = rows_of(2)
    keys = [bytes([n]) * 16 for n in range(1, 5)]
    for first in (0, 2):
        done = Done(rows.encode(), 2)
        ledger.add([(first // 2, 0), (first // 2, 1)], keys[first : first + 2], done)
    store.close()
    with closing(sqlite3.connect(tmp_path / "journal")) as raw:
        raw.execute("UPDATE outcomes SET value = CAST(value || x'00' AS BLOB) WHERE rowid = 1")
        raw.commit()
    store = Store(tmp_path / "journal")
    runs = [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert Ledger(store, bytes(16), 2, 2).recall(runs, keys) == [False, False, True, True]
    assert Ledger(store, b"other metrics...", 2, 2).recall(runs, keys) == [False] * 4
    store.remove()

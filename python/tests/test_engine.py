"""The engine: the same outcomes in every place, what becomes of killed workers, and the cache."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from campaigns import campaign
from conftest import environment
from engine_work import Square

from windtunnel import InputError
from windtunnel.campaign.sweep import sweep
from windtunnel.engine import cache
from windtunnel.engine.cache import Store, key_of
from windtunnel.engine.cluster import Cluster
from windtunnel.engine.loop import outcomes
from windtunnel.engine.processes import Processes
from windtunnel.engine.progress import Count, shown
from windtunnel.engine.threads import Threads
from windtunnel.engine.work import Backend
from windtunnel.errors import RunFailedError

BACKENDS = [Threads(3), Processes(2, ("engine_work",))]


def taker(tasks: Iterator[int]) -> Callable[[], int | None]:
    return lambda: next(tasks, None)


def done(backend: Backend, tasks: list[int]) -> dict[int, tuple[int, str]]:
    return dict(outcomes(Square(), taker(iter(tasks)), backend))


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda p: type(p).__name__)
def test_each_task_has_its_outcome(backend: Backend) -> None:
    tasks = [n for n in range(40) if n != 13]
    assert done(backend, tasks) == {n: (n * n, "") for n in tasks}
    assert done(backend, []) == {}


def test_tasks_are_taken_while_there_is_room() -> None:
    """Of endless tasks few are taken ahead: a million need no memory."""
    taken: list[int] = []
    endless = iter(range(10**9))

    def take() -> int:
        taken.append(next(endless))
        return taken[-1] + 100

    with closing(outcomes(Square(), take, Threads(2))) as stream:
        for count, _ in enumerate(stream, 1):
            assert len(taken) <= count + 8
            if count == 100:
                break


def test_tasks_may_follow_from_outcomes() -> None:
    """The loop asks again after it was told that there is none: runs are added that way."""
    waiting = [1]
    seen = []
    for task, _ in outcomes(Square(), lambda: waiting.pop() if waiting else None, Threads(2)):
        seen.append(task)
        if task < 5:
            waiting.append(task + 1)
    assert seen == [1, 2, 3, 4, 5]


def test_a_killed_process_takes_only_its_own_task() -> None:
    """The pool breaks, all that ran is done again one by one, and the task that kills again is lost."""
    results = done(Processes(2, ("engine_work",)), [1, 2, 13, 4, 5, 6])
    assert {n: value for n, (value, _) in results.items()} == {1: 1, 2: 4, 13: -1, 4: 16, 5: 25, 6: 36}
    assert "killed" in results[13][1]


def test_stopping_early_stops_tasks() -> None:
    """Closing the stream tells running tasks to stop: this one would never end."""
    with closing(outcomes(Square(), taker(iter([1, 99])), Threads(2))) as stream:
        next(stream)
    assert not [t for t in threading.enumerate() if t.name.startswith("windtunnel")]


@contextmanager
def cluster(folder: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A real scheduler and two real workers with one thread each: its address, and the workers."""
    file = folder / "scheduler.json"
    path = os.pathsep.join([str(Path(__file__).parents[1]), str(Path(__file__).parent)])
    options = {"env": {**environment(), "PYTHONPATH": path}, "cwd": folder, "stdout": subprocess.DEVNULL}
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str, *arguments: str) -> None:
        command = [
            sys.executable,
            "-m",
            f"distributed.cli.dask_{name}",
            "--scheduler-file",
            str(file),
            "--no-dashboard",
        ]
        started.append(subprocess.Popen([*command, *arguments], stderr=subprocess.DEVNULL, **options))  # type: ignore[call-overload]

    try:
        start("scheduler", "--host", "127.0.0.1", "--port", "0")
        (folder / "pid").write_text(json.dumps(started[0].pid))
        for _ in range(2):
            start("worker", "--nthreads", "1", "--no-nanny", "--host", "127.0.0.1")
        deadline = time.monotonic() + 60
        while not file.exists() or not file.read_text():
            assert time.monotonic() < deadline, "no scheduler"
            time.sleep(0.05)
        yield json.loads(file.read_text())["address"], started[1:]
    finally:
        for process in started:
            process.kill()
        for process in started:
            process.wait()


@pytest.mark.filterwarnings("ignore")  # of Dask's own
def test_dask_gives_the_same_although_a_worker_is_killed(tmp_path: Path) -> None:
    """A real scheduler with two workers; one is killed half-way: the data set is that of threads, byte for
    byte, without a failed run.
    """
    wanted = campaign(seeds=10)
    sweep(wanted, tmp_path / "here", use_cache=False, jobs=2)
    with cluster(tmp_path) as (address, workers):
        from distributed import Client

        with Client(address, timeout=60) as client:
            client.wait_for_workers(2, timeout=60)

        @contextmanager
        def show(count: Count) -> Iterator[Callable[[], None]]:
            def moved() -> None:
                if count.done >= 15:
                    workers[0].send_signal(signal.SIGKILL)

            yield moved

        backend = Cluster(address)
        assert backend.workers == 2
        conductor, _ = sweep(wanted, tmp_path / "there", backend=backend, use_cache=False, show=show)
        assert workers[0].wait(10) == -signal.SIGKILL
        assert (conductor.count.done, conductor.count.failed) == (60, 0)
    for name in ("runs.parquet", "flows.parquet", "cells.parquet", "cells.csv", "campaign.json"):
        assert (tmp_path / "here" / name).read_bytes() == (tmp_path / "there" / name).read_bytes(), name


@pytest.mark.filterwarnings("ignore")
def test_a_scheduler_that_goes_away(tmp_path: Path) -> None:
    """The sweep ends with one message, keeps what is done, and continues in threads."""
    wanted = campaign(seeds=10)
    with cluster(tmp_path) as (address, workers):

        @contextmanager
        def show(count: Count) -> Iterator[Callable[[], None]]:
            def moved() -> None:
                if count.done >= 15:
                    os.kill(json.loads((tmp_path / "pid").read_text()), signal.SIGKILL)

            yield moved

        del workers
        with pytest.raises(RunFailedError, match="same command again"):
            sweep(wanted, tmp_path / "out", backend=Cluster(address), use_cache=False, show=show)
    conductor, _ = sweep(wanted, tmp_path / "out", use_cache=False)
    assert conductor.count.reused >= 15 and conductor.count.done == 60


@pytest.mark.filterwarnings("ignore")
def test_no_scheduler_is_a_message() -> None:
    with pytest.raises(InputError, match="no scheduler answers"):
        Cluster("nonsense://x").workers  # noqa: B018


def test_store(tmp_path: Path) -> None:
    """Values outlive the process; two stores on one file see each other's."""
    first = Store(tmp_path / "a" / "store.sqlite")
    first.put(b"k", b"v")
    assert first.get(b"k") == b"v" and first.get(b"x") is None
    first.flush()
    second = Store(tmp_path / "a" / "store.sqlite")
    assert second.get(b"k") == b"v"
    second.put(b"k", b"w")
    second.close()
    assert first.get(b"k") == b"w" and len(first) == 1
    first.remove()
    assert not list((tmp_path / "a").iterdir())


def test_a_damaged_value_is_none(tmp_path: Path) -> None:
    """One changed byte of a value, or a value of another type: it is computed again, and others stay."""
    file = tmp_path / "store"
    store = Store(file)
    for name in (b"a", b"b", b"c"):
        store.put(name, name * 100)
    store.close()
    with closing(sqlite3.connect(file)) as raw:
        (value,) = raw.execute("SELECT value FROM outcomes WHERE key = ?", (b"a",)).fetchone()
        changed = value[:50] + bytes([value[50] ^ 1]) + value[51:]
        raw.execute("UPDATE outcomes SET value = ? WHERE key = ?", (changed, b"a"))
        raw.execute("UPDATE outcomes SET value = 'text' WHERE key = ?", (b"b",))
        raw.commit()
    store = Store(file)
    assert [store.get(name) for name in (b"a", b"b", b"c")] == [None, None, b"c" * 100]
    store.put(b"a", b"new")
    assert store.get(b"a") == b"new"
    store.close()


def test_store_is_bounded(tmp_path: Path) -> None:
    """What was used longest ago goes first; what was read lately stays."""
    store = Store(tmp_path / "s", most=10_000)
    for n in range(20):
        store.put(bytes([n]), bytes(1000))
        store.flush()
        time.sleep(0.002)
    raw = sqlite3.connect(tmp_path / "s")
    raw.execute("UPDATE outcomes SET used = used - 200000")
    raw.commit()
    raw.close()
    assert store.get(bytes([0])) is not None
    store.close()
    kept = Store(tmp_path / "s")
    assert kept.get(bytes([0])) is not None and kept.get(bytes([1])) is None and kept.get(bytes([19])) is not None
    assert 5 <= len(kept) <= 9
    kept.close()


def test_a_journal_is_for_one_process(tmp_path: Path) -> None:
    first = Store(tmp_path / "j", alone=True)
    with pytest.raises(OSError, match="another process is writing"):
        Store(tmp_path / "j", alone=True)
    first.remove()


def test_a_file_that_is_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is lost by a damaged cache but time: it is not used."""
    monkeypatch.setenv("WINDTUNNEL_CACHE", str(tmp_path))
    (tmp_path / "outcomes.sqlite").write_bytes(b"no database" * 100)
    with pytest.raises(OSError, match="cannot be used"):
        Store(tmp_path / "outcomes.sqlite")
    assert cache.shared() is None


def test_keys() -> None:
    """Parts are not confused with each other."""
    assert key_of([b"ab", b"c"]) != key_of([b"a", b"bc"]) != key_of([b"abc"])
    assert len(key_of([])) == 16 and cache.core() == cache.core()


def test_progress() -> None:
    """The remaining time counts what was computed, not what was known; failures are told."""
    count = Count(total=100, done=60, failed=2, reused=40, started=time.monotonic() - 10)
    assert count.remaining() == pytest.approx(20, rel=0.05)
    assert count.line() == "60 of 100 runs, 40 known from before, 2 failed, ETA 20 s"
    assert Count(total=3).remaining() is None
    lines: list[str] = []
    with shown(count, None, lines.append) as moved:
        moved()
    assert not lines

"""Threads of this process: right for runs, because the core gives Python's lock away while it simulates."""

from __future__ import annotations

import queue
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event
from typing import Generic

from windtunnel.engine.work import GoOn, Outcome, Task, Work

#: Tasks for each thread, so that none waits while the others' outcomes are handled.
_AHEAD = 2


@dataclass(frozen=True)
class Threads:
    """This process, with ``workers`` threads."""

    workers: int

    @property
    def is_here(self) -> bool:
        """Yes."""
        return True

    @contextmanager
    def open(self, work: Work[Task, Outcome]) -> Iterator[_Desk[Task, Outcome]]:
        """A desk; at the end, tasks that have started are told to stop."""
        stopped = Event()
        with ThreadPoolExecutor(self.workers, "windtunnel") as executor:
            try:
                yield _Desk(executor, work, self.workers, lambda: not stopped.is_set())
            finally:
                stopped.set()
                executor.shutdown(wait=False, cancel_futures=True)


class _Desk(Generic[Task, Outcome]):
    def __init__(self, executor: ThreadPoolExecutor, work: Work[Task, Outcome], workers: int, go_on: GoOn) -> None:
        self._executor, self._work, self._workers, self._go_on = executor, work, workers, go_on
        self._done: queue.SimpleQueue[tuple[Task, Future[Outcome]]] = queue.SimpleQueue()

    def room(self) -> int:
        return self._workers * _AHEAD

    def hand_in(self, task: Task) -> None:
        future = self._executor.submit(self._work, task, self._go_on)
        future.add_done_callback(lambda done: self._done.put((task, done)))

    def collect(self) -> Sequence[tuple[Task, Outcome]]:
        return [(task, done.result()) for task, done in all_of(self._done)]


def all_of(done: queue.SimpleQueue[Outcome]) -> list[Outcome]:
    """What a queue holds; waits for the first."""
    outcomes = [done.get()]
    while not done.empty():
        outcomes.append(done.get())
    return outcomes

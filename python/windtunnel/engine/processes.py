"""Processes of this machine: for work that holds Python's lock, such as drawing and controllers written in Python.

A process that is killed takes all of its pool's tasks with it, and nothing tells which of them was the reason. They are
done again one by one: the one that ends its process again is lost, and all others get their outcomes.
"""

from __future__ import annotations

import queue
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Generic

from windtunnel.engine.remote import Remote
from windtunnel.engine.threads import all_of
from windtunnel.engine.work import Outcome, Task, Work
from windtunnel.workers import pool

_KILLED = "its process was killed, or memory is short"


@dataclass(frozen=True)
class Processes:
    """``workers`` processes, which have imported the modules ``preload``."""

    workers: int
    preload: tuple[str, ...] = ()

    @property
    def is_here(self) -> bool:
        """Yes."""
        return True

    @contextmanager
    def open(self, work: Work[Task, Outcome]) -> Iterator[_Desk[Task, Outcome]]:
        """A desk; if the block ends early, the processes are stopped."""
        desk = _Desk(self, work)
        with ExitStack() as stack:
            stack.push(lambda *error: desk.pool.__exit__(*error))
            yield desk


class _Desk(Generic[Task, Outcome]):
    def __init__(self, backend: Processes, work: Work[Task, Outcome]) -> None:
        self._backend, self._work, self._remote = backend, work, Remote(work)
        self._suspects: deque[Task] = deque()
        self._running, self._alone = 0, False
        self.pool = ExitStack()
        self._start()

    def room(self) -> int:
        recovering = self._suspects or (self._running and (self._alone or self._broken))
        # No more than there are processes: the pool would hold what an interrupt should not wait for.
        return 0 if recovering else self._backend.workers

    def hand_in(self, task: Task) -> None:
        if not self._running:
            self._alone = False
            if self._broken:
                self._restart()
        self._submit(task)

    def collect(self) -> Sequence[tuple[Task, Outcome]]:
        outcomes: list[tuple[Task, Outcome]] = []
        while not outcomes:
            if not self._running:
                self._try_one()
            for task, future in all_of(self._done):
                self._running -= 1
                if not isinstance(future.exception(), BrokenProcessPool):
                    outcomes.append((task, future.result()))
                    continue
                self._broken = True
                if self._alone:
                    outcomes.append((task, self._work.lost(task, _KILLED)))
                else:
                    self._suspects.append(task)
        return outcomes

    def _try_one(self) -> None:
        """Do again one of the tasks that ran when a process was killed, and nothing else at the same time."""
        if self._broken:
            self._restart()
        self._alone = True
        self._submit(self._suspects.popleft())

    def _submit(self, task: Task) -> None:
        try:
            future = self._executor.submit(self._remote, task)
        except BrokenProcessPool:
            self._broken = True
            self._suspects.append(task)
            return
        self._running += 1
        done = self._done
        future.add_done_callback(lambda future: done.put((task, future)))

    def _restart(self) -> None:
        self.pool.close()
        self._start()

    def _start(self) -> None:
        self._broken = False
        self._done: queue.SimpleQueue[tuple[Task, Future[Outcome]]] = queue.SimpleQueue()
        self._executor: Executor = self.pool.enter_context(pool(self._backend.workers, self._backend.preload))

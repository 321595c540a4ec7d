"""Other machines, by Dask: a scheduler and its workers, each with windtunnel installed in the same version.

Dask gives the tasks of a worker that has died to others, and takes a task for lost when it has ended several workers.
"""

from __future__ import annotations

import logging
import queue
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic

from windtunnel.engine.remote import Remote
from windtunnel.engine.threads import all_of
from windtunnel.engine.work import Outcome, Task, Work
from windtunnel.errors import InputError, RunFailedError
from windtunnel.extras import library

if TYPE_CHECKING:
    from distributed import Client, Future

#: Tasks for each thread of a worker, so that none waits for the network.
_AHEAD = 3
#: Seconds between two questions how many workers there are; they may come and go.
_LOOK = 2.0
_GONE = "the scheduler has gone; what was done is kept: give the same command again to continue"


@dataclass(frozen=True)
class Cluster:
    """The workers of the scheduler at ``address``; without one, ``local`` processes with a scheduler of their own."""

    address: str | None = None
    local: int = 1

    @property
    def workers(self) -> int:
        """How many tasks the cluster does at a time, now."""
        if self.address is None:
            return self.local
        with self._client() as client:
            return max(1, _threads(client))

    @property
    def is_here(self) -> bool:
        """Only without a scheduler elsewhere."""
        return self.address is None

    @contextmanager
    def open(self, work: Work[Task, Outcome]) -> Iterator[_Desk[Task, Outcome]]:
        """A desk; at the end, tasks that have not started are taken back."""
        with self._client() as client:
            desk: _Desk[Task, Outcome] = _Desk(client, work)
            try:
                yield desk
            finally:
                desk.take_back()

    @contextmanager
    def _client(self) -> Iterator[Client]:
        distributed = library("distributed", "Dask")
        if self.address is None:
            options = {"n_workers": self.local, "threads_per_worker": 1, "dashboard_address": None}
            with (
                distributed.LocalCluster(**options, silence_logs=logging.ERROR) as cluster,
                distributed.Client(cluster) as client,
            ):
                yield client
            return
        try:
            client = distributed.Client(self.address, timeout=10, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            raise InputError(f"--scheduler {self.address}: no scheduler answers there: {error}") from None
        with _quiet(), client:
            yield client


class _Desk(Generic[Task, Outcome]):
    def __init__(self, client: Client, work: Work[Task, Outcome]) -> None:
        self._client, self._work = client, work
        # With each task, and not as data of the cluster, which would be lost with the worker that holds it.
        self._remote = Remote(work)
        self._done: queue.SimpleQueue[tuple[Task, Future[Outcome]]] = queue.SimpleQueue()
        self._waiting: set[Future[Outcome]] = set()
        self._room, self._looked = 1, 0.0

    def room(self) -> int:
        if time.monotonic() - self._looked > _LOOK:
            with _answering():
                self._room = max(1, _AHEAD * _threads(self._client))
            self._looked = time.monotonic()
        return self._room

    def hand_in(self, task: Task) -> None:
        with _answering():
            future = self._client.submit(self._remote, task, pure=False)
        self._waiting.add(future)
        future.add_done_callback(lambda done: self._done.put((task, done)))

    def collect(self) -> Sequence[tuple[Task, Outcome]]:
        return [(task, self._outcome(task, future)) for task, future in all_of(self._done)]

    def _outcome(self, task: Task, future: Future[Outcome]) -> Outcome:
        from distributed.scheduler import KilledWorker

        self._waiting.discard(future)
        try:
            with _answering():
                outcome: Outcome = future.result()
        except KilledWorker:
            return self._work.lost(task, "it ended several workers")
        return outcome

    def take_back(self) -> None:
        """Cancel what is not done."""
        if self._waiting:
            with suppress(OSError, RuntimeError):  # the scheduler may have gone
                self._client.cancel(list(self._waiting), force=True)


def _threads(client: Client) -> int:
    """The threads of all workers that there are now."""
    return sum(int(threads) for threads in client.nthreads().values())


@contextmanager
def _answering() -> Iterator[None]:
    """Raises RunFailedError where the scheduler does not answer any more."""
    try:
        yield
    except (CancelledError, OSError):
        raise RunFailedError(_GONE) from None


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the tracebacks that Dask logs where a connection ends: what that means is told in one message."""
    # Dask gives each of them a level of its own.
    loggers = [logging.getLogger(f"distributed.{name}") for name in ("client", "core", "comm", "comm.tcp")]
    levels = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(logging.CRITICAL + 1)
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)

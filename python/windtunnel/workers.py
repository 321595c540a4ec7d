"""Worker processes that end with the process that started them.

A worker does not outlive its parent, even if the parent was killed (``kill -9``, out of memory) and cannot say
so: the worker waits at a pipe. Only the parent has its other end, and the operating system closes it with the parent.
The signal that Linux can send at a parent's death (``PR_SET_PDEATHSIG``) would not do: the parent of a pool's workers,
as the operating system sees it, is the server that forks them.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

from windtunnel.errors import RunFailedError
from windtunnel.uninterrupted import uninterrupted


@contextmanager
def pool(workers: int, preload: Sequence[str] = ()) -> Iterator[Executor]:
    """A pool of processes; each has imported the modules ``preload``.

    If the block ends with an error, the workers are stopped, because their results would not be read. Raises
    RunFailedError if a worker was killed.
    """
    context = multiprocessing.get_context("forkserver" if sys.platform != "win32" else "spawn")
    context.set_forkserver_preload([__name__, *preload])
    if sys.platform != "win32":
        _start_servers()
        # The first process waits until the server has imported all that is preloaded: this one has nothing to lose.
        first = context.Process(target=os.getpid)  # type: ignore[attr-defined]
        first.start()
        first.join()
    others = set(multiprocessing.active_children())
    try:
        with _Pool(workers, context, initializer=_start) as executor:
            try:
                yield executor
            except BaseException:
                for process in set(multiprocessing.active_children()) - others:
                    process.terminate()
                raise
    except BrokenProcessPool:
        raise RunFailedError("a worker process ended early: it was killed, or memory is short") from None


class _Pool(ProcessPoolExecutor):
    """A worker that is being started when a signal comes would be unknown to those who stop all workers."""

    def submit(self, *args: Any, **options: Any) -> Any:
        with uninterrupted():
            return super().submit(*args, **options)


def _start_servers() -> None:
    """Start the processes that fork the workers and keep count of their semaphores, deaf to what a terminal sends to
    all of its processes: they are still needed while this one cleans up. They end with it.
    """
    from multiprocessing import forkserver, resource_tracker

    with uninterrupted():
        # The first call changes the mask itself.
        for start in (resource_tracker.ensure_running, forkserver.ensure_running):
            deaf = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})
            try:
                start()
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, deaf)


def _start() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    parent = multiprocessing.parent_process()
    if parent is not None:
        _end_after(parent.join)


def run_python(arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run another Python interpreter, whose program calls :func:`end_with_parent`; returns what it printed."""
    ours, theirs = os.pipe()
    try:
        return subprocess.run(
            [sys.executable, *arguments], stdin=ours, capture_output=True, text=True, encoding="utf-8", check=False
        )
    finally:
        os.close(ours)
        os.close(theirs)


def end_with_parent() -> None:
    """Let this process, which :func:`run_python` started, end with its parent; it notices that by the end of its
    standard input.
    """
    _end_after(lambda: os.read(0, 1))


def _end_after(wait: Callable[[], object]) -> None:
    """End this process, whatever it is doing, when ``wait`` returns."""

    def watch() -> None:
        wait()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()

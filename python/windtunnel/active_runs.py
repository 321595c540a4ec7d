"""Runs under way in threads, which the end of the interpreter waits for.

A run in a thread ends soon after the main thread has ended by Ctrl-C. On Python up to 3.12 the interpreter does not
wait for a thread whose ``join`` was interrupted. If that thread is in a Python function that the core has called, the
interpreter then unwinds it through the core, which aborts the process (docs/decisions/0043-leaving-after-signals.md).
"""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

#: A run looks whether it is to end many times a second; one that is in a long Python function is not waited for.
_MOST_S = 2.0

_lock = threading.Lock()
_active = 0


@contextmanager
def counted() -> Iterator[None]:
    """A run, which takes place inside."""
    global _active
    with _lock:
        _active += 1
    try:
        yield
    finally:
        with _lock:
            _active -= 1


@atexit.register
def _wait() -> None:
    """Threads get their turns until no run is under way. The main thread counts as ended by now."""
    until = time.monotonic() + _MOST_S
    while _active and time.monotonic() < until:
        time.sleep(0.005)

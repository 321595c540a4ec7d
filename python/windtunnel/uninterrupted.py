"""A few steps that no signal may interrupt, because it would leave something that the program has no record of: a
process that has started, a file that exists.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: Those that end a command, and the clock that raises again what was lost of them (``cli/signals.py``).
_RAISE = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGALRM") if hasattr(signal, name)]


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Handle signals that come in the block at its end. Only the main thread handles any."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before: dict[int, Any] = {}
    try:
        for number in _RAISE:
            if signal.getsignal(number) not in (signal.SIG_IGN, None):
                before[number] = signal.signal(number, lambda number, _: came.append(number))
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in came:
            signal.raise_signal(number)

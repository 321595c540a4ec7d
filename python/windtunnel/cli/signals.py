"""Signals that end a command: it cleans up as after Ctrl-C, and nothing half-written stays behind."""

import signal
import sys
from types import FrameType
from typing import NoReturn

#: SIGTERM (a plain ``kill``) and SIGHUP (the terminal, or the connection to it, has ended; Windows has no such signal).
_ENDS = [signal.SIGTERM, *([signal.SIGHUP] if sys.platform != "win32" else [])]


def end_cleanly() -> None:
    """Let these signals raise SystemExit. One that is ignored stays so: ``nohup`` makes a run outlive its terminal."""
    for number in _ENDS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)


def _end(number: int, _: FrameType | None) -> NoReturn:
    # A terminal that closes may send several signals: the later ones must not interrupt the clean-up.
    for each in _ENDS:
        signal.signal(each, signal.SIG_IGN)
    sys.exit(128 + number)

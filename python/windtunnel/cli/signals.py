"""Signals that end a command: it cleans up as after Ctrl-C, nothing half-written stays behind, and the exit code is 128
plus the signal's number.

A signal becomes an exception, wherever the program is. On its way out, libraries may fail because of it, in this thread
and in others; that is a consequence, not a defect, and no traceback is shown. An exception can be lost: where Python
is in a function that cannot raise (``__del__``, a callback), and where a library goes on whatever went wrong
(``except:``, in C ``PyErr_Clear``). So a clock asks again and again whether the program is still on its way out, and
raises the exception once more if it is not.

A signal may also go unnoticed. Python runs its handlers between two steps of the program, so it has to be interrupted
while it waits for a lock. It is not if another thread received the signal, or if the signal came just before the wait
began. So the signal wakes up a thread, which interrupts the main one until that has run the handler.

While a live stream is read, Ctrl-C ends the stream and not the command: the terminal sends it to the whole pipeline,
and a user who stops a capture in this way wants to know what was captured. A second one ends the command.

After a signal the process leaves without the interpreter's own end. That end waits for other threads; but up to Python
3.12, an exception that comes out of ``Thread.join`` makes Python treat a thread that still runs as ended. A thread that
then wants Python's lock, while the interpreter is being taken down, is ended wherever it is. If it is in a function
that the core has called, its stack is unwound through the core, which frees objects without the lock: the process
aborts.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, NoReturn

#: Ctrl-C, a plain ``kill``, and the end of the terminal or of the connection to it (Windows has no such signal).
_ENDS = [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if sys.platform != "win32" else [])]
#: A terminal that closes may send several signals, and an impatient user too: within this time they count as one.
_BURST_S = 1.0
#: How often the clock checks whether the exception was lost.
_LOOK_S = 0.02
#: After Ctrl-C, the writer of a stream may take this long to write what it still has.
_WRITER_S = 1.0
#: A program that starts others may pass on a Ctrl-C that they had from the terminal already: within this time they
#: count as one, and a user is not as quick.
_ECHO_S = 0.1
#: After a signal, functions that libraries have registered for the end may take this long.
_LEAVES_S = 1.0


class _Signals:
    """The first signal that came, and when; whether the command has ended, and written all that it will; whether it
    reads a stream, and when Ctrl-C ended that.
    """

    first: int | None = None
    since = 0.0
    over = False
    streaming = False
    enough: float | None = None


class _CtrlC(KeyboardInterrupt):
    """Not KeyboardInterrupt itself: where that comes out of ``exec`` of a text, as dataclasses use it, the interpreter
    later ends by the signal, whatever the exit code is.
    """


class _Exit(SystemExit):
    """That of a signal, and of no other cause."""


def received() -> int | None:
    """The signal that ends this command, or None."""
    return _Signals.first


@contextmanager
def interrupt_ends_stream() -> Iterator[Callable[[], bool]]:
    """In the block, the first Ctrl-C raises nothing. What is given says whether the stream that is read is over: some
    time after it, because the writer has the same signal, and first writes what it has kept back.
    """
    began = time.monotonic()
    _Signals.streaming = True
    try:
        yield lambda: _Signals.enough is not None and time.monotonic() - max(_Signals.enough, began) > _WRITER_S
    finally:
        _Signals.streaming = False


def end_cleanly() -> None:
    """Let these signals raise KeyboardInterrupt or SystemExit. One that is ignored stays so: ``nohup`` makes a run
    outlive its terminal.
    """
    for number in _ENDS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, _look)
        atexit.register(_rest)
        _watch()
    shown, shown_of_thread = sys.unraisablehook, threading.excepthook
    sys.unraisablehook = lambda lost: None if received() else shown(lost)
    threading.excepthook = lambda lost: None if received() else shown_of_thread(lost)


def exit_code_of(command: Callable[[], object]) -> int:
    """The exit code of a command. Raises what is a defect. A signal that comes from now on ends the process at once.

    Where Ctrl-C has ended a stream, the command has not failed by it, unless it failed.
    """
    code: Any = 0
    try:
        command()
    except SystemExit as end:
        code = end.code
    except BaseException:
        if received() is None:
            raise
    finally:
        _Signals.over = True
    number = received()
    if number is None and code and _Signals.enough is not None:
        number = signal.SIGINT
    return 128 + number if number is not None else int(code or 0)


def leave(code: int) -> NoReturn:
    """End the process, with what is left in the buffers of its output. After a signal no thread is waited for."""
    if received() is None:
        sys.exit(code)
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, lambda *_: os._exit(code))
        signal.setitimer(signal.ITIMER_REAL, _LEAVES_S)
    # Folders and semaphores of libraries are removed here.
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):  # closed, or the disk is full
            stream.flush()
    os._exit(code)


def _end(number: int, _: FrameType | None) -> None:
    if _Signals.over:
        # After a signal, `leave` takes no longer than it may.
        if received() is None:
            os._exit(128 + number)
        return
    now = time.monotonic()
    if number == signal.SIGINT and received() is None and _only_ends_stream(now):
        return
    if received() is not None and now - _Signals.since < _BURST_S:
        return
    if received() is None:
        _Signals.first = number
        if core := sys.modules.get("windtunnel._core"):
            core.leaving()
    _Signals.since = now
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, _LOOK_S, _LOOK_S)
    _raise()


def _only_ends_stream(now: float) -> bool:
    """Whether a Ctrl-C is the one that ends the stream that is read."""
    if _Signals.enough is None and _Signals.streaming:
        _Signals.enough = now
    return _Signals.enough is not None and now - _Signals.enough < _ECHO_S


def _watch() -> None:
    """Let a thread know of each signal as soon as it has come."""
    ours, theirs = os.pipe()
    os.set_blocking(theirs, False)
    signal.set_wakeup_fd(theirs, warn_on_full_buffer=False)
    main = threading.get_ident()

    def interrupt() -> None:
        while number := os.read(ours, 1):
            since = time.monotonic()
            while number[0] in _ENDS and received() is None and not _Signals.over:
                # Whether it is the one that has ended a stream, or one that came after that, is not known here.
                if _Signals.enough is not None and time.monotonic() - since > _BURST_S:
                    break
                signal.pthread_kill(main, signal.SIGALRM)
                time.sleep(_LOOK_S)
        os.close(ours)

    threading.Thread(target=interrupt, daemon=True).start()


def _look(number: int, _: FrameType | None) -> None:
    if received() is not None and not _Signals.over and not _on_its_way_out():
        _raise()


def _rest() -> None:
    """The interpreter's end takes the handler back: the clock would then kill a process that `leave` does not end."""
    if not _Signals.over:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _on_its_way_out() -> bool:
    """The code under way handles the exception, or one that came of it: an ``except``, a ``finally`` or the end of a
    ``with``.
    """
    error = sys.exception()
    while error is not None and not isinstance(error, (_CtrlC, _Exit)):
        error = error.__context__
    return error is not None


def _raise() -> NoReturn:
    if received() == signal.SIGINT:
        raise _CtrlC
    raise _Exit(128 + (received() or 0))

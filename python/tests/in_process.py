"""The command line without a process of its own: most of what a short command costs is the start of an interpreter.

What a test may check here: messages, files and exit codes. Everything that a command can notice is as in a process of
its own: folder, environment, arguments, standard streams (by their descriptors, too), signals. It leaves none of that
behind. Whatever is about the process itself needs one (the fixture `shell`): signals, encodings, pipes, the end of the
interpreter, what is imported; and plugins, since a controller stays registered for the life of a process.
"""

from __future__ import annotations

import atexit
import contextlib
import faulthandler
import io
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any
from unittest import mock

from windtunnel.cli import main, signals

#: A command that has not ended after this long waits forever, however busy the machine is.
HANGS_S = 600.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)


def in_process(arguments: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Runs ``windtunnel ARGUMENTS``. A command that hangs ends the tests with a traceback: nothing else can end it."""
    with (
        mock.patch.dict(os.environ, env, clear=True),
        mock.patch.object(sys, "argv", ["windtunnel", *arguments]),
        contextlib.chdir(cwd),
        _signals(),
        _timed(),
        _output(1, "stdout") as out,
        _output(2, "stderr") as err,
        Path(os.devnull).open(encoding="utf-8") as nothing,
        mock.patch.object(sys, "stdin", nothing),
    ):
        code = _exit_code()
        texts = [_written(stream, file) for stream, file in ((sys.stdout, out), (sys.stderr, err))]
    if signals.received() == signal.SIGINT:  # Ctrl-C was meant for the tests
        signals._Signals.first = None
        raise KeyboardInterrupt
    return subprocess.CompletedProcess(["windtunnel", *arguments], code, *texts)


def _exit_code() -> int:
    signals._Signals.over = False
    try:
        main()
    except SystemExit as end:
        assert isinstance(end.code, int)
        return end.code
    raise AssertionError("the command line ends by an exit")


@contextlib.contextmanager
def _signals() -> Iterator[None]:
    """What `end_cleanly` changes is as before at the end."""
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    hooks = sys.unraisablehook, threading.excepthook
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        sys.unraisablehook, threading.excepthook = hooks
        atexit.unregister(signals._rest)
        os.close(signal.set_wakeup_fd(-1))


@contextlib.contextmanager
def _timed() -> Iterator[None]:
    stderr = os.dup(2)
    faulthandler.dump_traceback_later(HANGS_S, exit=True, file=stderr)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
        os.close(stderr)


@contextlib.contextmanager
def _output(number: int, name: str) -> Iterator[IO[bytes]]:
    """All that is written to a descriptor goes to a file, and the stream ``name`` of ``sys`` writes there."""
    before = os.dup(number)
    stream = io.TextIOWrapper(io.BufferedWriter(io.FileIO(number, "wb", closefd=False)), encoding="utf-8")
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), number)
        try:
            with mock.patch.object(sys, name, stream):
                yield file
        finally:
            stream.detach()
            os.dup2(before, number)
            os.close(before)


def _written(stream: Any, file: IO[bytes]) -> str:
    """The text of a stream's file, with line breaks as `subprocess` reads them."""
    stream.flush()
    file.seek(0)
    return io.TextIOWrapper(io.BytesIO(file.read()), encoding="utf-8").read()

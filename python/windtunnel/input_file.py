"""The files that a command is given to read. Only regular files are opened: a named pipe could wait for a writer for
ever, and a device has no end. A stream is read where it is asked for by its name: ``-`` for the standard input,
``/dev/stdin``, or ``/dev/fd/N``, which is what a shell makes of ``<(command)``.
"""

from __future__ import annotations

import errno
import json
import os
import re
import select
import stat
from collections.abc import Callable
from io import FileIO, RawIOBase
from pathlib import Path

from windtunnel.errors import InputError

#: The name that stands for the standard input.
STDIN = Path("-")

#: Names of streams that this process already has.
_STREAM = re.compile(r"/dev/(?:stdin|fd/(?P<fd>\d+))|/proc/self/fd/(?P<self>\d+)")
#: Opening these neither waits, nor makes a terminal the one that controls this process.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
#: How often a stream that brings nothing is asked whether it is over.
_LOOK_MS = 50
_KINDS = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def open_input(path: Path) -> FileIO:
    """The file, or the stream that ``path`` names. Raises InputError if it is something else, and OSError."""
    number = _stream(path)
    if number is not None:
        return FileIO(os.dup(number))
    # Before it is opened, because opening a device may do something, and afterwards, because it may have been replaced.
    _expect_file(path, path.stat())
    descriptor = os.open(path, _FLAGS)
    try:
        _expect_file(path, os.fstat(descriptor))
    except BaseException:
        os.close(descriptor)
        raise
    return FileIO(descriptor)


class Stream(RawIOBase):
    """A pipe, a socket or a device, until it ends or ``is_over`` says that no more is wanted."""

    def __init__(self, file: FileIO, is_over: Callable[[], bool]) -> None:
        self._file, self._is_over = file, is_over
        #: Whether ``is_over`` has ended it.
        self.cut = False
        self._poll = select.poll()
        self._poll.register(file, select.POLLIN)

    def read(self, size: int = -1, /) -> bytes | None:
        """What has come, as soon as there is something; nothing at the end."""
        ready = False
        while not self.cut and not ready:
            ready = bool(self._poll.poll(_LOOK_MS))
            self.cut = self._is_over()
        return b"" if self.cut else self._file.read(size)


def is_live(file: FileIO) -> bool:
    """Whether this is a stream that can be waited for."""
    return hasattr(select, "poll") and not stat.S_ISREG(os.fstat(file.fileno()).st_mode)


def shown_name(path: Path) -> str:
    """What messages call the file."""
    return "standard input" if path == STDIN else str(path)


def document_of(file: Path) -> object:
    """The JSON document in a file that a command may have written; None if there is none."""
    try:
        return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None
    except (OSError, ValueError, RecursionError):
        return None


def _stream(path: Path) -> int | None:
    """The descriptor of the stream that a path names."""
    if path == STDIN:
        return 0
    match = _STREAM.fullmatch(str(path))
    return None if match is None else int(match["fd"] or match["self"] or 0)


def _expect_file(path: Path, status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    for is_kind, kind in _KINDS:
        if is_kind(status.st_mode):
            raise InputError(f"{path}: is {kind}; a regular file is needed, or - for the standard input")

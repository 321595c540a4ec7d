"""What the folder of an emulation has in addition to that of a run: a file for Flent, and the packets as a capture.

The capture is written while packets pass, whole and as they are, to a file without a name: what ends the command leaves
nothing of it.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO

from windtunnel.errors import InputError, reason
from windtunnel.export.connections import connections
from windtunnel.export.flent import FLENT_SUFFIX, write_flent
from windtunnel.result import RunResult


@contextmanager
def capture_for(folder: Path | None) -> Iterator[IO[bytes] | None]:
    """A file for packets where the result will be; None without a result. Raises InputError."""
    if folder is None:
        yield None
        return
    there = next(parent for parent in folder.absolute().parents if parent.is_dir())
    with ExitStack() as stack:
        try:
            file = stack.enter_context(tempfile.TemporaryFile(dir=there))
        except OSError as error:
            raise InputError(f"{folder}: cannot be written: {reason(error)}") from None
        yield file


def write_files(result: RunResult, folder: Path, capture: IO[bytes] | None) -> None:
    """Write those that the result has something for."""
    if any(not connection.udp for connection in connections(result)):
        write_flent(result, folder / f"flows{FLENT_SUFFIX}")
    write_capture(capture, folder)


def write_capture(capture: IO[bytes] | None, folder: Path) -> None:
    """Copy the packets, if any, into the folder."""
    if capture is not None:
        capture.seek(0)
        with (folder / "capture.pcapng").open("wb") as file:
            shutil.copyfileobj(capture, file)

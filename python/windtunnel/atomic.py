"""A folder that appears complete or not at all.

It is written next to its place under a temporary name (``stage.py``) and then renamed. A file system does this at once
or not at all. If anything goes wrong before that, such as an interrupt or a full disk, nothing stays behind; the next
process removes what a killed one left.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from windtunnel.errors import InputError, reason
from windtunnel.stage import stage_for, sweep

#: Tells whether an existing folder is of the kind that is about to be written, and may be replaced.
Recognise = Callable[[Path], bool]


def check_free(path: Path, *, force: bool, ours: Recognise) -> None:
    """Refuse a place that is taken. With ``force`` a folder of ours may be replaced, nothing else.

    Folders that killed processes left next to it are removed, or put back, first. Raises InputError.
    """
    sweep(path.parent)
    if not os.path.lexists(path):
        return
    if not force:
        raise InputError(f"{path}: exists already; choose another place, or replace it with --force")
    if path.is_symlink() or not path.is_dir():
        raise InputError(f"{path}: is not a folder, and is not replaced")
    if any(path.iterdir()) and not ours(path):
        raise InputError(f"{path}: holds other files than windtunnel's, and is not replaced; choose another place")


@contextmanager
def staged(path: Path, *, force: bool, ours: Recognise) -> Iterator[Path]:
    """A folder to write into, which becomes ``path`` when the block ends without an error. Raises InputError.

    Errors of the operating system in the block (a full disk) become InputErrors that name ``path``.
    """
    try:
        check_free(path, force=force, ours=ours)
        path = path if path.name else path.resolve()
        made = _make_parents(path.parent)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {reason(error)}") from None
    try:
        with stage_for(path) as stage:
            stage.path.mkdir()
            yield stage.path
            check_free(path, force=force, ours=ours)  # again: a run takes a while
            if path.exists():
                path.rename(stage.aside)
            stage.path.rename(path)
    except BaseException as error:
        for parent in reversed(made):
            with suppress(OSError):  # another process may have put something there
                parent.rmdir()
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
            raise InputError(f"{path}: cannot be written: {reason(error)}") from None
        raise


@contextmanager
def staged_file(path: Path, *, force: bool) -> Iterator[Path]:
    """A file to write, which becomes ``path`` when the block ends without an error. Raises InputError."""
    sweep(path.parent)
    if os.path.lexists(path) and not force:
        raise InputError(f"{path}: exists already; choose another name, or replace it with --force")
    if os.path.isdir(path):  # noqa: PTH112 - false also for a name that is too long, which writing then says
        raise InputError(f"{path}: is a folder, and is not replaced")
    try:
        with stage_for(path) as stage:
            yield stage.path
            stage.path.replace(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {reason(error)}") from None


def _make_parents(folder: Path) -> list[Path]:
    """Make a folder with its parents; returns those that were made, outermost first."""
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    missing.reverse()
    made: list[Path] = []
    try:
        for each in missing:
            each.mkdir()
            made.append(each)
    except OSError:
        for each in reversed(made):
            each.rmdir()
        raise
    return made

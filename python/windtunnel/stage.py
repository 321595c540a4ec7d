"""A stage: a place next to another one, where something is written before it appears there.

The writer holds a lock on a file next to the stage, and the operating system releases the lock when that process
ends, however it ends. A stage whose lock is free was left behind by a process that was killed, and the next one that
writes into the same folder removes it.

The lock file says on which machine its owner runs. On a file system that several machines share, the lock of another
machine may be invisible here, so the stages of other machines are left alone.
"""

from __future__ import annotations

import atexit
import json
import os
import platform
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from windtunnel.uninterrupted import uninterrupted

if sys.platform != "win32":
    import fcntl

_LOCK = re.compile(r"\..+\.[0-9a-f]{12}\.partial\.lock", re.DOTALL)
#: The longest part of a place's name that leaves room for the rest of a stage's name.
_NAME_BYTES = 200
#: Memory in bytes.
_RESERVE = 4 << 20


@dataclass(frozen=True)
class Stage:
    """Where ``target`` is written (``path``), and where its predecessor waits while both change places (``aside``)."""

    target: Path
    path: Path

    @property
    def aside(self) -> Path:
        """The waiting predecessor."""
        return self.path.with_suffix(".replaced")

    @property
    def lock(self) -> Path:
        """The file whose lock the owner holds."""
        return self.path.with_name(f"{self.path.name}.lock")

    def remove(self) -> None:
        """Remove what is left of the stage; a predecessor that was not replaced goes back to its place."""
        _remove(self.path)
        if os.path.lexists(self.aside):
            if os.path.lexists(self.target):
                _remove(self.aside)
            else:
                self.aside.rename(self.target)


@contextmanager
def stage_for(target: Path) -> Iterator[Stage]:
    """A stage for ``target``, with nothing at its path. It is removed at the end. Raises OSError."""
    reserve = bytearray(_RESERVE)
    stage: Stage | None = None
    end = ExitStack()
    try:
        with uninterrupted():
            stage, lock = _locked(target)
            end.callback(_give_back, stage, lock)
            # A signal may raise its exception between any two steps, also on the way to the end of this block.
            atexit.register(end.close)
        yield stage
    finally:
        # Removing needs a little memory, which may be what has run out.
        reserve.clear()
        with uninterrupted():
            end.close()
            atexit.unregister(end.close)


def _give_back(stage: Stage, lock: int) -> None:
    """Remove the stage; one that cannot be removed now keeps its lock file, so that a later process can remove it."""
    with suppress(OSError):
        stage.remove()
        stage.lock.unlink()
    os.close(lock)


def _locked(target: Path) -> tuple[Stage, int]:
    """A new stage, and the descriptor that holds its lock."""
    name = os.fsdecode(os.fsencode(target.name)[:_NAME_BYTES])
    while True:
        stage = Stage(target, target.with_name(f".{name}.{os.urandom(6).hex()}.partial"))
        lock = os.open(stage.lock, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
        try:
            # If the file system has no locks, no other process can take this one, so the stage is safe. A process
            # that found the file before it was locked may hold the lock for a moment.
            _lock(lock, wait=True)
            os.write(lock, json.dumps({"place": target.name, **_machine()}).encode())
            if _is_at(lock, stage.lock):
                return stage, lock
        except BaseException:
            stage.lock.unlink(missing_ok=True)
            os.close(lock)
            raise
        os.close(lock)


def hold(folder: Path) -> int | None:
    """A descriptor that holds a folder until it is closed, or its process ends; None if something else holds it.

    Where there are no locks nothing is held. Raises OSError.
    """
    if sys.platform == "win32":
        return os.open(os.devnull, os.O_RDONLY)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except OSError:
        pass
    return descriptor


def sweep(folder: Path) -> None:
    """Remove the stages in ``folder`` whose owner is gone. Stages that cannot be removed stay."""
    with suppress(OSError):
        for file in list(folder.iterdir()):
            if _LOCK.fullmatch(file.name):
                with suppress(OSError):
                    _remove_if_forgotten(file)


def _remove_if_forgotten(file: Path) -> None:
    lock = os.open(file, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    try:
        if not _lock(lock) or not _is_at(lock, file):
            return
        stage = file.with_suffix("")
        content = os.pread(lock, 10_000, 0)
        if content:
            name = _place_if_ours(content)
            if name is None:
                return
            Stage(file.with_name(name), stage).remove()
        elif os.path.lexists(stage):
            return
        # A file without content: its owner was ended before it made a stage.
        file.unlink()
    finally:
        os.close(lock)


def _lock(descriptor: int, *, wait: bool = False) -> bool:
    """Take the lock of a file; False if another process holds it, or if there are no locks."""
    if sys.platform == "win32":
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _place_if_ours(content: bytes) -> str | None:
    """The name of the place that a lock file is for; None if the file belongs to another machine, or is not
    windtunnel's.
    """
    try:
        owner = json.loads(content)
        name, machine = owner["place"], {key: owner[key] for key in _machine()}
    except (ValueError, TypeError, LookupError):
        return None
    here = any(value and value == machine[key] for key, value in _machine().items())
    return name if here and isinstance(name, str) and Path(name).name == name else None


def _machine() -> dict[str, str]:
    """The running kernel, whose processes see each other's locks, in containers too; and the host, for later boots."""
    boot, installation = _line("/proc/sys/kernel/random/boot_id"), _line("/etc/machine-id")
    # The host name alone does not identify a container or a copied installation; it is used only if there is nothing
    # else.
    return {"boot": boot, "host": f"{installation} {platform.node()}" if installation or not boot else ""}


def _line(file: str) -> str:
    try:
        return Path(file).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except OSError:
        return False


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)

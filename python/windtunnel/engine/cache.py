"""Outcomes by content: what was computed once, by whatever command, is not computed again.

A key is a hash of all that decides an outcome; a value is bytes. The file is SQLite's, which several processes can read
and write at the same time. It is bounded: the values that were not used for the longest time go first.
"""

from __future__ import annotations

import errno
import hashlib
import os
import sqlite3
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

#: The most that the shared cache may hold, unless WINDTUNNEL_CACHE_SIZE says otherwise.
MOST_BYTES = 4 << 30
#: Seconds for which values wait for others: a transaction for all of them costs the disk once.
_WAIT = 0.5
#: Seconds after which the time of a value's last use is noted again: a day.
_USE = 86400.0

#: Keys that are asked for at a time; SQLite takes at least 999.
_ASKED = 900

KEY_BYTES = 16
#: Bytes of a value's hash.
_SEAL = 8

_TABLE = "CREATE TABLE IF NOT EXISTS outcomes (key BLOB PRIMARY KEY, value BLOB NOT NULL, used REAL NOT NULL)"


class Store:
    """Values by key in the file ``path``, at most ``most`` bytes of them. For one thread.

    ``alone``: no other process may use it meanwhile. Raises OSError where the file cannot be used.
    """

    def __init__(self, path: Path, most: int | None = None, *, alone: bool = False) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path, self._most, self._flushed = path, most, time.monotonic()
        self.is_open = True
        try:
            self._file = sqlite3.connect(path, timeout=1.0 if alone else 60.0, isolation_level=None)
            if alone:
                self._file.execute("PRAGMA locking_mode=EXCLUSIVE")
            with suppress(sqlite3.OperationalError):  # a file system without shared memory: slower, but it works
                self._file.execute("PRAGMA journal_mode=WAL")
            self._file.execute("PRAGMA synchronous=NORMAL")
            self._file.execute(_TABLE)
            if alone:
                self._file.execute("BEGIN EXCLUSIVE")
                self._file.execute("COMMIT")
        except sqlite3.Error as error:
            locked = "locked" in str(error)
            why = "another process is writing there" if locked else f"{path} cannot be used: {error}"
            raise OSError(errno.EBUSY if locked else 0, why, str(path)) from None
        self._waiting: dict[bytes, bytes] = {}
        self._used: set[bytes] = set()

    def get(self, key: bytes) -> bytes | None:
        """The value of a key; None for one that is not there, or has been damaged since. Raises OSError."""
        if key in self._waiting:
            return self._waiting[key]
        with self._named():
            row = self._file.execute("SELECT value, used FROM outcomes WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        if self._most is not None and time.time() - row[1] > _USE:
            self._used.add(key)
        return _unsealed(key, row[0])

    def get_many(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """The values of those of many keys that have one, as :meth:`get` gives them. Raises OSError."""
        values = {key: self._waiting[key] for key in keys if key in self._waiting}
        past = time.time() - _USE
        for first in range(0, len(keys), _ASKED):
            some = keys[first : first + _ASKED]
            query = f"SELECT key, value, used FROM outcomes WHERE key IN ({','.join('?' * len(some))})"
            with self._named():
                rows = self._file.execute(query, some).fetchall()
            for key, stored, used in rows:
                value = _unsealed(key, stored)
                if value is not None:
                    values.setdefault(key, value)
                if self._most is not None and used < past:
                    self._used.add(key)
        return values

    def items(self) -> Iterator[tuple[bytes, bytes]]:
        """All keys with their values, but for damaged ones, in the order in which they were stored. Raises OSError."""
        self.flush()
        with self._named():
            for key, stored in self._file.execute("SELECT key, value FROM outcomes ORDER BY rowid"):
                value = _unsealed(key, stored)
                if value is not None:
                    yield key, value

    def put(self, key: bytes, value: bytes) -> None:
        """Store a value; one that the key had is replaced. Raises OSError, such as for a full disk."""
        self._waiting[key] = value
        if time.monotonic() - self._flushed > _WAIT:
            self.flush()

    def __len__(self) -> int:
        """How many values there are."""
        self.flush()
        count: int = self._file.execute("SELECT COUNT(*) FROM outcomes").fetchone()[0]
        return count

    def flush(self) -> None:
        """Write the entries that wait; from then on they outlive this process, and others see them."""
        now = time.time()
        if self._waiting or self._used:
            rows = [(key, _sealed(key, value), now) for key, value in self._waiting.items()]
            used = [(now, key) for key in self._used]
            with self._transaction():
                self._file.executemany("INSERT OR REPLACE INTO outcomes VALUES (?, ?, ?)", rows)
                self._file.executemany("UPDATE outcomes SET used = ? WHERE key = ?", used)
            self._waiting.clear()
            self._used.clear()
        self._flushed = time.monotonic()

    def close(self) -> None:
        """Store everything, and let go of what is too much."""
        try:
            self.flush()
            if self._most is not None:
                self._shrink(self._most)
        finally:
            self._file.close()
            self.is_open = False

    def clear(self) -> None:
        """Forget everything."""
        self._waiting.clear()
        self._file.execute("DELETE FROM outcomes")

    def remove(self) -> None:
        """Close, and remove the file."""
        self._file.close()
        self.is_open = False
        for suffix in ("", "-wal", "-shm", "-journal"):
            Path(f"{self.path}{suffix}").unlink(missing_ok=True)

    def _shrink(self, most: int) -> None:
        """Remove the values that were used longest ago, until a tenth is free; a cache that is too large is rare."""
        (total,) = self._file.execute("SELECT COALESCE(SUM(LENGTH(value) + LENGTH(key)), 0) FROM outcomes").fetchone()
        if total <= most:
            return
        excess, oldest = total - most * 0.9, []
        for key, size in self._file.execute("SELECT key, LENGTH(value) + LENGTH(key) FROM outcomes ORDER BY used"):
            if excess <= 0:
                break
            oldest.append((key,))
            excess -= size
        with self._transaction():
            self._file.executemany("DELETE FROM outcomes WHERE key = ?", oldest)
        with self._named():
            self._file.execute("VACUUM")

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """All that the block writes, or nothing."""
        with self._named():
            self._file.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._file.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # SQLite may have done so itself
                    self._file.execute("ROLLBACK")
                raise

    @contextmanager
    def _named(self) -> Iterator[None]:
        """Errors of SQLite as those of the operating system, with the file's name."""
        try:
            yield
        except sqlite3.Error as error:
            number = errno.ENOSPC if "full" in str(error) else errno.EIO
            raise OSError(number, f"cannot be used: {error}", str(self.path)) from None


def _sealed(key: bytes, value: bytes) -> bytes:
    """A value with the hash by which damage is seen: SQLite looks at the structure of its file alone."""
    return hashlib.blake2b(value, digest_size=_SEAL, key=key).digest() + value


def _unsealed(key: bytes, stored: object) -> bytes | None:
    if not isinstance(stored, bytes):  # a damaged file may have a value of another type
        return None
    value = stored[_SEAL:]
    return value if _sealed(key, value) == stored else None


def shared() -> Store | None:
    """The cache of this user; None where there is no place for it."""
    with suppress(OSError):
        most = os.environ.get("WINDTUNNEL_CACHE_SIZE", "")
        return Store(place() / "outcomes.sqlite", int(most) if most.isdigit() else MOST_BYTES)
    return None


def place() -> Path:
    """The folder of the cache: WINDTUNNEL_CACHE, or where this system keeps caches."""
    if chosen := os.environ.get("WINDTUNNEL_CACHE"):
        return Path(chosen)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "windtunnel" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "windtunnel"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "windtunnel"


def key_of(parts: Iterable[bytes]) -> bytes:
    """The key of all that decides an outcome."""
    hasher = hashlib.blake2b(digest_size=KEY_BYTES)
    for part in parts:
        hasher.update(len(part).to_bytes(8, "little"))
        hasher.update(part)
    return hasher.digest()


@cache
def core() -> bytes:
    """What the core is: the hash of its file. A version alone would not do while the core is being developed."""
    from windtunnel import _core

    with Path(_core.__file__).open("rb") as file:
        return _core.__version__.encode() + hashlib.file_digest(file, "blake2b").digest()


@cache
def package() -> bytes:
    """What the package is: the hash of all of its code, for outcomes that Python computes from a run."""
    hasher, folder = hashlib.blake2b(), Path(__file__).parents[1]
    for file in sorted(folder.rglob("*.py")):
        hasher.update(file.relative_to(folder).as_posix().encode() + b"\0" + file.read_bytes())
    return hasher.digest()

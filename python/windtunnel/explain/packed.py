"""A file or a stream that may be compressed by gzip, unpacked while it is read.

No more is unpacked at a time than is asked for. A file of some kilobytes can unpack to a thousand times its size, and
what is read takes memory: what unpacks to far more than any log or capture does is refused.
"""

from __future__ import annotations

import gzip
import zlib
from io import RawIOBase

from windtunnel.errors import InputError

_MAGIC = b"\x1f\x8b"
#: Logs unpack to less than 40 times their size, captures to less than 20; DEFLATE allows 1032.
_MOST_TIMES = 200
#: Less than this is read whatever it was packed to.
_ALWAYS = 1 << 26


def unpacked(file: RawIOBase, name: str) -> RawIOBase:
    """What is in ``file``; ``name`` is what messages call it."""
    start = b""
    while len(start) < len(_MAGIC) and (more := file.read(len(_MAGIC) - len(start))):
        start += more
    whole = _Counted(start, file)
    return _Unpacked(whole, name) if start == _MAGIC else whole


class _Counted(RawIOBase):
    """A file whose first bytes have been read."""

    def __init__(self, start: bytes, file: RawIOBase) -> None:
        self._start, self._file = start, file
        self.count = 0

    def read(self, size: int = -1, /) -> bytes | None:
        part = self._start[:size] or self._file.read(size)
        self._start = self._start[size:]
        self.count += len(part or b"")
        return part


class _Unpacked(RawIOBase):
    """What a file unpacks to."""

    def __init__(self, packed: _Counted, name: str) -> None:
        self._packed, self._name = packed, name
        self._file = gzip.GzipFile(fileobj=packed, mode="rb")
        self._count = 0

    def read(self, size: int = -1, /) -> bytes:
        """Raises OSError where the file is damaged or cut, as the system does where it cannot be read."""
        try:
            part = self._file.read1(size)
        except (EOFError, zlib.error) as error:
            raise OSError(str(error)) from None
        self._count += len(part)
        if self._count > max(_ALWAYS, _MOST_TIMES * self._packed.count):
            raise InputError(
                f"{self._name}: unpacks to more than {_MOST_TIMES} times its size; if it is meant, "
                "unpack it first: gunzip -c FILE | windtunnel explain -"
            )
        return part

"""A file or a stream that may be compressed by gzip or xz, unpacked while it is read.

No more is unpacked at a time than is asked for. A file of some kilobytes can unpack to a thousand times its size, and
what is read takes memory: what unpacks to far more than any log or capture does is refused.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from io import RawIOBase
from typing import Any

from windtunnel.errors import InputError

_GZIP, _XZ = b"\x1f\x8b", b"\xfd7zXZ\x00"
#: Logs unpack to less than 40 times their size, captures to less than 40; DEFLATE allows 1032, LZMA more.
_MOST_TIMES = 200
#: Less than this is read whatever it was packed to.
_ALWAYS = 1 << 26
#: The memory of xz's largest preset, for its dictionary; a file may ask for 4 GiB.
_XZ_MEMORY = 1 << 27
#: So much of an xz file is read at a time: what is unpacked from a part that is damaged is lost.
_PART = 1 << 10


def unpacked(file: RawIOBase, name: str) -> RawIOBase:
    """What is in ``file``; ``name`` is what messages call it."""
    start = b""
    while len(start) < len(_XZ) and (more := file.read(len(_XZ) - len(start))):
        start += more
    whole = _Counted(start, file)
    if start == _XZ:
        return _Unpacked(whole, name, _XzFile(whole).read1, "xz -dc")
    if start.startswith(_GZIP):
        return _Unpacked(whole, name, gzip.GzipFile(fileobj=whole, mode="rb").read1, "gunzip -c")
    return whole


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


class _XzFile:
    """The streams of an xz file, one after another. ``lzma.LZMAFile`` has no limit of memory."""

    def __init__(self, packed: _Counted) -> None:
        self._packed = packed
        self._stream: Any = None
        self._next = b""

    def read1(self, size: int = -1, /) -> bytes:
        # Not every Python has it.
        from lzma import LZMAError

        try:
            while self._stream_is_open():
                if self._stream.needs_input and not self._next and not self._more():
                    raise EOFError("Compressed file ended before the end-of-stream marker was reached")
                data, self._next = self._next, b""
                if part := self._stream.decompress(data, size):
                    return bytes(part)
        except LZMAError as error:
            raise OSError(str(error)) from None
        return b""

    def _stream_is_open(self) -> bool:
        """Whether there is more: where a stream ends, another may begin, after zeros."""
        from lzma import FORMAT_XZ, LZMADecompressor

        if self._stream is not None:
            if not self._stream.eof:
                return True
            self._next = self._stream.unused_data
        self._stream = None
        while True:
            self._next = self._next.lstrip(b"\0")
            if self._next:
                break
            if not self._more():
                return False
        self._stream = LZMADecompressor(FORMAT_XZ, memlimit=_XZ_MEMORY)
        return True

    def _more(self) -> bool:
        self._next = self._packed.read(_PART) or b""
        return bool(self._next)


class _Unpacked(RawIOBase):
    """What a file unpacks to."""

    def __init__(self, packed: _Counted, name: str, read: Callable[[int], bytes], command: str) -> None:
        self._packed, self._name, self._read, self._command = packed, name, read, command
        self._count = 0

    def read(self, size: int = -1, /) -> bytes:
        """Raises OSError where the file is damaged or cut, as the system does where it cannot be read."""
        try:
            part = self._read(size)
        except (EOFError, zlib.error) as error:
            raise OSError(str(error)) from None
        self._count += len(part)
        if self._count > max(_ALWAYS, _MOST_TIMES * self._packed.count):
            raise InputError(
                f"{self._name}: unpacks to more than {_MOST_TIMES} times its size; if it is meant, "
                f"unpack it first: {self._command} FILE | windtunnel explain -"
            )
        return part

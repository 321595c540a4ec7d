"""Binary columns of a page: little-endian, eight-byte aligned, one base64 block for all.

The browser views them in place (``web/src/payload.ts``); JSON numbers would be twice the size and ten times slower.
"""

import base64
from typing import Any

import numpy as np
import numpy.typing as npt

_TYPES = {"f64": "<f8", "f32": "<f4", "u8": "u1", "u16": "<u2"}
_ALIGNMENT = 8


class Columns:
    """Collects arrays and says where in the block each lies."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []
        self._size = 0

    def add(self, values: npt.NDArray[Any], kind: str) -> dict[str, Any]:
        """Append an array as ``kind`` (``f64``, ``f32``, ``u8`` or ``u16``); returns the reference for the page."""
        raw = np.ascontiguousarray(values, dtype=_TYPES[kind]).tobytes()
        reference = {"at": self._size, "n": len(values), "type": kind}
        padding = -len(raw) % _ALIGNMENT
        self._chunks += [raw, bytes(padding)]
        self._size += len(raw) + padding
        return reference

    def base64(self) -> str:
        """The whole block."""
        return base64.b64encode(b"".join(self._chunks)).decode("ascii")

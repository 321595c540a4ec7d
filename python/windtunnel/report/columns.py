"""Binary columns of a page: little-endian, eight-byte aligned, one base64 block for all.

The browser views them in place (``web/src/payload.ts``); JSON numbers would be twice the size and ten times slower.
"""

import base64
from typing import Any

import numpy as np
import numpy.typing as npt

_TYPES = {"f32": "<f4", "f64": "<f8", "u8": "u1", "u16": "<u2", "u32": "<u4"}
_ALIGNMENT = 8
_U32_MAX = 2**32 - 1


class Columns:
    """Collects arrays and says where in the block each is. Equal arrays are there once."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []
        self._size = 0
        self._known: dict[bytes, int] = {}

    def add(self, values: npt.NDArray[Any], kind: str) -> dict[str, Any]:
        """Append an array as ``kind``, one of ``f32``, ``f64``, ``u8``, ``u16``, ``u32``; returns its reference."""
        raw = np.ascontiguousarray(values, dtype=_TYPES[kind]).tobytes()
        at = self._known.setdefault(raw, self._size)
        if at == self._size:
            padding = -len(raw) % _ALIGNMENT
            self._chunks += [raw, bytes(padding)]
            self._size += len(raw) + padding
        return {"at": at, "n": len(values), "type": kind}

    def add_scaled(self, values: npt.NDArray[np.float64]) -> dict[str, Any]:
        """Append finite numbers, such as times, as 32-bit steps from the least to the greatest: 0.1 us in 300 s."""
        least, greatest = (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)
        step = (greatest - least) / _U32_MAX or 1.0
        return {**self.add(np.round((values - least) / step), "u32"), "from": least, "step": step}

    def base64(self) -> str:
        """The whole block."""
        return base64.b64encode(b"".join(self._chunks)).decode("ascii")

"""A table as Arrow. Numbers are not copied: an Arrow array of numbers is a NumPy array's memory, and a bitmap of nulls.

``pyarrow.array`` would do the same, but it loads pandas, wherever that is installed, to ask what the array is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa


def arrow_table(columns: Mapping[str, npt.NDArray[Any]]) -> pa.Table:
    """The columns as a ``pyarrow.Table``; NaN, which stands for a missing value, becomes null."""
    return pa.table({name: _array(values) for name, values in columns.items()})


def _array(values: npt.NDArray[Any]) -> pa.Array:
    if values.dtype == np.bool_:
        return pa.Array.from_buffers(pa.bool_(), len(values), [None, _bits(values)])
    return numbers(values, np.isnan(values) if values.dtype.kind == "f" else None)


def numbers(values: npt.NDArray[Any], missing: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """Numbers, of which those that are ``missing`` are null."""
    values = np.ascontiguousarray(values)
    known = _bits(~missing) if missing is not None and missing.any() else None
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [known, pa.py_buffer(values)])


def texts(values: Sequence[str]) -> pa.Array:
    """Texts."""
    encoded = [text.encode() for text in values]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    return pa.StringArray.from_buffers(len(encoded), pa.py_buffer(ends), pa.py_buffer(b"".join(encoded)))


def _bits(truths: npt.NDArray[np.bool_]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(truths, bitorder="little"))

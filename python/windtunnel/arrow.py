"""A table as Arrow. Numbers are not copied: an Arrow array of numbers is a NumPy array's memory, and a bitmap of nulls.

``pyarrow.array`` would do the same, but it loads pandas, wherever that is installed: a fifth of a second and 60 MB to
ask what an array is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from windtunnel.texts import Texts

if TYPE_CHECKING:
    from windtunnel.table import Column


def arrow_table(columns: Mapping[str, Column]) -> pa.Table:
    """The columns as a ``pyarrow.Table``; what is missing, such as NaN, becomes null."""
    return pa.table({name: _array(values) for name, values in columns.items()})


def _array(values: Column) -> pa.Array:
    if isinstance(values, Texts):
        return _texts(values.words).take(_numbers(values.at, values.at < 0))
    if isinstance(values, np.ma.MaskedArray):
        missing = np.ma.getmaskarray(values)
        return _truths(values.data, missing) if values.dtype == np.bool_ else _numbers(values.data, missing)
    if values.dtype == np.object_:
        return _bytes(values)
    if values.dtype == np.bool_:
        return _truths(values)
    return _numbers(values, np.isnan(values) if values.dtype.kind == "f" else None)


def _truths(values: npt.NDArray[np.bool_], missing: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    validity = _bits(~missing) if missing is not None else None
    return pa.Array.from_buffers(pa.bool_(), len(values), [validity, _bits(values)])


def _numbers(values: npt.NDArray[Any], missing: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    values = np.ascontiguousarray(values)
    validity = _bits(~missing) if missing is not None and missing.any() else None
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [validity, pa.py_buffer(values)])


def _bytes(values: npt.NDArray[np.object_]) -> pa.Array:
    ends = np.cumsum([0, *map(len, values)], dtype=np.int64)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(values))]
    return pa.Array.from_buffers(pa.large_binary(), len(values), buffers)


def _texts(values: Sequence[str]) -> pa.Array:
    encoded = [text.encode() for text in values]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    return pa.StringArray.from_buffers(len(encoded), pa.py_buffer(ends), pa.py_buffer(b"".join(encoded)))


def _bits(truths: npt.NDArray[np.bool_]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(truths, bitorder="little"))

"""A table as Arrow, and back. Numbers are not copied: an Arrow array of numbers is a NumPy array's memory, and a bitmap
of nulls.

``pyarrow.array`` and ``to_numpy`` would do the same, but they load pandas, wherever that is installed: a fifth of a
second and 60 MB to ask what an array is.
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
    if values.dtype == np.object_:
        return _bytes(values)
    if values.dtype == np.bool_:
        return pa.Array.from_buffers(pa.bool_(), len(values), [None, _bits(values)])
    return numbers(values, np.isnan(values) if values.dtype.kind == "f" else None)


def numbers(values: npt.NDArray[Any], missing: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """Numbers; those that are ``missing`` are null."""
    values = np.ascontiguousarray(values)
    validity = _bits(~missing) if missing is not None and missing.any() else None
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [validity, pa.py_buffer(values)])


def _bytes(values: npt.NDArray[np.object_]) -> pa.Array:
    ends = np.cumsum([0, *map(len, values)], dtype=np.int64)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(b"".join(values))]
    return pa.Array.from_buffers(pa.large_binary(), len(values), buffers)


def is_binary(kind: pa.DataType) -> bool:
    """Whether values of this type are bytes."""
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind))


def texts(values: Sequence[str]) -> pa.Array:
    """Texts."""
    encoded = [text.encode() for text in values]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    return pa.StringArray.from_buffers(len(encoded), pa.py_buffer(ends), pa.py_buffer(b"".join(encoded)))


def column(array: pa.Array | pa.ChunkedArray) -> npt.NDArray[Any]:
    """Numbers, truth values or bytes as a column of a table, with NaN for null; no bytes for a null among them."""
    if is_binary(array.type):
        objects = np.empty(len(array), dtype=np.object_)
        objects[:] = [value or b"" for value in array.to_pylist()]
        return objects
    if isinstance(array, pa.ChunkedArray):
        array = array.chunk(0) if array.num_chunks == 1 else array.combine_chunks()
    if array.null_count and not pa.types.is_floating(array.type):
        # No table of windtunnel has such a column.
        return np.asarray(array.to_numpy(zero_copy_only=False))
    validity, values = array.buffers()
    if values is None:
        return np.empty(0, dtype=array.type.to_pandas_dtype())
    if pa.types.is_boolean(array.type):
        return _truths(values, array)
    numbers = np.frombuffer(values, dtype=array.type.to_pandas_dtype())[array.offset :][: len(array)]
    return np.where(_truths(validity, array), numbers, numbers.dtype.type(np.nan)) if array.null_count else numbers


def _truths(bits: pa.Buffer, array: pa.Array) -> npt.NDArray[np.bool_]:
    """The bits of an array as truth values."""
    end = array.offset + len(array)
    every = np.unpackbits(np.frombuffer(bits, dtype=np.uint8), count=end, bitorder="little")
    return every[array.offset :].view(np.bool_)


def _bits(truths: npt.NDArray[np.bool_]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(truths, bitorder="little"))

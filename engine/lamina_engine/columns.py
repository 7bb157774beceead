"""The only border between Arrow and NumPy: zero-copy views of columns, and columns from NumPy.

Views are read-only. A column with nulls is viewed through `numbers`, which puts a stated value in their place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def numbers(array: pa.Array, missing: int = 0) -> NDArray[Any]:
    """View a primitive column; nulls (if any) become ``missing`` in a copy.

    Returns
    -------
    ndarray (n,)
        Of the column's own type; read-only without nulls.
    """
    dtype = array.type.to_pandas_dtype()
    data = np.frombuffer(array.buffers()[1], dtype=dtype, count=len(array), offset=array.offset * np.dtype(dtype).itemsize)
    if array.null_count == 0:
        return data
    values = data.copy()
    values[~validity(array)] = missing
    return values


def validity(array: pa.Array) -> NDArray[np.bool_]:
    """Return bool (n,): True where the column has a value."""
    bits = array.buffers()[0]
    if bits is None or array.null_count == 0:
        return np.ones(len(array), np.bool_)
    unpacked = np.unpackbits(np.frombuffer(bits, np.uint8), count=array.offset + len(array), bitorder="little")
    return unpacked[array.offset :].astype(np.bool_)


def vectors(array: pa.FixedSizeListArray) -> NDArray[np.float32]:
    """View a fixed-size-list column of float32 without nulls as float32 (n, d)."""
    dim = array.type.list_size
    values = np.frombuffer(array.values.buffers()[1], np.float32)
    start = (array.offset + array.values.offset // max(dim, 1)) * dim
    return values[start : start + len(array) * dim].reshape(len(array), dim)


def vector_array(matrix: NDArray[np.float32]) -> pa.FixedSizeListArray:
    """Wrap float32 (n, d) as a fixed-size-list column, without copying where it is contiguous."""
    flat = np.ascontiguousarray(matrix, np.float32).reshape(-1)
    return pa.FixedSizeListArray.from_arrays(pa.array(flat), matrix.shape[1])


def strings(array: pa.Array, offsets: Sequence[int] | NDArray[np.int64]) -> list[Any]:
    """Return the Python values at some offsets; never ``take``, which copies the column."""
    return [array[int(offset)].as_py() for offset in offsets]

"""Bounds of Arrow columns: a flipped offset must be an error, where Arrow itself would read outside the file."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lamina_engine.columns import validity


def out_of_bounds(array: pa.Array) -> str | None:
    """Return what in a column points outside what it indexes, or None. O(rows), not O(bytes).

    Arrow's own check without ``full`` looks at the first and the last offset only.
    """
    kind = array.type
    if pa.types.is_dictionary(kind):
        return _codes(array) or out_of_bounds(array.dictionary) or _not_text(array.dictionary)
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return _offsets(array, np.dtype(np.int32), _size(array.buffers()[2]))
    if pa.types.is_large_string(kind) or pa.types.is_large_binary(kind):
        return _offsets(array, np.dtype(np.int64), _size(array.buffers()[2]))
    if pa.types.is_list(kind):
        return _offsets(array, np.dtype(np.int32), len(array.values)) or out_of_bounds(array.values)
    return None


def _not_text(array: pa.Array) -> str | None:
    try:
        array.validate(full=True)
    except pa.ArrowInvalid as error:
        return str(error)
    return None


def _size(buffer: pa.Buffer | None) -> int:
    return 0 if buffer is None else int(buffer.size)


def _offsets(array: pa.Array, dtype: np.dtype[np.int32] | np.dtype[np.int64], limit: int) -> str | None:
    buffer = array.buffers()[1]
    if len(array) == 0:
        return None
    offsets: NDArray[Any] = np.frombuffer(buffer, dtype, len(array) + 1, array.offset * dtype.itemsize)
    if offsets[0] < 0 or offsets[-1] > limit or (offsets[1:] < offsets[:-1]).any():
        return "offsets that run backwards or past the end"
    return None


def _codes(array: pa.DictionaryArray) -> str | None:
    indices = array.indices
    if len(indices) == 0:
        return None
    codes = np.frombuffer(indices.buffers()[1], np.int32, len(indices), indices.offset * 4)
    outside = (codes < 0) | (codes >= len(array.dictionary))
    if outside.any() and (outside & validity(indices)).any():
        return "codes outside its dictionary"
    return None

"""Arrow–NumPy border: zero-copy views of columns, and columns from NumPy.

Views are read-only. A column with nulls is viewed through `numbers`, which puts a stated value in their place.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lamina_engine.errors import VaultCorrupt

_HASHES = pa.binary(16)


def numbers(array: pa.Array, missing: int = 0) -> NDArray[Any]:
    """View a primitive column; nulls (if any) become ``missing`` in a copy.

    Of a column of 16 bytes each the first eight are seen, as int64: enough to tell hashes apart.
    """
    if array.type == _HASHES:
        return np.frombuffer(array.buffers()[1], np.int64).reshape(-1, 2)[array.offset : array.offset + len(array), 0]
    data = _stored(array)
    if array.null_count == 0:
        data.flags.writeable = False  # an array that was made in memory is writable, a mapped one is not
        return data
    if array.null_count == len(array):
        return np.full(len(array), missing, data.dtype)
    values = data.copy()
    values[~validity(array)] = missing
    return values


def _stored(array: pa.Array) -> NDArray[Any]:
    """View a primitive column as stored; where it has nulls are any numbers."""
    dtype = array.type.to_pandas_dtype()
    return np.frombuffer(
        array.buffers()[1], dtype=dtype, count=len(array), offset=array.offset * np.dtype(dtype).itemsize
    )


def validity(array: pa.Array) -> NDArray[np.bool_]:
    """Return bool (n,): True where the column has a value."""
    bits = array.buffers()[0]
    if bits is None or array.null_count == 0:
        return np.ones(len(array), np.bool_)
    unpacked = np.unpackbits(np.frombuffer(bits, np.uint8), count=array.offset + len(array), bitorder="little")
    return unpacked[array.offset :].astype(np.bool_)


def split_rows(
    rows: NDArray[np.int64], starts: NDArray[np.int64]
) -> list[tuple[int, slice | NDArray[np.int64], NDArray[np.int64]]]:
    """Split rows, none below 0, by the part they lie in; ``starts`` are the parts' first rows.

    Of each part with any: its number, the places of its rows in ``rows``, and the rows counted from its first.
    """
    if starts.size == 1:
        return [(0, slice(None), rows - starts[0])]
    ascending, order = rows, None
    if (rows[1:] < rows[:-1]).any():
        order = np.argsort(rows, kind="stable")
        ascending = rows[order]
    cuts = [*ascending.searchsorted(starts).tolist(), rows.size]
    return [
        (number, slice(begin, end) if order is None else order[begin:end], ascending[begin:end] - starts[number])
        for number, (begin, end) in enumerate(itertools.pairwise(cuts))
        if begin < end
    ]


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


def offsets_of(array: pa.Array, text: str) -> NDArray[np.int64]:
    """Return the offsets at which a column of text holds just this text, ascending. O(rows)."""
    width = np.int64 if pa.types.is_large_string(array.type) else np.int32
    bounds = np.frombuffer(
        array.buffers()[1], width, count=len(array) + 1, offset=array.offset * np.dtype(width).itemsize
    )
    wanted = np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8)
    found = np.flatnonzero(np.diff(bounds) == len(wanted))
    if array.null_count:
        found = found[validity(array)[found]]
    data = array.buffers()[2]
    if data is None or not len(wanted):
        return found
    places = bounds.astype(np.int64)[found][:, None] + np.arange(len(wanted))
    same: NDArray[np.bool_] = (np.frombuffer(data, np.uint8)[places] == wanted).all(axis=1)
    return found[same]


def list_bounds(array: pa.ListArray) -> NDArray[np.int32]:
    """View the offsets of a list column among its values, int32 (n + 1,)."""
    return np.frombuffer(array.buffers()[1], np.int32, count=len(array) + 1, offset=array.offset * 4)


Reader = Callable[[int], Any]
"""Gives the Python value at an offset of one column."""


def reader(array: pa.Array, where: str = "a column") -> Reader:
    """Return a reader of a column's single values, several times as fast as Arrow's scalars.

    Never ``take``, which copies the column. Text, fixed-size binary, dictionaries of text, integers and lists of text
    are read from the buffers themselves; any other type goes through Arrow.

    The function raises `VaultCorrupt` for text that is not UTF-8, and names ``where`` that is.
    """
    kind = array.type
    if array.null_count == len(array):
        return lambda offset: None
    if pa.types.is_dictionary(kind):
        return _nullable(array.indices, _dictionary_reader(array))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _nullable(array, _text_reader(array, where))
    if pa.types.is_fixed_size_binary(kind):
        return _nullable(array, _binary_reader(array, kind.byte_width))
    if pa.types.is_integer(kind):
        return _nullable(array, _plain(_stored(array)).__getitem__)
    if pa.types.is_list(kind) and pa.types.is_string(kind.value_type):
        return _nullable(array, _list_reader(array, where))
    return lambda offset: array[offset].as_py()


def _nullable(array: pa.Array, read: Reader) -> Reader:
    """Return a reader of a column with nulls; their bits stay mapped."""
    if array.null_count == 0:
        return read
    bits, start = memoryview(array.buffers()[0]), array.offset
    if start:
        return lambda offset: read(offset) if bits[(start + offset) >> 3] >> ((start + offset) & 7) & 1 else None
    return lambda offset: read(offset) if bits[offset >> 3] >> (offset & 7) & 1 else None


def _plain(values: NDArray[Any]) -> memoryview:
    """View numbers as a memoryview, whose items are plain Python numbers and cheap."""
    return values.data


def _text_reader(array: pa.Array, where: str) -> Reader:
    width = np.int64 if pa.types.is_large_string(array.type) else np.int32
    bounds = _plain(
        np.frombuffer(array.buffers()[1], width, count=len(array) + 1, offset=array.offset * np.dtype(width).itemsize)
    )
    data = array.buffers()[2]
    text = memoryview(data) if data is not None else memoryview(b"")

    def read(offset: int) -> str:
        try:
            return str(text[bounds[offset] : bounds[offset + 1]], "utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            raise VaultCorrupt(f"{where}: {error}; `lamina verify --deep` names what can be saved") from error

    return read


def _binary_reader(array: pa.Array, width: int) -> Reader:
    data = memoryview(array.buffers()[1])[array.offset * width :]
    return lambda offset: bytes(data[offset * width : offset * width + width])


def _dictionary_reader(array: pa.DictionaryArray) -> Reader:
    names, found = array.dictionary.to_pylist(), _plain(_stored(array.indices))
    return lambda offset: names[found[offset]]


def _list_reader(array: pa.ListArray, where: str) -> Reader:
    bounds = _plain(np.frombuffer(array.buffers()[1], np.int32, count=len(array) + 1, offset=array.offset * 4))
    inner = reader(array.values, where)
    return lambda offset: [inner(i) for i in range(bounds[offset], bounds[offset + 1])]


def strings(array: pa.Array, offsets: Sequence[int] | NDArray[np.int64]) -> list[Any]:
    """Return the Python values at some offsets; see `reader`."""
    read = reader(array)
    return [read(int(offset)) for offset in offsets]

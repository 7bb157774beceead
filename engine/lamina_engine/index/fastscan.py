"""FAISS's scan of 4-bit codes where they lie: in a mapped file, or in an array.

FAISS keeps the codes of an index in memory of its own, so every reader of a vault of a million rows held 61 MiB of them
twice, whole and cut into pieces for two threads. Here an index of FAISS is given the address of the codes instead:
readers share the pages of the file, and a piece is an address and a number of rows.

``import faiss`` makes five hundred Python classes, 30 ms of a cold start; a scan needs its extension module alone. Where
FAISS is laid out in another way, the package is imported, and the codes are copied where its memory is another: the
answers are the same, since the same functions are called.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import os
import sys
import weakref
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from lamina_engine import after_fork

BLOCK: Final = 32
"""Rows whose codes lie together; the last block is filled up."""
_ALIGNMENT: Final = 32
"""Bytes of a register, which FAISS loads from aligned addresses alone."""

_PACKAGE: Final = "faiss"
_EXTENSION: Final = "_swigfaiss"
_NEEDED: Final = (
    "new_ZeroCopyIOReader", "delete_ZeroCopyIOReader", "swig_ptr", "read_index", "delete_Index", "IndexPQFastScan_pq_get",
    "IndexFastScan_search", "IndexFastScan_bbs_get", "IndexFastScan_codes_get", "IndexFastScan_ntotal2_set",
    "Index_ntotal_set", "Index_d_get", "new_AlignedTableUint8", "delete_AlignedTableUint8", "AlignedTableUint8_get",
    "omp_get_max_threads", "omp_set_num_threads",
)  # fmt: skip


class _Table(ctypes.Structure):
    """FAISS's ``AlignedTable``: where the codes are, how many bytes are allocated and used."""

    _fields_ = (("address", ctypes.c_void_p), ("allocated", ctypes.c_size_t), ("used", ctypes.c_size_t))


class Scan:
    """FAISS index over codes that it does not own, reduced to its search calls.

    Attributes
    ----------
    d : int
        Dimension.
    ntotal : int
        Rows.
    """

    __slots__ = ("__weakref__", "_extension", "_raw", "d", "ntotal")

    def __init__(self, extension: Any, raw: Any, codes: NDArray[np.uint8], rows: int) -> None:
        self._extension, self._raw, self.d, self.ntotal = extension, raw, int(extension.Index_d_get(raw)), rows
        table = _Table.from_address(int(_bare(extension.IndexFastScan_codes_get(raw))))
        table.address, table.allocated, table.used = codes.ctypes.data, codes.size, codes.size
        extension.IndexFastScan_ntotal2_set(raw, -(-rows // BLOCK) * BLOCK)
        extension.Index_ntotal_set(raw, rows)
        weakref.finalize(self, _release, extension, raw, table, codes).atexit = False  # the system takes it then

    def search(self, queries: NDArray[np.float32], k: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Return the promises and rows, (q, k) each, as FAISS's own ``search`` does.

        Parameters
        ----------
        queries : float32 (q, d)
            Contiguous.
        k : int
            How many for each.
        """
        promises = np.empty((len(queries), k), np.float32)
        rows = np.empty((len(queries), k), np.int64)
        query, promise, row = map(self._extension.swig_ptr, (queries, promises, rows))
        self._extension.IndexFastScan_search(self._raw, len(queries), query, k, promise, row, None)
        return promises, rows


def _release(extension: Any, raw: Any, table: _Table, codes: NDArray[np.uint8]) -> None:
    """Take the codes from an index, which would free them, and delete it."""
    table.address, table.allocated, table.used = None, 0, 0
    extension.delete_Index(raw)
    del codes  # held until now


def scan(codebook: NDArray[np.uint8], codes: NDArray[np.uint8], rows: int) -> Any:
    """Return an index over codes, which must not change: a `Scan`, or FAISS's own with a copy.

    Parameters
    ----------
    codebook : uint8 (bytes,)
        What `export_codebook` gives.
    codes : uint8 (bytes,)
        Whole blocks, aligned to 32 bytes.
    rows : int
        How many rows they are of.

    Raises
    ------
    RuntimeError, MemoryError
        What FAISS says of a damaged codebook.
    TypeError
        When it is of another kind of index, or the codes are of another number of rows or not aligned.
    """
    extension = _find_extension()
    if extension is None or not _shares_memory(extension):
        return load(codebook, codes, rows)
    raw = _read(extension, codebook)
    try:
        extension.IndexPQFastScan_pq_get(raw)  # a TypeError where it is another kind of index
        _check_codes(codes, rows, int(extension.Index_d_get(raw)), int(extension.IndexFastScan_bbs_get(raw)))
    except TypeError:
        extension.delete_Index(raw)
        raise
    return Scan(extension, raw, codes, rows)


def load(codebook: NDArray[np.uint8], codes: NDArray[np.uint8], rows: int) -> Any:
    """Return FAISS's own index of a copy of the codes, to which rows can be added.

    Parameters and errors as in `scan`.
    """
    faiss = _package()
    index = faiss.read_index(faiss.ZeroCopyIOReader(faiss.swig_ptr(codebook), codebook.size))
    if not isinstance(index, faiss.IndexPQFastScan):
        raise TypeError(f"a {type(index).__name__}")
    _check_codes(codes, rows, index.d, index.bbs)
    faiss.copy_array_to_AlignedTable(codes, index.codes)
    index.ntotal, index.ntotal2 = rows, -(-rows // BLOCK) * BLOCK
    return index


def export_codebook(index: Any) -> NDArray[np.uint8]:
    """Return FAISS's own form of an index without its rows."""
    faiss, parts = _package(), list[bytes]()
    empty = faiss.IndexPQFastScan(index.d, index.M, index.nbits, index.metric_type, index.bbs)
    empty.pq, empty.is_trained = index.pq, True
    faiss.write_index(empty, faiss.PyCallbackIOWriter(parts.append, 1 << 20))
    return np.frombuffer(b"".join(parts), np.uint8)


def export_codes(index: Any) -> NDArray[np.uint8]:
    """Return a copy of the codes of FAISS's own index, in whole blocks, aligned."""
    codes = _package().rev_swig_ptr(index.codes.get(), index.codes.size())
    room = np.empty(codes.size + _ALIGNMENT, np.uint8)
    start = -room.ctypes.data % _ALIGNMENT
    copied = room[start : start + codes.size]
    copied[:] = codes
    return copied


def openmp(index: Any) -> Any:
    """Return the module that sets OpenMP threads: the extension module, or the package."""
    return index._extension if isinstance(index, Scan) else _package()


def _check_codes(codes: NDArray[np.uint8], rows: int, dim: int, block: int) -> None:
    """Refuse codes of other rows: half a byte for each pair of dimensions."""
    expected = -(-rows // BLOCK) * BLOCK * (-(-dim // 4) * 2) // 2
    if block != BLOCK or codes.size != expected:
        raise TypeError(f"{codes.size} bytes of codes in blocks of {block}, expected {expected} in blocks of {BLOCK}")
    if codes.ctypes.data % _ALIGNMENT:
        raise TypeError(f"codes at an address that is no multiple of {_ALIGNMENT}")


def _read(extension: Any, codebook: NDArray[np.uint8]) -> Any:
    reader = extension.new_ZeroCopyIOReader(extension.swig_ptr(codebook), codebook.size)
    reader.disown()  # nobody has told the extension how to delete it
    try:
        raw = _bare(extension.read_index(reader))
    finally:
        extension.delete_ZeroCopyIOReader(reader)
    raw.disown()
    return raw


def _bare(value: Any) -> Any:
    """Return a pointer, which is an attribute where the package has given it a class."""
    return getattr(value, "this", value)


def _shares_memory(extension: Any) -> bool:
    """Tell whether a table of this FAISS is laid out as `_Table` says."""
    size = 96
    made = extension.new_AlignedTableUint8(size)
    made.disown()
    try:
        table = _Table.from_address(int(made))
        return (table.address, table.used) == (int(extension.AlignedTableUint8_get(made)), size) and (
            size <= table.allocated <= 64 * size
        )
    finally:
        extension.delete_AlignedTableUint8(made)


def _package() -> Any:
    import faiss

    return faiss


def _find_extension() -> Any | None:
    """Return the extension module; None where the package is to be imported."""
    global _module
    with _lock:
        if _module is None and os.name == "posix":
            with contextlib.suppress(ImportError, OSError, ValueError, AttributeError):
                _module = _loaded()
        return _module


def _loaded() -> Any | None:
    package = importlib.util.find_spec(_PACKAGE)
    for folder in (package.submodule_search_locations or ()) if package is not None else ():
        files = os.listdir(folder)  # noqa: PTH208
        found = [name for name in files if name.startswith(_EXTENSION)]
        if len(found) != 1 or "loader.py" not in files or "_gpu_build.py" in files:
            return None  # several to choose from by the machine, or others to be loaded first: its loader knows
        name = f"{_PACKAGE}.{_EXTENSION}"
        module = sys.modules.get(name)
        if module is None:
            place = importlib.util.spec_from_file_location(name, f"{folder}/{found[0]}")
            if place is None or place.loader is None:
                return None
            module = importlib.util.module_from_spec(place)
            sys.modules.setdefault(name, module)  # the package, imported later, takes this one
            place.loader.exec_module(module)
        return module if all(hasattr(module, needed) for needed in _NEEDED) else None
    return None


_module: Any = None
_lock = after_fork.make_lock()

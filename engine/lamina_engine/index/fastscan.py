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
from lamina_kernels.layouts import F32, U8

CENTROIDS: Final = 16
"""Of each pair of dimensions."""
BLOCK: Final = 32
"""Rows whose codes lie together; the last block is filled up."""
_ALIGNMENT: Final = 32
"""Bytes of a register, which FAISS loads from aligned addresses alone."""

_PACKAGE: Final = "faiss"
_EXTENSION: Final = "_swigfaiss"
_NEEDED: Final = (
    "new_IndexPQFastScan", "delete_IndexPQFastScan", "IndexPQFastScan_pq_get", "ProductQuantizer_centroids_get",
    "Float32Vector_data", "Float32Vector_size", "memcpy", "swig_ptr", "METRIC_INNER_PRODUCT", "IndexFastScan_search",
    "IndexFastScan_codes_get", "IndexFastScan_ntotal2_set", "Index_ntotal_set", "Index_is_trained_set",
    "new_AlignedTableUint8", "delete_AlignedTableUint8", "AlignedTableUint8_get", "omp_get_max_threads",
    "omp_set_num_threads",
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

    def __init__(self, extension: Any, centroids: F32, codes: U8, rows: int) -> None:
        self._extension, self.d, self.ntotal = extension, centroids.size // CENTROIDS, rows
        made = extension.new_IndexPQFastScan(self.d, self.d // 2, 4, extension.METRIC_INNER_PRODUCT, BLOCK)
        made.disown()  # nobody has told the extension how to delete it
        self._raw = made
        table = _Table.from_address(int(_bare(extension.IndexFastScan_codes_get(made))))
        weakref.finalize(self, _release, extension, made, table, codes).atexit = False  # the system takes it then
        room = extension.ProductQuantizer_centroids_get(extension.IndexPQFastScan_pq_get(made))
        if extension.Float32Vector_size(room) != centroids.size:
            raise ValueError(f"FAISS has room for {extension.Float32Vector_size(room)} centroids")
        extension.memcpy(extension.Float32Vector_data(room), extension.swig_ptr(centroids), centroids.nbytes)
        extension.Index_is_trained_set(made, True)
        table.address, table.allocated, table.used = codes.ctypes.data, codes.size, codes.size
        extension.IndexFastScan_ntotal2_set(made, _whole(rows))
        extension.Index_ntotal_set(made, rows)

    def search(self, queries: F32, k: int) -> tuple[F32, NDArray[np.int64]]:
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


def _release(extension: Any, raw: Any, table: _Table, codes: U8) -> None:
    """Take the codes from an index, which would free them, and delete it."""
    table.address, table.allocated, table.used = None, 0, 0
    extension.delete_IndexPQFastScan(raw)
    del codes  # held until now


def scan(centroids: F32, codes: U8, rows: int) -> Any:
    """Return an index over codes, which must not change: a `Scan`, or FAISS's own with a copy.

    Parameters
    ----------
    centroids : float32 (16 d,)
        Sixteen for each pair of dimensions; d is even.
    codes : uint8 (bytes,)
        Whole blocks, aligned to 32 bytes.
    rows : int
        How many rows they are of.

    Raises
    ------
    ValueError
        When the codes are of another number of rows or dimensions, or not aligned.
    """
    _check(centroids, codes, rows)
    if codes.ctypes.data % _ALIGNMENT and codes.size:
        raise ValueError(f"codes at an address that is no multiple of {_ALIGNMENT}")
    extension = _find_extension()
    if extension is None or not _shares_memory(extension):
        return load(centroids, codes, rows)
    return Scan(extension, centroids, codes, rows)


def load(centroids: F32, codes: U8, rows: int) -> Any:
    """Return FAISS's own index of a copy of the codes, to which rows can be added.

    Parameters and errors as in `scan`; the codes need not be aligned.
    """
    _check(centroids, codes, rows)
    faiss, dim = _package(), centroids.size // CENTROIDS
    index = faiss.IndexPQFastScan(dim, dim // 2, 4, faiss.METRIC_INNER_PRODUCT, BLOCK)
    faiss.copy_array_to_vector(centroids, index.pq.centroids)
    faiss.copy_array_to_AlignedTable(codes, index.codes)
    index.is_trained, index.ntotal, index.ntotal2 = True, rows, _whole(rows)
    return index


def export_centroids(index: Any) -> F32:
    """Return a copy of the centroids of FAISS's own index, (16 d,)."""
    centroids: F32 = _package().vector_to_array(index.pq.centroids)
    return centroids


def export_codes(index: Any) -> U8:
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


def _check(centroids: F32, codes: U8, rows: int) -> None:
    """Refuse codes of other rows or dimensions: FAISS reads as many as it is told."""
    dim = centroids.size // CENTROIDS
    expected = _whole(rows) * (-(-dim // 4) * 2) // 2  # half a byte for each pair, of which there is an even number
    if not rows >= 0 or dim % 2 or not dim or centroids.size != dim * CENTROIDS or codes.size != expected:
        raise ValueError(f"{codes.size} bytes of codes, {centroids.size} centroids: not those of {rows} rows")


def _whole(rows: int) -> int:
    """Return the rows of whole blocks."""
    return -(-rows // BLOCK) * BLOCK


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

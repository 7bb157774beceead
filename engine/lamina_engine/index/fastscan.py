"""A saved index read and asked by FAISS's extension module alone.

``import faiss`` makes five hundred Python classes, 30 ms of a cold start; to read one index and to ask it needs none of
them. Where the package is laid out in another way, or is imported already, it is done through the package: the answers
are the same, since the same functions are called.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sys
import weakref
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from lamina_engine import after_fork

_PACKAGE: Final = "faiss"
_EXTENSION: Final = "_swigfaiss"
_NEEDED: Final = (
    "new_ZeroCopyIOReader", "delete_ZeroCopyIOReader", "swig_ptr", "read_index", "delete_Index", "IndexPQFastScan_pq_get",
    "IndexFastScan_search", "Index_ntotal_get", "Index_d_get", "omp_get_max_threads", "omp_set_num_threads",
)  # fmt: skip


class Scan:
    """FAISS index of 4-bit codes without a Python class, reduced to its search calls.

    Attributes
    ----------
    d : int
        Dimension.
    ntotal : int
        Rows.
    """

    __slots__ = ("__weakref__", "_extension", "_raw", "d", "ntotal")

    def __init__(self, extension: Any, raw: Any) -> None:
        self._extension, self._raw = extension, raw
        raw.disown()  # nobody has told the extension how to delete it
        weakref.finalize(self, extension.delete_Index, raw).atexit = False  # the system takes it then
        extension.IndexPQFastScan_pq_get(raw)  # a TypeError where it is another kind of index
        self.d = int(extension.Index_d_get(raw))
        self.ntotal = int(extension.Index_ntotal_get(raw))

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


def read(data: NDArray[np.uint8]) -> Any:
    """Read an index of 4-bit codes from the bytes of FAISS's own form; they are copied.

    Raises
    ------
    RuntimeError, MemoryError
        What FAISS says of damaged bytes.
    TypeError
        When it is another kind of index.
    """
    extension = _alone()
    if extension is None:
        faiss = _package()
        index = faiss.read_index(faiss.ZeroCopyIOReader(faiss.swig_ptr(data), data.size))
        if not isinstance(index, faiss.IndexPQFastScan):
            raise TypeError(f"a {type(index).__name__}")
        return index
    reader = extension.new_ZeroCopyIOReader(extension.swig_ptr(data), data.size)
    reader.disown()
    try:
        return Scan(extension, extension.read_index(reader))
    finally:
        extension.delete_ZeroCopyIOReader(reader)


def whole(index: Any) -> Any:
    """Return the full FAISS Python index; it lives as long as the given one."""
    return _package().downcast_index(index._raw) if isinstance(index, Scan) else index


def split(index: Any, count: int) -> list[tuple[int, Any]]:
    """Copy an index into several of consecutive rows, each with its first row."""
    faiss, known = _package(), whole(index)
    blocks = known.ntotal2 // known.bbs
    codes = faiss.rev_swig_ptr(known.codes.get(), known.codes.size()).reshape(blocks, -1)
    found = []
    for number in range(count):
        first, last = blocks * number // count, blocks * (number + 1) // count
        rows = min(last * known.bbs, known.ntotal) - first * known.bbs
        found.append((first * known.bbs, _of_codes(known, codes[first:last], rows)))
    return found


def join(pieces: Sequence[Any]) -> Any:
    """Copy pieces of `split`, in their order, into one index."""
    faiss = _package()
    codes = [faiss.rev_swig_ptr(each.codes.get(), each.codes.size()) for each in pieces]
    return _of_codes(pieces[0], np.concatenate(codes), sum(each.ntotal for each in pieces))


def _of_codes(like: Any, codes: NDArray[np.uint8], rows: int) -> Any:
    """Return an index with the codebook of another and packed codes of its own."""
    faiss = _package()
    made = faiss.IndexPQFastScan(like.d, like.M, like.nbits, like.metric_type, like.bbs)
    made.pq, made.is_trained = like.pq, True
    made.ntotal, made.ntotal2 = rows, -(-rows // like.bbs) * like.bbs
    faiss.copy_array_to_AlignedTable(np.ascontiguousarray(codes.ravel()), made.codes)
    return made


def openmp(index: Any) -> Any:
    """Return the module that sets OpenMP threads: the extension module, or the package."""
    return index._extension if isinstance(index, Scan) else _package()


def _package() -> Any:
    import faiss

    return faiss


def _alone() -> Any | None:
    """Return the extension module without its package; None where the package is to be imported."""
    global _module
    with _lock:
        if _module is None and _PACKAGE not in sys.modules and os.name == "posix":
            with contextlib.suppress(ImportError, OSError, ValueError, AttributeError):
                _module = _loaded()
        return None if _PACKAGE in sys.modules else _module


def _loaded() -> Any | None:
    package = importlib.util.find_spec(_PACKAGE)
    for folder in (package.submodule_search_locations or ()) if package is not None else ():
        files = os.listdir(folder)  # noqa: PTH208
        found = [name for name in files if name.startswith(_EXTENSION)]
        if len(found) != 1 or "loader.py" not in files or "_gpu_build.py" in files:
            return None  # several to choose from by the machine, or others to be loaded first: its loader knows
        place = importlib.util.spec_from_file_location(f"{_PACKAGE}.{_EXTENSION}", f"{folder}/{found[0]}")
        if place is None or place.loader is None:
            return None
        module = importlib.util.module_from_spec(place)
        sys.modules.setdefault(place.name, module)  # the package, imported later, takes this one
        place.loader.exec_module(module)
        return module if all(hasattr(module, name) for name in _NEEDED) else None
    return None


_module: Any = None
_lock = after_fork.make_lock()

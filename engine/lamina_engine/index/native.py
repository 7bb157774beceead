"""Preloading of shared libraries on a thread, while other modules are imported.

Loading Arrow's and FAISS's libraries is 40 ms of relocating code. An ``import`` does that with the interpreter's lock
held; asked of the loader itself it takes a second core, and the import that follows finds them there.
"""

from __future__ import annotations

import contextlib
import importlib.util
import sys
import threading
from pathlib import Path
from typing import Final

ARROW: Final = ("pyarrow", ("libarrow.", "libarrow_python."))
FAISS: Final = ("faiss", ("libfaiss.",))
"""Package, and how the names of its libraries begin, in the order in which they need each other."""

_begun: set[str] = set()


def begin(package: str, prefixes: tuple[str, ...]) -> None:
    """Start to load a package's libraries, once; on failure the import does it.

    Parameters
    ----------
    package : str
        A package that has libraries beside its modules.
    prefixes : tuple of str
        How their names begin.
    """
    if package in _begun:
        return
    _begun.add(package)
    threading.Thread(target=_load, args=(package, prefixes), name=f"lamina-load-{package}").start()


def _load(package: str, prefixes: tuple[str, ...]) -> None:
    import ctypes

    with contextlib.suppress(ImportError, OSError, ValueError):
        spec = importlib.util.find_spec(package)
        for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
            names = sorted(path.name for path in Path(folder).iterdir())
            for prefix in prefixes:
                for name in names:
                    if name.startswith(prefix) and (".so" in name or ".dylib" in name):
                        ctypes.CDLL(f"{folder}/{name}")


def release_memory() -> None:
    """Return what was freed to the system."""
    # glibc would keep the hundreds of MB that large segments took for a moment
    import ctypes

    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)

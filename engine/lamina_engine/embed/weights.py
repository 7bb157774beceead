"""Weight files of embedders: packages, the cache folder, and mapped safetensors.

Nothing in the cache folder is needed: a file that is missing, torn or cannot be written only costs time.

A safetensors file is a header length (little-endian uint64), a JSON header (name → dtype, shape, [begin, end) in what
follows), and the data; reading one imports nothing but NumPy.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import math
import os
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lamina_engine.errors import EmbeddingError

CACHE_VARIABLE = "LAMINA_CACHE_DIR"
"""Environment variable that moves the cache folder."""


_DTYPES = {"F16": "<f2", "F32": "<f4", "I64": "<i8"}

_LONGEST_HEADER_BYTES = 100_000_000  # the format's own limit


def cache_folder() -> Path | None:
    """Return the user's cache folder for Lamina, or None without a home folder.

    ``LAMINA_CACHE_DIR`` wins; else the platform's place (XDG on Linux, ``Library/Caches`` on macOS, ``LOCALAPPDATA`` on
    Windows) with ``lamina`` below it. The folder is not created.
    """
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen:
        return Path(chosen).absolute()
    try:
        if sys.platform == "win32":
            return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "lamina"
        if sys.platform == "darwin":
            return Path.home() / "Library" / "Caches" / "lamina"
        base = Path(os.environ.get("XDG_CACHE_HOME", ""))
        return (base if base.is_absolute() else Path.home() / ".cache") / "lamina"
    except RuntimeError:  # what Path.home raises for a user without a home
        return None


def cached_path(name: str) -> Path | None:
    """Return the path of a cached file; None without a cache folder."""
    folder = cache_folder()
    return None if folder is None else folder / name


def write_cached(path: Path, data: bytes) -> bool:
    """Write a whole file or nothing: under a temporary name in the same folder, then renamed."""
    aside = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            aside.write_bytes(data)
            aside.replace(path)
        finally:
            aside.unlink(missing_ok=True)
    except OSError:
        return False
    return True


def package_folder(name: str) -> Path | None:
    """Return the folder of an installed package, without importing it; None where absent.

    Asking the import system costs 0.2 ms; ``importlib.metadata`` would cost more than 10.
    """
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))


def map_tensors(path: Path) -> dict[str, NDArray[Any]]:
    """Map the tensors of a safetensors file, read-only; pages are read when touched."""
    try:
        data = np.memmap(path, dtype=np.uint8, mode="r")
        length = int.from_bytes(data[:8].tobytes(), "little")
        if len(data) < 8 or length > min(_LONGEST_HEADER_BYTES, len(data) - 8):
            raise ValueError(f"header of {length:,} bytes in a file of {len(data):,}")
        header = json.loads(data[8 : 8 + length].tobytes())
        body = np.asarray(data[8 + length :])
        return {name: _tensor(body, name, entry) for name, entry in header.items() if name != "__metadata__"}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise EmbeddingError(
            f"{path} is not a readable safetensors file ({error}); install its package again"
        ) from error


def _tensor(body: NDArray[np.uint8], name: str, entry: dict[str, Any]) -> NDArray[Any]:
    dtype, shape = np.dtype(_DTYPES[entry["dtype"]]), tuple(entry["shape"])
    begin, end = entry["data_offsets"]
    if not 0 <= begin <= end <= len(body) or end - begin != math.prod(shape) * dtype.itemsize:
        raise ValueError(f"tensor {name!r} lies at bytes {begin} to {end} of {len(body)}, for shape {shape} of {dtype}")
    return body[begin:end].view(dtype).reshape(shape)


def check_sha256(path: Path, expected: str, *, remedy: str) -> None:
    """Compare a file's SHA-256 with a pinned one; about 1 ms for each MB."""
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise EmbeddingError(f"{path} cannot be read ({error.strerror}); {remedy}") from error
    if found != expected:
        raise EmbeddingError(f"{path} has SHA-256 {found[:16]}…, allowed is {expected[:16]}…; {remedy}")

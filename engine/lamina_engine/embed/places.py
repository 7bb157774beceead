"""Where the embedders find files: the user's cache folder, and the packages that carry weights.

Nothing in the cache folder is needed: a file that is missing, torn or cannot be written only costs time.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import threading
from pathlib import Path

CACHE_VARIABLE = "LAMINA_CACHE_DIR"
"""Environment variable that moves the cache folder."""


def cache_folder() -> Path | None:
    """Return the user's cache folder for Lamina, or None where there is no home to put it in.

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
    """Return where a cached file of this name stands, or would stand; None without a cache folder."""
    folder = cache_folder()
    return None if folder is None else folder / name


def write_aside(path: Path, data: bytes) -> bool:
    """Write a whole file or nothing: under a temporary name in the same folder, then renamed.

    Returns
    -------
    bool
        False where it could not be written (read-only home, full disk); nothing is left behind then.
    """
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
    """Return the folder of an installed top-level package without importing it; None where it is not installed.

    Asking the import system costs 0.2 ms; ``importlib.metadata`` would cost more than 10.
    """
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))

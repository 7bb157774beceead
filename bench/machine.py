"""The machine stamp: what two numbers must share before they may be compared."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

LIBRARIES: Final = ("numpy", "numba", "llvmlite", "pyarrow", "faiss-cpu", "tantivy")


def stamp(cpu: str) -> dict[str, Any]:
    """Return processor, cores, memory (GiB), and the versions of Python and of all libraries that do the work."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "cpu": cpu,
        "cores": cores,
        "memory_gib": _memory_gib(),
        "system": platform.system(),
        "python": platform.python_version(),
        **{library: _version(library) for library in LIBRARIES},
    }


def sentence(stamp: Mapping[str, Any]) -> str:
    """Return a stamp in words."""
    libraries = ", ".join(f"{name} {stamp[name]}" for name in LIBRARIES if stamp.get(name))
    return (
        f"{stamp['cpu']}, {stamp['cores']} cores, {stamp['memory_gib']} GiB, {stamp['system']}, "
        f"Python {stamp['python']}, {libraries}"
    )


def _memory_gib() -> int | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)
    except (AttributeError, OSError, ValueError):  # not on this system
        return None


def _version(library: str) -> str | None:
    try:
        return version(library)
    except PackageNotFoundError:
        return None

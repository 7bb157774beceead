"""The machine stamp, what two numbers must share before they may be compared; and whether the machine is quiet."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
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


def busy_cores(seconds: float = 2.0, *, stat: Path = Path("/proc/stat")) -> float:
    """Return how many cores everybody uses while this process sleeps; the load of the last minute where no file tells."""
    try:
        before = _ticks(stat)
        time.sleep(seconds)
        idle, total = (after - earlier for after, earlier in zip(_ticks(stat), before, strict=True))
    except (OSError, ValueError):  # not Linux
        return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return (1.0 - idle / max(total, 1)) * (os.cpu_count() or 1)


def _ticks(stat: Path) -> tuple[int, int]:
    """Return the ticks in which cores were idle or waited for a disk, and all ticks, of all cores."""
    name, *ticks = stat.read_text(encoding="ascii").partition("\n")[0].split()
    if name != "cpu":
        raise ValueError(f"{stat} begins with {name}, not with the sums of all cores")
    user, nice, system, idle, waiting, *rest = map(int, ticks[:8])  # what guests take is counted under user, too
    return idle + waiting, user + nice + system + idle + waiting + sum(rest)


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

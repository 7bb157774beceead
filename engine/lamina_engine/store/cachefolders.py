"""Cache folders of vaults on object storage, and the bytes that they may take together.

Everything in one can be fetched or built again; only its access journal and queue, some kilobytes, are this machine's own.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
from pathlib import Path
from typing import Final

from lamina_engine.errors import InvalidConfig, LaminaError
from lamina_engine.store.lock import write_lock
from lamina_engine.store.manifest import CURRENT

FOLDER_VARIABLE: Final = "LAMINA_CACHE"
LIMIT_VARIABLE: Final = "LAMINA_CACHE_BYTES"
DEFAULT_LIMIT: Final = 50_000_000_000
IN_USE_S: Final = 600.0
"""A folder that was used so shortly before another stays."""
_NAME: Final = re.compile(r"[0-9a-f]{24}")


def cache_folder(identity: str) -> Path:
    """Return the folder of a vault by its address, whether it exists or not."""
    return _base() / hashlib.sha256(identity.encode()).hexdigest()[:24]


def _base() -> Path:
    if named := os.environ.get(FOLDER_VARIABLE):
        return Path(named).absolute()
    variable = "LOCALAPPDATA" if os.name == "nt" else "XDG_CACHE_HOME"
    place = os.environ.get(variable, "")
    return (Path(place) if os.path.isabs(place) else Path.home() / ".cache") / "lamina" / "vaults"  # noqa: PTH117


def limit() -> int:
    """Return how many bytes all cache folders may take."""
    given = os.environ.get(LIMIT_VARIABLE)
    if given is None:
        return DEFAULT_LIMIT
    if not given.isascii() or not given.isdigit():
        raise InvalidConfig(f"{LIMIT_VARIABLE}={given!r} must be a number of bytes, such as 20000000000")
    return int(given)


def make_room(root: Path, needed: int, url: str) -> None:
    """Remove the folders used longest ago until ``needed`` bytes for ``root`` fit the limit.

    Raises InvalidConfig where the vault alone does not fit.
    """
    most = limit()
    if needed > most:
        raise InvalidConfig(
            f"{url} takes {needed:,} bytes, and {LIMIT_VARIABLE} allows {most:,} for all vaults that are kept in "
            f"{root.parent}; allow more"
        )
    others = {path: size_of(path) for path in _folders(root.parent) if path != root}
    total = needed + sum(others.values())
    os.utime(root)
    now = root.stat().st_mtime  # as the files' own clock has it
    for path in sorted(others, key=_used):
        if total <= most:
            break
        if now - _used(path) > IN_USE_S:
            remove(path)
            total -= others[path]


def touch(root: Path) -> None:
    """Note that a folder is in use."""
    with contextlib.suppress(OSError):
        os.utime(root / CURRENT)


def empty(root: Path) -> None:
    """Remove all that a folder holds, but its lock; its writer's lock must be held."""
    for path in root.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        elif path.name != "writer.lock":
            path.unlink(missing_ok=True)


def remove(root: Path) -> None:
    """Remove a folder that nobody writes to; readers keep what they have mapped."""
    with contextlib.suppress(LaminaError, OSError):
        with write_lock(root, 0.0):
            empty(root)
        shutil.rmtree(root, ignore_errors=True)


def size_of(folder: Path) -> int:
    """Return the bytes of all files below a folder."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(place, name)).st_size  # noqa: PTH118
    return total


def _folders(base: Path) -> list[Path]:
    with contextlib.suppress(OSError):
        return [path for path in base.iterdir() if _NAME.fullmatch(path.name) and path.is_dir()]
    return []


def _used(root: Path) -> float:
    with contextlib.suppress(OSError):
        return (root / CURRENT).stat().st_mtime
    return 0.0

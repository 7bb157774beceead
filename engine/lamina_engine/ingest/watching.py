"""Which of some folders and files changed, told by the operating system through ``watchfiles``.

The system forgets a folder that was deleted and a file that was replaced, as editors do when they save. So the identity
of each root (device and inode) is looked at now and then: where it is another, watching begins anew and the root counts
as changed.
"""

from __future__ import annotations

import importlib
import os
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from lamina_engine.errors import IngestError, MissingExtra
from lamina_engine.ingest.walk import SKIPPED_FOLDERS

SETTLED_S: Final = 0.2
"""Files are read once nothing has changed for so long."""
_MOST_SETTLED: Final = 10
"""Times that, after which they are read although changes go on."""
_LOOK_S: Final = 0.3
"""How often roots are looked at."""

_Identity = tuple[int, int]


def watched(
    roots: Sequence[str],
    *,
    apart: Path | None = None,
    settled_s: float = SETTLED_S,
    look_s: float = _LOOK_S,
    stop: threading.Event | None = None,
) -> Iterator[Collection[str]]:
    """Return the roots that changed, batch by batch: all of them at first, once they are watched, and from then on what changes.

    Parameters
    ----------
    roots : sequence of str
        Folders and files; they may come and go.
    apart : Path, optional
        A folder whose changes are not told: the vault that is written to, which may lie below a root.
    settled_s : float
        See `SETTLED_S`.
    look_s : float
        Seconds between two looks at the roots; an empty collection is yielded where nothing was found.
    stop : Event, optional
        Ends it when set.

    Raises
    ------
    MissingExtra
        When watchfiles is not installed.
    IngestError
        When the operating system refuses to watch.
    """
    stop = threading.Event() if stop is None else stop
    return _watched(_watchfiles(), roots, apart, settled_s, look_s, stop)


def _watched(
    watchfiles: Any, roots: Sequence[str], apart: Path | None, settled_s: float, look_s: float, stop: threading.Event
) -> Iterator[Collection[str]]:
    changed, known = set(roots), _identities(roots)
    while not stop.is_set():
        there = {root: os.path.realpath(root) for root, identity in known.items() if identity is not None}
        for paths in _batches(watchfiles, list(there.values()), settled_s, look_s, stop):
            changed |= {root for root, real in there.items() if any(_counts(path, real, apart) for path in paths)}
            before, known = known, _identities(roots)
            if known != before:
                break
            yield changed
            changed = set()
        else:
            before, known = known, _identities(roots)
        # told with the next batch: what came is watched by then
        changed |= {root for root in roots if known[root] != before[root]}


def _watchfiles() -> Any:
    try:
        return importlib.import_module("watchfiles")
    except ImportError as error:
        raise MissingExtra("following files needs watchfiles; pip install 'lamina[watch]'") from error


def _identities(roots: Sequence[str]) -> Mapping[str, _Identity | None]:
    return {root: _identity(root) for root in roots}


def _identity(root: str) -> _Identity | None:
    try:
        found = Path(root).stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _batches(
    watchfiles: Any, paths: Sequence[str], settled_s: float, look_s: float, stop: threading.Event
) -> Iterator[Sequence[str]]:
    """Yield what changed, nothing when nothing did; end where there is nothing to watch."""
    if not paths:
        stop.wait(look_s)
        yield ()
        return
    step = max(1, round(settled_s * 1e3))
    options = {"step": step, "debounce": step * _MOST_SETTLED, "rust_timeout": max(1, round(look_s * 1e3))}
    try:
        found = watchfiles.watch(*paths, watch_filter=None, stop_event=stop, yield_on_timeout=True, **options)
        for batch in found:
            yield [path for _, path in batch]
    except FileNotFoundError:
        stop.wait(look_s)
        yield ()
    except OSError as error:
        raise IngestError(
            f"{', '.join(paths)} cannot be watched ({error}); raise the limits of the operating system "
            "(fs.inotify.max_user_watches), or ingest now and then"
        ) from error


def _counts(path: str, root: str, apart: Path | None) -> bool:
    """Tell whether a changed path may matter below a root: no part of it is left out of every walk."""
    changed = Path(path)
    if apart is not None and changed.is_relative_to(apart):
        return False
    if not changed.is_relative_to(root):
        return False
    parts = changed.relative_to(root).parts
    return not any(part.startswith(".") or part in SKIPPED_FOLDERS for part in parts)

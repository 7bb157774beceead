"""Continuous ingest: folders and files are read again as they change.

The changes come from the operating system (``watchfiles``) unless given. It forgets a folder that was deleted and a file
that was replaced, as editors do when they save, so the identity of each root (device and inode) is checked now and then:
where it differs, watching restarts and the root counts as changed. Whatever changed below a folder, the folder is
ingested as a whole, as sizes and times tell at once what must be read; so moves and deletions are seen as in any ingest.
"""

from __future__ import annotations

import importlib
import os
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lamina_engine.errors import (
    EmbedderMismatch,
    EmbeddingError,
    IngestError,
    InvalidArgument,
    MissingExtra,
    VaultLocked,
    install_command,
)
from lamina_engine.ingest.pipeline import ingest
from lamina_engine.ingest.walk import SKIPPED_FOLDERS
from lamina_engine.reports import IngestReport, Problem

if TYPE_CHECKING:
    from lamina_engine.memory import Memory

SETTLED_S: Final = 0.2
"""Files are read once nothing has changed for so long."""
_MOST_SETTLED: Final = 10
"""Times that, after which they are read although changes go on."""
_LOOK_S: Final = 0.3
"""Seconds between two checks of the roots."""

_Identity = tuple[int, int]


def watch_roots(
    roots: Sequence[str],
    *,
    apart: Path | None = None,
    settled_s: float = SETTLED_S,
    look_s: float = _LOOK_S,
    stop: threading.Event | None = None,
) -> Iterator[Collection[str]]:
    """Yield the roots that changed, batch by batch; the first batch is all of them.

    ``apart`` is the vault, which may lie below a root and whose changes do not count; ``look_s`` is the time between two
    checks of the roots, after which an empty batch is yielded; ``stop`` ends it.
    """
    stop = threading.Event() if stop is None else stop
    return _watch(_watchfiles(), roots, apart, settled_s, look_s, stop)


def _watch(
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
        # reported with the next batch: new roots are watched by then
        changed |= {root for root in roots if known[root] != before[root]}


def _watchfiles() -> Any:
    try:
        return importlib.import_module("watchfiles")
    except ImportError as error:
        raise MissingExtra(f"following files needs watchfiles: {install_command('watch')}") from error


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
    """Yield the changed paths of each batch, none on a timeout; end if nothing can be watched."""
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
            "(fs.inotify.max_user_watches), or run ingest from time to time"
        ) from error


def _counts(path: str, root: str, apart: Path | None) -> bool:
    """Return whether a changed path may matter below a root: no part of it is always skipped."""
    changed = Path(path)
    if apart is not None and changed.is_relative_to(apart):
        return False
    if not changed.is_relative_to(root):
        return False
    parts = changed.relative_to(root).parts
    return not any(part.startswith(".") or part in SKIPPED_FOLDERS for part in parts)


_MOST_DOUBLED: Final = 6
"""A root that fails is tried again after 2, 4, … 64 looks, or at once when it changes."""
_PASSING: Final = {IngestError: "unreadable", EmbeddingError: "model", VaultLocked: "locked"}
"""Errors that may pass, and the code of the problem that reports each."""


@dataclass(slots=True)
class _Root:
    """State of one followed path."""

    waits: int | None = 0
    """Looks until it is read; None where it need not be."""
    failed: int = 0
    """Times in a row that it could not be read."""
    reported: frozenset[Problem] = frozenset()
    """Problems of its last run, which are not reported again."""

    def is_due(self, changed: bool) -> bool:
        """Count one check; return whether the root is to be read."""
        if changed:
            self.waits = 0
        elif self.waits:
            self.waits -= 1
        return self.waits == 0


def follow(
    memory: Memory,
    paths: Sequence[str],
    *,
    changes: Iterable[Collection[str]] | None = None,
    settled_s: float = SETTLED_S,
    stop: threading.Event | None = None,
    **options: Any,
) -> Iterator[IngestReport]:
    """Ingest paths, then their changes; yield a report for each path and later change.

    A deleted path leaves its chunks as they are, and is read again when it returns. Later reports come only where the vault
    changed or a new problem appeared. A path that cannot be read, a locked vault and a model that does not answer are
    problems (``unreadable``, ``locked``, ``model``) and tried again; in the first pass they are raised.
    """
    if "-" in paths or not paths:
        raise InvalidArgument("follow takes files and folders; standard input cannot be followed")
    if not 0.01 <= settled_s <= 60.0:
        raise InvalidArgument(f"settled_s={settled_s!r} must be seconds from 0.01 to 60")
    if changes is None:
        apart = Path(os.path.realpath(memory.root))
        changes = watch_roots(tuple(paths), apart=apart, settled_s=settled_s, stop=stop)
    return _follow(memory, {path: _Root() for path in paths}, changes, options)


def _follow(
    memory: Memory, roots: dict[str, _Root], changes: Iterable[Collection[str]], options: dict[str, Any]
) -> Iterator[IngestReport]:
    first = True
    for changed in changes:
        for path, root in roots.items():
            if not root.is_due(path in changed):
                continue
            try:
                report = ingest(memory, [path], **options)
                root.waits, root.failed = None, 0
            except (*_PASSING, EmbedderMismatch) as error:
                if first or isinstance(error, EmbedderMismatch):
                    raise
                report = _failure_report(path, root, error)
            if _is_news(report, root) or first:
                yield report
        first = False


def _failure_report(path: str, root: _Root, error: Exception) -> IngestReport:
    root.failed += 1
    root.waits = 2 ** min(root.failed, _MOST_DOUBLED)
    code = next(code for kind, code in _PASSING.items() if isinstance(error, kind))
    return IngestReport(skipped=1, problems=[Problem(path, code, f"{error}; will retry")])


def _is_news(report: IngestReport, root: _Root) -> bool:
    """Remove known problems from a report; return whether it still has something new."""
    met = frozenset(report.problems)
    report.problems = [problem for problem in report.problems if problem not in root.reported]
    root.reported = met
    return bool(report.chunks or report.moved or report.removed or report.updated or report.problems)

"""Ingest that goes on: files are read again as they change.

Whoever says what changed is an argument: the operating system (`lamina_engine.ingest.watching`) unless given. Whatever
changed below a folder, the whole folder is gone through again, as sizes and times say at once what must be read; so
moves and deletions are seen as in any other ingest.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lamina_engine.errors import EmbedderMismatch, EmbeddingError, IngestError, InvalidArgument, VaultLocked
from lamina_engine.ingest.drafts import Problem
from lamina_engine.ingest.pipeline import ingest
from lamina_engine.ingest.report import IngestReport
from lamina_engine.ingest.watching import SETTLED_S, watched

if TYPE_CHECKING:
    from lamina_engine.memory import Memory

_MOST_DOUBLED: Final = 6
"""A root that fails is tried again after 2, 4, … 64 looks, or at once when it changes."""
_PASSING: Final = {IngestError: "unreadable", EmbeddingError: "model", VaultLocked: "locked"}
"""What may be over by the next time, and the code of the problem that it is told as."""


@dataclass(slots=True)
class _Root:
    """One path that is followed."""

    waits: int | None = 0
    """Looks until it is read; None where it need not be."""
    failed: int = 0
    """Times in a row that it could not be read."""
    told: frozenset[Problem] = frozenset()
    """Problems of its last run, which are not told again."""

    def is_due(self, changed: bool) -> bool:
        """Take one look."""
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
    """Ingest some paths, then again what changes; yield what was done each time.

    Parameters
    ----------
    memory : Memory
    paths : sequence of str
        Folders and files. One that is deleted leaves its chunks as they are, and is read again when it comes back.
    changes : iterable of collection of str, optional
        Which of the paths changed, all of them at first; an empty collection is one look at which nothing had. The
        operating system's unless given.
    settled_s : float
        Seconds without a change after which files are read, 0.01 to 60.
    stop : Event, optional
        Ends it when set, within a look.
    **options
        Of `lamina_engine.ingest.pipeline.ingest`.

    Returns
    -------
    iterator of IngestReport
        One for each path of the first pass, and then of each that changed the vault or met a problem that was not told
        before. A path that cannot be read, a vault that another process holds and a model that does not answer are
        problems (``unreadable``, ``locked``, ``model``), and tried again.

    Raises
    ------
    InvalidArgument, IngestError, MissingExtra, EmbeddingError, VaultReadOnly, VaultLocked, OSError
        Of the first pass all; later only what cannot pass.

    Notes
    -----
    O(files of the roots that changed) for each batch of changes, and O(bytes) of files that changed.
    """
    if "-" in paths or not paths:
        raise InvalidArgument("follow takes files and folders; standard input cannot be followed")
    if not 0.01 <= settled_s <= 60.0:
        raise InvalidArgument(f"settled_s={settled_s!r} must be seconds from 0.01 to 60")
    if changes is None:
        apart = Path(os.path.realpath(memory.root))
        changes = watched(tuple(paths), apart=apart, settled_s=settled_s, stop=stop)
    return _followed(memory, {path: _Root() for path in paths}, changes, options)


def _followed(
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
                report = _failed(path, root, error)
            if _is_news(report, root) or first:
                yield report
        first = False


def _failed(path: str, root: _Root, error: Exception) -> IngestReport:
    root.failed += 1
    root.waits = 2 ** min(root.failed, _MOST_DOUBLED)
    code = next(code for kind, code in _PASSING.items() if isinstance(error, kind))
    return IngestReport(skipped=1, problems=[Problem(path, code, f"{error}; it is tried again")])


def _is_news(report: IngestReport, root: _Root) -> bool:
    """Tell whether a report says anything new, and leave only problems in it that were not told before."""
    met = frozenset(report.problems)
    report.problems = [problem for problem in report.problems if problem not in root.told]
    root.told = met
    return bool(report.chunks or report.moved or report.removed or report.updated or report.problems)

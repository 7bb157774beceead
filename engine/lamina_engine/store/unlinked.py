"""Changes of ingests that are not linked yet, noted in the commits that make them.

Links are made last, and an ingest may die before. Its files are known then, and the next ingest finds nothing new in them:
so each commit of an ingest says in the manifest what it leaves to be linked, and the pass that makes the links clears that.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from lamina_engine.store.transaction import Transaction

DOCUMENTS: Final = "documents"
RECORDS: Final = "records"
TASKS: Final = "tasks"
"""Kinds of what was changed: they are linked in different ways."""

KIND: ContextVar[str | None] = ContextVar("lamina_unlinked", default=None)
"""What this thread's commits change; None where no links follow, or their writer sees to them."""


@contextlib.contextmanager
def noting(kind: str | None) -> Iterator[None]:
    """Note what the commits within leave to be linked; None for nothing."""
    token = KIND.set(kind)
    try:
        yield
    finally:
        KIND.reset(token)


def noting_records() -> contextlib.AbstractContextManager[None]:
    """Note what the commits within leave as records, where anything is noted."""
    return noting(None if KIND.get() is None else RECORDS)


@contextlib.contextmanager
def counted(transaction: Transaction, kind: str) -> Iterator[None]:
    """Add what a transaction changes to what waits for links."""
    before = _rows(transaction)
    yield
    if changed := max(now - then for now, then in zip(_rows(transaction), before, strict=True)):
        waiting = transaction.snapshot.manifest.unlinked
        transaction.set_unlinked({**waiting, kind: waiting.get(kind, 0) + changed})


def _rows(transaction: Transaction) -> tuple[int, int]:
    """Return rows of chunks and of events; a new version of a chunk is one of each."""
    return transaction.rows("chunks"), transaction.rows("events")

"""Log writers: the one way from a batch to rows of a log.

Every write plans against the newest version under the writer lock, appends in one transaction, and syncs what is derived
of its log once that has been committed. Chunks, links and facts differ only in these three steps.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory
    from lamina_engine.store.transaction import Transaction

P = TypeVar("P")
"""Plan: rows to append, and what each does to the rows that are there."""
C = TypeVar("C")
"""Counts of added, updated and unchanged rows."""


class LogWriter(ABC, Generic[P, C]):
    """Batch writer of one log; checks that need no vault belong in the constructor."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    @abstractmethod
    def plan(self, view: View) -> P:
        """Compare the batch with the newest version; nothing has been appended if this raises."""

    @abstractmethod
    def append(self, transaction: Transaction, view: View, plan: P) -> C:
        """Append the rows of a plan."""

    def sync_index(self, counts: C) -> None:
        """Sync the indexes of the log, after the commit."""

    def append_to(self, transaction: Transaction, view: View) -> C:
        """Plan and append within a transaction of the caller, who also syncs."""
        return self.append(transaction, view, self.plan(view))

    def write(self) -> C:
        """Write the batch durably, all or nothing."""
        with self.memory.write() as (transaction, view):
            counts = self.append_to(transaction, view)
        self.sync_index(counts)
        return counts

"""Documents into Tantivy while the rows after them are still being analysed, and before the log is committed.

Tantivy works without the interpreter's lock, so on a second core it costs a bulk write nearly nothing. What was added is
seen only after `finish`, which the indexer calls when the log has been committed; a transaction that fails abandons it.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Final

from lamina_engine.index.lexical import LexicalIndex

_WAITING: Final = 16
"""Parts that may wait to be added: bounds the memory they take."""


class Ahead:
    """One append to a lexical index, on a thread of its own.

    Parameters
    ----------
    index : LexicalIndex
        Nobody else appends to it meanwhile.
    name : str
        Its folder's name.
    """

    def __init__(self, index: LexicalIndex, name: str) -> None:
        self.name = name
        self._appending = index.begin()
        self.next = self._appending.next
        """Row that the next document will have."""
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="lamina-lexical")
        self._added: list[Future[None]] = []

    def add(self, stems: Sequence[str], facets: Sequence[Sequence[str]], created_s: Sequence[int | None]) -> None:
        """Hand over rows; see `lamina_engine.index.lexical.LexicalIndex.append`. Waits where many wait already."""
        if len(self._added) >= _WAITING:
            wait(self._added[-_WAITING : 1 - _WAITING])
        self._added.append(self._pool.submit(self._appending.add, stems, facets, created_s))
        self.next += len(stems)

    def finish(self) -> Future[None]:
        """Begin to commit, and return at once; the future raises what went wrong, and nothing was added then."""
        future = self._pool.submit(self._finish)
        self._pool.shutdown(wait=False)
        return future

    def _finish(self) -> None:
        failed = [error for error in (added.exception() for added in self._added) if error is not None]
        if failed:
            self._appending.abandon()
            raise failed[0]
        self._appending.commit()

    def abandon(self) -> None:
        """Leave the index as it was; returns when the thread has ended."""
        for added in self._added:
            added.cancel()
        self._pool.submit(self._appending.abandon)
        self._pool.shutdown()

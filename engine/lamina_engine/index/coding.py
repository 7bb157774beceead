"""Vector codes made on a thread while the rows after them are being analysed and written.

Codes are a function of the log's prefix, so it does not matter when they are made: what is made early is taken over by
the write that ends a call, which codes what is left. FAISS works without the interpreter's lock.
"""

from __future__ import annotations

import logging
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

from lamina_engine.errors import LaminaError
from lamina_engine.index.quantised import QuantisedIndex, covered_rows, train_rows
from lamina_engine.index.vectors import VectorBlocks

logger = logging.getLogger(__name__)


class _Coded(NamedTuple):
    space: str
    rows: int
    """Rows that are coded, or will be."""
    future: Future[QuantisedIndex | None]


class Coding:
    """The codes of one vault's vectors, ahead of their being saved. For the writer's thread."""

    def __init__(self) -> None:
        self._coded: _Coded | None = None

    def begin(self, space: str, known: QuantisedIndex | None, blocks: VectorBlocks, rows: int, total: int) -> None:
        """Begin to code rows, and return at once.

        Parameters
        ----------
        space : str
            Where the vectors belong.
        known : QuantisedIndex, optional
            What was coded and saved before.
        blocks : VectorBlocks
            The vectors of ``rows`` rows; immutable.
        rows : int
            Rows of the log so far.
        total : int
            Rows that it is expected to have when the call ends: they choose the training prefix. Where that is not
            written yet, nothing begins; where another number of rows comes, the codes are made anew in the end.
        """
        before = self._coded if self._coded is not None and self._coded.space == space else None
        done = max(0 if known is None else known.rows, 0 if before is None else before.rows)
        if rows < max(train_rows(total), 1) or covered_rows(rows) <= done:
            return

        def code() -> QuantisedIndex | None:
            made = None if before is None else before.future.result()
            base = made if made is not None and made.rows == done else known
            if base is None:
                return QuantisedIndex.build(blocks, rows, total=total)
            return base.extend(blocks, rows, total=total)

        pool = ThreadPoolExecutor(1, thread_name_prefix="lamina-codes")
        self._coded = _Coded(space, covered_rows(rows), pool.submit(code))
        pool.shutdown(wait=False)

    def take(self, space: str) -> QuantisedIndex | None:
        """Wait for what was begun, and return it; None where there is nothing of this space."""
        coded, self._coded = self._coded, None
        if coded is None or coded.space != space:
            return None
        try:
            return coded.future.result()
        except (LaminaError, OSError, RuntimeError, ValueError) as error:
            logger.warning("vector codes made ahead are lost (%s) and are made again", error)
            return None

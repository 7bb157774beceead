"""The words of facts for their full text: hashes of stems, row by row, of whole stretches of the log.

Many rows go through the kernels of bulk analysis, which take a second to load: more than some thousand short texts take
without them. A row has the same words either way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from lamina_engine.facts.wordlists import packed
from lamina_kernels._jit import is_ready
from lamina_kernels.counting import count_keys, expand_rows

if TYPE_CHECKING:
    from lamina_engine.facts.book import Book
    from lamina_engine.facts.wordlists import U64
    from lamina_engine.index.analysis import Analyzer

_BULK_ROWS: Final = 65_536
"""Rows to be indexed from which on it pays to load the kernels."""
_FEW_ROWS: Final = 2_047
"""Rows analysed at a time where they are not to be loaded; see `lamina_engine.index.terms.build_term_rows`."""
_AT_ONCE: Final = 65_536


def entries_of(analyzer: Analyzer, book: Book, start: int, stop: int) -> U64:
    """Return uint64 (m,): the words of the facts in a range of rows, as `lamina_engine.facts.wordlists` packs them.

    Parameters
    ----------
    analyzer : Analyzer
    book : Book
    start, stop : int
        Rows that are no facts have no words.
    """
    bulk = stop - start >= _BULK_ROWS or (is_ready(count_keys) and is_ready(expand_rows))
    step = _AT_ONCE if bulk else _FEW_ROWS
    parts = [_entries(analyzer, book, at, min(at + step, stop)) for at in range(start, stop, step)]
    return np.concatenate([np.empty(0, np.uint64), *parts])


def _entries(analyzer: Analyzer, book: Book, start: int, stop: int) -> U64:
    from lamina_engine.index.terms import build_term_rows

    found = book.texts(start, stop)
    said = [f"{subject} {predicate} {object}".replace("_", " ") for _, subject, predicate, object in found]
    none = [""] * len(said)
    terms = build_term_rows(said, none, none, analyzer=analyzer)[0]
    rows = np.repeat(np.fromiter((row for row, *_ in found), np.int64, len(found)), np.diff(terms.indptr))
    return packed(terms.hashes, rows, book.tables.target.values[rows] >= 0)

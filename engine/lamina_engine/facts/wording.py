"""The words of facts for their full text: stems of whole blocks of rows.

Many rows go through the kernels of bulk analysis, which take a second to load: more than some thousand short texts take
without them. A row has the same stems either way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lamina_kernels._jit import is_ready
from lamina_kernels.counting import count_keys, expand_rows

if TYPE_CHECKING:
    from lamina_engine.facts.book import Book
    from lamina_engine.index.analysis import Analyzer

_BULK_ROWS: Final = 65_536
"""Rows to be indexed from which on it pays to load the kernels."""


def stems_of(analyzer: Analyzer, book: Book, start: int, stop: int, *, waiting: int) -> list[str]:
    """Return the stems of the facts in a range of rows, joined by spaces; "" for rows that are no facts.

    Parameters
    ----------
    analyzer : Analyzer
    book : Book
    start, stop : int
    waiting : int
        How many rows are to be indexed in all.
    """
    found = book.texts(start, stop)
    said = [f"{subject} {predicate} {object}".replace("_", " ") for _, subject, predicate, object in found]
    bulk = waiting >= _BULK_ROWS or (is_ready(count_keys) and is_ready(expand_rows))
    out = [""] * (stop - start)
    for (row, *_), stems in zip(found, (_in_bulk if bulk else _by_piece)(analyzer, said), strict=True):
        out[row - start] = stems
    return out


def _in_bulk(analyzer: Analyzer, said: list[str]) -> list[str]:
    from lamina_engine.index.terms import build_term_rows

    none = [""] * len(said)
    return [stems.rstrip() for stems in build_term_rows(said, none, none, analyzer=analyzer)[1]]


def _by_piece(analyzer: Analyzer, said: list[str]) -> list[str]:
    cut = [text.split() for text in said]
    fresh = list(dict.fromkeys(piece for pieces in cut for piece in pieces))
    table = analyzer.pieces()
    known = {piece: table.stems[number] for piece, number in zip(fresh, table.numbers(fresh), strict=True)}
    return [" ".join(filter(None, map(known.__getitem__, pieces))) for pieces in cut]

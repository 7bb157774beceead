"""Stems of facts: in bulk and piece by piece, and of rows that are no facts."""

from __future__ import annotations

import pytest

from lamina_engine.facts import wording
from lamina_engine.facts.book import book_at
from lamina_engine.facts.log import Draft, close, write
from lamina_engine.index.analysis import Analyzer
from lamina_engine.memory import Memory

SAID = ("running ports", "東京 tower", "C++ and C#", "1,234.5", "naïve café", "x_y_z", "!!!", "  tabs\tand\nlines ")


@pytest.mark.parametrize("rows", [1, 2, 70])
def test_stems_are_the_same_in_bulk(memory: Memory, rows: int) -> None:
    write(
        memory, [Draft(f"Ann {at % 9}", "notes_on", f"{at} {SAID[at % len(SAID)]}") for at in range(rows)], index=False
    )
    close(memory, "Ann 0", "notes_on")
    book = book_at(memory)
    said = [" ".join(text[1:]).replace("_", " ") for text in book.texts(0, book.facts)]
    ref, got = wording._by_piece(Analyzer(), said), wording._in_bulk(Analyzer(), said)
    assert len(said) == rows
    assert got == ref
    assert wording.stems_of(Analyzer(), book, 0, book.facts, waiting=rows) == [*ref, *[""] * (book.facts - rows)]


def test_stems_of_nothing(memory: Memory) -> None:
    assert wording.stems_of(Analyzer(), book_at(memory), 0, 0, waiting=0) == []
    write(memory, [Draft("Ann", "uses", "Vim")], index=False)
    assert book_at(memory).texts(2, 1) == book_at(memory).texts(1, 9) == []
    assert wording._in_bulk(Analyzer(), []) == wording._by_piece(Analyzer(), []) == []

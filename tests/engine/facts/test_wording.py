"""The words of facts: many rows at once and few, and of rows that are no facts."""

from __future__ import annotations

import pytest

from lamina_engine.facts import wording
from lamina_engine.facts.book import book_at
from lamina_engine.facts.log import Draft, close, write
from lamina_engine.facts.wordlists import made, word_key
from lamina_engine.index.analysis import Analyzer, term_hash
from lamina_engine.memory import Memory

SAID = ("running ports", "東京 tower", "C++ and C#", "1,234.5", "naïve café", "x_y_z", "!!!", "  tabs\tand\nlines ")


def words_by_row(memory: Memory) -> dict[int, set[str]]:
    """The stems of each fact, analysed one by one."""
    book, analyzer = book_at(memory), Analyzer()
    return {
        row: {term.stem for term in analyzer.tokens(" ".join(said).replace("_", " "))}
        for row, *said in book.texts(0, book.facts)
    }


@pytest.mark.parametrize("rows", [1, 2, 70])
@pytest.mark.parametrize("at_once", [3, 2_047])
def test_rows_by_their_stems(memory: Memory, rows: int, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wording, "_FEW_ROWS", at_once)
    write(
        memory, [Draft(f"Ann {at % 9}", "notes_on", f"{at} {SAID[at % len(SAID)]}") for at in range(rows)], index=False
    )
    close(memory, "Ann 0", "notes_on")
    book = book_at(memory)
    words = made(0, book.facts, wording.entries_of(Analyzer(), book, 0, book.facts))
    ref = words_by_row(memory)
    assert len(ref) == rows < book.facts
    for stem in set().union(*ref.values()):
        got = words.of(word_key(term_hash(stem), relation=False)).tolist()
        assert got == [row for row, stems in ref.items() if stem in stems], stem


def test_many_rows_have_the_words_of_few(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    drafts = [Draft(f"Ann {at % 9}", "notes_on", f"{at} {SAID[at % len(SAID)]}") for at in range(70)]
    write(memory, [*drafts, Draft("Ann 1", "uses", "Vim", kind="entity")], index=False)
    book = book_at(memory)
    ref = wording.entries_of(Analyzer(), book, 0, book.facts)
    monkeypatch.setattr(wording, "_BULK_ROWS", 1)
    got = wording.entries_of(Analyzer(), book, 0, book.facts)
    assert sorted(got.tolist()) == sorted(ref.tolist())
    relations = made(0, book.facts, got).of(word_key(term_hash("vim"), relation=True))
    assert relations.tolist() == [book.facts - 1]


def test_words_of_nothing(memory: Memory) -> None:
    assert wording.entries_of(Analyzer(), book_at(memory), 0, 0).tolist() == []
    write(memory, [Draft("Ann", "uses", "Vim")], index=False)
    assert book_at(memory).texts(2, 1) == book_at(memory).texts(1, 9) == []
    assert wording.entries_of(Analyzer(), book_at(memory), 1, 9).tolist() == []

"""Words of the forward pass, handed on to the text index."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import lamina
from lamina import FixedClock
from lamina_engine.index import log_analysis, terms, textbuilder
from lamina_engine.index.analysis import Analyzer
from lamina_engine.index.log_analysis import BodyWords, analyse_rows
from lamina_engine.index.tables import Tables
from lamina_engine.index.terms import build_term_rows, build_zones, surface_texts
from lamina_engine.index.textindex import encodable
from lamina_engine.index.zones import make_zones, zones_of
from lamina_engine.store.snapshot import Snapshot
from tests.conftest import NOW

TEXTS = [
    "Running fooBar v1.2.3 1,000 naïve 数据库",
    "see [the notes](notes/2024.md) and [more](https://example.org/a)",
    "La mémoire de la maison est dans les livres que nous avons lus",
    "lone \ud800 half, C++ and x_y",
    "",
    "a" * 70 + " beta" * 40,
] * 20


@pytest.fixture
def snapshot(tmp_path: Path) -> Snapshot:
    with lamina.open(tmp_path / "vault", create=True, clock=FixedClock(NOW), embedder="none") as vault:
        vault.add([{"text": encodable(f"{text} {i}"), "title": f"Title {i} of fooBar"} for i, text in enumerate(TEXTS)])
        return vault._memory.view().snapshot


@pytest.mark.parametrize("bulk", [1, 1 << 60])
def test_words_beside_forward_lists_are_those_of_the_bodies(bulk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terms, "_BULK_ROWS", bulk)
    monkeypatch.setattr(terms, "_BULK_ROWS_READY", bulk)
    monkeypatch.setattr(terms, "_BATCH_ROWS", 7)
    texts = make_zones(TEXTS, [], []).bodies
    words: list[str] = []
    got = build_term_rows(texts, texts[::-1], texts, words=words)
    assert words == surface_texts(texts, analyzer=Analyzer())
    assert words == surface_texts([encodable(text) for text in texts], analyzer=Analyzer())  # as the text index asks
    ref = build_term_rows(texts, texts[::-1], texts)
    assert [array.tobytes() for array in got] == [array.tobytes() for array in ref]


def documents(snapshot: Snapshot, kept: BodyWords, start: int) -> list[tuple[str, str]]:
    """Return the words of title and text of each row, as the text index gets them."""
    tables, stop = Tables(Path("nowhere")), snapshot.rows("chunks")
    batches = textbuilder._documents(tables, snapshot, start, stop, lambda: False, kept, lambda _: None)
    return [pair for batch in batches for pair in zip(batch.titles, batch.words, strict=True)]


@pytest.mark.parametrize(("size", "most", "start"), [(7, 1 << 27, 0), (64, 1 << 27, 5), (16, 300, 0), (16, 0, 3)])
def test_the_text_index_gets_the_same_words_however_many_were_kept(
    snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch, size: int, most: int, start: int
) -> None:
    monkeypatch.setattr(log_analysis, "_AT_ONCE", size)
    monkeypatch.setattr(log_analysis, "_MOST_CHARS", most)
    monkeypatch.setattr(textbuilder, "_AT_ONCE", 10)
    ref = documents(snapshot, BodyWords(), start)
    kept = BodyWords()
    got = analyse_rows(snapshot, 0, snapshot.rows("chunks"), [Analyzer(), Analyzer()], kept)
    assert documents(snapshot, kept, start) == ref
    assert [array.tobytes() for array in got] == [
        array.tobytes() for array in build_zones(zones_of(snapshot, 0, snapshot.rows("chunks")))
    ]


def test_words_are_cut_where_a_part_ends() -> None:
    kept = BodyWords()
    kept.put(4, ["e", "f", "g", "h"])
    assert kept.take(0, 4) == []
    assert kept.take(5, 7) == ["f", "g"]
    assert kept.take(4, 8) == []  # taken once
    assert kept.take(7, 20) == ["h"]
    assert kept.take(7, 20) == []


def test_in_step_each_waits_for_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_analysis, "_MOST_CHARS", 3)
    kept, found = BodyWords(in_step=True), list[str | None]()

    def take() -> None:
        for row in range(50):
            found.extend(kept.take(row, row + 1))

    taker = threading.Thread(target=take)
    taker.start()
    for row in range(0, 50, 2):
        kept.put(row, ["ab", "cd"])
        assert kept._chars <= 3 + 4
    taker.join()
    assert found == ["ab", "cd"] * 25


@pytest.mark.parametrize("waiting", ["take", "put"])
def test_nobody_waits_for_who_has_ended(monkeypatch: pytest.MonkeyPatch, waiting: str) -> None:
    monkeypatch.setattr(log_analysis, "_MOST_CHARS", 3)
    kept = BodyWords(in_step=True)
    if waiting == "put":
        kept.put(0, ["full"])
    work = (lambda: kept.take(8, 9)) if waiting == "take" else (lambda: kept.put(1, ["more"]))
    waiter = threading.Thread(target=work)
    waiter.start()
    waiter.join(0.05)
    assert waiter.is_alive()
    kept.stop_waiting()
    waiter.join(5.0)
    assert not waiter.is_alive()
    assert kept.take(1, 2) == []

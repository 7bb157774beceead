from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import lamina
from lamina import FixedClock, Vault
from lamina_engine.clock import parse_instant
from lamina_engine.index.indexer import UNFILED_ROWS
from lamina_engine.index.terms import build_term_rows, open_terms
from lamina_engine.index.zones import WINDOW_WORDS, body, context, date_words, file_names, header, zones_of
from tests.conftest import NOW
from tests.engine.recall.corpus import records


@pytest.mark.parametrize(
    ("us", "ref"),
    [
        (None, ""), (0, "1 January 1970"), (-1, "31 December 1969"), (parse_instant("2023-05-08T23:59:59Z"), "8 May 2023"),
        (-(10**18), ""), (2**62, ""), (parse_instant("9999-12-31"), "31 December 9999"), (parse_instant("0001-01-01"), "1 January 1"),
    ],
)  # fmt: skip
def test_dates_are_said_as_a_question_would(us: int | None, ref: str) -> None:
    assert date_words(us) == ref


def test_a_header_is_all_that_a_chunk_is_filed_under() -> None:
    assert header("T", ["A", "B"], ["x"], 0) == "T\nA\nB\nx\n1 January 1970"
    assert header(None, None, None, None) == ""


def test_a_part_of_a_file_is_filed_under_the_files_name() -> None:
    sources = ["a/kombucha.md", "on-call_notes.md", "Week Plan.md", None, "table.csv"]
    titles = ["Fermentation", "Notes", "The week plan", "T", None]
    assert file_names(sources, [0, 9, 0, 0, -1], titles) == ["kombucha", "on call", "", "", ""]
    assert header("Fermentation", [], [], None, "kombucha") == "Fermentation\nkombucha"


def test_a_note_is_found_by_the_name_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "kombucha.md").write_text("# Fermentation\n\nFeed the culture weekly.\n")
    (tmp_path / "bread.md").write_text("# Sourdough\n\nFold it four times.\n")
    with lamina.open(tmp_path / "vault", create=True, clock=FixedClock(NOW)) as vault:
        vault.ingest(tmp_path / "kombucha.md")
        vault.ingest(tmp_path / "bread.md")
        hits = vault.recall("kombucha")
        assert hits[0].title == "Fermentation"
        assert hits.confidence > 0.6
        vault.reindex()
        assert vault.recall("kombucha")[0].terms == hits[0].terms


def test_addresses_of_local_links_are_not_words() -> None:
    assert (
        body("see [a b](notes/a-b.md) and [c](https://x.y/z) and [d](mailto:x)")
        == "see [a b] and [c](https://x.y/z) and [d](mailto:x)"
    )
    assert body("plain (text)") == "plain (text)"


CHAIN = {2: ("one two three", 1), 1: ("four five", 0), 0: ("six", -1)}


@pytest.mark.parametrize(
    ("text", "previous", "window", "ref"),
    [
        ("a", -1, 9, ""),
        ("a", 2, 1, ""),
        ("a", 2, 2, "three"),
        ("a", 2, 4, "one two three"),
        ("a", 2, 5, "five\none two three"),
        ("a b", 2, 99, "six\nfour five\none two three"),
        ("a b c d", 2, 4, ""),
        ("x" * 25, 2, 2, ""),
    ],
)
def test_a_short_chunk_borrows_the_words_before_it(text: str, previous: int, window: int, ref: str) -> None:
    assert context(text, previous, CHAIN.__getitem__, window) == ref


def test_a_window_looks_back_a_bounded_number_of_chunks() -> None:
    got = context("a", 99, lambda row: (f"w{row}", row - 1))
    assert got.split() == [f"w{row}" for row in range(92, 100)]
    assert len(context("a", 99, lambda row: ("w " * 50, row - 1)).split()) == WINDOW_WORDS - 1


def assert_equal_rows(got: object, ref: object) -> None:
    for name, value in ref._asdict().items():  # type: ignore[attr-defined]
        assert np.array_equal(getattr(got, name), value), name


def test_the_log_alone_gives_the_zones_that_were_staged(tmp_path: Path) -> None:
    clock = FixedClock(NOW)
    with lamina.open(tmp_path / "vault", create=True, clock=clock, embedder="none") as vault:
        given = records(90)
        for start, stop in ((0, 1), (1, 40), (40, 90)):
            vault.add(given[start:stop])
        ids = [chunk.id for chunk in vault.list(limit=None)]
        vault.update(ids[3], text="another text [with](a/link.md)")
        vault.add(given[7] | {"text": "superseding", "id": ids[9], "session": "s1"})
        snapshot = vault._memory.view().snapshot
        rows = snapshot.rows("chunks")
        zones = zones_of(snapshot, 0, rows)
        assert any(zones.contexts)
        for segment in snapshot.segments("chunks"):
            file = vault.path / "index" / "terms" / (segment.ref.name.removesuffix(".arrow") + ".terms")
            part = (z[segment.start : segment.start + segment.rows] for z in zones[:3])
            ref = build_term_rows(*part)
            assert_equal_rows(vault._memory.tables.terms(snapshot, segment), ref)
            if segment.rows >= UNFILED_ROWS:
                assert_equal_rows(open_terms(file, verify=True), ref)
        at = 33  # zones of some rows are the same however they are asked for
        assert [*zones_of(snapshot, 0, at).contexts, *zones_of(snapshot, at, rows).contexts] == zones.contexts


def test_words_of_date_title_tags_and_context_find_a_chunk(lexical_vault: Vault) -> None:
    lexical_vault.add([{"text": "Where do backups live?", "id": "q", "session": "s"}])
    lexical_vault.add("In Frankfurt.", id="a", session="s", title="Storage", tags=["infra"], created_at="2023-05-08")
    for query in ("8 May 2023", "storage", "infra", "backups", "frankfurt"):
        assert "a" in {hit.id for hit in lexical_vault.recall(query)}

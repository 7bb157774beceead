"""Bulk analysis gives what the analysis of one piece at a time gives."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lamina_engine.index import terms, wordtable
from lamina_engine.index.analysis import Analyzer, language_mark
from lamina_engine.index.terms import build_term_rows, surface_texts
from lamina_engine.index.wordtable import WordTable
from lamina_kernels import _jit
from lamina_kernels.layouts import TermRows


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    for kernel in (*wordtable.KERNELS, *wordtable.FORM_KERNELS):
        kernel.warm()


NOTES = Path(__file__).parents[4] / "shared" / "data" / "notes-vault" / "til.bundle"
PARTS = st.lists(
    st.sampled_from(
        [
            *"aTXbQ19_.-'+#,(/=<`é数²ﬁ－ \n",
            *(
                "ing",
                "running",
                "HTTP",
                "Server",
                "IDs",
                "23",
                "000",
                "'s",
                "'S",
                "n't",
                "'ll",
                "'d",
                "++",
                "v1.2",
                "V10",
            ),
            *("a" * 60, "B" * 65, "a.b.c.d.e", "1,000,000", "x1y2", "__", "_.", "_-"),
        ]
    ),
    max_size=14,
).map("".join)


def same(texts: list[str], headers: list[str] | None = None) -> None:
    """Compare bulk analysis with the slow one, row by row."""
    rest = headers or [""] * len(texts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(terms, "_BULK_ROWS", 1 << 60)
        patch.setattr(terms, "_BULK_ROWS_READY", 1 << 60)
        ref = build_term_rows(texts, rest, texts[::-1])
        ref_surfaces = surface_texts(texts, analyzer=Analyzer())
        patch.setattr(terms, "_BULK_ROWS", 1)
        patch.setattr(terms, "_BULK_ROWS_READY", 1)
        got = build_term_rows(texts, rest, texts[::-1])
        surfaces = surface_texts(texts, analyzer=Analyzer())
    assert_same(got, ref)
    assert surfaces == ref_surfaces
    tokens = Analyzer().tokens
    assert surfaces == [" ".join(term.surface for term in tokens(text)) for text in texts]


def assert_same(got: TermRows, ref: TermRows) -> None:
    for left, right in zip(map(np.asarray, got), map(np.asarray, ref), strict=True):
        assert left.dtype == right.dtype
        np.testing.assert_array_equal(left, right)


@settings(deadline=None, max_examples=300)
@given(st.lists(PARTS, min_size=1, max_size=6))
@example(["don't can't we'll x'd a'b's it'S 'tis rock'n'roll"])
@example(["C++ C# F#x c++x ab++ abc++ a.b++ a.b.c.d.e++ x#y a+b"])
@example(["v1.2.3 V1.2 v1 1.2rc1 1.2.x a1.2 1.2# 10.0.0.1 .5 5. 1..2"])
@example(["HTTPServer2 IDs IDsX XMLHttp fooBAR FooBar aB AB A x1y2z3 550e8400f00d"])
@example(["1,000 1,000,000 1,0000 12,34 ,123 1,234,56 0,123x"])
@example(["foo_bar foo__bar _foo foo_ foo_.bar foo._bar a-b_c.d a.b.c.d a.b.c.d.e fooBar.bazQux.a_b"])
def test_identifiers(texts: list[str]) -> None:
    same(texts)


@settings(deadline=None, max_examples=300)
@given(st.lists(st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=40), min_size=1, max_size=6))
def test_any_ascii(texts: list[str]) -> None:
    same(texts)


@settings(deadline=None, max_examples=150)
@given(st.lists(st.text(st.characters(), max_size=20), min_size=1, max_size=6))
def test_any_text_with_lone_surrogates_too(texts: list[str]) -> None:
    same(texts, headers=texts)


@pytest.mark.parametrize("size", [63, 64, 65, 66, 200])
def test_long_pieces_are_cut_alike(size: int) -> None:
    same(["a" * size, "Ab1." * (size // 4), "é" * size, "x_" * size])


def test_a_growing_table_keeps_its_numbers() -> None:
    texts = [" ".join(f"word{i}x{j} {i * 37 + j}" for j in range(40)) for i in range(120)]
    same(texts)
    same([*texts, "z" * 200_000, *texts])


def test_texts_in_other_languages_are_counted_alike() -> None:
    texts = [
        "Wir haben die Datei nicht gefunden, weil der Pfad falsch war; die Häuser sind größer als fooBar_baz 12,000.",
        "Il n'est pas dans le fichier, c'est l'histoire d'une fonction avec les données \ud800",
        "The file was not found because its path is wrong.",
        "",
    ] * 3
    same(texts, headers=["Über die Datei und das Programm " + "x" * 90, "数据", "", ""] * 3)
    marks = {np.uint32(language_mark(language)) for language in ("german", "french")}
    assert marks <= set(build_term_rows(texts, texts, texts).hashes)


def test_batches_cut_by_their_size_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["some words of a row", "x" * 90, "", "and others"] * 3
    ref = build_term_rows(texts, texts, texts)
    monkeypatch.setattr(terms, "_BULK_ROWS", 1)
    monkeypatch.setattr(terms, "_BULK_ROWS_READY", 1)
    for chars in (1, 50, 10_000):
        monkeypatch.setattr(terms, "_BATCH_CHARS", chars)
        assert_same(build_term_rows(texts, texts, texts), ref)


def test_memory_is_bounded_by_starting_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wordtable, "_BYTES_LIMIT", 100)
    analyzer = Analyzer()
    first = analyzer.table()
    build(first, "short")
    assert analyzer.table() is first
    build(first, " ".join(f"word{i}" for i in range(40)))
    assert analyzer.table() is not first


def build(table: WordTable, text: str) -> None:
    data = np.frombuffer(text.encode(), np.uint8)
    table.occurrences(data, np.array([0, data.size, data.size, data.size]))


@pytest.mark.skipif(not NOTES.exists(), reason="the notes vault is not on this machine")
def test_real_notes(tmp_path: Path) -> None:
    subprocess.run(["git", "clone", "-q", str(NOTES), str(tmp_path / "til")], check=True, capture_output=True)
    texts = [path.read_text("utf-8", "replace") for path in sorted(tmp_path.rglob("*.md"))]
    assert len(texts) > 100
    same(texts)


def test_words_learned_before_the_kernels_are_compiled_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["fooBar snake_case v1.2 the running cats", "日本語 naïve src/foo/bar.py HTTPServer2", "", "cats ran"] * 3
    zones = (texts, [""] * len(texts), [""] * len(texts))
    ref = build_term_rows(*zones)
    monkeypatch.setattr(terms, "_BULK_ROWS", 1)
    monkeypatch.setattr(terms, "_BULK_ROWS_READY", 1)
    ready = [False]
    monkeypatch.setattr(WordTable, "_forms_ready", lambda _: ready[0])
    analyzer = Analyzer()
    for state in (False, True, False):
        ready[0] = state
        got = build_term_rows(*zones, analyzer=analyzer)
        assert_same(got, ref)


def test_what_was_compiled_before_is_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert _jit.compiled_before(wordtable.KERNELS)
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
    fresh = _jit.Kernel(lambda _: None, (), frozenset())
    monkeypatch.setattr(_jit, "_cache_folder", lambda: tmp_path)
    assert not _jit.compiled_before([fresh])
    monkeypatch.setattr(_jit, "_cache_folder", lambda: None)
    assert not _jit.compiled_before([fresh])

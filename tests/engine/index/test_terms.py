from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina_engine.errors import InvalidArgument
from lamina_engine.index import terms as terms_module
from lamina_engine.index.analysis import Analyzer, surface_hash, term_hash
from lamina_engine.index.terms import (
    TermsDamaged,
    build_term_rows,
    concat_terms,
    copy_terms,
    open_terms,
    slice_terms,
    surface_texts,
    write_terms,
)
from lamina_kernels.layouts import TermRows

WORDS = ("the", "running", "foo_bar", "数据库", "naïve", "v1.2.3", "Caroline's", "a\u00a0b", "x" * 70, "10,000", "🎉")
TEXTS = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)


def rows_of(*texts: str) -> TermRows:
    return build_term_rows(texts, [""] * len(texts), [""] * len(texts))


def assert_same(got: TermRows, ref: TermRows) -> None:
    for left, right in zip(map(np.asarray, got), map(np.asarray, ref), strict=True):
        assert left.dtype == right.dtype
        np.testing.assert_array_equal(left, right)


def oracle(zones: tuple[str, str, str]) -> tuple[dict[int, list[int]], list[int]]:
    """Counts by hash and zone lengths of one row, term by term."""
    counts: dict[int, list[int]] = {}
    lengths = [0, 0, 0]
    for zone, text in enumerate(zones):
        for term in Analyzer().tokens(text):
            hashes = [term_hash(term.stem)] + [surface_hash(term.surface)] * (term.surface != term.stem)
            for key in hashes:
                counts.setdefault(key, [0, 0, 0])[zone] += 1
            lengths[zone] += 1
    return counts, lengths


@settings(deadline=None, max_examples=25)
@given(st.lists(st.tuples(TEXTS, TEXTS, TEXTS), max_size=5))
def test_forward_lists_are_the_counted_terms(rows: list[tuple[str, str, str]]) -> None:
    got = build_term_rows([r[0] for r in rows], [r[1] for r in rows], [r[2] for r in rows])
    assert got.indptr.size == len(rows) + 1
    for i, zones in enumerate(rows):
        counts, lengths = oracle(zones)
        entries = slice(int(got.indptr[i]), int(got.indptr[i + 1]))
        assert got.hashes[entries].tolist() == sorted(counts)
        columns = (got.body[entries], got.header[entries], got.context[entries])
        assert np.array(columns).T.tolist() == [counts[key] for key in sorted(counts)]
        assert got.lengths[i].tolist() == lengths


@settings(deadline=None, max_examples=25)
@given(st.lists(st.tuples(TEXTS, TEXTS, TEXTS), max_size=5))
def test_a_few_pieces_counted_one_by_one_give_what_the_arrays_give(rows: list[tuple[str, str, str]]) -> None:
    zones = [[row[zone] for row in rows] for zone in range(3)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(terms_module, "_FEW_PIECES", -1)
        ref = build_term_rows(*zones)
        patch.setattr(terms_module, "_FEW_PIECES", 1 << 30)
        got = build_term_rows(*zones)
    assert_same(got, ref)


def test_a_copy_holds_nothing_of_what_it_was_cut_from() -> None:
    whole = build_term_rows(["red green", "blue"] * 3, [""] * 6, [""] * 6)
    part = slice_terms(whole, 1, 3)
    got = copy_terms(part)
    assert_same(got, part)
    assert not any(np.shares_memory(left, right) for left, right in zip(got, whole, strict=True))


@settings(deadline=None, max_examples=25)
@given(st.lists(TEXTS, min_size=1, max_size=8), st.integers(1, 8))
def test_arrow_and_python_and_any_batching_give_the_same(texts: list[str], size: int) -> None:
    empty = [""] * len(texts)
    ref = build_term_rows(texts, texts[::-1], empty)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(terms_module, "_BULK_ROWS", 1)
        patch.setattr(terms_module, "_BULK_ROWS_READY", 1)
        patch.setattr(terms_module, "_BATCH_ROWS", size)
        got = build_term_rows(texts, texts[::-1], empty)
    assert_same(got, ref)


def test_lone_surrogates_and_many_rows_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terms_module, "_BULK_ROWS", 300)
    texts = ["running \ud800 text"] * 300
    got = build_term_rows(texts, [""] * 300, [""] * 300)
    assert got.lengths.tolist() == [[2, 0, 0]] * 300
    assert surface_texts(texts, analyzer=Analyzer()) == ["running text"] * 300


def test_rows_of_earlier_batches_count_for_the_cost_of_loading_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of notes comes in batches of some hundred rows."""
    bulk: list[int] = []

    def at_hand(rows: int) -> bool:
        bulk.append(rows)
        return True

    monkeypatch.setattr(terms_module, "_kernels_ready", lambda: False)
    monkeypatch.setattr(terms_module, "_kernels_at_hand", at_hand)
    analyzer = Analyzer()
    texts = [f"row {i} is running" for i in range(terms_module._BULK_ROWS // 4)]
    for _ in range(5):
        got = build_term_rows(texts, texts, texts, analyzer=analyzer)
        assert_same(got, build_term_rows(texts, texts, texts))
    assert bulk == [terms_module._BULK_ROWS, terms_module._BULK_ROWS * 5 // 4]
    build_term_rows(texts[:9], texts[:9], texts[:9], analyzer=analyzer)
    assert len(bulk) == 2


def test_counts_and_lengths_saturate() -> None:
    got = rows_of("a " * 70_000)
    assert got.body.tolist() == [255]
    assert got.lengths.tolist() == [[65_535, 0, 0]]


def test_a_full_memory_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"word{i % 7} running{i}" for i in range(40)]
    ref = rows_of(*texts)
    monkeypatch.setattr("lamina_engine.index.analysis._MEMO_LIMIT", 3)
    monkeypatch.setattr("lamina_engine.index.wordtable._PIECES_LIMIT", 3)
    monkeypatch.setattr(terms_module, "_BATCH_ROWS", 2)
    assert_same(rows_of(*texts), ref)
    monkeypatch.setattr(terms_module, "_BULK_ROWS", 1)
    monkeypatch.setattr(terms_module, "_BULK_ROWS_READY", 1)
    assert_same(rows_of(*texts), ref)


@pytest.mark.parametrize("texts", [(), ("",), ("one two", ""), ("one", "two 数据", "three")])
def test_a_written_file_reads_back_the_same_and_read_only(tmp_path: Path, texts: tuple[str, ...]) -> None:
    ref = rows_of(*texts)
    write_terms(tmp_path / "t", ref)
    got = open_terms(tmp_path / "t", verify=True)
    assert_same(got, ref)
    assert not got.indptr.flags.writeable
    assert [path.name for path in tmp_path.iterdir()] == ["t"]
    assert (tmp_path / "t").stat().st_size % 64 == 0


def test_small_files_are_read_whole_and_need_no_flush(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_terms(tmp_path / "t", rows_of("one two", "three"))
    raw = bytearray((tmp_path / "t").read_bytes())
    raw[-70] ^= 0x10  # in the payload, which a size alone does not tell
    (tmp_path / "t").write_bytes(raw)
    with pytest.raises(TermsDamaged, match="log"):
        open_terms(tmp_path / "t", verify=False)
    monkeypatch.setattr(terms_module, "CHECKED_BYTES", 0)
    open_terms(tmp_path / "t", verify=False)


@pytest.mark.parametrize("at", [0, 40, 130, -70, -1])
def test_a_flipped_bit_is_noticed(tmp_path: Path, at: int) -> None:
    path = tmp_path / "t"
    write_terms(path, rows_of("one two", "three"))
    raw = bytearray(path.read_bytes())
    raw[at] ^= 0x10
    path.write_bytes(raw)
    with pytest.raises(TermsDamaged, match="log"):
        open_terms(path, verify=True)


def test_a_torn_file_is_noticed_without_reading_it(tmp_path: Path) -> None:
    path = tmp_path / "t"
    write_terms(path, rows_of("one two", "three"))
    whole = path.read_bytes()
    for size in (0, 100, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(TermsDamaged, match="log"):
            open_terms(path, verify=False)


def test_offsets_that_lead_outside_are_noticed_without_reading_everything(tmp_path: Path) -> None:
    path = tmp_path / "t"
    write_terms(path, rows_of("one two", "three"))
    whole = bytearray(path.read_bytes())
    start = terms_module._SEAL.header_bytes
    whole[start + 8 : start + 16] = (10**9).to_bytes(8, "little")
    path.write_bytes(whole)
    with pytest.raises(TermsDamaged, match="offsets"):
        open_terms(path, verify=False)


def test_missing_files_and_other_rules_are_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TermsDamaged):
        open_terms(tmp_path / "none", verify=False)
    write_terms(tmp_path / "t", rows_of("one"))
    monkeypatch.setattr(terms_module, "ANALYSIS_ID", "lamina-text@0")
    with pytest.raises(TermsDamaged, match="other rules"):
        open_terms(tmp_path / "t", verify=False)


def test_parts_join_and_cut_again() -> None:
    parts = [rows_of("one two"), rows_of(), rows_of("", "three three"), rows_of("four")]
    ref = rows_of("one two", "", "three three", "four")
    got = concat_terms(parts)
    assert_same(got, ref)
    assert_same(concat_terms([slice_terms(ref, 0, 1), slice_terms(ref, 1, 4)]), ref)
    assert_same(concat_terms([]), rows_of())


def test_zones_of_different_lengths_are_refused() -> None:
    with pytest.raises(InvalidArgument, match="1 bodies, 0 headers"):
        build_term_rows(["a"], [], [""])

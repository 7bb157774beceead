from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina_engine.index import postings
from lamina_engine.index.postings import TailPostings
from lamina_engine.index.scoring import Bm25, ForwardLists, WeightedQuery
from lamina_engine.index.terms import concat_terms
from lamina_kernels.layouts import TermRows
from lamina_kernels.postings import bucket_order, posting_frequencies, score_postings

ROW = st.sets(st.sampled_from([0, 1, 2, 3, 7, 2**31, 2**32 - 1]), max_size=5)
KERNELS = (bucket_order, posting_frequencies, score_postings)


def term_rows(rows: list[set[int]]) -> TermRows:
    hashes = np.array([key for row in rows for key in sorted(row)], np.uint32)
    indptr = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    counts = np.random.default_rng(hashes.size).integers(0, 4, (3, hashes.size)).astype(np.uint8)
    lengths = np.random.default_rng(len(rows)).integers(1, 90, (len(rows), 3)).astype(np.uint16)
    return TermRows(indptr, hashes, counts[0], counts[1], counts[2], lengths)


@pytest.fixture(params=["compiled", "numpy"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "compiled":
        for kernel in KERNELS:
            kernel.warm()
    else:
        monkeypatch.setattr(TailPostings, "scores", False)
    return str(request.param)


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.lists(ROW, max_size=7), max_size=6), st.lists(st.sampled_from([0, 3, 5, 2**32 - 1])), st.integers(0, 45)
)
@pytest.mark.usefixtures("way")
def test_it_gives_the_rows_that_hold_any_term(appends: list[list[set[int]]], query: list[int], stop: int) -> None:
    first = 10
    rows = [row for append in appends for row in append]
    hashes = np.array(query, np.uint32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(postings, "_OPEN_ENTRIES", 3)
        tail = TailPostings(first)
        for append in appends:
            tail.append(term_rows(append))
            tail.document_frequencies(hashes)  # so that some are in buckets and some are not
        assert tail.stop == first + len(rows)
        ref = [first + i for i, row in enumerate(rows) if row & set(query)]
        assert tail.rows_of(hashes).tolist() == ref
        assert tail.rows_of(hashes, stop=stop).tolist() == [row for row in ref if row < stop]
        below = rows[: max(stop - first, 0)]
        got = tail.document_frequencies(hashes, stop=stop).tolist()
        assert got == [sum(key in row for row in below) for key in query]
        assert tail.document_frequencies(hashes).tolist() == [sum(key in row for row in rows) for key in query]


@settings(deadline=None, max_examples=40)
@given(st.lists(st.lists(ROW, max_size=7), min_size=1, max_size=6), st.data())
def test_scores_are_those_of_the_forward_lists_to_the_bit(appends: list[list[set[int]]], data: st.DataObject) -> None:
    for kernel in KERNELS:
        kernel.warm()
    first, bm25, average = 10, Bm25(), 31.0
    query = data.draw(st.lists(st.sampled_from([0, 1, 2, 3, 7, 5, 2**32 - 1]), unique=True, min_size=1))
    idf = np.array(data.draw(st.lists(st.floats(0.1, 9.0), min_size=len(query), max_size=len(query))))
    parts = [term_rows(append) for append in appends]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(postings, "_OPEN_ENTRIES", 3)
        tail = TailPostings(first)
        for part in parts:
            tail.append(part)
            tail.document_frequencies(np.array([0], np.uint32))
        weighted = WeightedQuery(tuple(map(str, query)), np.array(query, np.uint32), idf)
        rows = tail.stop - first
        seen = data.draw(st.integers(0, rows))
        got = tail.score(weighted.hashes, idf, bm25.weights, bm25.k1, bm25.b, average, stop=first + seen)
    ref = ForwardLists(parts).score(np.arange(seen), weighted, bm25, average)
    np.testing.assert_array_equal(got, ref)


@pytest.mark.usefixtures("way")
def test_row_by_row_is_the_same_as_all_at_once() -> None:
    rows = [{i % 5, 100 + i} for i in range(1300)]
    one_by_one, at_once = TailPostings(), TailPostings()
    for row in rows:
        one_by_one.append(term_rows([row]))
    at_once.append(concat_terms([term_rows(rows[:700]), term_rows(rows[700:])]))
    for query in ([0], [3, 104, 1399], [99]):
        hashes = np.array(query, np.uint32)
        np.testing.assert_array_equal(one_by_one.rows_of(hashes), at_once.rows_of(hashes))
        np.testing.assert_array_equal(one_by_one.document_frequencies(hashes), at_once.document_frequencies(hashes))
    assert one_by_one.rows_of(np.array([104], np.uint32)).tolist() == [4]


@pytest.mark.usefixtures("way")
def test_an_empty_tail_finds_nothing() -> None:
    tail = TailPostings(7)
    assert tail.rows_of(np.array([1], np.uint32)).tolist() == []
    assert tail.document_frequencies(np.array([1], np.uint32)).tolist() == [0]
    tail.append(term_rows([]))
    assert tail.stop == 7

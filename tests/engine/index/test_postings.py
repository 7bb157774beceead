from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina_engine.index import postings
from lamina_engine.index.postings import TailPostings
from lamina_engine.index.terms import concat_terms
from lamina_kernels.layouts import TermRows

ROW = st.sets(st.sampled_from([0, 1, 2, 3, 7, 2**31, 2**32 - 1]), max_size=5)


def term_rows(rows: list[set[int]]) -> TermRows:
    hashes = np.array([key for row in rows for key in sorted(row)], np.uint32)
    ones, zeros = np.ones(hashes.size, np.uint8), np.zeros(hashes.size, np.uint8)
    indptr = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    return TermRows(indptr, hashes, ones, zeros, zeros, np.ones((len(rows), 3), np.uint16))


@settings(deadline=None, max_examples=40)
@given(
    st.lists(st.lists(ROW, max_size=7), max_size=6), st.lists(st.sampled_from([0, 3, 5, 2**32 - 1])), st.integers(0, 45)
)
def test_it_gives_the_rows_that_hold_any_term(appends: list[list[set[int]]], query: list[int], stop: int) -> None:
    first = 10
    rows = [row for append in appends for row in append]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(postings, "BLOCK_ROWS", 4)
        tail = TailPostings(first)
        for append in appends:
            tail.append(term_rows(append))
    hashes = np.array(query, np.uint32)
    assert tail.stop == first + len(rows)
    ref = [first + i for i, row in enumerate(rows) if row & set(query)]
    assert tail.rows_of(hashes).tolist() == ref
    assert tail.rows_of(hashes, stop=stop).tolist() == [row for row in ref if row < stop]
    below = rows[: max(stop - first, 0)]
    assert tail.document_frequencies(hashes, stop=stop).tolist() == [sum(key in row for row in below) for key in query]
    assert tail.document_frequencies(hashes).tolist() == [sum(key in row for row in rows) for key in query]


def test_row_by_row_is_the_same_as_all_at_once() -> None:
    rows = [{i % 5, 100 + i} for i in range(1300)]
    one_by_one, at_once = TailPostings(), TailPostings()
    for row in rows:
        one_by_one.append(term_rows([row]))
    at_once.append(concat_terms([term_rows(rows[:700]), term_rows(rows[700:])]))
    for query in ([0], [3, 104, 1399], [99]):
        got = one_by_one.rows_of(np.array(query, np.uint32))
        np.testing.assert_array_equal(got, at_once.rows_of(np.array(query, np.uint32)))
    assert one_by_one.rows_of(np.array([104], np.uint32)).tolist() == [4]


def test_an_empty_tail_finds_nothing() -> None:
    tail = TailPostings(7)
    assert tail.rows_of(np.array([1], np.uint32)).tolist() == []
    assert tail.document_frequencies(np.array([1], np.uint32)).tolist() == [0]
    tail.append(term_rows([]))
    assert tail.stop == 7

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_kernels.layouts import F64, U32
from lamina_kernels.postings import BUCKETS, Postings, bucket_order, posting_frequencies, score_postings
from tests.oracles import terms as oracle

# two of one bucket, its neighbours, and the extremes
vocabulary = st.sampled_from([0, 1, 2**20, 2**20 + 5, 2**31, 2**32 - 2, 2**32 - 1])
rows_of_terms = st.lists(
    st.dictionaries(vocabulary, st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(1, 255)), max_size=6),
    max_size=8,
)
WEIGHTS = np.array([1.0, 2.5, 0.3])


def lay_out(rows: list[dict[int, oracle.Counts]], bucketed_rows: int) -> Postings:
    """Entries of the first rows in buckets, the rest open."""
    block = oracle.pack(rows, [(3 + i, i, 1) for i in range(len(rows))])
    owners = np.repeat(np.arange(len(rows), dtype=np.uint32), np.diff(block.indptr))
    counts = np.stack([block.body, block.header, block.context], axis=1)
    size = int(block.indptr[bucketed_rows])
    starts, order = np.full(BUCKETS + 1, -7, np.int32), np.empty(size, np.int32)
    bucket_order(block.hashes[:size], starts, order)
    every = np.concatenate([order, np.arange(size, block.hashes.size)])
    return Postings(starts, block.hashes[every], owners[every], counts[every], block.lengths)


@given(st.lists(vocabulary, max_size=40))
def test_buckets_hold_every_entry_once_in_order(hashes: list[int]) -> None:
    array: U32 = np.array(hashes, np.uint32)
    starts, order = np.full(BUCKETS + 1, -7, np.int32), np.full(array.size, -7, np.int32)
    bucket_order(array, starts, order)
    ref = sorted(range(len(hashes)), key=lambda i: (hashes[i] >> 20, i))
    assert order.tolist() == ref
    assert starts[0] == 0
    assert starts[-1] == len(hashes)
    for bucket in {h >> 20 for h in hashes}:
        assert {hashes[i] >> 20 for i in order[starts[bucket] : starts[bucket + 1]]} == {bucket}


@given(rows_of_terms, st.lists(vocabulary, unique=True), st.data())
def test_frequencies_and_scores_equal_the_oracle(
    rows: list[dict[int, oracle.Counts]], query: list[int], data: st.DataObject
) -> None:
    postings = lay_out(rows, data.draw(st.integers(0, len(rows))))
    stop = data.draw(st.integers(0, len(rows)))
    frequencies = np.full(len(query), -7, np.int64)
    posting_frequencies(postings, np.array(query, np.uint32), stop, frequencies)
    assert frequencies.tolist() == [oracle.document_frequency(rows, term, stop) for term in query]
    idf = [0.5 + i for i in range(len(query))]
    got: F64 = np.full(stop, -7.0)
    score_postings(postings, np.array(query, np.uint32), np.array(idf), WEIGHTS, 1.2, 0.75, 9.0, got)
    ref = [
        oracle.bm25(row, (3 + i, i, 1), query, idf, WEIGHTS.tolist(), 1.2, 0.75, 9.0)
        for i, row in enumerate(rows[:stop])
    ]
    np.testing.assert_allclose(got, ref, rtol=1e-12)


def test_a_zone_without_weight_gives_nothing() -> None:
    got = np.full(1, -7.0)
    postings = lay_out([{5: (0, 0, 3)}], 1)
    score_postings(postings, np.array([5], np.uint32), np.ones(1), np.array([1.0, 1.0, 0.0]), 1.2, 0.75, 1.0, got)
    assert got.tolist() == [0.0]


@pytest.mark.parametrize("query", [[], [9]])
def test_nothing_to_find(query: list[int]) -> None:
    postings = lay_out([{5: (1, 0, 0)}, {}], 1)
    got = np.full(2, -7.0)
    hashes = np.array(query, np.uint32)
    score_postings(postings, hashes, np.ones(hashes.size), WEIGHTS, 1.2, 0.75, 1.0, got)
    assert got.tolist() == [0.0, 0.0]

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_kernels import terms
from lamina_kernels.layouts import F32, F64, I64, U8, U32, TermRows
from tests.oracles import terms as oracle

# terms that share the low bits that index a query, and the extremes
vocabulary = st.sampled_from([0, 1, 4096, 4097, 8192, 70_000, 2**32 - 4096, 2**32 - 1])
count = st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(0, 255))
rows_of_terms = st.lists(st.dictionaries(vocabulary, count, max_size=6), max_size=8)
WEIGHTS = np.array([1.0, 2.5, 0.3])
K1, B, AVERAGE = 1.2, 0.75, 90.0


@dataclass(frozen=True)
class Case:
    rows: list[dict[int, oracle.Counts]]
    lengths: list[oracle.Counts]
    query: list[int]
    idf: list[float]

    @property
    def block(self) -> TermRows:
        return oracle.pack(self.rows, self.lengths)

    @property
    def hashes(self) -> U32:
        return np.array(self.query, np.uint32)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    rows = draw(rows_of_terms)
    sizes = st.tuples(st.integers(0, 65535), st.integers(0, 9), st.integers(0, 900))
    query = draw(st.lists(vocabulary, max_size=6))
    return Case(
        rows=rows,
        lengths=[draw(sizes) for _ in rows],
        query=query,
        idf=[draw(st.floats(0.01, 12.0)) for _ in query],
    )


def gather_kernel(block: TermRows, rows: I64, query: U32) -> F32:
    out = np.full((rows.size, query.size, terms.ZONES), -9, np.float32)
    terms.gather_counts(block, rows, query, out)
    return out


def scan_kernel(block: TermRows, live: U8, query: U32, idf: F64) -> F64:
    out = np.full(live.size, -9.0)
    terms.scan_bm25(block, live, query, idf, WEIGHTS, K1, B, AVERAGE, out)
    return out


def find_kernel(block: TermRows, query: U32) -> tuple[I64, I64]:
    size = block.hashes.size * (query.size > 0)
    found, entries = np.full(size, -9, np.int64), np.full(size, -9, np.int64)
    count = terms.find_entries(block, query, found, entries)
    return found[:count], entries[:count]


@pytest.mark.parametrize("path", [gather_kernel, terms.gather_counts_numpy])
@given(case=cases(), seed=st.integers(0, 9))
def test_counts_equal_oracle(path: Callable[[TermRows, I64, U32], F32], case: Case, seed: int) -> None:
    n = len(case.rows)
    rows = np.random.default_rng(seed).integers(0, n, 5) if n else np.empty(0, np.int64)
    got = path(case.block, rows, case.hashes)
    ref = [[case.rows[row].get(term, (0, 0, 0)) for term in case.query] for row in rows]
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got, np.array(ref, np.float32).reshape(rows.size, len(case.query), 3))


@given(case=cases(), seed=st.integers(0, 9))
def test_scores_equal_oracle_and_each_other_to_the_bit(case: Case, seed: int) -> None:
    block, idf = case.block, np.array(case.idf)
    live = (np.random.default_rng(seed).random(len(case.rows)) < 0.8).astype(np.uint8)
    got = scan_kernel(block, live, case.hashes, idf)
    ref = [
        oracle.bm25(row, lengths, case.query, case.idf, WEIGHTS.tolist(), K1, B, AVERAGE) * alive
        for row, lengths, alive in zip(case.rows, case.lengths, live, strict=True)
    ]
    np.testing.assert_allclose(got, ref, rtol=1e-12)  # the same sum in another grouping
    twin = terms.scan_bm25_numpy(block, live, case.hashes, idf, WEIGHTS, K1, B, AVERAGE)
    assert got.tobytes() == twin.tobytes()
    everything = np.arange(live.size)
    counts = terms.gather_counts_numpy(block, everything, case.hashes)
    gathered = terms.bm25_scores(counts, block.lengths, idf, WEIGHTS, K1, B, AVERAGE)
    assert (gathered * live).tobytes() == got.tobytes()


@given(case=cases(), seed=st.integers(0, 9))
def test_chosen_rows_score_as_the_scan_scores_them(case: Case, seed: int) -> None:
    n, idf = len(case.rows), np.array(case.idf)
    rows = np.random.default_rng(seed).integers(0, n, 7) if n else np.empty(0, np.int64)  # in any order, with repeats
    got, block = np.full(rows.size, -9.0), case.block  # held, as its addresses are passed
    terms.score_bm25(*terms.Blocks.of([block]), rows, case.hashes, idf, WEIGHTS, K1, B, AVERAGE, got)
    ref = scan_kernel(case.block, np.ones(n, np.uint8), case.hashes, idf)[rows]
    assert got.tobytes() == ref.tobytes()


@given(first=cases(), second=cases(), seed=st.integers(0, 9))
def test_chosen_rows_of_several_blocks_score_as_each_does(first: Case, second: Case, seed: int) -> None:
    blocks, idf = [first.block, second.block, first.block], np.array(first.idf)
    ref = np.concatenate(
        [scan_kernel(each, np.ones(len(each.lengths), np.uint8), first.hashes, idf) for each in blocks]
    )
    rows = np.random.default_rng(seed).integers(0, ref.size, 20) if ref.size else np.empty(0, np.int64)
    got = np.full(rows.size, -9.0)
    terms.score_bm25(*terms.Blocks.of(blocks), rows, first.hashes, idf, WEIGHTS, K1, B, AVERAGE, got)
    assert got.tobytes() == ref[rows].tobytes()


def test_arrays_that_a_kernel_would_misread_are_refused() -> None:
    with pytest.raises(TypeError, match=r"float32, .* a kernel reads uint16"):
        terms.addresses_of([(np.zeros(3, np.float32),)], (np.uint16,))
    with pytest.raises(TypeError, match=r"\(4,\) bytes apart"):
        terms.addresses_of([(np.zeros(6, np.uint16)[::2],)], (np.uint16,))
    assert terms.Blocks.of([]).addresses.shape == (0, 6)


@pytest.mark.parametrize("path", [find_kernel, terms.find_entries_numpy])
@given(case=cases())
def test_entries_equal_oracle(path: Callable[[TermRows, U32], tuple[I64, I64]], case: Case) -> None:
    query = list(dict.fromkeys(case.query))
    found, entries = path(case.block, np.array(query, np.uint32))
    rows = np.searchsorted(case.block.indptr, entries, side="right") - 1
    got = sorted((query[term], int(row)) for term, row in zip(found.tolist(), rows, strict=True))
    assert got == sorted(
        (term, i) for i, row in enumerate(case.rows) for term in query if any(row.get(term, (0, 0, 0)))
    )
    assert case.block.hashes[entries].tolist() == [query[term] for term in found.tolist()]


@pytest.fixture(scope="module")
def large() -> TermRows:
    """More rows than the NumPy scan takes at a time."""
    rng = np.random.default_rng(3)
    rows = [dict.fromkeys(rng.integers(0, 40, 3).tolist(), (1, 0, 2)) for _ in range(5000)]
    return oracle.pack(rows, [(3, 0, 6)] * 5000)


def test_scores_do_not_depend_on_the_batch(large: TermRows) -> None:
    query, idf = np.array([3, 17, 1, 39], np.uint32), np.array([0.7, 1.3, 2.1, 0.1])
    live = np.ones(5000, np.uint8)
    whole = terms.scan_bm25_numpy(large, live, query, idf, WEIGHTS, K1, B, AVERAGE)
    assert whole.tobytes() == scan_kernel(large, live, query, idf).tobytes()
    rows = np.array([4999, 0, 4096, 4095])
    counts = gather_kernel(large, rows, query)
    few = terms.bm25_scores(counts, large.lengths[rows], idf, WEIGHTS, K1, B, AVERAGE)
    assert few.tobytes() == whole[rows].tobytes()


def test_more_of_a_term_scores_more_and_longer_rows_less() -> None:
    rows = [{5: (1, 0, 0)}, {5: (2, 0, 0)}, {5: (1, 1, 0)}, {5: (1, 0, 0)}]
    block = oracle.pack(rows, [(50, 0, 0), (50, 0, 0), (50, 0, 0), (500, 0, 0)])
    once, twice, header, long = scan_kernel(block, np.ones(4, np.uint8), np.array([5], np.uint32), np.ones(1))
    assert long < once < twice < header


def test_a_zone_of_weight_zero_does_not_count() -> None:
    block = oracle.pack([{5: (0, 0, 9)}], [(0, 0, 9)])
    out = np.full(1, -9.0)
    weights = np.array([1.0, 1.0, 0.0])
    live, query, idf = np.ones(1, np.uint8), np.array([5], np.uint32), np.ones(1)
    terms.scan_bm25(block, live, query, idf, weights, K1, B, AVERAGE, out)
    assert out.tolist() == [0.0]
    assert terms.scan_bm25_numpy(block, live, query, idf, weights, K1, B, AVERAGE).tolist() == [0.0]

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_engine.errors import InvalidArgument
from lamina_engine.index import vectors
from lamina_engine.index.vectors import F32, Mask, Nearest, Rows, VectorBlocks, scan, search
from lamina_kernels.distances import gather_dots, row_dots


def unit(n: int, dim: int, seed: int = 0) -> F32:
    matrix = np.random.default_rng(seed).standard_normal((n, dim))
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    return matrix.astype(np.float32)


def split(matrix: F32, cuts: list[int]) -> VectorBlocks:
    return VectorBlocks(np.split(matrix, sorted(cuts)), matrix.shape[1])


def by_hand(matrix: F32, query: F32, k: int, rows: Rows | None = None) -> Nearest:
    """Every row, one sum in extended precision each, sorted: what `scan` must give."""
    scores = (matrix.astype(np.longdouble) * query).sum(axis=1)
    allowed = np.arange(len(matrix)) if rows is None else rows
    ranked = sorted((-np.float32(scores[row]), -row) for row in allowed.tolist() if matrix[row].any())[:k]
    return Nearest(
        np.array([-row for _, row in ranked], np.int64), np.array([-score for score, _ in ranked], np.float32)
    )


def check_equal(ref: Nearest, got: Nearest) -> None:
    assert got.rows.dtype == np.int64
    assert got.scores.dtype == np.float32
    np.testing.assert_array_equal(got.rows, ref.rows)
    np.testing.assert_array_equal(got.scores, ref.scores)


class Proposes:
    """An index that ranks the rows it covers by a coarse product, as a quantised one would."""

    def __init__(self, matrix: F32, rows: int, *, digits: int = 2) -> None:
        self.matrix = np.round(matrix[:rows], digits)
        self.rows = rows
        self.asked: list[int] = []

    def search(self, query: F32, n: int) -> Nearest:
        self.asked.append(n)
        promises = np.round(self.matrix @ query, 4)  # as coarse as a codebook: equal rows promise the same
        rows = np.argsort(-promises, kind="stable")[:n]
        return Nearest(rows, promises[rows])


@given(
    rows=st.integers(0, 60),
    cuts=st.lists(st.integers(0, 60), max_size=6),
    k=st.integers(1, 70),
    copies=st.integers(1, 5),
    seed=st.integers(0, 1000),
)
def test_segments_do_not_matter(rows: int, cuts: list[int], k: int, copies: int, seed: int) -> None:
    # few distinct rows: ties everywhere
    matrix = unit(max(rows // copies, 1), 5, seed)[
        np.random.default_rng(seed).integers(max(rows // copies, 1), size=rows)
    ]
    matrix[::7] = 0
    query = unit(1, 5, seed + 1)[0]
    check_equal(by_hand(matrix, query, k), scan(split(matrix, cuts), query, k))


@given(
    cuts=st.lists(st.integers(0, 40), max_size=4),
    asked=st.lists(st.integers(0, 39), max_size=50),
    seed=st.integers(0, 100),
)
def test_gather_and_dots_keep_the_order_asked(cuts: list[int], asked: list[int], seed: int) -> None:
    matrix, query = unit(40, 33, seed), unit(1, 33, seed + 1)[0]
    blocks, rows = split(matrix, cuts), np.array(asked, np.int64)
    np.testing.assert_array_equal(blocks.gather(rows), matrix[rows])
    got = blocks.dots(rows, query)
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got, split(matrix, []).dots(np.arange(40), query)[rows])
    ref = [math.fsum(a * b for a, b in zip(matrix[row].tolist(), query.tolist(), strict=True)) for row in asked]
    np.testing.assert_allclose(got, ref, rtol=1.2e-7)  # rounded once to float32


@pytest.mark.parametrize("dim", [1, 2, 3, 64, 257, 1536])
def test_finalists_hold_the_best_where_products_nearly_tie(dim: int) -> None:
    # rows a few float32 roundings apart: single-precision products alone would order them wrongly
    base = unit(1, dim, 3)[0]
    noise = np.random.default_rng(4).integers(-2, 3, (3000, dim)) * np.spacing(base)
    matrix = (base + noise).astype(np.float32)
    ref = by_hand(matrix, base, 10)
    check_equal(ref, scan(split(matrix, [1000, 1001]), base, 10))
    fast = np.lexsort((-np.arange(3000), -np.vecdot(matrix, base)))[:10]
    if dim >= 257:
        assert not np.array_equal(fast, ref.rows)  # the case is not an easy one


def test_equal_scores_put_the_higher_row_first() -> None:
    matrix = np.repeat(unit(3, 8), 5, axis=0)
    got = scan(split(matrix, [7]), matrix[6], 5)
    np.testing.assert_array_equal(got.rows, [9, 8, 7, 6, 5])
    got = scan(split(matrix, [7]), matrix[6], 3)
    np.testing.assert_array_equal(got.rows, [9, 8, 7])


def test_a_hundred_thousand_duplicates() -> None:
    matrix = np.broadcast_to(unit(1, 16), (100_000, 16)).copy()
    np.testing.assert_array_equal(scan(split(matrix, [3]), matrix[0], 3).rows, [99_999, 99_998, 99_997])


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_few_rows(rows: int) -> None:
    matrix, query = unit(rows, 4), unit(1, 4, 9)[0]
    blocks = split(matrix, [])
    assert blocks.rows == rows
    check_equal(by_hand(matrix, query, 5), scan(blocks, query, 5))
    check_equal(by_hand(matrix, query, 5), search(blocks, None, query, 5))


def test_no_segments() -> None:
    blocks = VectorBlocks([], 3)
    assert blocks.gather(np.empty(0, np.int64)).shape == (0, 3)
    assert len(scan(blocks, unit(1, 3)[0], 1).rows) == 0


def test_rows_without_a_vector_never_surface() -> None:
    matrix = np.zeros((70_000, 8), np.float32)  # more than one slice
    kept = np.array([5, 40_000, 69_999])
    matrix[kept] = -unit(1, 8)[0]  # worse than nothing: below the zero rows' score
    matrix[7] = [1, 0, 0, 0, 0, 0, 0, 0]
    query = unit(1, 8)[0].copy()
    query[0] = 0  # row 7 scores 0 and has a vector
    got = scan(split(matrix, [50]), query, 10)
    np.testing.assert_array_equal(got.rows, [7, 69_999, 40_000, 5])
    assert not search(split(matrix, []), None, np.zeros(8, np.float32), 3).rows.size


@pytest.mark.parametrize("share", [0.0, 0.001, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("dtype", [np.bool_, np.uint8])
def test_masked_scan(share: float, dtype: type) -> None:
    matrix, query = unit(3000, 12), unit(1, 12, 1)[0]
    mask: Mask = (np.random.default_rng(2).random(3000) < share).astype(dtype)
    rows = np.flatnonzero(mask)
    check_equal(by_hand(matrix, query, 7, rows), scan(split(matrix, [999, 1200]), query, 7, mask=mask))
    inside = rows[(rows >= 500) & (rows < 2500)]
    got = scan(split(matrix, [999, 1200]), query, 7, start=500, stop=2500, mask=mask)
    check_equal(by_hand(matrix, query, 7, inside), got)


class Cold:
    """A kernel that nobody has warmed."""

    ready = False


def test_kernels_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix, query = unit(20_000, 64), unit(1, 64, 1)[0]
    matrix[5000:9000] = matrix[5000] + np.spacing(matrix[5000]) * np.random.default_rng(2).integers(-2, 3, (4000, 64))
    matrix = matrix.astype(np.float32)
    mask = np.zeros(20_000, np.bool_)
    mask[::37] = True
    blocks = split(matrix, [500])
    for target in (query, matrix[5000]):
        whole, gathered = by_hand(matrix, target, 10), by_hand(matrix, target, 10, np.flatnonzero(mask))
        for kernel in (row_dots, gather_dots):
            kernel.warm()
            assert kernel.ready
        check_equal(whole, scan(blocks, target, 10))
        check_equal(gathered, scan(blocks, target, 10, mask=mask))
        with monkeypatch.context() as patch:
            patch.setattr(vectors, "row_dots", Cold)
            patch.setattr(vectors, "gather_dots", Cold)
            check_equal(whole, scan(blocks, target, 10))
            check_equal(gathered, scan(blocks, target, 10, mask=mask))


@pytest.fixture
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "NARROW_ROWS", 100)
    monkeypatch.setattr(vectors, "PAST_ROWS", 500)


@pytest.mark.usefixtures("small_limits")
@pytest.mark.parametrize("covered", [1000, 2999, 3000])
def test_search_joins_index_and_tail(covered: int) -> None:
    matrix = unit(3000, 16)
    blocks, index = split(matrix, [100, 2000]), Proposes(matrix, covered)
    for query in unit(20, 16, 5):
        check_equal(by_hand(matrix, query, 10), search(blocks, index, query, 10))
    assert set(index.asked) == {200}


@pytest.mark.usefixtures("small_limits")
@pytest.mark.parametrize(("share", "first"), [(0.02, 0), (0.3, 700), (0.7, 300), (0.99, 200)])
def test_filters_do_not_starve(share: float, first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "_MOST", 2)
    matrix = unit(3000, 16)
    mask = np.random.default_rng(1).random(3000) < share
    index = Proposes(matrix, 2500)
    for query in unit(10, 16, 5):
        got = search(split(matrix, [100]), index, query, 10, live=mask)
        check_equal(by_hand(matrix, query, 10, np.flatnonzero(mask)), got)
    assert len(set(index.asked)) == (first > 0)  # a very narrow filter never asks, a wide one asks once
    assert all(first <= asked < 1.5 * first for asked in index.asked)


@pytest.mark.usefixtures("small_limits")
def test_a_filter_against_the_query_ends_in_an_exact_scan() -> None:
    matrix = unit(3000, 4)
    query = unit(1, 4, 8)[0]
    away = matrix @ query < -0.5  # none of the rows that the index likes
    index = Proposes(matrix, 3000)
    check_equal(
        by_hand(matrix, query, 10, np.flatnonzero(away)), search(split(matrix, []), index, query, 10, live=away)
    )


@pytest.mark.usefixtures("small_limits")
def test_proposals_without_vectors_are_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = unit(3000, 4)
    query = unit(1, 4, 8)[0]
    matrix[matrix @ query > 0] = 0
    index = Proposes(matrix, 3000)
    check_equal(by_hand(matrix, query, 10), search(split(matrix, []), index, query, 10))
    monkeypatch.setattr(vectors, "_MOST", 1)  # the index may be asked for everything
    got = search(split(matrix, []), Proposes(matrix, 3000), query, 10, live=np.ones(3000, np.bool_))
    check_equal(by_hand(matrix, query, 10), got)


@pytest.mark.usefixtures("small_limits")
def test_the_newest_of_many_copies_is_found() -> None:
    matrix = unit(3000, 16)
    query = matrix[0].copy()
    matrix[::8] = matrix[0]  # 375 copies, 200 proposals
    index = Proposes(matrix, 3000)
    got = search(split(matrix, [1000]), index, query, 3)
    np.testing.assert_array_equal(got.rows, [2992, 2984, 2976])
    assert index.asked == [200]  # twice as many are over the limit: the answer is an exact scan's
    matrix[::8] = unit(375, 16, 7)
    matrix[::14] = query
    index = Proposes(matrix, 3000)
    np.testing.assert_array_equal(search(split(matrix, []), index, query, 2, candidates=125).rows, [2996, 2982])
    assert index.asked == [125, 250]


@pytest.mark.usefixtures("small_limits")
@pytest.mark.parametrize("n_rows", [0, 1, 499, 501, 1700, 2999])
def test_past_watermarks_hide_newer_rows(n_rows: int) -> None:
    matrix = unit(3000, 16)
    for query in unit(5, 16, 5):
        got = search(split(matrix, [100]), Proposes(matrix, 2900), query, 10, n_rows=n_rows)
        check_equal(by_hand(matrix, query, 10, np.arange(n_rows)), got)


@pytest.mark.usefixtures("small_limits")
def test_an_index_ahead_of_the_log() -> None:
    matrix, query = unit(3000, 16), unit(1, 16, 5)[0]
    got = search(split(matrix[:2000], []), Proposes(matrix, 3000), query, 10)
    check_equal(by_hand(matrix[:2000], query, 10), got)


@pytest.mark.usefixtures("small_limits")
def test_threads_agree() -> None:
    matrix, queries = unit(3000, 16), unit(40, 16, 5)
    blocks, index = split(matrix, [100]), Proposes(matrix, 2500)
    ref = [search(blocks, index, query, 10) for query in queries]
    with ThreadPoolExecutor(8) as pool:
        for one, got in zip(ref, pool.map(lambda query: search(blocks, index, query, 10), queries), strict=True):
            check_equal(one, got)


def test_bad_input_is_refused() -> None:
    blocks, query = split(unit(10, 4), []), unit(1, 4)[0]
    with pytest.raises(InvalidArgument, match=r"\(5,\).* 4 dimensions"):
        scan(blocks, unit(1, 5)[0], 1)
    with pytest.raises(InvalidArgument, match="4 dimensions"):
        scan(blocks, unit(2, 4), 1)
    for bad in (np.nan, np.inf):
        with pytest.raises(InvalidArgument, match="not finite"):
            search(blocks, None, np.array([1, 0, 0, bad], np.float32), 1)
    with pytest.raises(InvalidArgument, match="k is 0"):
        search(blocks, None, query, 0)
    with pytest.raises(InvalidArgument, match="rows 0 to 11"):
        search(blocks, None, query, 1, n_rows=11)
    with pytest.raises(InvalidArgument, match="9 entries"):
        search(blocks, None, query, 1, live=np.ones(9, np.bool_))
    for row in (-1, 10):
        with pytest.raises(InvalidArgument, match="rows 0 to 9"):
            blocks.dots(np.array([row]), query)


@pytest.mark.parametrize(
    "array", [np.zeros(4, np.float32), np.zeros((2, 3), np.float32), np.zeros((2, 4)), np.zeros((4, 2), np.float32).T]
)
def test_bad_segments_are_refused(array: F32) -> None:
    with pytest.raises(InvalidArgument):
        VectorBlocks([array], 4)
    with pytest.raises(InvalidArgument, match="at least one"):
        VectorBlocks([], 0)


def test_segments_are_viewed_read_only() -> None:
    matrix = unit(4, 4)
    blocks = VectorBlocks([matrix], 4)
    assert np.shares_memory(blocks.arrays[0], matrix)
    assert not blocks.arrays[0].flags.writeable
    assert matrix.flags.writeable
    assert [(first, len(part)) for first, part in split(matrix, [1]).slices(0, 4, 2)] == [(0, 1), (1, 2), (3, 1)]

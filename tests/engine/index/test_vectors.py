from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina_engine.errors import InvalidArgument
from lamina_engine.index import vectors
from lamina_engine.index.vectors import F32, Mask, VectorBlocks
from lamina_kernels.distances import exact_dots, fill_exact_dots, gather_dots, gather_exact_dots, row_dots
from tests.oracles.vectors import by_hand, check_equal, split, unit


@settings(max_examples=40)
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
    check_equal(by_hand(matrix, query, k), split(matrix, cuts).scan(query, k))


@settings(max_examples=40)
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
    # rows a few float32 roundings apart
    base = unit(1, dim, 3)[0]
    noise = np.random.default_rng(4).integers(-2, 3, (1500, dim)) * np.spacing(base)
    matrix = (base + noise).astype(np.float32)
    check_equal(by_hand(matrix, base, 10), split(matrix, [700, 701]).scan(base, 10))


@pytest.mark.parametrize("dim", [64, 257, 1536])
def test_finalists_hold_the_best_where_single_precision_is_noise(dim: int) -> None:
    # Rows at right angles to the query: single precision rounds the parts of each sum, in whatever order a processor
    # adds them, by more than what tells the rows apart. All values are multiples of 2^-24, so double precision is exact.
    query = np.round(unit(1, dim, 3)[0] * 2.0**24) / 2.0**24
    rows = unit(1500, dim, 4).astype(np.float64)
    rows -= np.outer(rows @ query, query) / (query @ query)
    matrix, query = (np.round(rows * 2.0**24) / 2.0**24).astype(np.float32), query.astype(np.float32)
    ref = by_hand(matrix, query, 10)
    check_equal(ref, split(matrix, [700, 701]).scan(query, 10))
    for products in (np.vecdot(matrix, query), matrix @ query):
        fast = np.lexsort((-np.arange(1500), -products))[:10]
        assert not np.array_equal(fast, ref.rows)  # the case is not an easy one


def test_equal_scores_put_the_higher_row_first() -> None:
    matrix = np.repeat(unit(3, 8), 5, axis=0)
    got = split(matrix, [7]).scan(matrix[6], 5)
    np.testing.assert_array_equal(got.rows, [9, 8, 7, 6, 5])
    got = split(matrix, [7]).scan(matrix[6], 3)
    np.testing.assert_array_equal(got.rows, [9, 8, 7])


def test_a_hundred_thousand_duplicates() -> None:
    matrix = np.broadcast_to(unit(1, 16), (100_000, 16)).copy()
    np.testing.assert_array_equal(split(matrix, [3]).scan(matrix[0], 3).rows, [99_999, 99_998, 99_997])


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_few_rows(rows: int) -> None:
    matrix, query = unit(rows, 4), unit(1, 4, 9)[0]
    blocks = split(matrix, [])
    assert blocks.rows == rows
    check_equal(by_hand(matrix, query, 5), blocks.scan(query, 5))


@pytest.mark.parametrize("kept", range(4))
def test_blocks_that_go_on_are_those_made_anew(kept: int) -> None:
    parts = [np.full((rows, 3), rows, np.float32) for rows in (2, 1, 4)]
    more = [np.full((rows, 3), -rows, np.float32) for rows in (3, 1)]
    for added in ([], more):
        got = VectorBlocks(parts, 3).continued(kept, added)
        ref = VectorBlocks([*parts[:kept], *added], 3)
        assert [array.tolist() for array in got.arrays] == [array.tolist() for array in ref.arrays]
        assert [array.tolist() for array in got.located] == [array.tolist() for array in ref.located]
        assert not any(array.flags.writeable for array in got.arrays)
        assert not got.located.addresses.flags.writeable
        assert not got.located.starts.flags.writeable


def test_no_segments() -> None:
    blocks = VectorBlocks([], 3)
    assert blocks.gather(np.empty(0, np.int64)).shape == (0, 3)
    assert len(blocks.scan(unit(1, 3)[0], 1).rows) == 0


def test_rows_without_a_vector_never_surface() -> None:
    matrix = np.zeros((70_000, 8), np.float32)  # more than one slice
    kept = np.array([5, 40_000, 69_999])
    matrix[kept] = -unit(1, 8)[0]  # worse than nothing: below the zero rows' score
    matrix[7] = [1, 0, 0, 0, 0, 0, 0, 0]
    query = unit(1, 8)[0].copy()
    query[0] = 0  # row 7 scores 0 and has a vector
    got = split(matrix, [50]).scan(query, 10)
    np.testing.assert_array_equal(got.rows, [7, 69_999, 40_000, 5])
    assert not split(matrix, []).scan(np.zeros(8, np.float32), 3).rows.size


@pytest.mark.parametrize("share", [0.0, 0.001, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("dtype", [np.bool_, np.uint8])
def test_masked_scan(share: float, dtype: type) -> None:
    matrix, query = unit(3000, 12), unit(1, 12, 1)[0]
    mask: Mask = (np.random.default_rng(2).random(3000) < share).astype(dtype)
    rows = np.flatnonzero(mask)
    check_equal(by_hand(matrix, query, 7, rows), split(matrix, [999, 1200]).scan(query, 7, mask=mask))
    inside = rows[(rows >= 500) & (rows < 2500)]
    got = split(matrix, [999, 1200]).scan(query, 7, start=500, stop=2500, mask=mask)
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
        check_equal(whole, blocks.scan(target, 10))
        check_equal(gathered, blocks.scan(target, 10, mask=mask))
        with monkeypatch.context() as patch:
            patch.setattr(vectors, "row_dots", Cold)
            patch.setattr(vectors, "gather_dots", Cold)
            check_equal(whole, blocks.scan(target, 10))
            check_equal(gathered, blocks.scan(target, 10, mask=mask))


def test_bad_input_is_refused() -> None:
    blocks, query = split(unit(10, 4), []), unit(1, 4)[0]
    with pytest.raises(InvalidArgument, match=r"\(5,\).* 4 dimensions"):
        blocks.scan(unit(1, 5)[0], 1)
    with pytest.raises(InvalidArgument, match="4 dimensions"):
        blocks.scan(unit(2, 4), 1)
    for bad in (np.nan, np.inf):
        with pytest.raises(InvalidArgument, match="not finite"):
            blocks.scan(np.array([1, 0, 0, bad], np.float32), 1)
    with pytest.raises(InvalidArgument, match="k is 0"):
        blocks.scan(query, 0)
    with pytest.raises(InvalidArgument, match="rows 0 to 11"):
        blocks.scan(query, 1, stop=11)
    with pytest.raises(InvalidArgument, match="9 entries"):
        blocks.scan(query, 1, mask=np.ones(9, np.bool_))
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


@pytest.mark.parametrize("k", [1, 7, 60])
def test_one_segment_gives_what_many_give(k: int) -> None:
    rng = np.random.default_rng(4)
    matrix = rng.normal(size=(400, 16)).astype(np.float32)
    matrix[::9] = 0
    matrix[100:120] = matrix[20:40]  # ties
    for query in rng.normal(size=(20, 16)).astype(np.float32):
        got = VectorBlocks([matrix], 16).scan(query, k)
        ref = VectorBlocks([matrix[:150], matrix[150:151], matrix[151:]], 16).scan(query, k)
        assert got.rows.tolist() == ref.rows.tolist()
        assert got.scores.tolist() == ref.scores.tolist()


@pytest.mark.parametrize("share", [0.02, 0.2, 0.9])
def test_a_mask_over_several_segments_gives_what_comparing_all_gives(share: float) -> None:
    gather_dots.warm()
    gather_exact_dots.warm()
    random = np.random.default_rng(5)
    rows = random.standard_normal((900, 16)).astype(np.float32)
    rows[::7] = 0.0  # without a vector
    rows[3] = rows[500]  # a tie, and the higher row first
    blocks = VectorBlocks([rows[:300].copy(), rows[300:301].copy(), rows[301:].copy()], 16)
    mask = random.random(900) < share
    mask[[3, 500]] = True
    query = rows[500] + np.float32(0.1)
    got = blocks.scan(query, 5, mask=mask)
    scores = exact_dots(rows, query)
    order = np.lexsort((-np.arange(900), -scores)).tolist()
    wanted = [row for row in order if mask[row] and rows[row].any()][:5]
    assert got.rows.tolist() == wanted
    np.testing.assert_array_equal(got.scores, scores[wanted])


def test_products_of_any_rows_of_several_segments() -> None:
    gather_exact_dots.warm()
    rows = unit(700, 24)
    blocks, query = VectorBlocks([rows[:300].copy(), rows[300:301].copy(), rows[301:].copy()], 24), unit(1, 24, 3)[0]
    every, scores = np.arange(700), exact_dots(rows, query)
    for chosen in (every, every[::-1], every[::3], every[298:305], np.array([5, 5, 699, 0]), every[:0]):
        np.testing.assert_array_equal(blocks.dots(chosen, query), scores[chosen])
    for wrong in ([700], [-1], [3, 10**9]):
        with pytest.raises(InvalidArgument, match="asked of a log with rows 0 to 699"):
            blocks.dots(np.array(wrong), query)


def test_unknown_products_are_filled_alike_before_and_after_the_kernel_is_compiled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fill_exact_dots.warm()
    rows = unit(700, 24)
    blocks, query = VectorBlocks([rows[:300].copy(), rows[300:].copy()], 24), unit(1, 24, 3)[0]
    chosen = np.array([5, 699, 0, 301, 5])
    given = np.array([np.nan, 0.5, np.nan, np.nan, np.nan])
    compiled, plain = given.copy(), given.copy()
    blocks.fill_dots(chosen, query, compiled)
    monkeypatch.setattr(vectors, "fill_exact_dots", SimpleNamespace(ready=False))
    blocks.fill_dots(chosen, query, plain)
    np.testing.assert_array_equal(compiled, plain)
    np.testing.assert_array_equal(plain, np.where(np.isnan(given), exact_dots(rows[chosen], query), given))

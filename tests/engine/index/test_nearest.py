from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from lamina_engine.errors import InvalidArgument
from lamina_engine.index import vectors
from lamina_engine.index.helper import Helper
from lamina_engine.index.vectors import F32, Nearest, search
from lamina_kernels.distances import best_proposals, gather_exact_dots
from tests.oracles.vectors import by_hand, check_equal, split, unit


class Proposes:
    """An index that ranks the rows it covers by a coarse product, as a quantised one would."""

    def __init__(self, matrix: F32, rows: int, *, digits: int = 2) -> None:
        self.matrix = np.round(matrix[:rows], digits)
        self.rows = rows
        self.asked: list[int] = []

    def search(self, query: F32, n: int, helper: Helper | None = None) -> Nearest:
        del helper
        self.asked.append(n)
        promises = np.round(self.matrix @ query, 4)  # as coarse as a codebook: equal rows promise the same
        rows = np.argsort(-promises, kind="stable")[:n]
        return Nearest(rows, promises[rows])


@pytest.fixture
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "NARROW_ROWS", 100)
    monkeypatch.setattr(vectors, "PAST_ROWS", 500)


@pytest.mark.usefixtures("small_limits")
@pytest.mark.parametrize("covered", [1000, 2999, 3000])
def test_search_joins_index_and_tail(covered: int) -> None:
    matrix = unit(3000, 16)
    blocks, index = split(matrix, [100, 2000]), Proposes(matrix, covered)
    for query in unit(6, 16, 5):
        check_equal(by_hand(matrix, query, 10), search(blocks, index, query, 10))
    assert set(index.asked) == {264}  # 64 more than are scored, for ties


@pytest.mark.usefixtures("small_limits")
@pytest.mark.parametrize(("share", "first"), [(0.02, 0), (0.3, 700), (0.7, 300), (0.99, 200)])
def test_filters_do_not_starve(share: float, first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "_MOST", 2)
    matrix = unit(3000, 16)
    mask = np.random.default_rng(1).random(3000) < share
    index = Proposes(matrix, 2500)
    for query in unit(5, 16, 5):
        got = search(split(matrix, [100]), index, query, 10, live=mask)
        check_equal(by_hand(matrix, query, 10, np.flatnonzero(mask)), got)
    assert len(set(index.asked)) == (first > 0)  # a very narrow filter never asks, a wide one asks once
    assert all(first <= asked - 64 < 1.5 * first for asked in index.asked)


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
    assert index.asked == [264]  # twice as many are over the limit: the answer is an exact scan's
    matrix[::8] = unit(375, 16, 7)
    matrix[::14] = query
    index = Proposes(matrix, 3000)
    np.testing.assert_array_equal(search(split(matrix, []), index, query, 2, candidates=125).rows, [2996, 2982])
    assert index.asked == [189, 314]


class ProposesInAnyOrder(Proposes):
    """The same, with ties in the opposite order: nothing says which of equal codes come first."""

    def search(self, query: F32, n: int, helper: Helper | None = None) -> Nearest:
        del helper
        self.asked.append(n)
        promises = np.round(self.matrix @ query, 4)
        rows = np.lexsort((-np.arange(self.rows), -promises))[:n]
        return Nearest(rows, promises[rows])


@pytest.mark.usefixtures("small_limits")
def test_ties_among_codes_at_the_cut_are_not_left_to_chance() -> None:
    matrix = unit(3000, 16)
    blocks = split(matrix, [1000])
    for query in unit(30, 16, 5):  # codes so coarse that the fortieth row ties with others
        ref, got = (
            search(blocks, kind(matrix, 3000, digits=0), query, 10, candidates=40)
            for kind in (Proposes, ProposesInAnyOrder)
        )
        check_equal(ref, got)


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


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_without_an_index_every_row_is_scanned(rows: int) -> None:
    matrix, query = unit(rows, 4), unit(1, 4, 9)[0]
    check_equal(by_hand(matrix, query, 5), search(split(matrix, []), None, query, 5))
    assert not search(split(matrix, []), None, np.zeros(4, np.float32), 3).rows.size


def test_bad_input_is_refused() -> None:
    blocks, query = split(unit(10, 4), []), unit(1, 4)[0]
    for bad in (np.nan, np.inf):
        with pytest.raises(InvalidArgument, match="not finite"):
            search(blocks, None, np.array([1, 0, 0, bad], np.float32), 1)
    with pytest.raises(InvalidArgument, match="k is 0"):
        search(blocks, None, query, 0)
    with pytest.raises(InvalidArgument, match="rows 0 to 11"):
        search(blocks, None, query, 1, n_rows=11)
    with pytest.raises(InvalidArgument, match="9 entries"):
        search(blocks, None, query, 1, live=np.ones(9, np.bool_))


@pytest.mark.usefixtures("small_limits")
@pytest.mark.parametrize("tail", [0, 1, 200])
def test_one_call_finds_what_the_steps_find(tail: int, monkeypatch: pytest.MonkeyPatch) -> None:
    best_proposals.warm()
    gather_exact_dots.warm()
    matrix = unit(3_000, 16)
    matrix[100:130] = matrix[100]
    blocks, index = split(matrix, [700, 2_000]), Proposes(matrix, 3_000 - tail, digits=3)
    calls = list[bool]()
    at_once = vectors._best_of_all

    def counted(*args: Any) -> Nearest | None:
        found = at_once(*args)
        calls.append(found is not None)
        return found

    monkeypatch.setattr(vectors, "_best_of_all", counted)
    queries = [matrix[100], *unit(20, 16, 7)]
    fast = [search(blocks, index, query, 40) for query in queries]
    assert sum(calls) > len(queries) // 2
    monkeypatch.setattr(vectors, "best_proposals", SimpleNamespace(ready=False))
    for query, found in zip(queries, fast, strict=True):
        check_equal(search(blocks, index, query, 40), found)

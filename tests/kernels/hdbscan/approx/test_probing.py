from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from lamina_kernels.hdbscan.approx.probing import (
    NONE,
    code_places,
    join_lists,
    keep_both,
    keep_cells,
    list_namers,
    list_queries,
    measure_places,
    widen_lists,
)
from lamina_kernels.layouts import BOOL, F32, F64, I8, I32
from lamina_kernels.simd import LANES
from tests.oracles.density import distances

Lists = list[list[tuple[float, int]]]


def empty(n: int, k: int) -> tuple[I32, F32]:
    return np.full((n, k), NONE, np.int32), np.full((n, k), -np.inf, np.float32)


def as_lists(rows: I32, scores: F32) -> Lists:
    return [
        [(float(s), int(r)) for r, s in zip(*pair, strict=True) if r != NONE] for pair in zip(rows, scores, strict=True)
    ]


def best(pairs: list[tuple[float, int]], k: int) -> list[tuple[float, int]]:
    return sorted(pairs, reverse=True)[:k]


def tile_of(scores: NDArray[np.float32]) -> F32:
    """A tile with what kernels must not look at: columns filled up to whole vectors."""
    wide = -(-scores.shape[1] // LANES) * LANES
    return np.pad(scores, ((0, 0), (0, wide - scores.shape[1])), constant_values=99.0).astype(np.float32)


@pytest.mark.parametrize("probes", [1, 3, 70])
def test_the_nearest_cells_are_kept_over_tiles(probes: int) -> None:
    scores = np.random.default_rng(1).permutation(5 * 100).reshape(5, 100).astype(np.float32)
    cells, kept = np.zeros((5, probes), np.int32), np.full((5, probes), -np.inf, np.float32)
    for column, last in ((0, 64), (64, 100)):
        keep_cells(tile_of(scores[:, column:last]), 5, column, last, cells, kept)
    ref = np.argsort(-scores, axis=1, kind="stable")[:, :probes]
    assert cells.tolist() == ref.tolist()
    assert kept.tolist() == np.take_along_axis(scores, ref, 1).tolist()


def test_the_first_of_equally_near_cells_is_kept() -> None:
    cells, kept = np.zeros((1, 2), np.int32), np.full((1, 2), -np.inf, np.float32)
    keep_cells(tile_of(np.ones((1, 5), np.float32)), 1, 0, 5, cells, kept)
    assert cells.tolist() == [[0, 1]]


@pytest.mark.parametrize("k", [1, 4])
def test_rows_that_probe_and_rows_that_are_probed_keep_their_best(k: int) -> None:
    n, begin, last = 90, 10, 80
    queries = np.array([3, 12, 40, 85, 89], np.int32)
    scores = np.random.default_rng(2).permutation(5 * n).reshape(5, n).astype(np.float32)
    lists = *empty(n, k), *empty(n, k)
    floors = np.full(n + 2 * LANES, -np.inf, np.float32)
    for column, stop in ((0, 64), (64, last)):
        keep_both(tile_of(scores[:, column:stop]), queries, column, max(begin, column), stop, *lists, floors)
    found, callers = as_lists(*lists[:2]), as_lists(*lists[2:])
    part = np.select([np.arange(n) < begin, np.arange(n) < 64, np.arange(n) < last], [-1, 0, 1], -1)
    for i in range(n):
        asked = [(float(scores[q, j]), j) for q in np.flatnonzero(queries == i) for j in range(begin, last) if j != i]
        assert found[i] == best(asked, k)
        # rows of one span have all asked each other
        came = [(float(scores[q, i]), j) for q, j in enumerate(queries.tolist()) if -1 < part[i] != part[j]]
        # a caller that is no better than what the row found itself may be left out
        floor = min(best(asked, k))[0] if len(asked) >= k else -np.inf
        assert [pair for pair in callers[i] if pair[0] > floor] == [pair for pair in best(came, k) if pair[0] > floor]


@pytest.mark.parametrize("seed", range(3))
def test_lists_are_joined_without_a_row_twice(seed: int) -> None:
    rng, n, k = np.random.default_rng(seed), 12, 4
    pairs = [empty(n, k), empty(n, k)]
    for rows, scores in pairs:
        for i in range(n):
            size = rng.integers(0, k + 1)
            rows[i, :size] = rng.choice(np.delete(np.arange(n), i), size, replace=False)
            scores[i, :size] = np.sort(rng.random(size).astype(np.float32))[::-1]
    (found, scores), (callers, caller_scores) = pairs
    own, others = as_lists(found, scores), as_lists(callers, caller_scores)
    join_lists(0, n, callers, caller_scores, found, scores)
    for i in range(n):
        held = {row for _, row in own[i]}
        ref = [row for _, row in best(own[i] + [pair for pair in others[i] if pair[1] not in held], k)]
        # what is missing is filled with the rows that follow
        ref += [j % n for j in range(i + 1, i + n) if j % n not in ref][: k - len(ref)]
        assert found[i].tolist() == ref


def test_queries_of_a_cell_stand_by_place() -> None:
    cells = np.array([[1, 0], [0, 2], [1, 2], [2, 1]], np.int32)
    order = np.array([1, 0, 2, 3])
    starts = np.array([0, 2, 5, 8])
    queries = np.empty(8, np.int32)
    list_queries(cells, order, starts, queries)
    assert [queries[a:b].tolist() for a, b in ((0, 2), (2, 5), (5, 8))] == [[0, 1], [1, 2, 3], [0, 2, 3]]
    assert starts.tolist() == [0, 2, 5, 8]


class Case:
    """Rows in places, lists of them, and the full matrix of distances between places."""

    def __init__(self, seed: int, n: int, k: int) -> None:
        rng = np.random.default_rng(seed)
        self.rows = rng.standard_normal((n, 8)).astype(np.float32)
        self.factors = rng.uniform(0.5, 2.0, n)
        self.order = rng.permutation(n)
        self.matrix: F64 = distances(self.rows.astype(np.float64) * self.factors[:, None])[
            np.ix_(self.order, self.order)
        ]
        self.places = np.array([rng.choice(np.delete(np.arange(n), i), k, replace=False) for i in range(n)], np.int32)
        self.far = np.empty((n, k))
        measure_places(*self.points, self.order, 0, n, self.places, self.far)

    @property
    def points(self) -> tuple[F32, F64, int]:
        return self.rows.reshape(-1), self.factors, 8

    def coded(self) -> tuple[I8, F64]:
        n = len(self.places)
        codes, terms = np.empty(8 * n, np.int8), np.empty((n, 3))
        for start in range(0, n, 7):
            code_places(*self.points, self.order, start, min(start + 7, n), codes, terms)
        return codes, terms

    def namers(self, fresh: BOOL, many: int) -> tuple[I32, BOOL]:
        n = len(self.places)
        found = (
            np.full((n, many), NONE, np.int32),
            np.full((n, many), np.inf, np.float32),
            np.zeros((n, many), np.bool_),
        )
        for start in range(0, n, 3):
            list_namers(self.places, self.far, fresh, start, min(start + 3, n), *found)
        return found[0], found[2]


def test_lists_are_measured_and_sorted() -> None:
    case = Case(1, 20, 5)
    assert case.far.tolist() == np.take_along_axis(case.matrix, case.places.astype(np.int64), 1).tolist()
    assert (np.diff(case.far, axis=1) >= 0.0).all()


def test_equal_distances_stand_by_place() -> None:
    places, far = np.array([[2, 1], [2, 0], [1, 0]], np.int32), np.empty((3, 2))
    measure_places(np.ones(24, np.float32), np.ones(3), 8, np.arange(3), 0, 3, places, far)
    assert places.tolist() == [[1, 2], [0, 2], [0, 1]]
    assert not far.any()


@pytest.mark.parametrize("many", [1, 4, 30])
def test_the_nearest_namers_that_are_not_listed(many: int) -> None:
    case = Case(2, 30, 4)
    fresh = np.random.default_rng(3).random(case.places.shape) < 0.5
    namers, news = case.namers(fresh, many)
    for j in range(30):
        ref = [i for i in range(30) if j in case.places[i] and i not in case.places[j]]
        ref = sorted(ref, key=lambda i: case.matrix[i, j])[:many]
        assert namers[j].tolist() == ref + [NONE] * (many - len(ref))
        assert news[j, : len(ref)].tolist() == [bool(fresh[i, case.places[i] == j][0]) for i in ref]


def test_coded_rows_lie_as_far_from_theirs_as_the_terms_say() -> None:
    case = Case(6, 40, 3)
    codes, terms = case.coded()
    values, factors, size = case.points
    rows = (values.reshape(-1, size).astype(np.float64) * factors[:, None])[case.order]
    decoded = codes.reshape(-1, size) * terms[:, :1]
    np.testing.assert_allclose((decoded**2).sum(axis=1), terms[:, 1])
    off = np.sqrt(((rows - decoded) ** 2).sum(axis=1))
    assert (off <= terms[:, 2]).all()
    np.testing.assert_allclose(off, terms[:, 2], rtol=1e-4)
    assert (np.abs(codes.reshape(-1, size)).max(axis=1) == 127).all()


def test_a_row_of_zeros_is_coded() -> None:
    codes, terms = np.empty(8, np.int8), np.empty((1, 3))
    code_places(np.zeros(8, np.float32), np.ones(1), 8, np.arange(1), 0, 1, codes, terms)
    assert not codes.any()
    assert terms[0, 1:].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("many", [1, 5])
def test_neighbours_of_neighbours_and_of_namers_are_found(share: float, many: int) -> None:
    case = Case(4, 40, 3)
    fresh = np.random.default_rng(5).random(case.places.shape) < share
    namers, news = case.namers(fresh, many)
    places, far, newer = case.places.copy(), case.far.copy(), fresh.copy()
    seen = np.zeros(40, np.int32)
    coded = case.coded()
    for start, stop in ((0, 17), (17, 40)):
        widen_lists(
            *case.points, case.order, start, stop, *coded, case.places, fresh, namers, news, places, far, newer, seen
        )  # fmt: skip
    for i in range(40):
        known = set(case.places[i].tolist())
        for u, new in [*zip(case.places[i], fresh[i], strict=True), *zip(namers[i], news[i], strict=True)]:
            if u != NONE:
                known |= {int(v) for v, late in zip(case.places[u], fresh[u], strict=True) if new or late}
                known |= {int(u)} if new else set()
        ref = sorted(known - {i}, key=lambda j: case.matrix[i, j])[:3]
        assert places[i].tolist() == ref
        assert far[i].tolist() == case.matrix[i, ref].tolist()
        assert newer[i].tolist() == [j not in case.places[i] for j in ref]

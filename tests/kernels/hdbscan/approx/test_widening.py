from __future__ import annotations

import numpy as np
import pytest

from lamina_kernels.hdbscan.approx.widening import NONE, list_namers, measure_places, widen_lists
from lamina_kernels.layouts import BOOL, F32, F64, I32
from tests.oracles.density import distances


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


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("many", [1, 5])
def test_neighbours_of_neighbours_and_of_namers_are_found(share: float, many: int) -> None:
    case = Case(4, 40, 3)
    fresh = np.random.default_rng(5).random(case.places.shape) < share
    namers, news = case.namers(fresh, many)
    places, far, newer = case.places.copy(), case.far.copy(), fresh.copy()
    seen = np.zeros(40, np.int32)
    for start, stop in ((0, 17), (17, 40)):
        widen_lists(
            *case.points, case.order, start, stop, case.places, fresh, namers, news, places, far, newer, seen
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

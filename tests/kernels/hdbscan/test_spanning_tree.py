from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from lamina_kernels.hdbscan import certified, survey
from lamina_kernels.hdbscan import spanning_tree as module
from lamina_kernels.hdbscan.certified import nearest
from lamina_kernels.hdbscan.packed import Arithmetic, pack
from lamina_kernels.hdbscan.spanning_tree import spanning_tree
from lamina_kernels.hdbscan.union_find import join
from lamina_kernels.layouts import F32, Points, SpanningTree
from lamina_kernels.threads import ThreadTeam
from tests.kernels.hdbscan.test_neighbors import PORTABLE, as_points, sets
from tests.oracles.density import core_distances, dense_prim, distances, mutual_reachability, prim


def grow(points: Points, arithmetic: Arithmetic, k: int, listed: int, *, threads: int = 1) -> SpanningTree:
    packed, team = pack(points, arithmetic, centred=True), ThreadTeam(threads)
    return spanning_tree(points, packed, nearest(points, packed, k, listed, team), team)


def islands(n: int, size: int) -> F32:
    """Tight groups far apart: their lists hold no row outside."""
    rng = np.random.default_rng(5)
    centres = np.repeat(rng.standard_normal((-(-n // size), 8)), size, axis=0)[:n]
    return (centres + 0.01 * rng.standard_normal((n, 8))).astype(np.float32)


def kinds(n: int) -> dict[str, F32]:
    """Islands that estimates see, islands too small for them to see, equal rows, and islands among noise."""
    rng = np.random.default_rng(7)
    plain = rng.standard_normal((n, 8))
    centres = np.repeat(rng.standard_normal((-(-n // 20), 8)), 20, axis=0)[:n]
    found: dict[str, NDArray[np.floating]] = {
        "islands": islands(n, 16),
        "points": centres + 1e-5 * plain,
        "equal": centres,
        "nested": centres + 1e-4 * np.repeat(rng.standard_normal((-(-n // 8), 8)), 8, axis=0)[:n] + 1e-7 * plain,
        "noise": np.where(rng.random((n, 1)) < 0.4, plain, centres + 1e-4 * plain),
        "one": 1.0 + 1e-6 * plain,
    }
    return {name: rng.permutation(rows).astype(np.float32) for name, rows in found.items()}


@pytest.mark.parametrize("arithmetic", PORTABLE)
@pytest.mark.parametrize("name", kinds(1))
def test_tight_groups_get_the_tree_of_the_full_matrix(
    arithmetic: Arithmetic, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(certified, "_LEAST", 2)
    monkeypatch.setattr(survey, "_SMALLEST_CLUMP", 8)
    monkeypatch.setattr(survey, "_LARGE", 0.01)
    n, k = 80, 3
    rows = kinds(n)[name]
    matrix = distances(rows.astype(np.float64))
    ref = prim(mutual_reachability(matrix, core_distances(matrix, k)))
    assert grow(as_points(rows), arithmetic, k, 4, threads=2).weights.tolist() == ref.tolist()


@pytest.mark.parametrize("arithmetic", PORTABLE)
@pytest.mark.parametrize("name", [*sets(1), "islands"])
@pytest.mark.parametrize(("n", "k", "listed"), [(2, 1, 1), (3, 2, 2), (60, 3, 4)])
def test_weights_equal_prim_s_on_the_full_matrix_to_the_bit(
    arithmetic: Arithmetic, name: str, n: int, k: int, listed: int
) -> None:
    rows = islands(n, 10) if name == "islands" else sets(n)[name]
    matrix = distances(rows.astype(np.float64))
    weights = mutual_reachability(matrix, core_distances(matrix, k))
    got = grow(as_points(rows), arithmetic, k, listed)
    ref = prim(weights)
    assert got.weights.tolist() == ref.tolist() == dense_prim(weights).tolist()
    assert got.weights.tolist() == weights[got.source, got.target].tolist()
    assert (got.source < got.target).all()
    parent = np.arange(n)
    assert all(join(parent, i, j) for i, j in zip(got.source.tolist(), got.target.tolist(), strict=True))


@pytest.mark.parametrize("share", [0.0, 100.0])
def test_few_and_many_searched_rows_give_the_same(share: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MANY", share)
    rows = islands(90, 15)
    matrix = distances(rows.astype(np.float64))
    ref = prim(mutual_reachability(matrix, core_distances(matrix, 3)))
    for threads in (1, 2):
        assert grow(as_points(rows), "int16-portable", 3, 4, threads=threads).weights.tolist() == ref.tolist()


def test_row_order_changes_no_weight() -> None:
    rows = islands(60, 12)
    order = np.random.default_rng(6).permutation(60)
    ref, got = (grow(as_points(each), "float32", 3, 4) for each in (rows, rows[order]))
    assert got.weights.tobytes() == ref.weights.tobytes()


def test_dense_prim_of_one_row_and_of_two() -> None:
    assert dense_prim(np.zeros((1, 1))).size == 0
    assert dense_prim(np.array([[0.0, 2.5], [2.5, 0.0]])).tolist() == [2.5]

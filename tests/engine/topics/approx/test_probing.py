from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from lamina_engine.reports import Progress
from lamina_engine.topics.approx import joining, probing
from lamina_engine.topics.approx.probing import probe
from lamina_engine.topics.drift import adjusted_rand
from lamina_engine.topics.hdbscan import Hierarchy, cut, grow
from lamina_engine.topics.points import as_points
from lamina_kernels.hdbscan.packed import make_frame, pack_others
from lamina_kernels.threads import ThreadTeam

Rows = NDArray[np.float32]


def sphere(n: int, groups: int = 20, d: int = 32, seed: int = 1) -> Rows:
    """Groups of different width on the sphere and a third of noise: dense spots that know nothing of each other."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((groups, d))
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    which = rng.integers(0, groups, n)
    rows = centres[which] + rng.standard_normal((n, d)) * (rng.uniform(0.3, 0.6, groups) / np.sqrt(d))[which, None]
    noise = rng.random(n) < 0.3
    rows[noise] = rng.standard_normal((int(noise.sum()), d))
    found: Rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return found


def approximate(rows: Rows, threads: int = 1) -> Hierarchy:
    return grow(rows, method="approx", threads=threads)


def check_tree(rows: Rows, got: Hierarchy) -> None:
    """n − 1 edges that connect all rows, each with the weight that the core distances give it."""
    tree, core = got.spanning_tree, got.core_distances
    points = as_points(rows, "cosine")
    wide = points.values.reshape(len(rows), -1) * points.factors[:, None]
    distance = np.sqrt(((wide[tree.source] - wide[tree.target]) ** 2).sum(axis=1))
    ref = np.maximum(distance, np.maximum(core[tree.source], core[tree.target]))
    np.testing.assert_allclose(tree.weights, ref, rtol=1e-12, atol=1e-12)
    assert got.merge_tree.size[-1] == len(rows)
    assert (np.diff(tree.weights) >= 0.0).all()


@pytest.mark.parametrize("seed", [1, 2])
def test_groups_among_noise_are_those_of_the_exact_way(seed: int) -> None:
    rows = sphere(5000, seed=seed)
    ref, got = grow(rows, method="exact"), approximate(rows)
    check_tree(rows, got)
    assert (got.core_distances >= ref.core_distances).all()
    assert np.mean(got.core_distances == ref.core_distances) > 0.9
    assert adjusted_rand(cut(ref, min_cluster_size=20).labels, cut(got, min_cluster_size=20).labels) > 0.98


def test_without_a_look_around_groups_take_noise_in(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = sphere(5000)
    ref = grow(rows, method="exact")
    least = ref.spanning_tree.weights.sum()
    far = approximate(rows).spanning_tree.weights.sum() - least
    monkeypatch.setattr(joining, "_LEAST", len(rows))
    assert 0.0 <= far < approximate(rows).spanning_tree.weights.sum() - least


def test_threads_change_no_bit() -> None:
    rows = np.concatenate([sphere(3000), np.repeat(sphere(20, seed=3), 25, axis=0)])
    ref = approximate(rows)
    for threads in (2, 3):
        got = approximate(rows, threads)
        assert got.core_distances.tobytes() == ref.core_distances.tobytes()
        for a, b in zip(got.spanning_tree, ref.spanning_tree, strict=True):
            assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize(
    "rows",
    [
        np.ones((70, 8), np.float32),
        np.repeat(sphere(4, d=8), 60, axis=0),
        np.repeat(sphere(2, d=8), [200, 1], axis=0),
        sphere(2, d=8),
        sphere(3, d=8),
        sphere(17, d=8),
    ],
    ids=["equal", "equal groups", "one apart", "two", "three", "as many as listed"],
)
def test_few_and_equal_rows(rows: Rows) -> None:
    got = approximate(rows)
    check_tree(rows, got)
    exact = grow(rows, method="exact")
    assert got.core_distances.tolist() == exact.core_distances.tolist()
    np.testing.assert_allclose(got.spanning_tree.weights, exact.spanning_tree.weights)


def test_a_component_that_fills_its_cells_looks_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    near = np.eye(8)[rng.integers(0, 2, 4000)] + 0.01 * rng.standard_normal((4000, 8))
    rows = near.astype(np.float32)
    monkeypatch.setattr(joining, "_PROBES", 1)
    monkeypatch.setattr(joining, "_BUDGET", 0)
    monkeypatch.setattr(joining, "_FREE", 0)
    check_tree(rows, approximate(rows))


def test_lists_are_exact_as_far_as_they_go() -> None:
    rows = sphere(2000)
    points = as_points(rows, "cosine")
    found = probe(points, "int16-portable", 4, 16, ThreadTeam(2), centred=False)
    neighbors, order = found.neighbors, found.cells.order
    assert sorted(order.tolist()) == list(range(2000))
    assert found.cells.starts[0] == 0
    assert found.cells.starts[-1] == 2000
    wide = points.values.reshape(2000, -1) * points.factors[:, None]
    ref = np.sqrt(((wide[:, None] - wide[neighbors.rows]) ** 2).sum(axis=2))
    np.testing.assert_allclose(neighbors.distances, ref, atol=1e-12)
    assert (np.diff(neighbors.distances, axis=1) >= 0.0).all()
    assert not (neighbors.rows == np.arange(2000)[:, None]).any()
    assert all(len(set(row)) == 16 for row in neighbors.rows.tolist())
    assert neighbors.bound.tolist() == neighbors.distances[:, -1].tolist()
    assert neighbors.core.tolist() == neighbors.distances[:, 3].tolist()


def test_the_cells_nearest_to_each_row() -> None:
    rows = sphere(600)
    points = as_points(rows, "cosine")
    frame = make_frame(points, "float32", centred=False)
    centres = probing.make_cells(points, frame, 20, ThreadTeam(2))
    assert len(centres) == 30
    some = np.arange(0, 600, 7)
    got = probing.nearest_cells(points, frame, some, pack_others(frame, centres), 5, ThreadTeam(2))
    far = ((rows[some, None].astype(np.float64) - centres[None]) ** 2).sum(axis=2)
    assert np.mean(got == np.argsort(far, axis=1)[:, :5]) > 0.99  # estimates may exchange equally near ones


@pytest.mark.parametrize("threads", [1, 2])
def test_progress_rises_through_a_stage_and_may_end_it(threads: int) -> None:
    seen: list[Progress] = []
    rows = sphere(3000)
    grow(rows, method="approx", threads=threads, progress=seen.append)
    for stage in {step.stage for step in seen}:
        shares = [step.done for step in seen if step.stage == stage]
        assert all(0 <= a <= b <= 100 for a, b in pairwise(shares))

    class Enough(Exception):
        pass

    for stop_at in range(1, len(seen), max(1, len(seen) // 5)):
        left = iter(range(stop_at))

        def stop(step: Progress, left: object = left) -> None:
            if next(left, None) is None:  # type: ignore[call-overload]
                raise Enough

        if threads == 1:  # how often two threads report depends on the machine
            with pytest.raises(Enough):
                grow(rows, method="approx", threads=1, progress=stop)

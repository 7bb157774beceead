from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lamina_engine.topics.angles import angular, directions, nearest_centroid, sums
from lamina_engine.topics.assignment import assign, confidence


def at_angle(share: float) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    """A row at this share of half a turn from the first axis."""
    return np.array([[math.cos(math.pi * share), math.sin(math.pi * share), 0.0]], np.float32)


AXES = np.eye(3, dtype=np.float32)


def test_below_the_threshold_joins_and_at_it_does_not() -> None:
    assert assign(at_angle(0.0899), AXES[:1], 0.09).topics.tolist() == [0]
    assert assign(at_angle(0.0901), AXES[:1], 0.09).topics.tolist() == [-1]
    exact = float(angular(at_angle(0.0900), AXES[:1])[0, 0])
    assert assign(at_angle(0.0900), AXES[:1], exact).topics.tolist() == [-1]
    assert assign(at_angle(0.0900), AXES[:1], np.nextafter(exact, 1)).topics.tolist() == [0]


def test_only_the_nearest_counts_and_equals_go_to_the_first() -> None:
    assert assign(at_angle(0.2), AXES, 0.5).topics.tolist() == [0]
    assert assign(at_angle(0.3), AXES, 0.5).topics.tolist() == [1]
    between = np.array([[math.sqrt(0.5), math.sqrt(0.5), 0.0]], np.float32)
    assert assign(between, AXES, 0.5).topics.tolist() == [0]
    assert assign(between, AXES[[1, 0]], 0.5).topics.tolist() == [0]


def test_nothing_to_assign_or_to_assign_to() -> None:
    assert assign(AXES, AXES[:0], 0.5).topics.tolist() == [-1, -1, -1]
    assert assign(AXES[:0], AXES, 0.5).topics.size == 0
    assert assign(np.zeros((1, 3), np.float32), AXES, 1.0).topics.tolist() == [-1]


@given(st.integers(0, 2**31), st.integers(1, 40), st.floats(0.01, 1.0))
def test_whoever_is_assigned_is_within_and_batches_do_not_matter(seed: int, n: int, threshold: float) -> None:
    rng = np.random.default_rng(seed)
    rows, centroids = (directions(rng.standard_normal((m, 5))) for m in (n, 4))
    got = assign(rows, centroids, threshold)
    ref = angular(rows, centroids)
    assert ((got.topics >= 0) == (ref.min(axis=1) < threshold)).all()
    assert (got.topics[got.topics >= 0] == ref.argmin(axis=1)[got.topics >= 0]).all()
    singly = [int(assign(rows[i : i + 1], centroids, threshold).topics[0]) for i in range(n)]
    assert got.topics.tolist() == singly
    sure = confidence(got.distances, threshold)
    assert ((sure >= 0) & (sure <= 1)).all()


@given(st.integers(0, 2**31), st.integers(1, 30), st.integers(1, 6))
def test_the_nearest_centroid_is_that_of_all_angles(seed: int, n: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    rows = directions(rng.standard_normal((n, 4)))
    centroids = directions(np.repeat(rng.standard_normal((count, 4)), 2, axis=0))  # each twice: the first is taken
    ref = angular(rows, centroids)
    best, distances = nearest_centroid(rows, centroids)
    assert best.tolist() == ref.argmin(axis=1).tolist()
    np.testing.assert_allclose(distances, ref.min(axis=1), atol=1e-9)
    ref[np.arange(n), best] = 2.0
    second, further = nearest_centroid(rows, centroids, best)
    assert second.tolist() == ref.argmin(axis=1).tolist()
    np.testing.assert_allclose(further, ref.min(axis=1), atol=1e-9)
    alone = nearest_centroid(rows, centroids[:1], np.zeros(n, np.int64))
    assert alone[1].tolist() == [1.0] * n


def test_sums_by_label_leave_noise_out() -> None:
    got = sums(AXES, np.array([1, -1, 1]), 3)
    np.testing.assert_array_equal(got, [[0, 0, 0], [1, 0, 1], [0, 0, 0]])

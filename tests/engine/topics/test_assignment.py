""""""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_engine.errors import InvalidArgument
from lamina_engine.topics.assignment import (
    angular,
    assign,
    calibrate,
    check_threshold,
    directions,
    measure_confidence,
    nearest_centroid,
    regain_labels,
    sum_by_label,
    threshold_curve,
)
from tests.engine.topics.vaults import blobs


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
    sure = measure_confidence(got.distances, threshold)
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
    got = sum_by_label(AXES, np.array([1, -1, 1]), 3)
    np.testing.assert_array_equal(got, [[0, 0, 0], [1, 0, 1], [0, 0, 0]])


@pytest.mark.parametrize("wrong", [0, 0.0, -0.1, 1.5, "tight", None, True, float("nan")])
def test_what_is_no_threshold_is_refused(wrong: object) -> None:
    with pytest.raises(InvalidArgument, match="auto"):
        check_threshold(wrong)


def test_thresholds() -> None:
    assert check_threshold("auto") is None
    assert check_threshold(0.09) == 0.09
    assert type(check_threshold(np.float32(0.25))) is float
    assert check_threshold(1) == 1.0


def test_the_curve_by_hand() -> None:
    got = threshold_curve(
        np.array([0.1, 0.2, 0.3, 0.4]), np.array([True, True, False, True]), np.array([0.1, 0.25, 0.5])
    )
    np.testing.assert_allclose(got.precision, [1.0, 1.0, 0.75])
    np.testing.assert_allclose(got.recall, [0.0, 0.5, 0.75])
    np.testing.assert_allclose(got.f1, [0.0, 2 / 3, 0.75])


@pytest.mark.parametrize("spread", [0.05, 0.15])
def test_calibrated_thresholds_hold_the_members_and_not_the_others(spread: float) -> None:
    rows, owners = blobs([60, 50, 40], spread=spread)
    labels = np.array(owners)
    got = calibrate(rows, labels)
    distances, right = regain_labels(rows, labels, 3)
    assert right.all()
    assert (distances < got).mean() > 0.98
    assert got < 0.35, "topics stand at right angles: half of the way between them is 0.25"


def test_noise_does_not_count_and_few_topics_have_a_threshold() -> None:
    rows, owners = blobs([30, 30, 30])
    labels = np.array(owners)
    cut = np.where(labels == 2, -1, labels)
    assert calibrate(rows, cut) == calibrate(rows[labels < 2], labels[labels < 2])
    one = np.where(labels == 0, 0, -1)
    assert 0 < calibrate(rows, one) < 0.5
    assert calibrate(rows, np.full(90, -1)) == 0.5
    assert calibrate(rows[:0], labels[:0]) == 0.5
    assert 0 < calibrate(rows[:1], np.zeros(1, np.int64)) <= 0.5

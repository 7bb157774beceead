from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_engine.topics.drift import adjusted_rand, measure_drift, sample_rows

labels = st.lists(st.integers(-1, 3), min_size=2, max_size=12)


@given(st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 3)), min_size=2, max_size=12))
def test_adjusted_rand_is_that_of_counted_pairs(rows: list[tuple[int, int]]) -> None:
    a, b = np.array(rows).T
    pairs = [(a[i] == a[j], b[i] == b[j]) for i in range(len(a)) for j in range(i)]
    both, in_a, in_b = sum(x and y for x, y in pairs), sum(x for x, _ in pairs), sum(y for _, y in pairs)
    expected, most = in_a * in_b / len(pairs), (in_a + in_b) / 2
    ref = 1.0 if most == expected else (both - expected) / (most - expected)
    assert adjusted_rand(a, b) == pytest.approx(ref, abs=1e-12)
    assert adjusted_rand(b, a) == pytest.approx(ref, abs=1e-12)


@given(labels)
def test_names_of_labels_do_not_matter(found: list[int]) -> None:
    a = np.array(found)
    assert adjusted_rand(a, 7 - a) == 1.0


def test_few_rows_agree() -> None:
    assert adjusted_rand(np.array([3]), np.array([1])) == 1.0
    assert adjusted_rand(np.empty(0, np.int64), np.empty(0, np.int64)) == 1.0


def test_drift_is_the_greater_share() -> None:
    got = measure_drift(np.array([2, 3, 4, 5]), np.array([1, 2, 3]), 3)
    assert (got.added.tolist(), got.removed, got.base) == ([4, 5], 1, 3)
    assert got.share == 2 / 3
    assert measure_drift(np.arange(3), np.arange(3), 3).share == 0
    assert measure_drift(np.arange(3), np.arange(0), 0).share == 3
    assert measure_drift(np.arange(3), np.arange(3), 5).removed == 2, "two were forgotten"


def test_the_sample_depends_on_row_numbers_alone() -> None:
    rows = np.arange(40_000)
    got = sample_rows(rows, 0.25)
    assert abs(got.mean() - 0.25) < 0.01
    assert abs(got[:100].mean() - 0.25) < 0.15, "neighbours are not taken together"
    assert sample_rows(rows[::-7], 0.25).tolist() == got[::-7].tolist()
    assert sample_rows(rows, 1.0).all()
    assert (got <= sample_rows(rows, 0.5)).all()

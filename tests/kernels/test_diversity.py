from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_kernels.distances import exact_dots
from lamina_kernels.diversity import (
    fitting_relevance,
    maximal_marginal_relevance,
    near_duplicates,
    slotted_lambda,
)
from lamina_kernels.layouts import F32
from tests.oracles import diversity as oracle


def some_rows(n: int, seed: int) -> F32:
    """Unit rows among which repeats, opposites and a zero row occur."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(-1, 2, (n, 3)).astype(np.float64)
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(norms == 0, 1, norms)).astype(np.float32)


def cosines(vectors: F32) -> list[list[float]]:
    return [exact_dots(vectors, row).tolist() for row in vectors]


@given(
    n=st.integers(0, 12), seed=st.integers(0, 99), lam=st.sampled_from([0.0, 0.3, 0.5, 0.7, 1.0]), k=st.integers(0, 14)
)
def test_relevance_equals_oracle(n: int, seed: int, lam: float, k: int) -> None:
    vectors = some_rows(n, seed)
    relevance = np.random.default_rng(seed).integers(0, 4, n) / 4.0
    got = maximal_marginal_relevance(relevance, vectors, lam, k)
    ref = oracle.maximal_marginal_relevance(relevance.tolist(), cosines(vectors), lam, k)
    assert got.dtype == np.int64
    assert got.tolist() == ref


def test_relevance_alone_is_a_stable_sort() -> None:
    relevance = np.array([0.5, 0.9, 0.5, 0.9])
    assert maximal_marginal_relevance(relevance, some_rows(4, 0), 1.0, 4).tolist() == [1, 3, 0, 2]


def test_a_copy_waits_for_the_different() -> None:
    vectors = np.array([[1, 0], [1, 0], [0, 1]], np.float32)
    assert maximal_marginal_relevance(np.array([0.9, 0.8, 0.5]), vectors, 0.5, 3).tolist() == [0, 2, 1]


@given(n=st.integers(0, 12), seed=st.integers(0, 99), threshold=st.sampled_from([0.1, 0.5, 0.7, 0.99]))
def test_duplicates_equal_oracle(n: int, seed: int, threshold: float) -> None:
    vectors = some_rows(n, seed)
    order = np.random.default_rng(seed).permutation(n)[: max(n - 1, 0)]
    got = near_duplicates(vectors, order, threshold)
    ref = oracle.near_duplicates(cosines(vectors), order.tolist(), threshold)
    assert got.shape == (n,)
    assert sorted(ref) == np.flatnonzero(got).tolist()


@pytest.mark.parametrize("order", [[0, 1, 2], [1, 0, 2]])
def test_the_earlier_of_two_copies_stays(order: list[int]) -> None:
    vectors = np.array([[1, 0], [1, 0], [0, 0]], np.float32)
    got = near_duplicates(vectors, np.array(order), 0.95)
    assert np.flatnonzero(got).tolist() == sorted([order[0], 2])


@pytest.mark.parametrize(("slots", "ref"), [(0, 1.0), (5, 0.9), (10, 0.8), (15, 0.7), (40, 0.7)])
def test_lambda_rises_where_few_fit(slots: int, ref: float) -> None:
    assert slotted_lambda(0.7, slots, 15) == pytest.approx(ref, abs=1e-12)


@given(
    n=st.integers(0, 10), seed=st.integers(0, 99), lam=st.sampled_from([0.0, 0.5, 0.7, 1.0]),
    k=st.integers(0, 12), budget=st.integers(0, 40),
)  # fmt: skip
def test_fitting_relevance_equals_oracle(n: int, seed: int, lam: float, k: int, budget: int) -> None:
    vectors, rng = some_rows(n, seed), np.random.default_rng(seed)
    relevance, sizes = rng.integers(0, 4, n) / 4.0, rng.integers(0, 20, n)
    got = fitting_relevance(relevance, vectors, sizes, budget, lam, k)
    ref = oracle.fitting_relevance(relevance.tolist(), cosines(vectors), sizes.tolist(), budget, lam, k)
    assert got.dtype == np.int64
    assert got.tolist() == ref


def test_what_does_not_fit_gives_way_to_what_does() -> None:
    vectors = np.eye(4, dtype=np.float32)
    relevance, sizes = np.array([1.0, 0.9, 0.5, 0.4]), np.array([60, 70, 30, 10])
    assert fitting_relevance(relevance, vectors, sizes, 100, 0.7, 9).tolist() == [0, 2, 3]


def test_what_has_no_vector_is_as_new_as_can_be() -> None:
    vectors = np.array([[1, 0], [1, 0], [0, 0]], np.float32)
    got = fitting_relevance(np.array([1.0, 0.9, 0.7]), vectors, np.ones(3, np.int64), 9, 0.7, 3)
    assert got.tolist() == [0, 2, 1]

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_kernels.fusion import RANK_CONSTANT, reciprocal_rank_fusion
from tests.oracles import fusion as oracle

lane = st.lists(st.integers(0, 30), max_size=20)


@given(lanes=st.lists(lane, max_size=5), seed=st.integers(0, 2**32 - 1), k=st.sampled_from([1.0, 60.0, 0.5]))
def test_equals_oracle_to_the_bit(lanes: list[list[int]], seed: int, k: float) -> None:
    weights = np.random.default_rng(seed).random(len(lanes)).tolist()
    got = reciprocal_rank_fusion([np.array(each, np.int64) for each in lanes], weights, rank_constant=k)
    ref = oracle.reciprocal_rank_fusion(lanes, weights, k)
    assert got.rows.dtype == np.int64
    assert got.scores.dtype == np.float64
    assert dict(zip(got.rows.tolist(), got.scores.tolist(), strict=True)) == ref
    assert got.rows.tolist() == list(ref)


def test_published_constant() -> None:
    got = reciprocal_rank_fusion([np.array([5, 9]), np.array([9])], [1.0, 1.0])
    assert RANK_CONSTANT == 60
    assert got.rows.tolist() == [5, 9]
    assert got.scores.tolist() == [1 / 61, 1 / 62 + 1 / 61]


def test_a_better_rank_is_never_worse() -> None:
    rows = np.arange(50)
    got = reciprocal_rank_fusion([rows], [0.7])
    assert np.all(np.diff(got.scores) < 0)


def test_a_weight_for_each_lane() -> None:
    with pytest.raises(ValueError, match="zip"):
        reciprocal_rank_fusion([np.array([1])], [])

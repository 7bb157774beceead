from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from lamina_kernels.layouts import BOOL, F64, Score
from lamina_kernels.topk import top_k, top_k_scan
from tests.oracles import topk as oracle

Path = Callable[..., list[tuple[int, float]]]
# few distinct values, so that ties fall on the cut
few = st.sampled_from([-np.inf, -1.0, -0.0, 0.0, 0.25, 0.5, 1.0, np.inf, np.nan])
many = st.floats(width=32)


def scan(scores: NDArray[Score], k: int, mask: BOOL | None = None) -> list[tuple[int, float]]:
    rows, best = np.full(k, -1, np.int64), np.empty(k, scores.dtype)
    masked = np.empty(0, np.uint8) if mask is None else mask.view(np.uint8)
    found = top_k_scan(scores, masked, rows, best)
    return list(zip(rows[:found].tolist(), best[:found].tolist(), strict=True))


def partition(scores: NDArray[Score], k: int, mask: BOOL | None = None) -> list[tuple[int, float]]:
    got = top_k(scores, k, mask)
    assert got.rows.dtype == np.int64
    assert got.scores.dtype == scores.dtype
    return list(zip(got.rows.tolist(), got.scores.tolist(), strict=True))


@pytest.mark.parametrize("path", [partition, scan])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(rows=st.lists(st.tuples(st.one_of(few, many), st.booleans()), max_size=40), k=st.integers(0, 45))
def test_equals_oracle(path: Path, dtype: type, rows: list[tuple[float, bool]], k: int) -> None:
    scores: F64 = np.array([score for score, _ in rows], dtype)
    mask = np.array([keep for _, keep in rows], np.bool_)
    assert path(scores, k) == oracle.top_k(scores.tolist(), k)
    if rows:  # an empty mask means no mask
        assert path(scores, k, mask) == oracle.top_k(scores.tolist(), k, mask.tolist())


@pytest.mark.parametrize("path", [partition, scan])
@pytest.mark.parametrize("shape", ["random", "ascending", "descending", "equal", "few"])
def test_blocks(path: Path, shape: str) -> None:
    rng = np.random.default_rng(7)
    shapes: dict[str, F64] = {
        "random": rng.random(1500),
        "ascending": np.arange(1500.0),
        "descending": -np.arange(1500.0),
        "equal": np.ones(1500),
        "few": rng.integers(0, 9, 1500).astype(np.float64),
    }
    scores = shapes[shape]
    mask = rng.random(1500) < 0.3
    for k in (1, 10, 300):
        assert path(scores, k) == oracle.top_k(scores.tolist(), k)
        assert path(scores, k, mask) == oracle.top_k(scores.tolist(), k, mask.tolist())


@pytest.mark.parametrize("path", [partition, scan])
def test_nothing_qualifies(path: Path) -> None:
    assert path(np.full(5, np.nan), 3) == []
    assert path(np.ones(5), 3, np.zeros(5, np.bool_)) == []
    assert path(np.empty(0), 3) == []


def test_a_byte_mask_is_a_mask() -> None:
    scores = np.array([3.0, 2.0, 1.0])
    assert top_k(scores, 2, np.array([0, 2, 1], np.uint8)).rows.tolist() == [1, 2]

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_kernels.layouts import F32, F64, I32, I64
from lamina_kernels.pooling import pool_words, pool_words_numpy, unit_rows
from tests.oracles import pooling as oracle

Path = Callable[[I32, I64, F64], F32]


def kernel_rows(word_ids: I32, indptr: I64, word_sums: F64) -> F32:
    out = np.full((indptr.size - 1, word_sums.shape[1]), -9, np.float32)
    pool_words(word_ids, indptr, word_sums, out)
    return out


def table(words: int, dim: int, seed: int) -> F64:
    return np.random.default_rng(seed).standard_normal((words, dim)).astype(np.float16).astype(np.float64)


@given(
    texts=st.lists(st.lists(st.integers(0, 7), max_size=11), max_size=6), dim=st.integers(1, 9), seed=st.integers(0, 9)
)
def test_twins_are_equal_to_the_byte_and_equal_the_oracle(texts: list[list[int]], dim: int, seed: int) -> None:
    word_sums = table(8, dim, seed)
    word_sums[0] = -word_sums[1]  # these two cancel
    word_sums[2] = -0.0
    word_ids = np.array([word for text in texts for word in text], np.int32)
    indptr = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    got = kernel_rows(word_ids, indptr, word_sums)
    assert got.tobytes() == pool_words_numpy(word_ids, indptr, word_sums).tobytes()
    ref = np.array([oracle.pool(text, word_sums.tolist(), dim) for text in texts]).reshape(-1, dim)
    np.testing.assert_allclose(got, ref, rtol=2e-7, atol=0)  # one rounding to float32


@pytest.mark.parametrize("dim", [1, 16, 256, 300])
def test_twins_are_equal_to_the_byte_at_real_sizes(dim: int) -> None:
    rng = np.random.default_rng(dim)
    word_ids = rng.integers(0, 50, 60).astype(np.int32)
    indptr = np.array([0, 1, 1, 20, 60])
    word_sums = table(50, dim, dim)
    got = kernel_rows(word_ids, indptr, word_sums)
    assert got.tobytes() == pool_words_numpy(word_ids, indptr, word_sums).tobytes()
    np.testing.assert_allclose(np.linalg.norm(got[[0, 2, 3]], axis=1), 1.0, rtol=1e-6)
    assert not got[1].any()


@pytest.mark.parametrize("path", [kernel_rows, pool_words_numpy])
def test_word_order_does_not_matter(path: Path) -> None:
    word_sums, words = table(30, 64, 1), np.random.default_rng(2).integers(0, 30, 40).astype(np.int32)
    indptr = np.array([0, 40])
    ref = path(words, indptr, word_sums)
    got = path(words[::-1].copy(), indptr, word_sums)
    assert got.tobytes() == ref.tobytes()


@pytest.mark.parametrize("path", [kernel_rows, pool_words_numpy])
def test_no_texts(path: Path) -> None:
    got = path(np.empty(0, np.int32), np.zeros(1, np.int64), table(1, 4, 0))
    assert got.shape == (0, 4)


@pytest.mark.parametrize("d", [1, 2, 255, 256])
def test_one_row_alone_has_the_bytes_it_has_among_others(d: int) -> None:
    sums = np.random.default_rng(d).normal(size=(7, d))
    sums[3], sums[4] = 0.0, -0.0
    ref = unit_rows(sums)
    got = np.concatenate([unit_rows(sums[i : i + 1]) for i in range(7)])
    assert got.tobytes() == ref.tobytes()

from __future__ import annotations

import numpy as np
import pytest

from lamina_engine.index.coarse import LEAST_ROWS, MOST_ROWS, CoarseVectors
from lamina_engine.index.vectors import scan
from lamina_kernels.distances import bounded_nearest, coarse_rows, gather_exact_dots
from tests.oracles.vectors import check_equal, split, unit

N = 3 * LEAST_ROWS


@pytest.fixture(autouse=True)
def compiled() -> None:
    for kernel in (bounded_nearest, coarse_rows, gather_exact_dots):
        kernel.warm()


@pytest.mark.parametrize("dim", [5, 64, 256])
def test_the_answer_is_that_of_a_scan(dim: int) -> None:
    rng = np.random.default_rng(dim)
    matrix = unit(N, dim, dim)
    matrix[rng.integers(N, size=200)] = matrix[7]  # ties, newer first
    matrix[rng.integers(N, size=200)] = 0.0
    blocks, coarse = split(matrix, [100, 2_000]), CoarseVectors()
    for query in (*unit(8, dim, 1), matrix[7]):
        for stop in (N, LEAST_ROWS):
            for live in (None, rng.random(N) < 0.8):
                found = coarse.nearest("v", blocks, query, 30, stop, live)
                assert found is not None
                ref = scan(blocks, query, 30, stop=stop, mask=live)
                check_equal(ref, found)


def test_rows_are_coded_as_they_come_and_anew_for_another_log() -> None:
    matrix, other = unit(N, 32, 1), unit(N, 32, 2)
    coarse, query = CoarseVectors(), unit(1, 32, 3)[0]
    for stop in (LEAST_ROWS, LEAST_ROWS + 1, N, LEAST_ROWS):
        blocks = split(matrix[:stop], [])
        found = coarse.nearest("one", blocks, query, 10, stop, None)
        assert found is not None
        check_equal(scan(blocks, query, 10), found)
    blocks = split(other, [5])
    found = coarse.nearest("two", blocks, query, 10, N, None)
    assert found is not None
    check_equal(scan(blocks, query, 10), found)


def test_what_a_scan_does_better_is_left_to_it() -> None:
    matrix, query, coarse = unit(N, 8, 1), unit(1, 8, 2)[0], CoarseVectors()
    blocks = split(matrix, [])
    few = np.arange(N) < 40
    assert coarse.nearest("v", blocks, query, 10, N, few) is None
    assert coarse.nearest("v", blocks, query, N, N, None) is None
    assert coarse.nearest("v", blocks, np.zeros(8, np.float32), 10, N, None) is None
    far = split(-np.abs(matrix), [])
    assert coarse.nearest("far", far, np.abs(query), 10, N, None) is None  # nothing is near
    many = split(np.zeros((MOST_ROWS + 1, 1), np.float32), [])
    assert coarse.nearest("v", many, np.ones(1, np.float32), 10, MOST_ROWS + 1, None) is None

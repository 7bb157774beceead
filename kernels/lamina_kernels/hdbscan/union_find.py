"""Disjoint sets of rows (Tarjan, 1975).

A set's name is its lowest member, whatever the order of unions. With path halving alone a sequence of m operations on n
rows takes O(m log n) at worst; measured on spanning trees, a find takes one or two steps.
"""

from __future__ import annotations

import numpy as np

from lamina_kernels._jit import kernel
from lamina_kernels.layouts import F64, I32, I64


def _find_examples() -> tuple[object, ...]:
    return np.arange(2), 1


def _join_examples() -> tuple[object, ...]:
    return np.arange(2), 0, 1


@kernel(examples=[_find_examples])
def find(out_parent: I64, i: int) -> int:
    """Return the name of a row's set, halving the path to it.

    Parameters
    ----------
    out_parent : int64 (n,)
        Row above each row; a set's name is above itself. Changed.
    i : int

    Returns
    -------
    int
    """
    while out_parent[i] != i:
        out_parent[i] = out_parent[out_parent[i]]
        i = out_parent[i]
    return i


@kernel(examples=[_join_examples])
def join(out_parent: I64, i: int, j: int) -> bool:
    """Unite the sets of two rows.

    Parameters
    ----------
    out_parent : int64 (n,)
        Changed.
    i, j : int

    Returns
    -------
    bool
        False where they were in one set already.
    """
    a, b = find(out_parent, i), find(out_parent, j)
    if a == b:
        return False
    out_parent[max(a, b)] = min(a, b)
    return True


def _examples() -> tuple[object, ...]:
    return np.arange(2), np.arange(2)


@kernel(examples=[_examples])
def name_sets(out_parent: I64, out_names: I64) -> None:
    """Write the name of every row's set.

    Parameters
    ----------
    out_parent : int64 (n,)
        Halved on the way.
    out_names : int64 (n,)
        Written: the lowest member of the row's set.
    """
    for i in range(out_parent.size):
        out_names[i] = find(out_parent, i)


def _equal_examples() -> tuple[object, ...]:
    return np.array([[1], [0]], np.int32), np.zeros((2, 1)), np.arange(2)


@kernel(examples=[_equal_examples])
def join_equal(rows: I32, distances: F64, out_parent: I64) -> None:
    """Unite each row with those of its neighbours that it is equal to.

    Parameters
    ----------
    rows, distances : int32 and float64 (n, K)
        Nearest first.
    out_parent : int64 (n,)
        Changed.
    """
    for i in range(rows.shape[0]):
        for p in range(rows.shape[1]):
            if distances[i, p] > 0.0:
                break
            join(out_parent, i, rows[i, p])

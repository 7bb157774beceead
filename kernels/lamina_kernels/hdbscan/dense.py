"""Dense spanning tree of a few hundred rows, without Numba.

Squared distances of all pairs come from one matrix product, each off by less than a known slack. They only choose what
is measured: the few listed pairs that may be the k-th nearest, and the edges that no lighter way goes around (the cycle
property). What is measured is measured as the kernels do it, to the bit, so core distances and weights are the same.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from lamina_kernels.layouts import F64, I64, Points, SpanningTree

MOST_ROWS: Final = 1500
"""Some matrices of so many rows take 60 MiB, and as long as loading Numba and a dozen kernels."""

_PAIRS: Final = 1024
"""Pairs measured at a time."""

_LISTED: Final = 4
"""Rows measured beyond the k-th."""


def dense_tree(points: Points, k: int) -> tuple[F64, SpanningTree]:
    """Return core distances and a minimum spanning tree over mutual reachability.

    Parameters
    ----------
    points : Points
        2 ≤ n ≤ `MOST_ROWS` or so.
    k : int
        1 ≤ k < n.

    Returns
    -------
    core : float64 (n,)
    tree : SpanningTree
        Both to the bit as `lamina_kernels.hdbscan.certified.nearest` and `lamina_kernels.hdbscan.spanning_tree` give them.

    Notes
    -----
    O(n² d) by BLAS, O(n k d) measured, 16 n² bytes.
    """
    squares, slack = _estimates(points)
    core = _core_squares(points, squares, slack, k)
    np.maximum(squares, core, out=squares)
    np.maximum(squares, core[:, None], out=squares)
    low, high = _may_be_edges(squares, slack)
    measured = np.maximum(_measure(points, low, high), np.maximum(core[low], core[high]))
    weights = np.sqrt(measured)
    order = np.lexsort((high, low, weights))
    low, high, weights = low[order], high[order], weights[order]
    taken = _lightest(low, high, core.size)
    return np.sqrt(core), SpanningTree(low[taken], high[taken], weights[taken])


def _estimates(points: Points) -> tuple[F64, float]:
    """Return squared distances of all pairs (infinite on the diagonal), and their error bound."""
    n, d = points.factors.size, points.size
    rows = points.values.reshape(n, d) * points.factors[:, None]
    rows -= rows.mean(0)
    lengths = np.einsum("ij,ij->i", rows, rows)
    squares = rows @ rows.T
    squares *= -2.0
    squares += lengths
    squares += lengths[:, None]
    np.fill_diagonal(squares, np.inf)
    # any order of sums is off by at most d units of the last place of |x| |y|, and of the squares
    return squares, 8.0 * (d + 16) * 2.0**-52 * float(lengths.max())


def _core_squares(points: Points, squares: F64, slack: float, k: int) -> F64:
    """Return the squared distance of each row to its k-th nearest other one."""
    n = len(squares)
    listed = min(k + _LISTED, n - 1)
    near = np.argpartition(squares, listed - 1, axis=1)[:, :listed]
    furthest = np.take_along_axis(squares, near, axis=1).max(1)
    source = np.repeat(np.arange(n), listed)
    found = np.sort(_measure(points, source, near.reshape(-1)).reshape(n, listed), axis=1)[:, k - 1]
    for i in np.flatnonzero(found > furthest - slack) if listed < n - 1 else ():
        others = np.flatnonzero(squares[i] <= found[i] + slack)  # itself is infinitely far
        found[i] = np.partition(_measure(points, np.full(others.size, i), others), k - 1)[k - 1]
    return found


def _may_be_edges(weights: F64, slack: float) -> tuple[I64, I64]:
    """Return candidate edges of a minimum spanning tree under that uncertainty; lower row first.

    Notes
    -----
    Prim's algorithm on the estimates; along with each row that is reached, the heaviest edge on the way to all rows
    reached before. A pair that is clearly heavier than its way closes a circle as its heaviest edge.
    """
    n = len(weights)
    around = np.full((n, n), -np.inf)  # rows by when they are reached
    reached, waiting = np.zeros(n, np.int64), np.arange(1, n)
    lightest, source = weights[0, 1:].copy(), np.zeros(n - 1, np.int64)
    found: list[tuple[I64, I64]] = []
    for step in range(1, n):
        at, last = int(np.argmin(lightest)), n - step - 1
        row, way = int(waiting[at]), around[step, :step]
        np.maximum(around[source[at], :step], lightest[at], out=way)
        around[:step, step] = way
        before = reached[:step]
        near = before[weights[row, before] <= way + 2.0 * slack]
        found.append((np.minimum(near, row), np.maximum(near, row)))
        reached[step] = row
        waiting[at], lightest[at], source[at] = waiting[last], lightest[last], source[last]
        waiting, lightest, source = waiting[:last], lightest[:last], source[:last]
        heavy = weights[row, waiting]
        nearer = heavy < lightest
        np.copyto(lightest, heavy, where=nearer)
        source[nearer] = step
    return np.concatenate([low for low, _ in found]), np.concatenate([high for _, high in found])


def _measure(points: Points, left: I64, right: I64) -> F64:
    """Return squared distances of pairs, bit-equal to ``simd.square_distance``."""
    values, factors = points.values.reshape(-1, points.size), points.factors
    found = np.empty(left.size)
    for start in range(0, left.size, _PAIRS):
        i, j = left[start : start + _PAIRS], right[start : start + _PAIRS]
        parts = values[i] * factors[i, None]
        parts -= values[j] * factors[j, None]
        parts *= parts
        sums = np.add.reduce(parts.reshape(i.size, -1, 8), axis=1)  # eight running sums
        while sums.shape[1] > 1:
            half = sums.shape[1] // 2
            sums = sums[:, :half] + sums[:, half:]
        found[start : start + _PAIRS] = sums[:, 0]
    return found


def _lightest(low: I64, high: I64, n: int) -> I64:
    """Return the edges of Kruskal's tree, lightest first, as positions."""
    parent, taken = list(range(n)), []
    for place, (i, j) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
        while parent[i] != i:
            parent[i] = i = parent[parent[i]]
        while parent[j] != j:
            parent[j] = j = parent[parent[j]]
        if i != j:
            parent[max(i, j)] = min(i, j)
            taken.append(place)
            if len(taken) == n - 1:
                break
    return np.array(taken, np.int64)

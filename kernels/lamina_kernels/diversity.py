"""Fewer repetitions among results: maximal marginal relevance, and near-duplicates.

Both are greedy and need one new column of similarities a step; those are `exact_dots`, so the choice is the same on
every machine. Some hundred rows meet here, so NumPy is all of it.

References
----------
.. [1] J. Carbonell, J. Goldstein, "The use of MMR, diversity-based reranking for reordering documents and producing
   summaries", SIGIR 1998.
"""

from __future__ import annotations

import numpy as np

from lamina_kernels.distances import exact_dots
from lamina_kernels.layouts import BOOL, F32, F64, I64


def maximal_marginal_relevance(relevance: F64, vectors: F32, lam: float, k: int) -> I64:
    """Choose rows one by one, each relevant and unlike those already chosen.

    Parameters
    ----------
    relevance : float64 (n,)
        Finite; higher is better.
    vectors : float32 (n, d)
        Unit rows; a zero row is unlike everything.
    lam : float
        In [0, 1]; 1 looks at relevance alone.
    k : int
        How many; at most n come back.

    Returns
    -------
    int64 (min(k, n),)
        Rows in the order chosen; ties by lower row.

    Notes
    -----
    Each step takes the row with the greatest lam · relevance − (1 − lam) · (greatest cosine to a chosen row); the
    first step has no second term.  O(k n d).
    """
    count = min(k, relevance.size)
    order = np.empty(count, np.int64)
    gain = lam * relevance
    closest = np.full(relevance.size, -np.inf)
    value = gain.copy()
    for step in range(count):
        best = int(np.argmax(value))
        order[step] = best
        if step + 1 < count:
            np.maximum(closest, exact_dots(vectors, vectors[best]), out=closest)
            value = gain - (1.0 - lam) * closest
            value[order[: step + 1]] = -np.inf
    return order


def slotted_lambda(lam: float, slots: float, enough: float) -> float:
    """Return λ for a budget: rises evenly to 1 while fewer rows fit than are enough.

    Parameters
    ----------
    lam : float
        In [0, 1].
    slots : float
        Rows that the budget has room for; ≥ 0.
    enough : float
        Rows from which on λ is ``lam``; > 0.
    """
    return lam + (1.0 - lam) * (1.0 - min(slots, enough) / enough)


def fitting_relevance(relevance: F64, vectors: F32, sizes: I64, budget: int, lam: float, k: int) -> I64:
    """Select rows by maximal marginal relevance within a size budget.

    Parameters
    ----------
    relevance : float64 (n,)
        ≥ 0, finite; divided by its greatest.
    vectors : float32 (n, d)
        Unit rows; a zero row is unlike everything.
    sizes : int64 (n,)
        ≥ 0.
    budget : int
        Of all chosen rows together.
    lam : float
        In [0, 1]; 1 looks at relevance alone.
    k : int
        Most rows.

    Returns
    -------
    int64 (m,)
        Rows in the order chosen; ties by lower row.

    Notes
    -----
    As `maximal_marginal_relevance`, with max(0, cosine), and with rows that do not fit what is left passed over at that
    step; it ends when none fits.  O(m n d).
    """
    top = float(relevance.max()) if relevance.size else 0.0
    gain = lam * relevance / (top or 1.0)
    closest = np.zeros(relevance.size)
    free = np.ones(relevance.size, np.bool_)
    order: list[int] = []
    while len(order) < k:
        fits = free & (sizes <= budget)
        if not fits.any():
            break
        best = int(np.argmax(np.where(fits, gain - (1.0 - lam) * closest, -np.inf)))
        order.append(best)
        free[best] = False
        budget -= int(sizes[best])
        np.maximum(closest, exact_dots(vectors, vectors[best]), out=closest)
    return np.array(order, np.int64)


def near_duplicates(vectors: F32, order: I64, threshold: float) -> BOOL:
    """Return which rows to keep so that no two kept rows are nearly the same.

    Parameters
    ----------
    vectors : float32 (n, d)
        Unit rows.
    order : int64 (m,)
        Distinct rows to look at, best first; of two near-duplicates the earlier is kept.
    threshold : float
        Cosine at or above which two rows are near-duplicates; > 0, so that a zero row is nobody's duplicate.

    Returns
    -------
    bool (n,)
        True for kept rows; rows outside ``order`` are False.

    Notes
    -----
    O(kept · m · d).
    """
    keep = np.zeros(vectors.shape[0], np.bool_)
    waiting = order
    while waiting.size:
        first, rest = waiting[0], waiting[1:]
        keep[first] = True
        waiting = rest[exact_dots(vectors[rest], vectors[first]) < threshold]
    return keep

"""Borůvka's rounds over neighbour lists: components, their best edges, edges taken.

What a round knows of a component stands in the place of its name, which is its lowest row. An edge is taken where no
unknown one can be lighter (the cut property); `lamina_kernels.hdbscan.spanning_tree` goes on where none can be proven.
"""

# pyright: reportArgumentType=false
# an element of an array is a number to the compiler, and may be an array to a checker of stubs
from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from lamina_kernels._jit import kernel
from lamina_kernels.hdbscan.union_find import join, name_sets
from lamina_kernels.layouts import F64, I32, I64, Neighbors

UNKNOWN: Final = -1


class Forest(NamedTuple):
    """State of every row (n,): its component, and its best measured edge out of it."""

    parent: I64
    component: I64
    bound: F64  # no unmeasured edge of the row to another component is lighter
    target: I64  # of the lightest edge that a search measured, or −1
    weight: F64


class BestEdges(NamedTuple):
    """State of every component, at the place of its name (n,)."""

    weight: F64
    source: I64
    target: I64
    bound: F64


def single_rows(bound: F64) -> Forest:
    """Return the forest of rows that hang together with no other."""
    n = bound.size
    return Forest(np.arange(n), np.arange(n), bound, np.full(n, UNKNOWN), np.full(n, np.inf))


def find_best_edges(forest: Forest, neighbors: Neighbors, out_starts: I64) -> BestEdges:
    """Return the best known edge out of each component; see `best_edges`."""
    n = out_starts.size
    best = BestEdges(np.full(n, np.inf), np.full(n, UNKNOWN), np.full(n, UNKNOWN), np.full(n, np.inf))
    best_edges(*forest, *neighbors, out_starts, *best)
    return best


def near_order(neighbors: Neighbors) -> I64:
    """Return the rows so that near ones are adjacent: those that the lists join first.

    Notes
    -----
    Borůvka's rounds over the lists alone, and rows sorted by their last component, then the one before, and so on.
    O(n K log n) at worst; the order is good, and nothing depends on it but time.
    """
    n = neighbors.core.size
    forest = single_rows(np.full(n, np.inf))
    starts, levels = np.zeros(n, np.int64), []
    spare = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n)
    while take_edges(*find_best_edges(forest, neighbors, starts), forest.parent, *spare):
        name_sets(forest.parent, forest.component)
        levels.append(forest.component.copy())
    return np.lexsort(levels) if levels else np.arange(n)


def _best_examples() -> tuple[object, ...]:
    rows, numbers = np.zeros(1, np.int64), np.zeros(1)
    forest = rows, rows, numbers, rows, numbers
    lists = np.zeros((1, 1), np.int32), np.zeros((1, 1)), numbers, numbers
    return *forest, *lists, *(each.copy() for each in (rows, numbers, rows, rows, numbers))


@kernel(examples=[_best_examples])
def best_edges(
    parent: I64, component: I64, row_bound: F64, row_target: I64, row_weight: F64,
    rows: I32, distances: F64, list_bound: F64, core: F64,
    out_starts: I64, out_weight: F64, out_source: I64, out_target: I64, out_bound: F64,
) -> None:  # fmt: skip
    """Find the lightest known edge out of each component, and how light an unknown one may be.

    Parameters
    ----------
    parent, component, row_bound, row_target, row_weight
        What is known about each row (n,).
    rows, distances, list_bound, core
        The neighbour lists.
    out_starts : int64 (n,)
        Listed rows before this place are in the row's own component for good; moved on.
    out_weight, out_source, out_target, out_bound
        Written in the place of each component's name; they come in as infinity and −1.

    Notes
    -----
    O(n K), less as the components grow.
    """
    n, k = rows.shape
    for i in range(n):
        c = component[i]
        out_bound[c] = min(out_bound[c], row_bound[i])
        at = out_starts[i]
        while at < k and component[rows[i, at]] == c:
            at += 1
        out_starts[i] = at
        for p in range(at, k):
            if distances[i, p] >= out_weight[c]:
                break
            j = rows[i, p]
            if component[j] != c:
                weight = max(distances[i, p], core[i], core[j])
                if weight < out_weight[c]:
                    out_weight[c], out_source[c], out_target[c] = weight, i, j
        j = row_target[i]
        if j >= 0 and component[j] != c and row_weight[i] < out_weight[c]:
            out_weight[c], out_source[c], out_target[c] = row_weight[i], i, j


def _take_examples() -> tuple[object, ...]:
    floats, ints = np.zeros(1), np.zeros(1, np.int64)
    return floats, ints, ints, floats, np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1)


@kernel(examples=[_take_examples])
def take_edges(
    weight: F64, source: I64, target: I64, bound: F64,
    out_parent: I64, out_source: I64, out_target: I64, out_weights: F64,
) -> int:  # fmt: skip
    """Take the edges that are proven: no heavier than any unknown edge of their component.

    Parameters
    ----------
    weight, source, target, bound
        The best edge of each component, in the place of its name.
    out_parent : int64 (n,)
        Sets of rows; united.
    out_source, out_target, out_weights
        Written from the beginning.

    Returns
    -------
    int
        Edges taken.
    """
    taken = 0
    for c in range(weight.size):
        if source[c] >= 0 and weight[c] <= bound[c] and join(out_parent, source[c], target[c]):
            out_source[taken], out_target[taken], out_weights[taken] = source[c], target[c], weight[c]
            taken += 1
    return taken

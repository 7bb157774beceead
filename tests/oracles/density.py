"""HDBSCAN by its definitions, on full matrices and Python sets: slow, and independent of the kernels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def distances(points: Floats) -> Floats:
    """Full matrix of Euclidean distances; eight running sums, halves added to halves, as everywhere in Lamina."""
    n, d = points.shape
    wide = np.zeros((n, -(-d // 8) * 8))
    wide[:, :d] = points
    out = np.empty((n, n))
    for i in range(n):
        squares = ((wide[i] - wide) ** 2).reshape(n, -1, 8)
        sums = np.zeros((n, 8))
        for part in range(squares.shape[1]):
            sums += squares[:, part]
        while sums.shape[1] > 1:
            half = sums.shape[1] // 2
            sums = sums[:, :half] + sums[:, half:]
        out[i] = np.sqrt(sums[:, 0])
    return out


def core_distances(matrix: Floats, k: int) -> Floats:
    """Distance to the k-th other row."""
    others = matrix.copy()
    np.fill_diagonal(others, -1.0)
    return np.asarray(np.sort(others, axis=1)[:, k])


def mutual_reachability(matrix: Floats, core: Floats) -> Floats:
    return np.maximum(matrix, np.maximum(core[:, None], core))


def prim(weights: Floats) -> Floats:
    """Ascending weights of a minimum spanning tree, one row at a time."""
    n = len(weights)
    inside, taken = {0}, []
    nearest = {j: weights[0, j] for j in range(1, n)}
    while len(inside) < n:
        row = min(nearest, key=lambda j: (nearest[j], j))
        taken.append(nearest.pop(row))
        inside.add(row)
        for j in nearest:
            nearest[j] = min(nearest[j], weights[row, j])
    return np.array(sorted(taken))


class Cluster(NamedTuple):
    """A cluster of the condensed tree: when it begins, which rows leave when, and what it parts into."""

    birth: float
    leaves: dict[int, float]
    children: list[Cluster]
    rows: frozenset[int]


def condensed(weights: Floats, rows: frozenset[int], least: int, birth: float = 0.0) -> Cluster:
    """The condensed tree by its definition: remove the heaviest edges, all of one weight at once."""
    leaves: dict[int, float] = {}
    current = rows
    while len(current) > 1:
        height = _connecting(weights, current)
        parts = _components(weights, current, height)
        large = [part for part in parts if len(part) >= least]
        density = 1.0 / height
        for part in parts:
            if len(part) < least:
                leaves.update(dict.fromkeys(part, density))
        if len(large) > 1:
            return Cluster(birth, leaves, [condensed(weights, part, least, density) for part in large], rows)
        if not large:
            break
        current = large[0]
    return Cluster(birth, leaves, [], rows)


def _connecting(weights: Floats, rows: frozenset[int]) -> float:
    chosen = sorted(rows)
    return float(prim(weights[np.ix_(chosen, chosen)])[-1])


def _components(weights: Floats, rows: frozenset[int], below: float) -> list[frozenset[int]]:
    """Components of the edges that are lighter than a weight."""
    left, found = set(rows), []
    while left:
        part, border = set(), [min(left)]
        while border:
            i = border.pop()
            if i in left:
                left.remove(i)
                part.add(i)
                border.extend(j for j in left if weights[i, j] < below)
        found.append(frozenset(part))
    return found


def mass(cluster: Cluster) -> float:
    own = sum(density - cluster.birth for density in cluster.leaves.values())
    return own + sum((child.birth - cluster.birth) * len(child.rows) for child in cluster.children)


def excess_of_mass(cluster: Cluster, *, root: bool = True) -> tuple[float, list[Cluster]]:
    """The choice with the greatest total mass, the cluster of all rows left out."""
    below = [excess_of_mass(child, root=False) for child in cluster.children]
    total = sum(sorted(each for each, _ in below))
    if root or total > mass(cluster):
        return total, [chosen for _, each in below for chosen in each]
    return mass(cluster), [cluster]


def partition(labels: NDArray[np.int64]) -> set[frozenset[int]]:
    """Labels as a set of sets, noise left out."""
    return {frozenset(np.flatnonzero(labels == label).tolist()) for label in set(labels.tolist()) - {-1}}


def dense_prim(weights: Floats) -> Floats:
    """Weights of a minimum spanning tree of a full matrix, ascending: Prim's algorithm, O(n²)."""
    n = len(weights)
    lightest = weights[0].copy()
    inside = np.zeros(n, np.bool_)
    inside[0] = True
    taken = np.empty(n - 1)
    for step in range(n - 1):
        row = int(np.argmin(np.where(inside, np.inf, lightest)))
        taken[step] = lightest[row]
        inside[row] = True
        np.minimum(lightest, weights[row], out=lightest)
    return np.sort(taken)

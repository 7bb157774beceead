"""Layout of vectors in two dimensions: near ones stay near.

Started from the principal components, then drawn by neighbours (`lamina_kernels.neighbor_map`). The same vectors give the
same bytes on any number of threads: a row's move depends on where all rows stood before its part of the step.
"""

from __future__ import annotations

import itertools
from typing import Final

import numpy as np

from lamina_engine.executor import usable_cpus
from lamina_engine.reports import ProgressListener, ticker
from lamina_engine.topics.approx.probing import nearest_cells, probe
from lamina_engine.topics.points import as_points
from lamina_kernels.hdbscan.packed import fastest, make_frame, pack_others
from lamina_kernels.layouts import F32, F64, I32, I64
from lamina_kernels.neighbor_map import move_rows, unite, weigh_neighbors
from lamina_kernels.threads import ThreadTeam

_NEIGHBOURS: Final = 15
_PARTS: Final = 8
"""Parts of a step: rows of one part see where the earlier parts have moved to."""

_FEW: Final = 10_000
_STEPS_OF_FEW: Final = 500
_STEPS: Final = 200
"""Steps up to so many rows, and beyond: as in the authors' program."""

_PLACING_STEPS: Final = 50
_EXTENT: Final = 10.0
_BLOCK: Final = 1024
_SAMPLE: Final = 4096
_ROUNDS: Final = 60


def principal(vectors: F32) -> F32:
    """Return rows (n, 2) on the principal components of an even sample, at most 10 from 0.

    Notes
    -----
    By orthogonal iteration (Golub and Van Loan, "Matrix Computations", 8.2.4), in sums of a fixed order.
    """
    out = np.zeros((len(vectors), 2), np.float32)
    if len(vectors) < 2 or vectors.shape[1] < 2:
        return out
    sample = vectors[:: -(-len(vectors) // _SAMPLE)].astype(np.float64)
    mean = sample.mean(axis=0)
    sample -= mean
    spread = np.einsum("ij,ik->jk", sample, sample)
    axes = _first_axes(spread)
    for start in range(0, len(vectors), 8 * _BLOCK):
        out[start : start + 8 * _BLOCK] = np.einsum("ij,jk->ik", vectors[start : start + 8 * _BLOCK] - mean, axes)
    longest = float(np.abs(out).max())
    return out if longest == 0.0 else out * np.float32(_EXTENT / longest)


def _first_axes(spread: F64) -> F64:
    """Return the two axes of largest spread (d, 2), each with its largest entry positive."""
    order = np.argsort(-spread.diagonal(), kind="stable")[:2]
    axes = spread[:, order].copy()
    for _ in range(_ROUNDS):
        for at in range(2):
            column = axes[:, at]
            for before in range(at):
                column -= np.einsum("i,i", column, axes[:, before]) * axes[:, before]
            column /= max(float(np.sqrt(np.einsum("i,i", column, column))), 1e-30)
        last, axes = axes, np.einsum("ij,jk->ik", spread, axes)
    signs = np.where(last[np.abs(last).argmax(axis=0), [0, 1]] < 0.0, -1.0, 1.0)
    found: F64 = last * signs
    return found


def lay_out(vectors: F32, *, threads: int | None = None, progress: ProgressListener | None = None) -> F32:
    """Return places of rows, float32 (n, 2); `vectors` are of unit length.

    Notes
    -----
    O(n^1.5 d) for the neighbours, then O(n) a step.
    """
    n = len(vectors)
    places = principal(vectors)
    if n < 4:
        return places
    team = ThreadTeam(threads or usable_cpus(), ticker(progress, "map", 0, 40))
    points = as_points(vectors, "cosine")
    k = min(_NEIGHBOURS, n - 1)
    found = probe(points, fastest(), k, min(n - 1, _NEIGHBOURS + 1), team, centred=False).neighbors
    rows = np.ascontiguousarray(found.rows[:, :k])
    weights = _weigh(found.distances[:, :k], team)
    del found, points
    steps = _STEPS_OF_FEW if n <= _FEW else _STEPS
    indptr = np.empty(n + 1, np.int64)
    unite(rows, weights, 1.0 / steps, indptr, np.empty(0, np.int32), np.empty(0, np.float32))
    near, rates = np.empty(int(indptr[-1]), np.int32), np.empty(int(indptr[-1]), np.float32)
    unite(rows, weights, 1.0 / steps, indptr, near, rates)
    del rows, weights
    team.tick = ticker(progress, "map", 40, 100)
    _move(indptr, near, rates, places, 0, steps, team)
    return places


def place(vectors: F32, places: F32, added: F32, *, threads: int | None = None) -> F32:
    """Return places of added rows (m, 2) among rows that stay where they are (n, 2)."""
    n, m = len(vectors), len(added)
    if n == 0 or m == 0:
        return principal(added)
    team = ThreadTeam(threads or usable_cpus())
    points = as_points(added, "cosine")
    frame = make_frame(points, fastest(), centred=False)
    wide = np.zeros((n, points.size), np.float32)
    wide[:, : vectors.shape[1]] = vectors
    rows = nearest_cells(points, frame, np.arange(m), pack_others(frame, wide), min(_NEIGHBOURS, n), team)
    distances = np.empty(rows.shape)
    for start in range(0, m, _BLOCK):
        part = slice(start, start + _BLOCK)
        distances[part] = 2.0 - 2.0 * np.einsum("ij,ikj->ik", added[part], vectors[rows[part]], dtype=np.float64)
    order = np.lexsort((rows, distances))
    rows, distances = (
        np.take_along_axis(rows, order, 1),
        np.sqrt(np.maximum(np.take_along_axis(distances, order, 1), 0.0)),
    )
    everywhere = np.concatenate([places, places[rows[:, 0]]])
    indptr = np.concatenate([np.zeros(n, np.int64), np.arange(m + 1, dtype=np.int64) * rows.shape[1]])
    _move(indptr, rows.reshape(-1), _weigh(distances, team).reshape(-1), everywhere, n, _PLACING_STEPS, team)
    return everywhere[n:]


def _weigh(distances: F64, team: ThreadTeam) -> F32:
    """Return the weights of sorted neighbours, by one minus their cosine."""
    apart = np.ascontiguousarray(distances**2 / 2.0)
    out = np.empty(apart.shape, np.float32)
    n = len(apart)
    team.run(lambda _, start: weigh_neighbors(apart, start, min(start + _BLOCK, n), out), range(0, n, _BLOCK))
    return out


def _move(indptr: I64, near: I32, rates: F32, places: F32, first: int, steps: int, team: ThreadTeam) -> None:
    """Move the rows from ``first`` on, in place."""
    out = places.copy()
    edges = np.linspace(first, len(places), _PARTS + 1).astype(np.int64).tolist()
    tick, team.tick = team.tick, None
    for step in range(steps):
        pace = 1.0 - step / steps
        for begin, end in itertools.pairwise(edges):

            def work(_: int, start: int, end: int = end, step: int = step, pace: float = pace) -> None:
                team.check()
                move_rows(indptr, near, rates, places, start, min(start + _BLOCK, end), step, pace, out)

            team.run(work, range(begin, end, _BLOCK))
            places[begin:end] = out[begin:end]
        if tick is not None:
            tick((step + 1) / steps)

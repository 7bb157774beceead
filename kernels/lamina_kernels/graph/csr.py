"""Links as compressed sparse rows: built by counting, patched where rows changed, checked.

A row keeps the order in which its links were given, so rows are sorted when the input is. Nine bytes a link and eight
a node, each direction.

Building is a counting sort, first into buckets of neighbouring nodes, then by node within each bucket. The twin sorts
the sources stably, which gives the same arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lamina_kernels._jit import is_ready, kernel
from lamina_kernels.layouts import BOOL, F32, I32, I64, U8, Csr

KERNEL_LINKS = 200_000
"""From so many links on, loading Numba costs less than sorting without it."""
_MANY = 32  # where one row in so many is replaced, masks over all links cost less than a slice for each row
_SHIFT = 13
_WIDTH = 1 << _SHIFT  # nodes in a bucket: its counts are 64 KiB, and 1M nodes make 123 buckets to write to at once


def build(n: int, source: I32, target: I32, weight: F32, relation: U8) -> Csr:
    """Return the links of n nodes by source.

    Parameters
    ----------
    n : int
        Nodes; every end lies in [0, n).
    source, target : int32 (m,)
    weight : float32 (m,)
    relation : uint8 (m,)

    Returns
    -------
    Csr
        Links of one node in the order given.

    Notes
    -----
    O(n + m) by the kernel; O(m log m) by the twin, which serves small inputs until the kernel is ready.
    """
    if source.size < KERNEL_LINKS and not is_ready(fill_csr):
        return build_numpy(n, source, target, weight, relation)
    out = _empty(n, source.size)
    fill_csr(source, target, weight, relation, *out)
    return out


def build_numpy(n: int, source: I32, target: I32, weight: F32, relation: U8) -> Csr:
    """Group the links of n nodes by source; twin of `fill_csr`, arguments as for `build`."""
    order = np.argsort(source, kind="stable")
    indptr = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(source, minlength=n), out=indptr[1:])
    return Csr(indptr, target[order], weight[order], relation[order])


def sources(links: Csr) -> I32:
    """Return int32 (m,): the node that owns each entry."""
    n = links.indptr.size - 1
    return np.repeat(np.arange(n, dtype=np.int32), np.diff(links.indptr))


def entries(indptr: I64, nodes: I64) -> tuple[I64, I64]:
    """Return the entries of some nodes' rows, row after row.

    Parameters
    ----------
    indptr : int64 (n + 1,)
        Of the links.
    nodes : int64 (k,)
        In any order.

    Returns
    -------
    owners : int64 (e,)
        Position in ``nodes`` of each entry's node.
    entries : int64 (e,)
        Position of each entry in the other arrays.
    """
    starts = indptr[nodes]
    sizes = indptr[nodes + 1] - starts
    owners = np.repeat(np.arange(nodes.size), sizes)
    return owners, np.arange(owners.size) + np.repeat(starts - (np.cumsum(sizes) - sizes), sizes)


def replace_rows(links: Csr, nodes: I64, rows: Csr) -> Csr:
    """Replace some rows; readers merge recent changes this way.

    Parameters
    ----------
    links : Csr
        n nodes; read-only arrays (a mapped file) are fine.
    nodes : int64 (k,)
        Nodes whose rows are replaced, ascending and distinct.
    rows : Csr
        Their new rows, as rows of n' ≥ n nodes; those of other nodes are empty.

    Returns
    -------
    Csr
        n' nodes, new arrays.

    Notes
    -----
    O(n' + m): copied in k + 1 pieces, at the speed of memory, where few rows change; by masks where many do.
    """
    n, m = links.indptr.size - 1, links.indices.size
    old = np.concatenate([links.indptr, np.full(rows.indptr.size - 1 - n, m, np.int64)])
    sizes = np.diff(old)
    sizes[nodes] = np.diff(rows.indptr)[nodes]
    indptr = np.zeros(rows.indptr.size, np.int64)
    np.cumsum(sizes, out=indptr[1:])
    if nodes.size * _MANY > sizes.size:
        changed = np.zeros(sizes.size, np.bool_)
        changed[nodes] = True
        stays, comes = ~np.repeat(changed, np.diff(old)), np.repeat(changed, sizes)
        return Csr(
            indptr,
            _merged(links.indices, rows.indices, stays, comes),
            _merged(links.weights, rows.weights, stays, comes),
            _merged(links.relations, rows.relations, stays, comes),
        )
    bounds = list(zip(old[nodes].tolist(), old[nodes + 1].tolist(), strict=True))
    new = list(zip(rows.indptr[nodes].tolist(), rows.indptr[nodes + 1].tolist(), strict=True))
    return Csr(
        indptr,
        _spliced(links.indices, rows.indices, bounds, new),
        _spliced(links.weights, rows.weights, bounds, new),
        _spliced(links.relations, rows.relations, bounds, new),
    )


def _merged(kept: NDArray[Any], patch: NDArray[Any], stays: BOOL, comes: BOOL) -> Any:
    """Merge the kept entries of one column with all of another."""
    merged = np.empty(comes.size, kept.dtype)
    merged[~comes] = kept[stays]
    merged[comes] = patch
    return merged


def _spliced(kept: NDArray[Any], patch: NDArray[Any], old: list[tuple[int, int]], new: list[tuple[int, int]]) -> Any:
    """Return a column with slices ``old`` of it replaced by slices ``new`` of another."""
    parts, at = [], 0
    for (start, stop), (begin, end) in zip(old, new, strict=True):
        parts += [kept[at:start], patch[begin:end]]
        at = stop
    return np.concatenate([*parts, kept[at:]])


def check(links: Csr) -> str | None:
    """Check that every offset and node is in bounds; return the fault, or None. O(n + m)."""
    n, m = links.indptr.size - 1, links.indices.size
    if n < 0 or links.weights.size != m or links.relations.size != m:
        return "its arrays have lengths that do not fit together"
    if links.indptr[0] != 0 or links.indptr[n] != m or (links.indptr[1:] < links.indptr[:-1]).any():
        return "its offsets do not ascend from 0 to the number of links"
    # as unsigned, a negative node is a large one: one pass instead of two
    if m and int(links.indices.view(np.uint32).max()) >= n:
        return f"it names a node outside its {n}"
    return None


def _empty(n: int, m: int) -> Csr:
    return Csr(np.empty(n + 1, np.int64), np.empty(m, np.int32), np.empty(m, np.float32), np.empty(m, np.uint8))


def _fill_examples() -> tuple[object, ...]:
    ends = np.zeros(1, np.int32)
    return ends, ends, np.ones(1, np.float32), np.zeros(1, np.uint8), *_empty(1, 1)


@kernel
def _scatter(
    source: I32, target: I32, weight: F32, relation: U8, out_at: I64, out_keys: I32, out_targets: I32, out_weights: F32
) -> None:
    """Bucket links by source; a key is the source within its bucket, then the relation."""
    for i in range(source.size):
        bucket = source[i] >> _SHIFT
        at = out_at[bucket]
        out_at[bucket] = at + 1
        out_keys[at] = ((source[i] & (_WIDTH - 1)) << 8) | relation[i]
        out_targets[at] = target[i]
        out_weights[at] = weight[i]


@kernel(examples=[_fill_examples])
def fill_csr(
    source: I32,
    target: I32,
    weight: F32,
    relation: U8,
    out_indptr: I64,
    out_indices: I32,
    out_weights: F32,
    out_relations: U8,
) -> None:
    """Sort links by source, stably, by counting.

    Parameters
    ----------
    source, target : int32 (m,)
        In [0, n).
    weight : float32 (m,)
    relation : uint8 (m,)
    out_indptr : int64 (n + 1,)
        Written.
    out_indices : int32 (m,)
        Written.
    out_weights : float32 (m,)
        Written.
    out_relations : uint8 (m,)
        Written.

    Notes
    -----
    O(n + m), serial; 12 bytes a link for the time of the call. Counting over all nodes at once writes to three random
    places a link: it took twice as long at 1M nodes and 10M links as going through buckets, each of which counts
    within a cache.
    """
    n, m = out_indptr.size - 1, source.size
    buckets = (n >> _SHIFT) + 1
    bounds = np.zeros(buckets + 1, np.int64)
    for i in range(m):
        bounds[(source[i] >> _SHIFT) + 1] += 1
    for bucket in range(buckets):
        bounds[bucket + 1] += bounds[bucket]
    keys, targets, weights = np.empty(m, np.int32), np.empty(m, np.int32), np.empty(m, np.float32)
    _scatter(source, target, weight, relation, bounds[:-1].copy(), keys, targets, weights)
    cursor = np.empty(_WIDTH, np.int64)
    for bucket in range(buckets):
        start, stop, first = bounds[bucket], bounds[bucket + 1], bucket << _SHIFT
        cursor[:] = 0
        for i in range(start, stop):
            cursor[keys[i] >> 8] += 1
        at = start
        for u in range(min(_WIDTH, n - first)):
            count = cursor[u]
            out_indptr[first + u] = cursor[u] = at
            at += count
        for i in range(start, stop):
            at = cursor[keys[i] >> 8]
            cursor[keys[i] >> 8] = at + 1
            out_indices[at] = targets[i]
            out_weights[at] = weights[i]
            out_relations[at] = keys[i] & 255
    out_indptr[n] = m

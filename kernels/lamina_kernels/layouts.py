"""Array types by short names, and the NamedTuples of arrays that cross kernels.

A NamedTuple passes into compiled code as it is; all arrays are C-contiguous and may be read-only.
"""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

F32: TypeAlias = NDArray[np.float32]
F64: TypeAlias = NDArray[np.float64]
I8: TypeAlias = NDArray[np.int8]
I32: TypeAlias = NDArray[np.int32]
I64: TypeAlias = NDArray[np.int64]
U8: TypeAlias = NDArray[np.uint8]
U16: TypeAlias = NDArray[np.uint16]
U32: TypeAlias = NDArray[np.uint32]
U64: TypeAlias = NDArray[np.uint64]
BOOL: TypeAlias = NDArray[np.bool_]

Score = TypeVar("Score", np.float32, np.float64)


class TopK(NamedTuple, Generic[Score]):
    """Best rows, best first; of equal scores the lower row first.

    Attributes
    ----------
    rows : int64 (k,)
    scores : float32 or float64 (k,)
    """

    rows: I64
    scores: NDArray[Score]


class RowScores(NamedTuple):
    """Distinct rows in ascending order, each with its score.

    Attributes
    ----------
    rows : int64 (n,)
    scores : float64 (n,)
    """

    rows: I64
    scores: F64


class TermRows(NamedTuple):
    """Forward lists: for each row its distinct term hashes, with a count per zone.

    Attributes
    ----------
    indptr : int64 (n + 1,)
        Row ``i`` owns entries ``indptr[i]`` to ``indptr[i + 1]``.
    hashes : uint32 (nnz,)
        Ascending and distinct within a row.
    body, header, context : uint8 (nnz,)
        How often the term stands in each zone of the row.
    lengths : uint16 (n, 3)
        Terms in body, header and context, repeats counted.
    """

    indptr: I64
    hashes: U32
    body: U8
    header: U8
    context: U8
    lengths: U16


class Csr(NamedTuple):
    """Compressed sparse rows: typed, weighted links by source (transposed: by target).

    Attributes
    ----------
    indptr : int64 (n + 1,)
        Node ``u`` owns entries ``indptr[u]`` to ``indptr[u + 1]``.
    indices : int32 (m,)
        The node at the other end.
    weights : float32 (m,)
        In (0, 1].
    relations : uint8 (m,)
        Code of the relation.
    """

    indptr: I64
    indices: I32
    weights: F32
    relations: U8


class Walk(NamedTuple):
    """Nodes in the order a walk took them, each with its incoming link.

    Attributes
    ----------
    nodes : int32 (k,)
        Distinct.
    scores : float64 (k,)
        0 in walks that do not score.
    hops : int32 (k,)
        0 for what the walk began with.
    parents : int32 (k,)
        Position in this walk of the node before it; -1 for what the walk began with.
    entries : int64 (k,)
        Position of the link from the parent among the links that were walked; -1 for what the walk began with.
    outward : uint8 (k,)
        1 where that link was walked from source to target, and its position is that among links by source; 0 where it
        was walked against its direction, among links by target.
    """

    nodes: I32
    scores: F64
    hops: I32
    parents: I32
    entries: I64
    outward: U8


class Points(NamedTuple):
    """Points of a Euclidean space: each row times its own factor.

    Attributes
    ----------
    values : float32 (n · d,)
        Row after row; d is a multiple of 8, filled up with zeros.
    factors : float64 (n,)
        1 for the Euclidean metric; one over the row's length for chords between unit rows.
    size : int
        d.
    """

    values: F32
    factors: F64
    size: int


class Neighbors(NamedTuple):
    """Certified nearest rows of each row, with a bound on the distance of any other.

    Attributes
    ----------
    rows : int32 (n, K)
        Nearest first, equal distances by lower row; never the row itself.
    distances : float64 (n, K)
    bound : float64 (n,)
        Every row that is not listed is at least this far away; infinite where all are listed.
    core : float64 (n,)
        Distance to the k-th nearest other row, exactly.
    """

    rows: I32
    distances: F64
    bound: F64
    core: F64


class SpanningTree(NamedTuple):
    """n − 1 edges that connect n rows at least total weight, lightest first.

    Attributes
    ----------
    source, target : int64 (n − 1,)
        source < target.
    weights : float64 (n − 1,)
        Mutual reachability: the greatest of both core distances and the distance.
    """

    source: I64
    target: I64
    weights: F64


class MergeTree(NamedTuple):
    """Dendrogram: rows are nodes 0 to n − 1; node n + i joins two or more at one height.

    Attributes
    ----------
    parent : int64 (n + m,)
        A parent's number is greater than its children's; the root, the last node, has −1.
    height : float64 (m,)
        Of node n + i, ascending.
    size : int64 (n + m,)
        Rows below each node.
    """

    parent: I64
    height: F64
    size: I64


class CondensedTree(NamedTuple):
    """Clusters of at least so many rows, when they come about and where each row leaves them.

    Density λ is one over height. Cluster 0 holds all rows; a parent's number is lower than its children's.

    Attributes
    ----------
    row_cluster : int64 (n,)
        The last cluster that each row belongs to.
    row_lambda : float64 (n,)
        Density at which it leaves that cluster.
    parent : int64 (c,)
        −1 for cluster 0.
    birth : float64 (c,)
        Density at which each cluster parts from its parent; 0 for cluster 0.
    size : int64 (c,)
        Rows of each cluster at its birth.
    """

    row_cluster: I64
    row_lambda: F64
    parent: I64
    birth: F64
    size: I64

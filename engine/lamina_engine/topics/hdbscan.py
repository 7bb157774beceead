"""HDBSCAN over vectors: exact or approximate hierarchies, cuts, and trees as tables.

Everything up to the dendrogram depends on ``min_samples`` and the metric alone and takes nearly all the time
(`grow`); a cut takes milliseconds (`cut`), so several cuts of one hierarchy are nearly free.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from lamina_engine.arguments import whole_of
from lamina_engine.errors import InvalidArgument
from lamina_engine.executor import usable_cpus
from lamina_engine.reports import Progress, ProgressListener, ticker
from lamina_engine.topics.approx.joining import join_probed
from lamina_engine.topics.approx.probing import probe
from lamina_engine.topics.points import Metric, as_points
from lamina_kernels._jit import is_ready
from lamina_kernels.hdbscan.certified import list_length, nearest, pack_for_proofs
from lamina_kernels.hdbscan.dense import MOST_ROWS, dense_tree
from lamina_kernels.hdbscan.hierarchy import Method, choose, condense, flatten, merge_tree, outlier_scores
from lamina_kernels.hdbscan.packed import Arithmetic, fastest, pack_rows
from lamina_kernels.hdbscan.spanning_tree import spanning_tree
from lamina_kernels.hdbscan.survey import PairBounds
from lamina_kernels.layouts import F64, I64, CondensedTree, MergeTree, SpanningTree
from lamina_kernels.threads import ThreadTeam

if TYPE_CHECKING:
    import pyarrow as pa

Way = Literal["exact", "approx", "auto"]

EXACT_ROWS: Final = 200_000
"""Up to here ``auto`` is exact. Exact time grows with n², that of cells nearly with n; see decision 0010."""


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """A dendrogram over rows, with the spanning tree and core distances.

    Attributes
    ----------
    method : {"exact", "approx"}
    core_distances : float64 (n,)
        Distance of each row to its ``min_samples``-th other row.
    spanning_tree : SpanningTree
    merge_tree : MergeTree
    """

    method: Literal["exact", "approx"]
    core_distances: F64
    spanning_tree: SpanningTree
    merge_tree: MergeTree


@dataclass(frozen=True, slots=True)
class Clustering:
    """A flat clustering and the tree it was cut from.

    Attributes
    ----------
    labels : int64 (n,)
        −1 is noise; 0 the largest cluster.
    probabilities, outlier_scores : float64 (n,)
        In [0, 1].
    clusters : int64 (labels,)
        Each label's cluster in the condensed tree.
    condensed_tree : CondensedTree
    """

    labels: I64
    probabilities: F64
    outlier_scores: F64
    clusters: I64
    condensed_tree: CondensedTree


def grow(
    vectors: NDArray[np.generic],
    *,
    min_samples: int = 4,
    metric: Metric = "cosine",
    method: Way = "auto",
    threads: int | None = None,
    arithmetic: Arithmetic | None = None,
    ties: Literal["joint", "binary"] = "joint",
    progress: ProgressListener | None = None,
) -> Hierarchy:
    """Return the hierarchy of density of vectors.

    Notes
    -----
    Exact: O(n² d / 2) in the packed arithmetic. Approximate: O(n^1.5 d). Memory besides the vectors: 0.25 to 1 times
    theirs, and 16 K n bytes a thread for lists of K = 16 or 32.
    """
    _check(min_samples=min_samples, metric=metric, method=method, threads=threads)
    if len(vectors) < 2:
        if len(vectors):
            as_points(vectors, metric)
        return _trivial(len(vectors))
    points = as_points(vectors, metric)
    n = points.factors.size
    if method != "approx" and arithmetic is None and _is_quicker_plain(n):
        if progress is not None:
            progress(Progress("neighbours", 0))
        core, tree = dense_tree(points, min(min_samples, n - 1))
        if progress is not None:
            progress(Progress("spanning tree", 100))
        return Hierarchy("exact", core, tree, merge_tree(tree, ties))
    approximate = method == "approx" or (method == "auto" and n > EXACT_ROWS)
    arithmetic = arithmetic or fastest()
    k = min(min_samples, n - 1)
    team = ThreadTeam(threads or usable_cpus(), ticker(progress, "neighbours"))
    if approximate:
        probed = probe(points, arithmetic, k, min(n - 1, max(16, 2 * k)), team, centred=metric == "euclidean")
        neighbors = probed.neighbors
        team.tick = ticker(progress, "spanning tree")
        tree = join_probed(points, probed, team)
    else:
        packed = pack_for_proofs(points, k, arithmetic, team, centred=metric == "euclidean")
        survey = PairBounds(points, packed, team)
        neighbors = nearest(points, packed, k, list_length(packed.arithmetic, k, n), team, survey)
        team.tick = ticker(progress, "spanning tree")
        tree = spanning_tree(points, packed, neighbors, team, survey)
    return Hierarchy("approx" if approximate else "exact", neighbors.core, tree, merge_tree(tree, ties))


def cut(
    hierarchy: Hierarchy,
    *,
    min_cluster_size: int = 4,
    method: Method = "eom",
    epsilon: float = 0.0,
    max_cluster_size: int | None = None,
    allow_single_cluster: bool = False,
) -> Clustering:
    """Return a flat clustering of a hierarchy."""
    check_cut(min_cluster_size=min_cluster_size, method=method, epsilon=epsilon, max_cluster_size=max_cluster_size)
    tree = condense(hierarchy.merge_tree, min_cluster_size)
    if tree.row_cluster.size == 0:
        none = np.empty(0, np.int64)
        return Clustering(none, np.empty(0), np.empty(0), none, tree)
    chosen = choose(
        tree, method, epsilon=float(epsilon), max_cluster_size=max_cluster_size,
        allow_single_cluster=bool(allow_single_cluster),
    )  # fmt: skip
    flat = flatten(tree, chosen, epsilon=float(epsilon))
    return Clustering(flat.labels, flat.probabilities, outlier_scores(tree), flat.clusters, tree)


def check_cut(*, min_cluster_size: int, method: str, epsilon: float, max_cluster_size: int | None) -> None:
    """Raise InvalidArgument where an option of `cut` is outside what is allowed."""
    whole_of(min_cluster_size, "min_cluster_size", 2)
    check_choice("cluster_selection_method", method, get_args(Method))
    if isinstance(epsilon, bool) or not (isinstance(epsilon, (int, float)) and 0.0 <= epsilon < float("inf")):
        raise InvalidArgument(f"cluster_selection_epsilon={epsilon!r} must be a distance from 0 up")
    if max_cluster_size is not None:
        whole_of(max_cluster_size, "max_cluster_size", min_cluster_size)


class _Patience:
    """Pairs compared without Numba in this process, up to the cost of loading it."""

    def __init__(self, pairs: int) -> None:
        self.pairs = pairs

    def take(self, pairs: int) -> bool:
        """Return whether so many more are still worth it; if so they are counted."""
        self.pairs -= pairs
        return self.pairs >= 0


_patience: Final = _Patience(4 * MOST_ROWS**2)


def _is_quicker_plain(n: int) -> bool:
    """Return whether few rows are quicker without loading Numba; the bits are the same."""
    return n <= MOST_ROWS and not is_ready(pack_rows) and _patience.take(n * n)


def _trivial(n: int) -> Hierarchy:
    """Return the hierarchy of no row, or of one."""
    rows = np.empty(0, np.int64)
    return Hierarchy(
        "exact", np.zeros(n), SpanningTree(rows, rows, np.empty(0)),
        MergeTree(np.full(n, -1), np.empty(0), np.ones(n, np.int64)),
    )  # fmt: skip


def _check(*, min_samples: int, metric: str, method: str, threads: int | None) -> None:
    whole_of(min_samples, "min_samples")
    check_choice("metric", metric, get_args(Metric))
    check_choice("method", method, get_args(Way))
    if threads is not None:
        whole_of(threads, "n_jobs")


def check_choice(name: str, value: object, allowed: tuple[str, ...]) -> None:
    """Raise InvalidArgument where a value is none of the allowed ones."""
    if value not in allowed:
        raise InvalidArgument(f"{name}={value!r} must be one of {', '.join(map(repr, allowed))}")


def condensed_table(tree: CondensedTree) -> pa.Table:
    """Return a condensed tree as a table in the hdbscan package's form."""
    n = tree.row_cluster.size
    parent = np.concatenate([tree.row_cluster, tree.parent[1:]]) + n
    child = np.concatenate([np.arange(n), np.arange(1, tree.parent.size) + n])
    density = np.concatenate([tree.row_lambda, tree.birth[1:]])
    size = np.concatenate([np.ones(n, np.int64), tree.size[1:]])
    if n < 2:  # one row leaves nothing
        parent, child, density, size = parent[:0], child[:0], density[:0], size[:0]
    order = np.lexsort((child, density, parent))
    import pyarrow as pa

    return pa.table(
        {"parent": parent[order], "child": child[order], "lambda_val": density[order], "child_size": size[order]}
    )


def merge_table(tree: MergeTree) -> pa.Table:
    """Return a dendrogram as a table with one line for each node."""
    n = tree.parent.size - tree.height.size
    import pyarrow as pa

    return pa.table(
        {
            "node": np.arange(tree.parent.size),
            "parent": tree.parent,
            "height": np.concatenate([np.zeros(n), tree.height]),
            "size": tree.size,
        }
    )


def linkage_matrix(tree: MergeTree) -> NDArray[np.float64]:
    """Return a dendrogram as SciPy's linkage matrix; m children become m − 1 lines."""
    n = tree.parent.size - tree.height.size
    lines = np.empty((max(n - 1, 0), 4))
    name = np.arange(tree.parent.size)  # what SciPy calls each node
    children = np.argsort(tree.parent[:-1], kind="stable") if n > 1 else np.empty(0, np.int64)
    parents = tree.parent[children]
    line = 0
    for node, start, stop in zip(
        range(n, tree.parent.size),
        np.searchsorted(parents, np.arange(n, tree.parent.size)).tolist(),
        np.searchsorted(parents, np.arange(n, tree.parent.size), side="right").tolist(),
        strict=True,
    ):
        merged = children[start]
        left, size = int(name[merged]), int(tree.size[merged])
        for child in children[start + 1 : stop].tolist():
            size += int(tree.size[child])
            lines[line] = left, name[child], tree.height[node - n], size
            left = n + line
            line += 1
        name[node] = left
    return lines

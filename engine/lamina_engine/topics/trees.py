"""The trees of a clustering as tables, for people and other libraries."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lamina_kernels.layouts import CondensedTree, MergeTree


def condensed_table(tree: CondensedTree) -> pa.Table:
    """Return a condensed tree as a table with one line for each cluster and each row, as the hdbscan package has it.

    Returns
    -------
    pyarrow.Table
        parent, child (int64): rows are 0 to n − 1, clusters from n on, n holds all. lambda_val (float64): one over the
        distance at which the child leaves the parent. child_size (int64). Ordered by parent, then λ, then child.
    """
    n = tree.row_cluster.size
    parent = np.concatenate([tree.row_cluster, tree.parent[1:]]) + n
    child = np.concatenate([np.arange(n), np.arange(1, tree.parent.size) + n])
    density = np.concatenate([tree.row_lambda, tree.birth[1:]])
    size = np.concatenate([np.ones(n, np.int64), tree.size[1:]])
    if n < 2:  # one row leaves nothing
        parent, child, density, size = parent[:0], child[:0], density[:0], size[:0]
    order = np.lexsort((child, density, parent))
    return pa.table(
        {"parent": parent[order], "child": child[order], "lambda_val": density[order], "child_size": size[order]}
    )


def merge_table(tree: MergeTree) -> pa.Table:
    """Return a dendrogram as a table with one line for each node.

    Returns
    -------
    pyarrow.Table
        node, parent (int64, −1 for the root), height (float64, 0 for rows), size (int64). Nodes are joined at one
        height at once, so one may have many children.
    """
    n = tree.parent.size - tree.height.size
    return pa.table(
        {
            "node": np.arange(tree.parent.size),
            "parent": tree.parent,
            "height": np.concatenate([np.zeros(n), tree.height]),
            "size": tree.size,
        }
    )


def linkage_matrix(tree: MergeTree) -> NDArray[np.float64]:
    """Return a dendrogram as SciPy's linkage matrix: a node of m children becomes m − 1 lines of one height.

    Returns
    -------
    float64 (n − 1, 4)
        Two merged nodes, height, rows below.
    """
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

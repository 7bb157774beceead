"""Mass pushed along paths of given relations: which nodes lie at the end of many strong links of the right kinds.

A path names one relation for each hop. A seed begins with its score as mass. At each hop a node keeps the share α of
its mass as its result and divides the rest among the links of the hop's relation, in proportion to their weights, at
most `FAN` of them: outward ones first, heaviest first, then inward ones. Mass of at most `LEAST` goes no further, and
results of at most `LEAST` do not count. Over several paths the greatest result of a node counts, not the sum.

All arrays are as small as what was reached, so NumPy is the main path.

References
----------
.. [1] R. Andersen, F. Chung, K. Lang, "Local graph partitioning using PageRank vectors", FOCS 2006, section 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lamina_kernels.csr import entries
from lamina_kernels.layouts import BOOL, F64, I32, I64, U8, Csr

ALPHA = 0.15
LEAST = 1e-4
FAN = 10


class Pushed(NamedTuple):
    """What mass came to, best first; equal scores by path, then in the order in which they were met.

    Attributes
    ----------
    nodes : int32 (k,)
        Distinct.
    scores : float64 (k,)
    paths : int64 (k,)
        Which of the paths gave the score.
    """

    nodes: I32
    scores: F64
    paths: I64


def push(
    forward: Csr,
    backward: Csr,
    seeds: I32,
    scores: F64,
    paths: Sequence[Sequence[int]],
    inward: U8,
    blocked: U8,
    budget: int,
) -> Pushed:
    """Push mass from seeds along every path, and keep each node's best result.

    Parameters
    ----------
    forward, backward : Csr
        Links by source, and by target; n nodes.
    seeds : int32 (s,)
        Distinct and not blocked.
    scores : float64 (s,)
        Mass of each; ≥ 0.
    paths : sequence of sequence of int
        For each path the code of the relation of each hop.
    inward : uint8 (256,)
        1 for relations that are also walked from target to source.
    blocked : uint8 (⌈n / 8⌉,)
        Nodes that receive nothing; see `lamina_kernels.khop.block`.
    budget : int
        Most nodes to return.

    Returns
    -------
    Pushed

    Notes
    -----
    O(links of the nodes that hold mass), and their logarithm.
    """
    found = [push_path(forward, backward, seeds, scores, path, inward, blocked) for path in paths]
    nodes = np.concatenate([seeds[:0], *(each for each, _ in found)])
    results = np.concatenate([scores[:0], *(each for _, each in found)])
    which = np.repeat(np.arange(len(found)), [each.size for each, _ in found]).astype(np.int64)
    order = np.argsort(-results, kind="stable")
    order = order[_first_of_each(nodes[order])][:budget]
    return Pushed(nodes[order], results[order], which[order])


def push_path(
    forward: Csr, backward: Csr, seeds: I32, scores: F64, path: Sequence[int], inward: U8, blocked: U8
) -> tuple[I32, F64]:
    """Return nodes in the order in which mass met them, and their results; parameters as for `push`."""
    met, mass = seeds, scores
    all_nodes, all_results = [seeds], [scores * ALPHA]
    for relation in path:
        pushing = mass > LEAST
        nodes, shares = _shares(
            forward, backward, met[pushing], mass[pushing], relation, bool(inward[relation]), blocked
        )
        met, mass = _summed(nodes, shares)
        all_nodes.append(met)
        all_results.append(mass * ALPHA)
    nodes, results = _summed(np.concatenate(all_nodes), np.concatenate(all_results))
    kept = results > LEAST
    return nodes[kept], results[kept]


def _shares(
    forward: Csr, backward: Csr, nodes: I32, mass: F64, relation: int, inward: bool, blocked: U8
) -> tuple[I32, F64]:
    """Return what each link that carries mass leads to, and how much it carries."""
    wide = nodes.astype(np.int64)
    owners, targets, weights = _links(forward, wide, relation, blocked)
    sides = np.zeros(owners.size, np.int64)
    if inward:
        more_owners, more_targets, more_weights = _links(backward, wide, relation, blocked)
        sides = np.concatenate([sides, np.ones(more_owners.size, np.int64)])
        owners = np.concatenate([owners, more_owners])
        targets = np.concatenate([targets, more_targets])
        weights = np.concatenate([weights, more_weights])
    order = np.lexsort((-weights, sides, owners))
    owners, targets, weights = owners[order], targets[order], weights[order]
    starts = np.searchsorted(owners, owners)  # where the links of each link's owner begin
    kept = np.arange(owners.size) - starts < FAN
    owners, targets, weights = owners[kept], targets[kept], weights[kept]
    totals = np.bincount(owners, weights, minlength=nodes.size)
    return targets, mass[owners] * (1.0 - ALPHA) * (weights / totals[owners])


def _links(links: Csr, nodes: I64, relation: int, blocked: U8) -> tuple[I64, I32, F64]:
    owners, found = entries(links.indptr, nodes)
    targets = links.indices[found]
    good: BOOL = (links.relations[found] == relation) & (
        blocked[targets >> 3] >> (targets & 7).astype(np.uint8) & 1 == 0
    )
    return owners[good], targets[good], links.weights[found[good]].astype(np.float64)


def _summed(nodes: I32, amounts: F64) -> tuple[I32, F64]:
    """Add up by node, one by one in order; nodes stay in the order in which they first occur."""
    first = _first_of_each(nodes)
    distinct = nodes[first]
    ascending = np.argsort(distinct, kind="stable")
    slots = ascending[np.searchsorted(distinct[ascending], nodes)] if nodes.size else np.empty(0, np.int64)
    sums: F64 = np.bincount(slots, amounts, minlength=distinct.size).astype(np.float64, copy=False)
    return distinct, sums


def _first_of_each(nodes: I32) -> I64:
    """Return where each distinct node first occurs, ascending."""
    order = np.argsort(nodes, kind="stable")
    ranked = nodes[order]
    new = np.ones(nodes.size, np.bool_)
    new[1:] = ranked[1:] != ranked[:-1]
    return np.sort(order[new])

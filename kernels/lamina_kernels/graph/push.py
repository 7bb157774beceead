"""Personalised mass push along paths of given relations.

A path names one relation for each hop. A seed begins with its score as mass. At each hop a node keeps the share α of
its mass as its result and divides the rest among the links of the hop's relation, in proportion to their weights, at
most `FAN` of them: outward ones first, heaviest first, then inward ones. Mass of at most `LEAST` goes no further, and
results of at most `LEAST` do not count. Over several paths the greatest result of a node counts, not the sum.

What is looked at is as small as what was reached, in NumPy too; but that takes some thirty calls a hop, which cost
twenty times what the work does. So the kernel walks all paths in one call, and the twin serves until it is compiled.

References
----------
.. [1] R. Andersen, F. Chung, K. Lang, "Local graph partitioning using PageRank vectors", FOCS 2006, section 3.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lamina_kernels._jit import is_ready, kernel
from lamina_kernels.graph.csr import entries
from lamina_kernels.graph.hops import RELATIONS, _slot_of, csr_example
from lamina_kernels.layouts import BOOL, F64, I32, I64, U8, Csr
from lamina_kernels.topk import top_k_scan

ALPHA = 0.15
LEAST = 1e-4
FAN = 10


class Pushed(NamedTuple):
    """Nodes by pushed mass, best first; ties by path, then by first arrival.

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
        Nodes that receive nothing; see `lamina_kernels.graph.hops.block`.
    budget : int
        Most nodes to return.

    Returns
    -------
    Pushed

    Notes
    -----
    O(links of the nodes that hold mass), and their logarithm.
    """
    if is_ready(push_paths):
        room = max(budget, 0)
        out = Pushed(np.empty(room, np.int32), np.empty(room), np.empty(room, np.int64))
        codes, ends = _flat(tuple(map(tuple, paths)))
        k = push_paths(forward, backward, seeds, scores, codes, ends, inward, blocked, out.nodes, out.scores, out.paths)
        return Pushed(out.nodes[:k], out.scores[:k], out.paths[:k])
    return push_numpy(forward, backward, seeds, scores, paths, inward, blocked, budget)


def push_numpy(
    forward: Csr,
    backward: Csr,
    seeds: I32,
    scores: F64,
    paths: Sequence[Sequence[int]],
    inward: U8,
    blocked: U8,
    budget: int,
) -> Pushed:
    """Push mass from seeds along every path; twin of `push_paths`, arguments as for `push`."""
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
    """Return nodes in order of first arrival, and their mass; parameters as for `push`."""
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
    """Return the target of each link that carries mass, and the mass."""
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


@functools.lru_cache(maxsize=64)
def _flat(paths: tuple[tuple[int, ...], ...]) -> tuple[I64, I64]:
    """Return the relations of all paths in one row, and where each path ends."""
    codes = np.array([code for path in paths for code in path], np.int64)
    return codes, np.cumsum([len(path) for path in paths], dtype=np.int64)


def _examples() -> tuple[object, ...]:
    return (
        csr_example(), csr_example(), np.zeros(1, np.int32), np.ones(1), np.zeros(1, np.int64), np.ones(1, np.int64),
        np.ones(RELATIONS, np.uint8), np.zeros(1, np.uint8), np.empty(2, np.int32), np.empty(2), np.empty(2, np.int64),
    )  # fmt: skip


@kernel
def _sum_by_node(nodes: I32, amounts: F64) -> tuple[I32, F64]:
    """Add up by node, one by one in order; nodes stay in the order in which they first occur."""
    size = 16
    while size < 2 * nodes.size:
        size *= 2
    keys, places = np.full(size, -1, np.int32), np.empty(size, np.int64)
    distinct, sums = np.empty(nodes.size, np.int32), np.zeros(nodes.size)
    found = 0
    for i in range(nodes.size):
        at = _slot_of(nodes[i], keys)
        if keys[at] < 0:
            keys[at], places[at] = nodes[i], found
            distinct[found] = nodes[i]
            found += 1
        sums[places[at]] += amounts[i]
    return distinct[:found], sums[:found]


@kernel
def _heaviest(links: Csr, node: int, relation: int, blocked: U8, first: int, out_targets: I32, out_weights: F64) -> int:
    """Append a node's heaviest links of a relation while there is room; return the new count."""
    found = first
    for i in range(links.indptr[node], links.indptr[node + 1]):
        if links.relations[i] != relation:
            continue
        v = links.indices[i]
        if blocked[v >> 3] & np.uint8(1 << (v & 7)):
            continue
        weight = np.float64(links.weights[i])
        at = found
        if found == out_targets.size:
            if found == first or weight <= out_weights[found - 1]:
                continue
            at = found - 1
        else:
            found += 1
        while at > first and out_weights[at - 1] < weight:  # of equal ones the first stays first
            out_targets[at], out_weights[at] = out_targets[at - 1], out_weights[at - 1]
            at -= 1
        out_targets[at], out_weights[at] = v, weight
    return found


@kernel
def _push_hop(
    forward: Csr, backward: Csr, nodes: I32, mass: F64, relation: int, inward: U8, blocked: U8
) -> tuple[I32, F64]:
    """Sum the mass of one hop by node, in the order of first arrival."""
    pushing = 0
    for i in range(nodes.size):
        pushing += mass[i] > LEAST
    met, shares = np.empty(pushing * FAN, np.int32), np.empty(pushing * FAN)
    targets, weights = np.empty(FAN, np.int32), np.empty(FAN)
    m = 0
    for i in range(nodes.size):
        if not mass[i] > LEAST:
            continue
        found = _heaviest(forward, nodes[i], relation, blocked, 0, targets, weights)
        if inward[relation] != 0:
            found = _heaviest(backward, nodes[i], relation, blocked, found, targets, weights)
        total = 0.0
        for j in range(found):
            total += weights[j]
        for j in range(found):
            met[m], shares[m] = targets[j], mass[i] * (1.0 - ALPHA) * (weights[j] / total)
            m += 1
    return _sum_by_node(met[:m], shares[:m])


@kernel
def _best_of_each(nodes: I32, results: F64, out_rows: I64, out_results: F64) -> int:
    """Write the positions of the greatest results of distinct nodes, best first."""
    size = 16
    while size < 2 * nodes.size:
        size *= 2
    keys, places = np.full(size, -1, np.int32), np.empty(size, np.int64)
    best = np.full(nodes.size, np.nan)  # which no scan returns
    for i in range(nodes.size):
        at = _slot_of(nodes[i], keys)
        if keys[at] < 0:
            keys[at], places[at] = nodes[i], i
            best[i] = results[i]
        elif results[i] > best[places[at]]:
            best[places[at]] = np.nan
            best[i] = results[i]
            places[at] = i
    return top_k_scan(best, np.empty(0, np.uint8), out_rows, out_results)


@kernel(examples=[_examples])
def push_paths(
    forward: Csr,
    backward: Csr,
    seeds: I32,
    scores: F64,
    codes: I64,
    ends: I64,
    inward: U8,
    blocked: U8,
    out_nodes: I32,
    out_scores: F64,
    out_paths: I64,
) -> int:
    """Push mass from seeds along every path, and keep each node's best result.

    Parameters
    ----------
    forward, backward : Csr
        Links by source, and by target; n nodes.
    seeds : int32 (s,)
        Distinct and not blocked.
    scores : float64 (s,)
        Mass of each; ≥ 0.
    codes : int64 (c,)
        The relation of each hop, path after path.
    ends : int64 (p,)
        One past the last hop of each path.
    inward : uint8 (256,)
        1 for relations that are also walked from target to source.
    blocked : uint8 (⌈n / 8⌉,)
        Nodes that receive nothing; see `lamina_kernels.graph.hops.block`.
    out_nodes : int32 (k,)
        Written, as `Pushed` has them; k is the budget.
    out_scores : float64 (k,)
        Written.
    out_paths : int64 (k,)
        Written.

    Returns
    -------
    int
        How many were written, at most k.

    Notes
    -----
    O(links of the nodes that hold mass), serial; nothing grows with n.
    """
    all_nodes, all_results, last = np.empty(0, np.int32), np.empty(0), np.empty(ends.size, np.int64)
    begin = 0
    for path in range(ends.size):
        met, mass = seeds.copy(), scores.copy()
        nodes, results = met, mass * ALPHA
        for hop in range(begin, ends[path]):
            met, mass = _push_hop(forward, backward, met, mass, codes[hop], inward, blocked)
            nodes, results = np.concatenate((nodes, met)), np.concatenate((results, mass * ALPHA))
        begin = ends[path]
        nodes, results = _sum_by_node(nodes, results)
        kept = results > LEAST
        all_nodes, all_results = np.concatenate((all_nodes, nodes[kept])), np.concatenate((all_results, results[kept]))
        last[path] = all_nodes.size
    rows = np.empty(out_nodes.size, np.int64)
    found = _best_of_each(all_nodes, all_results, rows, out_scores)
    for i in range(found):
        out_nodes[i] = all_nodes[rows[i]]
        out_paths[i] = np.searchsorted(last, rows[i], side="right")
    return found

"""Matches passed along links: from starts to what they link to, hop by hop.

A node receives from a neighbour u the share s of the link's relation, its weight w and a fan-out factor::

    received(v) = max over links of  score(u) · s · w · min(1, sqrt(FAN / links of u walked that way))

so what comes of a strong node counts more than what comes of a weak one, and an index page that links to everything
passes little to each. Of several links the greatest counts, of equal ones the first: outward links before inward ones, for each
the frontier in order, a row in its own order. Starts receive from each other in the first hop. What was reached receives
no more, and passes on what it has unless it is a start.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lamina_kernels._jit import is_ready, kernel
from lamina_kernels.graph.csr import entries
from lamina_kernels.graph.hops import RELATIONS, _closed_table, _slot_of, csr_example, cut_walk, empty_walk
from lamina_kernels.layouts import F64, I32, I64, U8, U64, Csr, Walk

FAN = 8
"""Links of one node up to which each passes the whole of its share."""
LEAST = 0.01
"""Below it nothing is passed on; the greatest score of a start is 1."""


class _Arrivals(NamedTuple):
    """Links that something is passed along."""

    nodes: I64
    scores: F64
    parents: I64
    entries: I64
    outward: U8

    def at(self, places: I64) -> _Arrivals:
        """Return some of them."""
        return _Arrivals(
            self.nodes[places], self.scores[places], self.parents[places], self.entries[places], self.outward[places]
        )


def spread(
    forward: Csr, backward: Csr, starts: I32, scores: F64, shares_out: F64, shares_in: F64, hashes: U64, blocked: U8,
    depth: int, width: int,
) -> Walk:  # fmt: skip
    """Pass the scores of starts along links.

    Parameters
    ----------
    forward, backward : Csr
        Links by source, and by target; n nodes.
    starts : int32 (s,)
        Distinct and not blocked.
    scores : float64 (s,)
        In [0, 1].
    shares_out, shares_in : float64 (256,)
        Of each relation from source to target, and from target to source; 0 passes nothing.
    hashes : uint64 (n,)
        Of nodes that receive the same, the one of the smaller hash goes before. Distinct.
    blocked : uint8 (⌈n / 8⌉,)
        Nodes that receive nothing; see `lamina_kernels.graph.hops.block`.
    depth, width : int
        Hops, and nodes taken in each: those that receive most. ≥ 0.

    Returns
    -------
    Walk
        The starts, then by hop what received, most first. Starts occur twice that received in the first hop.

    Notes
    -----
    O(links of the starts and of what was reached).
    """
    if not is_ready(spread_links):
        return spread_numpy(forward, backward, starts, scores, shares_out, shares_in, hashes, blocked, depth, width)
    out = empty_walk(starts.size + depth * width)
    found = spread_links(
        forward, backward, starts, scores, shares_out, shares_in, hashes, blocked, depth, width,
        out.nodes, out.scores, out.hops, out.parents, out.entries, out.outward,
    )  # fmt: skip
    return cut_walk(out, found)


def spread_numpy(
    forward: Csr, backward: Csr, starts: I32, scores: F64, shares_out: F64, shares_in: F64, hashes: U64, blocked: U8,
    depth: int, width: int,
) -> Walk:  # fmt: skip
    """Pass the scores of starts along links; twin of `spread_links`."""
    zeros = np.zeros(starts.size, np.int32)
    hops = [Walk(starts, scores, zeros, zeros - 1, zeros.astype(np.int64) - 1, zeros.astype(np.uint8))]
    frontier, passed, places = starts.astype(np.int64), scores, np.arange(starts.size)
    taken: I64 = np.empty(0, np.int64)
    found = starts.size
    for hop in range(1, depth + 1):
        arrivals = _arrivals(forward, backward, frontier, passed, shares_out, shares_in)
        met = _best_arrivals(arrivals, hashes, blocked, taken, width)
        if not met.nodes.size:
            break
        parents, nodes = places[met.parents].astype(np.int32), met.nodes.astype(np.int32)
        hops.append(Walk(nodes, met.scores, np.full_like(parents, hop), parents, met.entries, met.outward))
        fresh = np.flatnonzero(~np.isin(met.nodes, starts))
        frontier, passed, places = met.nodes[fresh], met.scores[fresh], found + fresh
        taken, found = np.concatenate([taken, starts, met.nodes]).astype(np.int64), found + met.nodes.size
    return Walk(*(np.concatenate(column) for column in zip(*hops, strict=True)))


def _arrivals(forward: Csr, backward: Csr, frontier: I64, scores: F64, shares_out: F64, shares_in: F64) -> _Arrivals:
    """Return what each link of the frontier passes on, outward links first."""
    parts = []
    for links, share, outward in ((forward, shares_out, 1), (backward, shares_in, 0)):
        owners, found = entries(links.indptr, frontier)
        passed = share[links.relations[found]]
        owners, found, passed = owners[passed > 0.0], found[passed > 0.0], passed[passed > 0.0]
        fan = np.bincount(owners, minlength=len(frontier))[owners]
        passed = passed * links.weights[found] * np.minimum(1.0, np.sqrt(FAN / fan)) * scores[owners]
        direction = np.full(len(found), outward, np.uint8)
        parts.append(_Arrivals(links.indices[found].astype(np.int64), passed, owners, found, direction))
    return _Arrivals(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _best_arrivals(met: _Arrivals, hashes: U64, blocked: U8, taken: I64, most: int) -> _Arrivals:
    """Return the best arrival at each of the ``most`` nodes that receive most."""
    closed = blocked[met.nodes >> 3] >> (met.nodes & 7).astype(np.uint8) & 1
    kept = np.flatnonzero((met.scores >= LEAST) & (closed == 0) & ~np.isin(met.nodes, taken))
    order = kept[np.lexsort((hashes[met.nodes[kept]], -met.scores[kept]))]  # stable: the first of equal links stands
    _, first = np.unique(met.nodes[order], return_index=True)
    return met.at(order[np.sort(first)][:most])


def _spread_examples() -> tuple[object, ...]:
    shares, out = np.ones(RELATIONS), empty_walk(2)
    return (
        csr_example(), csr_example(), np.zeros(1, np.int32), np.ones(1), shares, shares, np.zeros(1, np.uint64),
        np.zeros(1, np.uint8), 1, 1, out.nodes, out.scores, out.hops, out.parents, out.entries, out.outward,
    )  # fmt: skip


@kernel
def _count_row(links: Csr, shares: F64, node: int) -> int:
    """Count the links of a node that pass something on."""
    count = 0
    for i in range(links.indptr[node], links.indptr[node + 1]):
        count += shares[links.relations[i]] > 0.0
    return int(count)


@kernel
def _receive(
    links: Csr, shares: F64, outward: int, node: int, score: float, position: int, blocked: U8, met: int,
    out_keys: I32, out_values: I32, out_nodes: I32, out_best: F64, out_via: I64, out_owners: I32, out_outward: U8,
) -> int:  # fmt: skip
    """Pass a score along a node's links of one direction; return how many received something."""
    fan = _count_row(links, shares, node)
    if fan == 0:
        return met
    factor = min(1.0, np.sqrt(FAN / fan))
    for i in range(links.indptr[node], links.indptr[node + 1]):
        share = shares[links.relations[i]]
        v = links.indices[i]
        if not share > 0.0 or blocked[v >> 3] & np.uint8(1 << (v & 7)):
            continue
        passed = share * links.weights[i] * factor * score
        if not passed >= LEAST:
            continue
        at = _slot_of(v, out_keys)
        j = met
        if out_keys[at] < 0:
            out_keys[at], out_values[at], out_nodes[met] = v, met, v
            met += 1
        else:
            j = out_values[at]
            if j < 0 or not passed > out_best[j]:
                continue
        out_best[j], out_via[j], out_owners[j], out_outward[j] = passed, i, position, outward
    return met


@kernel
def _choose_most(scores: F64, nodes: I32, hashes: U64, out_chosen: I64) -> int:
    """Write positions of the greatest scores, ties by the smaller hash; return their number."""
    size = 0
    for j in range(scores.size):
        at = size
        while at > 0 and (
            scores[j] > scores[out_chosen[at - 1]]
            or (scores[j] == scores[out_chosen[at - 1]] and hashes[nodes[j]] < hashes[nodes[out_chosen[at - 1]]])
        ):
            at -= 1
        if at == out_chosen.size:
            continue
        size = min(size + 1, out_chosen.size)
        for i in range(size - 1, at, -1):
            out_chosen[i] = out_chosen[i - 1]
        out_chosen[at] = j
    return size


@kernel(examples=[_spread_examples])
def spread_links(
    forward: Csr,
    backward: Csr,
    starts: I32,
    scores: F64,
    shares_out: F64,
    shares_in: F64,
    hashes: U64,
    blocked: U8,
    depth: int,
    width: int,
    out_nodes: I32,
    out_scores: F64,
    out_hops: I32,
    out_parents: I32,
    out_entries: I64,
    out_outward: U8,
) -> int:
    """Pass the scores of starts along links; see `spread`.

    Parameters
    ----------
    forward, backward : Csr
    starts : int32 (s,)
    scores : float64 (s,)
    shares_out, shares_in : float64 (256,)
    hashes : uint64 (n,)
    blocked : uint8 (⌈n / 8⌉,)
    depth, width : int
    out_nodes : int32 (s + depth · width,)
        Written, as `Walk` has them.
    out_scores : float64 (s + depth · width,)
        Written.
    out_hops, out_parents : int32 (s + depth · width,)
        Written.
    out_entries : int64 (s + depth · width,)
        Written.
    out_outward : uint8 (s + depth · width,)
        Written.

    Returns
    -------
    int
        How many the walk has.

    Notes
    -----
    O(links met + nodes met · width in the worst order), serial.
    """
    first = starts.size
    for i in range(first):
        out_nodes[i], out_scores[i], out_hops[i] = starts[i], scores[i], 0
        out_parents[i], out_entries[i], out_outward[i] = -1, -1, 0
    own, _ = _closed_table(starts, 0)
    chosen = np.empty(width, np.int64)
    start, at = 0, first
    for hop in range(1, depth + 1):
        m = 0
        for position in range(start, at):
            u = out_nodes[position]
            m += forward.indptr[u + 1] - forward.indptr[u] + backward.indptr[u + 1] - backward.indptr[u]
        keys, values = _closed_table(out_nodes[:at] if hop > 1 else out_nodes[:0], m)
        nodes, best, via = np.empty(m, np.int32), np.empty(m), np.empty(m, np.int64)
        owners, outward, met = np.empty(m, np.int32), np.empty(m, np.uint8), 0
        for direction in range(1, -1, -1):
            links, shares = (forward, shares_out) if direction else (backward, shares_in)
            for position in range(start, at):
                u = out_nodes[position]
                if hop > 1 and own[_slot_of(u, own)] >= 0:
                    continue  # a start has passed on what it has
                met = _receive(
                    links, shares, direction, u, out_scores[position], position, blocked, met,
                    keys, values, nodes, best, via, owners, outward,
                )  # fmt: skip
        found = _choose_most(best[:met], nodes, hashes, chosen)
        if found == 0:
            break
        for i in range(found):
            j = chosen[i]
            out_nodes[at + i], out_scores[at + i], out_hops[at + i] = nodes[j], best[j], hop
            out_parents[at + i], out_entries[at + i], out_outward[at + i] = owners[j], via[j], outward[j]
        start, at = at, at + found
    return at

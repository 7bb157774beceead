"""Neighbour injection: links one hop from each hit, and their selection.

`gather_neighbours` collects, `choose_neighbours` decides; scores are computed by the caller in between. Two kernels for
all hits at once, because a few calls for each hit cost more than the work of all of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lamina_kernels._jit import is_ready, kernel
from lamina_kernels.graph.csr import entries
from lamina_kernels.graph.hops import RELATIONS, _count_links, _slot_of, csr_example
from lamina_kernels.layouts import F64, I32, I64, U8, Csr


class HitLinks(NamedTuple):
    """Candidate links of the hits, hit by hit; each other node once per hit, by its first link.

    Attributes
    ----------
    owners : int64 (m,)
        Position of the hit; ascending.
    nodes : int32 (m,)
        The node at the other end.
    entries : int64 (m,)
        Position of the link among links by source, or by target.
    outward : uint8 (m,)
        1 where the hit is its source.
    """

    owners: I64
    nodes: I32
    entries: I64
    outward: U8


def gather_neighbours(forward: Csr, backward: Csr, hits: I32, walked: U8, closed: U8) -> HitLinks:
    """Return the adjacent nodes of hits.

    Parameters
    ----------
    forward, backward : Csr
        Links by source, and by target; n nodes.
    hits : int32 (s,)
        Nodes; -1 for a hit that has none.
    walked : uint8 (256,)
        1 for relations along which is looked, in both directions.
    closed : uint8 (⌈n / 8⌉,)
        Nodes that are not brought in, as bits; see `lamina_kernels.graph.hops.block`.

    Returns
    -------
    Around
        Of several links to one node the first stands, outward ones before inward ones, rows in their order.

    Notes
    -----
    O(links of the hits), and their logarithm in the twin, which serves until the kernel is compiled.
    """
    return (
        gather_neighbours_kernel(forward, backward, hits, walked, closed)
        if is_ready(gather_neighbours_kernel)
        else gather_neighbours_numpy(forward, backward, hits, walked, closed)
    )


def gather_neighbours_numpy(forward: Csr, backward: Csr, hits: I32, walked: U8, closed: U8) -> HitLinks:
    """Return the adjacent nodes of hits; twin of `gather_around`."""
    known = np.flatnonzero(hits >= 0)
    pieces = []
    for links, direction in ((forward, 1), (backward, 0)):
        owners, found = entries(links.indptr, hits[known].astype(np.int64))
        nodes = links.indices[found]
        shut = closed[nodes >> 3] >> (nodes & 7).astype(np.uint8) & 1
        kept = (walked[links.relations[found]] != 0) & (shut == 0)
        count = int(np.count_nonzero(kept))
        pieces.append((known[owners[kept]], nodes[kept], found[kept], np.full(count, direction, np.uint8)))
    owners, nodes, found, outward = (np.concatenate(columns) for columns in zip(*pieces, strict=True))
    order = np.lexsort((nodes, owners))  # stable: of several links to one node the first stays first
    distinct = np.ones(order.size, np.bool_)
    distinct[1:] = (np.diff(owners[order]) != 0) | (np.diff(nodes[order]) != 0)
    chosen = np.sort(order[distinct])
    chosen = chosen[np.argsort(owners[chosen], kind="stable")]
    return HitLinks(owners[chosen], nodes[chosen], found[chosen], outward[chosen])


def choose_neighbours(
    owners: I64, nodes: I32, scores: F64, worth: F64, places: I64, most: int, best: bool
) -> tuple[I64, bool]:
    """Select each hit's best neighbours that no earlier hit has taken.

    Parameters
    ----------
    owners, nodes
        As `Around` has them; m of them.
    scores : float64 (m,)
        Of each neighbour, beside its hit.
    worth : float64 (m,)
        What a neighbour is worth that this hit brings.
    places : int64 (m,)
        Order of neighbours with equal scores; empty where it is not known.
    most : int
        Neighbours of one hit; ≥ 1.
    best : bool
        Of several hits that bring one neighbour: False, the first stands, and the others bring another in its place;
        True, the one stands that makes it worth most.

    Returns
    -------
    chosen : int64 (c,)
        Positions, ascending, each neighbour once.
    tied : bool
        True where places were not given and equal scores left open who is chosen: ask again with them.

    Notes
    -----
    O(m · most) by the kernel. The twin serves until it is compiled.
    """
    pick = choose_neighbours_kernel if is_ready(choose_neighbours_kernel) else choose_neighbours_kernel.py_func
    order = np.argsort(nodes)
    distinct = np.zeros(nodes.size, np.int64)
    distinct[order[1:]] = np.cumsum(nodes[order[1:]] != nodes[order[:-1]])
    return pick(owners, distinct, scores, worth, places, most, best)


def _gather_examples() -> tuple[object, ...]:
    return csr_example(), csr_example(), np.zeros(1, np.int32), np.ones(RELATIONS, np.uint8), np.zeros(1, np.uint8)


def _choose_examples() -> tuple[object, ...]:
    one, places = np.ones(1), np.zeros(1, np.int64)
    return places, places, one, one, places, 1, False


@kernel
def _gather_one(
    links: Csr, walked: U8, closed: U8, direction: int, node: int, owner: int, m: int, out_keys: I32, out_stamps: I64,
    out_owners: I64, out_nodes: I32, out_entries: I64, out_outward: U8,
) -> int:  # fmt: skip
    """Collect one row's links to nodes new to this hit; return the new count."""
    for i in range(links.indptr[node], links.indptr[node + 1]):
        v = links.indices[i]
        if walked[links.relations[i]] == 0 or closed[v >> 3] & np.uint8(1 << (v & 7)):
            continue
        at = _slot_of(v, out_keys)
        if out_keys[at] < 0:
            out_keys[at], out_stamps[at] = v, -1
        if out_stamps[at] == owner:
            continue
        out_stamps[at] = owner
        out_owners[m], out_nodes[m], out_entries[m], out_outward[m] = owner, v, i, direction
        m += 1
    return m


@kernel(examples=[_gather_examples])
def gather_neighbours_kernel(forward: Csr, backward: Csr, hits: I32, walked: U8, closed: U8) -> HitLinks:
    """Collect the adjacent nodes of hits.

    Parameters
    ----------
    forward, backward, hits, walked, closed
        As for `around`.

    Returns
    -------
    Around

    Notes
    -----
    O(links of the hits), serial.
    """
    known = hits[hits >= 0]
    most = _count_links(forward, walked, known, 0) + _count_links(backward, walked, known, 0)
    size = 16
    while size < 2 * most:
        size *= 2
    keys, stamps = np.full(size, -1, np.int32), np.empty(size, np.int64)
    owners, nodes = np.empty(most, np.int64), np.empty(most, np.int32)
    entries_, outward = np.empty(most, np.int64), np.empty(most, np.uint8)
    m = 0
    for owner in range(hits.size):
        if hits[owner] < 0 or most == 0:
            continue
        node = hits[owner]
        m = _gather_one(forward, walked, closed, 1, node, owner, m, keys, stamps, owners, nodes, entries_, outward)
        m = _gather_one(backward, walked, closed, 0, node, owner, m, keys, stamps, owners, nodes, entries_, outward)
    return HitLinks(owners[:m], nodes[:m], entries_[:m], outward[:m])


@kernel(examples=[_choose_examples])
def choose_neighbours_kernel(
    owners: I64, nodes: I64, scores: F64, worth: F64, places: I64, most: int, best: bool
) -> tuple[I64, bool]:
    """Select the neighbours to inject for each hit.

    Parameters
    ----------
    owners, nodes, scores, worth, places, most, best
        As for `choose`, but nodes numbered from 0.

    Returns
    -------
    (int64 (c,), bool)
        As for `choose`.

    Notes
    -----
    O(m · most), serial.
    """
    # written without helpers: in a cold process this runs as it stands, and a helper would load Numba
    m = owners.size
    chosen_by = np.full(m, -1, np.int64)
    top = np.empty(most, np.int64)
    tied = False
    start = 0
    while start < m:
        stop = start
        found, edge = 0, -np.inf  # the best score that had to go
        while stop < m and owners[stop] == owners[start]:
            i = stop
            stop += 1
            if not best and chosen_by[nodes[i]] >= 0:
                continue
            at = found
            if found == most:
                last = top[most - 1]
                ahead = scores[i] > scores[last]
                if places.size > 0 and scores[i] == scores[last]:
                    ahead = places[i] < places[last]
                edge = max(edge, scores[last] if ahead else scores[i])
                if not ahead:
                    continue
                at = most - 1
            else:
                found += 1
            while at > 0:
                other = top[at - 1]
                behind = scores[other] < scores[i]
                if places.size > 0 and scores[other] == scores[i]:
                    behind = places[i] < places[other]
                if not behind:
                    break
                top[at] = other
                at -= 1
            top[at] = i
        if places.size == 0 and found == most and edge == scores[top[most - 1]]:
            tied = True
        for j in range(found):
            i = int(top[j])
            known = chosen_by[nodes[i]]
            if known < 0 or worth[i] > worth[known]:
                chosen_by[nodes[i]] = i
        start = stop
    chosen = np.sort(chosen_by[chosen_by >= 0])
    return chosen, tied

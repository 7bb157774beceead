"""Hops: links out of a frontier, and nodes within k hops, by relation and direction.

A node is taken once, at its least distance, by the first link that leads to it. First is: nodes in the order in which
they were taken, for each hop all their outward rows before all their inward rows, a row in its own order. So where
rows and seeds are ordered by something that does not depend on how links came (their ids), neither does the walk.

Nodes that may not be taken are a set of one bit each: it stays in a cache up to some million nodes, and what a walk
takes is added to a copy of it, so one look a link answers both.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lamina_kernels._jit import is_ready, kernel
from lamina_kernels.graph.csr import KERNEL_LINKS, entries
from lamina_kernels.layouts import BOOL, F64, I32, I64, U8, Csr, Walk

DECAY = 0.9
"""What is left of a score one hop on."""
_SPREAD = 2_654_435_761  # 2**32 / golden ratio: spreads neighbouring numbers over a table; fits int64 with any node
RELATIONS = 256
"""Codes of relations are bytes; masks have one entry for each."""


class HopLinks(NamedTuple):
    """Links that lead on from a frontier, in the order of a walk.

    Attributes
    ----------
    nodes : int32 (e,)
        Where each leads; a node may occur several times.
    owners : int64 (e,)
        Position in the frontier of the node it leads from.
    entries : int64 (e,)
        Its position among links by source, or by target.
    outward : uint8 (e,)
        1 where it is walked from its source to its target.
    """

    nodes: I32
    owners: I64
    entries: I64
    outward: U8


def hop_links(forward: Csr, backward: Csr, frontier: I64, walk_out: U8, walk_in: U8, wanted: BOOL) -> HopLinks:
    """Return the links out of a frontier: all outward rows, then all inward rows.

    Parameters
    ----------
    forward, backward : Csr
        Links by source, and by target.
    frontier : int64 (f,)
    walk_out, walk_in : uint8 (256,)
        1 for relations that are walked in each direction.
    wanted : bool (n,)
        Nodes that may be led to.
    """
    pieces = []
    for links, walked, direction in ((forward, walk_out, 1), (backward, walk_in, 0)):
        owners, found = entries(links.indptr, frontier)
        good = (walked[links.relations[found]] != 0) & wanted[links.indices[found]]
        found = found[good]
        pieces.append(HopLinks(links.indices[found], owners[good], found, np.full(found.size, direction, np.uint8)))
    out, back = pieces
    return HopLinks(
        np.concatenate([out.nodes, back.nodes]), np.concatenate([out.owners, back.owners]),
        np.concatenate([out.entries, back.entries]), np.concatenate([out.outward, back.outward]),
    )  # fmt: skip


def first_positions(nodes: I32, scratch: I64) -> I64:
    """Return each distinct node's first position, ascending; ``scratch`` is int64 (nodes,)."""
    positions = np.arange(nodes.size)
    scratch[nodes[::-1]] = positions[::-1]  # the last assignment stands, and that is the first occurrence
    return np.flatnonzero(scratch[nodes] == positions)


def gather_numpy(
    forward: Csr, backward: Csr, taken: I32, start: int, walk_out: U8, walk_in: U8, blocked: U8
) -> tuple[HopLinks, I64, I32]:
    """Return a frontier's links, the slot of each target, and the targets; twin of `gather_hop`."""
    n = forward.indptr.size - 1
    wanted = np.unpackbits(blocked, count=n, bitorder="little") == 0
    wanted[taken] = False
    links = hop_links(forward, backward, taken[start:].astype(np.int64), walk_out, walk_in, wanted)
    scratch = np.empty(n, np.int64)
    met = links.nodes[first_positions(links.nodes, scratch)]
    scratch[met] = np.arange(met.size)
    return links, scratch[links.nodes], met


def score_numpy(
    forward: Csr, backward: Csr, links: HopLinks, slots: I64, scores: F64, gain: F64, lift: F64
) -> tuple[F64, I64]:
    """Return each node's best score and the first link that gives it; twin of `score_hop`."""
    outward = links.outward != 0
    relations, weights = np.empty(slots.size, np.uint8), np.empty(slots.size)
    for side, rows in ((outward, forward), (~outward, backward)):
        relations[side], weights[side] = rows.relations[links.entries[side]], rows.weights[links.entries[side]]
    reached = scores[links.owners] * DECAY + gain[relations] * lift[slots] * weights
    best = np.full(lift.size, -np.inf)
    np.maximum.at(best, slots, reached)
    first = np.empty(lift.size, np.int64)
    hits = np.flatnonzero(reached == best[slots])[::-1]
    first[slots[hits]] = hits  # the last assignment stands: the first of equal links
    return best, first


def csr_example() -> Csr:
    """Return one node with one link to itself: an example argument for kernels that walk."""
    return Csr(np.array([0, 1]), np.zeros(1, np.int32), np.ones(1, np.float32), np.zeros(1, np.uint8))


def _gather_examples() -> tuple[object, ...]:
    mask, long = np.ones(RELATIONS, np.uint8), np.empty(2, np.int64)
    return (
        csr_example(), csr_example(), np.zeros(1, np.int32), 0, mask, mask, np.zeros(1, np.uint8),
        np.empty(2, np.int32), long, long.copy(), long.copy(), np.empty(2, np.uint8),
    )  # fmt: skip


def _score_examples() -> tuple[object, ...]:
    long = np.zeros(1, np.int64)
    return (
        csr_example(), csr_example(), long, long, long, np.ones(1, np.bool_), np.ones(1), np.ones(RELATIONS),
        np.ones(1), np.empty(1), np.empty(1, np.int64),
    )  # fmt: skip


@kernel
def _slot_of(node: int, keys: I32) -> int:
    """Return a node's slot in an open hash table whose size is a power of two."""
    mask = keys.size - 1
    at = (int(node) * _SPREAD >> 16) & mask
    while keys[at] >= 0 and keys[at] != node:
        at = (at + 1) & mask
    return at


@kernel
def _count_links(links: Csr, walked: U8, nodes: I32, start: int) -> int:
    """Count the links of the nodes from a position on; 0 if no relation is walked."""
    m = 0
    if walked.any():
        for i in range(start, nodes.size):
            m += links.indptr[nodes[i] + 1] - links.indptr[nodes[i]]
    return int(m)


@kernel
def _touch_rows(links: Csr, walked: U8, nodes: I32, start: int) -> float:
    """Prefetch both ends of each row, so that cache misses overlap; the sum keeps the reads."""
    total = 0.0
    if walked.any():
        for i in range(start, nodes.size):
            begin, end = links.indptr[nodes[i]], links.indptr[nodes[i] + 1]
            if begin < end:
                total += links.relations[begin] + links.indices[begin] + links.weights[begin]
                total += links.indices[end - 1] + links.weights[end - 1]
    return float(total)


@kernel
def _closed_table(taken: I32, more: int) -> tuple[I32, I32]:
    """Return an open hash table of the taken nodes (values below 0) with room for more."""
    size = 16
    while size < 2 * (more + taken.size):
        size *= 2
    keys, values = np.full(size, -1, np.int32), np.empty(size, np.int32)
    for i in range(taken.size):
        at = _slot_of(taken[i], keys)
        keys[at], values[at] = taken[i], -1
    return keys, values


@kernel
def _gather_rows(
    links: Csr,
    walked: U8,
    outward: int,
    taken: I32,
    start: int,
    blocked: U8,
    met: int,
    e: int,
    out_keys: I32,
    out_values: I32,
    out_met: I32,
    out_slots: I64,
    out_owners: I64,
    out_entries: I64,
    out_outward: U8,
) -> tuple[int, int]:
    """Collect the links of a frontier's rows; return the new counts of nodes and links."""
    for position in range(start, taken.size):
        u = taken[position]
        for i in range(links.indptr[u], links.indptr[u + 1]):
            v = links.indices[i]
            if walked[links.relations[i]] == 0 or blocked[v >> 3] & np.uint8(1 << (v & 7)):
                continue
            at = _slot_of(v, out_keys)
            if out_keys[at] < 0:
                out_keys[at], out_values[at] = v, met
                out_met[met] = v
                met += 1
            if out_values[at] >= 0:
                out_slots[e], out_owners[e] = out_values[at], position - start
                out_entries[e], out_outward[e] = i, outward
                e += 1
    return met, e


@kernel(examples=[_gather_examples])
def gather_hop(
    forward: Csr,
    backward: Csr,
    taken: I32,
    start: int,
    walk_out: U8,
    walk_in: U8,
    blocked: U8,
    out_met: I32,
    out_slots: I64,
    out_owners: I64,
    out_entries: I64,
    out_outward: U8,
) -> tuple[int, int]:
    """Collect a frontier's links to nodes that are neither taken nor blocked.

    Parameters
    ----------
    forward, backward : Csr
        Links by source, and by target; n nodes.
    taken : int32 (t,)
        What the walk has taken; from position ``start`` on it is the frontier.
    start : int
    walk_out, walk_in : uint8 (256,)
        1 for relations that are walked in each direction.
    blocked : uint8 (⌈n / 8⌉,)
    out_met : int32 (e,)
        Written: the distinct nodes that were met, in order; e is the number of entries of the frontier's rows.
    out_slots : int64 (e,)
        Written: by link, the position of its node in ``out_met``.
    out_owners : int64 (e,)
        Written: by link, the position in the frontier of the node it leads from.
    out_entries : int64 (e,)
        Written: by link, its position among links by source, or by target.
    out_outward : uint8 (e,)
        Written: by link, 1 where it is walked from its source.

    Returns
    -------
    tuple of int
        How many nodes were met, and how many links lead to them.

    Notes
    -----
    O(t + e), with a hash table of that size: nothing grows with n.
    """
    m = _count_links(forward, walk_out, taken, start) + _count_links(backward, walk_in, taken, start)
    keys, values = _closed_table(taken, m)
    met, e = 0, 0
    if walk_out.any():
        met, e = _gather_rows(
            forward, walk_out, 1, taken, start, blocked, met, e,
            keys, values, out_met, out_slots, out_owners, out_entries, out_outward,
        )  # fmt: skip
    if walk_in.any():
        met, e = _gather_rows(
            backward, walk_in, 0, taken, start, blocked, met, e,
            keys, values, out_met, out_slots, out_owners, out_entries, out_outward,
        )  # fmt: skip
    return met, e


@kernel(examples=[_score_examples])
def score_hop(
    forward: Csr,
    backward: Csr,
    slots: I64,
    owners: I64,
    entries: I64,
    leads_out: BOOL,
    scores: F64,
    gain: F64,
    lift: F64,
    out_best: F64,
    out_first: I64,
) -> None:
    """Score a hop's links, 0.9 · score + gain · lift · weight; keep each node's best.

    Parameters
    ----------
    forward, backward : Csr
        Links by source, and by target.
    slots, owners, entries : int64 (e,)
        By link, as `gather_hop` gives them.
    leads_out : bool (e,)
        By link, whether it is walked from its source.
    scores : float64 (f,)
        Of the frontier.
    gain : float64 (256,)
        By relation.
    lift : float64 (c,)
        By node that was met.
    out_best : float64 (c,)
        Written.
    out_first : int64 (c,)
        Written: the first link that gives the best score.

    Notes
    -----
    O(e + c), serial.
    """
    out_best[:] = -np.inf
    for i in range(slots.size):
        links = forward if leads_out[i] else backward
        reached = (
            scores[owners[i]] * DECAY + gain[links.relations[entries[i]]] * lift[slots[i]] * links.weights[entries[i]]
        )
        if reached > out_best[slots[i]]:
            out_best[slots[i]], out_first[slots[i]] = reached, i


_AHEAD = 16  # rows that are looked up before the first of them is gone through
_ROOM = 65_536  # nodes to make room for at first: memory for a million costs a page fault for each page that is touched


def block(active: BOOL) -> U8:
    """Pack the inactive nodes into uint8 (⌈n / 8⌉,): bit ``v & 7`` of byte ``v >> 3``."""
    return np.packbits(~active, bitorder="little")


def empty_walk(size: int) -> Walk:
    """Return memory for a walk of so many nodes; only scores are filled, with 0."""
    narrow = (np.empty(size, np.int32) for _ in range(3))
    nodes, hops, parents = narrow
    return Walk(nodes, np.zeros(size), hops, parents, np.empty(size, np.int64), np.empty(size, np.uint8))


def cut_walk(walk: Walk, size: int) -> Walk:
    """Return the first nodes of a walk, without copying."""
    return Walk(
        walk.nodes[:size], walk.scores[:size], walk.hops[:size],
        walk.parents[:size], walk.entries[:size], walk.outward[:size],
    )  # fmt: skip


def neighbours(
    forward: Csr, backward: Csr, seeds: I32, walk_out: U8, walk_in: U8, blocked: U8, max_hops: int, limit: int
) -> Walk:
    """Return the seeds and all nodes within k hops of them.

    Parameters
    ----------
    forward, backward : Csr
        Links by source, and by target.
    seeds : int32 (s,)
        Where it begins; repeats and blocked ones are passed over.
    walk_out, walk_in : uint8 (256,)
        1 for relations that are walked from source to target, and from target to source.
    blocked : uint8 (⌈n / 8⌉,)
        Nodes that are neither taken nor walked; see `block`.
    max_hops : int
        ≥ 0.
    limit : int
        Most nodes to take, seeds included; what was found first stays.

    Returns
    -------
    Walk
        Nearest first; scores are 0.

    Notes
    -----
    O(n / 8 + links of the nodes taken) by the kernel. The twin costs O(n) a call; it serves small graphs until the
    kernel is ready.
    """
    n, m = forward.indptr.size - 1, forward.indices.size
    if m < KERNEL_LINKS and not is_ready(k_hop):
        return neighbours_numpy(forward, backward, seeds, walk_out, walk_in, blocked, max_hops, limit)
    most = max(min(limit, n), 0)
    room = min(most, _ROOM)
    while True:
        out = empty_walk(room)
        found = k_hop(
            forward, backward, seeds, walk_out, walk_in, blocked, max_hops,
            out.nodes, out.hops, out.parents, out.entries, out.outward,
        )  # fmt: skip
        if found < room or room == most:
            return cut_walk(out, found)
        room = min(most, room * 16)


def neighbours_numpy(
    forward: Csr, backward: Csr, seeds: I32, walk_out: U8, walk_in: U8, blocked: U8, max_hops: int, limit: int
) -> Walk:
    """Return seeds and nodes within k hops; twin of `k_hop`, arguments as for `neighbours`."""
    n = forward.indptr.size - 1
    free = np.unpackbits(blocked, count=n, bitorder="little") == 0
    order = np.empty(n, np.int64)
    wanted = seeds[free[seeds]]
    wanted = wanted[first_positions(wanted, order)]
    out = empty_walk(max(min(limit, n), 0))
    start, at = 0, min(wanted.size, out.nodes.size)
    out.nodes[:at], out.hops[:at], out.parents[:at], out.entries[:at], out.outward[:at] = wanted[:at], 0, -1, -1, 0
    for hop in range(1, max_hops + 1):
        frontier = out.nodes[start:at].astype(np.int64)
        if not frontier.size:
            break
        free[frontier] = False
        links = hop_links(forward, backward, frontier, walk_out, walk_in, free)
        first = first_positions(links.nodes, order)[: out.nodes.size - at]
        stop = at + first.size
        out.nodes[at:stop], out.hops[at:stop] = links.nodes[first], hop
        out.parents[at:stop] = links.owners[first] + start
        out.entries[at:stop], out.outward[at:stop] = links.entries[first], links.outward[first]
        start, at = at, stop
    return cut_walk(out, at)


def _hop_examples() -> tuple[object, ...]:
    links = Csr(np.array([0, 1]), np.zeros(1, np.int32), np.ones(1, np.float32), np.zeros(1, np.uint8))
    mask, out = np.ones(RELATIONS, np.uint8), empty_walk(1)
    return (
        links, links, np.zeros(1, np.int32), mask, mask, np.zeros(1, np.uint8), 1,
        out.nodes, out.hops, out.parents, out.entries, out.outward,
    )  # fmt: skip


@kernel
def _take_rows(
    links: Csr,
    walked: U8,
    outward: int,
    hop: int,
    start: int,
    stop: int,
    found: int,
    out_blocked: U8,
    out_nodes: I32,
    out_hops: I32,
    out_parents: I32,
    out_entries: I64,
    out_outward: U8,
) -> int:
    """Take the targets of the nodes at ``start`` to ``stop``; return the new count."""
    all_walked = walked.all()  # then relations need not be read: a cache miss a row
    begins, ends, firsts = np.empty(_AHEAD, np.int64), np.empty(_AHEAD, np.int64), np.empty(_AHEAD, np.int32)
    for base in range(start, stop, _AHEAD):
        several = min(_AHEAD, stop - base)
        # rows lie anywhere: where several are looked up before the first is gone through, their cache misses overlap
        for j in range(several):
            u = out_nodes[base + j]
            begins[j], ends[j] = links.indptr[u], links.indptr[u + 1]
        for j in range(several):
            firsts[j] = links.indices[begins[j]] if begins[j] < ends[j] else -1
        for j in range(several):
            for i in range(begins[j], ends[j]):
                if not (all_walked or walked[links.relations[i]] != 0):
                    continue
                v = links.indices[i]
                bit = np.uint8(1 << (v & 7))
                if out_blocked[v >> 3] & bit:
                    continue
                if found == out_nodes.size:
                    return found
                out_blocked[v >> 3] |= bit
                out_nodes[found], out_hops[found], out_parents[found] = v, hop, base + j
                out_entries[found], out_outward[found] = i, outward
                found += 1
    return found


@kernel(examples=[_hop_examples])
def k_hop(
    forward: Csr,
    backward: Csr,
    seeds: I32,
    walk_out: U8,
    walk_in: U8,
    blocked: U8,
    max_hops: int,
    out_nodes: I32,
    out_hops: I32,
    out_parents: I32,
    out_entries: I64,
    out_outward: U8,
) -> int:
    """Take the seeds and the nodes within k hops, up to the room for nodes.

    Parameters
    ----------
    forward, backward : Csr
        Links by source, and by target; n nodes.
    seeds : int32 (s,)
        Repeats and blocked ones are passed over.
    walk_out, walk_in : uint8 (256,)
        1 for relations that are walked from source to target, and from target to source.
    blocked : uint8 (⌈n / 8⌉,)
        Nodes that are neither taken nor walked; see `block`.
    max_hops : int
        ≥ 0.
    out_nodes, out_hops, out_parents : int32 (k,)
        Written, as `Walk` has them.
    out_entries : int64 (k,)
        Written.
    out_outward : uint8 (k,)
        Written.

    Returns
    -------
    int
        How many were taken, at most k.

    Notes
    -----
    O(n / 8 + links of the nodes taken), serial.
    """
    closed = blocked.copy()
    found = 0
    for s in range(seeds.size):
        u = seeds[s]
        bit = np.uint8(1 << (u & 7))
        if found < out_nodes.size and not closed[u >> 3] & bit:
            closed[u >> 3] |= bit
            out_nodes[found], out_hops[found], out_parents[found] = u, 0, -1
            out_entries[found], out_outward[found] = -1, 0
            found += 1
    start = 0
    for hop in range(1, max_hops + 1):
        stop = found
        if walk_out.any():
            found = _take_rows(
                forward, walk_out, 1, hop, start, stop, found, closed,
                out_nodes, out_hops, out_parents, out_entries, out_outward,
            )  # fmt: skip
        if walk_in.any():
            found = _take_rows(
                backward, walk_in, 0, hop, start, stop, found, closed,
                out_nodes, out_hops, out_parents, out_entries, out_outward,
            )  # fmt: skip
        if found == stop:
            break
        start = stop
    return found

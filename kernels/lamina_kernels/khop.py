"""Everything within k hops of some nodes, by breadth: over chosen relations, in either direction.

A node is taken once, at its least distance, by the first link that leads to it. First is: nodes in the order in which
they were taken, for each hop all their outward rows before all their inward rows, a row in its own order. So where
rows and seeds are ordered by something that does not depend on how links came (their ids), neither does the walk.

Nodes that may not be taken are a set of one bit each: it stays in a cache up to some million nodes, and what a walk
takes is added to a copy of it, so one look a link answers both.
"""

from __future__ import annotations

import numpy as np

from lamina_kernels._jit import is_ready, kernel
from lamina_kernels.csr import KERNEL_LINKS
from lamina_kernels.frontier import RELATIONS, first_positions, hop_links
from lamina_kernels.layouts import BOOL, I32, I64, U8, Csr, Walk

_AHEAD = 16  # rows that are looked up before the first of them is gone through
_ROOM = 65_536  # nodes to make room for at first: memory for a million costs a page fault for each page that is touched


def block(active: BOOL) -> U8:
    """Return the set of nodes that are not active, uint8 (⌈n / 8⌉,): bit ``v & 7`` of byte ``v >> 3`` is node v."""
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
    """Return the seeds and what lies within some hops of them.

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
    """Return the seeds and what lies within some hops; the twin of `k_hop`, with the arguments of `neighbours`."""
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
    """Take what the rows of nodes at positions ``start`` to ``stop`` lead to; return how many there are now."""
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
    """Take the seeds and what lies within some hops of them, as many as there is room for.

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

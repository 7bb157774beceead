"""A hop of a best-first walk whose scores need affinities: what it meets, and, once those are known, what it takes.

Two kernels with the caller's look-up of affinities between them; see `lamina_kernels.beam` for the formula. Calls cost
more than the work of most hops, so each of the two does all that can be done at once.
"""

from __future__ import annotations

import numpy as np

from lamina_kernels._jit import kernel
from lamina_kernels.frontier import RELATIONS, _count_links, _touch_rows, csr_example, gather_hop, settle_hop
from lamina_kernels.layouts import F64, I32, I64, U8, Csr
from lamina_kernels.topk import top_k_scan


def _meet_examples() -> tuple[object, ...]:
    mask = np.ones(RELATIONS, np.uint8)
    return (
        csr_example(), csr_example(), np.zeros(1, np.int32), 0, np.ones(1), mask, mask, np.zeros(1, np.uint8),
        np.ones(RELATIONS), 1.5, 1, 2,
    )  # fmt: skip


def _take_examples() -> tuple[object, ...]:
    long, out = np.zeros(1, np.int64), np.zeros(2, np.int32)  # a frontier of one, and room for one more
    return (
        csr_example(), csr_example(), np.zeros(1, np.int32), long, long, long, np.zeros(1, np.uint8), np.ones(1),
        np.ones(RELATIONS), 1, 0, 1, 1, out, np.ones(2), out, out, np.zeros(2, np.int64), np.zeros(2, np.uint8),
    )  # fmt: skip


@kernel(examples=[_meet_examples])
def meet_hop(
    forward: Csr,
    backward: Csr,
    taken: I32,
    start: int,
    scores: F64,
    walk_out: U8,
    walk_in: U8,
    blocked: U8,
    gain: F64,
    most_lift: float,
    room: int,
    few: int,
) -> tuple[I32, I64, I64, I64, U8, I64]:
    """Collect the links that lead on, and say which of the nodes they meet can be among the best.

    Parameters
    ----------
    forward, backward : Csr
        Links by source, and by target; n nodes.
    taken : int32 (t,)
        What the walk has taken; from position ``start`` on it is the frontier.
    start : int
    scores : float64 (t − start,)
        Of the frontier.
    walk_out, walk_in : uint8 (256,)
        1 for relations that are walked in each direction.
    blocked : uint8 (⌈n / 8⌉,)
    gain : float64 (256,)
        By relation.
    most_lift : float
        No lift is above it, or below its inverse.
    room : int
        Most nodes that will be taken; ≥ 1.
    few : int
        Up to so many nodes all of them are named: sorting out costs more than it spares.

    Returns
    -------
    met : int32 (c,)
        The distinct nodes that were met, in order.
    slots, owners, entries : int64 (e,), outward : uint8 (e,)
        By link, as `lamina_kernels.frontier.gather_hop` gives them.
    open : int64 (o,)
        Positions in ``met``, ascending, of nodes that can be among the ``room`` best with some lift.

    Notes
    -----
    O(t + entries of the frontier's rows). A node whose score with the greatest lift is below what ``room`` others have with
    the least one cannot be taken.
    """
    m = _count_links(forward, walk_out, taken, start) + _count_links(backward, walk_in, taken, start)
    met, slots, owners = np.empty(m, np.int32), np.empty(m + 1, np.int64), np.empty(m, np.int64)
    entries, outward = np.empty(m, np.int64), np.empty(m, np.uint8)
    touched = _touch_rows(forward, walk_out, taken, start) + _touch_rows(backward, walk_in, taken, start)
    slots[m] = np.int64(touched)
    c, e = gather_hop(
        forward, backward, taken, start, walk_out, walk_in, blocked, met, slots[:m], owners, entries, outward
    )
    slots, owners, entries, outward = slots[:e], owners[:e], entries[:e], outward[:e]
    if c <= max(few, room):
        return met[:c], slots, owners, entries, outward, np.arange(c)
    leads_out = outward != 0
    best, first = np.empty(c), np.empty(c, np.int64)
    settle_hop(
        forward, backward, slots, owners, entries, leads_out, scores, gain, np.full(c, 1.0 / most_lift), best, first
    )
    rows, tops = np.empty(room, np.int64), np.empty(room)
    top_k_scan(best, np.empty(0, np.uint8), rows, tops)
    settle_hop(forward, backward, slots, owners, entries, leads_out, scores, gain, np.full(c, most_lift), best, first)
    return met[:c], slots, owners, entries, outward, np.flatnonzero(best >= tops[room - 1])


@kernel(examples=[_take_examples])
def take_hop(
    forward: Csr,
    backward: Csr,
    met: I32,
    slots: I64,
    owners: I64,
    entries: I64,
    outward: U8,
    lift: F64,
    gain: F64,
    room: int,
    start: int,
    at: int,
    hop: int,
    out_nodes: I32,
    out_scores: F64,
    out_hops: I32,
    out_parents: I32,
    out_entries: I64,
    out_outward: U8,
) -> int:
    """Take the best nodes of a hop.

    Parameters
    ----------
    forward, backward : Csr
        Links by source, and by target.
    met, slots, owners, entries, outward
        As `meet_hop` gives them.
    lift : float64 (c,)
        Of each node that was met.
    gain : float64 (256,)
        By relation.
    room : int
        Most nodes to take.
    start, at : int
        The frontier is what lies between these positions of the walk; what is taken is written from ``at`` on.
    hop : int
    out_nodes : int32 (k,)
        Written, as `lamina_kernels.layouts.Walk` has them; the frontier is read.
    out_scores : float64 (k,)
        Written; those of the frontier are read.
    out_hops, out_parents : int32 (k,)
        Written.
    out_entries : int64 (k,)
        Written.
    out_outward : uint8 (k,)
        Written.

    Returns
    -------
    int
        How many the walk has taken now.

    Notes
    -----
    O(e + c), serial.
    """
    best, first = np.empty(met.size), np.empty(met.size, np.int64)
    settle_hop(forward, backward, slots, owners, entries, outward != 0, out_scores[start:at], gain, lift, best, first)
    rows, tops = np.empty(room, np.int64), np.empty(room)
    found = top_k_scan(best, np.empty(0, np.uint8), rows, tops)
    for j in range(found):
        via = first[rows[j]]
        out_nodes[at + j], out_scores[at + j], out_hops[at + j] = met[rows[j]], tops[j], hop
        out_parents[at + j], out_entries[at + j], out_outward[at + j] = start + owners[via], entries[via], outward[via]
    return at + found

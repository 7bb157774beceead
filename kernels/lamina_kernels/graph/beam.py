"""Beam search from anchors, hop by hop, scored by relation, weight and affinity.

For a node u that was taken, a link to v of relation r and weight w, and the affinity a of v to what was asked::

    score(v) = score(u) · 0.9 + exp(0.6 · W[r] + 0.4 · a) · w

with W a table by intent. Of several links to one node the best counts, so a node has one place in a hop. The best
``width`` nodes of a hop are taken and lead on; what was taken keeps its score. A walk never takes more than its budget.

The exponential is computed as a product of two: ``gain[r] = exp(0.6 · W[r])``, a table, and ``lift(v) = exp(0.4 · a)``,
once a node. So kernel and twin multiply the same numbers, and agree to the bit. A gain of 0 makes a relation that is
walked and never raises a score.

Order and ties: links as in `lamina_kernels.graph.hops`; the first of equal links stands, and the node that was met first goes
before its equals.

Where affinities are looked up by the caller, a hop is two kernels with that look-up between them, `meet_hop` and
`take_hop`: calls cost more than the work of most hops, so each of the two does all that can be done at once.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lamina_kernels._jit import is_ready, kernel
from lamina_kernels.graph.csr import KERNEL_LINKS
from lamina_kernels.graph.hops import (
    DECAY,
    RELATIONS,
    _closed_table,
    _count_links,
    _slot_of,
    _touch_rows,
    csr_example,
    cut_walk,
    empty_walk,
    gather_hop,
    gather_numpy,
    score_hop,
    score_numpy,
)
from lamina_kernels.layouts import F64, I32, I64, U8, Csr, Walk
from lamina_kernels.topk import top_k, top_k_scan

Lift = Callable[[I32], F64]
"""Gives exp(0.4 · affinity) of some nodes, float64, with affinities in [-1, 1]."""
MOST_LIFT = float(np.exp(0.4001))
"""No lift is above it, or below its inverse: a cosine in single precision may pass 1 by a little."""
_FEW = 2  # times as many nodes as there is room for: below, two more passes over the links cost more than they spare


def beam(
    forward: Csr,
    backward: Csr,
    anchors: I32,
    scores: F64,
    gain: F64,
    walk_out: U8,
    walk_in: U8,
    blocked: U8,
    width: int,
    max_hops: int,
    budget: int,
    lift: Lift | None = None,
) -> Walk:
    """Walk from anchors, hop by hop.

    Parameters
    ----------
    forward, backward : Csr
        Links by source, and by target; n nodes.
    anchors : int32 (s,)
        Distinct and not blocked, best first: where there are more than the budget allows, the first are taken.
    scores : float64 (s,)
        Of each anchor.
    gain : float64 (256,)
        exp(0.6 · W) of each relation; 0 where it never raises a score.
    walk_out, walk_in : uint8 (256,)
        1 for relations that are walked from source to target, and from target to source.
    blocked : uint8 (⌈n / 8⌉,)
        Nodes that are neither taken nor walked; see `lamina_kernels.graph.hops.block`.
    width : int
        Most nodes taken in a hop; ≥ 1.
    max_hops : int
        ≥ 0.
    budget : int
        Most nodes taken in all, anchors included; ≥ 0.
    lift : callable, optional
        Asked once a hop for nodes that were met, those that it cannot bring among the best left out; all 1 unless given.

    Returns
    -------
    Walk
        In the order in which they were taken: by hop, best first within a hop.

    Notes
    -----
    O(links of the nodes taken), whatever n is. The twin costs O(n) a hop; it serves small graphs until the kernels
    are ready.
    """
    small = forward.indices.size < KERNEL_LINKS
    out = empty_walk(max(min(budget, anchors.size + width * max_hops), 0))
    if lift is None and (is_ready(beam_walk) or not small):
        found = beam_walk(
            forward, backward, anchors, scores, gain, walk_out, walk_in, blocked, width, max_hops,
            out.nodes, out.scores, out.hops, out.parents, out.entries, out.outward,
        )  # fmt: skip
        return cut_walk(out, found)
    by_kernel = not small or (is_ready(meet_hop) and is_ready(take_hop))
    start, at = 0, min(anchors.size, out.nodes.size)
    _begin(out, anchors[:at], scores[:at])
    for hop in range(1, max_hops + 1):
        if start == at or at == out.nodes.size:
            break
        room = min(width, out.nodes.size - at)
        if by_kernel and lift is not None:
            start, at = at, _hop(forward, backward, gain, walk_out, walk_in, blocked, room, hop, start, at, out, lift)
            continue
        links, slots, met = gather_numpy(forward, backward, out.nodes[:at], start, walk_out, walk_in, blocked)

        def scored(lifted: F64) -> tuple[F64, I64]:
            return score_numpy(forward, backward, links, slots, out.scores[start:at], gain, lifted)  # noqa: B023

        best, first = scored(np.ones(met.size) if lift is None else _lifted(lift, met, room, scored))
        taken = top_k(best, room).rows
        via = first[taken]
        stop = at + taken.size
        out.nodes[at:stop], out.scores[at:stop], out.hops[at:stop] = met[taken], best[taken], hop
        out.parents[at:stop] = links.owners[via] + start
        out.entries[at:stop], out.outward[at:stop] = links.entries[via], links.outward[via]
        start, at = at, stop
    return cut_walk(out, at)


def _hop(
    forward: Csr, backward: Csr, gain: F64, walk_out: U8, walk_in: U8, blocked: U8, room: int, hop: int, start: int,
    at: int, out: Walk, lift: Lift,
) -> int:  # fmt: skip
    """Take the best nodes of one hop by the kernels; return how many the walk has taken then."""
    few = max(_FEW, 1) * room
    met, slots, owners, entries, outward, open_ = meet_hop(
        forward, backward, out.nodes[:at], start, out.scores[start:at], walk_out, walk_in, blocked, gain, MOST_LIFT,
        room, few,
    )  # fmt: skip
    if open_.size == met.size:
        lifted = lift(met)
    else:
        lifted = np.full(met.size, 1.0 / MOST_LIFT)
        lifted[open_] = lift(met[open_])
    return take_hop(
        forward, backward, met, slots, owners, entries, outward, lifted, gain, room, start, at, hop,
        out.nodes, out.scores, out.hops, out.parents, out.entries, out.outward,
    )  # fmt: skip


def _lifted(lift: Lift, met: I32, room: int, scored: Callable[[F64], tuple[F64, I64]]) -> F64:
    """Return each node's lift, exact where it may enter the beam, else the least lift.

    Affinities lie in [-1, 1]. So a node whose score with the greatest lift is below what ``room`` others have with the
    least one is not taken whatever its affinity is, and its vector need not be read: that is most of a walk's time.
    """
    if met.size <= max(_FEW, 1) * room:
        return lift(met)
    lifted = np.full(met.size, 1.0 / MOST_LIFT)
    least, _ = scored(lifted)
    most, _ = scored(np.full(met.size, MOST_LIFT))
    open_ = np.flatnonzero(most >= np.partition(least, met.size - room)[met.size - room])
    lifted[open_] = lift(met[open_])
    return lifted


def _begin(out: Walk, anchors: I32, scores: F64) -> None:
    at = anchors.size
    out.nodes[:at], out.scores[:at], out.hops[:at] = anchors, scores, 0
    out.parents[:at], out.entries[:at], out.outward[:at] = -1, -1, 0


def _beam_examples() -> tuple[object, ...]:
    mask, out = np.ones(RELATIONS, np.uint8), empty_walk(1)
    return (
        csr_example(), csr_example(), np.zeros(1, np.int32), np.ones(1), np.ones(RELATIONS), mask, mask,
        np.zeros(1, np.uint8), 1, 1, out.nodes, out.scores, out.hops, out.parents, out.entries, out.outward,
    )  # fmt: skip


@kernel
def _meet_rows(
    links: Csr,
    walked: U8,
    outward: int,
    taken: I32,
    start: int,
    scores: F64,
    gain: F64,
    blocked: U8,
    met: int,
    out_keys: I32,
    out_values: I32,
    out_nodes: I32,
    out_best: F64,
    out_via: I64,
    out_owners: I32,
    out_outward: U8,
) -> int:
    """Collect the targets of a frontier's rows with their best links; return the new count.

    What `lamina_kernels.graph.hops.gather_hop` and `score_hop` do one after the other: without affinities to wait for, a
    link need not be written down. It took a third off the time of a walk.
    """
    for position in range(start, taken.size):
        u, left = taken[position], scores[position] * DECAY
        for i in range(links.indptr[u], links.indptr[u + 1]):
            v, relation = links.indices[i], links.relations[i]
            if walked[relation] == 0 or blocked[v >> 3] & np.uint8(1 << (v & 7)):
                continue
            reached = left + gain[relation] * links.weights[i]
            at = _slot_of(v, out_keys)
            j = met
            if out_keys[at] < 0:
                out_keys[at], out_values[at], out_nodes[met] = v, met, v
                met += 1
            else:
                j = out_values[at]
                if j < 0 or not reached > out_best[j]:
                    continue
            out_best[j], out_via[j], out_owners[j], out_outward[j] = reached, i, position, outward
    return met


@kernel(examples=[_beam_examples])
def beam_walk(
    forward: Csr,
    backward: Csr,
    anchors: I32,
    scores: F64,
    gain: F64,
    walk_out: U8,
    walk_in: U8,
    blocked: U8,
    width: int,
    max_hops: int,
    out_nodes: I32,
    out_scores: F64,
    out_hops: I32,
    out_parents: I32,
    out_entries: I64,
    out_outward: U8,
) -> int:
    """Walk from anchors without affinities, within the room of the outputs; see `beam`.

    Parameters
    ----------
    forward, backward : Csr
        Links by source, and by target; n nodes.
    anchors : int32 (s,)
        Distinct and not blocked.
    scores : float64 (s,)
    gain : float64 (256,)
        exp(0.6 · W) of each relation; 0 where it never raises a score.
    walk_out, walk_in : uint8 (256,)
        1 for relations that are walked in each direction.
    blocked : uint8 (⌈n / 8⌉,)
    width, max_hops : int
    out_nodes : int32 (k,)
        Written, as `Walk` has them; k is the budget.
    out_scores : float64 (k,)
        Written.
    out_hops, out_parents : int32 (k,)
        Written.
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
    O(links of the nodes taken), serial.
    """
    start, at = 0, min(anchors.size, out_nodes.size)
    for i in range(at):
        out_nodes[i], out_scores[i], out_hops[i] = anchors[i], scores[i], 0
        out_parents[i], out_entries[i], out_outward[i] = -1, -1, 0
    everything = np.empty(0, np.uint8)
    goes_out, goes_in = walk_out.any(), walk_in.any()
    for hop in range(1, max_hops + 1):
        if start == at or at == out_nodes.size:
            break
        taken = out_nodes[:at]
        m = _count_links(forward, walk_out, taken, start) + _count_links(backward, walk_in, taken, start)
        keys, values = _closed_table(taken, m)
        nodes, best, via = np.empty(m, np.int32), np.empty(m + 1), np.empty(m, np.int64)
        owners, outward = np.empty(m, np.int32), np.empty(m, np.uint8)
        best[m] = _touch_rows(forward, walk_out, taken, start) + _touch_rows(backward, walk_in, taken, start)
        met = 0
        if goes_out:
            met = _meet_rows(
                forward, walk_out, 1, taken, start, out_scores, gain, blocked, met,
                keys, values, nodes, best, via, owners, outward,
            )  # fmt: skip
        if goes_in:
            met = _meet_rows(
                backward, walk_in, 0, taken, start, out_scores, gain, blocked, met,
                keys, values, nodes, best, via, owners, outward,
            )  # fmt: skip
        rows, tops = np.empty(min(width, out_nodes.size - at), np.int64), np.empty(min(width, out_nodes.size - at))
        found = top_k_scan(best[:met], everything, rows, tops)
        for j in range(found):
            i = rows[j]
            out_nodes[at + j], out_scores[at + j], out_hops[at + j] = nodes[i], tops[j], hop
            out_parents[at + j], out_entries[at + j], out_outward[at + j] = owners[i], via[i], outward[i]
        start, at = at, at + found
    return at


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
    """Collect the next hop's links and flag the nodes that may enter the beam.

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
        By link, as `lamina_kernels.graph.hops.gather_hop` gives them.
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
    score_hop(
        forward, backward, slots, owners, entries, leads_out, scores, gain, np.full(c, 1.0 / most_lift), best, first
    )
    rows, tops = np.empty(room, np.int64), np.empty(room)
    top_k_scan(best, np.empty(0, np.uint8), rows, tops)
    score_hop(forward, backward, slots, owners, entries, leads_out, scores, gain, np.full(c, most_lift), best, first)
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
    score_hop(forward, backward, slots, owners, entries, outward != 0, out_scores[start:at], gain, lift, best, first)
    rows, tops = np.empty(room, np.int64), np.empty(room)
    found = top_k_scan(best, np.empty(0, np.uint8), rows, tops)
    for j in range(found):
        via = first[rows[j]]
        out_nodes[at + j], out_scores[at + j], out_hops[at + j] = met[rows[j]], tops[j], hop
        out_parents[at + j], out_entries[at + j], out_outward[at + j] = start + owners[via], entries[via], outward[via]
    return at + found

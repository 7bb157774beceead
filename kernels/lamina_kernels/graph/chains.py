"""Chain walks backward or forward from seeds, each within a budget of tokens.

Depth first from each seed on its own. A node stands once on the way to it, so a cycle ends; a chain is told where
nothing leads on, where the way is as long as it may be, or where the next node would exceed the budget. A node that
is larger than the whole budget is gone through and left out, and so are some nodes of others (other agents, say) in a
row. Limits on nodes expanded and chains told keep a dense graph from taking more than a moment.

The walk looks at structure and sizes alone: which chain is best is judged by what its nodes are worth to a question.

Sizes of nodes are needed only where the walk comes by. One that is not known ends the call, which names it; the
caller learns it, with as many around as it likes, and asks again. So nothing grows with the number of nodes.

The kernel's own Python serves until it is compiled: a walk takes some hundred steps.

Links are weighed by hops and never by the clock (`linear_hop_decay`, `exponential_hop_decay`): days without work on a
project say nothing about what led to what.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from lamina_kernels._jit import is_ready, kernel
from lamina_kernels.graph.hops import RELATIONS, csr_example
from lamina_kernels.layouts import F64, I32, I64, U8, Csr

UNSIZED_TOKENS = 100
"""What a node of size 0 counts as."""


class Limits(NamedTuple):
    """Limits of a chain walk.

    Attributes
    ----------
    tokens : int
        Of one chain; ≥ 1.
    depth : int
        Nodes on the way, those left out included; ≥ 1.
    skips : int
        Nodes of others in a row that are gone through.
    chains : int
        Chains of one seed; ≥ 1.
    expansions : int
        Nodes of one seed whose links are looked at.
    """

    tokens: int
    depth: int
    skips: int
    chains: int
    expansions: int


class Chains(NamedTuple):
    """Chains in the order of the walk: by seed, then depth first.

    Attributes
    ----------
    starts : int64 (c + 1,)
        Chain ``i`` has entries ``starts[i]`` to ``starts[i + 1]``.
    nodes : int32 (e,)
        From the seed on.
    hops : int32 (e,)
        Links between the seed and each node, over nodes left out too.
    seeds : int32 (c,)
        Position of each chain's seed.
    """

    starts: I64
    nodes: I32
    hops: I32
    seeds: I32

    @property
    def lengths(self) -> I64:
        """Nodes of each chain, int64 (c,)."""
        lengths: I64 = np.diff(self.starts)
        return lengths


def chains(
    links: Csr,
    seeds: I32,
    walked: U8,
    blocked: U8,
    others: U8,
    tokens: I32,
    limits: Limits,
    learn: Callable[[int], None],
) -> Chains:
    """Walk from each seed and return all chains.

    Parameters
    ----------
    links : Csr
        By source to walk forward, by target to walk backward; n nodes.
    seeds : int32 (s,)
        In [0, n); blocked ones are passed over.
    walked : uint8 (256,)
        1 for relations that are followed.
    blocked : uint8 (⌈n / 8⌉,)
        Nodes that end the way; see `lamina_kernels.graph.hops.block`.
    others : uint8 (⌈n / 8⌉,)
        Nodes that are gone through and left out, as bits like ``blocked``; seeds are never left out as such.
    tokens : int32 (n,)
        Size of each node; 0 counts as `UNSIZED_TOKENS`, below 0 is not known yet.
    limits : Limits
    learn : callable
        Gets a node whose size is not known, and writes it into ``tokens`` (with others, if it likes).

    Returns
    -------
    Chains

    Notes
    -----
    O(expansions · (links of a node + depth)) a seed; memory O(seeds · chains · depth).
    """
    most = seeds.size * limits.chains
    out = Chains(
        np.zeros(most + 1, np.int64), np.empty(most * limits.depth, np.int32), np.empty(most * limits.depth, np.int32),
        np.empty(most, np.int32),
    )  # fmt: skip
    walk = walk_chains if is_ready(walk_chains) else walk_chains.py_func
    while True:
        found = walk(links, seeds, walked, blocked, others, tokens, limits, out.starts, out.nodes, out.hops, out.seeds)
        if found >= 0:
            size = int(out.starts[found])
            return Chains(out.starts[: found + 1], out.nodes[:size], out.hops[:size], out.seeds[:found])
        learn(-1 - found)


def scores(found: Chains, values: F64) -> tuple[F64, F64]:
    """Return the sum and the median of each chain's values.

    Parameters
    ----------
    found : Chains
    values : float64 (e,)
        What each entry is worth.

    Returns
    -------
    totals, medians : float64 (c,)
        The median of an even number of values is the mean of the middle two.
    """
    totals, medians = np.zeros(found.seeds.size), np.zeros(found.seeds.size)
    bounds = found.starts.tolist()
    for i in range(found.seeds.size):
        some = np.sort(values[bounds[i] : bounds[i + 1]])
        totals[i] = np.cumsum(some)[-1]
        medians[i] = (some[(some.size - 1) // 2] + some[some.size // 2]) / 2.0
    return totals, medians


def best_chain(found: Chains, worth: F64) -> int:
    """Return the first chain of two or more nodes that is worth most, or -1."""
    worth = np.where(found.lengths >= 2, worth, -np.inf)
    return int(np.argmax(worth)) if worth.size and worth.max() > -np.inf else -1


def _walk_examples() -> tuple[object, ...]:
    bits, ends = np.zeros(1, np.uint8), np.zeros(1, np.int32)
    return (
        csr_example(), ends, np.ones(RELATIONS, np.uint8), bits, bits, np.ones(1, np.int32), Limits(9, 2, 1, 2, 9),
        np.zeros(3, np.int64), np.empty(4, np.int32), np.empty(4, np.int32), np.empty(2, np.int32),
    )  # fmt: skip


@kernel(examples=[_walk_examples])
def walk_chains(
    links: Csr,
    seeds: I32,
    walked: U8,
    blocked: U8,
    others: U8,
    tokens: I32,
    limits: Limits,
    out_starts: I64,
    out_nodes: I32,
    out_hops: I32,
    out_seeds: I32,
) -> int:
    """Walk from each seed, depth first.

    Parameters
    ----------
    links, seeds, walked, blocked, others, tokens, limits
        As in `chains`.
    out_starts : int64 (s · chains + 1,)
        Written.
    out_nodes : int32 (s · chains · depth,)
        Written.
    out_hops : int32 (s · chains · depth,)
        Written.
    out_seeds : int32 (s · chains,)
        Written.

    Returns
    -------
    int
        How many chains there are; or -1 - v where the size of node v is needed and not known.

    Notes
    -----
    Serial, nogil. All of it stands in one function: a helper would be compiled at its first call, and this one also serves as
    plain Python before Numba is there.
    """
    way = np.empty(limits.depth, np.int32)  # nodes from the seed to here, those left out included
    cursor = np.empty(limits.depth, np.int64)  # next link of each, -1 before its links are looked at
    skipped = np.empty(limits.depth, np.int64)  # nodes of others in a row, up to each
    size = np.empty(limits.depth, np.int64)  # tokens of each, 0 where it is left out
    told = np.empty(limits.depth, np.uint8)  # whether a chain through it was told
    cut = np.empty(limits.depth, np.uint8)  # whether one was told because the next node would not fit
    found, end = 0, 0
    out_starts[0] = 0
    for position in range(seeds.size):
        seed = seeds[position]
        if blocked[seed >> 3] >> (seed & 7) & 1:
            continue
        if tokens[seed] < 0:
            return -1 - int(seed)
        first, expansions, top = found, 0, 0
        need = int(tokens[seed]) if tokens[seed] > 0 else UNSIZED_TOKENS
        way[0], cursor[0], skipped[0], told[0], cut[0] = seed, -1, 0, 0, 0
        size[0] = need if need <= limits.tokens else 0
        used = size[0]
        while top >= 0:
            tell, leave, is_new = False, False, cursor[top] < 0
            if is_new:
                cursor[top] = links.indptr[way[top]]
                expansions += 1
            spent = expansions > limits.expansions or found - first >= limits.chains
            if is_new and (spent or top + 1 >= limits.depth):
                tell, leave = not spent, True
            else:
                step = -1  # the node to go on to
                while not spent and cursor[top] < links.indptr[way[top] + 1]:
                    i = cursor[top]
                    cursor[top] = i + 1
                    v = links.indices[i]
                    if walked[links.relations[i]] == 0 or blocked[v >> 3] >> (v & 7) & 1:
                        continue
                    met = False
                    for below in range(top + 1):
                        met |= way[below] == v
                    if met:
                        continue
                    skips, need = 0, 0
                    if others[v >> 3] >> (v & 7) & 1:
                        skips = skipped[top] + 1
                        if skips > limits.skips:
                            continue
                    else:
                        if tokens[v] < 0:
                            return -1 - int(v)
                        need = int(tokens[v]) if tokens[v] > 0 else UNSIZED_TOKENS
                        if need > limits.tokens:
                            need = 0
                        elif used + need > limits.tokens:
                            # once a node: further links to what does not fit would tell the same chain again
                            if cut[top] == 0:
                                cut[top] = 1
                                tell = True
                                break
                            continue
                    step = v
                    break
                if step >= 0:
                    top += 1
                    way[top], cursor[top], skipped[top], size[top], told[top], cut[top] = step, -1, skips, need, 0, 0
                    used += need
                elif not tell:
                    tell, leave = told[top] == 0, True
            if tell and found - first < limits.chains:
                begin = end
                for place in range(top + 1):
                    if size[place] > 0:
                        out_nodes[end], out_hops[end] = way[place], place
                        end += 1
                if end > begin:  # a way of nodes left out alone is no chain
                    out_seeds[found] = position
                    found += 1
                    out_starts[found] = end
                    told[top] = 1
            if leave:
                used -= size[top]
                if top > 0 and told[top] != 0:
                    told[top - 1] = 1
                top -= 1
        if found == first and size[0] > 0:
            out_nodes[end], out_hops[end], out_seeds[found] = seed, 0, position
            end += 1
            found += 1
            out_starts[found] = end
    return found


def linear_hop_decay(hops: I32 | I64, hold: float, dies: float) -> F64:
    """Weight by hop count: 1 at first, then falling evenly to 0.

    Parameters
    ----------
    hops : int32 or int64 (n,)
        ≥ 0.
    hold : float
        Hops up to which the weight is 1; ≥ 0.
    dies : float
        Hops from which on it is 0; > ``hold``.

    Returns
    -------
    float64 (n,)
        In [0, 1].

    Notes
    -----
    max(0, 1 − max(0, hops − hold) / (dies − hold)).
    """
    fallen = np.maximum(hops.astype(np.float64) - hold, 0.0) / (dies - hold)
    return np.maximum(1.0 - fallen, 0.0)


def exponential_hop_decay(hops: I32 | I64, base: float, least: float) -> F64:
    """Weight by hop count: the base to the power of hops, 0 once below the least.

    Parameters
    ----------
    hops : int32 or int64 (n,)
        ≥ 0.
    base, least : float
        In (0, 1).

    Returns
    -------
    float64 (n,)
        In [0, 1].
    """
    weight = np.power(base, hops.astype(np.float64))
    return np.where(weight < least, 0.0, weight)

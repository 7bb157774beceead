"""Matches passed along links: from hits to what they link to, hop by hop.

A chunk receives from a neighbour u the share s of its relation, the weight w of the link and a fan-out factor::

    received(v) = max over links of  score(u) · s · w · min(1, sqrt(FAN / links of u walked that way))

so what comes of a strong hit counts more than what comes of a weak one, and an index page that links to everything
passes little to each. Of several links the greatest counts. `lamina_engine.recall.expansion` adds it to a chunk's own match.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from lamina_engine.graph.registry import STANDARD, Registry, passed_shares
from lamina_engine.index import nodes
from lamina_kernels.graph.csr import entries
from lamina_kernels.layouts import Walk

if TYPE_CHECKING:
    from lamina_engine.graph.walks import Starts
    from lamina_engine.index.graph import LinkGraph
    from lamina_engine.index.view import View
    from lamina_kernels.layouts import F64, I64, U8

FAN: Final = 8
"""Links of one chunk up to which each passes the whole of its share."""
LEAST: Final = 0.01
"""Share of the best hit's match below which nothing is passed on."""


class _Arrivals(NamedTuple):
    """Links that something is passed along, best of each chunk first."""

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
    view: View,
    begin: Starts,
    *,
    intent: str,
    depth: int,
    beam_width: int,
    relations: tuple[str, ...] = (),
    invalidated: bool = True,
    registry: Registry = STANDARD,
) -> Walk:
    """Pass the scores of starts along links; in the first hop starts receive from each other.

    Of a hop the ``beam_width`` chunks that receive most lead on, of equals those whose ids have the smaller hashes.
    O(links of the starts and of what was reached).
    """
    state = nodes.state_of(view)
    graph = state.graph
    shares = _shares(graph.relations, intent, relations, registry, len(registry))
    blocked = state.blocked if invalidated else state.blocked_invalid
    zeros = np.zeros(len(begin.nodes), np.int32)
    hops = [Walk(begin.nodes, begin.scores, zeros, zeros - 1, zeros.astype(np.int64) - 1, zeros.astype(np.uint8))]
    frontier, scores, places = begin.nodes.astype(np.int64), begin.scores, np.arange(len(begin.nodes))
    taken: I64 = np.empty(0, np.int64)
    found = len(begin.nodes)
    for hop in range(1, depth + 1):
        met = _best_arrivals(graph, _arrivals(graph, frontier, scores, shares), blocked, taken, beam_width)
        if not met.nodes.size:
            break
        parents = places[met.parents].astype(np.int32)
        met_nodes = met.nodes.astype(np.int32)
        hops.append(Walk(met_nodes, met.scores, np.full_like(parents, hop), parents, met.entries, met.outward))
        fresh = np.flatnonzero(~np.isin(met.nodes, begin.nodes))  # a start has passed on what it has
        frontier, scores, places = met.nodes[fresh], met.scores[fresh], found + fresh
        taken, found = np.concatenate([taken, begin.nodes, met.nodes]).astype(np.int64), found + met.nodes.size
    return Walk(*(np.concatenate(column) for column in zip(*hops, strict=True)))


@functools.lru_cache(maxsize=64)
def _shares(
    names: tuple[str, ...], intent: str, relations: tuple[str, ...], registry: Registry, known: int
) -> tuple[F64, F64]:
    """Return the shares of relation codes; ``known``, the number of relations, keys the cache."""
    found = passed_shares(names, intent, relations or None, registry)
    for table in found:
        table.flags.writeable = False
    return found


def _arrivals(graph: LinkGraph, frontier: I64, scores: F64, shares: tuple[F64, F64]) -> _Arrivals:
    """Return what each link of the frontier passes on, outward links first."""
    parts = []
    for links, share, outward in ((graph.forward, shares[0], 1), (graph.backward, shares[1], 0)):
        owners, found = entries(links.indptr, frontier)
        passed = share[links.relations[found]]
        owners, found, passed = owners[passed > 0.0], found[passed > 0.0], passed[passed > 0.0]
        fan = np.bincount(owners, minlength=len(frontier))[owners]
        passed = passed * links.weights[found] * np.minimum(1.0, np.sqrt(FAN / fan)) * scores[owners]
        direction = np.full(len(found), outward, np.uint8)
        parts.append(_Arrivals(links.indices[found].astype(np.int64), passed, owners, found, direction))
    return _Arrivals(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _best_arrivals(graph: LinkGraph, met: _Arrivals, blocked: U8, taken: I64, most: int) -> _Arrivals:
    """Return the best arrival at each of the ``most`` chunks that receive most."""
    closed = blocked[met.nodes >> 3] >> (met.nodes & 7).astype(np.uint8) & 1
    kept = np.flatnonzero((met.scores >= LEAST) & (closed == 0) & ~np.isin(met.nodes, taken))
    order = kept[np.lexsort((graph.hashes[met.nodes[kept]], -met.scores[kept]))]  # stable: outward links stay first
    _, first = np.unique(met.nodes[order], return_index=True)
    best = order[np.sort(first)][:most]
    return met.at(best)

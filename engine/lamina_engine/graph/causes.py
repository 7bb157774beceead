"""Causal chains: causes and effects of a chunk, with confidence and reason per hop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from lamina_engine.chunks.reading import with_texts
from lamina_engine.errors import InvalidArgument
from lamina_engine.graph.ends import find_ends
from lamina_engine.index import nodes
from lamina_engine.index.claims import Claims, origin_ranks
from lamina_engine.index.state import STATUS_NAMES
from lamina_engine.results import Cause

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lamina_engine.index.nodes import NodeState
    from lamina_engine.index.view import View

CAUSAL: Final = "causal"
MAX_DEPTH: Final = 10
Way = Literal["causes", "caused_by", "both"]
WAYS: Final = ("causes", "caused_by", "both")


def causes(view: View, identity: str, *, direction: Way = "both", depth: int = 5) -> list[Cause]:
    """Return what a chunk led to and what led to it, each once, at its least depth.

    Parameters
    ----------
    view : View
    identity : str
        Its id, or an unambiguous short one.
    direction : {"causes", "caused_by", "both"}
        Effects, causes, or both; what is both is listed as an effect.
    depth : int
        Hops; below 1 is taken as 1, above 10 as 10.

    Returns
    -------
    list of Cause
        Nearest first, then the most certain, then by id. Of several chains of one length the one whose product is
        greatest counts. Removed chunks are neither listed nor passed through.

    Raises
    ------
    ChunkNotFound, AmbiguousId, InvalidArgument
    """
    if direction not in WAYS:
        raise InvalidArgument(f"direction={direction!r} must be one of {', '.join(WAYS)}")
    if isinstance(depth, bool) or not isinstance(depth, (int, np.integer)):
        raise InvalidArgument(f"depth={depth!r} must be a whole number from 1 to {MAX_DEPTH}")
    full, _ = find_ends(view, [identity])[identity]
    state = nodes.state_of(view)
    root = int(state.graph.node_of([full])[0])
    if root < 0 or CAUSAL not in state.graph.relations:
        return []
    found: dict[int, Cause] = {}
    for way in ("causes", "caused_by") if direction == "both" else (direction,):
        for node, cause in _chains(view, state, root, way, min(max(int(depth), 1), MAX_DEPTH)):
            found.setdefault(node, cause)
    ordered = sorted(found.values(), key=lambda cause: (cause.depth, -cause.confidence, cause.id))
    return with_texts(view, ordered)


def _chains(view: View, state: NodeState, root: int, way: str, depth: int) -> Iterator[tuple[int, Cause]]:
    """Yield what lies along one direction, breadth first, so cycles end by themselves."""
    graph = state.graph
    links = graph.forward if way == "causes" else graph.backward
    code = graph.relations.index(CAUSAL)
    products = {root: 1.0}
    names: dict[int, tuple[str, ...]] = {root: (_name(view, state, root),)}
    frontier = [root]
    for hop in range(1, depth + 1):
        best: dict[int, tuple[float, int, float]] = {}
        for u in frontier:
            for at in range(int(links.indptr[u]), int(links.indptr[u + 1])):
                v = int(links.indices[at])
                blocked = state.blocked[v >> 3] >> (v & 7) & 1
                if links.relations[at] != code or v in products or blocked:
                    continue
                weight = float(links.weights[at])
                product = products[u] * weight
                if v not in best or (-product, names[u]) < (-best[v][0], names[best[v][1]]):
                    best[v] = (product, u, weight)
        for v, (product, u, weight) in best.items():
            products[v], names[v] = product, (*names[u], _name(view, state, v))
            ends = (u, v) if way == "causes" else (v, u)
            status = STATUS_NAMES[int(state.status[v])]
            yield v, Cause(names[v][-1], way, hop, weight, product, _reason(view, state, *ends, code), names[v], status)
        frontier = list(best)


def _name(view: View, state: NodeState, node: int) -> str:
    return str(view.snapshot.values("chunks", "id", state.rows[[node]])[0])


def _reason(view: View, state: NodeState, source: int, target: int, code: int) -> str | None:
    """Return the note of the claim that stands."""
    claims: Claims = state.graph.claims
    ranks = origin_ranks(state.graph.origins)
    span = range(int(claims.indptr[source]), int(claims.indptr[source + 1]))
    fits = [at for at in span if claims.targets[at] == target and claims.relations[at] == code]
    best = min(fits, key=lambda at: int(ranks[claims.origins[at]]))
    note: str | None = view.snapshot.values("links", "note", claims.rows[[best]])[0]
    return note

"""Current links of a chunk, claims of an origin, and causal chains."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from lamina_engine.arguments import whole_of
from lamina_engine.chunks.identities import find_ends
from lamina_engine.chunks.reading import with_texts
from lamina_engine.errors import InvalidArgument
from lamina_engine.graph.registry import DIRECTIONS, KNOWN, Direction, wanted_names
from lamina_engine.index import nodes
from lamina_engine.index.claims import Claims, origin_ranks, squash
from lamina_engine.index.state import STATUS_NAMES
from lamina_engine.results import Cause, Link
from lamina_kernels.graph import csr

if TYPE_CHECKING:
    from lamina_engine.index.nodes import NodeState
    from lamina_engine.index.view import View


def links_of(
    view: View,
    identity: str,
    *,
    direction: Direction = "both",
    relations: Sequence[str] | None = None,
    hidden: bool = False,
) -> list[Link]:
    """Return a chunk's current links: outward ones first, then by relation and the other id."""
    if direction not in DIRECTIONS:
        raise InvalidArgument(f"direction={direction!r} must be one of {', '.join(DIRECTIONS)}")
    wanted = wanted_names(relations)
    full, _ = find_ends(view, [identity])[identity]
    both = {relation.name for relation in KNOWN.values() if relation.symmetric or direction == "both"}
    found = (
        link for link in _links_at(view, full)
        if (wanted is None or link.relation in wanted) and (hidden or link.active)
        and (link.relation in both or (link.source == full) == (direction == "out"))
    )  # fmt: skip
    return sorted(found, key=lambda link: (link.source != full, link.relation, link.source, link.target))


def claims_of(view: View, origin: str) -> list[Link]:
    """Return all current claims of an origin in log order, also where another origin's wins."""
    records = view.snapshot.records("links", claim_rows(view, origin))
    return [_link(view, record, origin, counted=False) for record in records]


def claim_rows(view: View, origin: str) -> NDArray[np.int64]:
    """Return the log rows of an origin's current claims, ascending."""
    graph = nodes.state_of(view).graph
    if origin not in graph.origins:
        return np.empty(0, np.int64)
    return np.sort(graph.claims.rows[graph.claims.origins == graph.origins.index(origin)])


def claim_rows_at(view: View, origin: str, starts: Iterable[str]) -> NDArray[np.int64]:
    """Return the log rows of an origin's claims about links from some chunks. O(their links)."""
    graph = nodes.state_of(view).graph
    if origin not in graph.origins:
        return np.empty(0, np.int64)
    found = graph.node_of(sorted(starts))
    _, entries = csr.entries(graph.claims.indptr, np.unique(found[found >= 0]))
    return np.sort(graph.claims.rows[entries[graph.claims.origins[entries] == graph.origins.index(origin)]])


def _links_at(view: View, identity: str) -> Iterator[Link]:
    """Yield the standing links of a chunk."""
    graph = nodes.state_of(view).graph
    node = int(graph.node_of([identity])[0])
    if node < 0:
        return
    claims, ranks = graph.claims, origin_ranks(graph.origins)
    begin, end = int(graph.backward.indptr[node]), int(graph.backward.indptr[node + 1])
    owners = dict.fromkeys([node, *graph.backward.indices[begin:end].tolist()])
    best: dict[tuple[int, int, int], tuple[int, int]] = {}
    for owner in owners:
        for at in range(int(claims.indptr[owner]), int(claims.indptr[owner + 1])):
            target = int(claims.targets[at])
            if owner == node or target == node:
                key = (owner, target, int(claims.relations[at]))
                found = (int(ranks[claims.origins[at]]), at)
                best[key] = min(best.get(key, found), found)
    rows = claims.rows[[at for _, at in best.values()]]
    counted = {relation.name for relation in KNOWN.values() if relation.counted}
    for record in view.snapshot.records("links", rows):
        yield _link(view, record, identity, counted=record["relation"] in counted)


def _link(view: View, record: dict[str, Any], seen_from: str, *, counted: bool) -> Link:
    other = record["target"] if record["source"] == seen_from else record["source"]
    rows = view.rows_of_ids([record["source"], record["target"], other])
    states = [STATUS_NAMES[view.state.status[row]] if row >= 0 else "unknown" for row in rows.tolist()]
    weight = record["weight"]
    return Link(
        record["source"], record["target"], record["relation"],
        float(squash(np.array([weight], np.float32))[0]) if counted else weight,
        record["origin"], record["note"], record["created_at"], record["recorded_at"],
        int(weight) if counted else None, states[2], all(state in ("active", "invalidated") for state in states[:2]),
    )  # fmt: skip


CAUSAL: Final = "causal"
MAX_DEPTH: Final = 10
Way = Literal["causes", "caused_by", "both"]
WAYS: Final = ("causes", "caused_by", "both")


def causes(view: View, identity: str, *, direction: Way = "both", depth: int = 5) -> list[Cause]:
    """Return a chunk's causes and effects, each once, nearest first, then the most certain."""
    if direction not in WAYS:
        raise InvalidArgument(f"direction={direction!r} must be one of {', '.join(WAYS)}")
    depth = whole_of(depth, "depth", 1, MAX_DEPTH)
    full, _ = find_ends(view, [identity])[identity]
    state = nodes.state_of(view)
    root = int(state.graph.node_of([full])[0])
    if root < 0 or CAUSAL not in state.graph.relations:
        return []
    found: dict[int, Cause] = {}
    for way in ("causes", "caused_by") if direction == "both" else (direction,):
        for node, cause in _chains(view, state, root, way, depth):
            found.setdefault(node, cause)
    ordered = sorted(found.values(), key=lambda cause: (cause.depth, -cause.confidence, cause.id))
    return with_texts(view, ordered)


def _chains(view: View, state: NodeState, root: int, way: str, depth: int) -> Iterator[tuple[int, Cause]]:
    """Yield causal links along one direction, breadth first, so cycles end."""
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
    """Return the note of the current claim."""
    claims: Claims = state.graph.claims
    ranks = origin_ranks(state.graph.origins)
    span = range(int(claims.indptr[source]), int(claims.indptr[source + 1]))
    fits = [at for at in span if claims.targets[at] == target and claims.relations[at] == code]
    best = min(fits, key=lambda at: int(ranks[claims.origins[at]]))
    note: str | None = view.snapshot.values("links", "note", claims.rows[[best]])[0]
    return note

"""Current links of a chunk, and the claims of an origin; see `lamina_engine.index.claims`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lamina_engine.errors import InvalidArgument
from lamina_engine.graph.ends import find_ends
from lamina_engine.graph.registry import DIRECTIONS, STANDARD, Direction, Registry
from lamina_engine.index import nodes
from lamina_engine.index.claims import origin_ranks, squash
from lamina_engine.index.state import STATUS_NAMES
from lamina_engine.results import Link
from lamina_kernels.graph import csr

if TYPE_CHECKING:
    from lamina_engine.index.view import View


def links_of(
    view: View, identity: str, *, direction: Direction = "both", relations: Sequence[str] | None = None,
    registry: Registry = STANDARD, hidden: bool = False,
) -> list[Link]:  # fmt: skip
    """Return a chunk's current links: outward ones first, then by relation and the other id."""
    if direction not in DIRECTIONS:
        raise InvalidArgument(f"direction={direction!r} must be one of {', '.join(DIRECTIONS)}")
    wanted = None if relations is None else {registry.get(name).name for name in relations}
    full, _ = find_ends(view, [identity])[identity]
    found = [link for link in _links_at(view, full, registry) if wanted is None or link.relation in wanted]
    symmetric = {relation.name for relation in registry if relation.symmetric}
    ways = {"out": (full,), "in": ()}
    found = [
        link
        for link in found
        if direction == "both" or link.relation in symmetric or (link.source in ways["out"]) == (direction == "out")
    ]
    found = [link for link in found if hidden or link.active]
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


def _links_at(view: View, identity: str, registry: Registry) -> Iterator[Link]:
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
    counted = {relation.name for relation in registry if relation.counted}
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

"""Walks over the link graph, from ids to ids: what is near, what a question leads to, and the path to each.

Equal scores stand newer first, then by id. Chunks that were removed are neither found nor walked; those that were
invalidated are, and say so, unless the caller leaves them out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from lamina_engine.arguments import ids_of
from lamina_engine.chunks.reading import with_texts
from lamina_engine.clock import MISSING_US
from lamina_engine.errors import ChunkNotFound, InvalidArgument
from lamina_engine.graph import leads
from lamina_engine.graph.ends import find_ends
from lamina_engine.graph.leads import step_of
from lamina_engine.graph.registry import STANDARD, Direction, Registry
from lamina_engine.index import nodes
from lamina_engine.index.state import STATUS_NAMES
from lamina_engine.results import Neighbor, Step
from lamina_kernels.graph.hops import neighbours as gather_hops

if TYPE_CHECKING:
    from lamina_engine.index.nodes import NodeState
    from lamina_engine.index.view import View
    from lamina_kernels.layouts import F32, I32, I64, Walk

MAX_DEPTH: Final = 16
MAX_BUDGET: Final = 100_000
_NEIGHBOUR_LIMIT: Final = 10_000


def neighbours(
    view: View,
    identity: str | Sequence[str],
    *,
    hops: int = 1,
    relations: Sequence[str] | None = None,
    direction: Direction = "both",
    invalidated: bool = True,
    limit: int = _NEIGHBOUR_LIMIT,
    registry: Registry = STANDARD,
) -> list[Neighbor]:
    """Return what lies within some hops of a chunk, or of several: nearest first, then newer, then by id.

    Parameters
    ----------
    view : View
    identity : str or sequence of str
    hops : int
        1 to `MAX_DEPTH`.
    relations : sequence of str, optional
        Only these.
    direction : {"out", "in", "both"}
        Which way links are walked; symmetric ones both ways in any case.
    invalidated : bool
        Also find and walk chunks that were invalidated.
    limit : int
        Most chunks to return; nearer ones first.
    registry : Registry

    Raises
    ------
    ChunkNotFound, AmbiguousId, InvalidArgument
    """
    _check_whole("hops", hops, 1, MAX_DEPTH)
    _check_whole("limit", limit, 1, MAX_BUDGET)
    state = nodes.state_of(view)
    walk_out, walk_in = registry.masks(state.graph.relations, relations, direction)
    names = ids_of(identity, "id", alone=True)
    seeds = _by_hash(state, _nodes_of(view, state, names))
    blocked = state.blocked if invalidated else state.blocked_invalid
    walk = gather_hops(
        state.graph.forward, state.graph.backward, seeds, walk_out, walk_in, blocked, hops, state.graph.nodes
    )
    found = [near for near in _reached(view, state, _nearest(view, state, walk, limit)) if near.hops]
    return with_texts(view, sorted(found, key=lambda near: (near.hops, *_order(near)))[:limit])


def traverse(
    view: View,
    anchors: Mapping[str, float] | Sequence[str],
    *,
    intent: str | None = None,
    depth: int = 2,
    beam: int = 5,
    budget: int = 30,
    vector: F32 | None = None,
    relations: Sequence[str] | None = None,
    without: Sequence[str] = (),
    invalidated: bool = True,
    registry: Registry = STANDARD,
) -> list[Neighbor]:
    """Return what anchors lead to by a best-first walk, anchors included, best first.

    Parameters
    ----------
    view : View
    anchors : mapping of str to float, or sequence of str
        Ids and their scores, ≥ 0; 1 where only ids are given. Removed ones are passed over.
    intent : {"why", "when", "entity", "what"}, optional
        Which relations weigh most; ``what`` unless given.
    depth, beam, budget : int
        Hops, chunks taken in each, chunks taken in all (anchors included, and never more).
    vector : float32 (d,), optional
        The question's, of any length: chunks like it rank higher.
    relations : sequence of str, optional
        Only these; each is walked the ways its registration says.
    without : sequence of str
        Collections whose chunks are not walked; they take no place in the beam either.
    invalidated : bool
        Also walk chunks that were invalidated.
    registry : Registry

    Raises
    ------
    ChunkNotFound, AmbiguousId, InvalidArgument

    Notes
    -----
    Formula: `lamina_kernels.graph.beam`. Of equals at the edge of the beam those whose ids have the smaller hashes are taken.
    Scores are not bounded; divide by the greatest before mixing them with
    others.
    """
    for name, value, most in (("depth", depth, MAX_DEPTH), ("beam", beam, MAX_BUDGET), ("budget", budget, MAX_BUDGET)):
        _check_whole(name, value, 1, most)
    begin = _starts(view, anchors, invalidated=invalidated)
    walk = leads.walk(
        view, begin, intent=intent, depth=depth, beam_width=beam, budget=budget, vector=vector, relations=relations,
        without=without, invalidated=invalidated, registry=registry,
    )  # fmt: skip
    lone = zip(begin.lone_scores.tolist(), _facts(view, begin.lone), strict=True)
    alone = [Neighbor(name, score, 0, (), status, False, created) for score, (name, status, created) in lone]
    found = [*_reached(view, nodes.state_of(view), walk), *alone]
    return with_texts(view, sorted(found, key=lambda near: (-near.score, *_order(near)))[:budget])


def propagate(
    view: View, anchors: Mapping[str, float] | Sequence[str], *, intent: str | None = None, budget: int = 30,
    invalidated: bool = True, registry: Registry = STANDARD,
) -> list[tuple[str, float, tuple[str, ...]]]:  # fmt: skip
    """Return what mass pushed from anchors along an intent's paths comes to: ids, scores, and the path of relations.

    Raises
    ------
    ChunkNotFound, AmbiguousId, InvalidArgument

    Notes
    -----
    See `lamina_kernels.graph.push`. Best first; equal scores newer first, then by id.
    """
    _check_whole("budget", budget, 1, MAX_BUDGET)
    begin, paths = _starts(view, anchors, invalidated=invalidated), leads.paths_of(intent)
    pushed = leads.pushed(
        view, begin, intent=intent, budget=budget, invalidated=invalidated, registry=registry
    )  # fmt: skip
    created = view.created_us[pushed.rows].tolist()
    found = [
        (-score, -made, str(name), paths[path])
        for name, score, path, made in zip(
            view.snapshot.values("chunks", "id", pushed.rows),
            pushed.scores.tolist(),
            pushed.paths.tolist(),
            created,
            strict=True,
        )
    ]
    return [(name, -score, path) for score, _, name, path in sorted(found)]


def _nearest(view: View, state: NodeState, walk: Walk, limit: int) -> Walk:
    """Return what of a walk can be among the first, by hops and then newer: before ids are read, which takes longer."""
    begun = int(np.count_nonzero(walk.hops == 0))
    if walk.nodes.size <= limit + begun:
        return walk
    created = view.snapshot.numbers("chunks", "created_at", state.rows[walk.nodes], MISSING_US).astype(np.int64)
    order = np.lexsort((-created.astype(np.float64), walk.hops))
    last = order[limit + begun - 1]
    kept = (walk.hops < walk.hops[last]) | ((walk.hops == walk.hops[last]) & (created >= created[last]))
    # whatever is nearer stays, so parents do
    places = (np.cumsum(kept) - 1).astype(np.int32)
    parents = np.where(walk.parents >= 0, places[walk.parents], np.int32(-1))
    columns = (walk.nodes, walk.scores, walk.hops, parents, walk.entries, walk.outward)
    nodes_, scores, hops, parents, entries, outward = (column[kept] for column in columns)
    return type(walk)(nodes_, scores, hops, parents, entries, outward)  # pyright: ignore[reportArgumentType]


# ---------------------------------------------------------------------- from ids to nodes


def _check_whole(name: str, value: int, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not least <= value <= most:
        raise InvalidArgument(f"{name}={value!r} must be a whole number from {least} to {most}")


def _nodes_of(view: View, state: NodeState, identities: Sequence[str]) -> I64:
    found = state.graph.node_of(list(dict.fromkeys(full for full, _ in find_ends(view, identities).values())))
    return found[found >= 0]


def _by_hash(state: NodeState, found: I64) -> I32:
    """Return nodes in the order of the rows of the graph."""
    return found[np.argsort(state.graph.hashes[found])].astype(np.int32)


def _starts(view: View, anchors: Mapping[str, float] | Sequence[str], *, invalidated: bool) -> leads.Starts:
    given = dict(anchors) if isinstance(anchors, Mapping) else dict.fromkeys(anchors, 1.0)
    for name, score in given.items():
        if not np.isfinite(score) or score < 0:
            raise InvalidArgument(f"anchor {name!r} has the score {score!r}; give a finite number of at least 0")
    ends = find_ends(view, given)
    rows = np.array([ends[name][1] for name in given], np.int64)
    scores = np.array(list(given.values()), np.float64)
    return leads.starts(view, *leads.current(view, rows, scores), invalidated=invalidated)


# ---------------------------------------------------------------------- from nodes to ids


def _facts(view: View, rows: I64) -> list[tuple[str, str, int | None]]:
    """Return id, status and created_at of rows."""
    if not rows.size:
        return []
    names = view.snapshot.values("chunks", "id", rows)
    created = view.snapshot.numbers("chunks", "created_at", rows, MISSING_US).tolist()
    states = [STATUS_NAMES[code] for code in view.state.status[rows].tolist()]
    return [
        (str(name), status, None if made == MISSING_US else made)
        for name, status, made in zip(names, states, created, strict=True)
    ]


def _reached(view: View, state: NodeState, walk: Walk) -> list[Neighbor]:
    facts = _facts(view, state.rows[walk.nodes])
    columns: list[list[Any]] = [
        walk.parents.tolist(),
        walk.entries.tolist(),
        walk.outward.tolist(),
        walk.scores.tolist(),
        walk.hops.tolist(),
    ]
    paths: list[tuple[Step, ...]] = []
    found: list[Neighbor] = []
    for position, (parent, entry, outward, score, hops) in enumerate(zip(*columns, strict=True)):
        name, status, created = facts[position]
        path: tuple[Step, ...] = ()
        if parent >= 0:
            path = (*paths[parent], step_of(state, entry, bool(outward), facts[parent][0], name))
        paths.append(path)
        contradicted = any(step.relation == leads.CONTRADICTS for step in path)
        found.append(Neighbor(name, score, hops, path, status, contradicted, created))
    return found


def _order(near: Neighbor) -> tuple[int, str]:
    return -(MISSING_US if near.created_at_us is None else near.created_at_us), near.id


__all__ = ["ChunkNotFound", "neighbours", "propagate", "traverse"]

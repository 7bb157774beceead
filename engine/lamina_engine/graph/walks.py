"""Graph walks from seeds: best-first and one hop; by rows for recall, by ids else.

A recall keeps a handful of what walks reach, so ids, paths and dates are read of those alone. Equal scores stand newer
first, then by id. Removed chunks are neither found nor walked; invalidated ones are, and say so, unless left out.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from lamina_engine.arguments import ids_of, names_of, whole_of
from lamina_engine.chunks.identities import find_ends
from lamina_engine.chunks.reading import with_texts
from lamina_engine.clock import MISSING_US
from lamina_engine.errors import InvalidArgument
from lamina_engine.graph.registry import AFFINITY, Direction, gains, masks, passed_shares
from lamina_engine.index import nodes
from lamina_engine.index.state import ACTIVE, INVALIDATED, STATUS_NAMES
from lamina_engine.profiles import WHAT, check_intent
from lamina_engine.results import Neighbor, Step
from lamina_kernels.graph import beam, injection
from lamina_kernels.graph.csr import entries
from lamina_kernels.graph.hops import block
from lamina_kernels.graph.hops import neighbours as gather_hops
from lamina_kernels.graph.spread import spread

if TYPE_CHECKING:
    from lamina_engine.index.nodes import NodeState
    from lamina_engine.index.view import View
    from lamina_kernels.layouts import F32, F64, I32, I64, U8, Walk

CONTRADICTS: Final = "contradicts"


class Starts(NamedTuple):
    """Seeds of walks: rows with links, best first, and rows without.

    Attributes
    ----------
    nodes : int32 (s,)
    scores : float64 (s,)
    lone : int64 (a,)
        Rows without links: a walk finds them and goes no further.
    lone_scores : float64 (a,)
    """

    nodes: I32
    scores: F64
    lone: I64
    lone_scores: F64


class _Plan(NamedTuple):
    """Weights and directions of a graph's relations for one intent."""

    outward: U8
    inward: U8
    gains: F64


@functools.lru_cache(maxsize=64)
def _plan(names: tuple[str, ...], intent: str) -> _Plan:
    """Return the plan of an intent."""
    plan = _Plan(*masks(names, intent=intent), gains(names, intent))
    for table in plan:
        table.flags.writeable = False
    return plan


def find_starts(view: View, rows: I64, scores: F64, *, invalidated: bool) -> Starts:
    """Return rows as starts, without those whose chunk may not be walked."""
    if not view.all_active:
        status = view.state.status[rows]
        kept = (status == ACTIVE) | (invalidated & (status == INVALIDATED))
        rows, scores = rows[kept], scores[kept]
    worse = -scores
    order = np.argsort(worse, kind="stable")
    if (worse[order[1:]] == worse[order[:-1]]).any():
        names = view.snapshot.values("chunks", "id", rows)
        order = np.array(sorted(range(len(rows)), key=lambda i: (worse[i], names[i])), np.int64)
    rows, scores = rows[order], scores[order]
    found = nodes.nodes_of_rows(view, rows)
    linked = found >= 0
    return Starts(found[linked], scores[linked], rows[~linked], scores[~linked])


def latest_rows(view: View, rows: I64, scores: F64) -> tuple[I64, F64]:
    """Map rows to the current rows of their chunks, each once; the last score counts."""
    found = nodes.current_rows(view, rows)
    latest = dict(zip(found.tolist(), scores.tolist(), strict=True))
    if len(latest) == len(rows):
        return found, scores
    return np.array(list(latest), np.int64), np.array(list(latest.values()), np.float64)


def walk_best_first(
    view: View,
    begin: Starts,
    *,
    intent: str | None,
    depth: int,
    beam_width: int,
    budget: int,
    vector: F32 | None = None,
    relations: Sequence[str] | None = None,
    without: Sequence[str] = (),
    invalidated: bool = True,
) -> Walk:
    """Walk best-first, lone seeds left out; arguments as for `traverse`."""
    state = nodes.state_of(view)
    graph = state.graph
    plan = _plan(graph.relations, check_intent(intent) or WHAT)
    walk_out, walk_in = plan.outward, plan.inward
    if relations is not None:
        walk_out, walk_in = masks(graph.relations, relations, intent=check_intent(intent))
    blocked = state.blocked if invalidated else state.blocked_invalid
    blocked = _without(view, state, blocked, names_of(without, "without", "notes"))
    return beam.beam(
        graph.forward, graph.backward, begin.nodes, begin.scores, plan.gains, walk_out, walk_in, blocked, beam_width,
        depth, budget, _lift(view, state, vector),
    )  # fmt: skip


def spread_matches(
    view: View,
    begin: Starts,
    *,
    intent: str,
    depth: int,
    beam_width: int,
    relations: tuple[str, ...] = (),
    invalidated: bool = True,
) -> Walk:
    """Pass the matches of starts along links; see `lamina_kernels.graph.spread`."""
    state = nodes.state_of(view)
    graph = state.graph
    shares = _shares(graph.relations, intent, relations)
    blocked = state.blocked if invalidated else state.blocked_invalid
    return spread(
        graph.forward, graph.backward, begin.nodes, begin.scores, *shares, graph.hashes, blocked, depth, beam_width
    )


@functools.lru_cache(maxsize=64)
def _shares(names: tuple[str, ...], intent: str, relations: tuple[str, ...]) -> tuple[F64, F64]:
    """Return the shares of relation codes."""
    found = passed_shares(names, intent, relations or None)
    for table in found:
        table.flags.writeable = False
    return found


def mark_contradicted(view: View, walk: Walk) -> U8:
    """Return uint8 (k,): 1 where a link on the way says that its two ends contradict each other."""
    found = np.zeros(walk.nodes.size, np.uint8)
    graph = nodes.state_of(view).graph
    if CONTRADICTS not in graph.relations:
        return found
    code = graph.relations.index(CONTRADICTS)
    for hop in range(1, int(walk.hops.max(initial=0)) + 1):
        here = np.flatnonzero(walk.hops == hop)
        found[here] = found[walk.parents[here]]
        for links, outward in ((graph.forward, 1), (graph.backward, 0)):
            side = here[walk.outward[here] == outward]
            found[side] |= links.relations[walk.entries[side]] == code
    return found


def trace_path(view: View, walk: Walk, position: int) -> tuple[Step, ...]:
    """Return the links from where a walk began to a position of it."""
    state = nodes.state_of(view)
    way = [position]
    while walk.parents[way[-1]] >= 0:
        way.append(int(walk.parents[way[-1]]))
    way.reverse()
    names = [str(name) for name in view.snapshot.values("chunks", "id", state.rows[walk.nodes[way]])]
    return tuple(
        make_step(state, int(walk.entries[at]), bool(walk.outward[at]), before, name)
        for at, before, name in zip(way[1:], names, names[1:], strict=False)
    )


def make_step(state: NodeState, entry: int, outward: bool, before: str, name: str) -> Step:
    """Return a walked link between two ids; ``entry`` as in `lamina_kernels.layouts.Walk`."""
    links = state.graph.forward if outward else state.graph.backward
    source, target = (before, name) if outward else (name, before)
    return Step(source, target, state.graph.relations[links.relations[entry]], float(links.weights[entry]), outward)


def _without(view: View, state: NodeState, blocked: U8, collections: Sequence[str]) -> U8:
    """Block the nodes of some collections too."""
    if not collections or not state.graph.nodes:
        return blocked
    known = np.flatnonzero(state.rows >= 0)
    found = view.categories.gather(view.snapshot, "collection", state.rows[known])  # first: it reads the names
    out = np.zeros(state.graph.nodes, np.bool_)
    out[known] = np.isin(found, [view.categories.code("collection", name) for name in collections])
    more: U8 = blocked | ~block(out)
    return more


def _lift(view: View, state: NodeState, vector: F32 | None) -> beam.Lift | None:
    if vector is None or not view.vector_rows:
        return None
    norm = float(np.linalg.norm(vector))
    if not np.isfinite(norm) or norm == 0.0:
        raise InvalidArgument("the question's vector is all zero, or holds NaN or infinity; give another, or none")
    query = np.ascontiguousarray(vector / norm, np.float32)

    def lift(met: I32) -> F64:
        cosines = view.vectors.dots(state.rows[met], query).astype(np.float64)
        raised: F64 = np.exp(AFFINITY * cosines)
        return raised

    return lift


class AdjacentRows(NamedTuple):
    """Chunks adjacent to hits, hit by hit; each once per hit, by its first link.

    Attributes
    ----------
    hits : int64 (s,)
        Current rows.
    hit_nodes : int32 (s,)
        -1 for hits without links.
    owners : int64 (m,)
        Position of the hit.
    nodes : int32 (m,)
    rows : int64 (m,)
    entries : int64 (m,)
        Of the link among links by source, or by target.
    outward : uint8 (m,)
        1 where the hit is its source.
    """

    hits: I64
    hit_nodes: I32
    owners: I64
    nodes: I32
    rows: I64
    entries: I64
    outward: U8

    def only(self, places: I64) -> AdjacentRows:
        """Return some of them."""
        return AdjacentRows(
            self.hits, self.hit_nodes, self.owners[places], self.nodes[places], self.rows[places], self.entries[places],
            self.outward[places],
        )  # fmt: skip


def find_adjacent(view: View, hits: I64, relations: Sequence[str]) -> AdjacentRows:
    """Return the chunks one link from each hit, in both directions, outward first.

    Chunks that may not be walked (removed, forgotten) are left out. O(links of the hits).
    """
    state = nodes.state_of(view)
    walked, _ = masks(state.graph.relations, relations, "both")
    current = nodes.current_rows(view, hits)
    hit_nodes = nodes.nodes_of_rows(view, current)
    found = injection.gather_neighbours(state.graph.forward, state.graph.backward, hit_nodes, walked, state.blocked)
    return AdjacentRows(
        current, hit_nodes, found.owners, found.nodes, state.rows[found.nodes], found.entries, found.outward
    )


def select_adjacent(view: View, found: AdjacentRows, scores: F64, worth: F64, most: int, *, best: bool) -> I64:
    """Select the adjacent chunks to inject, each once: by score, newer link, then id."""
    unknown = np.empty(0, np.int64)
    picked, tied = injection.choose_neighbours(found.owners, found.nodes, scores, worth, unknown, most, best)
    if tied:
        places = _tie_places(view, found, np.flatnonzero(np.bincount(found.owners)[found.owners] > most))
        picked, _ = injection.choose_neighbours(found.owners, found.nodes, scores, worth, places, most, best)
    return picked


def trace_step(view: View, found: AdjacentRows, position: int) -> Step:
    """Return the link that leads from a hit to a chunk."""
    ends = np.array([found.hits[found.owners[position]], found.rows[position]])
    hit, name = (str(each) for each in view.snapshot.values("chunks", "id", ends))
    return make_step(nodes.state_of(view), int(found.entries[position]), bool(found.outward[position]), hit, name)


def _tie_places(view: View, found: AdjacentRows, wanted: I64) -> I64:
    """Rank chunks by their newest link to the hit, then by id; 0 without ties."""
    newest = (~_newest_links(view, found, wanted)).tolist()  # the other way round: it cannot overflow
    names = view.snapshot.values("chunks", "id", found.rows[wanted])
    keys = list(zip(newest, names, strict=True))
    places = np.zeros(len(found.rows), np.int64)
    places[wanted[sorted(range(len(keys)), key=keys.__getitem__)]] = np.arange(len(keys))
    return places


def _newest_links(view: View, found: AdjacentRows, wanted: I64) -> I64:
    """Return the time of the newest link between a hit and each chunk, any way; us UTC."""
    claims = nodes.state_of(view).graph.claims
    here, there = found.hit_nodes[found.owners[wanted]].astype(np.int64), found.nodes[wanted].astype(np.int64)
    ends, others = np.concatenate([here, there]), np.concatenate([there, here])
    pairs, said = entries(claims.indptr, ends)
    between = np.flatnonzero(claims.targets[said] == others[pairs])
    newest = np.full(len(here), MISSING_US, np.int64)
    np.maximum.at(newest, pairs[between] % len(here), nodes.link_dates(view, claims.rows[said[between]]))
    return newest


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
) -> list[Neighbor]:
    """Return the chunks within some hops of others: nearest first, then newer, then by id."""
    whole_of(hops, "hops", 1, MAX_DEPTH)
    whole_of(limit, "limit", 1, MAX_BUDGET)
    state = nodes.state_of(view)
    walk_out, walk_in = masks(state.graph.relations, relations, direction)
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
) -> list[Neighbor]:
    """Return the chunks of a best-first walk from anchors, anchors included, best first.

    Formula: `lamina_kernels.graph.beam`. Of equals at the edge of the beam those whose ids have the smaller hashes are taken.
    Scores are not bounded; divide by the greatest before mixing them with
    others.
    """
    for name, value, most in (("depth", depth, MAX_DEPTH), ("beam", beam, MAX_BUDGET), ("budget", budget, MAX_BUDGET)):
        whole_of(value, name, 1, most)
    begin = _anchor_starts(view, anchors, invalidated=invalidated)
    walk = walk_best_first(
        view, begin, intent=intent, depth=depth, beam_width=beam, budget=budget, vector=vector, relations=relations,
        without=without, invalidated=invalidated,
    )  # fmt: skip
    lone = zip(begin.lone_scores.tolist(), _row_details(view, begin.lone), strict=True)
    alone = [Neighbor(name, score, 0, (), status, False, created) for score, (name, status, created) in lone]
    found = [*_reached(view, nodes.state_of(view), walk), *alone]
    return with_texts(view, sorted(found, key=lambda near: (-near.score, *_order(near)))[:budget])


def _nearest(view: View, state: NodeState, walk: Walk, limit: int) -> Walk:
    """Preselect the first of a walk by hops, then newer, before reading ids."""
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


def _nodes_of(view: View, state: NodeState, identities: Sequence[str]) -> I64:
    found = state.graph.node_of(list(dict.fromkeys(full for full, _ in find_ends(view, identities).values())))
    return found[found >= 0]


def _by_hash(state: NodeState, found: I64) -> I32:
    """Return nodes in the order of the rows of the graph."""
    return found[np.argsort(state.graph.hashes[found])].astype(np.int32)


def _anchor_starts(view: View, anchors: Mapping[str, float] | Sequence[str], *, invalidated: bool) -> Starts:
    given = dict(anchors) if isinstance(anchors, Mapping) else dict.fromkeys(anchors, 1.0)
    for name, score in given.items():
        if not np.isfinite(score) or score < 0:
            raise InvalidArgument(f"anchor {name!r} has the score {score!r}; give a finite number of at least 0")
    ends = find_ends(view, given)
    rows = np.array([ends[name][1] for name in given], np.int64)
    scores = np.array(list(given.values()), np.float64)
    return find_starts(view, *latest_rows(view, rows, scores), invalidated=invalidated)


# ---------------------------------------------------------------------- from nodes to ids


def _row_details(view: View, rows: I64) -> list[tuple[str, str, int | None]]:
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
    facts = _row_details(view, state.rows[walk.nodes])
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
            path = (*paths[parent], make_step(state, entry, bool(outward), facts[parent][0], name))
        paths.append(path)
        contradicted = any(step.relation == CONTRADICTS for step in path)
        found.append(Neighbor(name, score, hops, path, status, contradicted, created))
    return found


def _order(near: Neighbor) -> tuple[int, str]:
    return -(MISSING_US if near.created_at_us is None else near.created_at_us), near.id

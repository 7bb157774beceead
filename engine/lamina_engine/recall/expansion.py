"""Graph expansion of the top hits: neighbours, matches passed along links, topic siblings.

What a link passes on is added to a chunk's own match, so matching a little never costs it anything. A chunk that only a
link adds never passes the best direct hit, except in the ``task`` profile, whose formula lets a fresh neighbour pass an old
hit. A topic sibling counts as much as its hit, times one less its angular
distance to the topic's centre, and stands below the direct hits of its ten. Nothing is added for having been an expansion before:
in the system this comes from, such feedback outgrew every score.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from lamina_engine.errors import InvalidArgument
from lamina_engine.graph import walks
from lamina_engine.graph.walks import CONTRADICTS, AdjacentRows
from lamina_engine.index import nodes
from lamina_engine.profiles import INDEX
from lamina_engine.recall.candidates import Candidates
from lamina_engine.recall.intent import classify
from lamina_engine.recall.lanes import Selection
from lamina_engine.recall.pages import BELOW, BLOCK
from lamina_engine.recall.score import blend_rows, row_factors, score_rows
from lamina_kernels.layouts import F64, I64

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory
    from lamina_engine.profiles import Graph
    from lamina_engine.recall.request import Request
    from lamina_engine.results import Neighbor, Step
    from lamina_engine.topics.generation import TopicRow
    from lamina_kernels.layouts import BOOL, Walk

OwnMatches = Callable[[I64], F64]
"""Computes the own match of rows that no lane gave."""
_NO_ROWS: Final = np.empty(0, np.int64)
_BY_DENSITY: Final = "tree"
ANCHORS: Final = 10
STRONG: Final = 0.5
"""Share of the best hit's score from which on a hit is an anchor; a weaker one may be walked to."""


class LinkedHit(Struct, frozen=True):
    """A hit that a link or a topic added or raised, with the path to it."""

    row: int
    semantic: float
    """Replaces its own semantic score."""
    via: str
    """The path as text: ``a1 -blocks-> b2``."""
    path: tuple[dict[str, Any], ...]
    contradicts: bool
    sibling: bool = False
    """True where a topic, not a link, added it: it ranks below the direct hits of its ten."""
    ceiling: float | None = None
    """Score that it was lowered to: of a sibling, and of what a hit further down than the first ten brought."""


class ExpansionBatch(NamedTuple):
    """Rows added by one kind of expansion, each once."""

    rows: I64
    semantic: F64
    """Replaces the rows' own semantic scores."""
    describe: Callable[[int], LinkedHit]
    """Makes the `LinkedHit` of a position; reads ids."""
    ceilings: F64 | None = None
    """Scores that the rows may not pass; infinite for most."""


class LazyLinkedHits(Mapping[int, LinkedHit]):
    """Linked hits by candidate position, each described on first access."""

    def __init__(self, sources: Mapping[int, tuple[Callable[[int], LinkedHit], int]]) -> None:
        self._sources = sources
        self._known: dict[int, LinkedHit] = {}

    def __getitem__(self, position: int) -> LinkedHit:
        if position not in self._known:
            describe, place = self._sources[position]
            self._known[position] = describe(place)
        return self._known[position]

    def __contains__(self, position: object) -> bool:
        return position in self._sources

    def __iter__(self) -> Iterator[int]:
        return iter(self._sources)

    def __len__(self) -> int:
        return len(self._sources)


def expand(
    view: View,
    request: Request,
    selection: Selection,
    candidates: Candidates,
    order: list[int],
    intent: str | None,
    matches: OwnMatches,
    parents: int,
) -> tuple[Candidates, list[int], Mapping[int, LinkedHit]]:
    """Follow links and topics from the hits; the first ``parents`` of them bring neighbours."""
    # an added hit has no match of its own yet: `lamina_engine.recall.candidates.match_shown` fills it in
    profile = request.profile
    sources: list[ExpansionBatch | None] = []
    hits = np.array(order, np.int64)
    if view.snapshot.rows("links"):
        if profile.neighbours.most:
            sources.append(_find_neighbours(view, request, selection, candidates, hits[:parents]))
        settings = profile.links_for(intent)
        if settings is not None:
            sources.append(_follow_links(view, request, selection, candidates, hits, matches, str(intent), settings))
    if profile.siblings.topics:
        sources.append(_batch_hits(_find_siblings(view, request, selection, candidates, order)))
    found = [batch for batch in sources if batch is not None]
    if not found:
        return candidates, order, {}
    merged, at = _merge(candidates, found)
    hits = np.union1d(hits, at)
    rows, semantic = merged.rows[hits], merged.semantic[hits]
    factor, score = merged.factor.copy(), merged.score.copy()
    factor[at] = row_factors(view, request, merged.rows[at])
    score[hits], best = score_rows(view, request, rows, semantic, factor[hits], scale=merged.scale)
    ranked = hits[best]
    if any(batch.ceilings is not None for batch in found):
        ceilings = np.concatenate([_ceilings_of(batch) for batch in found])
        score[at] = np.minimum(score[at], ceilings)
        ranked = ranked[np.argsort(-score[ranked], kind="stable")]
    places = [(batch.describe, place) for batch in found for place in range(len(batch.rows))]
    linked = LazyLinkedHits(dict(zip(at.tolist(), places, strict=True)))
    return replace(merged, factor=factor, score=score), ranked.tolist(), linked


# ---------------------------------------------------------------------- neighbours


def _find_neighbours(
    view: View, request: Request, selection: Selection, c: Candidates, hits: I64
) -> ExpansionBatch | None:
    """Return the best neighbours of each hit by score, newest link, id; no hits, no repeats."""
    # by blocks of hits; what a later one brings or raises stays below the blocks before, so it changes none of their hits
    found: list[tuple[AdjacentRows, F64, I64, float]] = []
    taken = _NO_ROWS
    for start in range(0, len(hits), BLOCK):
        block = hits[start : start + BLOCK]
        near, semantic, picked = _neighbours_of(view, request, selection, c, block, taken)
        if picked.size:
            ceiling = math.inf if start == 0 else float(c.score[hits[start - 1]]) * BELOW
            found.append((near.only(picked), semantic[picked], picked, ceiling))
        taken = np.union1d(taken, np.concatenate([c.rows[block], near.rows[picked]]))
    if not found:
        return None
    described = [
        partial(_describe_neighbour, view, near, semantic, ceiling, place)
        for near, semantic, _, ceiling in found
        for place in range(len(near.rows))
    ]
    return ExpansionBatch(
        np.concatenate([near.rows for near, *_ in found]),
        np.concatenate([semantic for _, semantic, *_ in found]),
        lambda position: described[position](),
        np.concatenate([np.full(len(near.rows), ceiling) for near, _, _, ceiling in found]),
    )


def _neighbours_of(
    view: View, request: Request, selection: Selection, c: Candidates, hits: I64, taken: I64
) -> tuple[AdjacentRows, F64, I64]:
    """Return the rows next to hits, their semantic scores, and the places to bring or raise."""
    settings = request.profile.neighbours
    rows = c.rows[hits]
    near = walks.find_adjacent(view, rows, settings.relations)
    semantic = (settings.share * c.semantic[hits])[near.owners]
    own = _own_matches(c, near.rows)
    seen = isin_sorted(np.sort(rows), near.rows)
    open_ = np.ones(len(near.rows), np.bool_) if not taken.size else ~isin_sorted(taken, near.rows)
    free = np.flatnonzero(open_ & ~seen & mask_allowed(selection, near.rows))
    scores = blend_rows(view, request, near.rows, semantic, c.scale)
    picked = free[
        walks.select_adjacent(view, near.only(free), scores[free], semantic[free], settings.most, best=settings.best)
    ]
    if settings.raised:
        semantic = np.maximum(semantic, np.where(seen, 0.0, own))
        raised = np.flatnonzero(open_ & seen & (semantic > own))
        picked = np.concatenate([picked, _greatest_of_each(near.rows, semantic, raised)])
    return near, semantic, picked


def _ceilings_of(batch: ExpansionBatch) -> F64:
    return np.full(len(batch.rows), math.inf) if batch.ceilings is None else batch.ceilings


def _own_matches(c: Candidates, rows: I64) -> F64:
    """Return the semantic scores of rows by their own match, 0 for rows that are no candidates."""
    at = np.minimum(np.searchsorted(c.rows, rows), len(c.rows) - 1)
    return np.where(c.rows[at] == rows, c.semantic[at], 0.0)


def _greatest_of_each(rows: I64, semantic: F64, places: I64) -> I64:
    """Return for each distinct row the place of its greatest score, the first of equals."""
    order = places[np.argsort(-semantic[places], kind="stable")]
    return order[np.sort(np.unique(rows[order], return_index=True)[1])]


def _describe_neighbour(view: View, near: AdjacentRows, semantic: F64, ceiling: float, position: int) -> LinkedHit:
    found = describe_path(int(near.rows[position]), float(semantic[position]), [walks.trace_step(view, near, position)])
    return found if math.isinf(ceiling) else replace(found, ceiling=ceiling)


def _batch_hits(found: Sequence[LinkedHit]) -> ExpansionBatch | None:
    if not found:
        return None
    rows = np.array([item.row for item in found], np.int64)
    return ExpansionBatch(rows, np.array([item.semantic for item in found]), found.__getitem__)


def _merge(c: Candidates, found: Sequence[ExpansionBatch]) -> tuple[Candidates, I64]:
    """Append the batches' rows; return the table and their positions. Later batches override."""
    rows = np.concatenate([batch.rows for batch in found])
    at = np.minimum(np.searchsorted(c.rows, rows), len(c.rows) - 1)
    fresh = np.flatnonzero(c.rows[at] != rows)
    new = rows[fresh]
    at[fresh] = len(c.rows) + np.arange(len(new))
    if len(found) > 1:  # a row of several batches has one place
        place = {row: i for i, row in enumerate(new.tolist())}
        at[fresh] = len(c.rows) + np.array([place[row] for row in new.tolist()], np.int64)
    merged = c.append(new)
    merged.semantic[at] = np.concatenate([batch.semantic for batch in found])
    return merged, at


# ---------------------------------------------------------------------- walks


def _follow_links(
    view: View,
    request: Request,
    selection: Selection,
    c: Candidates,
    hits: I64,
    matches: OwnMatches,
    intent: str,
    settings: Graph,
) -> ExpansionBatch | None:
    """Add to chunks what links pass on from the best hits; None without a change."""
    # hits: positions of at least one, best first; the rows of the candidates ascend
    top = float(c.semantic[hits].max())
    first = hits[: settings.anchors]
    first = first[c.semantic[first] >= settings.strong * top]
    if top <= 0.0 or not first.size:
        return None
    keep = request.profile.invalidated > 0.0
    anchors, scores = c.rows[first], c.semantic[first] / top
    if not view.all_active:
        anchors, scores = walks.latest_rows(view, anchors, scores)
    starts = walks.find_starts(view, anchors, scores, invalidated=keep)
    if not starts.nodes.size:
        return None
    walk = walks.spread_matches(
        view, starts, intent=intent, depth=settings.depth, beam_width=settings.beam, relations=settings.relations,
        invalidated=keep,
    )  # fmt: skip
    rows = nodes.state_of(view).rows[walk.nodes]
    places = np.flatnonzero((walk.hops > 0) & mask_allowed(selection, rows))
    if not places.size:
        return None
    rows = rows[places]
    known, own = isin_sorted(c.rows, rows), _own_matches(c, rows)
    own[~known] = matches(rows[~known])
    marked = walks.mark_contradicted(view, walk)[places] != 0
    # what contradicts is shown, not raised; a list of links stands below what it points to
    lists = view.categories.gather(view.snapshot, "role", rows) == view.categories.code("role", INDEX)
    received = np.where((marked & known) | lists | (own < settings.least * top), 0.0, walk.scores[places] * top)
    semantic = np.maximum(np.minimum(own + received, BELOW * top), own)
    moved = (semantic > own) | marked
    if not moved.any():
        return None
    places, rows, semantic = places[moved], rows[moved], semantic[moved]
    return ExpansionBatch(rows, semantic, partial(_describe_followed, view, walk, places, rows, semantic))


def _describe_followed(view: View, walk: Walk, places: I64, rows: I64, semantic: F64, i: int) -> LinkedHit:
    return describe_path(int(rows[i]), float(semantic[i]), walks.trace_path(view, walk, int(places[i])))


# ---------------------------------------------------------------------- topic siblings


class TopicTable:
    """Topics of one clustering, and their members by row of the chunks log."""

    def __init__(self, view: View, generation: int, threshold: float) -> None:
        from lamina_engine.topics.generation import read_members, read_topics

        self.threshold = threshold
        topics = read_topics(view.snapshot, generation)
        members = read_members(view.snapshot, generation)
        above = {topic.parent for topic in topics}
        place = {topic.topic: i for i, topic in enumerate(topics)}
        order = np.argsort(members.rows, kind="stable")
        self.topics: list[TopicRow] = topics
        self.rows: I64 = members.rows[order]
        self.owners: I64 = np.array([place[name] for name in members.topics], np.int64)[order]
        self.dense = np.array([origin == _BY_DENSITY for origin in members.origins], np.bool_)[order]
        self.lowest = np.array([i for i, topic in enumerate(topics) if topic.topic not in above], np.int64)
        self._near: dict[int, tuple[I64, F64]] = {}

    def topic_of(self, view: View, row: int) -> int:
        """Return the position of a row's topic, -1 for none."""
        from lamina_engine.topics.assignment import assign
        from lamina_engine.topics.points import unit_rows

        at = int(np.searchsorted(self.rows, row))
        if at < self.rows.size and self.rows[at] == row:
            return int(self.owners[at])
        if row >= view.vector_rows or not self.lowest.size:
            return -1
        centroids = np.stack([self.topics[i].centroid for i in self.lowest.tolist()])
        found = int(assign(unit_rows(view.vectors.gather(np.array([row]))), centroids, self.threshold).topics[0])
        return int(self.lowest[found]) if found >= 0 else -1

    def members(self, view: View, topic: int) -> tuple[I64, F64]:
        """Return a topic's rows and angular distances to its centre, nearest first, ties by row."""
        if topic not in self._near:
            from lamina_engine.topics.assignment import angular
            from lamina_engine.topics.points import unit_rows

            mine = np.flatnonzero(self.owners == topic)
            centroid = self.topics[topic].centroid[None]
            distances = angular(unit_rows(view.vectors.gather(self.rows[mine])), centroid)[:, 0]
            kept = self.dense[mine] | (distances < self.threshold)
            mine, distances = mine[kept], distances[kept]
            order = np.lexsort((self.rows[mine], distances))
            self._near[topic] = self.rows[mine[order]], distances[order]
        return self._near[topic]


def _find_siblings(
    view: View, request: Request, selection: Selection, candidates: Candidates, order: list[int]
) -> list[LinkedHit]:
    """Return topic siblings of the hits that are not candidates yet."""
    # none for past moments or before a clustering of the space in use: topics are of the present
    settings = request.profile.siblings
    table = _topic_table(view, settings.threshold)
    if table is None:
        return []
    taken, used, found = set(candidates.rows.tolist()), set[int](), list[LinkedHit]()
    for position in order:
        if len(used) == settings.topics:
            break
        row = int(candidates.rows[position])
        topic = table.topic_of(view, row)
        if topic < 0 or topic in used:
            continue
        used.add(topic)
        rows, distances = table.members(view, topic)
        active = view.state.active()[rows] if selection.live is None else selection.live[rows]
        free = [i for i in np.flatnonzero(active).tolist() if int(rows[i]) not in taken][: settings.most]
        taken.update(rows[free].tolist())
        found += _sibling_hits(
            view, table.topics[topic], row, rows[free], distances[free], candidates.semantic[position]
        )
    return found


def _topic_table(view: View, threshold: float | None) -> TopicTable | None:
    from lamina_engine.topics.generation import current_space, latest

    if view.is_past or not view.vector_rows or not view.snapshot.rows("topics"):
        return None
    detail = latest(view.snapshot)
    if detail is None or detail.space != current_space(view):
        return None
    least = detail.threshold if threshold is None else threshold
    key, known = (least, detail.generation), view.tables.peek_cached("topic siblings")
    if known is None or known[0] != key:
        known = view.tables.put_cached("topic siblings", (key, TopicTable(view, detail.generation, least)))
    table: TopicTable = known[1]
    return table


def _sibling_hits(view: View, topic: TopicRow, hit: int, rows: I64, distances: F64, semantic: float) -> list[LinkedHit]:
    names = [str(name) for name in view.snapshot.values("chunks", "id", np.append(rows, hit))]
    start = names.pop()
    out = []
    for row, name, distance in zip(rows.tolist(), names, distances.tolist(), strict=True):
        step: dict[str, Any] = {
            "source": start, "target": name, "relation": "topic", "weight": 1.0 - distance, "outward": True,
            "topic": topic.topic,
        }  # fmt: skip
        via = f"{start} -topic {topic.name}-> {name}"
        out.append(LinkedHit(row, float(semantic) * (1.0 - distance), via, (step,), contradicts=False, sibling=True))
    return out


def describe_path(row: int, semantic: float, path: Sequence[Step]) -> LinkedHit:
    """Return the linked hit at the end of a path."""
    start = path[0].source if path[0].outward else path[0].target
    text = start
    for step in path:
        at = step.target if step.outward else step.source
        text += f" -{step.relation}-> {at}" if step.outward else f" <-{step.relation}- {at}"
    record = tuple(
        {
            "source": step.source, "target": step.target, "relation": step.relation, "weight": step.weight,
            "outward": step.outward,
        }
        for step in path
    )  # fmt: skip
    return LinkedHit(row, semantic, text, record, contradicts=any(step.relation == CONTRADICTS for step in path))


def mask_allowed(selection: Selection, rows: I64) -> BOOL:
    """Return bool (n,), True for rows that the request may return."""
    allowed = rows >= 0
    if selection.live is not None:
        allowed &= selection.live[rows]  # -1 reads the last row; the line above has excluded it
    return allowed


def isin_sorted(ascending: I64, rows: I64) -> BOOL:
    """Return bool (n,), membership of rows in a non-empty ascending array."""
    found: BOOL = ascending[np.minimum(np.searchsorted(ascending, rows), len(ascending) - 1)] == rows
    return found


def traverse_question(
    memory: Memory,
    start: str | Mapping[str, float] | Sequence[str],
    *,
    intent: str | None = None,
    depth: int = 2,
    beam: int = 5,
    budget: int = 30,
    relations: Sequence[str] | None = None,
    without: Sequence[str] = (),
    invalidated: bool = True,
) -> list[Neighbor]:
    """Traverse links from the hits of a question or from given anchors."""
    # strong hits are the anchors, with scores relative to the best; the intent is classified unless given
    from lamina_engine.recall.pipeline import recall

    view, vector = memory.view(), None
    anchors: Mapping[str, float] | Sequence[str]
    if isinstance(start, str):
        found = recall(memory, start, k=ANCHORS, intent=intent).hits
        best = max((hit.score for hit in found), default=0.0)
        anchors = {hit.id: hit.score / best for hit in found if hit.score >= STRONG * best > 0.0}
        intent = intent or classify(start)
        if view.vector_rows and anchors and start.strip():
            memory.check_space(view.snapshot, None)
            vector = memory.embedder_for(view.snapshot.space).embed_query(start)
    elif isinstance(start, Mapping | Sequence):
        anchors = start
    else:
        raise InvalidArgument(f"traverse was given a {type(start).__name__}; give a question, ids, or ids with scores")
    return walks.traverse(
        view, anchors, intent=intent, depth=depth, beam=beam, budget=budget, vector=vector, relations=relations,
        without=without, invalidated=invalidated,
    )  # fmt: skip

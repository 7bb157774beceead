"""Stories: the chain of chunks before a hit of a question, or after it.

The first hits (by their match alone, before recency and length) are where chains begin, where they are about the question
at all; each chain is walked along the links of sessions and documents, backward for what led here, forward for what came
next, and the one whose three best chunks match most is the story, oldest first. What agents found that were called on its
way is part of it, whatever it matches. Links order and do not predict: a chunk counts for its own match with the question,
however far it is from the hit.

A chunk's match is 1 − arccos(cosine)/π, 0 where it has no vector; in a vault without vectors, the share of the
question's words that it holds. Where no chain has two chunks, the answer is that of a search, with the reason.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, cast

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from lamina_engine.arguments import text_of, whole_of
from lamina_engine.chunks.handoffs import HANDOFF, INSIGHT
from lamina_engine.chunks.identities import find_rows
from lamina_engine.chunks.reading import story_chunks
from lamina_engine.clock import Instant
from lamina_engine.errors import InvalidArgument
from lamina_engine.index import nodes
from lamina_engine.index.analysis import query_analyzer
from lamina_engine.index.vectors import as_query
from lamina_engine.index.view import View
from lamina_engine.profiles import Boosts, Diversity, Profile, Siblings
from lamina_engine.recall.lanes import Words
from lamina_engine.recall.pack import count_row_tokens
from lamina_engine.recall.pipeline import recall, recall_rows
from lamina_engine.recall.relevance import ENOUGH
from lamina_engine.recall.retrieval import bm25_of
from lamina_engine.recall.sessions import agent_codes
from lamina_engine.results import Story
from lamina_kernels.distances import angular_distance
from lamina_kernels.graph.chains import Limits, best_chain, chains, exponential_hop_decay, linear_hop_decay, scores
from lamina_kernels.graph.hops import block

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from lamina_engine.index.nodes import NodeState
    from lamina_engine.memory import Memory
    from lamina_engine.profiles import Chaining, Lexical
    from lamina_kernels.graph.chains import Chains
    from lamina_kernels.layouts import F32, F64, I32, I64, U8, Csr

Way = Literal["backward", "forward"]
WAYS: Final = ("backward", "forward")
MAX_BUDGET: Final = 10_000_000
_LOOK_AHEAD: Final = 64
"""Chunks whose sizes are read at once, down the first link of each."""
_NO_VECTOR: Final = 0.0
_LIVING_HOPS: Final = {
    "none": {"backward": MAX_BUDGET, "forward": MAX_BUDGET},
    "linear": {"backward": 10, "forward": 20},
    "research": {"backward": 34, "forward": 31},
}
"""Chunks, the hit with them, whose weight by `hop_weights` is above 0."""
_BEST: Final = 3
"""Chunks by which a chain is judged: one more that matches little does not make it worse."""
_ABOUT_WHOLE_SESSIONS: Final = {"NOT": {"type": {"in": [HANDOFF, INSIGHT]}}}
"""Filter of hits: what sums a session up is no moment of it."""
_NO_DIRECTION: Final = 0.5
"""Match of a chunk that has a vector with a question that has none: a right angle."""


class _Item(Struct, frozen=True):
    """One chunk of a story."""

    row: int
    score: float
    """Its own match with the question, times the profile's decay by hops; in a search, the hit's score."""
    hops: int
    """Links between it and the hit that the chain begins with."""
    tokens: int


class _Draft(Struct, frozen=True):
    """A story by rows, before texts are read."""

    mode: Literal["chain", "search"]
    reason: str | None
    """Reason for a search in place of a chain."""
    items: list[_Item]
    """Oldest first in a chain, best first in a search."""
    seed: int
    """Row of the hit that the chain begins with; -1 in a search."""
    median: float
    total: float
    """Of the chunks' matches."""
    tokens: int
    hits: int
    """Hits that chains could begin with."""
    seeds: int
    """Those of them that one began with."""
    lengths: tuple[int, ...]
    """Chunks of every chain that was walked."""
    view: View


def chain(
    memory: Memory,
    query: str | None,
    *,
    seeds: Sequence[str] | None = None,
    direction: Way = "backward",
    token_budget: int = 20_000,
    agent: str | None = None,
    profile: str = "episodic",
    vector: ArrayLike | None = None,
    as_of: Instant | None = None,
    where: Mapping[str, Any] | None = None,
    since: Instant | None = None,
    until: Instant | None = None,
    now: Instant | None = None,
    session: str | None = None,
    tz: str | None = None,
) -> Story:
    """Return the story of the hits of a question, or of some chunks.

    Without a question, chunks count for their likeness to the seeds. With ``agent``, only its chunks are in the story; up to
    five of others in a row are skipped over. A sub-agent has its full name, or the part behind the last "/". ``where``,
    ``since``, ``until``, ``now``, ``session`` and ``tz`` choose the hits, as in `lamina_engine.recall.pipeline.recall`.
    """
    started = time.perf_counter()
    _check(query, seeds, direction, agent)
    token_budget = whole_of(token_budget, "token_budget", 1, MAX_BUDGET, of=" of tokens")
    settings = memory.profiles.get(profile)
    direct = _query_vector(memory, query, vector)
    options: dict[str, Any] = {
        "vector": direct, "as_of": as_of, "where": where, "since": since, "until": until, "now": now, "session": session, "tz": tz,
    }  # fmt: skip
    if seeds is None:
        view, rows, reason = _find_seeds(memory, str(query), settings, options)
    else:
        view = memory.view() if as_of is None else memory.view().at(memory.moment(as_of, "as_of", tz))
        rows, reason = np.array(find_rows(view, list(seeds)), np.int64), None
    matches = _Matches(view, query, direct, rows, settings.lexical)
    depth = min(settings.chains.depth, _LIVING_HOPS[settings.chains.hop_decay][direction])
    limits = Limits(token_budget, depth, settings.chains.skips, settings.chains.chains, settings.chains.expansions)
    walked, missing = _walk(view, rows, settings.chains, direction, limits, agent)
    reason = reason or missing
    lengths = () if walked is None else tuple(walked.chains.lengths.tolist())
    started_seeds = 0 if walked is None else walked.seeds
    story = _Draft("search", reason, [], -1, 0.0, 0.0, 0, len(rows), started_seeds, lengths, view)
    if walked is not None:
        found = _Findings(view, token_budget, agent)
        story = _best_story(story, walked, matches, settings.chains, direction, found)
    if story.mode == "search" and query is not None:
        story = _search_story(memory, story, query, settings, token_budget, options)
    return _read_story(story, query, direction, started)


def _read_story(story: _Draft, query: str | None, direction: Way, started: float) -> Story:
    """Read the texts of a story's chunks."""
    view, in_chain = story.view, story.mode == "chain"
    measures = [(item.score, item.hops if in_chain else None, item.tokens) for item in story.items]
    chunks = story_chunks(view, [item.row for item in story.items], measures)
    seed = str(view.snapshot.values("chunks", "id", np.array([story.seed]))[0]) if story.seed >= 0 else None
    return Story(
        query, direction, story.mode, story.reason, chunks, seed, story.median, story.total, story.tokens, story.hits,
        story.seeds, story.lengths, view.snapshot.version, (time.perf_counter() - started) * 1e3,
    )  # fmt: skip


# ---------------------------------------------------------------------- where chains begin


def _check(query: object, seeds: object, direction: object, agent: object) -> None:
    if query is None and not seeds:
        raise InvalidArgument("a chain begins with a question or with seeds; give one of them")
    if query is not None and not isinstance(query, str):
        raise InvalidArgument(f"query must be text, not {type(query).__name__}; ids go to seeds=")
    if isinstance(seeds, str) or (seeds is not None and not isinstance(seeds, Sequence)):
        raise InvalidArgument(f"seeds={seeds!r} must be a list of ids")
    if direction not in WAYS:
        raise InvalidArgument(f"direction={direction!r} must be one of {', '.join(WAYS)}")
    text_of(agent, "agent")


def _query_vector(memory: Memory, query: str | None, vector: ArrayLike | None) -> F32 | None:
    """Return the caller's vector, else the embedder's; None without a question or vectors."""
    view = memory.view()
    if vector is not None:
        return (
            as_query(np.asarray(vector, np.float32), view.vectors.dim) if view.snapshot.space else cast("F32", vector)
        )
    if query is None or not view.vector_rows:
        return None
    memory.check_space(view.snapshot, None)
    return memory.embedder_for(view.snapshot.space).embed_query(query)


def _find_seeds(
    memory: Memory, query: str, profile: Profile, options: Mapping[str, Any]
) -> tuple[View, I64, str | None]:
    """Return a view and the first hits by match alone, or the reason why there are none."""
    plain = replace(profile, boosts=Boosts(), siblings=Siblings(), diversity=Diversity())
    where = options["where"]
    moments = _ABOUT_WHOLE_SESSIONS if where is None else {"AND": [where, _ABOUT_WHOLE_SESSIONS]}
    found = recall_rows(memory, query, k=profile.chains.seeds, profile=plain, **{**options, "where": moments})
    strong = found.matches >= profile.chains.strong * found.matches.max(initial=0.0)
    if not strong.any():
        return found.view, found.rows[strong], None
    about = found.rows[strong & (found.confidences >= ENOUGH)]
    return found.view, about, None if about.size else "no chunk of a session is about the question"


# ---------------------------------------------------------------------- the walk


class _Walk(Struct, frozen=True):
    chains: Chains
    rows: I64
    """Of each entry."""
    seeds: int


class _NodeSizes(Struct):
    """Token counts of a view's nodes, as they become known, and the nodes of other agents."""

    tokens: I32
    none_blocked: U8
    """Bits of no node."""
    others: dict[str, U8]
    """By agent asked for, the bits of nodes that are another's."""


def _walk(
    view: View, rows: I64, settings: Chaining, direction: Way, limits: Limits, agent: str | None
) -> tuple[_Walk | None, str | None]:
    """Return the chains from some rows; None and a reason where there are none."""
    if not rows.size:
        return None, "no chunk matches the question"
    state = nodes.state_of(view)
    graph = state.graph
    found = graph.node_of([str(name) for name in view.snapshot.values("chunks", "id", rows)])
    walked = np.zeros(256, np.uint8)
    walked[[code for code, name in enumerate(graph.relations) if name in settings.relations]] = 1
    links = graph.forward if direction == "forward" else graph.backward
    seeds = np.array([node for node in found.tolist() if node >= 0 and _has_link(links, node, walked)], np.int32)
    if not seeds.size:
        way = "what came next" if direction == "forward" else "what led here"
        return None, f"no hit has a link to {way}"
    sized = view.cached(
        "stories.sizes", lambda: _NodeSizes(np.full(graph.nodes, -1, np.int32), np.zeros_like(state.blocked), {})
    )

    def learn(node: int) -> None:
        """Learn the sizes of a node and those down the first links: nearly all chains are lines."""
        line, seen = [node], {node}
        for _ in range(_LOOK_AHEAD):
            ahead = _first_target(links, line[-1], walked)
            if ahead < 0 or ahead in seen:
                break
            line.append(ahead)
            seen.add(ahead)
        some = np.array(line, np.int64)
        some = some[state.rows[some] >= 0]
        sized.tokens[some] = count_row_tokens(view, state.rows[some])
        sized.tokens[node] = max(int(sized.tokens[node]), 0)

    others = _block_others(view, state, sized, agent)
    walked_chains = chains(links, seeds, walked, state.blocked, others, sized.tokens, limits, learn)
    return _Walk(walked_chains, state.rows[walked_chains.nodes], int(seeds.size)), None


def _has_link(links: Csr, node: int, walked: U8) -> bool:
    return bool(walked[links.relations[links.indptr[node] : links.indptr[node + 1]]].any())


def _first_target(links: Csr, node: int, walked: U8) -> int:
    begin, end = int(links.indptr[node]), int(links.indptr[node + 1])
    ways = np.flatnonzero(walked[links.relations[begin:end]])
    return int(links.indices[begin + ways[0]]) if ways.size else -1


def _block_others(view: View, state: NodeState, sized: _NodeSizes, agent: str | None) -> U8:
    """Return the bits of nodes that are another agent's; none where no agent was asked for."""
    if agent is None:
        return sized.none_blocked
    if agent not in sized.others:
        known = np.flatnonzero(state.rows >= 0)
        codes = view.categories.gather(view.snapshot, "agent", state.rows[known])
        mine = agent_codes(view, agent)
        same = np.ones(state.graph.nodes, np.bool_)
        same[known] = np.isin(codes, mine)
        sized.others[agent] = block(same)
    return sized.others[agent]


# ---------------------------------------------------------------------- what chunks are worth


class _Matches:
    """Match of chunks with a question, or with the seeds where there is none."""

    def __init__(self, view: View, query: str | None, vector: F32 | None, seeds: I64, lexical: Lexical) -> None:
        self._view, self._query, self._lexical = view, query, lexical
        self._vector = vector if view.vector_rows else None
        if view.vector_rows and vector is None:
            mine = seeds[seeds < view.vector_rows]
            self._vector = view.vectors.gather(mine).sum(axis=0, dtype=np.float64).astype(np.float32)

    @property
    def nothing(self) -> float:
        """Match of a chunk that has nothing to do with the question."""
        return _NO_VECTOR if self._vector is None else _NO_DIRECTION

    def __call__(self, rows: I64) -> F64:
        """Return float64 (n,) in [0, 1]."""
        if self._vector is None:
            return self._by_words(rows)
        view, out = self._view, np.full(len(rows), _NO_VECTOR)
        has = np.flatnonzero(rows < view.vector_rows)
        length = float(np.linalg.norm(self._vector.astype(np.float64)))
        if length == 0.0:
            out[has[view.vectors.present(rows[has])]] = _NO_DIRECTION
            return out
        cosines = view.vectors.dots(rows[has], (self._vector / length).astype(np.float32)).astype(np.float64)
        out[has] = angular_match(cosines)
        doubtful = has[cosines == 0.0]  # at a right angle, or without a vector
        if doubtful.size:
            out[doubtful[~view.vectors.present(rows[doubtful])]] = _NO_VECTOR
        return out

    def _by_words(self, rows: I64) -> F64:
        """Return the weighted share of the question's words; 0 where there are none."""
        if not self._query or not len(rows):
            return np.zeros(len(rows))
        terms = query_analyzer().query(self._query, self._view.languages)
        words = Words(self._view, terms, bm25_of(self._lexical))
        return words.score(rows) / words.ceiling if words.ceiling else np.zeros(len(rows))


def angular_match(cosines: F64) -> F64:
    """Return 1 − arccos(cosine)/π: 1 for equal directions, 0.5 for a right angle."""
    match: F64 = 1.0 - angular_distance(cosines)
    return match


def hop_weights(hops: I32, curve: str, direction: Way) -> F64:
    """Return a chunk's weight by its hops from the seed; see `lamina_engine.profiles.Chaining`."""
    if curve == "linear":
        return linear_hop_decay(hops, 0.0, 10.0) if direction == "backward" else linear_hop_decay(hops, 5.0, 20.0)
    if curve == "research":
        if direction == "backward":
            return exponential_hop_decay(hops, 0.87, 0.01)
        return linear_hop_decay(hops, 0.0, 1.0 / 0.033)
    return np.ones(len(hops))


class _Findings:
    """Reports of agents that were called on the way of a chain."""

    def __init__(self, view: View, budget: int, agent: str | None) -> None:
        self._view, self._budget = view, budget
        self._codes = None if agent is None else agent_codes(view, agent)

    def add(self, rows: list[int], hops: list[int], used: int, direction: Way) -> tuple[list[int], list[int]]:
        """Return a chain's rows and hops with the reports of called agents, as far as these fit.

        In the order of the walk: a report stands before the chunk that it went to, so behind it on a way backward.
        """
        state = nodes.state_of(self._view)
        graph = state.graph
        links, code = graph.backward, graph.relations.index("debrief") if "debrief" in graph.relations else -1
        names = [str(name) for name in self._view.snapshot.values("chunks", "id", np.array(rows, np.int64))]
        known, left = set(rows), self._budget - used
        out_rows: list[int] = []
        out_hops: list[int] = []
        for row, hop, node in zip(rows, hops, graph.node_of(names).tolist(), strict=True):
            here: list[int] = []
            if code >= 0 and node >= 0 and (direction == "backward" or hop > 0):
                begin, end = int(links.indptr[node]), int(links.indptr[node + 1])
                reports = links.indices[begin:end][links.relations[begin:end] == code]
                here = [r for r in state.rows[reports].tolist() if r >= 0 and r not in known and self._is_wanted(r)]
            sizes = count_row_tokens(self._view, np.array(here, np.int64)).tolist() if here else []
            fitting: list[int] = []
            for report, size in sorted(zip(here, sizes, strict=True)):
                if size <= left:
                    fitting.append(report)
                    known.add(report)
                    left -= size
            block = [row, *fitting[::-1]] if direction == "backward" else [*fitting, row]
            out_rows += block
            out_hops += [hop if r == row else hop + 1 for r in block]
        return out_rows, out_hops

    def _is_wanted(self, row: int) -> bool:
        if self._codes is None:
            return True
        code = self._view.categories.gather(self._view.snapshot, "agent", np.array([row], np.int64))
        return int(code[0]) in self._codes


def _worth(found: Chains, values: F64, nothing: float) -> F64:
    """Return the mean of each chain's best matches, ``nothing`` standing for missing ones."""
    out = np.empty(found.seeds.size)
    for i in range(found.seeds.size):
        best = np.full(_BEST, nothing)
        some = np.sort(values[found.starts[i] : found.starts[i + 1]])[::-1][:_BEST]
        best[: some.size] = np.maximum(some, nothing)
        out[i] = best.sum() / _BEST
    return out


def _best_story(
    story: _Draft, walked: _Walk, matches: _Matches, settings: Chaining, direction: Way, findings: _Findings
) -> _Draft:
    """Return the story of the best chain, or the reason where all chains have one chunk."""
    found = walked.chains
    distinct, places = np.unique(walked.rows, return_inverse=True)
    values = matches(distinct)[places] * hop_weights(found.hops, settings.hop_decay, direction)
    _, medians = scores(found, values)
    best = best_chain(found, _worth(found, values, matches.nothing))
    if best < 0:
        return replace(story, reason="no chain from the hits has two chunks that fit the budget")
    entries = slice(int(found.starts[best]), int(found.starts[best + 1]))
    seed = int(walked.rows[entries][0])
    used = int(count_row_tokens(story.view, walked.rows[entries]).sum())
    order, hops = findings.add(walked.rows[entries].tolist(), found.hops[entries].tolist(), used, direction)
    rows = np.array(order, np.int64)
    worth = matches(rows) * hop_weights(np.array(hops, np.int32), settings.hop_decay, direction)
    sizes = count_row_tokens(story.view, rows).tolist()
    items = [
        _Item(row, score, hop, size) for row, score, hop, size in zip(order, worth.tolist(), hops, sizes, strict=True)
    ]
    return replace(
        story, mode="chain", reason=None, items=items if direction == "forward" else items[::-1], seed=seed,
        median=float(medians[best]), total=float(np.cumsum(worth)[-1]), tokens=sum(sizes),
    )  # fmt: skip


def _search_story(
    memory: Memory, story: _Draft, query: str, profile: Profile, budget: int, options: Mapping[str, Any]
) -> _Draft:
    """Return the hits of a search in place of a chain."""
    found = recall(memory, query, profile=profile, token_budget=budget, **options).hits
    rows = story.view.rows_of_ids([hit.id for hit in found])
    items = [
        _Item(row, hit.score, 0, size)
        for row, hit, size in zip(rows.tolist(), found, count_row_tokens(story.view, rows).tolist(), strict=True)
    ]
    return replace(story, items=items, tokens=sum(item.tokens for item in items))

"""A recall, one way through: understand, lanes, fuse, score, diversify, pack, explain."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from lamina_engine.chunks.reading import Chunk, chunks_at
from lamina_engine.chunks.reading import select as select_chunks
from lamina_engine.clock import MISSING_US
from lamina_engine.index.analysis import Analyzer
from lamina_engine.index.scoring import Bm25
from lamina_engine.index.state import INVALIDATED
from lamina_engine.index.view import View
from lamina_engine.profiles import Profile
from lamina_engine.recall import mask, where
from lamina_engine.recall.fuse import EMPTY, Lane, spread, union
from lamina_engine.recall.lanes import Selection, Words, completed, cosines, vector_lane
from lamina_engine.recall.pack import pack
from lamina_engine.recall.request import Request, make_request
from lamina_engine.recall.score import ages, blend
from lamina_engine.recall.select import alive, select
from lamina_kernels.diversity import maximal_marginal_relevance, near_duplicates
from lamina_kernels.fusion import reciprocal_rank_fusion
from lamina_kernels.layouts import F32, F64, I64

if TYPE_CHECKING:
    from lamina_engine.memory import Memory

_PARALLEL_ROWS: Final = 16_384
"""From here on the lanes take longer than handing one of them to a thread."""
_REORDERED: Final = 4
"""Times k: how far down hits are looked at for repetition."""
_ASKED_FOR_INVALIDATED: Final = 0.5
"""Factor of an invalidated chunk that only a filter on status brings in."""

_local = threading.local()


@dataclass(frozen=True, slots=True)
class Found:
    """One result."""

    chunk: Chunk
    score: float
    via: str | None
    terms: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a recall gave."""

    found: list[Found]
    profile: str
    version: int
    took_ms: float
    trace: dict[str, Any]


@dataclass(slots=True)
class _Candidates:
    """The candidate set, column by column; rows ascend."""

    rows: I64
    bm25: F64
    coverage: F64
    cosine: F64
    lexical_rank: I64
    vector_rank: I64
    own: F64
    received: F64
    semantic: F64
    factor: F64
    score: F64


def recall(
    memory: Memory, text: str, *, profile: str | None = None, tz: str | None = None, as_of: Any = None, **options: Any
) -> Outcome:
    """Run one recall; the arguments are those of ``Vault.recall``.

    Raises
    ------
    InvalidArgument, InvalidConfig, EmbedderMismatch, EmbeddingError, VaultCorrupt
    """
    started = time.perf_counter()
    memory.count_recall()
    view = memory.view()
    chosen = memory.profiles.get(profile or memory.config.profile)
    space = view.snapshot.space
    request = make_request(
        text,
        chosen,
        now_us=memory.clock.now_us(),
        as_of=as_of,
        dim=space.dim if space else None,
        tz=tz or memory.config.tz,
        **options,
    )
    if request.as_of_us is not None:
        view = View(view.snapshot, view.tables, as_of_us=request.as_of_us)
    selection = select(view, request.where, request.since_us, request.until_us, invalidated=chosen.invalidated > 0.0)
    share = _vector_share(memory, view, request)
    query = _query_vector(memory, view, request) if share > 0.0 else None
    words, lexical, vector = _lanes(view, request, selection, query)
    candidates = _score(view, request, words, lexical, vector, query, share if query is not None else 0.0, selection)
    order, folded = _diversify(view, chosen, candidates, _order(view, candidates), request.k)
    texts = _TextOf(view, candidates.rows)
    kept = [order[i] for i in pack(order, request.k, request.token_budget, texts)]
    found = _results(view, request, candidates, kept, words, folded, share if query is not None else 0.0)
    trace = {
        "candidates": {"lexical": len(lexical.rows), "vector": len(vector.rows), "scored": len(candidates.rows)},
        "selected": selection.count,
        "rows": view.rows,
        "words": list(words.query.terms),
        "folded": sum(map(len, folded.values())),
    }
    return Outcome(found, chosen.id, view.snapshot.version, (time.perf_counter() - started) * 1e3, trace)


def listed(memory: Memory, filter_: Mapping[str, Any] | None, limit: int | None) -> list[Chunk]:
    """Return the chunks that a filter accepts, newest first; see ``Vault.list``."""
    view = memory.view()
    node = where.parse(filter_, memory.config.tz)
    live = mask.evaluate(node, view, alive(view, node, invalidated=False))
    return select_chunks(view, np.flatnonzero(live), limit)


def _vector_share(memory: Memory, view: View, request: Request) -> float:
    """Return the vector lane's part of the score."""
    if "vector" not in request.lanes or not view.vector_rows:
        return 0.0
    if "lexical" not in request.lanes:
        return 1.0
    share = request.profile.vector_share
    return memory.embedder.lane_weight if share is None else share


def _query_vector(memory: Memory, view: View, request: Request) -> F32 | None:
    """Return the query's vector: the caller's, else the embedder's; None where it has no direction."""
    vector = request.vector
    if vector is None:
        memory.check_space(view.snapshot, None)
        vector = memory.embedder.embed_query(request.text)
    return vector if vector.any() else None


def _lanes(view: View, request: Request, selection: Selection, query: F32 | None) -> tuple[Words, Lane, Lane]:
    """Run the lanes, side by side where they are long."""
    depth = request.pool
    later: Future[Lane] | None = None
    if query is not None and view.rows >= _PARALLEL_ROWS and "lexical" in request.lanes:
        later = _pool().submit(vector_lane, view, query, selection, depth)
    words = Words(view, _analyzer().query(request.text) if "lexical" in request.lanes else [], _bm25(request.profile))
    lexical = words.lane(selection, depth)
    if later is not None:
        return words, lexical, later.result()
    return words, lexical, vector_lane(view, query, selection, depth) if query is not None else EMPTY


def _analyzer() -> Analyzer:
    """Return this thread's analyzer: its memory of words is not shared."""
    found: Analyzer | None = getattr(_local, "analyzer", None)
    if found is None:
        found = _local.analyzer = Analyzer()
    return found


def _bm25(profile: Profile) -> Bm25:
    p = profile.lexical
    return Bm25(k1=p.k1, b=p.b, body=p.body, header=p.header, context=p.context, surface=p.surface)


def _score(
    view: View,
    request: Request,
    words: Words,
    lexical: Lane,
    vector: Lane,
    query: F32 | None,
    share: float,
    selection: Selection,
) -> _Candidates:
    """Score every row that a lane found, and the chunk before each of them."""
    profile = request.profile
    direct = union(lexical.rows, vector.rows)
    previous = _previous(view, direct, selection) if profile.spread else np.full(len(direct), -1, np.int64)
    rows = union(direct, previous[previous >= 0])
    n = len(rows)
    bm25 = completed(rows, lexical, words.score)
    cosine = completed(rows, vector, lambda rest: cosines(view, query, rest))
    coverage = bm25 / words.ceiling if words.ceiling else np.zeros(n)
    own = (
        (1.0 - share) * coverage + share * np.maximum(cosine, 0.0)
        if profile.fusion == "absolute"
        else _rank_scores(rows, lexical, vector, share, profile.rank_constant)
    )
    received = np.zeros(n)
    targets, given = spread(Lane(direct, own[np.searchsorted(rows, direct)]), previous, profile.spread)
    received[np.searchsorted(rows, targets)] = given
    semantic = np.minimum(own + received, 1.0)
    weight = profile.decay.semantic_weight
    recency = ages(view, rows, profile.decay, request.now_us).recency if weight < 1.0 else np.zeros(n)
    factor = _factors(view, profile, rows)
    score = blend(semantic, recency, weight, factor)
    return _Candidates(
        rows,
        bm25,
        coverage,
        cosine,
        _ranks(rows, lexical),
        _ranks(rows, vector),
        own,
        received,
        semantic,
        factor,
        score,
    )


def _previous(view: View, rows: I64, selection: Selection) -> I64:
    """Return the row before each short chunk: the one whose words it was indexed with; -1 where that may not be returned."""
    previous = view.snapshot.numbers("chunks", "previous", rows).astype(np.int64)
    borrowed = view.forward.context_lengths(rows) > 0
    previous[~borrowed] = -1
    if selection.live is not None:
        has = previous >= 0
        previous[has] = np.where(selection.live[previous[has]], previous[has], -1)
    return previous


def _rank_scores(rows: I64, lexical: Lane, vector: Lane, share: float, constant: float) -> F64:
    """Return reciprocal ranks fused, divided by what first places in both lanes give."""
    fused = reciprocal_rank_fusion([lexical.rows, vector.rows], [1.0 - share, share], rank_constant=constant)
    out = np.zeros(len(rows))
    out[np.searchsorted(rows, fused.rows)] = fused.scores * (constant + 1.0)
    return out


def _ranks(rows: I64, lane: Lane) -> I64:
    """Return the rank of each row in a lane, from 1; 0 where the lane did not find it."""
    out = np.zeros(len(rows), np.int64)
    out[np.searchsorted(rows, lane.rows)] = np.arange(1, len(lane.rows) + 1)
    return out


def _factors(view: View, profile: Profile, rows: I64) -> F64:
    invalidated = view.state.status[rows] == INVALIDATED
    return np.where(invalidated, profile.invalidated or _ASKED_FOR_INVALIDATED, 1.0)


def _order(view: View, candidates: _Candidates) -> list[int]:
    """Return positions by score, then newer created_at, then id; positions without any score are left out."""
    keep = np.flatnonzero(candidates.score > 0.0)
    created = view.snapshot.numbers("chunks", "created_at", candidates.rows[keep], MISSING_US).astype(np.int64)
    score = candidates.score[keep]
    order = np.lexsort((-created.astype(np.float64), -score))
    positions = keep[order]
    tied = np.flatnonzero((score[order][1:] == score[order][:-1]) & (created[order][1:] == created[order][:-1]))
    if len(tied):
        names = view.snapshot.values("chunks", "id", candidates.rows[positions])
        key = list(
            zip(
                (-score[order]).tolist(),
                (-created[order].astype(np.float64)).tolist(),
                names,
                positions.tolist(),
                strict=True,
            )
        )
        return [item[3] for item in sorted(key)]
    ordered: list[int] = positions.tolist()
    return ordered


def _diversify(
    view: View, profile: Profile, candidates: _Candidates, order: list[int], k: int
) -> tuple[list[int], dict[int, list[str]]]:
    """Fold what repeats an earlier hit, then trade relevance for variety as the profile says.

    Returns
    -------
    (positions, folded)
        ``folded`` has, by position, the ids of the hits that were folded into it.
    """
    head, rest = order[: _REORDERED * k], order[_REORDERED * k :]
    rows = candidates.rows[head]
    versions = view.snapshot.values("chunks", "version", rows)
    keep = np.ones(len(head), np.bool_)
    owner: dict[bytes, int] = {}
    folded: dict[int, list[str]] = {}
    names: dict[int, str] = {}
    for i, version in enumerate(versions):
        if version in owner:
            keep[i] = False
            names[i] = str(view.snapshot.values("chunks", "id", rows[i : i + 1])[0])
            folded.setdefault(head[owner[version]], []).append(names[i])
        else:
            owner[version] = i
    settings = profile.diversity
    vectors = _head_vectors(view, rows) if settings.near_duplicate < 1.0 or settings.mmr < 1.0 else None
    if vectors is not None and settings.near_duplicate < 1.0:
        keep &= near_duplicates(vectors, np.arange(len(head), dtype=np.int64), settings.near_duplicate)
    chosen = np.flatnonzero(keep)
    if vectors is not None and settings.mmr < 1.0 and len(chosen) > 1:
        relevance = candidates.score[np.array(head)[chosen]]
        chosen = chosen[maximal_marginal_relevance(relevance, vectors[chosen], settings.mmr, len(chosen))]
    return [head[i] for i in chosen.tolist()] + rest, folded


def _head_vectors(view: View, rows: I64) -> F32 | None:
    if not view.vector_rows:
        return None
    out = np.zeros((len(rows), view.vectors.dim), np.float32)
    has = rows < view.vector_rows
    out[has] = view.vectors.gather(rows[has])
    return out


class _TextOf:
    """Gives the text that is shown for a position."""

    def __init__(self, view: View, rows: I64) -> None:
        self._view, self._rows = view, rows

    def __call__(self, position: int) -> str:
        return str(self._view.snapshot.values("chunks", "text", self._rows[position : position + 1])[0])


def _results(
    view: View,
    request: Request,
    c: _Candidates,
    kept: list[int],
    words: Words,
    folded: dict[int, list[str]],
    share: float,
) -> list[Found]:
    profile = request.profile
    rows = c.rows[kept]
    aged = ages(view, rows, profile.decay, request.now_us)
    parts = words.contributions(rows) if len(kept) and len(words.query.idf) else [{} for _ in kept]
    found = []
    for i, (position, chunk, terms) in enumerate(zip(kept, chunks_at(view, rows), parts, strict=True)):
        direct = c.lexical_rank[position] or c.vector_rank[position]
        record = {
            "fusion": profile.fusion,
            "vector_share": share,
            "rank_constant": profile.rank_constant,
            "bm25": float(c.bm25[position]),
            "coverage": float(c.coverage[position]),
            "words": terms,
            "cosine": float(c.cosine[position]) if share else None,
            "lexical_rank": int(c.lexical_rank[position]) or None,
            "vector_rank": int(c.vector_rank[position]) or None,
            "own": float(c.own[position]),
            "received": float(c.received[position]),
            "semantic": float(c.semantic[position]),
            "semantic_weight": profile.decay.semantic_weight,
            "recency": float(aged.recency[i]),
            "age_days": float(aged.age_s[i]) / 86_400.0,
            "half_life_days": float(aged.half_life_s[i]) / 86_400.0,
            "date_missing": not bool(aged.dated[i]),
            "factor": float(c.factor[position]),
            "folded": folded.get(position, []),
        }
        found.append(Found(chunk, float(c.score[position]), None if direct else "following", record))
    return found


def _pool() -> ThreadPoolExecutor:
    """Return the process's one helper thread; a forked child makes its own."""
    global _executor
    import os

    if _executor is None or _executor[0] != os.getpid():
        _executor = (os.getpid(), ThreadPoolExecutor(1, thread_name_prefix="lamina-lane"))
    return _executor[1]


_executor: tuple[int, ThreadPoolExecutor] | None = None

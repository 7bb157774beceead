"""A recall, one way through: understand, lanes, fuse, score, diversify, pack, explain."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np
from msgspec import Struct

from lamina_engine.chunks import access_journal
from lamina_engine.chunks.reading import Chunk, select_chunks
from lamina_engine.errors import InvalidArgument
from lamina_engine.index.analysis import Analyzer
from lamina_engine.index.scoring import Bm25
from lamina_engine.index.view import View
from lamina_engine.profiles import Lexical, Profile
from lamina_engine.recall import mask, where
from lamina_engine.recall.arranging import arrange
from lamina_engine.recall.brought import Brought
from lamina_engine.recall.candidates import Candidates, match_shown, score_candidates
from lamina_engine.recall.diversify import diversify
from lamina_engine.recall.expand import Expanded, by_intent, expand
from lamina_engine.recall.explain import Found, results
from lamina_engine.recall.factlane import Held, fact_lane
from lamina_engine.recall.fuse import EMPTY, Lane
from lamina_engine.recall.lanes import Selection, Words, vector_lane
from lamina_engine.recall.pack import pack
from lamina_engine.recall.request import Request, make_request
from lamina_engine.recall.score import score_composite
from lamina_engine.recall.select import alive, select
from lamina_engine.recall.time_window import WindowCandidates, filter_window, find_window
from lamina_kernels.layouts import F32, F64, I64

if TYPE_CHECKING:
    from lamina_engine.memory import Memory

_PARALLEL_ROWS: Final = 8_192
"""From here on the lanes take longer than handing one of them to a thread."""
_local = threading.local()


class Outcome(Struct, frozen=True):
    """What a recall gave."""

    found: list[Found]
    profile: str
    version: int
    took_ms: float
    trace: dict[str, Any]


class _Gathered(Struct):
    """The candidates of a question, scored, and what they were scored by."""

    selection: Selection
    query: F32 | None
    share: float
    """The vector lane's part of the score; 0 without a query vector."""
    words: Words
    lexical: Lane
    vector: Lane
    held: dict[int, Held]
    """By row, what the facts lane found."""
    candidates: Candidates
    order: list[int]
    """Positions with a score above 0, best first."""


class _Chosen(Struct):
    """What a recall keeps of them, and why."""

    gathered: _Gathered
    candidates: Candidates
    """With what links and topics brought in."""
    kept: list[int]
    """Positions among them, best first."""
    folded: dict[int, list[str]]
    expanded: Expanded
    brought: Mapping[int, Brought]
    parts: Mapping[int, dict[str, Any]]


class Matched(Struct, frozen=True):
    """The hits of a recall, by row."""

    view: View
    rows: I64
    """Best first."""
    matches: F64
    """How well each matches, whatever its rank: coverage and cosine, weighed as the lanes are."""


def recall(
    memory: Memory,
    text: str,
    *,
    profile: str | Profile | None = None,
    tz: str | None = None,
    as_of: Any = None,
    **options: Any,
) -> Outcome:
    """Run one recall; the arguments are those of ``Vault.recall``.

    Raises
    ------
    InvalidArgument, InvalidConfig, EmbedderMismatch, EmbeddingError, VaultCorrupt
    """
    started = time.perf_counter()
    memory.count_recall()
    view, request = _asked(memory, text, profile, tz, as_of, options)
    c = _chosen(memory, view, request)
    g = c.gathered
    found = results(
        view,
        request,
        c.candidates,
        c.kept,
        g.words,
        c.folded,
        g.share,
        c.brought,
        c.parts,
        held=g.held,
    )
    _note(memory, request, c)
    trace = _trace(view, request, g, len(c.candidates.rows), c.folded, c.expanded)
    return Outcome(found, request.profile.id, view.snapshot.version, (time.perf_counter() - started) * 1e3, trace)


def matched(
    memory: Memory,
    text: str,
    *,
    profile: str | Profile | None = None,
    tz: str | None = None,
    as_of: Any = None,
    **options: Any,
) -> Matched:
    """Run one recall, and return no more than which rows it found; see `recall`."""
    memory.count_recall()
    view, request = _asked(memory, text, profile, tz, as_of, options)
    c = _chosen(memory, view, request)
    _note(memory, request, c)
    share, found = c.gathered.share, c.candidates
    matches = (1.0 - share) * found.coverage[c.kept] + share * np.maximum(found.cosine[c.kept], 0.0)
    return Matched(view, found.rows[c.kept], matches)


def _chosen(memory: Memory, view: View, request: Request) -> _Chosen:
    """Ask the lanes, and choose what is returned."""
    chosen = request.profile
    g = _gathered(memory, view, request)
    order, folded = diversify(view, chosen, g.candidates, g.order, request.k)
    if request.meant is not None and request.meant.strict:
        order = filter_window(view, request.meant, g.candidates.rows, order, request.k)
    expanded = expand(view, request, g.selection, g.query, g.candidates, order)
    candidates, order, brought = expanded.candidates, expanded.order, expanded.brought
    parts: Mapping[int, dict[str, Any]] = {}
    if chosen.composite.on:
        candidates, order, parts = score_composite(view, request, candidates, order, folded)
    if chosen.diversity.slots:
        arranged = arrange(view, request, candidates, order, brought)
        kept, candidates, brought = arranged.kept, arranged.candidates, arranged.brought
    else:
        texts = _TextOf(view, candidates.rows)
        kept = [order[i] for i in pack(order, request.k, request.token_budget, texts)]
    candidates = match_shown(view, g.words, g.query, candidates, kept, len(g.candidates.rows))
    return _Chosen(g, candidates, kept, folded, expanded, brought, parts)


def _note(memory: Memory, request: Request, c: _Chosen) -> None:
    """Note what is returned, for profiles in which chunks that are used age more slowly."""
    if request.profile.decay.reinforcement.most > 1.0 and request.as_of_us is None:
        access_journal.note(memory.root, c.candidates.rows[c.kept].tolist(), memory.clock.now_us())


def _asked(
    memory: Memory, text: str, profile: str | Profile | None, tz: str | None, as_of: Any, options: Mapping[str, Any]
) -> tuple[View, Request]:
    """Return what is read and what is asked of it, the time that the question means included."""
    view = memory.view()
    chosen = (
        profile
        if isinstance(profile, Profile)
        else memory.profiles.get(memory.config.profile if profile is None else profile)
    )
    space = view.snapshot.space
    request = make_request(
        text, chosen, now_us=memory.clock.now_us(), as_of=as_of, dim=space.dim if space else None,
        tz=memory.config.tz if tz is None else tz, **options,
    )  # fmt: skip
    if request.as_of_us is not None:
        view = View(view.snapshot, view.tables, as_of_us=request.as_of_us)
    meant = find_window(view, request)
    return view, request if meant is None else msgspec.structs.replace(request, meant=meant)


def _gathered(memory: Memory, view: View, request: Request) -> _Gathered:
    """Ask the lanes, and score what they found."""
    window, shown = (request.since_us, request.until_us), request.profile.invalidated > 0.0
    selection = select(view, request.where, *window, invalidated=shown, now_us=request.now_us)
    share = _vector_share(memory, view, request)
    query = _query_vector(memory, view, request) if share > 0.0 else None
    share = share if query is not None else 0.0
    words, lexical, vector = _lanes(view, request, selection, query)
    held = fact_lane(view, request, selection, memory.config.facts)
    candidates, order = score_candidates(view, request, words, (lexical, vector), query, share, selection, held)
    return _Gathered(selection, query, share, words, lexical, vector, held, candidates, order)


def _trace(
    view: View, request: Request, g: _Gathered, scored: int, folded: Mapping[int, list[str]], expanded: Expanded
) -> dict[str, Any]:
    """Return what ``Hits.explain`` tells of a recall beside its hits."""
    counts = {"lexical": len(g.lexical.rows), "vector": len(g.vector.rows), "scored": scored}
    trace: dict[str, Any] = {
        "candidates": counts,
        "selected": g.selection.count,
        "rows": view.rows,
        "words": list(g.words.query.terms),
        "folded": sum(map(len, folded.values())),
        "brought": len(expanded.brought),
        "intent": expanded.intent,
    }
    if g.held:
        counts["facts"] = len(g.held)
    if request.meant is not None:
        trace["time"] = request.meant.trace()
    return trace


def listed(
    memory: Memory, filter_: Mapping[str, Any] | None, limit: int | None, *, now_us: int | None = None
) -> list[Chunk]:
    """Return the chunks that a filter accepts, newest first; see ``Vault.list``. With a moment, none that is snoozed then."""
    view = memory.view()
    node = where.parse(filter_, memory.config.tz)
    live = mask.evaluate(node, view, alive(view, node, invalidated=False, now_us=now_us))
    return select_chunks(view, np.flatnonzero(live), limit)


def _vector_share(memory: Memory, view: View, request: Request) -> float:
    """Return the vector lane's part of the score."""
    if request.lanes == ("facts",):
        return 0.0
    if "lexical" not in request.lanes:
        if view.snapshot.space is None and view.rows:
            raise InvalidArgument(
                "lanes=['vector'] was given, but this vault has no vectors; ask the lexical lane, or reindex with an embedder"
            )
        return 1.0 if view.vector_rows else 0.0
    if "vector" not in request.lanes or not view.vector_rows:
        return 0.0
    share = request.profile.vector_share
    share = memory.embedder_for(view.snapshot.space).lane_weight if share is None else share
    return by_intent(request, share)


def _query_vector(memory: Memory, view: View, request: Request) -> F32 | None:
    """Return the query's vector: the caller's, else the embedder's; None where it has no direction."""
    vector = request.vector
    if vector is None:
        memory.check_space(view.snapshot, None)
        vector = memory.embedder_for(view.snapshot.space).embed_query(request.text)
    return vector if vector.any() else None


def _lanes(view: View, request: Request, selection: Selection, query: F32 | None) -> tuple[Words, Lane, Lane]:
    """Run the lanes, side by side where they are long."""
    depth = request.pool
    later: Future[Lane] | None = None
    if query is not None and view.rows >= _PARALLEL_ROWS and "lexical" in request.lanes:
        later = _pool().submit(vector_lane, view, query, selection, depth)
    words = Words(
        view, _analyzer().query(request.text) if "lexical" in request.lanes else [], _bm25(request.profile.lexical)
    )
    lexical = words.lane(selection, depth)
    if later is not None:
        vector = later.result()
    else:
        vector = vector_lane(view, query, selection, depth) if query is not None else EMPTY
    if request.meant is not None:
        near = WindowCandidates(view, selection, request.meant, enough=2 * request.k)
        lexical = near.complete(lexical, lambda rows: words.lane(rows, depth))
        if query is not None:
            nearest = query
            vector = near.complete(vector, lambda rows: vector_lane(view, nearest, rows, depth))
    return words, lexical, vector


def _analyzer() -> Analyzer:
    """Return this thread's analyzer: its memory of words is not shared."""
    found: Analyzer | None = getattr(_local, "analyzer", None)
    if found is None:
        found = _local.analyzer = Analyzer()
    return found


@functools.lru_cache(maxsize=32)
def _bm25(p: Lexical) -> Bm25:
    return Bm25(k1=p.k1, b=p.b, body=p.body, header=p.header, context=p.context, surface=p.surface)


class _TextOf:
    """Gives the text that is shown for a position."""

    def __init__(self, view: View, rows: I64) -> None:
        self._view, self._rows = view, rows

    def __call__(self, position: int) -> str:
        return str(self._view.snapshot.values("chunks", "text", self._rows[position : position + 1])[0])


def _pool() -> ThreadPoolExecutor:
    """Return the process's one helper thread; a forked child makes its own."""
    global _executor
    import os

    if _executor is None or _executor[0] != os.getpid():
        _executor = (os.getpid(), ThreadPoolExecutor(1, thread_name_prefix="lamina-lane"))
    return _executor[1]


_executor: tuple[int, ThreadPoolExecutor] | None = None

"""Recall pipeline: understand, retrieve, score, diversify, expand, pack, explain."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

import msgspec
import numpy as np
from msgspec import Struct

from lamina_engine.chunks.reading import select_chunks
from lamina_engine.index.analysis import query_analyzer
from lamina_engine.index.languages import language_of
from lamina_engine.index.view import View
from lamina_engine.profiles import Profile
from lamina_engine.recall.candidates import (
    Candidates,
    fill_up,
    match_shown,
    own_matches,
    score_by_time,
    score_candidates,
)
from lamina_engine.recall.dialogue import count_names, named_agents
from lamina_engine.recall.diversity import arrange, count_parents, fold, limit_sources, vary
from lamina_engine.recall.explain import Explained
from lamina_engine.recall.factlane import FULL, NOTHING, FactLane, add_facts, fact_lane
from lamina_engine.recall.filters import parse_filter, select_rows
from lamina_engine.recall.lanes import Lane, Selection, Words, cosines
from lamina_engine.recall.pack import count_row_tokens, pack
from lamina_engine.recall.pages import Page, first_page
from lamina_engine.recall.relevance import LOOKED_AT, rate_rows
from lamina_engine.recall.request import Request, make_request
from lamina_engine.recall.retrieval import retrieve, select, weigh
from lamina_engine.recall.scopes import find_scopes
from lamina_engine.recall.time_window import WindowCandidates, find_window
from lamina_engine.results import Chunk, Hit, Snippet
from lamina_kernels.layouts import F32, F64, I64

if TYPE_CHECKING:
    from lamina_engine.memory import Memory
    from lamina_engine.recall.clauses import Operators
    from lamina_engine.recall.expansion import LinkedHit
    from lamina_engine.recall.operators import Clause
    from lamina_engine.recall.spelling import Corrections

T = TypeVar("T")

_NO_ROWS: Final = np.empty(0, np.int64)
DEFAULT: Final = "default"


class Description(NamedTuple):
    """Trace of a recall, and the words it asked for."""

    trace: dict[str, Any]
    stems: Mapping[str, float]
    """Words that were asked for, corrected ones among them, each with its weight; see `Outcome.snippet`."""
    patterns: tuple[tuple[Clause, float], ...]
    """Prefixes and typos that were asked for."""


class Outcome(Struct, frozen=True):
    """Result of a recall."""

    hits: list[Hit]
    profile: str
    version: int
    took_ms: float
    missing: tuple[str, ...]
    """Shards without which it was read."""
    _describe: Callable[[], Description]
    _rate: Callable[[], float]

    def rate(self) -> float:
        """Return the confidence that the hits hold an answer; see `lamina_engine.recall.relevance`."""
        return self._rate()

    def describe(self) -> Description:
        """Return what was understood and looked at; made when first asked for."""
        return self._describe()

    def __reduce__(self) -> tuple[type[Outcome], tuple[Any, ...]]:
        known = functools.partial(Description, *self.describe()), functools.partial(float, self.rate())
        return Outcome, (*msgspec.structs.astuple(self)[:-2], *known)

    def snippet(self, text: str, width: int | None = None) -> Snippet:
        """Return the window of a text that matches the question best. O(length of the text)."""
        from lamina_engine.recall.snippets import WIDTH, cut_snippet

        _, weights, patterns = self.describe()
        analyzer = query_analyzer().of(language_of(text.split()))
        if patterns:
            from lamina_engine.recall.clauses import weigh_stems

            weights = weigh_stems(text, weights, patterns, analyzer)
        return cut_snippet(text, weights, analyzer, width=WIDTH if width is None else width)


class Ranking(Struct, frozen=True):
    """One page of ranked hits, with the inputs of their scores and what each stage let through."""

    page: Page
    selection: Selection
    query: F32 | None
    share: float
    """Share of the vector lane in the score; 0 without a query vector."""
    words: Words
    lanes: tuple[Lane, Lane]
    """Words, and vectors."""
    facts: FactLane
    """What the facts of the vault add."""
    candidates: Candidates
    kept: list[int]
    """Positions of the hits among them, best first."""
    folded: dict[int, list[str]]
    linked: Mapping[int, LinkedHit]
    """Hits that expansion added or raised, by position."""
    composite: Mapping[int, dict[str, Any]]
    """Terms of composite scoring by position."""
    intent: str | None
    by_time: bool
    """True where time alone scored them."""
    corrections: Corrections
    operators: Operators | None
    rate: Callable[[], float]
    """Returns the confidence of the first page, computed once, when first asked: many who recall never look at it."""
    scored: list[int]
    """Positions above 0, best first; those that only links added are in `order` alone."""
    order: list[int]
    """Positions after folding, expansion and composite scores, best first."""
    shown: list[int]
    """Positions before places and tokens limit them."""
    passed: list[int]
    """Positions passed over because their source had its hits."""
    unknown: tuple[str, ...] = ()
    """Ids of candidates that the caller brought and the vault does not have."""

    def explain(self, view: View, request: Request, positions: list[int]) -> list[Hit]:
        """Return candidates as hits with every term of their scores, whether or not they are kept."""
        return Explained(view, request, self, positions).hits()

    def place(self, view: View, request: Request, rows: I64) -> Ranking:
        """Return this page with more rows scored, as if its lanes had found them; without links."""
        rows = np.setdiff1d(rows, self.candidates.rows)
        lexical, nearest = self.lanes
        lanes = (_extend(lexical, rows, self.words.score(rows)), nearest)
        if self.query is not None:
            lanes = lanes[0], _extend(nearest, rows, cosines(view, self.query, rows))
        found, scored = score_candidates(
            view, request, self.words, lanes, self.query, self.share, self.selection, self.facts
        )
        return msgspec.structs.replace(self, candidates=found, scored=scored, linked={}, composite={}, by_time=False)


class Ranked(Struct, frozen=True):
    """A question with the version that was read and the pages of its hits."""

    view: View
    request: Request
    pages: tuple[Ranking, ...]
    """As a rule one."""

    @property
    def confidence(self) -> float:
        """That the hits hold an answer."""
        return self.pages[0].rate()

    @property
    def held_back(self) -> bool:
        """True where the hits are too unsure for the caller."""
        least = self.request.min_confidence
        return least is not None and self.confidence < least

    def hits(self) -> list[Hit]:
        """Return the hits with their terms, facts that no chunk states among them, held back or not."""
        found = [hit for page in self.pages for hit in page.explain(self.view, self.request, page.kept)]
        alone = self.pages[0].facts.alone
        return add_facts(self.view, self.request, found, alone) if alone else found

    def ids(self) -> list[str]:
        """Return the ids of the hits."""
        if self.pages[0].facts.alone:
            return [hit.id for hit in self.hits()]
        return [str(id_) for id_ in self.view.snapshot.values("chunks", "id", np.array(self.rows(), np.int64))]

    def rows(self) -> list[int]:
        """Return the rows of the hits; -1 for a fact that no chunk states."""
        if self.pages[0].facts.alone:
            return [hit.row for hit in self.hits()]
        return [row for page in self.pages for row in page.candidates.rows[page.kept].tolist()]


class HitRows(Struct, frozen=True):
    """Rows of the hits of a recall."""

    view: View
    rows: I64
    """Best first."""
    matches: F64
    """Match of each, whatever its rank: coverage and cosine, weighted like the lanes."""
    scores: F64
    confidences: F64
    """Of each by itself; see `lamina_engine.recall.relevance`."""
    vector: F32 | None
    """Of the question."""
    stems: Mapping[str, float]
    """Words of the question, each with its weight; see `Outcome.snippet`."""


def recall(memory: Memory, text: str, *, with_facts: bool = False, **options: Any) -> Outcome:
    """Run one recall; the arguments are those of ``Vault.recall``.

    With ``with_facts`` facts that no chunk states are hits too: they have no row.

    Raises
    ------
    InvalidArgument, InvalidConfig, EmbedderMismatch, EmbeddingError, VaultCorrupt
    """
    started = time.perf_counter()
    ranked = rank_question(memory, text, with_facts=with_facts, **options)
    found = [] if ranked.held_back else ranked.hits()
    took_ms = (time.perf_counter() - started) * 1e3
    snapshot, describe = ranked.view.snapshot, _Once(functools.partial(_describe, ranked))
    profile, rate = ranked.request.profile.id, ranked.pages[0].rate
    return Outcome(found, profile, snapshot.version, took_ms, snapshot.missing, describe, rate)


def rank_question(
    memory: Memory, text: str, *, with_facts: bool = False, counted: bool = True, **options: Any
) -> Ranked:
    """Rank a question, keeping what every stage made of it; ``counted`` unless part of another."""
    view, request = _read_request(memory, text, counted, **options)
    return Ranked(view, request, tuple(_rank_pages(memory, view, request, with_facts=with_facts, noted=counted)))


def recall_rows(memory: Memory, text: str, *, counted: bool = True, **options: Any) -> HitRows:
    """Run one recall and return only the rows of its hits; ``counted`` unless part of another."""
    view, request = _read_request(memory, text, counted, **options)
    pages = _rank_pages(memory, view, request)
    rows, matches, scores = [], [], []
    for ranked in pages:
        share, found, kept = ranked.share, ranked.candidates, ranked.kept
        rows.append(found.rows[kept])
        matches.append((1.0 - share) * found.coverage[kept] + share * np.maximum(found.cosine[kept], 0.0))
        scores.append(found.score[kept])
    hits, first = np.concatenate(rows), pages[0]
    rated = _rate_rows(memory, view, request, first.words, first.query, first.corrections, hits)
    return HitRows(view, hits, np.concatenate(matches), np.concatenate(scores), rated, first.query, first.words.stems())


def _read_request(
    memory: Memory,
    text: str,
    counted: bool,
    *,
    profile: str | Profile | None = None,
    tz: str | None = None,
    as_of: Any = None,
    **options: Any,
) -> tuple[View, Request]:
    """Return the view to read and the checked request, with the question's time window."""
    if counted:
        memory.count_recall()
    view = memory.view()
    if not isinstance(profile, Profile):
        profile = memory.profiles.get(memory.config.profile if profile is None else profile)
        if profile.about and options.get("candidates") is None and not _has_types(view, profile.about):
            profile = memory.profiles.get(DEFAULT)
    space = view.snapshot.space
    request = make_request(
        text, profile, now_us=memory.clock.now_us(), as_of=as_of, dim=space.dim if space else None,
        empty=not view.rows, tz=memory.config.tz if tz is None else tz, **options,
    )  # fmt: skip
    if request.as_of_us is not None:
        view = view.at(request.as_of_us)
    if request.parsed is not None:
        from lamina_engine.recall.clauses import read_flags  # in few questions

        parsed = read_flags(view, request.parsed)
        request = msgspec.structs.replace(request, parsed=parsed if parsed.clauses else None, text=parsed.text)
    if profile.dialogue.named and (named := named_agents(view, request.text)):
        request = msgspec.structs.replace(request, named=named)
    if scopes := find_scopes(view, request, request.scope):
        request = msgspec.structs.replace(request, scopes=scopes)
    window = find_window(view, request)
    if window is None:
        return view, request
    # who asks for all that is from a time means all of it, also what one long page holds
    whole = window.alone and window.strict
    return view, msgspec.structs.replace(
        request, window=window, text=window.topic or request.text, per_source=None if whole else request.per_source
    )


def _rank_pages(
    memory: Memory, view: View, request: Request, *, with_facts: bool = False, noted: bool = True
) -> list[Ranking]:
    """Return the pages that hold the hits asked for; ``noted`` where they count as used."""
    found: list[Ranking] = []
    page: Page | None = first_page(request)
    skipped = request.offset
    while page is not None:
        ranked, page = _rank(memory, view, request, page, with_facts=with_facts and not found)
        if skipped and not (ranked if not found else found[0]).facts.alone:
            kept = ranked.kept[skipped:]
            skipped -= len(ranked.kept) - len(kept)
            ranked = msgspec.structs.replace(ranked, kept=kept)
        found.append(ranked)
    reinforced = noted and request.profile.decay.reinforcement.most > 1.0
    if reinforced and view.as_of_us is None and memory.store.is_trusted:
        from lamina_engine.chunks import access_journal  # in such a profile chunks that are used age more slowly

        rows = np.concatenate([each.candidates.rows[each.kept] for each in found])
        access_journal.note(memory.root, rows.tolist(), memory.clock.now_us())
    return found


def _rank(memory: Memory, view: View, request: Request, page: Page, *, with_facts: bool) -> tuple[Ranking, Page | None]:
    """Run the lanes, score candidates and select hits of a page; return it with the next one."""
    profile = request.profile
    selected = select(view, request, page)
    words, lanes, query, share, corrections, selection, whole, unknown = retrieve(memory, view, request, page, selected)
    facts = NOTHING
    if profile.facts.weight and "facts" in request.lanes and view.snapshot.rows("facts"):
        facts = fact_lane(view, request, selection, memory.config.facts)
        facts = facts if with_facts else facts._replace(alone=())
    near = _rows_by_time(view, request, selection) if not any(facts) else _NO_ROWS
    if near.size:
        candidates, order = score_by_time(view, request, near, page.depth)
        scored, whole = 0, near.size <= page.depth
    else:
        candidates, order = score_candidates(view, request, words, lanes, query, share, selection, facts)
        scored = len(candidates.rows)
    above_zero = order
    order, folded = page.leave_out(candidates, order), dict[int, list[str]]()
    if not request.fill:  # who asks for k rows wants repeats too
        order, folded = fold(view, page, candidates, order)
    linked: Mapping[int, LinkedHit] = {}
    composite: Mapping[int, dict[str, Any]] = {}
    intent = _intent(view, request)
    bringing = profile.neighbours.most or profile.siblings.topics or profile.links_for(intent) is not None
    if order and bringing and page.is_first:  # what stands on deeper pages brings nothing
        from lamina_engine.recall.expansion import expand  # walks are no part of most recalls

        matches = functools.partial(own_matches, view, words, query, share)
        parents = count_parents(view, request, page, candidates.rows, order) if profile.neighbours.most else 0
        candidates, order, linked = expand(
            view, request, selected.linkable, candidates, order, intent, matches, parents
        )
        order = page.leave_out(candidates, order)
    if profile.composite.on:
        from lamina_engine.recall.composite import score_composite  # no profile uses it by default

        candidates, order, composite = score_composite(view, request, candidates, order, folded)
    rate = (
        _sure
        if near.size
        else _Once(
            functools.partial(_rate, memory, view, request, words, query, corrections, facts, candidates.rows, order)
        )
    )
    candidates = page.lower(candidates)
    varied = order if request.fill else vary(view, profile, candidates, order, folded)
    shown, passed = limit_sources(view, request, page, candidates.rows, varied)
    if profile.diversity.slots:
        kept, candidates, linked = arrange(view, request, page, candidates, shown, linked)
    else:
        kept = shown if page.budget is None else _pack(view, page, candidates, shown)
    ranked = order
    if request.fill and whole:
        candidates, kept = fill_up(view, page, selection, query, candidates, kept)
    candidates = match_shown(view, words, query, candidates, kept, scored)
    found = Ranking(
        page, selection, query, share, words, lanes, facts, candidates, kept, folded, linked, composite, intent,
        bool(near.size), corrections, selected.operators, rate, above_zero, ranked, shown, passed, unknown,
    )  # fmt: skip
    return found, page.next(view, candidates, ranked, kept, whole)


class _Once(Generic[T]):
    """Something about a recall, computed when first asked for."""

    __slots__ = ("_compute", "_known")

    def __init__(self, compute: Callable[[], T]) -> None:
        self._compute = compute
        self._known: T | None = None

    def __call__(self) -> T:
        if self._known is None:
            self._known = self._compute()
        return self._known


def _sure() -> float:
    """Return the confidence of what time alone found."""
    return 1.0


def _rate(
    memory: Memory, view: View, request: Request, words: Words, query: F32 | None, corrections: Corrections, facts: FactLane,
    rows: I64, order: list[int],
) -> float:  # fmt: skip
    """Return the confidence of the best of ten hits, or of a fact that answers."""
    asked = [answer for answer in (*facts.alone, *(hit.answer for hit in facts.chunks.values())) if answer.asked]
    known = max((answer.score for answer in asked), default=0.0) / FULL
    rated = _rate_rows(memory, view, request, words, query, corrections, rows[order[:LOOKED_AT]])
    return max(known, float(rated.max(initial=0.0)))


def _rate_rows(
    memory: Memory, view: View, request: Request, words: Words, query: F32 | None, corrections: Corrections, rows: I64
) -> F64:
    """Return the confidence of some rows."""
    if "lexical" not in request.lanes:  # what it means to be near does not depend on the lanes
        words = weigh(view, request, query_analyzer().query(request.text, view.languages))
    share = memory.embedder_for(view.snapshot.space).lane_weight if query is not None else 0.0
    names = count_names(view, (term.surfaces[0] for term in words.unknown)) if words.unknown else 0
    return rate_rows(
        view, words, () if query is None else (query,), share, rows, names=names, guessed=tuple(corrections)
    )


def _extend(lane: Lane, rows: I64, scores: F64) -> Lane:
    """Return a lane with other rows below its own."""
    return Lane(np.concatenate([lane.rows, rows]), np.concatenate([lane.scores, scores]))


def _rows_by_time(view: View, request: Request, selection: Selection) -> I64:
    """Return the rows to rank by time alone: near the question's time, or passing its operators."""
    window = request.window
    if (
        request.parsed is not None
        and request.vector is None
        and request.lanes != ("facts",)
        and not query_analyzer().tokens(request.text)
    ):
        return np.arange(view.rows) if selection.live is None else np.flatnonzero(selection.live)
    if window is None or not window.alone:
        return _NO_ROWS
    return WindowCandidates(view, selection, window, enough=0).near()


def _pack(view: View, page: Page, candidates: Candidates, order: list[int]) -> list[int]:
    sizes = (int(count_row_tokens(view, candidates.rows[position : position + 1])[0]) for position in order)
    return [order[i] for i in pack(sizes, page.wanted, page.budget)]


def _describe(ranked: Ranked) -> Description:
    last = ranked.pages[-1]
    patterns = last.operators.patterns if last.operators is not None else ()
    return Description(_trace(ranked.view, ranked.request, last), last.words.stems(), patterns)


def _trace(view: View, request: Request, ranked: Ranking) -> dict[str, Any]:
    """Return the recall-level record of ``Hits.explain``."""
    lexical, vector = ranked.lanes
    counts = {"lexical": len(lexical.rows), "vector": len(vector.rows), "scored": len(ranked.candidates.rows)}
    trace: dict[str, Any] = {
        "candidates": counts,
        "selected": ranked.selection.count,
        "rows": view.rows,
        "words": list(ranked.words.names),
        "folded": sum(map(len, ranked.folded.values())),
        "brought": len(ranked.linked),
        "intent": ranked.intent,
        "left_out": len(ranked.passed),
    }
    if request.scopes:
        trace["scope"] = tuple(scope.named for scope in request.scopes)
    if request.candidates is not None:
        trace["unknown"] = list(ranked.unknown)
    if view.snapshot.missing:
        trace["incomplete"] = list(view.snapshot.missing)
    if any(ranked.facts):
        counts["facts"] = len(ranked.facts.chunks) + len(ranked.facts.alone)
    if request.window is not None:
        trace["time"] = request.window.trace(request.tz)
    if request.parsed is not None:
        from lamina_engine.recall.clauses import name_of

        trace["operators"] = [name_of(clause) for clause in request.parsed.clauses]
    if ranked.corrections:
        trace["corrected"] = {word: list(nearest) for word, nearest in ranked.corrections.items()}
    return trace


def list_chunks(
    memory: Memory,
    filter_: Mapping[str, Any] | None,
    limit: int | None,
    *,
    offset: int = 0,
    now_us: int | None = None,
) -> list[Chunk]:
    """List the chunks that a filter accepts, newest first, without those snoozed at ``now_us``."""
    view = memory.view()
    selection = _accepted(memory, view, filter_, now_us)
    rows = np.arange(view.rows) if selection.live is None else np.flatnonzero(selection.live)
    return select_chunks(view, rows, limit, offset)


def count_chunks(memory: Memory, filter_: Mapping[str, Any] | None) -> int:
    """Count the chunks that a filter accepts."""
    return _accepted(memory, memory.view(), filter_, None).count


def _accepted(memory: Memory, view: View, filter_: Mapping[str, Any] | None, now_us: int | None) -> Selection:
    node = parse_filter(filter_, memory.config.tz, memory.clock.now_us())
    return select_rows(view, node, None, None, invalidated=False, now_us=now_us)


def _intent(view: View, request: Request) -> str | None:
    """Return the question's intent where there are links that the profile follows, else None."""
    if not (request.profile.graph.intents or request.profile.hops.intents) or not view.snapshot.rows("links"):
        return None
    from lamina_engine.recall.intent import classify

    return request.intent or classify(request.text)


def _has_types(view: View, types: tuple[str, ...]) -> bool:
    view.categories.column(view.snapshot, "type")  # reads the names
    return not view.rows or any(view.categories.code("type", name) >= 0 for name in types)

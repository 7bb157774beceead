"""Retrieval: the rows that a page may return, and what the lanes find among them."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from lamina_engine.errors import InvalidArgument
from lamina_engine.index.analysis import QueryTerm, query_analyzer
from lamina_engine.index.helper import claim_helper
from lamina_engine.index.scoring import Bm25
from lamina_engine.index.view import View
from lamina_engine.profiles import Lexical
from lamina_engine.recall.filters import select_rows
from lamina_engine.recall.lanes import EMPTY, Bonus, Lane, PreferredRows, Selection, Words, vector_lane
from lamina_engine.recall.pages import Page, has_all
from lamina_engine.recall.relevance import WORD_TABLE
from lamina_engine.recall.request import Request
from lamina_engine.recall.scopes import preferred_rows, require_scopes, weighing_rows
from lamina_engine.recall.time_window import WindowCandidates, require_window
from lamina_kernels.layouts import F32

if TYPE_CHECKING:
    from lamina_engine.embed.bundled import WordLlamaEmbedder
    from lamina_engine.memory import Memory
    from lamina_engine.recall.clauses import Operators
    from lamina_engine.recall.spelling import Corrections

_HELPED_ROWS: Final = 1 << 16
"""Least rows at which the words are searched on another thread than the vectors: in smaller vaults that takes longer."""
_HELPED_TEXT_ROWS: Final = 1 << 18
"""The same where the vector is made of the weighed words, so that less is left to share."""


class Selected(NamedTuple):
    """Rows that a page may return."""

    rows: Selection
    linkable: Selection
    """Rows that links may bring."""
    operators: Operators | None


class Found(NamedTuple):
    """Result of the lanes of a page."""

    words: Words
    lanes: tuple[Lane, Lane]
    query: F32 | None
    share: float
    corrections: Corrections
    selection: Selection
    whole: bool
    """True if nothing lies behind the lanes."""
    unknown: tuple[str, ...]


def select(view: View, request: Request, page: Page) -> Selected:
    """Return the rows that pass filters, time window, scopes and operators."""
    window = request.window
    rows = select_rows(
        view, request.where, request.since_us, request.until_us, invalidated=request.profile.invalidated > 0.0,
        now_us=request.now_us,
    )  # fmt: skip
    if window is not None and (page.within or (window.alone and window.strict)):
        rows = require_window(view, rows, window)
    rows = require_scopes(rows, request.scopes)
    if request.parsed is None:
        return Selected(rows, rows, None)
    from lamina_engine.recall.clauses import apply_operators  # in few questions

    operators = apply_operators(view, request.parsed, query_analyzer())
    return Selected(operators.narrow(rows), operators.narrow_linked(rows), operators)


def retrieve(memory: Memory, view: View, request: Request, page: Page, selected: Selected) -> Found:
    """Run the lanes, or take the candidates that the caller brought in place of the vectors."""
    operators = selected.operators
    bonuses = operators.bonuses if operators is not None else ()
    if request.candidates is None:
        share = _vector_share(memory, view, request)
        words, lanes, query, corrections = ask_lanes(
            memory, view, request, page.depth, selected.rows, bonuses, vector=share > 0.0
        )
        share = share if query is not None else 0.0
        return Found(words, lanes, query, share, corrections, selected.rows, has_all(lanes, page.depth), ())
    from lamina_engine.recall.given import place_candidates  # few recalls bring any

    nearest, selection, unknown = place_candidates(view, selected.rows, request.candidates)
    words, lanes, query, corrections = ask_lanes(memory, view, request, page.depth, selection, bonuses, vector=False)
    share = _given_share(memory, view, request)
    return Found(words, (lanes[0], nearest), query, share, corrections, selection, True, unknown)


class _Question(NamedTuple):
    words: Words
    terms: list[QueryTerm]
    """As they were written."""
    corrections: Corrections


def ask_lanes(
    memory: Memory,
    view: View,
    request: Request,
    depth: int,
    selection: Selection,
    bonuses: tuple[Bonus, ...],
    *,
    vector: bool,
) -> tuple[Words, tuple[Lane, Lane], F32 | None, Corrections]:
    """Run the word and vector lanes, in parallel in larger vaults.

    Returns
    -------
    (words, lanes, query, corrections)
        The query's vector is None where no vector lane was asked for, or the question has none.
    """
    read = functools.partial(_read_words, memory, view, request, bonuses)
    query = request.vector
    least = _HELPED_TEXT_ROWS if query is None else _HELPED_ROWS
    helper = claim_helper() if vector and "lexical" in request.lanes and view.rows >= least else None
    # this thread searches the vectors: for FAISS it lets go of the interpreter, which the other one needs for the words
    if helper is not None and query is not None and query.any():
        searched = helper.give(lambda: _with_lane(read(), selection, depth))
        nearest = vector_lane(view, query, selection, depth, helper)
        question, lexical = searched.result()
    else:
        question = read()
        query = _query_vector(memory, view, request, question) if vector else None
        if helper is not None and query is not None:
            found = helper.give(functools.partial(question.words.lane, selection, depth))
            nearest = vector_lane(view, query, selection, depth, helper)
            lexical = found.result()
        else:
            nearest = vector_lane(view, query, selection, depth) if query is not None else EMPTY
            lexical = question.words.lane(selection, depth, nearest.rows)
    words = question.words
    preferred: list[PreferredRows] = []
    if request.window is not None:
        preferred.append(WindowCandidates(view, selection, request.window, enough=depth // 5))
    if request.scopes:
        preferred.append(PreferredRows(preferred_rows(request.scopes), selection, depth // 5))
    around = query
    for near in preferred:
        lexical = near.complete(lexical, lambda rows: words.lane(rows, depth))
        if around is not None:
            nearest = near.complete(nearest, lambda rows: vector_lane(view, around, rows, depth))
    return words, (lexical, nearest), query, question.corrections


def _read_words(memory: Memory, view: View, request: Request, bonuses: tuple[Bonus, ...]) -> _Question:
    """Return a question's words, weighed; the nearest ones for those that no row holds."""
    asked = "lexical" in request.lanes
    terms = query_analyzer().query(request.text, view.languages) if asked or request.vector is None else []
    words = weigh(view, request, terms if asked else [], bonuses if asked else ())
    corrections: Corrections = _correct(memory, view, request, words) if words.unknown else {}
    if corrections:
        from lamina_engine.recall.spelling import corrected_terms

        words = weigh(view, request, corrected_terms(terms, corrections, query_analyzer(), view.languages), bonuses)
    return _Question(words, terms, corrections)


def _with_lane(question: _Question, selection: Selection, depth: int) -> tuple[_Question, Lane]:
    return question, question.words.lane(selection, depth)


def weigh(view: View, request: Request, terms: list[QueryTerm], bonuses: tuple[Bonus, ...] = ()) -> Words:
    """Return a question's terms with their weights."""
    return Words(view, terms, bm25_of(request.profile.lexical), bonuses, weighing_rows(request.scopes))


def _query_vector(memory: Memory, view: View, request: Request, question: _Question) -> F32 | None:
    """Return the caller's query vector or embed the text; None for a zero vector."""
    vector = request.vector
    if vector is None:
        memory.check_space(view.snapshot, None)
        if (table := _word_table(memory, view)) is not None:
            words = question.words if "lexical" in request.lanes else weigh(view, request, question.terms)
            vector = _weigh_words(table, request.text, words, question.corrections)
        vector = memory.embedder_for(view.snapshot.space).embed_query(request.text) if vector is None else vector
    return vector if np.count_nonzero(vector) else None


def _word_table(memory: Memory, view: View) -> WordLlamaEmbedder | None:
    """Return the model of a space that is a table of words; None for any other."""
    space = view.snapshot.space
    if space is None or not space.identity.startswith(WORD_TABLE):
        return None
    from lamina_engine.embed.bundled import WordLlamaEmbedder

    embedder = memory.embedder_for(space)
    return embedder if isinstance(embedder, WordLlamaEmbedder) else None


def _weigh_words(embedder: WordLlamaEmbedder, text: str, asked: Words, corrections: Corrections) -> F32 | None:
    """Return a question's vector, its words weighed by rarity; None where all are stop words."""
    # A model that reads sentences weighs words by itself; a mean of word vectors is mostly what every question has. What
    # is stored depends on its text alone, so only the question is weighed. A misspelt word has the vector of its pieces,
    # which means something else: the nearest word stands for it, and a word that neither rows nor table know counts nothing.
    if corrections:
        from lamina_engine.recall.spelling import corrected_text

        text = corrected_text(text, corrections, query_analyzer())
    words, rarity = text.split(), asked.rarity()
    for form in [form for term in asked.unknown for form in term.surfaces if not embedder.has_word(form)]:
        rarity[form] = 0.0
    rarities = [[rarity.get(term.surface, 0.0) for term in query_analyzer().tokens(word)] for word in words]
    weights = [max(each, default=0.0) for each in rarities]
    return embedder.embed_weighted(words, weights) if any(weights) else None


def _correct(memory: Memory, view: View, request: Request, words: Words) -> Corrections:
    """Return the nearest words for those that no row holds."""
    from lamina_engine.recall.spelling import find_corrections

    operators = [clause.text for clause in request.parsed.clauses] if request.parsed is not None else []
    found = find_corrections(view, query_analyzer(), request.text, words.unknown, operators)
    table = _word_table(memory, view) if found else None
    if table is None:
        return found
    # a word of its own is no misspelling: "phone" where no row has one
    return {word: nearest for word, nearest in found.items() if not table.has_word(word)}


@functools.lru_cache(maxsize=32)
def bm25_of(p: Lexical) -> Bm25:
    """Return the scoring of words that a profile asks for."""
    return Bm25(k1=p.k1, b=p.b, body=p.body, header=p.header, context=p.context, surface=p.surface)


def _given_share(memory: Memory, view: View, request: Request) -> float:
    """Return the share of brought distances: the vector lane's, or all without vectors."""
    share = request.profile.vector_share
    if share is None:
        share = memory.vector_share(view.snapshot.space) if view.vector_rows else 1.0
    return share


def _vector_share(memory: Memory, view: View, request: Request) -> float:
    """Return the vector lane's share of the score."""
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
    return memory.vector_share(view.snapshot.space) if share is None else share

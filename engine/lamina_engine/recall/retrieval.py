"""Lanes of a question: its words, weighed and corrected, its vector, and what they find."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from lamina_engine.index.analysis import QueryTerm, query_analyzer
from lamina_engine.index.helper import claim_helper
from lamina_engine.index.scoring import Bm25
from lamina_engine.index.view import View
from lamina_engine.profiles import Lexical
from lamina_engine.recall.lanes import EMPTY, Bonus, Lane, PreferredRows, Selection, Words, vector_lane
from lamina_engine.recall.relevance import WORD_TABLE
from lamina_engine.recall.request import Request
from lamina_engine.recall.time_window import WindowCandidates
from lamina_engine.recall.whose import preferred_rows, weighing_rows
from lamina_kernels.layouts import F32

if TYPE_CHECKING:
    from lamina_engine.embed.protocol import Embedder
    from lamina_engine.memory import Memory
    from lamina_engine.recall.spelling import Corrections

_HELPED_ROWS: Final = 1 << 16
"""Least rows at which the words are searched on another thread than the vectors: in smaller vaults that takes longer."""
_HELPED_TEXT_ROWS: Final = 1 << 18
"""The same where the vector is made of the weighed words, so that less is left to share."""


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
        embedder = memory.embedder_for(view.snapshot.space)
        if _is_word_table(view):
            words = question.words if "lexical" in request.lanes else weigh(view, request, question.terms)
            vector = _weigh_words(embedder, request.text, words, question.corrections)
        vector = embedder.embed_query(request.text) if vector is None else vector
    return vector if np.count_nonzero(vector) else None


def _is_word_table(view: View) -> bool:
    return view.snapshot.space is not None and view.snapshot.space.identity.startswith(WORD_TABLE)


def _weigh_words(embedder: Embedder, text: str, asked: Words, corrections: Corrections) -> F32 | None:
    """Return a question's vector, its words weighed by rarity; None where all are stop words."""
    # A model that reads sentences weighs words by itself; a mean of word vectors is mostly what every question has. What
    # is stored depends on its text alone, so only the question is weighed. A misspelt word has the vector of its pieces,
    # which means something else: the nearest word stands for it, and a word that neither rows nor table know counts nothing.
    from lamina_engine.embed.bundled import WordLlamaEmbedder

    if not isinstance(embedder, WordLlamaEmbedder):
        return None
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
    if not found or not _is_word_table(view):
        return found
    from lamina_engine.embed.bundled import WordLlamaEmbedder

    embedder = memory.embedder_for(view.snapshot.space)
    if isinstance(embedder, WordLlamaEmbedder):  # a word of its own is no misspelling: "phone" where no row has one
        found = {word: nearest for word, nearest in found.items() if not embedder.has_word(word)}
    return found


@functools.lru_cache(maxsize=32)
def bm25_of(p: Lexical) -> Bm25:
    """Return the scoring of words that a profile asks for."""
    return Bm25(k1=p.k1, b=p.b, body=p.body, header=p.header, context=p.context, surface=p.surface)

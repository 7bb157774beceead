"""Evidence that memories are about a prompt: its subject, and the confidence of a recall.

The confidence is the one that every recall has (`lamina_engine.recall.relevance`): that a chunk is about the words of a question.
It cannot tell that they are a question. "Hurry up" and "put it in a table with two columns" are met by many a vault in full, better
than any question of three sentences. So a turn, which nobody asked for, first looks at the prompt: its words for a subject, no
words of talk nor of the work at hand, have to weigh more in this vault than one word that a single chunk has, and nearly as much
as two where nothing is asked.

In a long prompt each sentence that asks enough is read by itself too: pages of a log around it would thin it out.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from msgspec import Struct

from lamina_engine.context.content import asks, subject_words
from lamina_engine.index.analysis import Analyzer
from lamina_engine.index.scoring import Bm25, inverse_document_frequency
from lamina_engine.recall.lanes import Words
from lamina_engine.recall.pipeline import recall_rows
from lamina_engine.recall.relevance import rate_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory
    from lamina_kernels.layouts import F32, F64, I64

ASKED: Final = 1.1
"""Weight that the subject of a question needs, in words that one chunk of the vault has."""
ORDERED: Final = 1.7
"""The same for what asks nothing: most orders are about what agent and user have before them."""
PART: Final = 0.9
"""The same for one sentence of a prompt that asks enough as a whole."""
_FEW: Final = 5
"""In a vault of so many chunks, where no word is rare, half of that is enough."""
CANDIDATES: Final = 20
_LONG: Final = 2
"""Of prompts with more sentences each is read by itself."""
_MOST: Final = 8
"""Sentences that are read so, those with the heaviest subjects."""
_LONGEST: Final = 4_000
"""Characters of a sentence that are read: a pasted log is no question."""
_SENTENCE: Final = re.compile(r"(?<=[.!?。！？])\s+|(?<=[。！？])|\n+")
_analyzer: Final = Analyzer()


class Evidence(Struct, frozen=True):
    """Candidates of a prompt, best first, and the prompt's vector."""

    rows: I64
    confidences: F64
    """For the gate."""
    scores: F64
    """Of the recall, for the rank and the floor of an item."""
    vector: F32 | None
    """Of the whole prompt; None without vectors."""
    stems: Mapping[str, float]
    """Words of the prompt, by which a part of a memory is chosen."""


NOTHING: Final = Evidence(np.empty(0, np.int64), np.empty(0), np.empty(0), None, {})


def gather_evidence(
    memory: Memory, prompt: str, where: Mapping[str, Any], now_us: int, *, meaning: bool = True
) -> Evidence:
    """Return the candidates of a prompt with their confidence; none where it asks too little.

    Raises
    ------
    EmbeddingError
        Where the model fails; without ``meaning`` it is not asked.
    """
    view = memory.view()
    whole = prompt[:_LONGEST]
    if not view.statistics.rows or _weigh_subject(view, whole) < (ASKED if asks(whole) else ORDERED):
        return NOTHING
    options: dict[str, Any] = {"where": dict(where)} if where else {}
    options |= {} if meaning else {"lanes": ("lexical",)}
    found = recall_rows(memory, whole, profile="default", k=CANDIDATES, now=now_us / 1e6, time="off", **options)
    confidences = found.confidences
    sentences = split_sentences(prompt)
    for text in _heaviest(view, sentences) if len(sentences) > _LONG else ():
        confidences = np.maximum(confidences, _rate(memory, view, text, found.rows, meaning=meaning))
    return Evidence(found.rows, confidences, found.scores, found.vector, found.stems)


def split_sentences(prompt: str) -> list[str]:
    """Return the sentences of a prompt, long ones cut."""
    return [text.strip()[:_LONGEST] for text in _SENTENCE.split(prompt) if text.strip()]


def _weigh_subject(view: View, text: str) -> float:
    """Return the rarity of the subject's words that the vault has, in words that one chunk has."""
    terms = _analyzer.query(" ".join(dict.fromkeys(subject_words(text))), view.languages)
    query = Words(view, terms, Bm25(surface=0.0)).query
    size = view.statistics.rows
    return float(query.idf.sum()) / (inverse_document_frequency(1, size) * size / (size + _FEW))


def _heaviest(view: View, sentences: list[str]) -> list[str]:
    """Return the sentences whose subjects weigh enough for a part, the heaviest first."""
    weights = {text: _weigh_subject(view, text) for text in sentences}
    return sorted((text for text, weight in weights.items() if weight >= PART), key=lambda text: -weights[text])[:_MOST]


def _rate(memory: Memory, view: View, text: str, rows: I64, *, meaning: bool) -> F64:
    """Return the confidence of rows by one sentence."""
    space = view.snapshot.space
    embedder = memory.embedder_for(space) if meaning and space is not None and view.vector_rows else None
    vector = embedder.embed_query(text) if embedder is not None else None
    vectors = (vector,) if vector is not None and vector.any() else ()
    words = Words(view, _analyzer.query(text, view.languages), Bm25())
    return rate_rows(view, words, vectors, embedder.lane_weight if embedder is not None and vectors else 0.0, rows)

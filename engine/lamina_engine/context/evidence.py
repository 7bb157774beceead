"""Evidence that memories are about a prompt: its subject, and the confidence of a recall.

The confidence is the one that every recall has (`lamina_engine.recall.relevance`): that a chunk is about the words of a question.
It cannot tell that they are a question. "Hurry up" and "put it in a table with two columns" are met by many a vault in full, better
than any question of three sentences. So a turn, which nobody asked for, first looks at the prompt: its words for a subject, no
words of talk nor of the work at hand, have to weigh as much in this vault as some that a few chunks have; more where a question
points at what is at hand, and nearly as much as three that a single chunk has where nothing is asked. What passes has odds that a
bare confidence has not.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from msgspec import Struct

from lamina_engine.context.content import asks, points, subject_words
from lamina_engine.index.analysis import Analyzer
from lamina_engine.index.scoring import Bm25, inverse_document_frequency
from lamina_engine.recall.lanes import Words
from lamina_engine.recall.pipeline import recall_rows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory
    from lamina_kernels.layouts import F32, F64, I64

ASKED: Final = 0.6
"""Weight that the subject of a question needs, in words that one chunk of the vault has."""
POINTED: Final = 1.1
"""The same where the question points at what is at hand: "what does this regex match"."""
ORDERED: Final = 2.9
"""The same for what asks nothing: most orders are about what agent and user have before them."""
ODDS: Final = 2.75
"""Odds that a prompt with such a subject brings with it, times those of a recall squared: 0.40 of a recall is 0.55 of a turn.

Squared, as prompts that the vault answers and prompts about something else lie farther apart than questions do.
"""
_FEW: Final = 5
"""In a vault of so many chunks, where no word is rare, half of that is enough."""
CANDIDATES: Final = 20
_LONGEST: Final = 4_000
"""Characters of a prompt, or of one of its sentences, that are read: a pasted log is no question."""
_SENTENCE: Final = re.compile(r"(?<=[.!?。！？])\s+|(?<=[。！？])|\n+")
_analyzer: Final = Analyzer()


class Evidence(Struct, frozen=True):
    """Candidates of a prompt, best first, and the prompt's vector."""

    rows: I64
    confidences: F64
    """For the gate: odds of a recall and of the prompt."""
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
    if not view.statistics.rows or _weigh_subject(view, whole) < _least_subject(whole):
        return NOTHING
    options: dict[str, Any] = {"where": dict(where)} if where else {}
    options |= {} if meaning else {"lanes": ("lexical",)}
    found = recall_rows(memory, whole, profile="default", k=CANDIDATES, now=now_us / 1e6, time="off", **options)
    return Evidence(found.rows, _add_odds(found.confidences), found.scores, found.vector, found.stems)


def _add_odds(confidences: F64) -> F64:
    """Return confidences of a recall as those of a turn whose prompt asks enough; 0 stays."""
    answered, others = ODDS * confidences**2, (1.0 - confidences) ** 2
    found: F64 = answered / (answered + others)
    return found


def _least_subject(prompt: str) -> float:
    if not asks(prompt):
        return ORDERED
    return POINTED if points(prompt) else ASKED


def split_sentences(prompt: str) -> list[str]:
    """Return the sentences of a prompt, long ones cut."""
    return [text.strip()[:_LONGEST] for text in _SENTENCE.split(prompt) if text.strip()]


def _weigh_subject(view: View, text: str) -> float:
    """Return the rarity of the subject's words that the vault has, in words that one chunk has."""
    terms = _analyzer.query(" ".join(dict.fromkeys(subject_words(text))), view.languages)
    query = Words(view, terms, Bm25(surface=0.0)).query
    size = view.statistics.rows
    return float(query.idf.sum()) / (inverse_document_frequency(1, size) * size / (size + _FEW))

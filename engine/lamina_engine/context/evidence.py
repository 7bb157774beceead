"""Evidence that a memory is about a prompt: words and meaning, sentence by sentence.

A prompt is read whole and by its sentences, for a long one dilutes the cosine of the sentence that matters. For each of them and
each candidate there are three measures:

* *surprise*, in nats: the inverse document frequencies of the shared words, less the logarithm of the number of chunks. A chunk
  shares words of so much weight by chance about once in exp(surprise) vaults of this size: so the demand grows with the vault.
* *share*: the part of the sentence's weight that these words are, counted as far as they are surprising, and three or more: all
  of "kill it" is one word.
* *cosine* between the sentence and the chunk, and its words of content alone and the chunk. Of a model other than the two that
  Lamina knows, less the lower quartile over a fixed sample of the vault, since the vectors of some all point one way.

The best of their weighted sums is the evidence, on the scale of confidences. It opens the gate; the match of the whole prompt,
as a recall scores it, orders what comes through. See decision 0032 for what was measured.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from msgspec import Struct

from lamina_engine.context.content import content_words
from lamina_engine.index.analysis import Analyzer
from lamina_engine.index.scoring import Bm25, inverse_document_frequency
from lamina_engine.recall.lanes import Words
from lamina_engine.recall.pipeline import recall_rows
from lamina_engine.recall.relevance import WORD_TABLE, above_background

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory
    from lamina_kernels.layouts import F32, F64, I64

PART_WEIGHT: Final = 0.6
"""Weight of the best sentence's evidence beside the whole prompt's match."""
SURPRISE_WEIGHT: Final = 0.05
SHARE_WEIGHT: Final = 0.3
ENOUGH_WORDS: Final = 3
WORDS_COSINE: Final = 0.6
"""Without vectors a share of 1, of two words and more, stands for this cosine."""
CANDIDATES: Final = 20
"""Candidates of each sentence."""
_PARTS: Final = 5
"""Sentences that are looked at, those with most content first."""
_MODEL_PARTS: Final = 3
"""The same for a model that costs milliseconds a text."""
_LONGEST: Final = 4_000
"""Characters of a sentence that are read: a pasted log is no question."""
_BODY: Final = Bm25(context=0.0, surface=0.0)
"""Words in the text or its header, not in the chunk before."""
_SENTENCE: Final = re.compile(r"(?<=[.!?。！？])\s+|(?<=[。！？])|\n+")
_analyzer: Final = Analyzer()


class Evidence(Struct, frozen=True):
    """Candidates of a prompt with their evidence, and the prompt's vector."""

    rows: I64
    values: F64
    """Evidence of each row, for the gate; confidence is what of it is below 1."""
    scores: F64
    """Evidence and match of the whole prompt, for the rank and the floor of an item, on the same scale."""
    vector: F32 | None
    """Of the whole prompt; None without vectors."""


class _Part(Struct, frozen=True):
    """One sentence, or the whole prompt."""

    text: str
    words: str
    """Words of content, by which it is asked."""
    vectors: tuple[F32, ...]


def gather_evidence(
    memory: Memory, prompt: str, where: Mapping[str, Any], now_us: int, *, meaning: bool = True
) -> Evidence:
    """Return the candidates of a prompt, each with its best evidence over the sentences.

    Raises
    ------
    EmbeddingError
        Where the model fails; without ``meaning`` it is not asked.
    """
    view = memory.view()
    parts = _parts(memory, prompt, meaning=meaning)
    matches: dict[int, float] = {}
    for part in parts:
        options: dict[str, Any] = {"where": dict(where)} if where else {}
        options |= {"vector": part.vectors[0]} if part.vectors else {"lanes": ("lexical",)}
        hits = recall_rows(  # one recall for the process, however many sentences: kernels load with the second
            memory, part.text, profile="default", k=CANDIDATES, now=now_us / 1e6, time="off", counted=part is parts[0],
            **options,
        )  # fmt: skip
        for row, match in zip(hits.rows.tolist(), hits.matches.tolist(), strict=True):
            matches.setdefault(row, match if part is parts[0] else 0.0)
    rows = np.array(sorted(matches), np.int64)
    values = np.zeros(len(rows))
    for part in parts if rows.size else ():
        np.maximum(values, _weigh(view, part, rows), out=values)
    matched = np.array([matches[row] for row in rows.tolist()], np.float64)
    vector = next((part.vectors[0] for part in parts if part.text == prompt and part.vectors), None)
    return Evidence(rows, values, PART_WEIGHT * values + matched, vector)


def _parts(memory: Memory, prompt: str, *, meaning: bool) -> list[_Part]:
    """Return the whole prompt and its sentences with content, each with its vectors."""
    snapshot = memory.view().snapshot
    bundled = snapshot.space is None or snapshot.space.identity.startswith(WORD_TABLE)
    whole = prompt[:_LONGEST]
    texts = {text: " ".join(dict.fromkeys(content_words(text))) for text in split_sentences(prompt)}
    chosen = sorted((text for text, words in texts.items() if words), key=lambda text: -len(texts[text]))
    kept = chosen[: _PARTS if bundled else _MODEL_PARTS - 1]
    found = [
        (whole, " ".join(dict.fromkeys(content_words(whole)))),
        *((text, texts[text]) for text in kept if text != whole),
    ]
    asked = (2 if bundled else 1) if meaning else 0
    return [_Part(text, words, _embed(memory, (text, words)[:asked])) for text, words in found if words]


def split_sentences(prompt: str) -> list[str]:
    """Return the sentences of a prompt, long ones cut."""
    return [text.strip()[:_LONGEST] for text in _SENTENCE.split(prompt) if text.strip()]


def _embed(memory: Memory, texts: tuple[str, ...]) -> tuple[F32, ...]:
    """Return the vectors of texts; none without vectors in the vault."""
    snapshot = memory.view().snapshot
    if snapshot.space is None or not memory.view().vector_rows or not texts:
        return ()
    memory.check_space(snapshot, None)
    embedder = memory.embedder_for(snapshot.space)
    return tuple(vector for text in texts if (vector := embedder.embed_query(text)).any())


def _weigh(view: View, part: _Part, rows: I64) -> F64:
    """Return the evidence of some rows for one part, float64 (n,)."""
    terms = _analyzer.query(part.words, view.languages)
    words = Words(view, terms, _BODY)
    unknown = inverse_document_frequency(0, view.statistics.rows)
    total = float(words.query.idf.sum()) - words.query.again + unknown * len(words.unknown)
    held = view.forward.contributions(rows, words.query, _BODY, 1.0) > 0.0
    mass = held @ words.query.idf if words.query.idf.size else np.zeros(len(rows))
    chance = math.log(max(view.statistics.rows, 2))
    whole = np.minimum(mass / chance, 1.0) * np.minimum(held.sum(axis=1) / ENOUGH_WORDS, 1.0)
    share = mass / max(total, 1e-9) * whole
    if part.vectors:
        near = sum(above_background(view, vector, rows) for vector in part.vectors) / len(part.vectors)
    else:
        near = WORDS_COSINE * mass / max(total, 1e-9) * np.minimum(held.sum(axis=1) / (ENOUGH_WORDS - 1), 1.0)
    evidence: F64 = near + SURPRISE_WEIGHT * (mass - chance) + SHARE_WEIGHT * share
    return evidence

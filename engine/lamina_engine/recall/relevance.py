"""Confidence that rows are about a question, on one scale for all vaults and profiles.

A rank says which hit is the best, never that it is good. The confidence of a row is its match, words and cosine in the shares
that the embedder asks for, times the share of the question that the vault knows at all: of "backup of the zyxomat quorvex" a
note about backups answers little, however well it matches the rest. A message of five words cannot hold what a page holds, so
the same match says more of a short row. A logistic curve makes a number in [0, 1] of it. Rank, age, links and boosts have no
part in it.

``Hits.confidence``, the command line's "nothing near enough", the seeds of a chain and the gate of a turn ask it, and mean the
same by `ENOUGH`. A turn, which interrupts and is not asked, looks at the prompt as well (`lamina_engine.context.evidence`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from lamina_engine.index.scoring import inverse_document_frequency
from lamina_engine.recall.lanes import cosines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lamina_engine.index.view import View
    from lamina_engine.recall.lanes import Words
    from lamina_kernels.layouts import F32, F64, I64

ENOUGH: Final = 0.6
"""The published threshold: below it nothing is near enough. See docs/explanation/confidence.md."""
LOOKED_AT: Final = 10
"""First hits that the confidence of a recall is the greatest of, whatever k is."""
WORD_TABLE: Final = "wordllama-"
"""How identities of the bundled word table begin."""
_SLOPE: Final = 12.2
"""Of match times known share."""
_BRIEF: Final = 0.41
"""What each e-th part of `_USUAL` words that a row is shorter by adds, and each e-fold that it is longer takes away."""
_USUAL: Final = 75.0
_START: Final = -2.0
"""Fitted with the two above over questions that vaults answer and others, set by set: `bench.bench_confidence`."""
_TERMS: Final = 18.0
"""An unknown number or identifier weighs as much as so many words, over the words of the question: of "exit code 107" it is the point."""
_SLIGHT: Final = 0.5
"""Squared rarity of its words at which a question is believed by half: "the" is met by most chunks."""
_ALONE: Final = 0.4
"""Cosines so far above 0 and more speak for themselves, as of a question in words that the vault does not use at all."""
_CENTRED: Final = (WORD_TABLE, "minilm")
"""Beginnings of the identities of models whose cosines of texts that have nothing in common are about 0."""
_SAMPLE: Final = 1_024
"""Chunks, spread evenly, that stand for the vault."""
_BACKGROUND: Final = 0.25
_SMALL: Final = 100
"""What a vault of so many chunks says of its background, and by a word that it lacks, is believed by half."""


def rate_rows(
    view: View, words: Words, vectors: Sequence[F32], share: float, rows: I64, *, names: int = 0,
    guessed: Sequence[str] = (),
) -> F64:  # fmt: skip
    """Return the confidence of rows by words and the mean of vectors' cosines, float64 (n,)."""
    # names: unknown words that name a speaker, which texts need not hold; guessed: unknown words for which others stand
    ceiling, k1 = float(words.query.idf.sum()), words.bm25.k1 + 1.0
    match = words.score_words(rows) / (ceiling * k1) if ceiling else np.zeros(len(rows))
    near: F64 = np.zeros(len(rows))
    if vectors:
        near = np.mean([above_background(view, vector, rows) for vector in vectors], axis=0)
        match = (1.0 - share) * match + share * np.maximum(near, 0.0)
    exact, others = _weigh_unknown(view, words, names, guessed)
    strange = exact + others
    asked = 0.0 if words.are_stop_words else (ceiling + strange) ** 2
    size = view.statistics.rows
    slight = _SLIGHT * (size / (size + _SMALL)) ** 2  # in a vault of few chunks most words are in most of them
    match = match * (ceiling / max(ceiling + strange, 1e-9)) * asked / max(asked + slight, 1e-9)
    match = np.maximum(match, (near - _ALONE) * ceiling / max(ceiling + exact, 1e-9) if exact else near - _ALONE)
    length = np.log(np.maximum(view.forward.words(rows), 1) / _USUAL)
    found: F64 = 1.0 / (1.0 + np.exp(-(_START + _SLOPE * match - _BRIEF * length)))
    return np.where(match > 0.0, found, 0.0)


def _weigh_unknown(view: View, words: Words, names: int, guessed: Sequence[str]) -> tuple[float, float]:
    """Return the weights of unknown numbers and of unknown words, guessed ones by half."""
    # the fewer chunks, the less it says that none of them has a word; a number is a number in any vault
    size = view.statistics.rows
    unknown = [*dict.fromkeys([*(term.surfaces[0] for term in words.unknown), *guessed])]
    exact = sum(any(letter.isdigit() for letter in word) for word in unknown)
    known = sum(word in guessed and word.isalpha() for word in unknown)
    others = (max(len(unknown) - exact - known - names, 0) + known / 2.0) * size / (size + _SMALL)
    terms = len(words.query.idf) + len(unknown)
    weight = inverse_document_frequency(0, size)
    return weight * exact * max(_TERMS / max(terms, 1), 1.0), weight * others


def above_background(view: View, vector: F32, rows: I64) -> F64:
    """Return cosines of some rows, rescaled so that the background is 0 and 1 is 1."""
    found = cosines(view, vector, rows)
    space = view.snapshot.space
    if space is None or space.identity.startswith(_CENTRED):
        return found
    count = min(view.rows, _SAMPLE)
    sample = cosines(view, vector, np.linspace(0, view.rows - 1, count).astype(np.int64))
    low = max(float(np.quantile(sample, _BACKGROUND)), 0.0) * count / (count + _SMALL)
    above: F64 = (found - low) / max(1.0 - low, 1e-9)
    return above

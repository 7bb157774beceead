"""Confidence that rows are about a question, on one scale for vaults and profiles.

A rank says which hit is the best, never that it is good. The confidence of a row is its match, words and cosine in the shares
that the embedder asks for, times the share of the question that the vault knows at all: of "backup of the zyxomat quorvex" a
note about backups answers little, however well it matches the rest. A logistic curve makes a number in [0, 1] of it, about the
chance that such a row is an answer where one question in two has one. Rank, age, links and boosts have no part in it.

``Hits.confidence``, the command line's "nothing near enough" and the seeds of a chain ask it. A turn, which interrupts and is
not asked, demands more (`lamina_engine.context.evidence`), above the same background.
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

ENOUGH: Final = 0.25
"""The published threshold: below it nothing is near enough. See docs/explanation/confidence.md."""
LOOKED_AT: Final = 10
"""First hits that the confidence of a recall is the greatest of, whatever k is."""
WORD_TABLE: Final = "wordllama-"
"""How identities of the bundled word table begin."""
_SLOPE: Final = 13.0
_MIDDLE: Final = 0.26
"""Match times known share at which the confidence is one half. Fitted: `bench.bench_confidence`."""
_ALONE: Final = 0.4
"""Cosines so far above 0 and more speak for themselves, as of a question in words that the vault does not use at all."""
_CENTRED: Final = (WORD_TABLE, "minilm")
"""Beginnings of the identities of models whose cosines of texts that have nothing in common are about 0."""
_SAMPLE: Final = 1_024
"""Chunks, spread evenly, that stand for the vault."""
_BACKGROUND: Final = 0.25
_SMALL: Final = 100
"""What a vault of so many chunks says of its background, and by a word that it lacks, is believed by half."""


def rate_rows(view: View, words: Words, vectors: Sequence[F32], share: float, rows: I64, *, names: int = 0) -> F64:
    """Return the confidence of rows by words and the mean of vectors' cosines, float64 (n,)."""
    # names: unknown words that name a speaker, which texts need not hold
    size = view.statistics.rows
    ceiling, k1 = float(words.query.idf.sum()), words.bm25.k1 + 1.0
    match = words.score_words(rows) / (ceiling * k1) if ceiling else np.zeros(len(rows))
    near: F64 = np.zeros(len(rows))
    if vectors:
        near = np.mean([above_background(view, vector, rows) for vector in vectors], axis=0)
        match = (1.0 - share) * match + share * np.maximum(near, 0.0)
    # the fewer chunks, the less it says that none of them has a word
    strange = max(len(words.unknown) - names, 0) * inverse_document_frequency(0, size) * size / (size + _SMALL)
    match = match * (ceiling / (ceiling + strange) if ceiling + strange else 1.0)
    match = np.maximum(match, near - _ALONE)
    found: F64 = 1.0 / (1.0 + np.exp(_SLOPE * (_MIDDLE - match)))
    return np.where(match > 0.0, found, 0.0)


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

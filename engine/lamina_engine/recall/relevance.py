"""Relevance of rows to a question, on one scale for all vaults.

A rank says which hit is the best, never that it is good. Two measures say that: the *share* of the question's words that a
row holds, weighed by rarity, words that the vault lacks counted as the rarest; and its cosine *above the background*, the
mean cosine of a fixed sample of the vault.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from lamina_engine.index.analysis import Analyzer
from lamina_engine.index.scoring import Bm25
from lamina_engine.recall.lanes import Words

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_kernels.layouts import BOOL, F32, F64, I64

_NEAR_WEIGHT: Final = 1.5
_LEAST: Final = (0.6, 0.75)
"""Share plus weighted nearness of what is relevant, in small and in large vaults: the more chunks, the likelier one holds a word
of any question. Of 430 titles of notes asked against their texts 99 % have more, of 30 everyday questions against vaults of 30
to 800 chunks that cannot answer them 2 %."""
_LEAST_SHARE: Final = (0.4, 0.5)
"""The same without vectors: 97 % and 1 %."""
_SMALL, _LARGE = 16, 400  # chunks
_SAMPLE: Final = 256
_PRIOR_SAMPLE: Final = 8
"""Rows at a right angle that are added to the sample: what little there is besides the hits is no background."""
_PRIOR_ROWS: Final = 50
"""Rows added to every count, so that a word is not common because a vault is small."""
_BODY: Final = Bm25(context=0.0, surface=0.0)
"""Words in the text or its header, not in the chunk before."""


def is_relevant(view: View, query: str, vector: F32 | None, rows: I64) -> BOOL:
    """Return bool for some rows: whether each is about the question."""
    share = _word_share(view, query, rows)
    if vector is None or not view.vector_rows:
        return share >= _demand(view, _LEAST_SHARE)
    return share + _NEAR_WEIGHT * _nearness(view, vector, rows) >= _demand(view, _LEAST)


def _demand(view: View, least: tuple[float, float]) -> float:
    size = math.log(max(view.statistics.rows, _SMALL) / _SMALL) / math.log(_LARGE / _SMALL)
    return least[0] + (least[1] - least[0]) * min(size, 1.0)


def _word_share(view: View, query: str, rows: I64) -> F64:
    words = Words(view, Analyzer().query(query, view.languages), _BODY)
    n = view.statistics.rows
    frequencies = (n + 1.0) / np.exp(words.query.idf) - 0.5  # idf is ln(1 + (n − f + ½) / (f + ½))
    weights = np.log((n + _PRIOR_ROWS) / (np.maximum(frequencies, 0.0) + 0.5))
    total = float(np.cumsum(weights)[-1]) if weights.size else 0.0
    total += len(words.unknown) * math.log((n + _PRIOR_ROWS) / 0.5)
    if not weights.size or not total > 0.0:
        return np.zeros(len(rows))
    held = view.forward.contributions(rows, words.query, _BODY, 1.0) > 0.0
    share: F64 = (held * weights).sum(axis=1) / total
    return share


def _nearness(view: View, vector: F32, rows: I64) -> F64:
    """Return cosines above the vault's background, 1 for equal directions; 0 without a vector."""
    length = float(np.linalg.norm(vector.astype(np.float64)))
    out = np.zeros(len(rows))
    if length == 0.0:
        return out
    unit = (vector / length).astype(np.float32)
    sample = np.linspace(0, view.vector_rows - 1, min(view.vector_rows, _SAMPLE)).astype(np.int64)
    sample = sample[~np.isin(sample, rows)]
    others = view.vectors.dots(sample, unit).astype(np.float64)
    background = max(float(others.sum()) / (len(others) + _PRIOR_SAMPLE), 0.0)
    has = rows < view.vector_rows
    out[has] = (view.vectors.dots(rows[has], unit).astype(np.float64) - background) / max(1.0 - background, 1e-9)
    return out

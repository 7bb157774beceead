"""Background of an embedding space: cosines of texts that have nothing in common.

How near two unrelated texts lie differs by model and by vault, so a fixed cosine makes no links with one and noise with
another. The threshold is where chance would give a chunk 1/20 of a neighbour: the mean of the background, and as many of
its deviations as a normal tail needs for that in a vault of this size. The background is that of random pairs of the
vault's own vectors; with few of these, what was measured of the model counts too.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lamina_engine.index.view import View
    from lamina_kernels.layouts import F64

_PAIRS: Final = 4_000
_ENOUGH: Final = 276
"""Own pairs from which on a vault's background is its own."""
_MEASURED: Final = {"wordllama-": (0.0212, 0.0721)}
"""By the beginning of a model's identity: mean and deviation over 276 pairs of 24 sentences of unrelated subjects."""
_UNKNOWN: Final = 0.7
"""Least threshold in a small vault of a model that was not measured."""
_CHANCE: Final = 0.05
_STRICT: Final = 1e-4
"""Chance neighbours of a chunk that are accepted: of the same subject, and of tasks that are much the same."""
_LEAST, _MOST = 0.2, 0.95


def threshold(view: View, rows: NDArray[np.int64], *, strict: bool) -> float:
    """Return the cosine above which chunks of some rows are linked."""
    cosines = _own_pairs(view, rows)
    n, mean, square = len(cosines), float(cosines.sum()), float((cosines * cosines).sum())
    floor = _LEAST
    if n < _ENOUGH:
        identity = view.snapshot.space.identity if view.snapshot.space is not None else ""
        known = next((found for name, found in _MEASURED.items() if identity.startswith(name)), None)
        if known is None:
            floor = _UNKNOWN
        else:
            n, mean = n + _ENOUGH, mean + _ENOUGH * known[0]
            square += _ENOUGH * (known[0] ** 2 + known[1] ** 2)
    if not n:
        return floor
    mean, square = mean / n, square / n
    chance = (_STRICT if strict else _CHANCE) / max(len(rows), 2)
    deviation = math.sqrt(max(square - mean * mean, 0.0))
    return min(max(mean + NormalDist().inv_cdf(1.0 - chance) * deviation, floor), _MOST)


def _own_pairs(view: View, rows: NDArray[np.int64]) -> F64:
    """Return cosines of random pairs of rows, the same ones for the same rows."""
    n = len(rows)
    if n < 2:
        return np.empty(0)
    if n * (n - 1) // 2 <= _PAIRS:
        first, second = np.triu_indices(n, 1)
    else:
        first, second = np.random.default_rng(0).integers(0, n, (2, _PAIRS))
        first, second = first[first != second], second[first != second]
    vectors = view.vectors.gather(rows).astype(np.float64)
    found: F64 = np.einsum("ij,ij->i", vectors[first], vectors[second])
    return found

"""Background of an embedding space: the cosines of texts that have nothing to do with each other.

How near two unrelated texts lie differs by model and by vault, so a fixed cosine makes no links with one and noise with
another. The threshold is where chance would give a chunk 1/20 of a neighbour: the mean of the background, and as many of
its deviations as a normal tail needs for that in a vault of this size. The background is that of random pairs of the
vault's own vectors; with few of these, of pairs of unrelated sentences too, which the vault's embedder is given.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING, Final

import numpy as np

from lamina_engine.errors import LaminaError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory
    from lamina_kernels.layouts import F64

_PAIRS: Final = 4_000
_PROBE_PAIRS: Final = 276
"""Own pairs from which on no sentences are asked about: as many as the sentences have."""
_CHANCE: Final = 0.05
_STRICT: Final = 1e-4
"""Chance neighbours of a chunk that are accepted: of the same subject, and of tasks that are much the same."""
_LEAST, _MOST = 0.2, 0.95
_PROBES: Final = (
    "The ferry leaves at noon.", "Her violin needs new strings.", "Interest rates rose again in March.",
    "Add two spoons of flour to the soup.", "A glacier carved this valley.", "The goalkeeper saved a penalty.",
    "My passport expires next year.", "Bees dance to show the way.", "The roof leaks when it storms.",
    "He learned Portuguese in a year.", "The court dismissed the appeal.", "Our train was forty minutes late.",
    "The vaccine is given in two doses.", "She painted the kitchen yellow.", "A comet will be visible tonight.",
    "The parliament votes on Thursday.", "Wolves returned to the forest.", "Please water the plants on Sunday.",
    "The novel is set in Lisbon.", "Steel prices fell by a tenth.", "Children queue for the carousel.",
    "The bridge was closed for repairs.", "He sold his old camera.", "The desert bloomed after the rain.",
)  # fmt: skip


def threshold(memory: Memory, view: View, rows: NDArray[np.int64], *, strict: bool) -> float:
    """Return the cosine above which chunks of some rows are linked."""
    cosines = _own_pairs(view, rows)
    if len(cosines) < _PROBE_PAIRS:
        cosines = np.concatenate([cosines, _probe_pairs(memory, view)])
    if len(cosines) < 2:
        return _MOST
    chance = (_STRICT if strict else _CHANCE) / max(len(rows), 2)
    found = float(cosines.mean() + NormalDist().inv_cdf(1.0 - chance) * cosines.std())
    return min(max(found, _LEAST), _MOST)


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
    return _cosines(vectors, first, second)


def _probe_pairs(memory: Memory, view: View) -> F64:
    """Return cosines of unrelated sentences; none where the vault's embedder cannot be asked."""
    try:
        vectors = np.asarray(memory.embedder_for(view.snapshot.space).embed_documents(_PROBES), np.float64)
    except (LaminaError, OSError):
        return np.empty(0)
    return _cosines(vectors, *np.triu_indices(len(vectors), 1))


def _cosines(vectors: F64, first: NDArray[np.int64], second: NDArray[np.int64]) -> F64:
    found: F64 = np.einsum("ij,ij->i", vectors[first], vectors[second])
    return found

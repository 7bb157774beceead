"""Drift of topics since the last full clustering: continue, or cluster again.

New chunks are given to the nearest centroid within the threshold and removed ones drop out, until more than 30 % of
what was clustered is new or gone, or until a clustering of a fixed sample disagrees with them more than it did when
they were made.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from lamina_engine.index.state import State
from lamina_engine.index.view import View
from lamina_kernels.layouts import BOOL, F64, I64

MOST_CHANGED: Final = 0.30
LEAST_AGREEMENT: Final = 0.95
"""Of the agreement that the last clustering of everything had with the sample: a sample is thinner than the whole, and
its topics differ from the first."""

SAMPLE: Final = 2048


class Drift(NamedTuple):
    """Changes since the last full clustering, as rows of the chunks log.

    Attributes
    ----------
    added : int64
        Ascending.
    removed : int
        Forgotten ones too.
    base : int
        Rows that were clustered then.
    """

    added: I64
    removed: int
    base: int

    @property
    def share(self) -> float:
        """Drift: the larger of rows added and removed, relative to the rows clustered."""
        return max(self.added.size, self.removed) / max(self.base, 1)


def usable_rows(view: View) -> I64:
    """Return the rows that can be clustered: current, and with a vector."""
    return rows_with_vectors(view, np.flatnonzero(view.state.active()[: view.vector_rows]))


def rows_at(view: View, rows: int, events: int) -> I64:
    """Return the rows that could be clustered at earlier watermarks, without forgotten ones."""
    state = State(view.snapshot, rows=rows, events=events)
    return rows_with_vectors(view, np.flatnonzero(state.active()[: view.vector_rows]))


def rows_with_vectors(view: View, rows: I64) -> I64:
    """Return those of some rows below `View.vector_rows` that have a vector."""
    return rows[view.vectors.present(rows)] if rows.size else rows


def measure_drift(now: I64, then: I64, base: int) -> Drift:
    """Compare present and former rows, both ascending; ``base`` counts forgotten ones too."""
    added = np.setdiff1d(now, then, assume_unique=True)
    return Drift(added, base - (now.size - added.size), base)


def sample_rows(rows: I64, share: float) -> BOOL:
    """Return the mask of sampled rows: by row number alone, so it is stable over time.

    Notes
    -----
    The number is mixed as splitmix64 does (Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
    2014): neighbours in a source are not sampled together.
    """
    if share >= 1.0:
        return np.ones(rows.size, np.bool_)
    mixed = (rows.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    chosen: BOOL = (mixed ^ (mixed >> np.uint64(31))) < np.uint64(share * 2.0**63) * np.uint64(2)
    return chosen


def measure_agreement(a: I64, b: I64) -> float:
    """Return the lesser adjusted Rand index of two labellings: noise as one label, or apart.

    As one label, noise looks the same as a topic that came up in it; apart, noise that is not agreed on hardly counts.
    """
    return min(adjusted_rand(a, b), adjusted_rand(_apart(a), _apart(b)))


def _apart(labels: I64) -> I64:
    """Return labels in which every row of noise has its own."""
    return np.where(labels >= 0, labels, -1 - np.arange(labels.size))


def adjusted_rand(a: I64, b: I64) -> float:
    """Return the adjusted Rand index of two labellings; noise (−1) counts as one more label.

    Notes
    -----
    Hubert and Arabie, "Comparing partitions", 1985. 1 where both put everything together or everything apart.
    """
    if a.size < 2:
        return 1.0
    _, codes_a = np.unique(a, return_inverse=True)
    _, codes_b = np.unique(b, return_inverse=True)
    _, cells = np.unique(codes_a * (int(codes_b.max()) + 1) + codes_b, return_counts=True)
    together = _pairs(cells)
    in_a, in_b, whole = _pairs(np.bincount(codes_a)), _pairs(np.bincount(codes_b)), a.size * (a.size - 1) / 2
    expected = in_a * in_b / whole
    most = (in_a + in_b) / 2
    return 1.0 if most == expected else float((together - expected) / (most - expected))


def _pairs(counts: I64 | F64) -> float:
    wide = counts.astype(np.float64)
    return float((wide * (wide - 1.0)).sum() / 2.0)

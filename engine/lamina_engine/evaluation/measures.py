"""Retrieval measures of one ranking, and bootstrap intervals over queries.

Conventions, the same for every measure: gains are binary; a repeated id counts where it first stands and takes no
further rank; gold ids are a set; a ranking shorter than k is scored as it is. A query without gold has no value of any
measure here: the caller skips and counts it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lamina_engine.errors import InvalidArgument

# Resamples are drawn in blocks of about this many indices, so that memory stays near 32 MB for any number of queries.
_BLOCK_DRAWS: Final = 2_000_000


def gold_ranks(ranking: Sequence[str], gold: Collection[str], *, k: int) -> list[int]:
    """Return the ranks, 1 to k, at which gold ids stand, in ascending order.

    Parameters
    ----------
    ranking : sequence of str
        Ids, best first. Repeats are dropped before ranks are counted.
    gold : collection of str
        Ids that answer the query; at least one.
    k : int
        Cut; 1 or more.

    Raises
    ------
    InvalidArgument
        When `gold` is empty or `k` is below 1.
    """
    if k < 1:
        raise InvalidArgument(f"k is {k}; it must be 1 or more. Pass the number of results to score.")
    if not gold:
        raise InvalidArgument("no gold ids were given, and a measure needs at least one. Skip queries without gold.")
    wanted = frozenset(gold)
    top = list(dict.fromkeys(ranking))[:k]
    return [rank for rank, chunk_id in enumerate(top, start=1) if chunk_id in wanted]


def recall_at_k(ranking: Sequence[str], gold: Collection[str], *, k: int) -> float:
    """Return the share of distinct gold ids among the first k: ``|top_k ∩ gold| / |gold|``.

    With more gold ids than k it cannot reach 1. Parameters and errors as for `gold_ranks`.
    """
    return len(gold_ranks(ranking, gold, k=k)) / len(frozenset(gold))


def hit_at_k(ranking: Sequence[str], gold: Collection[str], *, k: int) -> float:
    """Return 1.0 where any gold id is among the first k, else 0.0; see `gold_ranks`."""
    return 1.0 if gold_ranks(ranking, gold, k=k) else 0.0


def reciprocal_rank_at_k(ranking: Sequence[str], gold: Collection[str], *, k: int) -> float:
    """Return ``1 / rank`` of the first gold id among the first k, or 0.0 where there is none.

    Its mean over queries is MRR@k. Parameters and errors as for `gold_ranks`.
    """
    ranks = gold_ranks(ranking, gold, k=k)
    return 1.0 / ranks[0] if ranks else 0.0


def ndcg_at_k(ranking: Sequence[str], gold: Collection[str], *, k: int) -> float:
    """Return the normalised discounted cumulative gain at k, with binary gains, in [0, 1].

    Notes
    -----
    ``DCG@k = Σ 1 / log2(rank + 1)`` over the gold ids at ranks 1 to k; ``IDCG@k`` is the same sum over ranks
    1 to ``min(|gold|, k)``; the result is ``DCG@k / IDCG@k``. Parameters and errors as for `gold_ranks`.

    References
    ----------
    .. [1] K. Järvelin, J. Kekäläinen, "Cumulated gain-based evaluation of IR techniques", ACM TOIS 20(4), 2002,
       with the log2(rank + 1) discount that later work settled on.
    """
    gain = sum(1.0 / math.log2(rank + 1) for rank in gold_ranks(ranking, gold, k=k))
    ideal = sum(1.0 / math.log2(rank + 1) for rank in range(1, min(len(frozenset(gold)), k) + 1))
    return gain / ideal


MEASURES: Final[dict[str, Callable[..., float]]] = {
    "recall": recall_at_k,
    "hit": hit_at_k,
    "mrr": reciprocal_rank_at_k,
    "ndcg": ndcg_at_k,
}
"""The measures of a report, in its order; each is called as ``measure(ranking, gold, k=k)``."""


def bootstrap_interval(
    values: NDArray[np.float64], *, resamples: int = 1000, level: float = 0.95, seed: int = 0
) -> tuple[float, float]:
    """Return the percentile bootstrap interval of the mean over queries.

    For the difference of two systems on the same queries pass the per-query differences: that is the paired interval.

    Parameters
    ----------
    values : float64 (n,)
        One finite value a query; n ≥ 1.
    resamples : int
        Number of resamples of size n, drawn with replacement; 1 or more.
    level : float
        Share of the resampled means inside the interval, in (0, 1).
    seed : int
        Seed of the generator; equal values and seed give an equal interval.

    Returns
    -------
    tuple of float
        Lower and upper bound: the ``(1 − level) / 2`` and ``(1 + level) / 2`` quantiles of the resampled means,
        linearly interpolated.

    Raises
    ------
    InvalidArgument
        When `values` is empty, not flat or not finite, or an option is out of its range.

    Notes
    -----
    O(resamples · n) time, O(max(n, 2·10⁶)) memory.

    References
    ----------
    .. [1] B. Efron, R. Tibshirani, "An Introduction to the Bootstrap", 1993, chapter 13.
    """
    values = np.asarray(values, dtype=np.float64)
    _check_bootstrap(values, resamples, level)
    rng = np.random.default_rng(seed)
    n = values.shape[0]
    block = max(1, _BLOCK_DRAWS // n)
    means = np.empty(resamples, dtype=np.float64)
    for start in range(0, resamples, block):
        stop = min(start + block, resamples)
        means[start:stop] = values[rng.integers(0, n, size=(stop - start, n))].mean(axis=1)
    low, high = np.quantile(means, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    return float(low), float(high)


def _check_bootstrap(values: NDArray[np.float64], resamples: int, level: float) -> None:
    if values.ndim != 1 or values.shape[0] == 0:
        raise InvalidArgument(f"values have shape {values.shape}; a flat array of at least one value is needed.")
    if not np.isfinite(values).all():
        raise InvalidArgument("values hold NaN or infinity; leave queries without a value out.")
    if resamples < 1:
        raise InvalidArgument(f"resamples is {resamples}; it must be 1 or more (1000 is usual).")
    if not 0.0 < level < 1.0:
        raise InvalidArgument(f"level is {level}; it must lie between 0 and 1, for example 0.95.")

"""Evaluation of a search on a labelled set: measures, bootstrap intervals, categories.

Conventions, the same for every measure: gains are binary; a repeated id counts where it first stands and takes no
further rank; gold ids are a set; a ranking shorter than k is scored as it is. A query without gold has no value of any
measure here: the caller skips and counts it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from lamina_engine.errors import InvalidArgument
from lamina_engine.evaluation.sets import EvaluationQuery, EvaluationSet
from lamina_engine.reports import Report

if TYPE_CHECKING:
    from lamina_engine.results import JSONValue

# Resamples are drawn in blocks of about this many indices, so that memory stays near 32 MB for any number of queries.
_BLOCK_DRAWS: Final = 2_000_000


def gold_ranks(ranking: Sequence[str], gold: Collection[str], *, k: int) -> list[int]:
    """Return the ranks of gold ids, 1 to k, ascending.

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


Search = Callable[[EvaluationQuery, int], Sequence[str]]
"""``search(query, k)`` returns ids, best first."""

RESAMPLES: Final = 1000
LEVEL: Final = 0.95
SEED: Final = 0


@dataclass(frozen=True, slots=True)
class Score:
    """A mean over queries with its bootstrap interval; NaN where no query counts."""

    value: float
    low: float
    high: float

    def to_dict(self) -> dict[str, JSONValue]:
        """Return value, low and high; None for NaN, which JSON does not know."""
        return {"value": _finite(self.value), "low": _finite(self.low), "high": _finite(self.high)}


@dataclass(frozen=True, slots=True)
class GroupScores:
    """The measures over one group of queries."""

    n: int
    """Queries with gold, which the means are over."""
    skipped: int
    """Queries without gold."""
    measures: dict[str, Score]
    """By name and cut, such as ``recall@10``."""

    def to_dict(self) -> dict[str, JSONValue]:
        """Return the group as JSON values."""
        measures: dict[str, JSONValue] = {name: score.to_dict() for name, score in self.measures.items()}
        return {"n": self.n, "skipped": self.skipped, "measures": measures}


@dataclass(frozen=True, slots=True)
class EvaluationReport(Report):
    """Report of `evaluate`."""

    name: str
    records: int
    ks: tuple[int, ...]
    overall: GroupScores
    categories: dict[str, GroupScores]
    """By category, in alphabetical order."""
    p50_ms: float
    p95_ms: float
    """Milliseconds a search took, linearly interpolated percentiles; NaN where no counter was given."""
    problems: dict[str, int]
    """Number of the set's problems by code."""
    values: dict[str, NDArray[np.float64]] = field(repr=False, compare=False)
    """Per measure, float64 (n,): the value of each scored query, in the set's order, for paired comparisons."""

    def to_dict(self) -> dict[str, JSONValue]:
        """Return the report as JSON values, without those of each query; same keys for every set."""
        return {
            "set": self.name,
            "records": self.records,
            "queries": self.overall.n + self.overall.skipped,
            "skipped": self.overall.skipped,
            "ks": list(self.ks),
            "bootstrap": {"resamples": RESAMPLES, "level": LEVEL, "seed": SEED},
            "latency_ms": {"p50": _finite(self.p50_ms), "p95": _finite(self.p95_ms)},
            "overall": self.overall.to_dict(),
            "categories": {name: group.to_dict() for name, group in self.categories.items()},
            "problems": dict(self.problems),
        }

    def table(self) -> str:
        """Return the report as plain text, 100 columns wide."""
        queries = self.overall.n + self.overall.skipped
        lines = [
            f"{_printable(self.name)}: {self.records} records, {queries} queries, {self.overall.skipped} without gold",
            "",
            _row("", [f"@{k}" for k in self.ks], 22),
            *(_row(name, [_cell(self.overall.measures[f"{name}@{k}"]) for k in self.ks], 22) for name in MEASURES),
            "",
            _row(f"at {max(self.ks)}", ["n", *MEASURES], 10),
            *(self._category_row(name, group) for name, group in self.categories.items()),
            self._category_row("all of them", self.overall),
        ]
        if not math.isnan(self.p50_ms):
            lines += ["", f"search: p50 {self.p50_ms:.2f} ms, p95 {self.p95_ms:.2f} ms"]
        if self.problems:
            lines += ["", "set: " + ", ".join(f"{count} × {code}" for code, count in self.problems.items())]
        return "\n".join(lines) + "\n"

    def _category_row(self, name: str, group: GroupScores) -> str:
        scores = [_number(group.measures[f"{measure}@{max(self.ks)}"].value) for measure in MEASURES]
        return _row(name, [str(group.n), *scores], 10)


def evaluate(
    search: Search,
    labelled: EvaluationSet,
    *,
    ks: Iterable[int] = (1, 5, 10),
    counter: Callable[[], float] | None = None,
) -> EvaluationReport:
    """Run every query that has gold ids, and score the rankings.

    Parameters
    ----------
    search : callable
        ``search(query, k)`` returns at most about k ids, best first; it applies ``query.where`` itself. Called once a
        query, with the largest cut. What it raises is not caught.
    labelled : EvaluationSet
        The set; its records are already where `search` looks.
    ks : iterable of int
        Cuts, each 1 or more; sorted and made distinct.
    counter : callable, optional
        Seconds on a monotonic counter, such as ``time.perf_counter``; without it no latency is reported.

    Returns
    -------
    EvaluationReport
        Recall, hit, reciprocal rank and NDCG at each cut, overall and by category, with 95 % percentile bootstrap
        intervals over queries (1,000 resamples, fixed seed).

    Raises
    ------
    InvalidArgument
        When there is no cut, or one below 1.
    """
    cuts = tuple(sorted(set(ks)))
    if not cuts or cuts[0] < 1:
        raise InvalidArgument(f"ks is {list(cuts)}; at least one cut is needed, each 1 or more, such as (1, 5, 10).")
    scored = [query for query in labelled.queries if query.gold]
    rankings, seconds = _ask(search, scored, cuts[-1], counter)
    values = {
        f"{name}@{k}": np.array(
            [measure(ranking, query.gold, k=k) for ranking, query in zip(rankings, scored, strict=True)], np.float64
        )
        for name, measure in MEASURES.items()
        for k in cuts
    }
    p50_ms, p95_ms = np.percentile(seconds, [50.0, 95.0]) * 1e3 if seconds else (math.nan, math.nan)
    return EvaluationReport(
        name=labelled.name,
        records=len(labelled.records),
        ks=cuts,
        overall=_group(values, scored, labelled.queries, None),
        categories={
            category: _group(values, scored, labelled.queries, category)
            for category in sorted({query.category for query in labelled.queries})
        },
        p50_ms=float(p50_ms),
        p95_ms=float(p95_ms),
        problems=labelled.problem_counts(),
        values=values,
    )


def _ask(
    search: Search, queries: Sequence[EvaluationQuery], k: int, counter: Callable[[], float] | None
) -> tuple[list[Sequence[str]], list[float]]:
    rankings: list[Sequence[str]] = []
    seconds: list[float] = []
    for query in queries:
        started = counter() if counter else 0.0
        rankings.append(search(query, k))
        if counter:
            seconds.append(counter() - started)
    return rankings, seconds


def _group(
    values: dict[str, NDArray[np.float64]],
    scored: Sequence[EvaluationQuery],
    queries: Sequence[EvaluationQuery],
    category: str | None,
) -> GroupScores:
    """Score one category, or all queries for None."""
    inside = np.array([category is None or query.category == category for query in scored], dtype=np.bool_)
    skipped = sum(not query.gold and (category is None or query.category == category) for query in queries)
    measures = {name: _score(column[inside]) for name, column in values.items()}
    return GroupScores(n=int(inside.sum()), skipped=skipped, measures=measures)


def _score(values: NDArray[np.float64]) -> Score:
    if values.shape[0] == 0:
        return Score(math.nan, math.nan, math.nan)
    low, high = bootstrap_interval(values, resamples=RESAMPLES, level=LEVEL, seed=SEED)
    return Score(float(values.mean()), low, high)


def _finite(value: float) -> float | None:
    return None if math.isnan(value) else value


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3f}"


def _cell(score: Score) -> str:
    return f"{_number(score.value)} [{_number(score.low)}, {_number(score.high)}]"


def _row(name: str, cells: Iterable[str], width: int) -> str:
    return f"{_printable(name):<20}" + "".join(f"{cell:>{width}}" for cell in cells)


def _printable(name: str) -> str:
    """Return at most 60 characters of a name, without control characters."""
    shown = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in name)
    return shown if len(shown) <= 60 else shown[:59] + "…"

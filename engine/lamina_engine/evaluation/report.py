"""Evaluation of a search on a labelled set, with measures overall and by category."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lamina_engine.errors import InvalidArgument
from lamina_engine.evaluation.measures import MEASURES, bootstrap_interval
from lamina_engine.evaluation.sets import EvaluationQuery, EvaluationSet
from lamina_engine.reports import Report

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

    def to_dict(self) -> dict[str, float | None]:
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

    def to_dict(self) -> dict[str, object]:
        """Return the group as JSON values."""
        measures = {name: score.to_dict() for name, score in self.measures.items()}
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

    def to_dict(self) -> dict[str, object]:
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
    """Ask every query that has gold, and score what comes back.

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

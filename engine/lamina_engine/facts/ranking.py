"""Ranking of facts by a question's words, with early termination (MaxScore).

A fact's score is the sum of its words' weights, whatever their number in it; equal scores are ordered by confidence, then newer
first. Three observations keep this short, and none of them changes an answer:

* Facts with a rare word are in a short list: those are scored first, and looked up in the lists of the common words.
* Other facts hold common words alone. They come in windows from the newest row back, and the search ends when no remaining
  row can precede the last of the best (the bound of MaxScore [1]_: all that could still be added up).
* Within a window, words that together weigh less than is needed only raise rows that other words brought in.

References
----------
.. [1] Turtle and Flood, Query evaluation: strategies and optimizations, 1995.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamina_engine.facts.view import FactStates, unique_rows

I64 = NDArray[np.int64]
F64 = NDArray[np.float64]
_RARE: Final = 512
"""Entries of the shortest lists that are looked at first."""
_RARE_SHARE: Final = 512
"""The same as a share of the facts: one in so many."""
_FIRST_WINDOW: Final = 4_096
_LAST_WINDOW: Final = 1 << 18
_FIRST_SETTLED: Final = 32
"""Rows of which it is first looked up what became of them; eight times as many each time."""
_CHEAPER: Final = 12
"""Looking one row up in a list costs about as much as taking so many of the list's rows."""
_NO_ROWS: Final = np.empty(0, np.int64)
_NO_SCORES: Final = np.empty(0)
_ROUNDING: Final = 1e-12
"""Relative: what is still possible is added up in another order than what is there. Sums that are closer count as equal."""


class QueryWord(NamedTuple):
    """Word of a question with its weight and postings."""

    weight: float
    """Above 0."""
    lists: tuple[NDArray[np.integer], ...]
    """Rows that hold it; each list ascends, and lies after the one before."""

    @property
    def entries(self) -> int:
        """Number of rows that hold it."""
        return sum(map(len, self.lists))

    def between(self, start: int, stop: int) -> I64:
        """Return the rows from ``start`` to ``stop``, ascending."""
        found = [part[slice(*np.searchsorted(part, (start, stop)))] for part in self.lists]
        return _concatenate(part for part in found if len(part))

    def holds(self, rows: I64) -> NDArray[np.bool_]:
        """Return, for ascending rows, whether they are in the lists."""
        out = np.zeros(len(rows), np.bool_)
        for part in self.lists:
            first, last = np.searchsorted(rows, (part[0], int(part[-1]) + 1)) if len(part) else (0, 0)
            if first < last:
                inside = rows[first:last].astype(part.dtype)
                out[first:last] = part[np.searchsorted(part, inside)] == inside
        return out


class RankedFact(NamedTuple):
    """Fact among the best; compares as it ranks."""

    score: float
    confidence: float
    row: int
    valid_from: int
    valid_to: int


class RankSource(NamedTuple):
    """Source of validity and confidence for ranking."""

    settled: Callable[[I64], FactStates]
    """Of rows, those that stand, ascending, with what became of them."""
    likely: Callable[[I64], NDArray[np.float32]]
    """Of rows, a confidence that is at least theirs."""
    most: float
    """A confidence that is at least that of any."""


def rank_facts(words: Sequence[QueryWord], source: RankSource, *, k: int, stop: int) -> list[RankedFact]:
    """Return the k best facts for some words, best first.

    Words come in an order that does not depend on how their lists are cut, so that sums tie alike. Usually O(some thousand
    entries) for any number of facts; O(entries) where words never occur together.
    """
    words = sorted((word for word in words if word.entries), key=lambda word: -word.weight)
    search = _Search(words, source, k)
    by_count = sorted(range(len(words)), key=lambda at: words[at].entries)
    total, rare = 0, set[int]()
    for at in by_count:
        total += words[at].entries
        if total > max(_RARE, stop // _RARE_SHARE):
            break
        rare.add(at)
    taken = search.rank_rare(rare)
    common = [word for at, word in enumerate(words) if at not in rare]
    if common:
        search.rank_common(common, taken, stop)
    return search.best


class _Search:
    def __init__(self, words: Sequence[QueryWord], source: RankSource, k: int) -> None:
        self._words, self._source, self._k = words, source, k
        self.best: list[RankedFact] = []
        self._marks = np.empty(0, np.bool_)
        """False, by row of a window; what is marked is unmarked at once."""
        self._sums = np.empty(0)

    @property
    def _last(self) -> RankedFact | None:
        """Row to beat; None while there is room."""
        return self.best[-1] if len(self.best) == self._k else None

    def rank_rare(self, rare: set[int]) -> I64:
        """Rank the rows with one of some rare words; return all of them."""
        rows = unique_rows(_concatenate(part for at in rare for part in self._words[at].lists))
        scores = np.zeros(len(rows))
        for at, word in enumerate(self._words if len(rows) else ()):
            if at in rare:
                for part in word.lists:
                    scores[np.searchsorted(rows, part)] += word.weight
            else:
                scores[word.holds(rows)] += word.weight
        self._take(rows, scores)
        return rows

    def rank_common(self, words: Sequence[QueryWord], taken: I64, stop: int) -> None:
        """Rank the other rows, which hold common words alone."""
        rest = np.cumsum([word.weight for word in reversed(words)])[::-1].tolist()
        total = 0.0
        for word in words:
            total += word.weight
        for start, end in _windows(stop):
            if not self._admits(total, self._source.most, end - 1):
                return
            if len(self._marks) < end - start:
                self._marks, self._sums = np.zeros(end - start, np.bool_), np.empty(end - start)
            rows, scores = self._score_window(words, rest, start, end)
            new = ~QueryWord(0.0, (taken,)).holds(rows)
            self._take(rows[new], scores[new])

    def _score_window(
        self, words: Sequence[QueryWord], rest: Sequence[float], start: int, stop: int
    ) -> tuple[I64, F64]:
        """Return the rows of a window that may be among the best, ascending, and their scores."""
        least = self._least(stop)
        # what holds only words that together weigh less is not enough
        needed = next((at for at, possible in enumerate(rest) if possible < least), len(words))
        lists = [word.between(start, stop) for word in words[:needed]]
        rows, scores = self._sum_lists([rows - start for rows in lists], [word.weight for word in words])
        for word, possible in zip(words[needed:], rest[needed:], strict=True):
            may = scores + possible >= least
            rows, scores = rows[may], scores[may]
            if not len(rows):
                break
            scores[self._is_listed(word.between(start, stop) - start, rows)] += word.weight
        may = scores >= least
        return rows[may] + start, scores[may]

    def _sum_lists(self, lists: Sequence[I64], weights: Sequence[float]) -> tuple[I64, F64]:
        """Return the rows of a window in any of some lists, and their summed weights."""
        full = [at for at, rows in enumerate(lists) if len(rows)]
        if len(full) <= 1:
            return (lists[full[0]], np.full(len(lists[full[0]]), weights[full[0]])) if full else (_NO_ROWS, _NO_SCORES)
        for at in full:
            self._sums[lists[at]] = 0.0
            self._marks[lists[at]] = True
        for at in full:
            self._sums[lists[at]] += weights[at]
        rows = np.flatnonzero(self._marks)
        self._marks[rows] = False
        return rows, self._sums[rows]

    def _is_listed(self, listed: I64, rows: I64) -> NDArray[np.bool_]:
        """Return, for rows of a window, whether they are in a list."""
        if len(rows) * _CHEAPER < len(listed):
            return QueryWord(0.0, (listed,)).holds(rows)
        self._marks[listed] = True
        held = self._marks[rows]
        self._marks[listed] = False
        return held

    def _least(self, stop: int) -> float:
        """Return the score that a row below ``stop`` needs: that of the last of the best, or more."""
        last = self._last
        if last is None:
            return 0.0
        more = last.confidence >= self._source.most and last.row >= stop - 1
        return last.score * (1.0 + _ROUNDING if more else 1.0 - _ROUNDING)

    def _admits(self, score: float, confidence: float, row: int) -> bool:
        last = self._last
        return last is None or (score, confidence, row) > last[:3]

    def _take(self, rows: I64, scores: F64) -> None:
        """Keep the rows that hold and are among the best."""
        while len(rows):
            top = scores.max()
            at = scores == top
            if not self._take_equal(rows[at], float(top)):
                return
            rows, scores = rows[~at], scores[~at]

    def _take_equal(self, rows: I64, score: float) -> bool:
        """Keep rows of one score, ascending; return whether lower scores may follow."""
        likely = self._source.likely(rows)
        order = np.arange(len(rows))[::-1]
        if likely.min() < likely.max():
            order = order[np.argsort(-likely[order], kind="stable")]
        begin, step = 0, max(_FIRST_SETTLED, 2 * self._k)
        while begin < len(rows):
            chunk = order[begin : begin + step]
            if not self._admits(score, float(likely[chunk[0]]), int(rows[chunk[0]])):
                break
            found = self._source.settled(rows[chunk])
            columns = (found.confidence, found.rows, found.valid_from, found.valid_to)
            more = map(RankedFact, [score] * len(found.rows), *(column.tolist() for column in columns))
            self.best = sorted([*self.best, *more], reverse=True)[: self._k]
            begin, step = begin + step, 8 * step
        return self._last is None or self._last.score < score


def _concatenate(lists: Iterable[NDArray[np.integer]]) -> I64:
    return np.concatenate([_NO_ROWS, *lists]).astype(np.int64, copy=False)


def _windows(stop: int) -> Iterator[tuple[int, int]]:
    """Yield windows of rows from the last one back, each larger than the one before."""
    size = _FIRST_WINDOW
    while stop > 0:
        start = max(0, stop - size)
        yield start, stop
        stop, size = start, min(4 * size, _LAST_WINDOW)

"""The best facts of a few lists of rows are those of looking at every row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from lamina_engine.facts import ranking
from lamina_engine.facts.ranking import QueryWord, RankedFact, RankSource, rank_facts
from lamina_engine.facts.view import FactStates
from tests.oracles.fact_ranking import best_of_all

EVER, NEVER = -(2**63), 2**63 - 1


class Facts:
    """Rows with confidences, of which some do not stand, and some are less or more sure than they began."""

    def __init__(self, confidence: Sequence[float], gone: set[int], now: dict[int, float]) -> None:
        self.began = np.array(confidence, np.float32)
        self.now = self.began.copy()
        for row, value in now.items():
            self.now[row] = value
        self.stands = np.array([row not in gone for row in range(len(confidence))], np.bool_)
        self.looked_at = 0

    def source(self) -> RankSource:
        return RankSource(self._settled, self._likely, float(max([*self.began, *self.now], default=0.0)))

    def _settled(self, rows: NDArray[np.int64]) -> FactStates:
        self.looked_at += len(rows)
        rows = np.sort(rows[self.stands[rows]])
        return FactStates(rows, np.full(len(rows), EVER), np.full(len(rows), NEVER), self.now[rows])

    def _likely(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        return np.maximum(self.began, self.now)[rows]


@st.composite
def questions(draw: st.DrawFn) -> tuple[int, list[tuple[float, list[int]]], Facts, int]:
    n = draw(st.integers(0, 60))
    few = st.sampled_from([0.25, 0.5, 1.0])
    weights = st.sampled_from([0.125, 0.25, 0.375, 1.0, 2.5])  # sums are exact
    words = draw(st.lists(st.tuples(weights, st.sets(st.integers(0, max(n - 1, 0)), max_size=n)), max_size=5))
    rows = st.integers(0, max(n - 1, 0))
    facts = Facts(
        draw(st.lists(few, min_size=n, max_size=n)),
        draw(st.sets(rows, max_size=n)),
        draw(st.dictionaries(rows, few, max_size=n)) if n else {},
    )
    return n, [(weight, sorted(held)) for weight, held in words], facts, draw(st.integers(1, 8))


def cut(rows: list[int], at: int) -> tuple[NDArray[np.integer], ...]:
    parts = [[row for row in rows if row < at], [row for row in rows if row >= at]]
    return tuple(np.array(part, np.uint32) for part in parts if part)


@pytest.mark.parametrize("rare", [0, 5, 1_000])
@settings(max_examples=60, deadline=None)
@given(question=questions(), at=st.integers(0, 60))
def test_as_if_every_row_were_looked_at(
    rare: int, question: tuple[int, list[tuple[float, list[int]]], Facts, int], at: int
) -> None:
    n, words, facts, k = question
    with pytest.MonkeyPatch.context() as small:
        for name, value in (("_RARE", rare), ("_FIRST_WINDOW", 4), ("_LAST_WINDOW", 16), ("_FIRST_SETTLED", 1)):
            small.setattr(ranking, name, value)
        got = rank_facts([QueryWord(weight, cut(rows, at)) for weight, rows in words], facts.source(), k=k, stop=n)
    ref = best_of_all(words, facts.now.tolist(), facts.stands.tolist(), k)
    assert [(each.row, each.confidence) for each in got] == [(row, confidence) for _, confidence, row in ref]
    assert [each.score for each in got] == [score for score, _, _ in ref]


@pytest.mark.parametrize("n", [0, 1, 2])
def test_few(n: int) -> None:
    facts = Facts([1.0] * n, set(), {})
    got = rank_facts([QueryWord(1.5, (np.arange(n, dtype=np.uint32),))], facts.source(), k=6, stop=n)
    assert got == [RankedFact(1.5, 1.0, row, EVER, NEVER) for row in range(n)[::-1]]
    assert rank_facts([], facts.source(), k=6, stop=n) == []


def test_of_a_word_of_all_facts_the_newest_are_looked_at_alone() -> None:
    n = 300_000
    facts = Facts([1.0] * n, {n - 1, n - 3}, {})
    everywhere = QueryWord(0.2, (np.arange(n, dtype=np.uint32),))
    got = rank_facts([everywhere, QueryWord(0.1, everywhere.lists)], facts.source(), k=3, stop=n)
    assert [each.row for each in got] == [n - 2, n - 4, n - 5]
    assert facts.looked_at < 100


def test_words_that_never_stand_together() -> None:
    n = 100_000
    rows = np.arange(n, dtype=np.uint32)
    facts = Facts([1.0] * n, set(), {})
    words = [QueryWord(1.0, (rows[::2],)), QueryWord(0.9, (rows[1::2],))]
    got = rank_facts(words, facts.source(), k=2, stop=n)
    assert [(each.row, each.score) for each in got] == [(n - 2, 1.0), (n - 4, 1.0)]
    assert facts.looked_at < 200


def test_an_old_fact_that_is_surer_goes_first() -> None:
    n = 20_000
    confidence = [0.5] * n
    confidence[7] = 0.9
    facts = Facts(confidence, set(), {3: 1.0})
    got = rank_facts([QueryWord(1.0, (np.arange(n, dtype=np.uint32),))], facts.source(), k=3, stop=n)
    assert [each.row for each in got] == [3, 7, n - 1]

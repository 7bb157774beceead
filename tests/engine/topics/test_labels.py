from __future__ import annotations

from lamina_engine.index.analysis import Analyzer
from lamina_engine.topics.labels import best_words, count_words, name_of

ANALYZER = Analyzer()


def test_words_that_tell_topics_apart_come_first() -> None:
    rose = count_words(["We planted roses in the garden.", "Roses need soil, the garden too."], ANALYZER)
    code = count_words(["We wrote the array code in the garden.", "Array code, again: arrays!"], ANALYZER)
    got = best_words([rose, code], [0, 1])
    assert got[0][0] == "roses"
    assert got[1][0] == "array", "the form that is written most often"
    assert "the" not in got[0] + got[1]
    assert got[0].index("garden") > 0


def test_numbers_letters_and_nothing_at_all() -> None:
    assert best_words([count_words(["1234 x 5.6", ""], ANALYZER)], [0]) == [[]]
    assert name_of([]) == "untitled"
    assert name_of(["a1", "b1", "c1", "d1"]) == "a1, b1, c1"


def test_topics_above_are_weighed_against_those_below() -> None:
    a, b = count_words(["alpha beta beta"], ANALYZER), count_words(["gamma beta"], ANALYZER)
    both = count_words([], ANALYZER)
    both.add(a)
    both.add(b)
    got = best_words([both, a, b], [1, 2])
    assert got[1:] == best_words([a, b], [0, 1])
    assert set(got[0]) == {"alpha", "beta", "gamma"}

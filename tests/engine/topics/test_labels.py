from __future__ import annotations

from lamina_engine.topics.labels import WordReader, best_words, name_of, names_of, texts_read

count_words = WordReader().count


def test_words_that_tell_topics_apart_come_first() -> None:
    rose = count_words(["We planted roses in the garden.", "Roses need soil, the garden too."])
    code = count_words(["We wrote the array code in the garden.", "Array code, again: arrays!"])
    got = best_words([rose, code], [0, 1])
    assert got[0][0] == "roses"
    assert got[1][0] == "array", "the form that is written most often"
    assert "the" not in got[0] + got[1]
    assert got[0].index("garden") > 0


def test_numbers_letters_and_nothing_at_all() -> None:
    assert best_words([count_words(["1234 x 5.6", ""])], [0]) == [[]]
    assert name_of([]) == "untitled"
    assert name_of(["a1", "b1", "c1", "d1"]) == "a1, b1, c1"


def test_topics_above_are_weighed_against_those_below() -> None:
    a, b = count_words(["alpha beta beta"]), count_words(["gamma beta"])
    both = count_words([])
    both.add(a)
    both.add(b)
    got = best_words([both, a, b], [1, 2])
    assert got[1:] == best_words([a, b], [0, 1])
    assert set(got[0]) == {"alpha", "beta", "gamma"}


def test_no_two_topics_have_the_same_name() -> None:
    words = [["git", "commit", "file", "branch"], ["commit", "git", "file", "branch", "log"], ["a1"], ["a1"], [], []]
    got = names_of(words, [None] * 6, [0, 1, 2, 3, 4, 5])
    assert got == ["git, commit, file", "commit, git, branch", "a1", "a1 (2)", "untitled", "untitled (2)"]
    assert names_of(words, [None] * 6, [5, 4, 3, 2, 1, 0])[:2] == ["git, commit, branch", "commit, git, file"]


def test_names_that_stay_are_not_given_again() -> None:
    got = names_of([["a1", "b1", "c1", "d1"], ["x1"], ["x1"]], [None, "c1, b1, A1", "Roses"], [0, 1, 2])
    assert got == ["a1, b1, d1", "c1, b1, A1", "Roses"]
    assert names_of([["x1"]], [""], [0]) == ["x1"]
    assert names_of([], [], []) == []


def test_of_many_topics_fewer_texts_are_read() -> None:
    assert [texts_read(topics) for topics in (0, 1, 100, 200, 1_000, 10_000)] == [200, 200, 200, 100, 20, 20]


def test_a_piece_counts_as_often_as_it_stands_there() -> None:
    got = count_words(["roses grow, roses bloom", "fooBar roses fooBar"])
    assert got.forms == {
        ("rose", "roses"): 3,
        ("grow", "grow"): 1,
        ("bloom", "bloom"): 1,
        ("foo", "foo"): 2,
        ("bar", "bar"): 2,
    }
    assert got.stems()["rose"] == 3

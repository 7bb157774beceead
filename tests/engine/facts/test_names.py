""""""

from __future__ import annotations

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_engine.errors import InvalidArgument
from lamina_engine.facts import names

TEXT = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("Node.js", "node_js"),
        ("Project Keystone", "project_keystone"),
        ("Ann", "ann"),
        ("O'Brien", "o_brien"),
        ("東京", "東京"),
    ],
)
def test_slugs(name: str, slug: str) -> None:
    assert names.slug(name) == slug


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("東京", "大阪"), ("की", "का"), ("🚀", "🛸"), ("C++", "C#"), ("C", "C++"), (".NET", "NET"), ("「東京」", "東京"),
        ("マリー・キュリー", "マリーキュリー"), ("й", "и"), ("José", "Jose"), ("ا", "أ"),
    ],
)  # fmt: skip
def test_two_different_names_have_two_ids(first: str, second: str) -> None:
    assert names.slug(first) != names.slug(second)
    assert names.slug(first)
    assert names.slug(second)


@given(first=TEXT, second=TEXT)
def test_equal_slugs_mean_names_that_differ_in_case_and_separators_alone(first: str, second: str) -> None:
    try:
        a, b = names.clean(first), names.clean(second)
    except InvalidArgument:
        return
    if names.slug(a) == names.slug(b):
        assert letters(a) == letters(b)


def letters(name: str) -> str:
    return "".join(c for c in names.caseless(name) if unicodedata.category(c)[0] not in "PZC" or not c.isascii())


@given(text=TEXT)
def test_a_slug_is_one_part_of_an_id(text: str) -> None:
    try:
        slug = names.slug(names.clean(text))
    except InvalidArgument:
        return
    assert slug
    assert ":" not in slug
    assert not any(letter.isspace() for letter in slug)


def test_folding_takes_case_and_diacritics_and_keeps_vowel_signs() -> None:
    assert names.fold("José  Ángel-ŁÓDŹ") == "jose angel lodz"
    assert names.fold("STRASSE") == names.fold("Straße")
    assert names.fold("की") != names.fold("का")
    assert names.fold("Ёлка") == names.fold("елка")


def test_words_have_their_places() -> None:
    text = "Ask Ann’s C++ team in 東京!"
    assert [text[start:stop] for _, start, stop in names.words(text)] == [
        "Ask",
        "Ann",
        "s",
        "C++",
        "team",
        "in",
        "東",
        "京",
    ]
    assert names.words("") == []
    assert [word for word, _, _ in names.words("a-b_c #tag")] == ["a", "b", "c", "tag"]


@given(text=st.text(max_size=30), longest=st.integers(1, 5))
def test_keys_of_runs_are_the_keys_of_their_texts(text: str, longest: int) -> None:
    found = names.words(text)
    runs = names.run_keys([word for word, _, _ in found], longest)
    for length, run in enumerate(runs, 1):
        for begin, key in enumerate(run.tolist()):
            said = text[found[begin][1] : found[begin + length - 1][2]]
            if [word for word, _, _ in names.words(said)] == [word for word, _, _ in found[begin : begin + length]]:
                assert names.key(said) == key


def test_keys_have_one_form() -> None:
    assert names.keys(["Ann", "ANN", "Ánn", ""]).tolist() == [names.key("ann")] * 3 + [0]
    assert names.keys([]).dtype == np.uint64


@pytest.mark.parametrize("bad", ["", "  ", "!!!", "x" * 201, "a\ud800", None, 7])
def test_names_that_are_none(bad: object) -> None:
    with pytest.raises(InvalidArgument):
        names.clean(bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", ["", "a:b", "9", "x" * 50, None])
def test_types_that_are_none(bad: object) -> None:
    with pytest.raises(InvalidArgument):
        names.clean_type(bad)  # type: ignore[arg-type]


bulk_letters = st.sampled_from([*"abAB9 +#._-'(~", *"\t\n\x00\x7fé東\u0301İ"])
usual = st.text(st.sampled_from("abcXYZ019 ._-'+"), max_size=9)
texts = st.lists(st.one_of(usual, st.text(bulk_letters, max_size=6)), max_size=90)


def cleaned(text: str) -> str | None:
    try:
        return names.clean(text, most=6)
    except InvalidArgument:
        return None


@given(given_names=st.one_of(texts, st.lists(usual, max_size=200)))
def test_keys(given_names: list[str]) -> None:
    got, longest = names.keys_of(given_names)
    ref = [names.key_of(text) for text in given_names]
    assert got.dtype == np.uint64
    assert got.tolist() == names.keys(given_names).tolist() == [key for key, _ in ref]
    assert longest == max((count for _, count in ref), default=0)


@given(given_names=texts)
def test_plain_names_are_what_they_are_cleaned_to(given_names: list[str]) -> None:
    if names.all_plain(given_names, 6):
        assert given_names
        assert [cleaned(text) for text in given_names] == given_names


@given(given_names=st.lists(st.from_regex(r"[A-Za-z0-9][!-~]{0,3}( [!-~])?", fullmatch=True), min_size=1, max_size=9))
def test_usual_names_are_plain(given_names: list[str]) -> None:
    assert names.all_plain(given_names, 6)
    assert not names.all_plain([*given_names, "a" * 7], 6)


@pytest.mark.parametrize("bad", ["", " a", "a ", "a  b", "a\tb", "a\nb", "é", "-a", "a\x7f", "\n", None, 3])
def test_what_is_not_plain(bad: object) -> None:
    assert names.all_plain(["a", "b c"])
    assert not names.all_plain(["a", bad])
    assert not names.all_plain([bad, "a"])
    assert not names.all_plain([bad])


def test_none() -> None:
    assert not names.all_plain([])
    assert names.keys([]).tolist() == []

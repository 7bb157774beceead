"""Many names at once give what each of them gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_engine.errors import InvalidArgument
from lamina_engine.facts import manynames, names

letters = st.sampled_from([*"abAB9 +#._-'(~", *"\t\n\x00\x7fé東\u0301İ"])
usual = st.text(st.sampled_from("abcXYZ019 ._-'+"), max_size=9)
texts = st.lists(st.one_of(usual, st.text(letters, max_size=6)), max_size=90)


def cleaned(text: str) -> str | None:
    try:
        return names.clean(text, most=6)
    except InvalidArgument:
        return None


@given(given_names=st.one_of(texts, st.lists(usual, max_size=200)))
def test_slugs_and_keys(given_names: list[str]) -> None:
    assert manynames.slugs(given_names) == [names.slug(names.single(text)) for text in given_names]
    got, longest = manynames.keys_of(given_names)
    ref = [names.key_of(text) for text in given_names]
    assert got.dtype == np.uint64
    assert got.tolist() == manynames.keys(given_names).tolist() == [key for key, _ in ref]
    assert longest == max((count for _, count in ref), default=0)


@given(given_names=texts)
def test_plain_names_are_what_they_are_cleaned_to(given_names: list[str]) -> None:
    if manynames.all_plain(given_names, 6):
        assert given_names
        assert [cleaned(text) for text in given_names] == given_names


@given(given_names=st.lists(st.from_regex(r"[A-Za-z0-9][!-~]{0,3}( [!-~])?", fullmatch=True), min_size=1, max_size=9))
def test_usual_names_are_plain(given_names: list[str]) -> None:
    assert manynames.all_plain(given_names, 6)
    assert not manynames.all_plain([*given_names, "a" * 7], 6)


@pytest.mark.parametrize("bad", ["", " a", "a ", "a  b", "a\tb", "a\nb", "é", "-a", "a\x7f", "\n", None, 3])
def test_what_is_not_plain(bad: object) -> None:
    assert manynames.all_plain(["a", "b c"])
    assert not manynames.all_plain(["a", bad])
    assert not manynames.all_plain([bad, "a"])
    assert not manynames.all_plain([bad])


def test_none() -> None:
    assert not manynames.all_plain([])
    assert manynames.slugs([]) == []
    assert manynames.keys([]).tolist() == []

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_engine.errors import InvalidArgument
from lamina_engine.sessions.cutting import SessionLimits, estimate_tokens, find_fences, split_text

FENCE = "```py\nx = 1\n\ny = 2\n```"
TEXTS = st.lists(
    st.one_of(
        st.text(st.sampled_from("ab é数. \n"), max_size=80),
        st.sampled_from([FENCE, "~~~\ncode\n~~~", "a" * 90, "\n\n", "```\nopen", "One. Two! Three?"]),
    ),
    max_size=8,
).map("\n".join)


def test_tokens_are_characters_by_three_and_a_half_rounded_up() -> None:
    assert [estimate_tokens(n) for n in (0, 1, 3, 4, 7, 8, 14_336)] == [0, 1, 1, 2, 2, 3, 4_096]


def test_limits_unless_told_otherwise() -> None:
    limits = SessionLimits()
    assert (limits.max_tokens, limits.min_tokens) == (4_096, 64)
    assert (limits.max_chars, limits.min_chars) == (14_336, 224)


@pytest.mark.parametrize("wrong", [{"max_tokens": 15}, {"min_tokens": -1}, {"max_tokens": 100, "min_tokens": 51}])
def test_limits_that_make_no_sense(wrong: dict[str, int]) -> None:
    with pytest.raises(InvalidArgument, match="give"):
        SessionLimits(**wrong)


@given(TEXTS, st.integers(20, 120), st.one_of(st.none(), st.integers(0, 60)))
def test_no_piece_is_over_the_limit_and_nothing_is_lost(text: str, limit: int, first: int | None) -> None:
    pieces = split_text(text, limit, first)
    assert all(len(piece) <= limit for piece in pieces)
    assert first is None or len(pieces[0]) <= max(first, 0) or len(text.rstrip()) <= first
    assert re.sub(r"\s", "", "".join(pieces)) == re.sub(r"\s", "", text)


@given(TEXTS, st.integers(40, 120))
def test_a_fence_is_cut_only_where_it_alone_is_over_the_limit(text: str, limit: int) -> None:
    pieces = split_text(text, limit)
    for start, stop in find_fences(text):
        fence = text[start:stop].rstrip()
        if stop - start <= limit:
            assert any(fence in piece for piece in pieces), (fence, pieces)


def test_one_huge_paragraph_is_cut_between_sentences() -> None:
    text = " ".join(f"Sentence number {i} is here." for i in range(200))
    pieces = split_text(text, 500)
    assert len(pieces) > 10
    assert all(250 <= len(piece) <= 500 for piece in pieces[:-1])
    assert all(piece.endswith(".") for piece in pieces)


def test_one_huge_word_is_cut_anywhere() -> None:
    assert [len(piece) for piece in split_text("x" * 1_001, 500)] == [500, 500, 1]


def test_a_fence_over_the_limit_is_cut_between_lines() -> None:
    text = "```\n" + "\n".join(f"line {i}" for i in range(100)) + "\n```"
    pieces = split_text(text, 100)
    assert max(map(len, pieces)) <= 100
    assert all(re.fullmatch(r"(```|line \d+)(\n(```|line \d+))*", piece) for piece in pieces)


def test_indentation_is_kept_across_a_border() -> None:
    text = "\n".join(["a" * 30, "", "    indented line", "    another"])
    assert split_text(text, 45) == ["a" * 30, "    indented line\n    another"]


def test_fences_in_a_row_and_one_that_is_never_closed() -> None:
    text = f"{FENCE}\ntext ``` with ticks\n~~~\n```\n~~~\nx\n```\nopen"
    assert [text[start:stop] for start, stop in find_fences(text)] == [FENCE, "~~~\n```\n~~~", "```\nopen"]
    assert find_fences("no fence") == []

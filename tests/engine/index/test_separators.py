from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina_engine.index.analysis import Analyzer, Term
from lamina_engine.index.separators import ASCII_BLANKS, blank_separators

ANALYZER = Analyzer()
PARTS = st.sampled_from([*"aB19_.-'+#,(/=<`é数²ﬁ’－，\u0338\u3099\u200d\u00a0\x1c \n", "++", "'s", "12", "000", "v1.2"])


def terms(text: str) -> list[Term]:
    return ANALYZER.tokens(text)


def blank(text: str) -> str:
    return blank_separators(text.encode()).decode()


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        ("", ""),
        (".", " "),
        ("(word).", " word  "),
        ("a.b a-b a_b don't", "a.b a-b a_b don't"),
        ("1,000 a,b", "1,000 a b"),
        ("C++, C# #1 a+b", "C++  C#  1 a b"),
        ("e.\u0301", "e.\u0301"),
    ],
)
def test_what_only_separates_becomes_blank(text: str, ref: str) -> None:
    assert blank(text) == ref


@settings(deadline=None, max_examples=400)
@given(st.lists(PARTS, max_size=12).map("".join))
def test_blanked_texts_give_the_same_terms(text: str) -> None:
    ref = terms(text)
    assert terms(blank(text)) == ref
    assert terms(text.translate(ASCII_BLANKS)) == ref


@settings(deadline=None)
@given(st.text(), st.text())
def test_neighbouring_texts_keep_their_terms(left: str, right: str) -> None:
    cut = len(left.encode())
    got = blank_separators(left.encode() + right.encode())
    assert terms(got[:cut].decode()) == terms(left)
    assert terms(got[cut:].decode()) == terms(right)

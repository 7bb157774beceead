from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina_engine.index.analysis import Analyzer, Term
from lamina_engine.index.separators import BYTE_KINDS, JOINS_AFTER, JOINS_BEFORE, JOINS_EITHER
from lamina_engine.index.terms import build_term_rows, cut_text
from lamina_kernels.tokens import cut_pieces

ANALYZER = Analyzer()
PARTS = st.sampled_from([*"aB19_.-'+#,(/=<`é数²ﬁ’－，\u0338\u3099\u200d\u00a0\x1c \n", "++", "'s", "12", "000", "v1.2"])


def terms(text: str) -> list[Term]:
    return ANALYZER.tokens(text)


def blank(*texts: str) -> list[str]:
    """Return texts as their pieces, joined by blanks."""
    coded = [text.encode() for text in texts]
    data, offsets = np.frombuffer(b"".join(coded), np.uint8), np.cumsum([0, *map(len, coded)], dtype=np.int64)
    room = data.size // 2 + len(texts)
    begins, ends, keys = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
    stops = np.empty(len(texts), np.int64)
    cut_pieces(data, offsets, BYTE_KINDS, JOINS_AFTER, JOINS_BEFORE, JOINS_EITHER, begins, ends, keys, stops)
    count = int(stops[-1])
    pieces = [data[b:e].tobytes().decode() for b, e in zip(begins[:count], ends[:count], strict=True)]
    return [" ".join(pieces[start:stop]) for start, stop in itertools.pairwise([0, *stops.tolist()])]


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        ("", ""),
        (".", ""),
        ("(word).", "word"),
        ("a.b a-b a_b don't", "a.b a-b a_b don't"),
        ("1,000 a,b", "1,000 a b"),
        ("C++, C# #1 a+b", "C++ C# 1 a b"),
        ("e.\u0301", "e.\u0301"),
    ],
)
def test_what_only_separates_becomes_blank(text: str, ref: str) -> None:
    assert blank(text) == [ref]


@settings(deadline=None, max_examples=400)
@given(st.lists(PARTS, max_size=12).map("".join))
def test_blanked_texts_give_the_same_terms(text: str) -> None:
    ref = terms(text)
    assert terms(blank(text)[0]) == ref
    assert " ".join(cut_text(text)) == blank(text)[0]


def test_the_language_of_a_row_does_not_depend_on_how_many_are_analysed_together() -> None:
    # "Bu," and "Kim," were words of a language in many rows alone: they stand before a comma
    text = "Morris Tweed, Moshe van der Sterre, Omer Katz, Paulo Bu, Ori Livneh, Seungha Kim, Luyun Xie"
    others = [f"{text} {i}" for i in range(5_000)]
    few, many = build_term_rows([text], [""], [""]), build_term_rows([text, *others], [""] * 5_001, [""] * 5_001)
    assert few.hashes.tolist() == many.hashes[: many.indptr[1]].tolist()


@settings(deadline=None)
@given(st.text(), st.text())
def test_neighbouring_texts_keep_their_terms(left: str, right: str) -> None:
    assert [terms(text) for text in blank(left, right)] == [terms(left), terms(right)]

"""Separators of words, as tables over the bytes of UTF-8.

Most of punctuation never joins: without it a corpus has half as many distinct pieces, and those are words. A byte
separates only where the rules of analysis would separate whatever stands beyond its neighbours; the few marks that
may join (``. - ' _ , + #``) stay where they stand between letters or digits, or beside anything that is not ASCII.
"""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

_ALNUM = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_JOINING = b"_.-'+#,"
_HIGH = bytes(range(0x80, 0x100))


def _with_high(ascii_members: bytes) -> str:
    """Return a class of some ASCII characters and all beyond ASCII."""
    # by what it lacks: of a class up to the last code point the compiler makes a table, which takes 40 ms
    return f"[^{''.join(re.escape(chr(code)) for code in range(0x80) if code not in ascii_members)}]"


_WORD, _NAME, _AFTER_NAME = _with_high(_ALNUM), _with_high(_ALNUM + b"_"), _with_high(_ALNUM + b"_.-")
_DIGIT, _PLUS = _with_high(b"0123456789"), _with_high(b"+")
LONE_MARKS = re.compile(
    rf"[.-](?:(?<!{_NAME}.)|(?!{_WORD}))|'(?:(?<!{_WORD}.)|(?!{_WORD}))|_(?:(?<!{_NAME}.)|(?!{_AFTER_NAME}))"
    rf"|,(?:(?<!{_DIGIT}.)|(?!{_DIGIT}))|#(?<!{_WORD}.)|\+(?<!{_PLUS}.)(?!{_PLUS})"
)
"""Marks that do not join where they stand: the tables below as a pattern. Each alternative begins with its mark, so that a search
looks at no other character twice."""

ASCII_BLANKS = {code: " " for code in range(0x80) if code not in _ALNUM + _JOINING}
"""For ``str.translate``: the ASCII characters that separate wherever they stand."""


def _mask(members: bytes) -> NDArray[np.uint8]:
    mask = np.zeros(256, np.uint8)
    mask[list(members)] = 1
    return mask


def _neighbours() -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """Tables (mark, neighbour): may the mark join after it, before it; and does either suffice."""
    word = _mask(_ALNUM + _HIGH)
    digit = _mask(b"0123456789" + _HIGH)
    anything = np.ones(256, np.uint8)
    after, before = np.zeros((2, 256, 256), np.bool_)
    either = np.zeros(256, np.bool_)
    for mark, left, right in (
        (b".", word | _mask(b"_"), word),
        (b"-", word | _mask(b"_"), word),
        (b"'", word, word),
        (b"_", word | _mask(b"_"), word | _mask(b"_.-")),
        (b",", digit, digit),
        (b"#", word, anything),
        (b"+", _mask(b"+" + _HIGH), _mask(b"+" + _HIGH)),
    ):
        after[mark[0]] = left
        before[mark[0]] = right
    either[ord("+")] = True
    return after, before, either


BYTE_KINDS = _mask(_ALNUM + _HIGH) + 2 * _mask(_JOINING)
"""uint8 (256,): of a byte, 0 where it separates wherever it stands, 1 where it belongs to a piece, 2 where it may join."""
JOINS_AFTER, JOINS_BEFORE, JOINS_EITHER = (table.view(np.uint8) for table in _neighbours())
"""uint8 (256, 256) and (256,), for a mark and its neighbour: may it join after it, before it; does either suffice."""

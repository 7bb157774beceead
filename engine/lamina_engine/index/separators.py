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

_WORD = "0-9A-Za-z\x80-\U0010ffff"
_DIGIT = "0-9\x80-\U0010ffff"
_HIGH_CHARS = "\x80-\U0010ffff"
LONE_MARKS = re.compile(
    rf"[.-](?:(?<![{_WORD}_].)|(?![{_WORD}]))|'(?:(?<![{_WORD}].)|(?![{_WORD}]))|_(?:(?<![{_WORD}_].)|(?![{_WORD}_.-]))"
    rf"|,(?:(?<![{_DIGIT}].)|(?![{_DIGIT}]))|#(?<![{_WORD}].)|\+(?<![+{_HIGH_CHARS}].)(?![+{_HIGH_CHARS}])"
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

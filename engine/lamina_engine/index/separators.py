"""Blanks in place of what only separates words, over UTF-8 bytes, for whole batches at a time.

Most of punctuation never joins: without it a corpus has half as many distinct pieces, and those are words. A blank
is written only where the rules of analysis would separate whatever stands beyond its neighbours; the few marks that
may join (``. - ' _ , + #``) stay where they stand between letters or digits, or beside anything that is not ASCII.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_ALNUM = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_JOINING = b"_.-'+#,"
_HIGH = bytes(range(0x80, 0x100))

ASCII_BLANKS = {code: " " for code in range(0x80) if code not in _ALNUM + _JOINING}
"""For ``str.translate``: the ASCII characters that separate wherever they stand."""


def _mask(members: bytes) -> NDArray[np.uint8]:
    mask = np.zeros(256, np.uint8)
    mask[list(members)] = 1
    return mask


_BLANKED = bytes(code if code in _ALNUM + _JOINING + _HIGH else 0x20 for code in range(256))
_MARK = _mask(_JOINING)


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


_AFTER, _BEFORE, _EITHER = _neighbours()


def blank_separators(data: bytes) -> bytes:
    """Return UTF-8 text, of the same length, with blanks for what only separates words.

    Parameters
    ----------
    data : bytes
        Texts one after the other; characters of different texts may count as neighbours, which at most keeps a mark.

    Returns
    -------
    bytes
        Cut at white space, its pieces give the terms of the text's own pieces, in their order.

    Notes
    -----
    O(n): one table look-up a byte, and a few more for each mark that may join.
    """
    blanked = np.frombuffer(bytearray(data.translate(_BLANKED)), np.uint8)
    at = np.flatnonzero(_MARK[blanked].view(np.bool_))
    mark = blanked[at]
    padded = np.concatenate([blanked, np.full(1, 0x20, np.uint8)])
    left = _AFTER[mark, padded[at - 1]]  # the byte before the first is the padding
    right = _BEFORE[mark, padded[at + 1]]
    keep = np.where(_EITHER[mark], left | right, left & right)
    blanked[at[~keep]] = 0x20
    return blanked.tobytes()

"""Search for many literals of four characters at once, ignoring case.

One look into a small table a byte; what passes it is looked up exactly. The cost is that of the bytes, whatever the
number of literals. What stands around a literal then leaves out most places before an expression is asked.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lamina_kernels._jit import kernel
from lamina_kernels.layouts import I64, U8, U32

FOLD = 0x20
"""Set in every byte: the bit that tells "a" from "A"."""
TABLE_BITS = 18
_LOW = 0xFFFFFFFF
_MULTIPLIER = 0x9E3779B1  # 2**32 over the golden ratio (Knuth's multiplicative hash)


@kernel
def _slot(word: int) -> int:
    return ((word * _MULTIPLIER) & _LOW) >> (32 - TABLE_BITS)


def gram_table(grams: U32) -> U8:
    """Return the table of `find_grams`: a bit for each hash, uint8 (2 ** TABLE_BITS / 8,)."""
    marks = np.zeros(1 << TABLE_BITS, np.bool_)
    marks[[((word * _MULTIPLIER) & _LOW) >> (32 - TABLE_BITS) for word in grams.tolist()]] = True
    return np.packbits(marks, bitorder="little")


def _find_examples() -> tuple[object, ...]:
    grams = np.frombuffer(b"abcd", np.uint32)
    text = np.frombuffer(b"xABCD", np.uint8)
    return text, grams, gram_table(grams), np.empty(1, np.int64), np.empty(1, np.int64)


@kernel(examples=[_find_examples])
def find_grams(text: U8, grams: U32, table: U8, out_positions: I64, out_numbers: I64) -> int:
    """Find all places where a literal begins.

    Parameters
    ----------
    text : uint8 (b,)
        One byte a character.
    grams : uint32 (g,)
        The literals, folded, as little-endian words; ascending.
    table : uint8 (2 ** TABLE_BITS / 8,)
        From `gram_table`.
    out_positions : int64 (m,)
        Written: where each begins, ascending.
    out_numbers : int64 (m,)
        Written: which literal.

    Returns
    -------
    int
        How many there are; more than m means that only the first m were written.

    Notes
    -----
    O(b).
    """
    found = 0
    word = 0
    for i in range(text.size):
        word = (word >> 8) | ((int(text[i]) | FOLD) << 24)
        slot = _slot(word)
        if (int(table[slot >> 3]) >> (slot & 7)) & 1 == 0 or i < 3:
            continue
        low, high = 0, grams.size
        while low < high:
            middle = (low + high) >> 1
            if grams[middle] < word:
                low = middle + 1
            else:
                high = middle
        if low < grams.size and grams[low] == word:
            if found < out_positions.size:
                out_positions[found] = i - 3
                out_numbers[found] = low
            found += 1
    return found


FREE, TOKEN, LINK = 0, 1, 2
"""What follows: anything; a token; an address with an ``@``."""
TOKEN_BYTES = 12
"""A token has as many letters, digits and signs,"""
BROKEN_BYTES = 8
"""or as many up to the end of its line: the rest may stand on the next."""
LINK_BYTES = 400
_AT = 0x40
_LINE_FEED, _RETURN = 0x0A, 0x0D
_BLANKS = np.isin(np.arange(256), [*range(0x09, 0x0E), *range(0x1C, 0x21)])
"""By byte, whether an expression takes it for a blank."""
_TOKENS = np.isin(np.arange(256), list(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.+/=~:$%@"))
"""By byte, whether it may stand in a token."""


class Surroundings(NamedTuple):
    """Conditions around literals; a literal has those of its rows, one of which must hold."""

    starts: I64
    """int64 (g + 1,): where the rows of each literal begin."""
    backs: I64
    """int64 (r,): bytes from where a match begins to the literal; below 0 where it begins behind."""
    lead_starts: I64
    """int64 (r + 1,): where the bytes begin that a match begins with."""
    leads: U8
    """uint8 (b,): these bytes, folded."""
    follows: I64
    """int64 (r,): `FREE`, `TOKEN` or `LINK`."""


def _check_examples() -> tuple[object, ...]:
    one, lead = np.array([0]), np.frombuffer(b"a", np.uint8)
    around = Surroundings(np.array([0, 1]), one, np.array([0, 1]), lead, one)
    return np.frombuffer(b"abcd", np.uint8), one, one, around, np.empty(1, np.uint8)


@kernel
def _begins_with(text: U8, at: int, around: Surroundings, row: int) -> bool:
    begin, stop = around.lead_starts[row], around.lead_starts[row + 1]
    if at + stop - begin > text.size:
        return False
    same = begin
    while same < stop and (int(text[at + same - begin]) | FOLD) == int(around.leads[same]):
        same += 1
    return bool(same == stop)


@kernel
def _is_followed(text: U8, at: int, what: int) -> bool:
    if what == FREE:
        return True
    if what == TOKEN:
        for i in range(at, min(at + TOKEN_BYTES, text.size)):
            if not _TOKENS[text[i]]:
                return i - at >= BROKEN_BYTES and (text[i] == _LINE_FEED or text[i] == _RETURN)
        return at + TOKEN_BYTES <= text.size
    for i in range(at, min(at + LINK_BYTES, text.size)):
        if text[i] == _AT:
            return True
        if _BLANKS[text[i]]:
            return False
    return False


@kernel(examples=[_check_examples])
def check_places(text: U8, positions: I64, numbers: I64, around: Surroundings, out: U8) -> None:
    """Tell which places of literals have around them what one of their rows wants.

    Parameters
    ----------
    text : uint8 (b,)
        One byte a character.
    positions, numbers : int64 (m,)
        As `find_grams` gives them.
    around : Surroundings
    out : uint8 (m,)
        Written: 1 where a row holds.

    Notes
    -----
    O(m) for literals of few rows.
    """
    for place in range(positions.size):
        number = numbers[place]
        out[place] = 0
        for row in range(around.starts[number], around.starts[number + 1]):
            at = positions[place] - around.backs[row]
            if at >= 0 and _begins_with(text, at, around, row) and _is_followed(text, at, around.follows[row]):
                out[place] = 1
                break

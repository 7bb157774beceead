"""Search for many literals of four characters at once, ignoring case.

One look into a small table a byte; what passes it is looked up exactly. The cost is that of the bytes, whatever the
number of literals.
"""

from __future__ import annotations

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

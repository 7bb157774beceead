"""Byte-pair encoding of many words: adjacent tokens join, those of the lowest rank first.

The twin is `lamina_engine.embed.bundled.join_pairs`, which keeps a heap and so is quicker for a text of thousands of
characters. A word has some eight, for which looking through all its pairs at each step is the quickest.
"""

from __future__ import annotations

import numpy as np

from lamina_kernels._jit import kernel
from lamina_kernels.layouts import I32, I64, U16

ID_BITS = 15
"""Bits of a token's number."""
_NO_MERGE = np.int64(1) << 62


@kernel
def _merge_of(left: int, right: int, left_starts: I32, rights: I32, merges: I64) -> int:
    """Return rank and joined token of a pair, or `_NO_MERGE`. O(log of the pairs that begin so)."""
    low, stop = left_starts[left], left_starts[left + 1]
    high = stop
    while low < high:
        middle = (low + high) >> 1
        if rights[middle] < right:
            low = middle + 1
        else:
            high = middle
    if low < stop and rights[low] == right:
        return int(merges[low])
    return int(_NO_MERGE)


def _join_examples() -> tuple[object, ...]:
    return (
        np.array([0, 1], np.int32), np.array([0, 2]), np.array([0, 1, 1, 1], np.int32), np.array([1], np.int32),
        np.array([2]), np.empty(2, np.uint16), np.empty(1, np.int64),
    )  # fmt: skip


@kernel(examples=[_join_examples])
def join_word_pairs(
    characters: I32,
    starts: I64,
    left_starts: I32,
    rights: I32,
    merges: I64,
    out_tokens: U16,
    out_stops: I64,
) -> None:
    """Encode words given as tokens of single characters.

    Parameters
    ----------
    characters : int32 (m,)
        Tokens of the characters of all words, one word after the other.
    starts : int64 (n + 1,)
        Word ``i`` owns characters ``starts[i]`` to ``starts[i + 1]``.
    left_starts : int32 (t + 1,)
        The pairs that begin with token ``i`` stand from ``left_starts[i]`` to ``left_starts[i + 1]``.
    rights : int32 (p,)
        Second token of each pair, ascending among those that begin alike.
    merges : int64 (p,)
        Rank of each pair, shifted left by `ID_BITS`, and the token it becomes.
    out_tokens : uint16 (m,)
        Written: the tokens of all words, one word after the other; what is behind the last stays as it is.
    out_stops : int64 (n,)
        Written: where each word's tokens end.

    Notes
    -----
    The joins are those of the greedy algorithm: lowest rank first, leftmost of equals.  O(c²) for a word of c characters.

    Sennrich, Haddow, Birch: Neural Machine Translation of Rare Words with Subword Units, 2016, section 3.2.
    """
    longest = 0
    for word in range(starts.size - 1):
        longest = max(longest, starts[word + 1] - starts[word])
    tokens = np.empty(longest + 1, np.int64)
    pairs = np.empty(longest + 1, np.int64)
    written = 0
    for word in range(starts.size - 1):
        first = starts[word]
        count = starts[word + 1] - first
        for i in range(count):
            tokens[i] = characters[first + i]
        for i in range(count - 1):
            pairs[i] = _merge_of(tokens[i], tokens[i + 1], left_starts, rights, merges)
        while count > 1:
            best = 0
            for i in range(1, count - 1):
                if pairs[i] < pairs[best]:
                    best = i
            if pairs[best] == _NO_MERGE:
                break
            tokens[best] = pairs[best] & ((1 << ID_BITS) - 1)
            count -= 1
            for i in range(best + 1, count):
                tokens[i] = tokens[i + 1]
            for i in range(best + 1, count - 1):
                pairs[i] = pairs[i + 1]
            if best + 1 < count:
                pairs[best] = _merge_of(tokens[best], tokens[best + 1], left_starts, rights, merges)
            if best > 0:
                pairs[best - 1] = _merge_of(tokens[best - 1], tokens[best], left_starts, rights, merges)
        for i in range(count):
            out_tokens[written + i] = tokens[i]
        written += count
        out_stops[word] = written

"""Static text embeddings: a text's vector is the sum of its words' vectors at unit length.

Word vectors come as float64 sums of float16 table rows. Sums of float16 values are exact in float64 (up to 2^29
times the least float16 step), so a text's sum does not depend on the order or grouping of its words; the squared norm
is added up one by one in both twins, so the float32 rows are equal to the byte.
"""

from __future__ import annotations

import math

import numpy as np

from lamina_kernels._jit import kernel
from lamina_kernels.layouts import F32, F64, I32, I64


def pool_words_numpy(word_ids: I32, indptr: I64, word_sums: F64) -> F32:
    """Embed texts given as word ids; the twin of `pool_words`.

    Parameters
    ----------
    word_ids : int32 (m,)
        Words of all texts, one text after the other; rows of ``word_sums``.
    indptr : int64 (n + 1,)
        Text ``i`` owns ids ``indptr[i]`` to ``indptr[i + 1]``.
    word_sums : float64 (w, d)

    Returns
    -------
    float32 (n, d)
        Unit rows; a text without words, or whose words cancel, gives zeros.

    Notes
    -----
    O(m d).
    """
    sums = np.zeros((indptr.size - 1, word_sums.shape[1]))
    for i in range(sums.shape[0]):
        ids = word_ids[indptr[i] : indptr[i + 1]]
        np.add.reduce(word_sums[ids], axis=0, out=sums[i])
    return unit_rows(sums)


def unit_rows(sums: F64) -> F32:
    """Bring sums of word vectors to unit length, as both twins do.

    Parameters
    ----------
    sums : float64 (n, d)

    Returns
    -------
    float32 (n, d)
        Zeros where a sum is zero.
    """
    if len(sums) == 1:  # a query: half the calls, the same operations in the same order
        row: F64 = sums[0] + 0.0
        norm = math.sqrt((row * row).cumsum()[-1]) if row.size else 0.0
        alone: F32 = (row / (norm or 1.0)).astype(np.float32)[np.newaxis]
        return alone
    sums = sums + 0.0  # a lone −0.0 becomes 0.0, as in the kernel's running sum
    # cumsum adds one by one, where sum would add pairwise; the kernel adds one by one
    squares = np.cumsum(sums * sums, axis=1)[:, -1:]
    norms = np.sqrt(squares)
    norms[norms == 0.0] = 1.0
    return (sums / norms).astype(np.float32)


def _pool_examples() -> tuple[object, ...]:
    return np.zeros(1, np.int32), np.array([0, 1]), np.ones((1, 2)), np.empty((1, 2), np.float32)


@kernel(examples=[_pool_examples])
def pool_words(word_ids: I32, indptr: I64, word_sums: F64, out: F32) -> None:
    """Embed texts given as word ids.

    Parameters
    ----------
    word_ids : int32 (m,)
        Words of all texts, one text after the other; rows of ``word_sums``.
    indptr : int64 (n + 1,)
        Text ``i`` owns ids ``indptr[i]`` to ``indptr[i + 1]``.
    word_sums : float64 (w, d)
    out : float32 (n, d)
        Written. Unit rows; a text without words, or whose words cancel, gives zeros.

    Notes
    -----
    One running sum that stays in the first-level cache, one contiguous read a word.  O(m d), bound by reading
    the word vectors.
    """
    total = np.empty(word_sums.shape[1])
    for i in range(out.shape[0]):
        total[:] = 0.0
        m, stop = indptr[i], indptr[i + 1]
        while m + 4 <= stop:
            a, b, c, d = word_ids[m], word_ids[m + 1], word_ids[m + 2], word_ids[m + 3]
            for j in range(total.size):
                total[j] += (word_sums[a, j] + word_sums[b, j]) + (word_sums[c, j] + word_sums[d, j])
            m += 4
        while m < stop:
            a = word_ids[m]
            for j in range(total.size):
                total[j] += word_sums[a, j]
            m += 1
        squares = 0.0
        for j in range(total.size):
            squares += total[j] * total[j]
        norm = math.sqrt(squares)
        if norm == 0.0:
            norm = 1.0
        for j in range(total.size):
            out[i, j] = total[j] / norm

"""Postings of a few thousand rows: entries by term, in buckets of their hashes, and BM25 added up term by term.

Scoring rows by their forward lists (`lamina_kernels.terms`) reads every entry of every row; here only the entries of
the query's terms are read. A row's parts are computed and added in the same order, so its score has the same bits.

Entries from ``sealed`` on are in no bucket yet and are compared one by one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from lamina_kernels._jit import kernel
from lamina_kernels.layouts import F64, I32, I64, U8, U16, U32

_BUCKET_BITS = 12
BUCKETS = 1 << _BUCKET_BITS
_SHIFT = np.uint32(32 - _BUCKET_BITS)


class Postings(NamedTuple):
    """Entries of rows 0 to n: up to ``starts[-1]`` ordered by bucket, in row order within one, then in row order.

    Attributes
    ----------
    starts : int32 (BUCKETS + 1,)
        Bucket ``b``, the hashes whose highest 12 bits are ``b``, owns entries ``starts[b]`` to ``starts[b + 1]``.
    hashes : uint32 (m,)
    owners : uint32 (m,)
        Row of each entry.
    counts : uint8 (m, 3)
        How often the term stands in body, header and context of the row.
    lengths : uint16 (n, 3)
        Terms in body, header and context of each row.
    """

    starts: I32
    hashes: U32
    owners: U32
    counts: U8
    lengths: U16


def _order_examples() -> tuple[object, ...]:
    return np.array([7], np.uint32), np.empty(BUCKETS + 1, np.int32), np.empty(1, np.int32)


def _postings_example() -> Postings:
    return Postings(
        np.zeros(BUCKETS + 1, np.int32),
        np.array([7], np.uint32),
        np.zeros(1, np.uint32),
        np.ones((1, 3), np.uint8),
        np.ones((1, 3), np.uint16),
    )


def _frequency_examples() -> tuple[object, ...]:
    return _postings_example(), np.array([7], np.uint32), 1, np.empty(1, np.int64)


def _score_examples() -> tuple[object, ...]:
    return _postings_example(), np.array([7], np.uint32), np.ones(1), np.ones(3), 1.2, 0.75, 1.0, np.empty(1)


@kernel(examples=[_order_examples])
def bucket_order(hashes: U32, out_starts: I32, out_order: I32) -> None:
    """Order entries by the bucket of their hash, stably.

    Parameters
    ----------
    hashes : uint32 (m,)
    out_starts : int32 (BUCKETS + 1,)
        Written: where each bucket begins.
    out_order : int32 (m,)
        Written: entries, bucket after bucket.

    Notes
    -----
    A counting sort, O(m + BUCKETS).
    """
    out_starts[:] = 0
    for entry in range(hashes.size):
        out_starts[np.int64(hashes[entry] >> _SHIFT) + 1] += 1
    for bucket in range(BUCKETS):
        out_starts[bucket + 1] += out_starts[bucket]
    place = out_starts[:-1].copy()
    for entry in range(hashes.size):
        at = np.int64(hashes[entry] >> _SHIFT)
        out_order[place[at]] = entry
        place[at] += 1


@kernel(examples=[_frequency_examples])
def posting_frequencies(postings: Postings, query_hashes: U32, stop_row: int, out: I64) -> None:
    """Count in how many of the first rows each query term stands.

    Parameters
    ----------
    postings : Postings
    query_hashes : uint32 (q,)
    stop_row : int
        Rows below it count.
    out : int64 (q,)
        Written.

    Notes
    -----
    O(q (m / BUCKETS + open entries)).
    """
    for t in range(query_hashes.size):
        wanted = query_hashes[t]
        bucket = np.int64(wanted >> _SHIFT)
        found = 0
        for entry in range(postings.starts[bucket], postings.starts[bucket + 1]):
            if postings.hashes[entry] == wanted and postings.owners[entry] < stop_row:
                found += 1
        for entry in range(postings.starts[BUCKETS], postings.hashes.size):
            if postings.hashes[entry] == wanted and postings.owners[entry] < stop_row:
                found += 1
        out[t] = found


@kernel
def _add_entry(postings: Postings, entry: int, idf: float, weights: F64, k1: float, norms: F64, out: F64) -> None:
    """Add one term's part to its row's score, by the formula of `lamina_kernels.terms`."""
    row = postings.owners[entry]
    if row >= out.size:
        return
    counts = postings.counts[entry]
    tf = weights[0] * counts[0] + weights[1] * counts[1] + weights[2] * counts[2]
    if tf > 0.0:
        out[row] += idf * (tf * (k1 + 1.0) / (tf + norms[row]))


@kernel(examples=[_score_examples])
def score_postings(
    postings: Postings, query_hashes: U32, idf: F64, weights: F64, k1: float, b: float, average_length: float, out: F64
) -> None:
    """Score the first rows.

    Parameters
    ----------
    postings : Postings
    query_hashes : uint32 (q,)
        Distinct, in the order in which their parts are added.
    idf : float64 (q,)
    weights : float64 (3,)
    k1, b, average_length : float
        As for `lamina_kernels.terms.scan_bm25`.
    out : float64 (r,)
        Written for rows 0 to r, r ≤ n; 0 where no term occurs. Bit-equal to `lamina_kernels.terms.score_bm25`.

    Notes
    -----
    O(r + q (m / BUCKETS + open entries)).
    """
    norms = np.empty(out.size)
    for row in range(out.size):
        out[row] = 0.0
        lengths = postings.lengths[row]
        length = weights[0] * lengths[0] + weights[1] * lengths[1] + weights[2] * lengths[2]
        norms[row] = k1 * ((1.0 - b) + b * (length / average_length))
    for t in range(query_hashes.size):
        wanted = query_hashes[t]
        bucket = np.int64(wanted >> _SHIFT)
        for entry in range(postings.starts[bucket], postings.starts[bucket + 1]):
            if postings.hashes[entry] == wanted:
                _add_entry(postings, entry, idf[t], weights, k1, norms, out)
        for entry in range(postings.starts[BUCKETS], postings.hashes.size):
            if postings.hashes[entry] == wanted:
                _add_entry(postings, entry, idf[t], weights, k1, norms, out)

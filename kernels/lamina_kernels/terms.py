"""Lexical scores over forward lists: term counts by zone, and BM25 over zones.

A row stores its distinct term hashes ascending, with a count in each of three zones (`TermRows`). Scoring a few
candidates gathers their counts; scoring a whole block (an unindexed tail, a narrow filter) scans it. Both run the
same float64 operations in the same order, so a row's score has the same bits on either way.

For query terms t in the order given, zones z in the order body, header, context, and a row's counts c and lengths l::

    tf_t   = Σ_z weight_z · c_tz
    length = Σ_z weight_z · l_z
    score  = Σ_t idf_t · tf_t · (k1 + 1) / (tf_t + k1 · (1 − b + b · length / average_length))

A score of 0 means that no term occurs.

References
----------
.. [1] S. Robertson, H. Zaragoza, M. Taylor, "Simple BM25 extension to multiple weighted fields", CIKM 2004: zone
   counts are weighted before saturation. One length normalisation serves all zones here.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamina_kernels._jit import kernel
from lamina_kernels.layouts import F32, F64, I32, I64, U8, U16, U32, TermRows
from lamina_kernels.simd import array_at

ZONES = 3
_BLOCK_ROWS = 4096  # rows whose counts the NumPy scan holds at a time
_SLOTS = 4096  # of the query's index: 16 KiB, half of a first-level cache, and few false hits for some tens of terms
_SLOT_MASK = np.uint32(_SLOTS - 1)


def gather_counts_numpy(block: TermRows, rows: I64, query_hashes: U32) -> F32:
    """Count each query term in each zone of given rows; twin of `gather_counts`.

    Parameters
    ----------
    block : TermRows
    rows : int64 (m,)
        Row numbers, in any order, repeats allowed.
    query_hashes : uint32 (q,)
        In any order, repeats allowed.

    Returns
    -------
    float32 (m, q, 3)
        Counts in body, header and context.

    Notes
    -----
    O(e log q) for e entries of the chosen rows.
    """
    distinct, positions = np.unique(query_hashes, return_inverse=True)
    counts = np.zeros((rows.size, distinct.size, ZONES), np.float32)
    if distinct.size:
        starts = block.indptr[rows]
        sizes = block.indptr[rows + 1] - starts
        owners = np.repeat(np.arange(rows.size), sizes)
        entries = np.arange(owners.size) + np.repeat(starts - (np.cumsum(sizes) - sizes), sizes)
        hashes = block.hashes[entries]
        nearest = np.minimum(np.searchsorted(distinct, hashes), distinct.size - 1)
        hits = np.flatnonzero(distinct[nearest] == hashes)
        for zone, column in enumerate((block.body, block.header, block.context)):
            counts[owners[hits], nearest[hits], zone] = column[entries[hits]]
    return counts[:, positions]


def bm25_parts(counts: F32, lengths: U16, idf: F64, weights: F64, k1: float, b: float, average_length: float) -> F64:
    """Return each query term's share of each row's score, float64 (m, q); see `bm25_scores`."""
    wide = counts.astype(np.float64)
    frequencies = weights[0] * wide[:, :, 0] + weights[1] * wide[:, :, 1] + weights[2] * wide[:, :, 2]
    sizes = lengths.astype(np.float64)
    length = weights[0] * sizes[:, 0] + weights[1] * sizes[:, 1] + weights[2] * sizes[:, 2]
    norm = k1 * ((1.0 - b) + b * (length / average_length))
    parts: F64 = idf * (frequencies * (k1 + 1.0) / np.where(frequencies > 0.0, frequencies + norm[:, None], 1.0))
    return parts


def bm25_scores(counts: F32, lengths: U16, idf: F64, weights: F64, k1: float, b: float, average_length: float) -> F64:
    """Score rows from their gathered counts; bit-equal to `scan_bm25` for the same rows.

    Parameters
    ----------
    counts : float32 (m, q, 3)
        As `gather_counts` gives them.
    lengths : uint16 (m, 3)
        Terms in each zone of the rows.
    idf : float64 (q,)
        Inverse document frequency of each query term.
    weights : float64 (3,)
        Of body, header and context; ≥ 0.
    k1, b : float
        Saturation (> 0) and length normalisation in [0, 1].
    average_length : float
        Mean weighted length over the collection; > 0.

    Returns
    -------
    float64 (m,)

    Notes
    -----
    O(m q).
    """
    if not idf.size:
        return np.zeros(counts.shape[0])
    # cumsum adds one by one in query order, where sum would add pairwise
    return np.cumsum(bm25_parts(counts, lengths, idf, weights, k1, b, average_length), axis=1)[:, -1]


def scan_bm25_numpy(
    block: TermRows,
    live: U8,
    query_hashes: U32,
    idf: F64,
    weights: F64,
    k1: float,
    b: float,
    average_length: float,
) -> F64:
    """Score every live row of a block; the twin of `scan_bm25`."""
    scores = np.zeros(live.size)
    alive = np.flatnonzero(live)
    for start in range(0, alive.size, _BLOCK_ROWS):
        rows = alive[start : start + _BLOCK_ROWS]
        counts = gather_counts_numpy(block, rows, query_hashes)
        scores[rows] = bm25_scores(counts, block.lengths[rows], idf, weights, k1, b, average_length)
    return scores


def find_entries_numpy(block: TermRows, query_hashes: U32) -> tuple[I64, I64]:
    """Return the entries of a block that are query terms; the twin of `find_entries`.

    Returns
    -------
    terms : int64 (m,)
        Which of the query's terms each is.
    entries : int64 (m,)
        Ascending within a term.
    """
    present = (block.body | block.header | block.context) != 0
    found = [np.flatnonzero((block.hashes == each) & present) for each in query_hashes]
    terms = np.repeat(np.arange(len(found)), [len(entries) for entries in found])
    return terms, np.concatenate([np.empty(0, np.int64), *found])


class Blocks(NamedTuple):
    """Forward lists of several blocks by address, for kernels that read them all in one call.

    Attributes
    ----------
    addresses : int64 (b, 6)
        Where the arrays of each `TermRows` begin. Whoever passes them holds the arrays.
    sizes : int64 (b, 2)
        Rows and entries of each.
    starts : int64 (b + 1,)
        First row of each, and how many rows there are.
    """

    addresses: I64
    sizes: I64
    starts: I64

    @classmethod
    def of(cls, blocks: Sequence[TermRows]) -> Blocks:
        """Return some blocks, the first of which begins with row 0."""
        sizes = [(block.lengths.shape[0], block.hashes.size) for block in blocks]
        starts = np.cumsum([0, *(rows for rows, _ in sizes)], dtype=np.int64)
        return cls(addresses_of(blocks, _DTYPES), table_of(sizes, 2), starts)


_DTYPES: Final = (np.int64, np.uint32, np.uint8, np.uint8, np.uint8, np.uint16)


def addresses_of(tuples: Sequence[tuple[NDArray[Any], ...]], dtypes: Sequence[type[np.generic]]) -> I64:
    """Return where the arrays of each tuple begin, int64 (t, a).

    Raises
    ------
    TypeError
        When one is of another dtype than a kernel would read, or not contiguous.
    """
    for array, dtype in itertools.chain.from_iterable(zip(arrays, dtypes, strict=True) for arrays in tuples):
        if array.dtype != dtype or not array.flags.c_contiguous:
            raise TypeError(f"an array of {array.dtype}, {array.strides} bytes apart; a kernel reads {np.dtype(dtype)}")
    places = [[array.__array_interface__["data"][0] for array in arrays] for arrays in tuples]
    return table_of(places, len(dtypes))


def table_of(rows: Sequence[Sequence[int]], columns: int) -> I64:
    """Return whole numbers as int64 (r, columns), none of them for no row."""
    return np.array(rows, np.int64).reshape(len(rows), columns)


def _block_example() -> TermRows:
    return TermRows(
        indptr=np.array([0, 1]),
        hashes=np.array([7], np.uint32),
        body=np.array([1], np.uint8),
        header=np.array([0], np.uint8),
        context=np.array([0], np.uint8),
        lengths=np.array([[1, 0, 0]], np.uint16),
    )


def _gather_examples() -> tuple[object, ...]:
    return _block_example(), np.zeros(1, np.int64), np.array([7], np.uint32), np.empty((1, 1, ZONES), np.float32)


def _scan_examples() -> tuple[object, ...]:
    live, query = np.ones(1, np.uint8), np.array([7], np.uint32)
    return _block_example(), live, query, np.ones(1), np.ones(ZONES), 1.2, 0.75, 1.0, np.empty(1)


_EXAMPLE: Final = _block_example()  # held, as its addresses are passed


def _at_examples() -> tuple[object, ...]:
    blocks = Blocks.of([_EXAMPLE])
    return blocks.addresses, blocks.sizes, 0


def _score_examples() -> tuple[object, ...]:
    rows, query = np.zeros(1, np.int64), np.array([7], np.uint32)
    return *Blocks.of([_EXAMPLE]), rows, query, np.ones(1), np.ones(ZONES), 1.2, 0.75, 1.0, np.empty(1)


def _parts_examples() -> tuple[object, ...]:
    rows, query = np.zeros(1, np.int64), np.array([7], np.uint32)
    return _block_example(), rows, query, np.ones(1), np.ones(ZONES), 1.2, 0.75, 1.0, np.empty((1, 1))


def _entry_examples() -> tuple[object, ...]:
    return _block_example(), np.array([7], np.uint32), np.empty(1, np.int64), np.empty(1, np.int64)


@kernel
def _index_query(query_hashes: U32, out_first: I32, out_next: I32) -> None:
    """Hash the query's terms by their low bits: the first of each slot, then chains; −1 ends."""
    out_first[:] = -1
    for t in range(query_hashes.size):
        slot = query_hashes[t] & _SLOT_MASK
        out_next[t] = out_first[slot]
        out_first[slot] = t


@kernel
def _match_row(
    hashes: U32, start: int, stop: int, query_hashes: U32, first: I32, following: I32, out_entries: I64
) -> None:
    """Write the entry of a row that holds each query term, or −1.

    One small table look-up an entry, mostly a miss and so predicted. A binary search for each term, without
    branches, took half as long again at 75 entries a row and 8 terms.
    """
    out_entries[:] = -1
    for entry in range(start, stop):
        term = first[hashes[entry] & _SLOT_MASK]
        while term >= 0:
            if query_hashes[term] == hashes[entry]:
                out_entries[term] = entry
            term = following[term]


@kernel
def _row_score(
    block: TermRows, row: int, entries: I64, idf: F64, weights: F64, k1: float, b: float, average_length: float
) -> float:
    """Return one row's score from the entries of the query's terms; -1 marks a missing term."""
    lengths = block.lengths[row]
    length = weights[0] * lengths[0] + weights[1] * lengths[1] + weights[2] * lengths[2]
    norm = k1 * ((1.0 - b) + b * (length / average_length))
    score = 0.0
    for t in range(entries.size):
        entry = entries[t]
        if entry >= 0:
            tf = weights[0] * block.body[entry] + weights[1] * block.header[entry] + weights[2] * block.context[entry]
            if tf > 0.0:
                score += idf[t] * (tf * (k1 + 1.0) / (tf + norm))
    return score


@kernel(examples=[_gather_examples])
def gather_counts(block: TermRows, rows: I64, query_hashes: U32, out: F32) -> None:
    """Count each query term in each zone of given rows.

    Parameters
    ----------
    block : TermRows
    rows : int64 (m,)
        Row numbers, in any order, repeats allowed.
    query_hashes : uint32 (q,)
        In any order, repeats allowed.
    out : float32 (m, q, 3)
        Written: counts in body, header and context.

    Notes
    -----
    O(m (e + q)) for e entries a row.
    """
    first, following = np.empty(_SLOTS, np.int32), np.empty(query_hashes.size, np.int32)
    entries = np.empty(query_hashes.size, np.int64)
    _index_query(query_hashes, first, following)
    for i in range(rows.size):
        row = int(rows[i])
        start, stop = block.indptr[row], block.indptr[row + 1]
        _match_row(block.hashes, start, stop, query_hashes, first, following, entries)
        for t in range(query_hashes.size):
            entry = entries[t]
            if entry < 0:
                out[i, t, 0] = out[i, t, 1] = out[i, t, 2] = 0.0
            else:
                out[i, t, 0] = block.body[entry]
                out[i, t, 1] = block.header[entry]
                out[i, t, 2] = block.context[entry]


@kernel(examples=[_scan_examples])
def scan_bm25(
    block: TermRows,
    live: U8,
    query_hashes: U32,
    idf: F64,
    weights: F64,
    k1: float,
    b: float,
    average_length: float,
    out: F64,
) -> None:
    """Score every live row of a block.

    Parameters
    ----------
    block : TermRows
    live : uint8 (n,)
        Rows that are 0 here score 0.
    query_hashes : uint32 (q,)
        Distinct, in the order in which their parts are added.
    idf : float64 (q,)
        Inverse document frequency of each query term.
    weights : float64 (3,)
        Of body, header and context; ≥ 0.
    k1, b : float
        Saturation (> 0) and length normalisation in [0, 1].
    average_length : float
        Mean weighted length over the collection; > 0.
    out : float64 (n,)
        Written; 0 where no term occurs.

    Notes
    -----
    O(n (e + q)) for e entries a row. Operations and their order are those of `bm25_scores`, without fastmath, so
    the two agree to the bit.
    """
    first, following = np.empty(_SLOTS, np.int32), np.empty(query_hashes.size, np.int32)
    entries = np.empty(query_hashes.size, np.int64)
    _index_query(query_hashes, first, following)
    for i in range(live.size):
        out[i] = 0.0
        if live[i] != 0:
            _match_row(block.hashes, block.indptr[i], block.indptr[i + 1], query_hashes, first, following, entries)
            out[i] = _row_score(block, i, entries, idf, weights, k1, b, average_length)


@kernel(examples=[_at_examples])
def block_at(addresses: I64, sizes: I64, number: int) -> TermRows:
    """Return one of `Blocks`, for other kernels.

    Parameters
    ----------
    addresses, sizes
        The fields of `Blocks`.
    number : int
    """
    rows, entries = sizes[number, 0], sizes[number, 1]
    return TermRows(
        array_at(addresses[number, 0], rows + 1, np.int64(0)),
        array_at(addresses[number, 1], entries, np.uint32(0)),
        array_at(addresses[number, 2], entries, np.uint8(0)),
        array_at(addresses[number, 3], entries, np.uint8(0)),
        array_at(addresses[number, 4], entries, np.uint8(0)),
        array_at(addresses[number, 5], rows * ZONES, np.uint16(0)).reshape(rows, ZONES),
    )


@kernel(examples=[_score_examples])
def score_bm25(
    addresses: I64,
    sizes: I64,
    starts: I64,
    rows: I64,
    query_hashes: U32,
    idf: F64,
    weights: F64,
    k1: float,
    b: float,
    average_length: float,
    out: F64,
) -> None:
    """Score chosen rows of some blocks; parameters as for `scan_bm25`.

    Parameters
    ----------
    addresses, sizes, starts
        The fields of `Blocks`.
    rows : int64 (m,)
        Row numbers, in any order, repeats allowed; ascending is fastest. Nothing checks them.
    query_hashes : uint32 (q,)
        Distinct, in the order in which their parts are added.
    idf : float64 (q,)
    weights : float64 (3,)
    k1, b, average_length : float
    out : float64 (m,)
        Written; 0 where no term occurs.

    Notes
    -----
    O(m (e + q)) for e entries a row; bit-equal to `bm25_scores` of the gathered counts.
    """
    if rows.size == 0:
        return
    first, following = np.empty(_SLOTS, np.int32), np.empty(query_hashes.size, np.int32)
    entries = np.empty(query_hashes.size, np.int64)
    _index_query(query_hashes, first, following)
    number, block = 0, block_at(addresses, sizes, 0)
    for i in range(rows.size):
        if not starts[number] <= rows[i] < starts[number + 1]:
            number = int(np.searchsorted(starts, rows[i], side="right")) - 1
            block = block_at(addresses, sizes, number)
        row = int(rows[i] - starts[number])
        start, stop = int(block.indptr[row]), int(block.indptr[row + 1])
        _match_row(block.hashes, start, stop, query_hashes, first, following, entries)
        out[i] = _row_score(block, row, entries, idf, weights, k1, b, average_length)


@kernel(examples=[_parts_examples])
def bm25_terms(
    block: TermRows,
    rows: I64,
    query_hashes: U32,
    idf: F64,
    weights: F64,
    k1: float,
    b: float,
    average_length: float,
    out: F64,
) -> None:
    """Write each query term's share of the score of given rows; see `score_bm25`.

    Parameters
    ----------
    block, rows, query_hashes, idf, weights, k1, b, average_length
    out : float64 (m, q)
        Written; 0 where the term does not occur. Bit-equal to `bm25_parts` of the gathered counts.
    """
    first, following = np.empty(_SLOTS, np.int32), np.empty(query_hashes.size, np.int32)
    entries = np.empty(query_hashes.size, np.int64)
    _index_query(query_hashes, first, following)
    for i in range(rows.size):
        row = int(rows[i])
        start, stop = int(block.indptr[row]), int(block.indptr[row + 1])
        _match_row(block.hashes, start, stop, query_hashes, first, following, entries)
        for t in range(entries.size):
            one = entries[t : t + 1]
            weight = idf[t : t + 1]
            out[i, t] = _row_score(block, row, one, weight, weights, k1, b, average_length)


@kernel(examples=[_entry_examples])
def find_entries(block: TermRows, query_hashes: U32, out_terms: I64, out_entries: I64) -> int:
    """Find the entries of a block that are query terms, and return how many they are.

    Parameters
    ----------
    block : TermRows
    query_hashes : uint32 (q,)
        Distinct.
    out_terms : int64 (m,)
        Written: which of the query's terms each is. As long as there can be: n q, or the number of entries.
    out_entries : int64 (m,)
        Written: ascending.

    Notes
    -----
    One pass over the flat list of entries, each looked up among the query's terms. O(entries + q).
    """
    first, following = np.empty(_SLOTS, np.int32), np.empty(query_hashes.size, np.int32)
    _index_query(query_hashes, first, following)
    count = 0
    for entry in range(block.hashes.size):
        term = first[block.hashes[entry] & _SLOT_MASK]
        while term >= 0:
            if query_hashes[term] == block.hashes[entry] and (
                block.body[entry] | block.header[entry] | block.context[entry]
            ):
                out_terms[count] = term
                out_entries[count] = entry
                count += 1
            term = following[term]
    return count

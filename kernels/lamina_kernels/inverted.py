"""Inverted lists of a segment: postings by term, and the exact best rows of a query.

Scoring rows by their forward lists (`lamina_kernels.terms`) reads every entry of every row; here only the entries of
the query's terms are read, row after row within a term. A row's parts are computed and added in the same order as
there, so its score has the same bits, and the rows that are kept are those a scan of every row would keep.

A posting takes three bytes. Two name the row, as a segment has at most 65,536. One names how often the term stands in
each zone: the 255 commonest triples of counts of the segment have a code, the others are looked up in the row's
forward list.

Sums are kept for `_ROOM` rows at a time, from the newest on, so that they stay in a first-level cache and an older row
has to be better than the k-th best, not as good, to be kept. Rows of one length share a norm; there are some hundred.
Whatever bits a posting has, nothing outside of the arrays is touched: `MOST_ROWS` rows have room.
"""

# pyright: reportArgumentType=false
# an element of an array is a number to the compiler, and may be an array to a checker of stubs
from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from lamina_kernels._jit import is_ready, kernel
from lamina_kernels.layouts import F64, I64, U8, U16, U32, TermRows
from lamina_kernels.simd import array_at
from lamina_kernels.sorting import order_keys, sort_digits, sort_rows
from lamina_kernels.terms import ZONES, Blocks, addresses_of, block_at, table_of

MOST_ROWS = 1 << 16
"""Rows that a segment may have."""
CODES = 256
UNCODED = 255
"""Code of a posting whose counts stand in the forward list alone."""
_COUNT_BITS = 5
_COUNTS = 1 << _COUNT_BITS  # greater counts have no code
_ROW_SHIFT, _HASH_SHIFT = 8, 24  # in a key of (hash, row, code)
_KERNEL_ENTRIES = 1 << 20
"""Entries from which on it pays to load the kernel that sorts them."""
_AT_ONCE = 1024  # rows, or as many entries as they have
_COMMON = 16  # codes whose parts are computed once for each length
_IN_ROOM = np.uint64(MOST_ROWS - 1)
_SPREAD = 40_503.0  # odd: whole lengths, as they mostly are, go to slots of their own
ROOM = 16_384
"""Rows whose scores are added up before the best of them are kept."""
_BLOCK = 16  # sums of which the greatest is known before the best are collected
_LOW_BITS = 32  # of a score, which a bound can do without
_TESTED = 64  # sums compared together: few enough that one hit costs little, enough to vectorise


class Inverted(NamedTuple):
    """Postings of a segment's rows.

    Attributes
    ----------
    terms : uint32 (t,)
        Distinct hashes, ascending.
    starts : uint32 (t + 1,)
        Term ``i`` owns postings ``starts[i]`` to ``starts[i + 1]``.
    rows : uint16 (p,)
        Row of each posting, ascending within a term.
    codes : uint8 (p,)
        Which of the triples the counts are; `UNCODED` where none of them is.
    triples : uint8 (256, 3)
        Counts in body, header and context that each code stands for.
    """

    terms: U32
    starts: U32
    rows: U16
    codes: U8
    triples: U8


class Segments(NamedTuple):
    """Inverted lists of several segments by address; the `Blocks` of the same rows go with them.

    Attributes
    ----------
    addresses : int64 (s, 5)
        Where the arrays of each `Inverted` begin. Whoever passes them holds the arrays.
    sizes : int64 (s, 2)
        Terms and postings of each.
    """

    addresses: I64
    sizes: I64

    @classmethod
    def of(cls, lists: Sequence[Inverted]) -> Segments:
        """Return some segments, in row order."""
        sizes = [(each.terms.size, each.rows.size) for each in lists]
        return cls(addresses_of(lists, _DTYPES), table_of(sizes, 2))


_DTYPES: Final = (np.uint32, np.uint32, np.uint16, np.uint8, np.uint8)


def invert(block: TermRows) -> Inverted:
    """Return the postings of at most `MOST_ROWS` rows; entries without any count are left out.

    Notes
    -----
    One sort of packed (hash, row, code) keys by their hashes; the rest goes a thousand rows at a time, as fresh memory
    costs more than what is done in it. O(e) for e entries; O(e log e) for few of them while the kernel is not loaded.
    """
    triples, code_of = _common_triples(block)
    keys = np.empty(block.hashes.size, np.int64)
    n = 0
    for row in range(0, block.lengths.shape[0], _AT_ONCE):
        part = _keys(block, row, min(row + _AT_ONCE, block.lengths.shape[0]), code_of)
        keys[n : n + part.size] = part
        n += part.size
    keys = keys[:n]
    if n >= _KERNEL_ENTRIES or is_ready(sort_digits):
        sort_digits(keys, _HASH_SHIFT)  # they come in the order of their rows
    else:
        keys.sort()  # a term stands once in a row, so codes decide nothing
    rows, codes, terms, starts = np.empty(n, np.uint16), np.empty(n, np.uint8), [], []
    before = np.empty(0, np.int64)
    for first in range(0, n, _AT_ONCE << 7):
        part = keys[first : first + (_AT_ONCE << 7)]
        rows[first : first + part.size], codes[first : first + part.size] = part >> _ROW_SHIFT, part
        hashes = part >> _HASH_SHIFT
        fresh = np.flatnonzero(hashes != np.append(before if first else ~hashes[:1], hashes[:-1]))
        terms.append(hashes[fresh].astype(np.uint32))
        starts.append(fresh + first)
        before = hashes[-1:]
    return Inverted(
        np.concatenate([np.empty(0, np.uint32), *terms]),
        np.concatenate([np.empty(0, np.int64), *starts, [n]]).astype(np.uint32),
        rows,
        codes,
        triples,
    )


def _keys(block: TermRows, start: int, stop: int, code_of: U8) -> I64:
    """Return (hash, row, code) of every entry of some rows that has a count, as one number."""
    first, last = int(block.indptr[start]), int(block.indptr[stop])
    keys = block.hashes[first:last].astype(np.int64) << _HASH_SHIFT
    owners = np.arange(start, stop) << _ROW_SHIFT
    keys |= np.repeat(owners, np.diff(block.indptr[start : stop + 1]))
    counts = tuple(zone[first:last] for zone in (block.body, block.header, block.context))
    keys |= code_of[_packed(*counts)]
    present = (counts[0] | counts[1] | counts[2]) != 0
    return keys if present.all() else keys[present]


def _packed(body: U8, header: U8, context: U8) -> U16:
    """Return the counts of entries in one number each; 0 where one of them is too great for it."""
    packed = body.astype(np.uint16) << np.uint16(2 * _COUNT_BITS)
    packed |= header.astype(np.uint16) << np.uint16(_COUNT_BITS)
    packed |= context
    packed[(body | header | context) >= _COUNTS] = 0
    return packed


def _common_triples(block: TermRows) -> tuple[U8, U8]:
    """Return the commonest triples of counts, and the code of each packed triple."""
    found = np.zeros(1 << (3 * _COUNT_BITS), np.int64)
    for first in range(0, block.hashes.size, _AT_ONCE << 7):
        part = slice(first, first + (_AT_ONCE << 7))
        found += np.bincount(_packed(block.body[part], block.header[part], block.context[part]), minlength=found.size)
    found[0] = 0
    common = np.argsort(-found, kind="stable")[:UNCODED]
    common = common[found[common] > 0]
    code_of = np.full(found.size, UNCODED, np.uint8)
    code_of[common] = np.arange(common.size)
    triples = np.zeros((CODES, ZONES), np.uint8)
    triples[: common.size, 0] = common >> (2 * _COUNT_BITS)
    triples[: common.size, 1] = (common >> _COUNT_BITS) & (_COUNTS - 1)
    triples[: common.size, 2] = common & (_COUNTS - 1)
    return triples, code_of


def find_terms_numpy(inverted: Inverted, query_hashes: U32, stop: int) -> I64:
    """Return the postings of each term in the rows below ``stop``; the twin of `find_terms`."""
    out = np.zeros((query_hashes.size, 2), np.int64)
    if inverted.terms.size:
        place = np.minimum(np.searchsorted(inverted.terms, query_hashes), inverted.terms.size - 1)
        has = np.flatnonzero(inverted.terms[place] == query_hashes)
        out[has, 0], out[has, 1] = inverted.starts[place[has]], inverted.starts[place[has] + 1]
    for span in out if stop < MOST_ROWS else ():
        span[1] = span[0] + np.searchsorted(inverted.rows[span[0] : span[1]], stop)
    return out


def length_norms(lengths: U16, weights: F64, k1: float, b: float, average_length: float) -> F64:
    """Return k1 · (1 − b + b · length / average) of each row, float64 (n,)."""
    sizes = lengths.astype(np.float64)
    length = weights[0] * sizes[:, 0] + weights[1] * sizes[:, 1] + weights[2] * sizes[:, 2]
    norms: F64 = k1 * ((1.0 - b) + b * (length / average_length))
    return norms


def sum_postings_numpy(
    inverted: Inverted, block: TermRows, norms: F64, spans: I64, query_hashes: U32, idf: F64, weights: F64, k1: float
) -> F64:
    """Return the score of every row, float64 (n,); what `best_postings` keeps is the best of it.

    Parameters
    ----------
    inverted, block, spans, query_hashes, idf, weights, k1
        As for `best_postings`.
    norms : float64 (n,)
        As `length_norms` gives them.
    """
    sums = np.zeros(norms.size)
    wide = inverted.triples.astype(np.float64)
    table = weights[0] * wide[:, 0] + weights[1] * wide[:, 1] + weights[2] * wide[:, 2]
    for (start, stop), wanted, weight in zip(spans.tolist(), query_hashes, idf.tolist(), strict=True):
        rows, codes = inverted.rows[start:stop], inverted.codes[start:stop]
        tf = table[codes]
        for i in np.flatnonzero(codes == UNCODED).tolist():
            first, last = block.indptr[rows[i]], block.indptr[int(rows[i]) + 1]
            entry = first + np.searchsorted(block.hashes[first:last], wanted)
            tf[i] = (
                weights[0] * block.body[entry] + weights[1] * block.header[entry] + weights[2] * block.context[entry]
            )
        sums[rows] += weight * (tf * (k1 + 1.0) / np.where(tf > 0.0, tf + norms[rows], 1.0))
    return sums


def _inverted_example() -> Inverted:
    return Inverted(
        np.array([7], np.uint32),
        np.array([0, 1], np.uint32),
        np.zeros(1, np.uint16),
        np.zeros(1, np.uint8),
        np.ones((CODES, ZONES), np.uint8),
    )


_EXAMPLE: Final = _inverted_example()  # held, as its addresses are passed


def _find_examples() -> tuple[object, ...]:
    return *Segments.of([_EXAMPLE]), np.ones(1, np.int64), np.array([7], np.uint32), np.empty((1, 1, 2), np.int64)


def _length_examples() -> tuple[object, ...]:
    return np.ones((1, ZONES), np.uint16), np.ones(ZONES), np.zeros(MOST_ROWS, np.uint16), np.empty(1)


def _block_example() -> TermRows:
    return TermRows(
        np.array([0, 1]),
        np.array([7], np.uint32),
        np.ones(1, np.uint8),
        np.zeros(1, np.uint8),
        np.zeros(1, np.uint8),
        np.ones((1, ZONES), np.uint16),
    )


_BLOCK_EXAMPLE: Final = _block_example()
_LENGTHS: Final = np.zeros(MOST_ROWS, np.uint16), np.ones(1)


def _best_examples() -> tuple[object, ...]:
    query = (np.array([[[0, 1]]]), np.array([7], np.uint32), np.ones(1), np.ones(ZONES))
    rows, scores = np.zeros(2 + ROOM, np.int64), np.zeros(2 + ROOM)
    return (
        *Segments.of([_EXAMPLE]),
        *Blocks.of([_BLOCK_EXAMPLE]),
        locate_lengths([_LENGTHS]),
        *(1.2, 0.75, 1.0),
        np.ones(1, np.int64),
        *query,
        np.ones(1, np.uint8),
        np.zeros(1, np.int64),
        1,
        np.zeros(MOST_ROWS),
        rows,
        scores,
        np.zeros(1),
    )


def locate_lengths(lengths: Sequence[tuple[U16, F64]]) -> I64:
    """Return where each segment's lengths lie: codes, values, and how many values, int64 (s, 3)."""
    places = addresses_of(lengths, (np.uint16, np.float64))
    return np.column_stack([places, [values.size for _, values in lengths]]).astype(np.int64)


@kernel
def _inverted_at(addresses: I64, sizes: I64, number: int) -> Inverted:
    """Return one of `Segments`."""
    terms, postings = sizes[number, 0], sizes[number, 1]
    return Inverted(
        array_at(addresses[number, 0], terms, np.uint32(0)),
        array_at(addresses[number, 1], terms + 1, np.uint32(0)),
        array_at(addresses[number, 2], postings, np.uint16(0)),
        array_at(addresses[number, 3], postings, np.uint8(0)),
        array_at(addresses[number, 4], CODES * ZONES, np.uint8(0)).reshape(CODES, ZONES),
    )


@kernel(examples=[_find_examples])
def find_terms(addresses: I64, sizes: I64, stops: I64, query_hashes: U32, out_spans: I64) -> None:
    """Find the postings of each term of a query in some segments.

    Parameters
    ----------
    addresses, sizes
        The fields of `Segments`.
    stops : int64 (s,)
        Of the first segments: rows from here on are left out.
    query_hashes : uint32 (q,)
    out_spans : int64 (s, q, 2)
        Written: the first posting, and one past the last; equal where no row holds the term.

    Notes
    -----
    O(s q (log t + log n)).
    """
    for number in range(stops.size):
        inverted = _inverted_at(addresses, sizes, number)
        for i in range(query_hashes.size):
            low, high = 0, inverted.terms.size
            while low < high:
                middle = (low + high) >> 1
                if inverted.terms[middle] < query_hashes[i]:
                    low = middle + 1
                else:
                    high = middle
            start, stop = 0, 0
            if low < inverted.terms.size and inverted.terms[low] == query_hashes[i]:
                start, stop = int(inverted.starts[low]), int(inverted.starts[low + 1])
            out_spans[number, i, 0] = start
            out_spans[number, i, 1] = _first_from(inverted.rows, start, stop, stops[number])


@kernel(examples=[_length_examples])
def code_lengths(lengths: U16, weights: F64, out_codes: U16, out_values: F64) -> int:
    """Number the distinct weighted lengths of a segment's rows.

    Parameters
    ----------
    lengths : uint16 (n, 3)
    weights : float64 (3,)
    out_codes : uint16 (MOST_ROWS,)
        Written for the n rows: which length each has.
    out_values : float64 (n,)
        Written: the lengths, in the order in which they first occur.

    Returns
    -------
    int
        How many there are.

    Notes
    -----
    A table of open addresses, O(n).
    """
    slots = np.full(2 * MOST_ROWS, -1, np.int32)
    found = 0
    for row in range(lengths.shape[0]):
        length = weights[0] * lengths[row, 0] + weights[1] * lengths[row, 1] + weights[2] * lengths[row, 2]
        at = np.int64((length * _SPREAD) % slots.size)
        while slots[at] >= 0 and out_values[slots[at]] != length:
            at = (at + 1) & (slots.size - 1)
        if slots[at] < 0:
            slots[at] = found
            out_values[found] = length
            found += 1
        out_codes[row] = slots[at]
    return found


@kernel
def _frequency(block: TermRows, row: int, wanted: np.uint32, weights: F64) -> float:
    """Return the weighted count of a term from a row's forward list; 0 if it has none."""
    if row >= block.lengths.shape[0]:
        return 0.0
    low, stop = block.indptr[row], block.indptr[row + 1]
    high = stop
    while low < high:
        middle = (low + high) >> 1
        if block.hashes[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    if low == stop or block.hashes[low] != wanted:
        return 0.0
    tf: float = weights[0] * block.body[low] + weights[1] * block.header[low] + weights[2] * block.context[low]
    return tf


@kernel
def _weigh_counts(inverted: Inverted, weights: F64, out: F64) -> None:
    """Write the weighted count that each code stands for."""
    for code in range(CODES):
        counts = inverted.triples[code]
        out[code] = weights[0] * counts[0] + weights[1] * counts[1] + weights[2] * counts[2]


@kernel
def _norms(lengths: F64, k1: float, b: float, average_length: float, out: F64) -> None:
    for i in range(lengths.size):
        out[i] = k1 * ((1.0 - b) + b * (lengths[i] / average_length))


@kernel
def _first_from(rows: U16, start: int, stop: int, row: int) -> int:
    """Return the first posting, of some of one term, whose row is not below another."""
    while start < stop:
        middle = (start + stop) >> 1
        if rows[middle] < row:
            start = middle + 1
        else:
            stop = middle
    return start


@kernel
def _passed_by(wanted: int, sums: F64, live: U8, low: int) -> float:
    """Return a score that so many rows from ``low`` on pass; 0 where none is found."""
    # as many blocks have a row that does: their best rows are few enough to sort
    bits = sums.view(np.int64)  # of scores from 0 on, in their order
    size = max(min(bits.size // (2 * wanted), _BLOCK), 1)
    best = np.empty(bits.size // size, np.int64)
    if best.size < wanted:
        return 0.0
    for block in range(best.size):
        start = block * size
        part, most = bits[start : start + size], np.int64(0)
        if live.size == 0:
            for i in range(size):
                most = max(most, part[i])
        else:
            for i in range(size):
                if live[low + start + i] != 0:
                    most = max(most, part[i])
        best[block] = most >> _LOW_BITS
    sort_rows(best, best.size)
    least = best[best.size - wanted]
    return float(np.int64((least - 1) << _LOW_BITS).view(np.float64)) if least > 0 else 0.0


@kernel
def _keep_best(k: int, rows: I64, scores: F64, count: int) -> int:
    """Order the first entries, best first, and return how many of the k best there are."""
    bits, order = scores[:count].view(np.int64), np.arange(count)
    order_keys(~bits, order)  # entries of one score stand in the order of their rows, the newest first
    kept = min(k, count)
    chosen, values = np.empty(kept, np.int64), np.empty(kept)
    for i in range(kept):
        chosen[i], values[i] = rows[order[i]], scores[order[i]]
    rows[:kept], scores[:kept] = chosen, values
    return kept


@kernel
def _collect_best(sums: F64, live: U8, low: int, first: int, least: float, rows: I64, scores: F64, count: int) -> int:
    """Append rows that pass a score, the newest first, and clear the sums; return how many."""
    stop = sums.size
    while stop > 0:
        start = max(stop - _TESTED, 0)
        part = sums[start:stop]  # LLVM vectorises a loop from 0 over a slice
        beats = False
        for i in range(part.size):
            beats |= part[i] > least
        if beats:
            for i in range(part.size - 1, -1, -1):
                row = low + start + i
                if part[i] > least and (live.size == 0 or live[row] != 0):
                    rows[count], scores[count] = first + row, part[i]
                    count += 1
        part[:] = 0.0
        stop = start
    return count


@kernel
def _best_of_segment(
    inverted: Inverted, block: TermRows, length_codes: U16, length_values: F64, k1: float, b: float, average_length: float,
    spans: I64, query_hashes: U32, idf: F64, weights: F64, live: U8, stop: int, first: int, beside: I64, k: int, count: int,
    least: float, out_sums: F64, out_rows: I64, out_scores: F64, out_beside: F64,
) -> tuple[int, float]:  # fmt: skip
    """Keep what can be the k best rows of a segment and those before; return how many."""
    frequencies, norms = np.empty(CODES), np.empty(length_values.size)
    _weigh_counts(inverted, weights, frequencies)
    _norms(length_values, k1, b, average_length, norms)
    # what a posting adds before its term's weight: computed once where counts and length are common ones
    lengths = length_values.size
    parts = np.zeros(_COMMON * lengths)
    for code in range(_COMMON):
        tf = frequencies[code]
        if tf > 0.0:
            for i in range(lengths):
                parts[code * lengths + i] = tf * (k1 + 1.0) / (tf + norms[i])
    left = spans[:, 1].copy()
    low = stop
    while low > 0:
        high, low = low, max(low - ROOM, 0)
        for t in range(query_hashes.size):
            begin = _first_from(inverted.rows, spans[t, 0], left[t], low)
            rows, codes = inverted.rows[begin : left[t]], inverted.codes[begin : left[t]]
            left[t] = begin
            weight = idf[t]
            for i in range(rows.size):
                row, code = np.uint64(rows[i]), codes[i]
                length = np.uint64(length_codes[row])
                if code < _COMMON:
                    part = parts[np.uint64(code) * np.uint64(lengths) + length]
                else:
                    tf = frequencies[np.uint64(code)]
                    if code == UNCODED:
                        tf = _frequency(block, int(row), query_hashes[t], weights)
                    part = tf * (k1 + 1.0) / (tf + norms[length]) if tf > 0.0 else 0.0
                # what is below ``low`` can only stand here where a file is damaged; the room is as large as its numbers
                out_sums[(row - np.uint64(low)) & _IN_ROOM] += weight * part
        for i in range(beside.size):
            row = beside[i] - first
            if low <= row < high:
                out_beside[i] = out_sums[row - low]
        sums = out_sums[: high - low]
        if least == 0.0:
            least = _passed_by(k, sums, live, low)
        count = _collect_best(sums, live, low, first, least, out_rows, out_scores, count)
        if count > 2 * k:
            count = _keep_best(k, out_rows, out_scores, count)
            least = out_scores[k - 1]
    return count, least


@kernel(examples=[_best_examples])
def best_postings(
    addresses: I64,
    sizes: I64,
    block_addresses: I64,
    block_sizes: I64,
    starts: I64,
    lengths: I64,
    k1: float,
    b: float,
    average_length: float,
    stops: I64,
    spans: I64,
    query_hashes: U32,
    idf: F64,
    weights: F64,
    live: U8,
    beside: I64,
    k: int,
    out_sums: F64,
    out_rows: I64,
    out_scores: F64,
    out_beside: F64,
) -> int:
    """Find the k best rows of a query, and score some others.

    Parameters
    ----------
    addresses, sizes
        The fields of `Segments`.
    block_addresses, block_sizes, starts
        The fields of `Blocks` of the same rows.
    lengths : int64 (s, 3)
        As `locate_lengths` gives them.
    k1, b, average_length : float
    stops : int64 (s,)
        Of the first segments: rows from here on are left out, and no span holds one.
    spans : int64 (s, q, 2)
        As `find_terms` gives them.
    query_hashes : uint32 (q,)
        Distinct, in the order in which their parts are added.
    idf : float64 (q,)
    weights : float64 (3,)
    live : uint8 (n,) or (0,)
        Rows that are 0 here are left out; empty means that none is.
    beside : int64 (s,)
        Row numbers, in any order: those below the stops are scored, live or not.
    k : int
        > 0.
    out_sums : float64 (MOST_ROWS,)
        Room for sums; 0 before and after.
    out_rows, out_scores : int64 (2 k + ROOM,), float64 (2 k + ROOM,)
        Written: the k best stand first, best first; of equal ones the newer.
    out_beside : float64 (s,)
        Written: the scores of those rows.

    Returns
    -------
    int
        How many of the k there are.

    Notes
    -----
    O(n + p) for p postings, and a sort where more than 2 k rows are kept. Scores have the bits of
    `lamina_kernels.terms.scan_bm25`.
    """
    count, least = 0, 0.0
    for number in range(stops.size - 1, -1, -1):
        first, stop = starts[number], stops[number]
        count, least = _best_of_segment(
            _inverted_at(addresses, sizes, number),
            block_at(block_addresses, block_sizes, number),
            array_at(lengths[number, 0], MOST_ROWS, np.uint16(0)),
            array_at(lengths[number, 1], lengths[number, 2], np.float64(0.0)),
            k1, b, average_length, spans[number], query_hashes, idf, weights,
            live[first : first + stop] if live.size else live,
            stop, first, beside, k, count, least, out_sums, out_rows, out_scores, out_beside,
        )  # fmt: skip
    return _keep_best(k, out_rows, out_scores, count)

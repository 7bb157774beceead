"""Numbered pieces into forward lists: every occurrence as one sortable key, and sorted keys into counts.

A key packs row, hash and zone, so one sort of a batch's keys brings the occurrences of each term of each row together.
"""

from __future__ import annotations

import numpy as np

from lamina_kernels._jit import kernel
from lamina_kernels.layouts import I32, I64, U8, U16, U32

ZONES = 3
ROW_SHIFT = 34
HASH_SHIFT = 2
RECORD = 4
"""Numbers that `pack_pieces` writes of a piece."""
INLINE = 7
"""Bytes of stems that stand in a piece's record."""
_BLANK = 0x20
_LOW = 0xFFFFFFFF
_MOST = 255
_LONGEST = 65_535


def _pack_examples() -> tuple[object, ...]:
    one, none = np.array([1]), np.array([0])
    return none, one, one, np.zeros(1, np.uint32), none, one, np.frombuffer(b"a", np.uint8), np.empty(RECORD, np.int64)


@kernel(examples=[_pack_examples])
def pack_pieces(
    hash_starts: I64,
    hash_stops: I64,
    terms: I64,
    hashes: U32,
    stem_starts: I64,
    stem_stops: I64,
    stem_text: U8,
    out_records: I64,
) -> None:
    """Bring together what is to be known of each piece: one line of the cache, where six arrays would take six.

    Parameters
    ----------
    hash_starts, hash_stops : int64 (p,)
        Of each piece, its span in ``hashes``.
    terms : int64 (p,)
        Of each piece, how many terms it has.
    hashes : uint32 (h,)
        Hashes of stems, and of the surfaces that differ from them.
    stem_starts, stem_stops : int64 (p,)
        Of each piece, its span in ``stem_text``.
    stem_text : uint8 (b,)
        Stems, joined by blanks within a piece.
    out_records : int64 (RECORD p,)
        Written, four numbers a piece: start and number of its hashes; terms and first hash; start and size of its stems,
        each pair as upper and lower half; and its stems with a blank behind them, where they are no more than
        `INLINE` bytes.

    Notes
    -----
    O(p).
    """
    for piece in range(terms.size):
        at = RECORD * piece
        hashed = hash_stops[piece] - hash_starts[piece]
        size = stem_stops[piece] - stem_starts[piece]
        out_records[at] = (hash_starts[piece] << 32) | hashed
        out_records[at + 1] = (terms[piece] << 32) | (int(hashes[hash_starts[piece]]) if hashed > 0 else 0)
        out_records[at + 2] = (stem_starts[piece] << 32) | size
        word = 0
        if 0 < size <= INLINE:
            for i in range(size):
                word |= int(stem_text[stem_starts[piece] + i]) << (8 * i)
            word |= _BLANK << (8 * size)
        out_records[at + 3] = word


def _measure_examples() -> tuple[object, ...]:
    return np.zeros(1, np.int32), np.zeros(RECORD, np.int64), np.empty(2, np.int64)


@kernel(examples=[_measure_examples])
def measure_pieces(numbers: I32, records: I64, out_sizes: I64) -> None:
    """Count what `expand_rows` will write.

    Parameters
    ----------
    numbers : int32 (m,)
        Pieces.
    records : int64 (RECORD p,)
        From `pack_pieces`.
    out_sizes : int64 (2,)
        Written: hashes of all pieces, and bytes of all their stems.

    Notes
    -----
    O(m).
    """
    hashes = 0
    size = 0
    for at in range(numbers.size):
        record = RECORD * int(numbers[at])
        hashes += records[record] & _LOW
        size += records[record + 2] & _LOW
    out_sizes[0] = hashes
    out_sizes[1] = size


def _expand_examples() -> tuple[object, ...]:
    return (
        np.zeros(1, np.int32), np.array([1, 1, 1]), np.zeros(RECORD, np.int64), np.zeros(1, np.uint32),
        np.frombuffer(b"a", np.uint8), np.empty(1, np.int64), np.empty((1, ZONES), np.uint16),
        np.empty(INLINE + 2, np.uint8), np.empty(1, np.int64),
    )  # fmt: skip


@kernel(examples=[_expand_examples])
def expand_rows(
    numbers: I32,
    stops: I64,
    records: I64,
    hashes: U32,
    stem_text: U8,
    out_keys: I64,
    out_lengths: U16,
    out_stems: U8,
    out_stem_stops: I64,
) -> None:
    """Write a key for each occurrence of a term, how many terms each zone has, and each row's stems.

    Parameters
    ----------
    numbers : int32 (m,)
        Pieces of all texts: the bodies of n rows, then their headers, then their contexts.
    stops : int64 (3 n,)
        Where each text's pieces end.
    records : int64 (RECORD p,)
        From `pack_pieces`.
    hashes : uint32 (h,)
        Hashes of stems, and of the surfaces that differ from them.
    stem_text : uint8 (b,)
        Stems, joined by blanks within a piece.
    out_keys : int64 (hashes of all pieces,)
        Written: row << 34 | hash << 2 | zone.
    out_lengths : uint16 (n, 3)
        Written: terms in body, header and context, at most 65,535.
    out_stems : uint8 (bytes of all pieces' stems + m + INLINE,)
        Written: the stems of each row's zones, joined by blanks; what stands behind the last is of no meaning.
    out_stem_stops : int64 (n,)
        Written: where each row's stems end; a blank or none stands behind the last.

    Notes
    -----
    O(keys + bytes of the stems). Short stems are written as eight bytes each, of which the next stem overwrites what is
    not theirs: LLVM makes one store of it.
    """
    n = out_stem_stops.size
    keys = 0
    used = 0
    for row in range(n):
        for zone in range(ZONES):
            text = zone * n + row
            length = 0
            for at in range(stops[text - 1] if text > 0 else 0, stops[text]):
                record = RECORD * int(numbers[at])
                hashed = records[record] & _LOW
                about = records[record + 1]
                length += about >> 32
                if hashed == 1:
                    out_keys[keys] = (row << ROW_SHIFT) | ((about & _LOW) << HASH_SHIFT) | zone
                    keys += 1
                else:
                    first = records[record] >> 32
                    for entry in range(first, first + hashed):
                        out_keys[keys] = (row << ROW_SHIFT) | (int(hashes[entry]) << HASH_SHIFT) | zone
                        keys += 1
                size = records[record + 2] & _LOW
                word = records[record + 3]
                if word != 0:
                    out_stems[used] = word & 0xFF
                    out_stems[used + 1] = (word >> 8) & 0xFF
                    out_stems[used + 2] = (word >> 16) & 0xFF
                    out_stems[used + 3] = (word >> 24) & 0xFF
                    out_stems[used + 4] = (word >> 32) & 0xFF
                    out_stems[used + 5] = (word >> 40) & 0xFF
                    out_stems[used + 6] = (word >> 48) & 0xFF
                    out_stems[used + 7] = (word >> 56) & 0xFF
                    used += size + 1
                elif size > 0:
                    begin = records[record + 2] >> 32
                    for i in range(size):
                        out_stems[used + i] = stem_text[begin + i]
                    used += size
                    out_stems[used] = _BLANK
                    used += 1
            out_lengths[row, zone] = min(length, _LONGEST)
        out_stem_stops[row] = used


def _count_examples() -> tuple[object, ...]:
    empty = [np.empty(1, np.uint8) for _ in range(ZONES)]
    return np.zeros(1, np.int64), np.empty(2, np.int64), np.empty(1, np.uint32), *empty


@kernel(examples=[_count_examples])
def count_keys(keys: I64, out_indptr: I64, out_hashes: U32, out_body: U8, out_header: U8, out_context: U8) -> int:
    """Turn sorted keys into forward lists.

    Parameters
    ----------
    keys : int64 (m,)
        As `expand_rows` gives them, ascending.
    out_indptr : int64 (n + 1,)
        Written; see `lamina_kernels.layouts.TermRows`.
    out_hashes : uint32 (m,)
        Written as far as there are entries.
    out_body, out_header, out_context : uint8 (m,)
        Written so far: counts, at most 255.

    Returns
    -------
    int
        How many entries there are.

    Notes
    -----
    O(m + n).
    """
    entries = 0
    row = 0
    out_indptr[0] = 0
    former = -1
    for at in range(keys.size):
        term = keys[at] >> HASH_SHIFT
        zone = keys[at] & 3
        if term != former:
            former = term
            while row < keys[at] >> ROW_SHIFT:
                row += 1
                out_indptr[row] = entries
            out_hashes[entries] = term & 0xFFFFFFFF
            out_body[entries] = 0
            out_header[entries] = 0
            out_context[entries] = 0
            entries += 1
        if zone == 0:
            out_body[entries - 1] = min(int(out_body[entries - 1]) + 1, _MOST)
        elif zone == 1:
            out_header[entries - 1] = min(int(out_header[entries - 1]) + 1, _MOST)
        else:
            out_context[entries - 1] = min(int(out_context[entries - 1]) + 1, _MOST)
    while row < out_indptr.size - 1:
        row += 1
        out_indptr[row] = entries
    return entries

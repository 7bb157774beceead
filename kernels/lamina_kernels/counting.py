"""Forward lists from numbered pieces: occurrences as sortable keys, sorted keys as counts.

A key packs row, hash and zone, so a sort of a row's keys brings the occurrences of each term together.
"""

from __future__ import annotations

import numpy as np

from lamina_kernels._jit import kernel
from lamina_kernels.layouts import BOOL, I32, I64, U8, U16, U32
from lamina_kernels.sorting import sort_spread

ZONES = 3
ROW_SHIFT = 34
HASH_SHIFT = 2
_TOP_BYTE = 26
"""Shift of the highest byte of a key's hash."""
RECORD = 4
"""Numbers that `pack_pieces` writes of a piece."""
INLINE = 7
"""Bytes of surfaces that stand in a piece's record."""
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
    word_starts: I64,
    word_stops: I64,
    word_text: U8,
    out_records: I64,
) -> None:
    """Pack the attributes of each piece side by side, so that they share a cache line.

    Parameters
    ----------
    hash_starts, hash_stops : int64 (p,)
        Of each piece, its span in ``hashes``.
    terms : int64 (p,)
        Of each piece, how many terms it has.
    hashes : uint32 (h,)
        Hashes of stems, and of the surfaces that differ from them.
    word_starts, word_stops : int64 (p,)
        Of each piece, its span in ``word_text``.
    word_text : uint8 (b,)
        Surfaces, joined by blanks within a piece.
    out_records : int64 (RECORD p,)
        Written, four numbers a piece: start and number of its hashes; terms and first hash; start and size of its surfaces,
        each pair as upper and lower half; and these with a blank behind them, where they are no more than
        `INLINE` bytes.

    Notes
    -----
    O(p).
    """
    for piece in range(terms.size):
        at = RECORD * piece
        hashed = hash_stops[piece] - hash_starts[piece]
        size = word_stops[piece] - word_starts[piece]
        out_records[at] = (hash_starts[piece] << 32) | hashed
        out_records[at + 1] = (terms[piece] << 32) | (int(hashes[hash_starts[piece]]) if hashed > 0 else 0)
        out_records[at + 2] = (word_starts[piece] << 32) | size
        word = 0
        if 0 < size <= INLINE:
            for i in range(size):
                word |= int(word_text[word_starts[piece] + i]) << (8 * i)
            word |= _BLANK << (8 * size)
        out_records[at + 3] = word


def _measure_examples() -> tuple[object, ...]:
    return np.zeros(1, np.int32), np.zeros(RECORD, np.int64), np.empty(2, np.int64)


@kernel(examples=[_measure_examples])
def measure_pieces(numbers: I32, records: I64, out_sizes: I64) -> None:
    """Count what `expand_rows` and `expand_words` will write.

    Parameters
    ----------
    numbers : int32 (m,)
        Pieces.
    records : int64 (RECORD p,)
        From `pack_pieces`.
    out_sizes : int64 (2,)
        Written: hashes of all pieces, and bytes of all their surfaces.

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
        np.zeros(1, np.int32),
        np.array([1, 1, 1]),
        np.zeros(RECORD, np.int64),
        np.zeros(1, np.uint32),
        -1,
        np.empty(1, np.int64),
        np.empty((1, ZONES), np.uint16),
    )


@kernel(examples=[_expand_examples])
def expand_rows(
    numbers: I32, stops: I64, records: I64, hashes: U32, mark: int, out_keys: I64, out_lengths: U16
) -> None:
    """Write a key for each occurrence of a term, and how many terms each zone has.

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
    mark : int
        A hash that every body gets besides, though it is no term; none if negative.
    out_keys : int64 (hashes of all pieces, and n if there is a mark,)
        Written: row << 34 | hash << 2 | zone, row after row.
    out_lengths : uint16 (n, 3)
        Written: terms in body, header and context, at most 65,535.

    Notes
    -----
    O(keys).
    """
    n = out_lengths.shape[0]
    keys = 0
    for row in range(n):
        if mark >= 0:
            out_keys[keys] = (row << ROW_SHIFT) | (mark << HASH_SHIFT)
            keys += 1
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
            out_lengths[row, zone] = min(length, _LONGEST)


def _foreign_examples() -> tuple[object, ...]:
    return np.zeros(1, np.int32), np.array([1, 1, 1]), np.zeros(1, np.uint32), np.zeros(1, np.bool_)


@kernel(examples=[_foreign_examples])
def mark_foreign(numbers: I32, stops: I64, bits: U32, out_rows: BOOL) -> None:
    """Mark the rows that hold a function word which English lacks.

    Parameters
    ----------
    numbers : int32 (m,)
        Pieces of all texts: the bodies of n rows, then their headers, then their contexts.
    stops : int64 (3 n,)
        Where each text's pieces end.
    bits : uint32 (p,)
        Languages that each piece speaks for; English is the lowest bit.
    out_rows : bool (n,)
        Written.

    Notes
    -----
    O(m).
    """
    n = out_rows.size
    out_rows[:] = False
    for text in range(stops.size):
        for at in range(stops[text - 1] if text > 0 else 0, stops[text]):
            telling = bits[numbers[at]]
            if telling > 1 and telling & 1 == 0:
                out_rows[text % n] = True
                break


def _word_examples() -> tuple[object, ...]:
    word = np.frombuffer(b"a", np.uint8)
    return (
        np.zeros(1, np.int32),
        np.array([1]),
        np.zeros(RECORD, np.int64),
        word,
        np.empty(9, np.uint8),
        np.empty(1, np.int64),
    )


@kernel(examples=[_word_examples])
def expand_words(numbers: I32, stops: I64, records: I64, word_text: U8, out_words: U8, out_word_stops: I64) -> None:
    """Write the surfaces of texts, joined by blanks.

    Parameters
    ----------
    numbers : int32 (m,)
        Pieces of all texts.
    stops : int64 (n,)
        Where each text's pieces end.
    records : int64 (RECORD p,)
        From `pack_pieces`.
    word_text : uint8 (b,)
        Surfaces, joined by blanks within a piece.
    out_words : uint8 (bytes of all pieces' surfaces + m + INLINE + 1,)
        Written: the surfaces of each text; what stands behind the last is of no meaning.
    out_word_stops : int64 (n,)
        Written: where each text's surfaces end; a blank or none stands behind the last.

    Notes
    -----
    O(bytes). Short surfaces are written as eight bytes each, of which the next one overwrites what is not theirs: LLVM
    makes one store of it.
    """
    used = 0
    for text in range(stops.size):
        for at in range(stops[text - 1] if text > 0 else 0, stops[text]):
            record = RECORD * int(numbers[at])
            size = records[record + 2] & _LOW
            word = records[record + 3]
            if word != 0:
                out_words[used] = word & 0xFF
                out_words[used + 1] = (word >> 8) & 0xFF
                out_words[used + 2] = (word >> 16) & 0xFF
                out_words[used + 3] = (word >> 24) & 0xFF
                out_words[used + 4] = (word >> 32) & 0xFF
                out_words[used + 5] = (word >> 40) & 0xFF
                out_words[used + 6] = (word >> 48) & 0xFF
                out_words[used + 7] = (word >> 56) & 0xFF
                used += size + 1
            elif size > 0:
                begin = records[record + 2] >> 32
                for i in range(size):
                    out_words[used + i] = word_text[begin + i]
                used += size
                out_words[used] = _BLANK
                used += 1
        out_word_stops[text] = used


def _count_examples() -> tuple[object, ...]:
    empty = [np.empty(1, np.uint8) for _ in range(ZONES)]
    return np.zeros(1, np.int64), np.empty(2, np.int64), np.empty(1, np.uint32), *empty


@kernel(examples=[_count_examples])
def count_keys(out_keys: I64, out_indptr: I64, out_hashes: U32, out_body: U8, out_header: U8, out_context: U8) -> int:
    """Turn keys into forward lists.

    Parameters
    ----------
    out_keys : int64 (m,)
        As `expand_rows` gives them; sorted in place.
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
    _sort_rows(out_keys)
    entries = 0
    row = 0
    out_indptr[0] = 0
    former = -1
    for at in range(out_keys.size):
        term = out_keys[at] >> HASH_SHIFT
        zone = out_keys[at] & 3
        if term != former:
            former = term
            while row < out_keys[at] >> ROW_SHIFT:
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


@kernel
def _sort_rows(out_keys: I64) -> None:
    """Sort the keys of each row."""
    room = np.empty(0, np.int64)
    first = 0
    while first < out_keys.size:
        stop = first + 1
        while stop < out_keys.size and out_keys[stop] >> ROW_SHIFT == out_keys[first] >> ROW_SHIFT:
            stop += 1
        if stop - first > room.size:
            room = np.empty(2 * (stop - first), np.int64)
        sort_spread(out_keys[first:stop], _TOP_BYTE, room)
        first = stop

"""Tokenizer: cut UTF-8 at separators, and number every piece by one table.

A piece is a run of bytes without separators. A table gives each distinct piece a number, in order of first
appearance; it is a few growing arrays, so that a million texts make no object a word:

``slots`` is open addressing over keys; ``keys`` holds each piece's key, ``text`` the bytes of all pieces one after the
other, ``starts`` where each begins. The key of a piece of up to seven bytes is those bytes, so that most pieces are found
by one look at one cache line; a longer piece's is its first seven and a hash (FNV-1a) of the others, and such pieces are
compared byte by byte: equal keys cost time, never a wrong number. The caller makes the arrays, and makes them larger
when a kernel says that it needs more room.
"""

from __future__ import annotations

import numpy as np

from lamina_kernels._jit import kernel
from lamina_kernels.layouts import I32, I64, U8
from lamina_kernels.simd import lowest_bit, prefetch_line

FNV_OFFSET = 2166136261
FNV_PRIME = 16777619
SHORT = 7
"""Bytes of a piece that its key holds as they are; a piece has no byte 0."""
_LONG = 1 << 56
"""In the key of every longer piece."""
_LOW = 0xFFFFFFFF
_BLANK = 0x20
_AT_ONCE = 64
"""Bytes that are classified together."""
_AHEAD = 16
"""Pieces ahead of the one looked up, whose slot is asked for."""
# Two odd numbers without pattern, small enough that no product of 32 and 25 bits leaves int64 (Knuth's multiplicative
# hash); the bits from here on depend on all bytes of a short piece.
_MULTIPLIER, _MULTIPLIER_HIGH, _SHIFT = 0x5F356495, 0x2C1B3C6D, 20


def _hash_examples() -> tuple[object, ...]:
    return np.frombuffer(b"ab", np.uint8), np.array([0]), np.array([2]), np.empty(1, np.int64)


@kernel(examples=[_hash_examples])
def hash_spans(data: U8, begins: I64, ends: I64, out_keys: I64) -> None:
    """Write the key of each of some spans of bytes, none of them 0.

    Parameters
    ----------
    data : uint8 (b,)
    begins, ends : int64 (n,)
    out_keys : int64 (n,)
        Written.

    Notes
    -----
    O(bytes).
    """
    for s in range(begins.size):
        begin, size = begins[s], ends[s] - begins[s]
        word = 0
        if begin + 8 <= data.size:  # one load of eight bytes
            for i in range(8):
                word |= int(data[begin + i]) << (8 * i)
            word &= (1 << (8 * int(min(size, SHORT)))) - 1
        else:
            for i in range(min(size, SHORT)):
                word |= int(data[begin + i]) << (8 * i)
        if size > SHORT:
            rest = FNV_OFFSET
            for i in range(begin + SHORT, ends[s]):
                rest = ((rest ^ int(data[i])) * FNV_PRIME) & _LOW
            word = _LONG | (word ^ (rest << 24))
        out_keys[s] = word


def _cut_examples() -> tuple[object, ...]:
    kinds = np.zeros(256, np.uint8)
    kinds[97:123] = 1
    pairs = np.zeros((256, 256), np.uint8)
    spans = (np.empty(4, np.int64), np.empty(4, np.int64), np.empty(4, np.int64), np.empty(1, np.int64))
    text = np.frombuffer(b"ab ab", np.uint8)
    return text, np.array([0, 5]), kinds, pairs, pairs, np.zeros(256, np.uint8), *spans


@kernel(examples=[_cut_examples])
def cut_pieces(
    data: U8,
    offsets: I64,
    kinds: U8,
    after: U8,
    before: U8,
    either: U8,
    out_begins: I64,
    out_ends: I64,
    out_keys: I64,
    out_stops: I64,
) -> None:
    """Cut texts into pieces.

    Parameters
    ----------
    data : uint8 (b,)
        UTF-8 of all texts, one after the other.
    offsets : int64 (n + 1,)
        Text ``i`` is the bytes from ``offsets[i]`` to ``offsets[i + 1]``.
    kinds : uint8 (256,)
        Of a byte: 0 separates, 1 belongs to a piece, 2 is a mark that joins or separates.
    after, before : uint8 (256, 256)
        For a mark and its neighbour: 1 where the mark may join what stands before it; what stands behind it.
    either : uint8 (256,)
        1 for marks that join where one of the two allows it; others need both.
    out_begins, out_ends : int64 (m,)
        Written: the span of each piece, text by text; m = b / 2 + n suffices.
    out_keys : int64 (m,)
        Written: the key of each piece.
    out_stops : int64 (n,)
        Written: where each text's pieces end.

    Notes
    -----
    O(b). 64 bytes become one number of 64 bits, in which a piece begins and ends where neighbours differ: a jump for each byte
    that separates would be guessed wrong twice a piece.
    """
    parted = np.empty(256, np.int64)  # whether a byte belongs to a piece, and eight bits higher whether it is a mark
    for byte in range(256):
        parted[byte] = (int(kinds[byte]) & 1) | (int(kinds[byte]) >> 1) << 8
    at = 0
    one = np.uint64(1)
    for t in range(offsets.size - 1):
        start, stop = offsets[t], offsets[t + 1]
        begin = -1
        last = np.uint64(0)  # whether the byte before these belongs to a piece
        for first in range(start, stop, _AT_ONCE):
            size = min(_AT_ONCE, stop - first)
            inside = np.uint64(0)
            marks = np.uint64(0)
            whole = size & ~7
            for eight in range(0, whole, 8):
                both = 0
                for i in range(8):
                    both |= parted[data[first + eight + i]] << i
                inside |= np.uint64(both & 0xFF) << np.uint64(eight)
                marks |= np.uint64(both >> 8) << np.uint64(eight)
            for i in range(whole, size):
                kind = np.uint64(kinds[data[first + i]])
                inside |= (kind & one) << np.uint64(i)
                marks |= (kind >> one) << np.uint64(i)
            while marks != 0:
                i = first + lowest_bit(marks)
                byte = data[i]
                left = after[byte, data[i - 1] if i > start else _BLANK]
                right = before[byte, data[i + 1] if i + 1 < stop else _BLANK]
                if (left | right) if either[byte] else (left & right):
                    inside |= marks & (~marks + one)
                marks &= marks - one
            edges = inside ^ ((inside << one) | last)
            last = inside >> np.uint64(_AT_ONCE - 1)
            while edges != 0:
                edge = first + lowest_bit(edges)
                edges &= edges - one
                if begin < 0:
                    begin = edge
                else:
                    out_begins[at] = begin
                    out_ends[at] = edge
                    at += 1
                    begin = -1
        if begin >= 0:  # what lies behind the text separates
            out_begins[at] = begin
            out_ends[at] = stop
            at += 1
        out_stops[t] = at
    hash_spans(data, out_begins[:at], out_ends[:at], out_keys)


def _number_examples() -> tuple[object, ...]:
    text, spans = np.frombuffer(b"ab", np.uint8), (np.array([0]), np.array([2]), np.zeros(1, np.int64))
    slots, held = np.full(16, -1, np.int64), np.zeros(4, np.int64)
    return (
        text, *spans, 0, np.zeros(1, np.int64), slots, held, np.zeros(5, np.int64), np.zeros(16, np.uint8),
        np.empty(1, np.int32),
    )  # fmt: skip


@kernel(examples=[_number_examples])
def number_spans(
    data: U8,
    begins: I64,
    ends: I64,
    keys: I64,
    first: int,
    out_state: I64,
    out_slots: I64,
    out_keys: I64,
    out_starts: I64,
    out_text: U8,
    out_numbers: I32,
) -> int:
    """Write the number of each of some spans of bytes, entering those that are new.

    Parameters
    ----------
    data : uint8 (b,)
    begins, ends : int64 (n,)
        The spans.
    keys : int64 (n,)
        Their keys, from `cut_pieces` or `hash_spans`.
    first : int
        Span to begin with; the numbers of those before it are written already.
    out_state : int64 (1,)
        Changed: how many pieces the table holds.
    out_slots : int64 (twice a power of two,)
        Changed: a key and a number each, the number −1 where it is free. At most half of them are taken.
    out_keys : int64 (c,)
        Changed: the pieces' keys.
    out_starts : int64 (c + 1,)
        Changed: where the pieces begin in ``out_text``; the first is 0.
    out_text : uint8 (t,)
        Changed: the pieces' bytes.
    out_numbers : int32 (n,)
        Written; −1 for an empty span, which has no number.

    Returns
    -------
    int
        Spans done, n when all are. Less: the table is full; call again, with larger arrays, from there.

    Notes
    -----
    O(bytes). Nothing is called in the loop: arrays passed to a call that is not inlined are counted, atomically,
    which took three quarters of the time.
    """
    mask = (out_slots.size >> 1) - 1
    count = out_state[0]
    place = out_slots.ctypes.data
    for s in range(first, begins.size):
        later = int(keys[min(s + _AHEAD, keys.size - 1)])
        prefetch_line(
            place + 16 * ((((later & _LOW) * _MULTIPLIER + (later >> 32) * _MULTIPLIER_HIGH) >> _SHIFT) & mask)
        )
        begin, size = begins[s], ends[s] - begins[s]
        if size == 0:
            out_numbers[s] = -1
            continue
        key = int(keys[s])
        slot = (((key & _LOW) * _MULTIPLIER + (key >> 32) * _MULTIPLIER_HIGH) >> _SHIFT) & mask
        number = out_slots[2 * slot + 1]
        while number >= 0:
            if out_slots[2 * slot] == key:
                if size <= SHORT:
                    break
                at = out_starts[number]
                differs = out_starts[number + 1] - at - size
                if differs == 0:
                    for i in range(size):
                        differs |= int(out_text[at + i]) ^ int(data[begin + i])
                if differs == 0:
                    break
            slot = (slot + 1) & mask
            number = out_slots[2 * slot + 1]
        if number < 0:
            at = out_starts[count]
            if count + 1 > out_keys.size or 4 * (count + 1) > out_slots.size or at + size > out_text.size:
                out_state[0] = count
                return s
            number = count
            out_slots[2 * slot] = key
            out_slots[2 * slot + 1] = count
            out_keys[count] = key
            for i in range(size):
                out_text[at + i] = data[begin + i]
            out_starts[count + 1] = at + size
            count += 1
        out_numbers[s] = number
    out_state[0] = count
    return int(begins.size)


def _rehash_examples() -> tuple[object, ...]:
    return np.zeros(1, np.int64), np.full(16, -1, np.int64)


@kernel(examples=[_rehash_examples])
def fill_slots(keys: I64, out_slots: I64) -> None:
    """Enter the pieces of a table into larger slots.

    Parameters
    ----------
    keys : int64 (c,)
        Keys of the pieces, by number.
    out_slots : int64 (twice a power of two,)
        Written: a key and a number each; room for more than c.

    Notes
    -----
    O(slots).
    """
    out_slots[:] = -1
    mask = (out_slots.size >> 1) - 1
    for number in range(keys.size):
        key = int(keys[number])
        slot = (((key & _LOW) * _MULTIPLIER + (key >> 32) * _MULTIPLIER_HIGH) >> _SHIFT) & mask
        while out_slots[2 * slot + 1] >= 0:
            slot = (slot + 1) & mask
        out_slots[2 * slot] = key
        out_slots[2 * slot + 1] = number


def _join_examples() -> tuple[object, ...]:
    return np.frombuffer(b"ab", np.uint8), np.array([0, 1, 2]), 10, np.empty(4, np.uint8)


@kernel(examples=[_join_examples])
def join_spans(text: U8, starts: I64, separator: int, out: U8) -> None:
    """Write neighbouring spans with a separator behind each.

    Parameters
    ----------
    text : uint8 (b,)
    starts : int64 (n + 1,)
        Span ``i`` is the bytes from ``starts[i]`` to ``starts[i + 1]``.
    separator : int
        A byte.
    out : uint8 (bytes of the spans + n,)
        Written.

    Notes
    -----
    O(b).
    """
    at = 0
    for s in range(starts.size - 1):
        for i in range(starts[s], starts[s + 1]):
            out[at] = text[i]
            at += 1
        out[at] = separator
        at += 1

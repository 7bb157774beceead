from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_kernels.counting import (
    INLINE,
    RECORD,
    ZONES,
    count_keys,
    expand_rows,
    expand_words,
    mark_foreign,
    measure_pieces,
    pack_pieces,
)
from lamina_kernels.layouts import I64, U8, U32

PIECES: list[tuple[list[int], int, str]] = [
    ([7], 1, "a"),
    ([7, 2**32 - 1], 2, "b c"),
    ([], 0, ""),
    ([0, 5, 5], 2, "d e"),
    ([2**32 - 1], 1, "x" * INLINE),
    ([3], 1, "y" * (INLINE + 1)),
    ([4, 4], 2, "é"),
]
"""Hashes, terms and stems of each piece."""
ROWS = st.lists(st.tuples(*[st.lists(st.integers(0, len(PIECES) - 1), max_size=5)] * ZONES), max_size=4)


def ends(parts: list[int]) -> I64:
    return np.cumsum(parts, dtype=np.int64)


def packed() -> tuple[I64, U32, U8]:
    """Return the records of `PIECES`, their hashes and their surfaces."""
    hash_stops = ends([len(hashes) for hashes, _, _ in PIECES])
    word_stops = ends([len(words.encode()) for _, _, words in PIECES])
    hashed = np.array([h for hashes, _, _ in PIECES for h in hashes], np.uint32)
    word_text = np.frombuffer("".join(words for _, _, words in PIECES).encode(), np.uint8)
    records = np.empty(RECORD * len(PIECES), np.int64)
    pack_pieces(
        hash_stops - np.diff(hash_stops, prepend=0), hash_stops, np.array([terms for _, terms, _ in PIECES]), hashed,
        word_stops - np.diff(word_stops, prepend=0), word_stops, word_text, records,
    )  # fmt: skip
    return records, hashed, word_text


@given(ROWS)
def test_rows_are_counted(rows: list[tuple[list[int], ...]]) -> None:
    n = len(rows)
    texts = [row[zone] for zone in range(ZONES) for row in rows]
    numbers = np.array([piece for text in texts for piece in text], np.int32)
    records, hashed, word_text = packed()
    sizes = np.empty(2, np.int64)
    measure_pieces(numbers, records, sizes)
    assert sizes.tolist() == [
        sum(len(PIECES[piece][0]) for piece in numbers), sum(len(PIECES[piece][2].encode()) for piece in numbers)
    ]  # fmt: skip
    keys, words = np.empty(sizes[0], np.int64), np.empty(sizes[1] + numbers.size + INLINE + 1, np.uint8)
    lengths, stops = np.empty((n, ZONES), np.uint16), np.empty(len(texts), np.int64)
    expand_rows(numbers, ends([len(text) for text in texts]), records, hashed, -1, keys, lengths)
    expand_words(numbers, ends([len(text) for text in texts]), records, word_text, words, stops)
    for i, text in enumerate(texts):
        shown = words[stops[i - 1] if i else 0 : stops[i]].tobytes().decode()
        assert shown.split() == " ".join(PIECES[piece][2] for piece in text).split()
    indptr, hashes = np.empty(n + 1, np.int64), np.empty(keys.size, np.uint32)
    counts = [np.empty(keys.size, np.uint8) for _ in range(ZONES)]
    entries = count_keys(keys, indptr, hashes, *counts)
    assert entries == indptr[-1]
    for i, row in enumerate(rows):
        ref = [Counter(h for piece in zone for h in PIECES[piece][0]) for zone in row]
        known = sorted(set().union(*ref))
        span = slice(int(indptr[i]), int(indptr[i + 1]))
        assert hashes[span].tolist() == known
        assert [column[span].tolist() for column in counts] == [[zone[h] for h in known] for zone in ref]
        assert lengths[i].tolist() == [sum(PIECES[piece][1] for piece in zone) for zone in row]


def test_every_body_gets_the_mark() -> None:
    records, hashed, _ = packed()
    keys, lengths = np.empty(3, np.int64), np.empty((2, ZONES), np.uint16)
    expand_rows(np.array([0], np.int32), np.array([1, 1, 1, 1, 1, 1]), records, hashed, 2**32 - 1, keys, lengths)
    indptr, hashes = np.empty(3, np.int64), np.empty(3, np.uint32)
    body, header, context = (np.empty(3, np.uint8) for _ in range(ZONES))
    assert count_keys(keys, indptr, hashes, body, header, context) == 3
    assert indptr.tolist() == [0, 2, 3]
    assert hashes.tolist() == [7, 2**32 - 1, 2**32 - 1]
    assert body.tolist() == [1, 1, 1]
    assert lengths.tolist() == [[1, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize("words", [5, 500, 5_000])  # by insertion, spread by a byte, and by all bytes
@pytest.mark.parametrize("most", [3, 2**22, 2**32])
def test_terms_of_long_rows_ascend(words: int, most: int) -> None:
    rng = np.random.default_rng(words)
    drawn = rng.integers(0, most, (3, words))
    keys = (np.arange(3)[:, None] << 34 | drawn << 2 | rng.integers(0, ZONES, (3, words))).ravel()
    indptr, hashes = np.empty(4, np.int64), np.empty(keys.size, np.uint32)
    body, header, context = (np.empty(keys.size, np.uint8) for _ in range(ZONES))
    count_keys(keys, indptr, hashes, body, header, context)
    for row in range(3):
        assert hashes[indptr[row] : indptr[row + 1]].tolist() == np.unique(drawn[row]).tolist()


def test_counts_saturate() -> None:
    keys = np.zeros(300, np.int64)
    indptr, hashes = np.empty(3, np.int64), np.empty(300, np.uint32)
    body, header, context = (np.empty(300, np.uint8) for _ in range(ZONES))
    assert count_keys(keys, indptr, hashes, body, header, context) == 1
    assert (body[0], header[0], context[0]) == (255, 0, 0)
    assert indptr.tolist() == [0, 1, 1]


def test_lengths_saturate() -> None:
    records, none = np.empty(RECORD, np.int64), np.array([0])
    pack_pieces(none, none, np.array([40_000]), np.zeros(0, np.uint32), none, none, np.zeros(0, np.uint8), records)
    lengths = np.empty((1, ZONES), np.uint16)
    numbers = np.zeros(2, np.int32)
    expand_rows(numbers, np.array([2, 2, 2]), records, np.zeros(0, np.uint32), -1, np.empty(0, np.int64), lengths)
    assert lengths.tolist() == [[65_535, 0, 0]]


BITS = np.array([0, 1, 2, 3, 1 << 31 | 4, 5], np.uint32)


@given(st.lists(st.tuples(*[st.lists(st.integers(0, BITS.size - 1), max_size=5)] * ZONES), max_size=4))
def test_rows_with_a_word_that_english_lacks_are_marked(rows: list[tuple[list[int], ...]]) -> None:
    texts = [row[zone] for zone in range(ZONES) for row in rows]
    numbers = np.array([piece for text in texts for piece in text], np.int32)
    got = np.ones(len(rows), np.bool_)
    mark_foreign(numbers, ends([len(text) for text in texts]), BITS, got)
    lacking = {2, 4}
    assert got.tolist() == [any(not lacking.isdisjoint(text) for text in row) for row in rows]

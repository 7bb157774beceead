from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_kernels.layouts import I32, I64, U8
from lamina_kernels.tokens import SHORT, cut_pieces, fill_slots, hash_spans, join_spans, number_spans

KINDS = np.zeros(256, np.uint8)
KINDS[list(b"abcxyz")] = 1
KINDS[list(b"-+")] = 2
AFTER, BEFORE = np.zeros((2, 256, 256), np.uint8)
AFTER[ord("-"), list(b"abcxyz")] = BEFORE[ord("-"), list(b"abcxyz")] = 1
AFTER[ord("+"), list(b"+")] = BEFORE[ord("+"), list(b"+")] = 1
EITHER = np.zeros(256, np.uint8)
EITHER[ord("+")] = 1
TEXTS = st.lists(st.text("abcxyz-+ ", max_size=12) | st.text("abc-+ ", min_size=50, max_size=200), max_size=5)


def pack(texts: list[str]) -> tuple[U8, I64]:
    offsets = np.cumsum([0, *map(len, texts)], dtype=np.int64)
    return np.frombuffer("".join(texts).encode(), np.uint8), offsets


def cut(texts: list[str]) -> tuple[U8, I64, I64, I64, I64]:
    data, offsets = pack(texts)
    room = data.size // 2 + len(texts)
    begins, ends, keys = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
    stops = np.zeros(len(texts), np.int64)
    cut_pieces(data, offsets, KINDS, AFTER, BEFORE, EITHER, begins, ends, keys, stops)
    count = int(stops[-1]) if texts else 0
    return data, begins[:count], ends[:count], keys[:count], stops


def oracle(text: str) -> list[str]:
    """Pieces of a text: a dash joins between two letters, a plus beside another one, all else separates."""
    kept = ""
    for i, char in enumerate(text):
        before, behind = text[i - 1 : i] if i else "", text[i + 1 : i + 2]
        joins = {"-": before.isalpha() and behind.isalpha(), "+": "+" in (before, behind)}.get(char, char.isalpha())
        kept += char if joins else " "
    return kept.split()


@given(TEXTS)
def test_pieces_are_those_of_a_slow_cut(texts: list[str]) -> None:
    data, begins, ends, keys, stops = cut(texts)
    got = [data[b:e].tobytes().decode() for b, e in zip(begins, ends, strict=True)]
    assert got == [piece for text in texts for piece in oracle(text)]
    assert stops.tolist() == np.cumsum([len(oracle(text)) for text in texts]).tolist()
    again = np.empty(begins.size, np.int64)
    hash_spans(data, begins, ends, again)
    np.testing.assert_array_equal(again, keys)


@pytest.mark.parametrize("at", [0, 55, 56, 57, 62, 63, 64, 65, 127, 128])
@pytest.mark.parametrize("piece", ["a", "a-b", "abcxyzaa", "++"])
def test_pieces_are_cut_the_same_wherever_they_stand(at: int, piece: str) -> None:
    for text in (" " * at + piece, " " * at + piece + " x", "x" * at + " " + piece + "-"):
        data, begins, ends, _, _ = cut([text])
        assert [data[b:e].tobytes().decode() for b, e in zip(begins, ends, strict=True)] == oracle(text)


def test_the_key_of_a_short_piece_is_the_piece() -> None:
    _, _, _, keys, _ = cut(["a abc abcxyza"])
    assert [key.tobytes().rstrip(b"\0") for key in keys] == [b"a", b"abc", b"abcxyza"]


def test_the_key_of_a_short_piece_ends_where_it_ends() -> None:
    """What stands behind it is read with it, eight bytes at once."""
    kinds = KINDS.copy()
    kinds[0x80:] = 1
    text = "abc \u00e9\u00e9\u00e9 ab \u00ff\u00ff\u00ff".encode()
    begins, ends, keys = np.empty((3, len(text)), np.int64)
    stops = np.empty(1, np.int64)
    data = np.frombuffer(text, np.uint8)
    cut_pieces(data, np.array([0, data.size]), kinds, AFTER, BEFORE, EITHER, begins, ends, keys, stops)
    assert [int(key).to_bytes(8, "little").rstrip(b"\0") for key in keys[: stops[0]]] == [
        b"abc",
        b"\xc3\xa9" * 3,
        b"ab",
        b"\xc3\xbf" * 3,
    ]


def test_the_key_of_a_longer_piece_has_the_hash_of_its_rest() -> None:
    _, _, _, keys, _ = cut(["abcxyzaa abcxyzaabc"])
    word = int.from_bytes(b"abcxyza", "little")
    published = [0xE40C292C, 0x1A47E90B]  # of "a" and "abc", the 32-bit variant of FNV-1a
    assert keys.tolist() == [1 << 56 | word ^ rest << 24 for rest in published]


class Table:
    """A table that begins too small."""

    def __init__(self) -> None:
        self.state, self.slots = np.zeros(1, np.int64), np.full(8, -1, np.int64)
        self.keys, self.starts, self.text = np.zeros(1, np.int64), np.zeros(2, np.int64), np.zeros(1, np.uint8)

    def numbers(self, data: U8, begins: I64, ends: I64, keys: I64) -> I32:
        found = np.empty(begins.size, np.int32)
        done = 0
        for _ in range(100):
            done = number_spans(
                data, begins, ends, keys, done, self.state, self.slots, self.keys, self.starts, self.text, found
            )
            if done == begins.size:
                break
            self.keys, self.text = np.resize(self.keys, 2 * self.keys.size), np.resize(self.text, 2 * self.text.size)
            self.starts = np.resize(self.starts, self.keys.size + 1)
            self.slots = np.empty(8 * self.keys.size, np.int64)
            fill_slots(self.keys[: self.state[0]], self.slots)
        assert done == begins.size
        return found


@given(TEXTS, TEXTS)
def test_numbers_follow_first_appearance_and_stay(first: list[str], second: list[str]) -> None:
    table = Table()
    ref: dict[str, int] = {}
    for texts in (first, second, first):
        data, begins, ends, keys, _ = cut(texts)
        got = table.numbers(data, begins, ends, keys)
        assert got.tolist() == [ref.setdefault(piece, len(ref)) for text in texts for piece in oracle(text)]
    count = int(table.state[0])
    held = [table.text[table.starts[i] : table.starts[i + 1]].tobytes().decode() for i in range(count)]
    assert held == list(ref)


def test_equal_keys_of_longer_pieces_are_told_apart() -> None:
    data = np.frombuffer(b"abcxyzaaabcxyzab", np.uint8)
    got = Table().numbers(data, np.array([0, 8, 0]), np.array([8, 16, 8]), np.full(3, 1 << 56))
    assert got.tolist() == [0, 1, 0]


@given(st.lists(st.text("ab", min_size=SHORT - 2, max_size=SHORT + 3), max_size=12))
def test_pieces_around_the_length_of_a_key(pieces: list[str]) -> None:
    data, begins, ends, keys, _ = cut([" ".join(pieces)])
    ref: dict[str, int] = {}
    assert Table().numbers(data, begins, ends, keys).tolist() == [ref.setdefault(piece, len(ref)) for piece in pieces]


def test_equal_keys_of_pieces_that_begin_differently_are_told_apart() -> None:
    data = np.frombuffer(b"abcxyzaazbcxyzaa", np.uint8)
    got = Table().numbers(data, np.array([0, 8, 0]), np.array([8, 16, 8]), np.full(3, 1 << 56))
    assert got.tolist() == [0, 1, 0]


def test_an_empty_span_has_no_number() -> None:
    got = Table().numbers(np.frombuffer(b"a", np.uint8), np.array([0, 0]), np.array([0, 1]), np.zeros(2, np.int64))
    assert got.tolist() == [-1, 0]


@pytest.mark.parametrize(("starts", "ref"), [([0], b""), ([0, 0], b","), ([0, 2], b"ab,"), ([1, 2, 4], b"b,cd,")])
def test_spans_are_joined(starts: list[int], ref: bytes) -> None:
    out = np.empty(len(ref), np.uint8)
    join_spans(np.frombuffer(b"abcd", np.uint8), np.array(starts), ord(","), out)
    assert out.tobytes() == ref

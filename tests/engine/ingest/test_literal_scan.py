from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina_engine.errors import InvalidArgument
from lamina_engine.ingest.literal_scan import LiteralScan, as_bytes

WORDS = ("abcd", "ghp_", "://x", "AAAA", '"d":', "a1b2")
SCAN = LiteralScan(WORDS)


def fold(text: str) -> bytes:
    return bytes(byte | 0x20 for byte in text.encode("ascii", "replace"))


def oracle(text: str) -> list[tuple[int, int]]:
    numbers = {fold(word): SCAN.number(word) for word in WORDS}
    raw = fold(text)
    return [(i, numbers[raw[i : i + 4]]) for i in range(len(raw) - 3) if raw[i : i + 4] in numbers]


def pairs(text: str) -> list[tuple[int, int]]:
    positions, numbers = SCAN.hits(as_bytes(text))
    return list(zip(positions.tolist(), numbers.tolist(), strict=True))


@given(st.lists(st.sampled_from([*WORDS, *'aAbB1_:/x"é密\ud800 \n'])).map("".join))
@settings(max_examples=300, deadline=None)
def test_hits_are_those_of_a_slow_search(text: str) -> None:
    assert pairs(text) == oracle(text)


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 5, 7, 8])
def test_short_texts(size: int) -> None:
    assert pairs("aaaaaaaa"[:size]) == oracle("aaaaaaaa"[:size])


@pytest.mark.parametrize("offset", range(-6, 3))
def test_a_literal_across_the_border_of_two_blocks(offset: int) -> None:
    start = (1 << 17) + offset
    assert pairs(" " * start + "ghp_" + " " * 10) == [(start, SCAN.number("ghp_"))]


def test_case_is_ignored_and_numbers_are_shared() -> None:
    scan = LiteralScan(["AbCd", "aBcD", "zzzz"])
    assert scan.size == 2
    assert scan.number("ABCD") == scan.number("abcd")
    with pytest.raises(KeyError):
        scan.number("none")


@pytest.mark.parametrize("literal", ["", "abc", "abcde", "abcé"])
def test_a_literal_of_another_length_or_alphabet_is_refused(literal: str) -> None:
    with pytest.raises(InvalidArgument, match="4 ASCII"):
        LiteralScan([literal])

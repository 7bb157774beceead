from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_kernels.layouts import U8
from lamina_kernels.literals import FOLD, FREE, LINK, TOKEN, Surroundings, check_places, find_grams, gram_table

WORDS = sorted({bytes(byte | FOLD for byte in word) for word in (b"abcd", b"ghp_", b"://x", b"aaaa", b"a1b2")})
GRAMS = np.sort(np.frombuffer(b"".join(WORDS), "<u4").astype(np.uint32))
TABLE = gram_table(GRAMS)


def run(text: U8, room: int = 64) -> tuple[int, list[tuple[int, int]]]:
    positions, numbers = np.empty(room, np.int64), np.empty(room, np.int64)
    found = find_grams(text, GRAMS, TABLE, positions, numbers)
    kept = min(found, room)
    return found, list(zip(positions[:kept].tolist(), numbers[:kept].tolist(), strict=True))


def oracle(text: bytes) -> list[tuple[int, int]]:
    raw = bytes(byte | FOLD for byte in text)
    words = [int(word).to_bytes(4, "little") for word in GRAMS]
    return [(i, words.index(raw[i : i + 4])) for i in range(len(raw) - 3) if raw[i : i + 4] in words]


@given(st.lists(st.sampled_from([*WORDS, b"ABCD", b"a", b"b", b"1", b"?", b" "]), max_size=20).map(b"".join))
def test_places_are_those_of_a_slow_search(text: bytes) -> None:
    found, got = run(np.frombuffer(text, np.uint8), room=100)
    assert got == oracle(text)
    assert found == len(got)


@pytest.mark.parametrize("size", range(6))
def test_short_texts(size: int) -> None:
    text = b"aaaaa"[:size]
    assert run(np.frombuffer(text, np.uint8))[1] == oracle(text)


def test_more_than_there_is_room_for_is_told() -> None:
    text = np.frombuffer(b"abcd" * 5, np.uint8)
    assert run(text, room=2) == (5, oracle(text.tobytes())[:2])


@pytest.mark.parametrize(
    ("text", "follow", "lead", "back", "keep"),
    [
        (b"xabcd", FREE, b"", 0, True),
        (b"zabcd", FREE, b"za", 1, True),
        (b"ZABCD", FREE, b"za", 1, True),
        (b"yabcd", FREE, b"za", 1, False),
        (b"abcd", FREE, b"za", 1, False),
        (b"abcd", FREE, b"abcde", 0, False),
        (b"abcd-1234567", TOKEN, b"", 0, True),
        (b"abcd-123456", TOKEN, b"", 0, False),
        (b"abcd-1234(67", TOKEN, b"", 0, False),
        (b"abcd-123\nmore", TOKEN, b"", 0, True),
        (b"abcd-12\nmore!", TOKEN, b"", 0, False),
        (b"abcd://me@", LINK, b"", 0, True),
        (b"abcd://me @", LINK, b"", 0, False),
        (b"abcd" + 396 * b"x" + b"@", LINK, b"", 0, False),
        (b"abcd" + 395 * b"x" + b"@", LINK, b"", 0, True),
    ],
)
def test_a_place_stays_where_its_surroundings_hold(
    text: bytes, follow: int, lead: bytes, back: int, *, keep: bool
) -> None:
    at, number = text.lower().index(b"abcd"), 1
    never = np.frombuffer(b"\x20", np.uint8)
    around = Surroundings(
        starts=np.array([0, 1, 3]), backs=np.array([0, 500, back]), lead_starts=np.array([0, 1, 1, 1 + len(lead)]),
        leads=np.concatenate([never, np.frombuffer(lead, np.uint8)]), follows=np.array([FREE, FREE, follow]),
    )  # fmt: skip
    out = np.empty(1, np.uint8)
    check_places(np.frombuffer(text, np.uint8), np.array([at]), np.array([number]), around, out)
    assert out.tolist() == [keep]

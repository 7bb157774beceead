"""Forms by example; that they are those of the slow rules on any input is held in tests/engine/index/test_wordtable.py."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

from lamina_kernels.forms import FORM_FACTOR, TEXT_FACTOR, ascii_forms, hash_forms, letter_ends
from lamina_kernels.layouts import I64, U8

START = zlib.crc32(b"=")


def run(*pieces: str) -> tuple[U8, tuple[I64, ...], I64, U8]:
    coded = [piece.encode() for piece in pieces]
    starts = np.cumsum([0, *map(len, coded)], dtype=np.int64)
    used = int(starts[-1])
    folded, room = np.empty(TEXT_FACTOR * used, np.uint8), FORM_FACTOR * used + 2 * len(pieces)
    begins, ends, surface_begins, surface_ends = (np.empty(room, np.int64) for _ in range(4))
    stops, taken = np.empty(len(pieces), np.int64), np.empty(len(pieces), np.uint8)
    ascii_forms(
        np.frombuffer(b"".join(coded), np.uint8),
        starts,
        folded,
        begins,
        ends,
        surface_begins,
        surface_ends,
        stops,
        taken,
    )
    count = int(stops[-1]) if pieces else 0
    return folded, tuple(span[:count] for span in (begins, ends, surface_begins, surface_ends)), stops, taken


def texts(folded: U8, begins: I64, ends: I64) -> list[str]:
    return [folded[begin:end].tobytes().decode() for begin, end in zip(begins, ends, strict=True)]


@pytest.mark.parametrize(
    ("piece", "bases", "surfaces"),
    [
        ("Word", "word", None),
        ("foo_bar", "foo bar foobar", "foo bar foo_bar"),
        ("fooBar", "foo bar foobar", None),
        ("HTTPServer", "http server httpserver", None),
        ("IDs", "ids", None),
        ("os.path.join", "os path join ospathjoin", "os path join os.path.join"),
        ("fooBar.x", "foo bar x foobar foobarx", "foo bar x foobar foobar.x"),
        ("a.b.c.d.e", "a b c d e", None),
        ("v1.2.3", "1.2.3 1 2 3", None),
        ("1.2rc1", "1.2 1 2rc1", None),
        ("550e8400f00d", "550e8400f00d", None),
        ("word's", "word", None),
        ("don't", "dont", None),
        ("rock'n'roll", "rock n roll rocknroll", "rock n roll rock'n'roll"),
        ("C++", "c c++", None),
        ("abc++", "abc", None),
        ("10,000", "10000", None),
        ("1,0000", "1 0000", None),
        ("a-b/c", "a b ab c", "a b a-b c"),
        ("...", "", None),
    ],
)
def test_golden_forms(piece: str, bases: str, surfaces: str | None) -> None:
    folded, (begins, ends, surface_begins, surface_ends), _, taken = run(piece)
    assert taken.tolist() == [1]
    assert texts(folded, begins, ends) == bases.split()
    assert texts(folded, surface_begins, surface_ends) == (bases if surfaces is None else surfaces).split()


def test_other_scripts_and_long_pieces_are_left() -> None:
    _, _, stops, taken = run("a", "é", "x" * 64, "x" * 65, "b")
    assert taken.tolist() == [1, 0, 1, 0, 1]
    assert stops.tolist() == [1, 1, 2, 2, 3]


def test_no_pieces() -> None:
    assert run()[2].tolist() == []


def test_letters_are_told_from_what_holds_other_characters() -> None:
    out = np.empty(3, np.int64)
    letter_ends(np.frombuffer(b"aBc1+", np.uint8), np.array([0, 2, 4]), np.array([3, 4, 4]), out)
    assert out.tolist() == [3, 2, 4]


def test_hashes_are_checksums_of_stems_and_of_surfaces_that_differ() -> None:
    folded, (begins, ends, surface_begins, surface_ends), stops, _ = run("Running", "foo_bar", "...", "x1")
    stem_text, stem_starts = np.frombuffer(b"run", np.uint8), np.array([0, 3])
    numbers = np.array([0, *[-1] * (int(stops[-1]) - 1)], np.int32)
    hashes, hash_stops = np.empty(2 * int(stops[-1]), np.uint32), np.empty(4, np.int64)
    surfaces, surface_stops = np.empty(100, np.uint8), np.empty(4, np.int64)
    hash_forms(
        folded, begins, ends, surface_begins, surface_ends, stops, numbers, stem_text, stem_starts, START, hashes, hash_stops, surfaces, surface_stops
    )  # fmt: skip
    ref = [
        ("run", "running"),
        ("foo", "foo"),
        ("bar", "bar"),
        ("foobar", "foo_bar"),
        ("x", "x"),
        ("1", "1"),
        ("x1", "x1"),
    ]
    wanted = [
        key
        for stem, surface in ref
        for key in [zlib.crc32(stem.encode()), *([zlib.crc32(surface.encode(), START)] if stem != surface else [])]
    ]
    assert hashes[: hash_stops[-1]].tolist() == wanted
    assert hash_stops.tolist() == [2, 6, 6, 9]
    assert surfaces[: surface_stops[-1]].tobytes() == b"runningfoo bar foo_barx 1 x1"
    assert surface_stops.tolist() == [7, 22, 22, 28]

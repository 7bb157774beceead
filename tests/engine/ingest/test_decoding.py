from __future__ import annotations

import codecs
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina_engine.ingest.decoding import Decoded, Refusal, decode

FAST = settings(max_examples=60, deadline=None)

PLAIN = st.text(st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from("\n\r\t"), max_size=80)
CODECS = {
    "utf-8": b"",
    "utf-8-sig": b"",
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
}


def read(data: bytes) -> Decoded:
    got = decode(data)
    assert isinstance(got, Decoded)
    return got


def normalised(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


@FAST
@given(PLAIN, st.sampled_from(sorted(CODECS)))
def test_text_survives_every_encoding(text: str, codec: str) -> None:
    text = text.lstrip("\ufeff")
    got = read(CODECS[codec] + text.encode(codec))
    assert got.text == normalised(text)
    assert got.warning is None


@FAST
@given(PLAIN, st.sampled_from(sorted(CODECS)), st.data())
def test_offsets_point_at_the_bytes_of_each_range(text: str, codec: str, draw: st.DataObject) -> None:
    data = CODECS[codec] + text.lstrip("\ufeff").encode(codec)
    got = read(data)
    cuts = draw.draw(st.lists(st.integers(0, len(got.text)), max_size=6).map(sorted))
    positions = [0, *cuts, len(got.text)]
    bounds = got.offsets.bytes_at(positions)
    assert bounds == sorted(bounds)
    assert bounds[-1] == len(data)
    plain = codec.removesuffix("-sig")
    for (i, j), (start, stop) in zip(pairwise(positions), pairwise(bounds), strict=True):
        assert normalised(data[start:stop].decode(plain)) == got.text[i:j]


@FAST
@given(st.binary(max_size=200), st.sampled_from([b"", *CODECS.values(), codecs.BOM_UTF8]))
def test_any_bytes_are_read_or_refused_and_never_raise(data: bytes, mark: bytes) -> None:
    got = decode(mark + data)
    if isinstance(got, Refusal):
        assert got.code in ("binary", "encoding")
        return
    assert "\r" not in got.text
    got.text.encode()  # no lone surrogates
    bounds = got.offsets.bytes_at(range(len(got.text) + 1))
    assert bounds == sorted(bounds)
    assert bounds[-1] == len(mark + data)


@pytest.mark.parametrize(
    ("data", "offsets"), [(b"", [0]), (b"a", [0, 1]), (b"\r\n", [0, 2]), (b"a\r\n\rb", [0, 1, 3, 4, 5])]
)
def test_newlines_map_to_their_bytes(data: bytes, offsets: list[int]) -> None:
    got = read(data)
    assert got.offsets.bytes_at(range(len(got.text) + 1)) == offsets


def test_byte_order_mark_is_no_text() -> None:
    got = read(codecs.BOM_UTF8 + b"hi")
    assert (got.text, got.offsets.bytes_at([0, 2])) == ("hi", [3, 5])


def test_windows_text_is_guessed_and_reported() -> None:
    got = read("Das Café schließt früh, sagte er.".encode("cp1252"))
    assert got.text == "Das Café schließt früh, sagte er."
    assert got.encoding == "cp1252"
    assert got.warning is not None


def test_latin_1_where_windows_has_no_character() -> None:
    assert read(b"plain words and one odd byte \x81 here").encoding == "latin-1"


def test_one_bad_byte_does_not_turn_utf8_into_mojibake() -> None:
    data = "日本語のメモ".encode() + b"\xff" + "です".encode()
    got = read(data)
    assert got.text == "日本語のメモ\ufffdです"
    assert got.offsets.bytes_at([6, 7]) == [18, 19]
    assert got.warning is not None
    assert "1 bytes" in got.warning


def test_half_a_utf16_unit_is_reported() -> None:
    got = read(codecs.BOM_UTF16_LE + "ab".encode("utf-16-le") + b"c")
    assert got.text == "ab\ufffd"
    assert got.offsets.bytes_at([0, 2, 3]) == [2, 6, 7]
    assert got.warning is not None


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"\x89PNG\r\n\x1a\n\0\0", "binary"),
        ("no mark".encode("utf-16-le"), "binary"),
        (b"\x01\x02\x03\x04 text", "binary"),
        ("Заметка о базе данных".encode("cp1251"), "encoding"),
        (codecs.BOM_UTF32_LE + b"abc", "encoding"),
        (codecs.BOM_UTF16_LE + b"a\0\0\0", "binary"),
    ],
)
def test_what_is_no_text_is_refused(data: bytes, code: str) -> None:
    got = decode(data)
    assert isinstance(got, Refusal)
    assert got.code == code


def test_terminal_colours_are_text() -> None:
    assert read(b"\x1b[31mred\x1b[0m and more words").text.startswith("\x1b")

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_engine.sessions import streams as lines
from lamina_engine.sessions.streams import Lines, clean_surrogates, decode, decoder_of


@given(st.lists(st.binary(max_size=12), max_size=6).map(b"\n".join), st.integers(1, 8), st.integers(1, 9))
def test_lines_cover_every_byte_and_none_is_over_the_limit(data: bytes, limit: int, block: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "_LINES_BYTES", block)
        read = Lines(io.BytesIO(data), limit)
        runs = list(read.runs())
    assert read.size == len(data)
    assert read.digest == hashlib.blake2b(data, digest_size=16).digest()
    ref = data.split(b"\n") if not data.endswith(b"\n") else data.split(b"\n")[:-1]
    got = [line for _, run in runs for line in run]
    assert got == [b"" if len(line) > limit else line for line in (ref if data else [])]
    assert [number for first, run in runs for number in range(first, first + len(run))] == [*range(1, len(got) + 1)]
    assert read.too_long == {number for number, line in enumerate(ref, 1) if len(line) > limit}
    assert read.unfinished == (len(got) if data and not data.endswith(b"\n") else 0)


def test_what_strict_readers_refuse_is_read_all_the_same() -> None:
    read: Callable[[bytes], object] = decode
    assert read(b'"half a pair \\ud83d!"') == "half a pair \ud83d!"
    assert read(b'\xef\xbb\xbf{"a": 1}') == {"a": 1}
    assert clean_surrogates("half \ud83d!") == "half \ufffd!"
    assert clean_surrogates("whole \U0001f600 é") == "whole \U0001f600 é"


@pytest.mark.parametrize("data", [b"{", b"", b"NaN", b'{"a":\xff}', b"[" * 100_000, b'"\\ud8', b"\xff"])
def test_what_is_no_json_says_so(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        decode(data)


def test_a_decoder_for_objects_refuses_other_values() -> None:
    objects = decoder_of(dict[str, Any])
    assert objects(b'{"a": "\\ud83d"}') == {"a": "\ud83d"}
    with pytest.raises(ValueError, match="object"):
        objects(b"42")

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_engine.sessions import streams
from lamina_engine.sessions.streams import Elements, Lines, clean_surrogates, decode, decoder_of


@given(st.lists(st.binary(max_size=12), max_size=6).map(b"\n".join), st.integers(1, 8), st.integers(1, 9))
def test_lines_cover_every_byte_and_none_is_over_the_limit(data: bytes, limit: int, block: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "_LINES_BYTES", block)
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


# elements of a JSON array

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(st.sampled_from('a"\\[]{},: é'), max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(st.dictionaries(st.text(st.sampled_from('k"\\]}'), max_size=3), JSON, max_size=3), max_size=4),
       st.integers(1, 7), st.sampled_from([None, 1]))  # fmt: skip
def test_elements_of_an_array_whatever_the_blocks(values: list[Any], block: int, indent: int | None) -> None:
    data = json.dumps(values, indent=indent, ensure_ascii=False).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "_ELEMENTS_BYTES", block)
        elements = Elements(io.BytesIO(data))
        got = [json.loads(element or b"") for element in elements]
        assert (got, elements.complete, elements.size) == (values, True, len(data))
        cut = Elements(io.BytesIO(data[:-1]))
        assert [json.loads(element or b"") for element in cut] == values
        assert not cut.complete


def test_one_object_alone_and_one_that_is_too_long() -> None:
    assert list(Elements(io.BytesIO(b' {"a": [1]} '))) == [b'{"a": [1]}']
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "_ELEMENTS_BYTES", 8)
        data = b'[{"a": 1}, {"b": "' + b"x" * 100 + b'"}, {"c": 3}]'
        assert list(Elements(io.BytesIO(data), limit=40)) == [b'{"a": 1}', None, b'{"c": 3}']

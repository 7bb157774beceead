from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_engine import columns

KINDS: list[tuple[pa.DataType, st.SearchStrategy[Any]]] = [
    (pa.string(), st.text(max_size=5)),
    (pa.large_string(), st.text(max_size=5)),
    (pa.binary(3), st.binary(min_size=3, max_size=3)),
    (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    (pa.bool_(), st.booleans()),
    (pa.list_(pa.string()), st.lists(st.text(max_size=3), max_size=3)),
    (pa.list_(pa.int64()), st.lists(st.integers(-9, 9), max_size=3)),
    (pa.dictionary(pa.int32(), pa.string()), st.sampled_from(["a", "b", "é"])),
]


@given(st.data())
def test_single_values_are_those_of_arrow_in_slices_and_with_nulls(data: st.DataObject) -> None:
    kind, values = data.draw(st.sampled_from(KINDS))
    given_ = data.draw(st.lists(st.none() | values, min_size=1, max_size=12))
    start = data.draw(st.integers(0, len(given_) - 1))
    array = pa.array(given_, kind).slice(start)
    got = columns.strings(array, range(len(array)))
    assert got == array.to_pylist()


@given(st.lists(st.none() | st.integers(-(2**62), 2**62), min_size=1, max_size=20), st.integers(0, 19))
def test_numbers_and_validity_agree_with_arrow(given_: list[int | None], start: int) -> None:
    array = pa.array(given_, pa.int64()).slice(min(start, len(given_)))
    ref = array.to_pylist()
    if ref:
        assert columns.numbers(array, -7).tolist() == [-7 if v is None else v for v in ref]
    assert columns.validity(array).tolist() == [v is not None for v in ref]


def test_numbers_without_nulls_are_a_read_only_view() -> None:
    got = columns.numbers(pa.array([1, 2, 3]))
    with pytest.raises(ValueError, match="read-only"):
        got[0] = 9


@pytest.mark.parametrize(("start", "stop"), [(0, 5), (2, 5), (1, 3), (5, 5)])
def test_vectors_survive_wrapping_and_slicing(start: int, stop: int) -> None:
    ref = np.arange(15, dtype=np.float32).reshape(5, 3)
    array = columns.vector_array(ref)
    assert np.array_equal(columns.vectors(array.slice(start, stop - start)), ref[start:stop])
    assert np.array_equal(columns.vectors(columns.vector_array(np.asfortranarray(ref))), ref)

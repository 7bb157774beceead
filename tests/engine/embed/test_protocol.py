from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from lamina_engine.embed.protocol import add_prefixes, check_texts, describe_prefixes, unit_rows
from lamina_engine.errors import EmbeddingError, InvalidArgument

FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=40)
@given(arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=6), elements=FLOATS))
def test_unit_length_or_zero_and_independent_of_the_batch(given_rows: np.ndarray) -> None:
    got = unit_rows(given_rows, len(given_rows), None, source="s")
    assert got.dtype == np.float32
    norms = np.linalg.norm(got.astype(np.float64), axis=1)
    np.testing.assert_allclose(norms, given_rows.any(axis=1).astype(float), atol=1e-6)
    for row, vector in enumerate(got):
        assert unit_rows(given_rows[row : row + 1], 1, None, source="s").tobytes() == vector.tobytes()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8, np.uint64])
def test_any_real_dtype_and_layout(dtype: type) -> None:
    ref = np.array([[0.6, 0.8], [0.0, 0.0]], np.float32)
    rows: np.ndarray = np.array([[3, 4], [0, 0]], dtype)
    np.testing.assert_array_equal(unit_rows(rows, 2, 2, source="s"), ref)
    np.testing.assert_array_equal(unit_rows(np.asfortranarray(rows), 2, 2, source="s"), ref)
    np.testing.assert_array_equal(unit_rows(rows.tolist(), 2, 2, source="s"), ref)
    rows.flags.writeable = False
    unit_rows(rows, 2, 2, source="s")


def test_long_rows_do_not_depend_on_the_batch() -> None:
    rows = np.random.default_rng(0).standard_normal((33, 1536)).astype(np.float32)
    whole = unit_rows(rows, 33, 1536, source="s")
    for i in range(33):
        assert unit_rows(rows[i : i + 1], 1, 1536, source="s").tobytes() == whole[i].tobytes()


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        ([1.0, 2.0], "shape"),
        ([[1.0], [2.0], [3.0]], "shape"),
        ([[[1.0]], [[2.0]]], "shape"),
        ([[], []], "shape"),
        (None, "dtype"),
        ([[1.0], [2.0, 3.0]], "different lengths"),
        ([["a"], ["b"]], "dtype"),
        ([[1j], [2]], "dtype"),
        ([[True], [False]], "dtype"),
        ([[1.0, 2.0, 3.0]] * 2, "3 dimensions, 2 are expected"),
        ([[1.0, 2.0], [np.nan, 1.0]], "text 1 of 2"),
        ([[np.inf, 2.0], [1.0, 1.0]], "text 0 of 2"),
    ],
)
def test_what_cannot_be_used_is_refused(vectors: object, message: str) -> None:
    with pytest.raises(EmbeddingError, match=message):
        unit_rows(vectors, 2, 2, source="model m")


def test_no_texts() -> None:
    assert unit_rows(np.zeros((0, 3)), 0, None, source="s").shape == (0, 3)


def test_texts() -> None:
    assert check_texts(("a", "b")) == ["a", "b"]
    for bad in ("a", b"a", [1]):
        with pytest.raises(InvalidArgument):
            check_texts(bad)  # type: ignore[arg-type]
    assert add_prefixes(["", "a", " \n", "b"], "p: ") == (["p: a", "p: b"], [1, 3])


def test_prefixes_stay_on_one_line() -> None:
    assert describe_prefixes("", "") == ""
    assert describe_prefixes("q:\n", "d") == ";query='q:\\n';document='d'"

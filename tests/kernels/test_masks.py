from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lamina_kernels.layouts import I32, U8, U16
from lamina_kernels.masks import mask_codes_window, mask_codes_window_numpy, rows_of

LEAST, GREATEST = -(2**31), 2**31 - 1
bound = st.one_of(
    st.integers(-3, 8), st.sampled_from([LEAST - 1, LEAST, LEAST + 1, GREATEST, GREATEST + 1, -(2**40), 2**40])
)
second = st.one_of(st.integers(-2, 6), st.sampled_from([LEAST, GREATEST]))


def kernel_mask(codes: U16, wanted: U8, seconds: I32, lo: int, hi: int) -> U8:
    out = np.full(codes.size, 7, np.uint8)
    mask_codes_window(codes, wanted, seconds, lo, hi, out)
    return out


@given(
    rows=st.lists(st.tuples(st.integers(0, 4), second), max_size=20),
    wanted=st.lists(st.sampled_from([0, 1, 255]), min_size=5, max_size=5),
    lo=bound,
    hi=bound,
)
def test_both_ways_equal_the_condition(rows: list[tuple[int, int]], wanted: list[int], lo: int, hi: int) -> None:
    codes = np.array([code for code, _ in rows], np.uint16)
    seconds = np.array([moment for _, moment in rows], np.int32)
    table = np.array(wanted, np.uint8)
    ref = [int(wanted[code] != 0 and lo <= moment < hi) for code, moment in rows]
    assert kernel_mask(codes, table, seconds, lo, hi).tolist() == ref
    got = mask_codes_window_numpy(codes, table, seconds, lo, hi)
    assert got.dtype == np.uint8
    assert got.tolist() == ref


def test_widest_code() -> None:
    wanted = np.zeros(2**16, np.uint8)
    wanted[[0, 65535]] = 1
    codes = np.array([65535, 1, 0], np.uint16)
    assert kernel_mask(codes, wanted, np.zeros(3, np.int32), 0, 1).tolist() == [1, 0, 1]


def test_no_code_wanted() -> None:
    codes, seconds = np.zeros(3, np.uint16), np.zeros(3, np.int32)
    for wanted in (np.zeros(4, np.uint8), np.zeros(1, np.uint8)):
        assert kernel_mask(codes, wanted, seconds, 0, 1).tolist() == [0, 0, 0]
        assert mask_codes_window_numpy(codes, wanted, seconds, 0, 1).tolist() == [0, 0, 0]


def test_rows_of() -> None:
    got = rows_of(np.array([0, 3, 0, 1], np.uint8))
    assert got.dtype == np.int64
    assert got.tolist() == [1, 3]
    assert rows_of(np.zeros(0, np.bool_)).tolist() == []

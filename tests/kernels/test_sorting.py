"""Sorting inside kernels, against Python's own."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_kernels.sorting import order_keys, sort_digits, sort_rows, sort_spread

number = st.one_of(st.integers(-300, 300), st.integers(-(2**63), 2**63 - 1))


@given(st.lists(number, max_size=150), st.integers(0, 5))
def test_the_first_numbers_are_sorted_and_the_others_left(numbers: list[int], left: int) -> None:
    size = max(len(numbers) - left, 0)
    rows = np.array(numbers, np.int64)
    sort_rows(rows, size)
    assert rows.tolist() == sorted(numbers[:size]) + numbers[size:]


@pytest.mark.parametrize("size", [64, 65, 1000])  # by insertion, and by bytes
@pytest.mark.parametrize("most", [2, 256, 70_000, 2**62])
def test_any_range_of_numbers(size: int, most: int) -> None:
    rows = np.random.default_rng(size).integers(-most, most, size)
    ref = sorted(rows.tolist())
    sort_rows(rows, size)
    assert rows.tolist() == ref


@given(st.lists(number, max_size=90), st.randoms())
def test_positions_are_ordered_by_their_keys_and_equal_ones_stay(keys: list[int], random: Random) -> None:
    chosen = [place for place in range(len(keys)) if place % 3]
    random.shuffle(chosen)
    order = np.array(chosen, np.int64)
    order_keys(np.array(keys, np.int64), order)
    assert order.tolist() == sorted(chosen, key=keys.__getitem__)


@given(st.lists(number, max_size=90), st.sampled_from([0, 8, 24, 56]))
def test_bits_from_one_on_decide_and_equal_ones_stay(numbers: list[int], low: int) -> None:
    keys = np.array(numbers, np.int64)
    sort_digits(keys, low)
    assert keys.tolist() == sorted(numbers, key=lambda each: each >> low)


@pytest.mark.parametrize("size", [0, 1, 16, 17, 1_024, 1_025])  # by insertion, spread by a byte, and by all bytes
@pytest.mark.parametrize("most", [1, 300, 2**20])
def test_numbers_spread_in_a_byte_are_sorted(size: int, most: int) -> None:
    keys = np.random.default_rng(size).integers(0, most, size)
    ref = sorted(keys.tolist())
    sort_spread(keys, 12, np.empty(size, np.int64))
    assert keys.tolist() == ref

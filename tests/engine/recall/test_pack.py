from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_engine.recall.pack import count_tokens, pack


@pytest.mark.parametrize(
    ("value", "ref"),
    [
        ("", 0),
        ("a", 1),
        ("abcd", 1),
        ("abcde", 2),
        ("日本語", 3),
        ("日本語abc", 4),
        ("é" * 4, 1),
        ("é" * 5, 2),
        ("<|endoftext|>", 4),
        ("😀", 1),
    ],
)
def test_token_counts(value: str, ref: int) -> None:
    assert count_tokens(value) == ref


@pytest.mark.parametrize(
    ("sizes", "k", "budget", "ref"),
    [
        ((40, 900, 30), 10, 100, [0, 2]),
        ((40, 900, 30), 1, 100, [0]),
        ((101,), 10, 100, []),
        ((100, 1), 10, 100, [0]),
        ((40, 60, 1), 10, 100, [0, 1]),
        ((1, 2, 3), 2, None, [0, 1]),
        ((), 3, 5, []),
    ],
)
def test_what_does_not_fit_is_skipped_and_what_follows_is_tried(
    sizes: tuple[int, ...], k: int, budget: int | None, ref: list[int]
) -> None:
    assert pack(sizes, k, budget) == ref


@given(st.lists(st.integers(1, 50), max_size=12), st.integers(1, 12), st.integers(1, 200))
def test_a_budget_is_kept_in_order_and_nothing_more_would_fit(sizes: list[int], k: int, budget: int) -> None:
    got = pack(sizes, k, budget)
    left = budget - sum(sizes[i] for i in got)
    assert left >= 0
    assert got == sorted(got)
    assert len(got) <= k
    if len(got) < k:
        assert all(sizes[i] > left for i in range(len(sizes)) if i not in got)

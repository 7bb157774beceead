from __future__ import annotations

import numpy as np
import pytest

from lamina_kernels.hdbscan.survey import cut_spans, note_best


def cut(groups: list[int], width: int, apart: tuple[int, ...] = (0,)) -> list[int]:
    """Return the lengths of spans of groups of such sizes."""
    n = sum(groups)
    edge, parted = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
    edge[np.cumsum([0, *groups[:-1]])] = True
    parted[list(apart)] = True
    span = np.zeros(n, np.int64)
    cut_spans(edge | parted, parted, width, span)
    assert (np.diff(span) >= 0).all()
    assert (np.diff(span) <= 1).all()
    return [int(count) for count in np.bincount(span)]


@pytest.mark.parametrize(
    ("groups", "lengths"),
    [
        ([1], [1]), ([16], [16]), ([17], [9, 8]), ([40], [14, 13, 13]), ([8, 8], [8, 8]), ([3, 4, 5, 6], [12, 6]),
        ([5, 20, 5], [5, 10, 10, 5]), ([1] * 20, [16, 4]),
    ],
)  # fmt: skip
def test_large_groups_have_stretches_of_their_own_and_small_ones_share(groups: list[int], lengths: list[int]) -> None:
    assert cut(groups, 16) == lengths


def test_parts_share_no_stretch() -> None:
    assert cut([2, 3, 4], 16) == [9]
    assert cut([2, 3, 4], 16, apart=(0, 5)) == [5, 4]


def test_the_best_score_of_any_two_stretches_is_noted() -> None:
    rng = np.random.default_rng(1)
    tile = rng.standard_normal((12, 64)).astype(np.float32)
    span = np.repeat([0, 1, 2, 3, 4], [3, 5, 4, 30, 18])
    got = np.full((5, 5), -np.inf, np.float32)
    got[1, 2] = 9.0  # known before
    note_best(tile, 2, 12, 8, 60, span, got)
    ref = np.full((5, 5), -np.inf, np.float32)
    ref[1, 2] = 9.0
    for p in range(2, 12):
        for q in range(8, 60):
            ref[span[p], span[q]] = max(ref[span[p], span[q]], tile[p - 2, q - 8])
    assert got.tolist() == ref.tolist()

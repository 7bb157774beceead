from __future__ import annotations

import numpy as np
import pytest

from lamina_kernels.hdbscan import tiles
from lamina_kernels.hdbscan.packed import pack
from lamina_kernels.hdbscan.tiles import Reach, ScoredTile, score_tiles
from lamina_kernels.layouts import F64, I64
from lamina_kernels.threads import ThreadTeam
from tests.kernels.hdbscan.test_neighbors import as_points

N = 130


def shown(rows: I64, need: F64, bound: F64 | None, threads: int) -> dict[int, list[int]]:
    points = as_points(np.random.default_rng(3).standard_normal((N, 8)).astype(np.float32))
    packed = pack(points, "float32", centred=True)
    found: dict[int, list[int]] = {int(row): [] for row in rows}

    def visit(seen: ScoredTile) -> None:
        for q, row in enumerate(seen.rows.tolist()):
            found[row] += seen.columns.tolist()
            same = np.flatnonzero(seen.columns == row)
            assert np.abs(seen.scores[q, same]).max(initial=0.0) <= seen.margin[row]  # a row's score with itself is 0

    score_tiles(
        packed,
        rows,
        lambda some: need[some],
        visit,
        ThreadTeam(threads),
        None if bound is None else Reach.from_bound(bound),
    )
    return found


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("count", [0, 1, 5, N])
def test_each_row_sees_all_others_that_need_it(count: int, threads: int) -> None:
    rows, need = np.random.default_rng(4).permutation(N)[:count], np.full(N, 1.0)
    need[3] = -np.inf
    got = shown(rows, need, None, threads)
    assert all(sorted(each) == ([] if row == 3 else list(range(N))) for row, each in got.items())


@pytest.mark.parametrize("moved", [0, 10**9])
@pytest.mark.parametrize("threads", [1, 2])
def test_out_of_reach_is_what_no_row_of_a_tile_needs(moved: int, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiles, "_MOVED", moved)
    bound = np.random.default_rng(5).random(N)
    need = np.linspace(0.0, 0.9, N)
    rows = np.arange(N)
    got = shown(rows, need, bound, threads)
    for row, each in got.items():
        assert len(set(each)) == len(each)
        assert set(each) >= set(np.flatnonzero(bound < need[row]).tolist())
    if moved == 0:
        assert len(got[0]) < N  # the most that its tile needs is less than some bounds
    else:
        assert all(len(each) == N for each in got.values())


def test_reach_counts_rows_below_a_need() -> None:
    reach = Reach.from_bound(np.array([0.5, 0.1, np.inf, 0.3]))
    assert reach.order.tolist() == [1, 3, 0, 2]
    assert reach.within(np.array([0.0, 0.1, 0.3001, np.inf])).tolist() == [0, 0, 2, 3]

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina_kernels.hdbscan.certified import nearest
from lamina_kernels.hdbscan.neighbors import BestLists, join_lists, keep_best, uncertain_share
from lamina_kernels.hdbscan.packed import Arithmetic, pack
from lamina_kernels.layouts import F32, Neighbors, Points
from lamina_kernels.simd import LANES
from lamina_kernels.threads import ThreadTeam
from tests.oracles.density import core_distances, distances

PORTABLE: tuple[Arithmetic, ...] = ("float32", "int16-portable", "int8-portable")


def as_points(rows: F32) -> Points:
    return Points(np.ascontiguousarray(rows).reshape(-1), np.ones(len(rows)), rows.shape[1])


def sets(n: int) -> dict[str, F32]:
    """Rows that are easy, alike, equal, nearly equal, on a line, and of very different lengths."""
    rng = np.random.default_rng(1)
    plain = rng.standard_normal((n, 8))
    line = np.zeros((n, 8))
    line[:, 0] = np.arange(n)
    found = {
        "plain": plain,
        "equal": np.repeat(plain[: -(-n // 5)], 5, axis=0)[:n],
        "all equal": np.ones((n, 8)),
        "nearly equal": 1.0 + 1e-6 * plain,
        "line": line,
        "wide": plain * 10.0 ** rng.integers(-6, 7, (n, 1)),
    }
    return {name: rows.astype(np.float32) for name, rows in found.items()}


def search(points: Points, arithmetic: Arithmetic, k: int, listed: int, threads: int = 1) -> Neighbors:
    return nearest(points, pack(points, arithmetic, centred=True), k, listed, ThreadTeam(threads))


@pytest.mark.parametrize("arithmetic", PORTABLE)
@pytest.mark.parametrize("name", sets(1))
@pytest.mark.parametrize(("n", "k", "listed"), [(2, 1, 1), (3, 2, 2), (70, 3, 5)])
def test_core_distances_and_bounds_equal_the_full_matrix(
    arithmetic: Arithmetic, name: str, n: int, k: int, listed: int
) -> None:
    rows = sets(n)[name]
    matrix = distances(rows.astype(np.float64))
    got = search(as_points(rows), arithmetic, k, listed)
    assert got.core.tolist() == core_distances(matrix, k).tolist()  # to the bit
    for i in range(n):
        assert i not in got.rows[i]
        assert len(set(got.rows[i].tolist())) == listed
        assert got.distances[i].tolist() == matrix[i, got.rows[i]].tolist()
        assert got.distances[i].tolist() == sorted(got.distances[i].tolist())
        unseen = np.setdiff1d(np.arange(n), [i, *got.rows[i]])
        assert (matrix[i, unseen] >= got.bound[i]).all()
        assert (unseen.size == 0) == np.isinf(got.bound[i])


@pytest.mark.parametrize("arithmetic", PORTABLE)
def test_threads_change_nothing_that_is_promised(arithmetic: Arithmetic) -> None:
    points = as_points(np.random.default_rng(2).standard_normal((400, 8)).astype(np.float32))
    ref = search(points, arithmetic, 4, 9)
    got = search(points, arithmetic, 4, 9, threads=3)
    assert got.core.tobytes() == ref.core.tobytes()


def test_a_row_order_changes_nothing_but_the_order() -> None:
    rng = np.random.default_rng(3)
    rows, order = rng.standard_normal((90, 8)).astype(np.float32), rng.permutation(90)
    ref = search(as_points(rows), "int8-portable", 4, 9)
    got = search(as_points(rows[order]), "int8-portable", 4, 9)
    assert got.core.tobytes() == ref.core[order].tobytes()


def test_coarse_estimates_leave_more_rows_uncertain() -> None:
    points = as_points((5.0 + 0.01 * np.random.default_rng(4).standard_normal((80, 8))).astype(np.float32))
    shares = [
        uncertain_share(points, pack(points, arithmetic, centred=False), 4, 6, ThreadTeam(1)) for arithmetic in PORTABLE
    ]
    assert shares[0] <= shares[1] <= shares[2]
    assert shares[2] > 0.5


class Enough(Exception):
    pass


@pytest.mark.parametrize("threads", [1, 3])
def test_what_a_tick_raises_ends_the_work_and_leaves_no_thread(threads: int) -> None:
    seen: list[float] = []

    def tick(share: float) -> None:
        seen.append(share)
        raise Enough

    team = ThreadTeam(threads, tick)
    held = threading.Event()

    def work(slot: int, item: int) -> None:
        for _ in range(10_000):
            team.check()
            held.wait(0.001)
            if threads == 1:
                return

    before = threading.active_count()
    with pytest.raises(Enough):
        team.run(work, range(50))
    assert threading.active_count() == before
    assert len(seen) == 1
    assert 0.0 <= seen[0] <= 1.0


def test_a_worker_s_failure_is_the_caller_s() -> None:
    def work(slot: int, item: int) -> None:
        if item == 5:
            raise ValueError("five")

    team = ThreadTeam(2)
    with pytest.raises(ValueError, match="five"):
        team.run(work, range(10))
    done: list[int] = []
    team.run(lambda _, item: done.append(item), range(4), costs=[1, 2, 3, 4])  # the team can be used again
    assert sorted(done) == [0, 1, 2, 3]


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 150), st.sampled_from([2, 9, 1_000]))
def test_lists_hold_the_best_pairs(seed: int, listed: int, n: int, values: int) -> None:
    rng = np.random.default_rng(seed)
    whole = rng.integers(-values, 3, (n, n)).astype(np.float32) / 7
    scores = np.triu(whole, 1) + np.triu(whole, 1).T
    slots = [BestLists.empty(n, listed) for _ in range(2)]
    floors = np.full(n + 2 * LANES, -np.inf, np.float32)
    for start in range(0, n, 6):
        stop = min(start + 6, n)
        for column in range(start - start % 6, n, LANES):
            tile = np.full((6, LANES), -np.inf, np.float32)
            last = min(column + LANES, n)
            tile[: stop - start, : last - column] = scores[start:stop, column:last]
            keep_best(tile, start, stop, column, column, last, *slots[int(rng.integers(2))], floors)
    worst, got_rows = join_lists(slots, ThreadTeam(1))
    for i in range(n):
        best = np.sort(np.delete(scores[i], i))[::-1][:listed]
        count = best.size
        assert worst[i] == (best[-1] if count == listed else -np.inf)
        assert len(set(got_rows[i, :count].tolist()) - {i}) == count
        assert sorted(scores[i, got_rows[i, :count]].tolist(), reverse=True) == best.tolist()

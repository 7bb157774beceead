from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_kernels.graph import injection
from lamina_kernels.graph.injection import (
    UNMOVED,
    HitLinks,
    Shares,
    choose_neighbours,
    choose_neighbours_kernel,
    gather_neighbours,
    gather_neighbours_kernel,
    gather_neighbours_numpy,
    merge_walk_scores,
)
from lamina_kernels.layouts import F64, I64
from tests.kernels.graph.test_hops import Case, cases, mask
from tests.oracles import injection as oracle
from tests.oracles import leads as walk_oracle
from tests.oracles.csr import Link


@pytest.mark.parametrize("collect", [gather_neighbours_kernel, gather_neighbours_numpy, gather_neighbours])
@given(case=cases(), data=st.data())
def test_around_equals_the_oracle(collect: Callable[..., HitLinks], case: Case, data: st.DataObject) -> None:
    hits = [seed if data.draw(st.booleans()) else -1 for seed in case.seeds]
    ref = oracle.around(*case.rows, hits, case.walk_out, case.blocked)
    links = case.csr
    got = collect(*links, np.array(hits, np.int32), mask(case.walk_out), case.masks[2])
    assert list(zip(got.owners.tolist(), got.nodes.tolist(), got.outward.tolist(), strict=True)) == ref
    assert [column.dtype for column in got] == [np.int64, np.int32, np.int64, np.uint8]
    for node, entry, outward in zip(got.nodes.tolist(), got.entries.tolist(), got.outward.tolist(), strict=True):
        assert links[0 if outward else 1].indices[entry] == node


def test_of_several_links_to_one_node_the_first_stands_and_outward_ones_come_first() -> None:
    case = Case(3, [Link(1, 0, 0, 1.0), Link(0, 1, 1, 0.5), Link(0, 1, 0, 0.25), Link(0, 2, 7, 1.0)], [], (), (), ())
    got = gather_neighbours(*case.csr, np.zeros(1, np.int32), mask((0, 1)), case.masks[2])
    assert (got.nodes.tolist(), got.outward.tolist(), got.entries.tolist()) == ([1], [1], [0])


@given(
    sizes=st.lists(st.integers(0, 5), max_size=4),
    most=st.integers(1, 4),
    best=st.booleans(),
    cold=st.booleans(),
    data=st.data(),
)
def test_choose_equals_the_oracle(sizes: list[int], most: int, best: bool, cold: bool, data: st.DataObject) -> None:
    owners = [owner for owner, size in enumerate(sizes) for _ in range(size)]
    nodes = [
        v for size in sizes for v in data.draw(st.lists(st.integers(0, 8), min_size=size, max_size=size, unique=True))
    ]
    few = st.lists(st.sampled_from([0.25, 0.5, 1.0]), min_size=len(owners), max_size=len(owners))
    scores, worth = data.draw(few), data.draw(few)
    places = data.draw(st.permutations(range(len(owners))))
    ref = oracle.choose(owners, nodes, scores, worth, places, most, best)

    def chosen(order: I64) -> tuple[list[int], bool]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(injection, "is_ready", lambda _: not cold)
            picked, tied = choose_neighbours(
                np.array(owners, np.int64),
                np.array(nodes, np.int32),
                np.array(scores),
                np.array(worth),
                order,
                most,
                best,
            )
        return picked.tolist(), tied

    assert chosen(np.array(places, np.int64)) == (ref, False)
    got, tied = chosen(np.empty(0, np.int64))
    assert tied or got == ref  # what is open is said


def test_equal_scores_leave_nothing_open_where_all_fit() -> None:
    ones, none = np.ones(3), np.empty(0, np.int64)
    owners, nodes = np.array([0, 0, 1]), np.array([0, 1, 0])
    picked, tied = choose_neighbours_kernel(owners, nodes, ones, ones, none, 2, False)
    assert (picked.tolist(), tied) == ([0, 1], False)
    assert choose_neighbours_kernel(owners, nodes, ones, ones, none, 1, False)[1]
    assert choose_neighbours_kernel(owners[:0], nodes[:0], ones[:0], ones[:0], none, 1, True)[0].size == 0


SHARES = Shares(0.5, 1.1, 0.8, 0.9, 0.75)
row = st.integers(0, 9)
score = st.sampled_from([0.0, 0.05, 0.25, 0.5, 1.0])


def merged(
    own: dict[int, float], top: float, dead: set[int], begun: list[int], led: list[tuple[int, float, bool]],
    greatest: float, pushed: list[tuple[int, float]], most: float, *, cold: bool = False, shares: Shares = SHARES,
) -> F64:  # fmt: skip
    live = np.ones(10, np.uint8)
    live[list(dead)] = 0
    rows = sorted(own)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(injection, "is_ready", lambda _: not cold)
        return merge_walk_scores(
            np.array(rows, np.int64), np.array([own[r] for r in rows]), top, shares,
            live if dead else np.empty(0, np.uint8), np.array(begun, np.int64),
            np.array([r for r, *_ in led], np.int64), np.array([s for _, s, _ in led], np.float64),
            np.array([silent for *_, silent in led], np.uint8), greatest,
            np.array([r for r, _ in pushed], np.int64), np.array([s for _, s in pushed], np.float64), most,
        )  # fmt: skip


@given(
    own=st.dictionaries(row, score),
    top=st.sampled_from([0.3, 1.0]),
    dead=st.sets(row, max_size=3),
    begun=st.lists(row, max_size=3, unique=True),
    led=st.lists(st.tuples(row | st.just(-1), score, st.booleans()), max_size=8, unique_by=lambda each: each[0]),
    pushed=st.lists(st.tuples(row, score), max_size=8, unique_by=lambda each: each[0]),
    strong=st.sampled_from([0.0, 0.5]),
    cold=st.booleans(),
)
def test_equals_the_oracle(
    own: dict[int, float], top: float, dead: set[int], begun: list[int], led: list[tuple[int, float, bool]],
    pushed: list[tuple[int, float]], strong: float, cold: bool,
) -> None:  # fmt: skip
    led = [each for each in led if each[0] not in begun]
    shares = SHARES._replace(strong=strong)
    ref = walk_oracle.merge(own, top, shares, dead, begun, led, 2.0, pushed, 1.5)
    found = merged(own, top, dead, begun, led, 2.0, pushed, 1.5, cold=cold, shares=shares)
    names = [("led", r) for r, *_ in led] + [("pushed", r) for r, _ in pushed]
    got = {name: moved for name, moved in zip(names, found.tolist(), strict=True) if moved != UNMOVED}
    assert got == ref


def test_none_is_lowered_and_none_comes_up_to_the_best() -> None:
    got = merged({1: 0.5, 2: 0.2}, 0.5, set(), [], [(1, 9.0, False), (2, 9.0, False), (3, 9.0, False)], 9.0, [], 0.0)
    assert got.tolist() == [UNMOVED, 0.8 * 0.5, 0.8 * 0.5]
    assert merged({1: 0.4}, 0.5, set(), [], [(1, 1.0, False)], 1.0, [], 0.0)[0] == injection.BELOW_BEST * 0.5


def test_what_contradicts_raises_no_candidate_and_is_still_brought_in() -> None:
    got = merged({1: 0.1}, 1.0, set(), [], [(1, 1.0, True), (2, 1.0, True)], 1.0, [], 0.0)
    assert got.tolist() == [UNMOVED, 0.8]


def test_a_walk_without_any_score_counts_for_nothing() -> None:
    assert merged({}, 1.0, set(), [], [(1, 0.0, False)], 0.0, [(2, 0.0)], 0.0).tolist() == [UNMOVED, UNMOVED]
    assert merged({}, 1.0, set(), [], [], 0.0, [], 0.0).size == 0

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_kernels.graph import injection
from lamina_kernels.graph.injection import (
    HitLinks,
    choose_neighbours,
    choose_neighbours_kernel,
    gather_neighbours,
    gather_neighbours_kernel,
    gather_neighbours_numpy,
)
from lamina_kernels.layouts import I64
from tests.kernels.graph.test_hops import Case, cases, mask
from tests.oracles import injection as oracle
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

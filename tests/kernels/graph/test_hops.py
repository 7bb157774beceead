from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_kernels.graph import hops
from lamina_kernels.layouts import I32, U8, Csr, Walk
from tests.kernels.graph.test_csr import built, graphs
from tests.oracles import csr as rows
from tests.oracles import khop as oracle
from tests.oracles.csr import Link, transpose

RELATIONS = (0, 1, 7, 255)
some = st.frozensets(st.sampled_from(RELATIONS))


@dataclass(frozen=True)
class Case:
    n: int
    links: list[Link]
    seeds: list[int]
    walk_out: Collection[int]
    walk_in: Collection[int]
    blocked: Collection[int]

    @property
    def rows(self) -> tuple[oracle.Rows, oracle.Rows]:
        return rows.rows(self.n, self.links), rows.turned(self.n, self.links)

    @property
    def csr(self) -> tuple[Csr, Csr]:
        links = built(self.n, self.links)
        return links, transpose(links)

    @property
    def masks(self) -> tuple[U8, U8, U8]:
        active = np.ones(self.n, np.bool_)
        active[list(self.blocked)] = False
        return mask(self.walk_out), mask(self.walk_in), hops.block(active)


def mask(relations: Collection[int]) -> U8:
    found = np.zeros(256, np.uint8)
    found[list(relations)] = 1
    return found


@st.composite
def cases(draw: st.DrawFn) -> Case:
    n, links = draw(graphs(most=12))
    if n == 0:
        return Case(0, [], [], draw(some), draw(some), ())
    node = st.integers(0, n - 1)
    seeds, blocked = draw(st.lists(node, max_size=5)), draw(st.frozensets(node, max_size=3))
    return Case(n, links, seeds, draw(some), draw(some), blocked)


def kernel(
    forward: Csr, backward: Csr, seeds: I32, walk_out: U8, walk_in: U8, blocked: U8, max_hops: int, limit: int
) -> Walk:
    out = hops.empty_walk(max(0, min(limit, forward.indptr.size - 1)))
    found = hops.k_hop(
        forward, backward, seeds, walk_out, walk_in, blocked, max_hops,
        out.nodes, out.hops, out.parents, out.entries, out.outward,
    )  # fmt: skip
    return hops.cut_walk(out, found)


def listed(walk: Walk) -> list[oracle.Taken]:
    found = (walk.nodes, walk.hops, walk.parents, walk.entries, walk.outward)
    return list(zip(*(column.tolist() for column in found), strict=True))


@pytest.mark.parametrize("walk", [kernel, hops.neighbours_numpy, hops.neighbours])
@given(case=cases(), hops=st.integers(0, 4), limit=st.integers(0, 13))
def test_equals_the_oracle(walk: Callable[..., Walk], case: Case, hops: int, limit: int) -> None:
    ref = oracle.neighbours(
        *case.rows, case.seeds, case.walk_out, case.walk_in, case.blocked, max_hops=hops, limit=limit
    )
    got = walk(*case.csr, np.array(case.seeds, np.int32), *case.masks, max_hops=hops, limit=limit)
    assert listed(got) == ref


def test_a_cycle_ends_and_a_node_is_taken_at_its_least_distance() -> None:
    case = Case(
        4, [Link(0, 1, 0, 1.0), Link(1, 2, 0, 1.0), Link(2, 0, 0, 1.0), Link(0, 2, 1, 1.0)], [0], {0, 1}, (), ()
    )
    walk = kernel(*case.csr, np.array([0], np.int32), *case.masks, max_hops=9, limit=9)
    assert list(zip(walk.nodes.tolist(), walk.hops.tolist(), strict=True)) == [(0, 0), (1, 1), (2, 1)]


@given(size=st.integers(0, 40), data=st.data())
def test_blocked_bits(size: int, data: st.DataObject) -> None:
    active = np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)), np.bool_)
    bits = hops.block(active)
    assert [not (bits[v >> 3] >> (v & 7)) & 1 for v in range(size)] == active.tolist()


def test_room_grows_with_what_is_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hops, "_ROOM", 1)
    monkeypatch.setattr(hops, "KERNEL_LINKS", 0)
    case = Case(40, [Link(0, v, 0, 1.0) for v in range(1, 40)], [0], {0}, (), ())
    seeds = np.zeros(1, np.int32)
    for limit in (0, 1, 15, 16, 17, 40, 99):
        walk = hops.neighbours(*case.csr, seeds, *case.masks, max_hops=1, limit=limit)
        assert walk.nodes.tolist() == list(range(min(limit, 40)))

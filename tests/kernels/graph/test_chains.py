from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_kernels.graph import chains, hops
from lamina_kernels.graph import chains as subject
from lamina_kernels.graph.chains import Chains, Limits
from lamina_kernels.layouts import I32
from tests.kernels.graph.test_csr import built, graphs
from tests.kernels.graph.test_hops import mask
from tests.oracles import chains as oracle
from tests.oracles import csr as rows
from tests.oracles import decay as decay_oracle
from tests.oracles.csr import Link, transpose

NEXT = 7
LIMITS = Limits(tokens=20_000, depth=50, skips=5, chains=10, expansions=200)
some = st.frozensets(st.sampled_from((0, 1, NEXT, 255)))
sizes = st.sampled_from([0, 1, 40, 100, 150, 400])


def bits(n: int, nodes: Collection[int]) -> Any:
    active = np.ones(n, np.bool_)
    active[list(nodes)] = False
    return hops.block(active)


def listed(found: Chains) -> list[oracle.Chain]:
    return [
        (
            int(found.seeds[i]),
            tuple(found.nodes[found.starts[i] : found.starts[i + 1]].tolist()),
            tuple(found.hops[found.starts[i] : found.starts[i + 1]].tolist()),
        )
        for i in range(found.seeds.size)
    ]


def walk(
    pairs: Sequence[tuple[int, int]],
    seeds: Sequence[int],
    limits: Limits = LIMITS,
    *,
    n: int = 0,
    tokens: Sequence[int] | None = None,
    others: Collection[int] = (),
    blocked: Collection[int] = (),
    backward: bool = False,
) -> list[tuple[int, ...]]:
    """Nodes of each chain over links of one relation."""
    n = n or 1 + max(max(pair) for pair in pairs)
    links = built(n, [Link(u, v, NEXT, 1.0) for u, v in pairs])
    links = transpose(links) if backward else links
    sizes_ = np.array(tokens or [10] * n, np.int32)
    found = subject.chains(
        links, np.array(seeds, np.int32), mask([NEXT]), bits(n, blocked), bits(n, others), sizes_, limits, unknown
    )
    return [nodes for _, nodes, _ in listed(found)]


def unknown(node: int) -> None:
    raise AssertionError(f"the size of node {node} is known")


@pytest.mark.parametrize("run", [subject.walk_chains, subject.walk_chains.py_func])
@given(
    graph=graphs(most=7), walked=some, data=st.data(), budget=st.sampled_from([1, 100, 300, 5_000]),
    depth=st.integers(1, 6), skips=st.integers(0, 2), most=st.integers(1, 4), expansions=st.integers(0, 12),
)  # fmt: skip
def test_equals_the_oracle(
    run: Callable[..., int], graph: tuple[int, list[Link]], walked: frozenset[int], data: st.DataObject, budget: int,
    depth: int, skips: int, most: int, expansions: int,
) -> None:  # fmt: skip
    n, links = graph
    node = st.integers(0, max(n - 1, 0))
    seeds = data.draw(st.lists(node, max_size=3)) if n else []
    tokens = data.draw(st.lists(sizes, min_size=n, max_size=n))
    blocked, others = (data.draw(st.frozensets(node, max_size=3)) if n else frozenset() for _ in range(2))
    limits = Limits(budget, depth, skips, most, expansions)
    walker = oracle.Walker(rows.rows(n, links), walked, blocked, others, tokens, *limits)
    ref = walker.walk(seeds)
    room = len(seeds) * most
    out = Chains(
        np.zeros(room + 1, np.int64), np.empty(room * depth, np.int32), np.empty(room * depth, np.int32),
        np.empty(room, np.int32),
    )  # fmt: skip
    found = run(
        built(n, links), np.array(seeds, np.int32), mask(walked), bits(n, blocked), bits(n, others),
        np.array(tokens, np.int32), limits, *out,
    )  # fmt: skip
    got = listed(Chains(out.starts[: found + 1], out.nodes, out.hops, out.seeds[:found]))
    assert got == ref


def test_a_line_is_one_chain() -> None:
    assert walk([(0, 1), (1, 2), (2, 3)], [0]) == [(0, 1, 2, 3)]
    assert walk([(0, 1), (1, 2), (2, 3)], [3], backward=True) == [(3, 2, 1, 0)]


def test_a_diamond_is_two_chains() -> None:
    assert walk([(0, 1), (0, 2), (1, 3), (2, 3)], [0]) == [(0, 1, 3), (0, 2, 3)]


def test_a_cycle_ends() -> None:
    assert walk([(0, 1), (1, 2), (2, 0)], [0]) == [(0, 1, 2)]
    assert walk([(0, 0)], [0]) == [(0,)]


def test_depth_counts_nodes() -> None:
    line = [(i, i + 1) for i in range(9)]
    assert walk(line, [0], LIMITS._replace(depth=1)) == [(0,)]
    assert walk(line, [0], LIMITS._replace(depth=3)) == [(0, 1, 2)]
    assert walk(line, [0], LIMITS._replace(depth=3), others=[1]) == [(0, 2)]


def test_ten_chains_and_two_hundred_expansions_at_most() -> None:
    star = [(0, v) for v in range(1, 40)]
    assert walk(star, [0]) == [(0, v) for v in range(1, 11)]
    assert len(walk(star, [0, 0])) == 20
    # the eleventh way is never looked at, and a walk that runs out of expansions tells what it has
    line = [(i, i + 1) for i in range(300)]
    assert walk(line, [0], LIMITS._replace(depth=300)) == [tuple(range(200))]


def test_what_is_larger_than_the_budget_is_gone_through() -> None:
    line = [(0, 1), (1, 2)]
    assert walk(line, [0], LIMITS._replace(tokens=100), tokens=[10, 101, 10]) == [(0, 2)]
    assert walk(line, [0], LIMITS._replace(tokens=100), tokens=[500, 10, 10]) == [(1, 2)]
    assert walk(line, [0], LIMITS._replace(tokens=100), tokens=[500, 500, 500]) == []


def test_what_does_not_fit_ends_a_chain_once() -> None:
    star = [(0, 1), (0, 2), (0, 3)]
    assert walk(star, [0], LIMITS._replace(tokens=100), tokens=[60, 60, 60, 40]) == [(0,), (0, 3)]


def test_five_skips_are_gone_through_and_six_are_not() -> None:
    line = [(i, i + 1) for i in range(7)]
    assert walk(line, [0], others=[1, 2, 3, 4, 5]) == [(0, 6, 7)]
    assert walk(line, [0], others=[1, 2, 3, 4, 5, 6]) == [(0,)]
    assert walk(line, [0], others=[1, 2, 4, 5, 6]) == [(0, 3, 7)]


def test_a_missing_node_ends_the_way_and_an_unsized_one_counts_a_hundred() -> None:
    line = [(0, 1), (1, 2)]
    assert walk(line, [0], blocked=[1]) == [(0,)]
    assert walk(line, [0], blocked=[0]) == []
    assert walk(line, [0], LIMITS._replace(tokens=120), tokens=[10, 0, 20]) == [(0, 1)]


def test_sizes_are_learned_where_the_walk_comes_by() -> None:
    asked: list[int] = []
    tokens = np.full(6, -1, np.int32)

    def learn(node: int) -> None:
        asked.append(node)
        tokens[node] = 10

    links = built(6, [Link(u, v, NEXT, 1.0) for u, v in [(0, 1), (1, 2), (4, 5)]])
    none = bits(6, ())
    found = subject.chains(links, np.array([0], np.int32), mask([NEXT]), none, none, tokens, LIMITS, learn)
    assert listed(found) == [(0, (0, 1, 2), (0, 1, 2))]
    assert asked == [0, 1, 2]


@given(st.lists(st.lists(st.floats(0, 1), min_size=1, max_size=6), max_size=6))
def test_medians_equal_the_oracle(values: list[list[float]]) -> None:
    starts = np.cumsum([0, *map(len, values)], dtype=np.int64)
    flat = np.array([value for some_ in values for value in some_])
    nodes: I32 = np.zeros(flat.size, np.int32)
    found = Chains(starts, nodes, nodes, np.zeros(len(values), np.int32))
    totals, medians = subject.scores(found, flat)
    assert medians.tolist() == [oracle.median(some_) for some_ in values]
    np.testing.assert_allclose(totals, [sum(some_) for some_ in values], rtol=1e-12)
    ref = oracle.best([(0, tuple(range(len(some_))), ()) for some_ in values], medians.tolist())
    assert subject.best_chain(found, medians) == ref


def test_the_median_withstands_one_outlier_and_the_first_of_equals_stands() -> None:
    starts = np.array([0, 3, 6, 7], np.int64)
    nodes = np.zeros(7, np.int32)
    found = Chains(starts, nodes, nodes, np.array([0, 1, 2], np.int32))
    _, medians = subject.scores(found, np.array([0.8, 0.1, 0.7, 0.7, 0.7, 0.7, 1.0]))
    assert medians.tolist() == [0.7, 0.7, 1.0]
    assert subject.best_chain(found, medians) == 0


# hops and weights as published with the system that these curves come from: linear backward, delayed linear forward
BACKWARD = {0: 1.0, 1: 0.9, 5: 0.5, 9: 0.1, 10: 0.0, 11: 0.0}
FORWARD = {0: 1.0, 4: 1.0, 5: 1.0, 6: 0.933, 10: 0.667, 15: 0.333, 19: 0.067, 20: 0.0, 40: 0.0}


def test_hop_decay_backward_is_linear_and_dies_at_ten() -> None:
    got = chains.linear_hop_decay(np.array(list(BACKWARD), np.int32), 0.0, 10.0)
    np.testing.assert_allclose(got, list(BACKWARD.values()), atol=1e-12)


def test_hop_decay_forward_holds_five_and_dies_at_twenty() -> None:
    got = chains.linear_hop_decay(np.array(list(FORWARD), np.int64), 5.0, 20.0)
    np.testing.assert_allclose(got, list(FORWARD.values()), atol=5e-4)


def test_hop_decay_of_the_research_variants() -> None:
    hops = np.arange(40)
    backward = chains.exponential_hop_decay(hops, 0.87, 0.01)
    np.testing.assert_allclose(backward[:3], [1.0, 0.87, 0.7569], rtol=1e-12)
    assert (backward[33] > 0.01, backward[34]) == (True, 0.0)
    forward = chains.linear_hop_decay(hops, 0.0, 1.0 / 0.033)
    np.testing.assert_allclose(forward[[1, 10, 30]], [0.967, 0.67, 0.01], atol=1e-12)
    assert forward[31] == 0.0


@given(hops=st.lists(st.integers(0, 60), max_size=9), hold=st.integers(0, 9), more=st.integers(1, 30))
def test_linear_hop_decay_equals_oracle_and_never_rises(hops: list[int], hold: int, more: int) -> None:
    got = chains.linear_hop_decay(np.array(sorted(hops), np.int32), float(hold), float(hold + more))
    ref = [decay_oracle.linear_hops(hop, hold, hold + more) for hop in sorted(hops)]
    np.testing.assert_allclose(got, ref, atol=1e-12)
    assert (np.diff(got) <= 0).all()


@given(hops=st.lists(st.integers(0, 60), max_size=9), base=st.floats(0.1, 0.99), least=st.floats(1e-6, 0.5))
def test_exponential_hop_decay_equals_oracle(hops: list[int], base: float, least: float) -> None:
    got = chains.exponential_hop_decay(np.array(hops, np.int32), base, least)
    ref = [decay_oracle.exponential_hops(hop, base, least) for hop in hops]
    np.testing.assert_allclose(got, ref, rtol=1e-12)

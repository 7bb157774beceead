from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_kernels.graph import beam, hops
from lamina_kernels.graph import hops as frontier
from lamina_kernels.graph.hops import RELATIONS, empty_walk
from lamina_kernels.layouts import F64, I32, Walk
from tests.kernels.graph.test_hops import Case, cases
from tests.oracles import beam as oracle
from tests.oracles.csr import Link

EXPONENTS: dict[int, float | None] = {0: 3.0, 1: 1.2, 7: 0.6, 255: None}
GAIN = np.ones(RELATIONS)
for _relation, _exponent in EXPONENTS.items():
    GAIN[_relation] = 0.0 if _exponent is None else np.exp(_exponent)


@pytest.fixture(params=["kernel", "numpy"])
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    ready = request.param == "kernel"
    monkeypatch.setattr(beam, "is_ready", lambda _: ready)


def lift_of(affinity: dict[int, float]) -> beam.Lift:
    def lift(nodes: I32) -> F64:
        return np.exp(0.4 * np.array([affinity.get(v, 0.0) for v in nodes.tolist()]))

    return lift


def listed(walk: Walk) -> list[oracle.Taken]:
    found = (walk.nodes, walk.scores, walk.hops, walk.parents, walk.entries, walk.outward)
    return list(zip(*(column.tolist() for column in found), strict=True))


def agree(got: list[oracle.Taken], ref: list[oracle.Taken]) -> bool:
    same = [(each[0], *each[2:]) for each in got] == [(each[0], *each[2:]) for each in ref]
    return same and np.allclose([each[1] for each in got], [each[1] for each in ref], rtol=1e-12, atol=0)


@pytest.mark.parametrize("lifted", [False, True])
@given(
    case=cases(),
    affinity=st.dictionaries(st.integers(0, 11), st.sampled_from([-0.5, 0.25, 1.0])),
    width=st.integers(1, 4),
    hops=st.integers(0, 4),
    budget=st.integers(0, 12),
)
def test_equals_the_oracle(
    lifted: bool, case: Case, affinity: dict[int, float], width: int, hops: int, budget: int
) -> None:
    anchors = {seed: 0.05 * (i + 1) for i, seed in enumerate(case.seeds) if seed not in case.blocked}
    weighed = affinity if lifted else {}
    ref = oracle.beam(
        *case.rows, list(anchors.items()), EXPONENTS, weighed, case.walk_out, case.walk_in, case.blocked,
        width, hops, budget,
    )  # fmt: skip
    nodes, scores = np.array(list(anchors), np.int32), np.array(list(anchors.values()), np.float64)
    for ready, few in ((True, 2), (False, 2), (True, 0)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(beam, "_FEW", few)
            patch.setattr(beam, "is_ready", lambda _, ready=ready: ready)
            got = beam.beam(
                *case.csr, nodes, scores, GAIN, *case.masks, width, hops, budget,
                lift_of(weighed) if lifted else None,
            )  # fmt: skip
        assert agree(listed(got), ref)


def walk(
    links: list[Link], anchors: dict[int, float], *, width: int = 5, hops: int = 2, budget: int = 30,
    inward: tuple[int, ...] = (), blocked: tuple[int, ...] = (), lift: beam.Lift | None = None, n: int = 8,
) -> Walk:  # fmt: skip
    case = Case(n, links, [], tuple(EXPONENTS), inward, blocked)
    return beam.beam(
        *case.csr, np.array(list(anchors), np.int32), np.array(list(anchors.values())), GAIN, *case.masks,
        width, hops, budget, lift,
    )  # fmt: skip


@pytest.mark.usefixtures("path")
def test_golden_numbers() -> None:
    # WHY and causal: W = 5; parent 0.5, weight 0.8, cosine 0.5
    got = walk([Link(0, 1, 0, 0.8)], {0: 0.5}, lift=lift_of({1: 0.5}))
    assert got.scores[1] == pytest.approx(20.076, abs=5e-5)
    # WHAT and semantic: W = 5; parent 0.05, weight 1, cosine 0
    assert walk([Link(0, 1, 0, 1.0)], {0: 0.05}).scores[1] == pytest.approx(20.1305, abs=1e-4)
    # a relation that is in no table: W = 1
    assert walk([Link(0, 1, 7, 1.0)], {0: 0.0}).scores[1] == pytest.approx(1.8221, abs=1e-4)


@pytest.mark.usefixtures("path")
def test_a_node_reached_twice_has_one_place_with_its_best_score() -> None:
    links = [Link(0, 2, 7, 0.5), Link(1, 2, 0, 0.5), Link(0, 2, 1, 0.5), Link(0, 3, 7, 0.25), Link(1, 4, 7, 0.125)]
    got = walk(links, {0: 0.9, 1: 0.5}, width=2, hops=1)
    assert got.nodes.tolist() == [0, 1, 2, 3]
    assert got.scores[2] == pytest.approx(0.5 * 0.9 + np.exp(3.0) * 0.5)
    assert got.parents[2] == 1


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("budget", range(9))
def test_the_budget_is_never_exceeded(budget: int) -> None:
    links = [Link(u, v, 0, 0.5) for u in range(8) for v in range(8) if u != v]
    assert walk(links, {0: 1.0, 1: 0.5}, width=3, hops=5, budget=budget).nodes.size == budget


@pytest.mark.usefixtures("path")
def test_blocked_nodes_are_neither_taken_nor_walked() -> None:
    links = [Link(0, 1, 0, 1.0), Link(1, 2, 0, 1.0), Link(0, 3, 7, 0.125)]
    assert walk(links, {0: 1.0}, blocked=(1,)).nodes.tolist() == [0, 3]


@pytest.mark.usefixtures("path")
def test_blocked_nodes_take_no_place_in_the_beam() -> None:
    links = [Link(0, v, 0, 1.0) for v in range(1, 6)] + [Link(0, 6, 7, 0.125)]
    assert walk(links, {0: 1.0}, blocked=(1, 2, 3, 4, 5), width=1).nodes.tolist() == [0, 6]


@pytest.mark.usefixtures("path")
def test_inward_only_where_the_relation_says_so() -> None:
    links = [Link(1, 0, 0, 1.0), Link(2, 0, 1, 1.0)]
    got = walk(links, {0: 1.0}, inward=(1,))
    assert got.nodes.tolist() == [0, 2]
    assert got.outward.tolist() == [0, 0]
    assert got.entries[1] == 1


@pytest.mark.usefixtures("path")
def test_a_gain_of_zero_is_walked_and_never_raises_a_score() -> None:
    got = walk([Link(0, 1, 255, 1.0), Link(1, 2, 7, 0.5)], {0: 0.5}, lift=lift_of({1: 1.0}))
    assert got.nodes.tolist() == [0, 1, 2]
    assert got.scores[1] == 0.5 * 0.9


@pytest.mark.usefixtures("path")
def test_no_anchors_no_nodes() -> None:
    assert walk([Link(0, 1, 0, 1.0)], {}).nodes.size == 0
    assert walk([], {}, n=0).nodes.size == 0


def test_colliding_nodes_share_a_table() -> None:
    slot = frontier._slot_of.py_func
    nodes = range(4096)
    keys = np.full(16, -1, np.int32)
    same = [v for v in nodes if slot(v, keys) == slot(0, keys)][:16]
    for v in same[:15]:
        keys[slot(v, keys)] = v
    assert sorted(keys.tolist()) == sorted([*same[:15], -1])


def test_vectors_of_nodes_that_cannot_be_taken_are_not_read() -> None:
    asked: list[int] = []

    def lift(nodes: I32) -> F64:
        asked.extend(nodes.tolist())
        return np.ones(nodes.size)

    links = [Link(0, v, 0, 1.0 if v < 4 else 0.125) for v in range(1, 40)]
    got = walk(links, {0: 1.0}, width=3, hops=1, lift=lift, n=40)
    assert got.nodes.tolist() == [0, 1, 2, 3]
    assert asked == [1, 2, 3]


MOST = float(np.exp(0.4))
HOP_GAIN = np.exp(np.random.default_rng(1).uniform(0.0, 3.0, RELATIONS))
HOP_GAIN[255] = 0.0


def begun(case: Case, width: int) -> tuple[Walk, int]:
    """A walk that has taken its anchors."""
    nodes = np.array([seed for seed in dict.fromkeys(case.seeds) if seed not in case.blocked], np.int32)
    out = empty_walk(nodes.size + width)
    out.nodes[: nodes.size] = nodes
    out.scores[: nodes.size] = 0.1 * np.arange(1, nodes.size + 1)
    return out, nodes.size


@given(case=cases(), width=st.integers(1, 4), few=st.integers(0, 3), seed=st.integers(0, 9))
def test_what_is_left_out_could_not_have_been_taken(case: Case, width: int, few: int, seed: int) -> None:
    out, at = begun(case, width)
    forward, backward = case.csr
    walk_out, walk_in, blocked = case.masks
    met, slots, owners, entries, outward, open_ = beam.meet_hop(
        forward,
        backward,
        out.nodes[:at],
        0,
        out.scores[:at],
        walk_out,
        walk_in,
        blocked,
        HOP_GAIN,
        MOST,
        width,
        few,
    )
    links, ref_slots, ref_met = hops.gather_numpy(forward, backward, out.nodes[:at], 0, walk_out, walk_in, blocked)
    assert met.tolist() == ref_met.tolist()
    assert slots.tolist() == ref_slots.tolist()
    assert (owners.tolist(), entries.tolist()) == (links.owners.tolist(), links.entries.tolist())
    assert outward.tolist() == links.outward.tolist()
    assert met.size > max(few, width) or open_.tolist() == list(range(met.size))
    lift = np.exp(np.random.default_rng(seed).uniform(-0.4, 0.4, met.size))
    best, first = hops.score_numpy(forward, backward, links, slots, out.scores[:at], HOP_GAIN, lift)
    ref = sorted(range(met.size), key=lambda i: (-best[i], i))[:width]
    assert set(ref) <= set(open_.tolist())
    known: F64 = np.full(met.size, 1.0 / MOST)
    known[open_] = lift[open_]
    stop = beam.take_hop(
        forward, backward, met, slots, owners, entries, outward, known, HOP_GAIN, width, 0, at, 1,
        out.nodes, out.scores, out.hops, out.parents, out.entries, out.outward,
    )  # fmt: skip
    assert out.nodes[at:stop].tolist() == met[ref].tolist()
    assert out.scores[at:stop].tolist() == best[ref].tolist()
    via = first[ref]
    assert out.parents[at:stop].tolist() == links.owners[via].tolist()
    assert out.entries[at:stop].tolist() == links.entries[via].tolist()
    assert out.outward[at:stop].tolist() == links.outward[via].tolist()
    assert set(out.hops[at:stop].tolist()) <= {1}


def test_a_frontier_without_links_meets_nothing() -> None:
    case = Case(3, [], [0], (0,), (0,), ())
    out, at = begun(case, 2)
    found = beam.meet_hop(
        *case.csr, out.nodes[:at], 0, out.scores[:at], *case.masks, HOP_GAIN, MOST, 2, 0
    )  # fmt: skip
    assert [part.size for part in found] == [0] * 6

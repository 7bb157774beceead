from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_kernels.graph import push as push_module
from lamina_kernels.graph.push import Pushed, push, push_numpy, push_path
from tests.kernels.graph.test_hops import RELATIONS, Case, cases, mask
from tests.oracles import push as oracle
from tests.oracles.csr import Link

SEMANTIC, CAUSAL, ENTITY = 1, 0, 7
paths = st.lists(st.sampled_from(RELATIONS), max_size=3)


def pushed(case: Case, seeds: dict[int, float], along: list[list[int]], budget: int = 30) -> Pushed:
    """What mass comes to, by the kernel and by its twin, which agree to the bit."""
    nodes, scores = np.array(list(seeds), np.int32), np.array(list(seeds.values()), np.float64)
    _, _, blocked = case.masks
    given_ = (*case.csr, nodes, scores, along, mask(case.walk_in), blocked, budget)
    ref, got = push_numpy(*given_), push(*given_)
    assert [column.tolist() for column in (got.nodes, got.scores, got.paths)] == [
        column.tolist() for column in (ref.nodes, ref.scores, ref.paths)
    ]
    assert [str(kind) for kind in (got.nodes.dtype, got.scores.dtype, got.paths.dtype)] == ["int32", "float64", "int64"]
    return got


@given(
    case=cases(),
    along=st.lists(paths, max_size=4),
    masses=st.lists(st.sampled_from([0.0, 1e-4, 1e-3, 0.05, 1.0]), min_size=5, max_size=5),
    budget=st.integers(0, 12),
)
def test_the_kernel_equals_its_twin(case: Case, along: list[list[int]], masses: list[float], budget: int) -> None:
    seeds = {seed: mass for seed, mass in zip(case.seeds, masses, strict=False) if seed not in case.blocked}
    got = pushed(case, seeds, along, budget)
    assert len(set(got.nodes.tolist())) == got.nodes.size <= budget
    assert (np.diff(got.scores) <= 0.0).all()


def test_a_cold_process_goes_through_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(push_module, "is_ready", lambda _: False)
    monkeypatch.setattr(push_module, "push_paths", None)
    case = Case(2, [Link(0, 1, SEMANTIC, 1.0)], [], (), (), ())
    got = push(*case.csr, np.zeros(1, np.int32), np.ones(1), [[SEMANTIC]], mask(()), np.zeros(1, np.uint8), 5)
    assert got.nodes.tolist() == [0, 1]


def test_golden_numbers() -> None:
    links = [Link(0, 1, SEMANTIC, 0.8), Link(0, 2, SEMANTIC, 0.2), Link(1, 3, CAUSAL, 1.0)]
    got = pushed(Case(4, links, [], (), (), ()), {0: 1.0}, [[SEMANTIC, CAUSAL]])
    assert got.nodes.tolist() == [0, 1, 3, 2]
    np.testing.assert_allclose(got.scores, [0.15, 0.102, 0.0867, 0.0255], atol=1e-7)


@given(case=cases(), path=paths, mass=st.sampled_from([0.0, 1e-3, 0.05, 1.0]))
def test_a_path_equals_the_oracle(case: Case, path: list[int], mass: float) -> None:
    seeds = {seed: mass * (i + 1) for i, seed in enumerate(case.seeds) if seed not in case.blocked}
    nodes, scores = np.array(list(seeds), np.int32), np.array(list(seeds.values()), np.float64)
    ref = oracle.push_path(*case.rows, seeds, path, case.walk_in, case.blocked)
    _, _, blocked = case.masks
    found, results = push_path(*case.csr, nodes, scores, path, mask(case.walk_in), blocked)
    got = dict(zip(found.tolist(), results.tolist(), strict=True))
    assert got == pytest.approx(ref, rel=1e-12)
    assert list(got) == list(ref)


def test_over_paths_the_greatest_counts_not_the_sum() -> None:
    links = [Link(0, 1, SEMANTIC, 0.5), Link(0, 1, ENTITY, 1.0), Link(0, 2, ENTITY, 1.0)]
    got = pushed(Case(3, links, [], (), (), ()), {0: 1.0}, [[ENTITY], [SEMANTIC]])
    assert dict(zip(got.nodes.tolist(), got.scores.tolist(), strict=True))[1] == pytest.approx(0.85 * 0.15)
    assert got.paths.tolist() == [0, 1, 0]


def test_a_cycle_ends_and_small_mass_goes_no_further() -> None:
    case = Case(2, [Link(0, 1, SEMANTIC, 1.0), Link(1, 0, SEMANTIC, 1.0)], [], (), (), ())
    assert pushed(case, {0: 1.0}, [[SEMANTIC] * 50]).nodes.tolist() == [0, 1]
    assert pushed(case, {0: 1e-4}, [[SEMANTIC]]).nodes.size == 0


def test_ten_links_a_node_outward_ones_first() -> None:
    links = [Link(0, v, SEMANTIC, 0.125) for v in range(1, 12)] + [Link(12, 0, SEMANTIC, 1.0)]
    got = pushed(Case(13, links, [], (), (SEMANTIC,), ()), {0: 1.0}, [[SEMANTIC]])
    assert sorted(got.nodes.tolist()) == list(range(11))


def test_mass_is_kept() -> None:
    links = [Link(0, v, SEMANTIC, 0.25) for v in (1, 2, 3)]
    got = pushed(Case(4, links, [], (), (), ()), {0: 1.0}, [[SEMANTIC]])
    assert got.scores.sum() == pytest.approx(0.15 + 0.85 * 0.15)


def test_the_budget_cuts() -> None:
    links = [Link(0, v, SEMANTIC, 0.25) for v in (1, 2, 3)]
    case = Case(4, links, [], (), (), ())
    assert pushed(case, {0: 1.0}, [[SEMANTIC]], budget=2).nodes.tolist() == [0, 1]
    assert pushed(case, {}, [[SEMANTIC]]).nodes.size == 0
    assert pushed(case, {0: 1.0}, []).nodes.size == 0

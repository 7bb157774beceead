from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_kernels.graph import spread
from lamina_kernels.layouts import F64, Walk
from tests.kernels.graph.test_beam import listed
from tests.kernels.graph.test_hops import Case, cases
from tests.oracles import spread as oracle
from tests.oracles.csr import Link

shares = st.dictionaries(st.sampled_from([0, 1, 7, 255]), st.sampled_from([0.0625, 0.5, 0.7, 1.0]))


def table(given_shares: Mapping[int, float]) -> F64:
    found = np.zeros(256)
    found[list(given_shares)] = list(given_shares.values())
    return found


@pytest.fixture(params=["kernel", "numpy"])
def path(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    ready = request.param == "kernel"
    monkeypatch.setattr(spread, "is_ready", lambda _: ready)


def walk(
    case: Case, starts: Mapping[int, float], shares_out: Mapping[int, float], shares_in: Mapping[int, float],
    depth: int = 2, width: int = 20, hashes: list[int] | None = None,
) -> Walk:  # fmt: skip
    order = np.arange(case.n, dtype=np.uint64) if hashes is None else np.array(hashes, np.uint64)
    return spread.spread(
        *case.csr, np.array(list(starts), np.int32), np.array(list(starts.values()), np.float64), table(shares_out),
        table(shares_in), order, case.masks[2], depth, width,
    )  # fmt: skip


def paths(
    case: Case, starts: Mapping[int, float], shares_out: Mapping[int, float], shares_in: Mapping[int, float], depth: int,
    width: int, hashes: list[int],
) -> list[list[oracle.Taken]]:  # fmt: skip
    """Return the walks of the kernel and of its twin."""
    found = []
    for ready in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(spread, "is_ready", lambda _, ready=ready: ready)
            got = walk(case, starts, shares_out, shares_in, depth, width, hashes)
        assert [column.dtype for column in got] == [np.int32, np.float64, np.int32, np.int32, np.int64, np.uint8]
        found.append(listed(got))
    return found


@given(
    case=cases(), shares_out=shares, shares_in=shares, depth=st.integers(0, 4), width=st.integers(0, 5), data=st.data()
)
def test_equals_the_oracle(
    case: Case, shares_out: dict[int, float], shares_in: dict[int, float], depth: int, width: int, data: st.DataObject
) -> None:
    starts = {seed: 1.0 / (i + 1) for i, seed in enumerate(case.seeds) if seed not in case.blocked}
    hashes = list(data.draw(st.permutations(range(case.n))))
    ref = oracle.spread(*case.rows, list(starts.items()), shares_out, shares_in, hashes, case.blocked, depth, width)
    assert paths(case, starts, shares_out, shares_in, depth, width, hashes) == [ref, ref]


@given(seed=st.integers(0, 2**32 - 1), width=st.integers(1, 30), depth=st.integers(1, 3))
def test_equals_the_oracle_where_some_are_much_linked(seed: int, width: int, depth: int) -> None:
    random = np.random.default_rng(seed)
    n, m = 60, 400
    columns = np.minimum(random.geometric(0.08, m), n - 1), random.integers(0, n, m), random.integers(0, 3, m)
    weights = random.random(m).astype(np.float32).tolist()
    links = [
        Link(source, target, relation, weight)
        for source, target, relation, weight in zip(*(column.tolist() for column in columns), weights, strict=True)
    ]
    case = Case(n, links, [], (), (), random.integers(0, n, 5).tolist())
    starts = {v: float(random.random()) for v in random.integers(0, n, 6).tolist() if v not in case.blocked}
    hashes = random.permutation(n).tolist()
    shares_out, shares_in = {0: 1.0, 1: 0.7}, {0: 0.5, 2: 0.31}
    ref = oracle.spread(*case.rows, list(starts.items()), shares_out, shares_in, hashes, case.blocked, depth, width)
    assert paths(case, starts, shares_out, shares_in, depth, width, hashes) == [ref, ref]


@pytest.mark.usefixtures("path")
def test_of_much_linked_nodes_each_target_receives_less() -> None:
    few = Case(40, [Link(0, v, 0, 1.0) for v in range(1, 9)], [], (), (), ())
    many = Case(40, [Link(0, v, 0, 1.0) for v in range(1, 33)], [], (), (), ())
    assert walk(few, {0: 1.0}, {0: 0.5}, {}, depth=1).scores[1:].tolist() == [0.5] * 8
    assert walk(many, {0: 1.0}, {0: 0.5}, {}, depth=1, width=40).scores[1:].tolist() == [0.25] * 32


@pytest.mark.usefixtures("path")
def test_starts_receive_from_each_other_once_and_pass_on_only_their_own() -> None:
    case = Case(3, [Link(0, 1, 0, 1.0), Link(1, 2, 0, 1.0)], [], (), (), ())
    found = walk(case, {0: 1.0, 1: 0.5}, {0: 0.5}, {})
    assert listed(found)[2:] == [(1, 0.5, 1, 0, 0, 1), (2, 0.25, 1, 1, 1, 1)]


@pytest.mark.usefixtures("path")
def test_what_is_worth_too_little_is_not_passed_on() -> None:
    case = Case(3, [Link(0, 1, 0, 1.0), Link(0, 2, 0, 0.015625)], [], (), (), ())
    assert walk(case, {0: 1.0}, {0: 0.5}, {}).nodes.tolist() == [0, 1]


@pytest.mark.usefixtures("path")
def test_without_starts_or_width_nothing_is_reached() -> None:
    case = Case(2, [Link(0, 1, 0, 1.0)], [], (), (), ())
    assert walk(case, {}, {0: 1.0}, {0: 1.0}).nodes.size == 0
    assert walk(case, {0: 1.0}, {0: 1.0}, {}, width=0).nodes.tolist() == [0]

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_kernels import leads
from lamina_kernels.layouts import F64
from lamina_kernels.leads import UNMOVED, Shares, merge
from tests.oracles import leads as oracle

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
        patch.setattr(leads, "is_ready", lambda _: not cold)
        return merge(
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
    ref = oracle.merge(own, top, shares, dead, begun, led, 2.0, pushed, 1.5)
    found = merged(own, top, dead, begun, led, 2.0, pushed, 1.5, cold=cold, shares=shares)
    names = [("led", r) for r, *_ in led] + [("pushed", r) for r, _ in pushed]
    got = {name: moved for name, moved in zip(names, found.tolist(), strict=True) if moved != UNMOVED}
    assert got == ref


def test_none_is_lowered_and_none_comes_up_to_the_best() -> None:
    got = merged({1: 0.5, 2: 0.2}, 0.5, set(), [], [(1, 9.0, False), (2, 9.0, False), (3, 9.0, False)], 9.0, [], 0.0)
    assert got.tolist() == [UNMOVED, 0.8 * 0.5, 0.8 * 0.5]
    assert merged({1: 0.4}, 0.5, set(), [], [(1, 1.0, False)], 1.0, [], 0.0)[0] == leads.BELOW_BEST * 0.5


def test_what_contradicts_raises_no_candidate_and_is_still_brought_in() -> None:
    got = merged({1: 0.1}, 1.0, set(), [], [(1, 1.0, True), (2, 1.0, True)], 1.0, [], 0.0)
    assert got.tolist() == [UNMOVED, 0.8]


def test_a_walk_without_any_score_counts_for_nothing() -> None:
    assert merged({}, 1.0, set(), [], [(1, 0.0, False)], 0.0, [(2, 0.0)], 0.0).tolist() == [UNMOVED, UNMOVED]
    assert merged({}, 1.0, set(), [], [], 0.0, [], 0.0).size == 0

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lamina_kernels import candidates
from lamina_kernels.candidates import (
    RANK_CONSTANT,
    Joined,
    join_lanes,
    join_lanes_kernel,
    join_lanes_numpy,
    match_candidates,
    match_candidates_kernel,
    match_candidates_numpy,
    rank_candidates,
    reciprocal_rank_fusion,
)
from lamina_kernels.layouts import F64, I32, I64, U8
from lamina_kernels.scoring import UNDATED_US, Formula, score_rows_numpy
from tests.oracles import fusion as oracle

ROWS = 12
QUESTION = 1
lane = st.lists(st.integers(0, ROWS - 1), unique=True, max_size=8)
befores = st.lists(st.integers(-1, ROWS - 1), min_size=ROWS, max_size=ROWS)


def rows(values: list[int]) -> I64:
    return np.array(values, np.int64)


def joined_by_kernel(
    lexical: I64, scores: F64, vector: I64, others: F64, beside: F64, previous: I64, live: U8, roles: I32, question: int
) -> Joined:
    out = np.full((4, 3 * (lexical.size + vector.size)), -9, np.int64)
    score = np.full((2, out.shape[1]), -9.0)
    n = join_lanes_kernel(lexical, scores, vector, others, beside, previous, live, roles, question, out, score)
    return Joined(out[0, :n], out[1, :n], out[2, :n], out[3, :n], score[0, :n], score[1, :n])


@example([], [7], [], [], [0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0], True, False)  # wrote past the room of three a row
@given(
    lane,
    lane,
    st.one_of(st.just([]), befores),
    st.one_of(st.just([]), st.lists(st.integers(0, 1), min_size=ROWS, max_size=ROWS)),
    st.one_of(st.just([]), st.lists(st.integers(-1, 1), min_size=ROWS, max_size=ROWS)),
    st.booleans(),
    st.booleans(),
)
def test_lanes_are_joined_as_sets_are(
    lexical: list[int],
    vector: list[int],
    previous: list[int],
    live: list[int],
    roles: list[int],
    chained: bool,
    told: bool,
) -> None:
    previous = list(range(-1, ROWS - 1)) if chained else previous
    direct = set(lexical) | set(vector)
    if previous and roles:
        asks = [row for row in direct if roles[row] == QUESTION and row + 1 < ROWS and previous[row + 1] == row]
        direct |= {row + 1 for row in asks if not live or live[row + 1]}
    before = {row: previous[row] for row in direct if previous and previous[row] >= 0}
    before = {row: earlier for row, earlier in before.items() if not live or live[earlier]}
    every = sorted(direct | set(before.values()))
    ref = [
        every,
        [lexical.index(row) + 1 if row in lexical else 0 for row in every],
        [vector.index(row) + 1 if row in vector else 0 for row in every],
        [every.index(before[row]) if row in before else -1 for row in every],
    ]
    by_words = {row: 3.0 + row for row in ({*lexical, *vector} if told else lexical)}
    scores = [[by_words.get(row) for row in every], [-1.0 - row if row in vector else None for row in every]]
    own: F64 = rows(lexical) + np.float64(3.0)
    others: F64 = -rows(vector) - np.float64(1.0)
    beside = np.array(vector if told else [], float) + 3.0
    given_ = (
        rows(lexical), own, rows(vector), others, beside,
        rows(previous), np.array(live, np.uint8), np.array(roles, np.int32), QUESTION,
    )  # fmt: skip
    for got in (join_lanes_numpy(*given_), joined_by_kernel(*given_), join_lanes(*given_)):
        assert [column.tolist() for column in got[:4]] == ref
        assert [[None if np.isnan(each) else each for each in column.tolist()] for column in got[4:]] == scores


@given(st.integers(0, 9), st.integers(0, 2**32 - 1), st.booleans(), st.sampled_from([0.0, 3.7]), st.booleans())
def test_both_ways_score_alike_to_the_bit(n: int, seed: int, ranks: bool, ceiling: float, asked: bool) -> None:
    random = np.random.default_rng(seed)
    bm25, cosine = random.random(n) * ceiling, random.uniform(-1, 1, n)
    before = random.integers(-1, max(n, 1), n)
    own = random.random(n) if ranks else np.empty(0)
    asks = random.integers(0, 2, n if asked else 0).astype(np.uint8)
    fixed = (bm25, cosine, before, ceiling, 0.25, 0.3, own, asks, 0.4)
    ref = match_candidates_numpy(*fixed)
    out = np.full((4, n), -9.0)
    match_candidates_kernel(*fixed, out[0], out[1], out[2], out[3])
    for got in (out, match_candidates(*fixed)):
        for got_part, ref_part in zip(got, ref, strict=True):
            np.testing.assert_array_equal(got_part, ref_part)


NONE = np.empty(0, np.uint8)


def test_a_question_passes_a_share_on_to_the_turn_after_it() -> None:
    asks = np.array([0, 1, 0, 0], np.uint8)
    parts = match_candidates(
        np.array([0.0, 2.0, 0.0, 1.0]), np.zeros(4), np.array([-1, 0, 1, 2]), 2.0, 0.0, 0.0, np.empty(0), asks, 0.25
    )
    assert parts.received.tolist() == [0.0, 0.0, 0.25, 0.0]
    assert parts.semantic.tolist() == [0.0, 1.0, 0.25, 0.5]


def test_each_chunk_before_receives_a_share_and_no_score_passes_one() -> None:
    parts = match_candidates(
        np.array([0.0, 2.0, 1.0]),
        np.array([-0.5, 0.5, 1.0]),
        np.array([-1, 0, 0]),
        2.0,
        0.5,
        0.4,
        np.empty(0),
        NONE,
        0.3,
    )
    assert parts.coverage.tolist() == [0.0, 1.0, 0.5]
    assert parts.own.tolist() == [0.0, 0.75, 0.75]
    assert parts.received.tolist() == [0.4 * 0.75 + 0.4 * 0.75, 0.0, 0.0]
    whole = match_candidates(np.ones(2), np.ones(2), np.array([-1, 0]), 1.0, 0.5, 0.4, np.empty(0), NONE, 0.3)
    assert whole.semantic.tolist() == [1.0, 1.0]


def test_a_cold_process_goes_through_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    class Cold:
        ready = False

    monkeypatch.setattr(candidates, "join_lanes_kernel", Cold())
    monkeypatch.setattr(candidates, "match_candidates_kernel", Cold())
    one, roles = np.ones(1), np.empty(0, np.int32)
    joined = join_lanes(rows([3]), one, rows([1]), one, one[:0], rows([]), NONE, roles, -1)
    assert joined.rows.tolist() == [1, 3]
    got = match_candidates(np.ones(1), np.ones(1), np.array([-1]), 2.0, 0.5, 0.3, np.empty(0), NONE, 0.3)
    assert got.own.tolist() == [0.75]


ranks = st.lists(st.integers(0, 30), max_size=20)


@given(lanes=st.lists(ranks, max_size=5), seed=st.integers(0, 2**32 - 1), k=st.sampled_from([1.0, 60.0, 0.5]))
def test_equals_oracle_to_the_bit(lanes: list[list[int]], seed: int, k: float) -> None:
    weights = np.random.default_rng(seed).random(len(lanes)).tolist()
    got = reciprocal_rank_fusion([np.array(each, np.int64) for each in lanes], weights, rank_constant=k)
    ref = oracle.reciprocal_rank_fusion(lanes, weights, k)
    assert got.rows.dtype == np.int64
    assert got.scores.dtype == np.float64
    assert dict(zip(got.rows.tolist(), got.scores.tolist(), strict=True)) == ref
    assert got.rows.tolist() == list(ref)


def test_published_constant() -> None:
    got = reciprocal_rank_fusion([np.array([5, 9]), np.array([9])], [1.0, 1.0])
    assert RANK_CONSTANT == 60
    assert got.rows.tolist() == [5, 9]
    assert got.scores.tolist() == [1 / 61, 1 / 62 + 1 / 61]


def test_a_better_rank_is_never_worse() -> None:
    rows = np.arange(50)
    got = reciprocal_rank_fusion([rows], [0.7])
    assert np.all(np.diff(got.scores) < 0)


def test_a_weight_for_each_lane() -> None:
    with pytest.raises(ValueError, match="zip"):
        reciprocal_rank_fusion([np.array([1])], [])


@pytest.mark.parametrize("least", [-1.0, 0.0, 0.6])
@pytest.mark.parametrize("seed", range(6))
def test_candidates_ranked_at_once_are_those_of_step_by_step(least: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, vault, day = 60, 200, 86_400_000_000
    rows_ = np.sort(rng.permutation(vault)[:n]).astype(np.int64)
    bm25, cosine = rng.random(n) * 9, rng.normal(size=n)
    bm25[10:20], cosine[10:20] = 3.0, 0.5
    before = np.where(rng.random(n) < 0.3, rng.integers(0, n, n), -1)
    asks = (rng.random(n) < 0.3).astype(np.uint8) if seed % 2 else np.empty(0, np.uint8)
    created = rng.integers(0, 2_000, vault) * day
    created[rng.random(vault) < 0.2] = UNDATED_US
    created[rng.random(vault) < 0.05] = 2**61  # no date of any calendar
    codes = [rng.integers(-1, 3, vault).astype(np.int32) for _ in range(3)]
    type_days, role_factors = np.array([7.0, np.nan, np.inf, np.nan]), np.array([1.0, 0.5, 0.8, 1.0])
    collection_days = np.array([30.0, 60.0, 90.0, 45.0])
    factors = rng.random(n) if seed % 3 == 0 else np.empty(0)
    formula, aged_us, speed = Formula(0.8, 1_900 * 86_400.0, 1_000.0 * day, boost=0.2, now_s=1e8), 1_900 * day, 2.0
    matched = bm25, cosine, before, 11.0, 0.4, 0.3, np.empty(0), asks, 0.25
    columns, order, newest = np.empty((6, n)), np.empty(n, np.int64), np.empty(2, np.int64)
    count, tied, best = rank_candidates(
        rows_, *matched, created, codes[0], codes[1], codes[2], type_days, collection_days, role_factors, factors, least,
        aged_us, speed if least >= 0.0 else 1.0, formula, columns, order, newest,
    )  # fmt: skip
    parts = match_candidates_numpy(*matched)
    for column, part in zip(columns, parts, strict=False):
        np.testing.assert_array_equal(column, part)
    types, collections, roles = (code[rows_] for code in codes)
    days = np.where(np.isnan(type_days[types]), collection_days[collections], type_days[types])
    factor = factors if factors.size else role_factors[roles]
    to_us = aged_us
    if least >= 0.0:
        assert best == parts.semantic.max()
        dates = created[rows_][parts.semantic >= least * best]
        latest = int(dates.max())
        to_us = min(latest, aged_us) if latest != UNDATED_US and latest < 2**58 else aged_us
        days = days / speed
        formula = formula._replace(aged_s=float(to_us // 1_000_000), floor=least * best, slope=1.0 / (1.0 - least))
    ref = score_rows_numpy(parts.semantic, factor, created[rows_], days, np.empty((0, n)), formula, n)
    np.testing.assert_array_equal(columns[4], factor)
    np.testing.assert_array_equal(columns[5], ref.score)
    np.testing.assert_array_equal(order[:count], ref.order)
    assert (tied, newest.tolist()) == (ref.tied, [to_us, 0])


def test_ages_counted_to_a_far_moment_are_refused() -> None:
    one, code = np.ones(1), np.zeros(1, np.int32)
    out, order, newest = np.empty((6, 1)), np.empty(1, np.int64), np.empty(2, np.int64)
    rank_candidates(
        rows([0]), one, one, rows([-1]), 1.0, 0.5, 0.0, np.empty(0), np.empty(0, np.uint8), 0.0, rows([2**54]), code,
        code, code, one, one, one, np.empty(0), 0.5, 2**55, 1.0, Formula(0.5), out, order, newest,
    )  # fmt: skip
    assert newest.tolist() == [2**54, 1]

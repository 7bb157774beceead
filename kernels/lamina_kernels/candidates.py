"""Candidate set: rows of two lanes and the chunk before each, joined and scored.

Each kernel has a NumPy twin of the same bits: the first answers of a process come before Numba, and must not differ.

Reciprocal rank fusion: several ranked lists into one score a row.

A lane that ranks a row r-th (from 1) gives it weight / (k + r). Some hundred rows meet here, so NumPy is all of it.

References
----------
.. [1] G. Cormack, C. Clarke, S. Büttcher, "Reciprocal rank fusion outperforms Condorcet and individual rank learning
   methods", SIGIR 2009; k = 60 is the paper's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from lamina_kernels._jit import kernel
from lamina_kernels.layouts import F64, I32, I64, U8, RowScores
from lamina_kernels.scoring import UNDATED_US, Formula, score_rows_kernel
from lamina_kernels.sorting import sort_rows

# pyright: reportArgumentType=false
# an element of an array is a number to the compiler, and may be an array to a checker of stubs

EARLIEST_US: Final = -62_135_596_800_000_000
LATEST_US: Final = 253_402_300_800_000_000
"""The years 1 and 10000: what lies outside is no date."""
_EXACT_US: Final = 2**53


class Joined(NamedTuple):
    """Distinct rows of two lanes and of the chunks before them.

    Attributes
    ----------
    rows : int64 (n,)
        Ascending.
    lexical_rank, vector_rank : int64 (n,)
        Place in each lane, from 1; 0 where the lane did not find it.
    before : int64 (n,)
        For a row that a lane found, and for one that follows a question that a lane found, the position in ``rows`` of the
        chunk before it; -1 for none, and for other rows.
    lexical_score, vector_score : float64 (n,)
        Scores of both lanes; NaN where none is given.
    """

    rows: I64
    lexical_rank: I64
    vector_rank: I64
    before: I64
    lexical_score: F64
    vector_score: F64


class Parts(NamedTuple):
    """Score components of the candidates, float64 (n,) each; see `match_candidates`."""

    coverage: F64
    own: F64
    received: F64
    semantic: F64


def join_lanes(
    lexical: I64,
    lexical_scores: F64,
    vector: I64,
    vector_scores: F64,
    beside: F64,
    previous: I64,
    live: U8,
    roles: I32,
    question: int,
) -> Joined:
    """Join two lanes; by the kernel where it is compiled.

    Parameters
    ----------
    lexical, vector : int64 (l,), int64 (v,)
        Distinct rows, best first.
    lexical_scores, vector_scores : float64 (l,), float64 (v,)
    beside : float64 (v,) or (0,)
        What the first lane would score each row of the second; empty where that is not known.
    previous : int64 (rows,) or (0,)
        Row before each row, -1 for none; empty where nothing is passed on.
    live : uint8 (rows,) or (0,)
        Rows that are 0 here do not join as the chunk before or after another; empty means all may.
    roles : int32 (rows,) or (0,)
        What each row is beside content; empty where nothing is passed on from questions.
    question : int
        The role of a question; the row right behind one that a lane found joins where it is the next of its session.
    """
    if not join_lanes_kernel.ready:
        return join_lanes_numpy(lexical, lexical_scores, vector, vector_scores, beside, previous, live, roles, question)
    room = 3 * (lexical.size + vector.size)
    out, scores = np.empty((4, room), np.int64), np.empty((2, room))
    n = join_lanes_kernel(
        lexical, lexical_scores, vector, vector_scores, beside, previous, live, roles, question, out, scores
    )
    return Joined(*out[:, :n], *scores[:, :n])


def join_lanes_numpy(
    lexical: I64,
    lexical_scores: F64,
    vector: I64,
    vector_scores: F64,
    beside: F64,
    previous: I64,
    live: U8,
    roles: I32,
    question: int,
) -> Joined:
    """Join two lanes; see `join_lanes`."""
    direct = _distinct(np.concatenate([lexical, vector]))
    if previous.size and roles.size:
        after = direct[(direct + 1 < previous.size) & (roles[direct] == question)] + 1
        after = after[previous[after] == after - 1]
        direct = _distinct(np.concatenate([direct, after if not live.size else after[live[after] != 0]]))
    found = previous[direct] if previous.size else np.full(direct.size, -1, np.int64)
    has = np.flatnonzero(found >= 0)
    if live.size:
        has = has[live[found[has]] != 0]
    rows = _distinct(np.concatenate([direct, found[has]]))
    ranks, scores = np.zeros((2, rows.size), np.int64), np.full((2, rows.size), np.nan)
    places = np.searchsorted(rows, lexical), np.searchsorted(rows, vector)
    if beside.size:
        scores[0, places[1]] = beside
    for i, own in enumerate((lexical_scores, vector_scores)):
        ranks[i, places[i]] = np.arange(1, own.size + 1)
        scores[i, places[i]] = own
    before = np.full(rows.size, -1, np.int64)
    before[np.searchsorted(rows, direct[has])] = np.searchsorted(rows, found[has])
    return Joined(rows, ranks[0], ranks[1], before, scores[0], scores[1])


def match_candidates(
    bm25: F64,
    cosine: F64,
    before: I64,
    ceiling: float,
    share: float,
    spread: float,
    own: F64,
    asks: U8,
    answers: float,
) -> Parts:
    """Score candidates; by the kernel where it is compiled.

    Parameters
    ----------
    bm25, cosine : float64 (n,)
        Of each candidate.
    before : int64 (n,)
        As `Joined` has it.
    ceiling : float
        What no BM25 score can exceed; 0 where the query has no words.
    share : float
        Part of the score that is the cosine's, in [0, 1].
    spread : float
        Share of its own score that a row passes on to the chunk before it.
    own : float64 (n,) or (0,)
        Scores of the candidates where they come from elsewhere (ranks); empty: by the formula.
    asks : uint8 (n,) or (0,)
        1 for a question; empty where there are none.
    answers : float
        Share of its own score that a question passes on to the row after it.

    Returns
    -------
    Parts
        coverage = bm25 / ceiling;  own = (1 − share)·coverage + share·max(cosine, 0);  received = Σ spread·own of the
        rows that follow, in ascending order, + answers·own of the row before where it asks;  semantic = min(own +
        received, 1).
    """
    if not match_candidates_kernel.ready:
        return match_candidates_numpy(bm25, cosine, before, ceiling, share, spread, own, asks, answers)
    out = np.empty((4, bm25.size))
    match_candidates_kernel(
        bm25, cosine, before, ceiling, share, spread, own, asks, answers, out[0], out[1], out[2], out[3]
    )
    return Parts(out[0], out[1], out[2], out[3])


def match_candidates_numpy(
    bm25: F64,
    cosine: F64,
    before: I64,
    ceiling: float,
    share: float,
    spread: float,
    own: F64,
    asks: U8,
    answers: float,
) -> Parts:
    """Score candidates; see `match_candidates`."""
    coverage = bm25 / ceiling if ceiling else np.zeros(bm25.size)
    if not own.size:
        own = (1.0 - share) * coverage + share * np.maximum(cosine, 0.0)
    received = np.zeros(bm25.size)
    has = np.flatnonzero(before >= 0)
    np.add.at(received, before[has], spread * own[has])
    if asks.size:
        told = has[asks[before[has]] != 0]
        received[told] += answers * own[before[told]]
    return Parts(coverage, own, received, np.minimum(own + received, 1.0))


def _distinct(rows: I64) -> I64:
    rows.sort()
    keep = np.ones(rows.size, np.bool_)
    np.not_equal(rows[1:], rows[:-1], out=keep[1:])
    return rows[keep]


def _join_examples() -> tuple[object, ...]:
    rows, one = np.zeros(1, np.int64), np.ones(1)
    none, out = np.zeros(1, np.int32), np.empty((4, 6), np.int64)
    return rows, one, rows, one, one, np.full(1, -1), np.ones(1, np.uint8), none, 1, out, np.empty((2, 6))


def _score_examples() -> tuple[object, ...]:
    one = np.ones(1)
    none = np.empty(0, np.uint8)
    return one, one, np.full(1, -1), 1.0, 0.5, 0.5, np.empty(0), none, 0.5, *(np.empty(1) for _ in range(4))


@kernel
def _squeeze(out_rows: I64, size: int) -> int:
    """Sort the first rows and leave each once; return how many are left."""
    sort_rows(out_rows, size)
    kept = 0
    for i in range(size):
        # writing never overtakes reading: the last one kept is the last one read that differs
        if kept == 0 or out_rows[i] != out_rows[kept - 1]:
            out_rows[kept] = out_rows[i]
            kept += 1
    return kept


@kernel
def _place(rows: I64, size: int, row: int) -> int:
    """Return the position of a row that ascending rows contain."""
    low, high = 0, size - 1
    while low < high:
        middle = (low + high) >> 1
        if rows[middle] < row:
            low = middle + 1
        else:
            high = middle
    return low


@kernel(examples=[_join_examples])
def join_lanes_kernel(
    lexical: I64,
    lexical_scores: F64,
    vector: I64,
    vector_scores: F64,
    beside: F64,
    previous: I64,
    live: U8,
    roles: I32,
    question: int,
    out: I64,
    out_scores: F64,
) -> int:
    """Join two lanes; see `join_lanes`.

    Parameters
    ----------
    lexical, lexical_scores, vector, vector_scores, beside, previous, live, roles, question
        As for `join_lanes`.
    out : int64 (4, 3 (l + v))
    out_scores : float64 (2, 3 (l + v))
        Written: the fields of `Joined`.

    Returns
    -------
    int
        How many rows there are.

    Notes
    -----
    O(c log c) for c candidates.
    """
    out_rows, out_lexical, out_vector, out_before = out[0], out[1], out[2], out[3]
    out_lexical_score, out_vector_score = out_scores[0], out_scores[1]
    size = lexical.size + vector.size
    direct_room = np.empty(2 * size, np.int64)
    direct_room[: lexical.size] = lexical
    direct_room[lexical.size : size] = vector
    found = _squeeze(direct_room, size)
    if previous.size and roles.size:
        asked = found
        for i in range(asked):
            after = direct_room[i] + 1
            follows = after < previous.size and previous[after] == after - 1
            if follows and roles[after - 1] == question and (live.size == 0 or live[after] != 0):
                direct_room[found] = after
                found += 1
        found = _squeeze(direct_room, found)
    out_rows[:found] = direct_room[:found]
    n = found
    if previous.size:
        for i in range(found):
            before = previous[direct_room[i]]
            known = before >= 0 and direct_room[_place(direct_room, found, before)] == before
            # one that is there already is not written again: of turns after questions there is no room for any
            if before >= 0 and not known and (live.size == 0 or live[before] != 0):
                out_rows[n] = before
                n += 1
        n = _squeeze(out_rows, n)
    for i in range(n):
        out_lexical[i] = out_vector[i] = 0
        out_before[i] = -1
        out_lexical_score[i] = out_vector_score[i] = np.nan
    for rank in range(vector.size):
        at = _place(out_rows, n, vector[rank])
        out_vector[at] = rank + 1
        out_vector_score[at] = vector_scores[rank]
        if beside.size:
            out_lexical_score[at] = beside[rank]
    for rank in range(lexical.size):
        at = _place(out_rows, n, lexical[rank])
        out_lexical[at] = rank + 1
        out_lexical_score[at] = lexical_scores[rank]
    if previous.size:
        for i in range(found):
            before = previous[direct_room[i]]
            if before >= 0 and (live.size == 0 or live[before] != 0):
                out_before[_place(out_rows, n, direct_room[i])] = _place(out_rows, n, before)
    return n


@kernel(examples=[_score_examples])
def match_candidates_kernel(
    bm25: F64,
    cosine: F64,
    before: I64,
    ceiling: float,
    share: float,
    spread: float,
    own: F64,
    asks: U8,
    answers: float,
    out_coverage: F64,
    out_own: F64,
    out_received: F64,
    out_semantic: F64,
) -> None:
    """Score candidates; see `match_candidates`.

    Parameters
    ----------
    bm25, cosine, before, ceiling, share, spread, own, asks, answers
        As for `match_candidates`.
    out_coverage, out_own, out_received, out_semantic : float64 (n,)
        Written: the fields of `Parts`.
    """
    for i in range(bm25.size):
        out_coverage[i] = bm25[i] / ceiling if ceiling != 0.0 else 0.0
        out_own[i] = own[i] if own.size else (1.0 - share) * out_coverage[i] + share * max(cosine[i], 0.0)
        out_received[i] = 0.0
    for i in range(bm25.size):
        if before[i] >= 0:
            out_received[before[i]] += spread * out_own[i]
    if asks.size:
        for i in range(bm25.size):
            if before[i] >= 0 and asks[before[i]] != 0:
                out_received[i] += answers * out_own[before[i]]
    for i in range(bm25.size):
        out_semantic[i] = min(out_own[i] + out_received[i], 1.0)


class RowTraits(NamedTuple):
    """Columns of all rows of a vault that scores read, and a profile's numbers for them.

    Attributes
    ----------
    created_us : int64 (rows,)
    types, collections, roles : int32 (rows,)
        Codes; -1 for none.
    type_days, collection_days : float64 (codes + 1,)
        Half-lives by code, the last for none; NaN where the collection's, or the default, counts.
    role_factors : float64 (codes + 1,)
    """

    created_us: I64
    types: I32
    collections: I32
    roles: I32
    type_days: F64
    collection_days: F64
    role_factors: F64


def _rank_examples() -> tuple[object, ...]:
    one, row, code = np.ones(1), np.zeros(1, np.int64), np.zeros(1, np.int32)
    traits = RowTraits(row, code, code, code, np.ones(2), np.ones(2), np.ones(2))
    matched = row, one, one, np.full(1, -1), 1.0, 0.5, 0.5, np.empty(0), np.empty(0, np.uint8), 0.5
    order, newest = np.empty(1, np.int64), np.empty(2, np.int64)
    return *matched, *traits, np.empty(0), 0.5, 0, 1.0, Formula(), np.empty((6, 1)), order, newest


@kernel(examples=[_rank_examples])
def rank_candidates(
    rows: I64,
    bm25: F64,
    cosine: F64,
    before: I64,
    ceiling: float,
    share: float,
    spread: float,
    own: F64,
    asks: U8,
    answers: float,
    created_us: I64,
    types: I32,
    collections: I32,
    roles: I32,
    type_days: F64,
    collection_days: F64,
    role_factors: F64,
    factors: F64,
    least_match: float,
    aged_us: int,
    speed: float,
    formula: Formula,
    out: F64,
    out_order: I64,
    out_newest: I64,
) -> tuple[int, bool, float]:
    """Match, age and order candidates in one call.

    It is `match_candidates`, the lookups of `RowTraits` and `lamina_kernels.scoring.score_rows` after each other.

    Parameters
    ----------
    rows, bm25, cosine, before, ceiling, share, spread, own, asks, answers
        As for `match_candidates`.
    created_us, types, collections, roles, type_days, collection_days, role_factors
        The fields of `RowTraits`.
    factors : float64 (n,) or (0,)
        Factor of each candidate; empty: that of its role.
    least_match : float
        Share of the best match below which age does not count; negative where it counts for all.
    aged_us : int
        Moment that ages are counted to; with ``least_match`` the newest date of what matches well enough, if that is earlier.
    speed : float
        Divides half-lives, with ``least_match``.
    formula : Formula
        Without what ``least_match`` sets.
    out : float64 (6, n)
        Written: coverage, own, received and semantic match, factor, score.
    out_order : int64 (n,)
        Written: positions by score, then newer, then position.
    out_newest : int64 (2,)
        Written: the moment that ages were counted to, and 1 where it is too far from 1970 to be exact.

    Returns
    -------
    (int, bool, float)
        How many positions the order has, whether any are tied, and the best match.

    Notes
    -----
    O(n log n).
    """
    out_semantic, out_factor = out[3], out[4]
    match_candidates_kernel(
        bm25, cosine, before, ceiling, share, spread, own, asks, answers, out[0], out[1], out[2], out_semantic
    )
    n = rows.size
    created, half_lives = np.empty(n, np.int64), np.empty(n)
    best = 0.0
    for i in range(n):
        row = rows[i]
        created[i] = created_us[row]
        days = type_days[types[row]]
        half_lives[i] = collection_days[collections[row]] if math.isnan(days) else days
        out_factor[i] = factors[i] if factors.size else role_factors[roles[row]]
        best = max(best, out_semantic[i])
    to_us, p = aged_us, formula
    if least_match >= 0.0:
        newest = UNDATED_US
        for i in range(n):
            if out_semantic[i] >= least_match * best:
                newest = max(newest, created[i])
            half_lives[i] /= speed
        if EARLIEST_US <= newest < LATEST_US:
            to_us = min(newest, to_us)
        p = Formula(
            p.semantic_weight, float(math.floor(to_us / 1e6)), p.undated_us, p.start_us, p.end_us, p.window_weight, p.before_days,
            p.after_days, p.boost, p.boost_half_life_hours, p.now_s, least_match * best, 1.0 / (1.0 - least_match),
        )  # fmt: skip
    out_newest[0], out_newest[1] = to_us, abs(to_us) >= _EXACT_US
    count, tied = score_rows_kernel(
        out_semantic, out_factor, created, half_lives, np.empty((0, n)), p, out[5], out_order
    )
    return count, tied, best


RANK_CONSTANT = 60


def reciprocal_rank_fusion(
    lanes: Sequence[I64], weights: Sequence[float], *, rank_constant: float = RANK_CONSTANT
) -> RowScores:
    """Fuse ranked lists.

    Parameters
    ----------
    lanes : sequence of int64 (n_i,)
        Rows of each lane, best first. A row that stands twice in a lane counts at its better rank.
    weights : sequence of float
        One a lane.
    rank_constant : float
        The k of the formula; larger flattens the ranks.

    Returns
    -------
    RowScores
        Distinct rows ascending, with float64 scores.

    Notes
    -----
    A row's parts are added in the order of the lanes, so equal input gives equal bits.  O(N log N) for N ranks.
    """
    if not lanes:
        return RowScores(np.empty(0, np.int64), np.empty(0))
    rows = np.unique(np.concatenate(lanes))
    scores = np.zeros(rows.size)
    for lane, weight in zip(lanes, weights, strict=True):
        part = np.zeros(rows.size)
        ranks = np.arange(1, lane.size + 1)
        # backwards: of equal positions NumPy keeps the last assignment, here the better rank
        part[np.searchsorted(rows, lane[::-1])] = weight / (rank_constant + ranks[::-1])
        scores += part
    return RowScores(rows, scores)

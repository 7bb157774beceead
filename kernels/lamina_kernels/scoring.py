"""Scores of rows: age blended in, a time window, boosts, and the order of the best.

One call scores the candidates of a recall, or every row of a vault. The kernel and its NumPy twin give the same bytes on
every machine: halving is made of additions and multiplications in a fixed order, since ``pow`` differs by a last bit
between NumPy's vector code and the machine's library.
"""

# pyright: reportArgumentType=false
# an element of an array is a number to the compiler, and may be an array to a checker of stubs
from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

from lamina_kernels._jit import kernel
from lamina_kernels.layouts import F64, I64
from lamina_kernels.sorting import order_keys

UNDATED_US: Final = -(2**63)
"""Stands for a date that is not known."""
LEAST_HALF_LIVES: Final = 10.0
"""A row without a date counts as at least so many half-lives old: recency below 0.001."""
_UNDATED_DAYS: Final = 1e9
"""How far outside of every window a row without a date lies."""
_US_PER_S: Final = 1e6
_US_PER_DAY: Final = 86_400e6
_S_PER_DAY: Final = 86_400.0
_S_PER_HOUR: Final = 3_600.0

_DEEPEST: Final = 1_100.0  # 2^-1075 is 0 in float64
_BIAS: Final = np.int64(1_023)
_MANTISSA: Final = np.int64(52)
_LN2: Final = math.log(2.0)
_LN2_HIGH: Final = float.fromhex("0x1.62e42fp-1")  # 25 bits: its product with 26 bits is exact
_LN2_LOW: Final = float.fromhex("0x1.df473de6af279p-26")
_SPLIT: Final = 134_217_729.0  # 2^27 + 1, see T. J. Dekker, Numer. Math. 18 (1971)
_C2, _C3, _C4, _C5, _C6, _C7, _C8, _C9, _C10, _C11, _C12, _C13 = (_LN2**n / math.factorial(n) for n in range(2, 14))


class Formula(NamedTuple):
    """The numbers of a score that are the same for every row; all of them floats.

    Attributes
    ----------
    semantic_weight : float
        In [0, 1]; recency has the rest; 1 leaves age out.
    aged_s : float
        The moment ages are counted to, whole seconds UTC.
    undated_us : float
        Stands in for a date that is not known.
    start_us, end_us : float
        A half-open time window.
    window_weight : float
        Share of its score that a row far outside the window loses; 0 without a window.
    before_days, after_days : float
        Days on which that fades in, on either side.
    boost : float
        A row of the moment ``now_s`` gains this share of its score; 0 for no such boost.
    boost_half_life_hours : float
        > 0.
    now_s : float
        The moment the boost is counted to, whole seconds UTC.
    floor, slope : float
        Recency counts times slope · max(semantic − floor, 0); with a slope of 0 whole, whatever the match.
    """

    semantic_weight: float = 1.0
    aged_s: float = 0.0
    undated_us: float = 0.0
    start_us: float = 0.0
    end_us: float = 0.0
    window_weight: float = 0.0
    before_days: float = 0.0
    after_days: float = 0.0
    boost: float = 0.0
    boost_half_life_hours: float = 1.0
    now_s: float = 0.0
    floor: float = 0.0
    slope: float = 0.0


class Scored(NamedTuple):
    """Scores of rows and the order of the best.

    Attributes
    ----------
    score : float64 (n,)
    order : int64 (m,)
        Positions with a score above 0, by score, then newer, then position; at most as many as asked for.
    tied : bool
        Whether rows of one score and date stand at the cut, or beside each other before it.
    """

    score: F64
    order: I64
    tied: bool


def score_rows(
    semantic: F64, factor: F64, created_us: I64, half_life_days: F64, multipliers: F64, formula: Formula, most: int
) -> Scored:
    """Score rows and order the best of them; by the kernel where it is compiled.

    Parameters
    ----------
    semantic, factor : float64 (n,)
        The match of each row, and what multiplies its blend with recency.
    created_us : int64 (n,)
        us UTC; `UNDATED_US` where unknown.
    half_life_days : float64 (n,) or (0,)
        > 0; empty where ``semantic_weight`` is 1.
    multipliers : float64 (b, n)
        What multiplies each score after the boost for recency, one after the other.
    formula : Formula
    most : int
        Most positions in the order.

    Returns
    -------
    Scored
        score = factor · (w·semantic + (1 − w)·reach·2^(−age/half-life)) · (1 − window_weight·away) ·
        (1 + boost·2^(−age/boost_half_life)) · multipliers; ``reach`` is 1, or slope · max(semantic − floor, 0) with a
        slope; ``away`` is 0 in the window and 1 beyond the days of fading.

    Notes
    -----
    O(n log most).
    """
    if not score_rows_kernel.ready:
        return score_rows_numpy(semantic, factor, created_us, half_life_days, multipliers, formula, most)
    score, order = np.empty(semantic.size), np.empty(min(most, semantic.size), np.int64)
    count, tied = score_rows_kernel(
        semantic, factor, created_us, half_life_days, multipliers, formula, score, order
    )  # fmt: skip
    return Scored(score, order[:count], tied)


def score_rows_numpy(
    semantic: F64, factor: F64, created_us: I64, half_life_days: F64, multipliers: F64, formula: Formula, most: int
) -> Scored:
    """Score rows; see `score_rows`."""
    p = formula
    dated = created_us != UNDATED_US
    created = created_us.astype(np.float64)
    score = factor * semantic
    if p.semantic_weight < 1.0:
        age_s, half_life_s = ages_numpy(created_us, half_life_days, p.aged_s, p.undated_us)
        recency = halve(age_s / half_life_s)
        if p.slope > 0.0:
            recency = recency * (p.slope * np.maximum(semantic - p.floor, 0.0))
        score = factor * (p.semantic_weight * semantic + (1.0 - p.semantic_weight) * recency)
    if p.window_weight > 0.0:
        before = np.minimum((created - p.start_us) / _US_PER_DAY, 0.0)
        # the window is half-open: its end is the first moment outside, however near
        after = np.maximum((created - p.end_us + 1.0) / _US_PER_DAY, 0.0)
        days = np.where(dated, before + after, _UNDATED_DAYS)
        room = np.where(days < 0.0, p.before_days, p.after_days)
        away = np.divide(np.abs(days), room, out=np.where(days == 0.0, 0.0, np.inf), where=room > 0.0)
        score = score * (1.0 - p.window_weight * np.minimum(away, 1.0))
    if p.boost > 0.0:
        hours = np.maximum(p.now_s - created / _US_PER_S, 0.0) / _S_PER_HOUR
        score = score * (1.0 + p.boost * np.where(dated, halve(hours / p.boost_half_life_hours), 0.0))
    for multiplier in multipliers:
        score = score * multiplier
    kept = np.flatnonzero(score > 0.0)
    worse, older = -score[kept], ~created_us[kept]  # ~: the other way round, and unlike a minus it cannot overflow
    order = np.lexsort((older, worse))
    head = order[: most + 1]
    equal = (worse[head[1:]] == worse[head[:-1]]) & (older[head[1:]] == older[head[:-1]])
    return Scored(score, kept[order[:most]], bool(equal.any()))


def ages_numpy(created_us: I64, half_life_days: F64, now_s: float, undated_us: float) -> tuple[F64, F64]:
    """Ages of rows and their half-lives, both in seconds.

    Parameters
    ----------
    created_us : int64 (n,)
        us UTC; `UNDATED_US` where unknown.
    half_life_days : float64 (n,)
        > 0.
    now_s, undated_us : float
        As in `Formula`.

    Returns
    -------
    (age_s, half_life_s)
        float64 (n,) each. An age is at least 0; without a date it is that of the stand-in, and `LEAST_HALF_LIVES` at least.
    """
    dated = created_us != UNDATED_US
    half_life_s = half_life_days * _S_PER_DAY
    # float64 before the difference: absurd dates at the ends of int64 must not wrap round
    age_s = np.maximum(now_s - np.where(dated, created_us.astype(np.float64), undated_us) / _US_PER_S, 0.0)
    # what never ages has no least age: infinity over infinity is no number
    least_s = LEAST_HALF_LIVES * np.where(np.isinf(half_life_s), 0.0, half_life_s)
    return np.where(dated, age_s, np.maximum(age_s, least_s)), half_life_s


def halve(periods: F64) -> F64:
    """Return 2^−x, float64 (n,), within 0.51 ulp; integers give exact powers of two.

    Parameters
    ----------
    periods : float64 (n,)
        ≥ 0; inf gives 0.
    """
    x = np.minimum(periods, _DEEPEST)
    k = np.floor(x + 0.5)
    f = k - x
    tail = _C2 + f * (
        _C3
        + f
        * (
            _C4
            + f
            * (_C5 + f * (_C6 + f * (_C7 + f * (_C8 + f * (_C9 + f * (_C10 + f * (_C11 + f * (_C12 + f * _C13))))))))
        )
    )
    split = f * _SPLIT
    high = split - (split - f)
    product = high * _LN2_HIGH
    rest = ((f - high) * _LN2_HIGH + f * _LN2_LOW) + (f * f) * tail
    total = 1.0 + product
    whole = k.astype(np.int64)
    half = whole >> 1
    # in two factors: the first product is exact, the second rounds once where the result is subnormal
    first = ((_BIAS - half) << _MANTISSA).view(np.float64)
    second = ((_BIAS - (whole - half)) << _MANTISSA).view(np.float64)
    power: F64 = ((total + ((product - (total - 1.0)) + rest)) * first) * second
    return power


def _examples() -> tuple[object, ...]:
    one, long = np.ones(1), np.zeros(1, np.int64)
    return one, one, long, one, np.ones((1, 1)), Formula(), np.empty(1), np.empty(1, np.int64)


@kernel
def _halve(periods: float) -> float:
    """Return 2^−x as `halve` does, without branches or tables, so that LLVM vectorises it."""
    x = min(periods, _DEEPEST)
    k = math.floor(x + 0.5)
    f = k - x
    tail = _C2 + f * (
        _C3
        + f
        * (
            _C4
            + f
            * (_C5 + f * (_C6 + f * (_C7 + f * (_C8 + f * (_C9 + f * (_C10 + f * (_C11 + f * (_C12 + f * _C13))))))))
        )
    )
    split = f * _SPLIT
    high = split - (split - f)
    product = high * _LN2_HIGH
    rest = ((f - high) * _LN2_HIGH + f * _LN2_LOW) + (f * f) * tail
    total = 1.0 + product
    whole = np.int64(k)
    half = whole >> 1
    first = np.int64((_BIAS - half) << _MANTISSA).view(np.float64)
    second = np.int64((_BIAS - (whole - half)) << _MANTISSA).view(np.float64)
    return float(((total + ((product - (total - 1.0)) + rest)) * first) * second)


@kernel
def _away(created_us: int, p: Formula) -> float:
    """Return the distance of a date from the window, 0 inside to 1 at the end of fading."""
    days = _UNDATED_DAYS
    if created_us != UNDATED_US:
        created = float(created_us)
        days = min((created - p.start_us) / _US_PER_DAY, 0.0) + max((created - p.end_us + 1.0) / _US_PER_DAY, 0.0)
    if days == 0.0:
        return 0.0
    room = p.before_days if days < 0.0 else p.after_days
    return min(abs(days) / room, 1.0) if room > 0.0 else 1.0


@kernel
def _is_worse(score: F64, created_us: I64, i: int, j: int) -> bool:
    """Return True if position i comes after position j."""
    if score[i] != score[j]:
        return bool(score[i] < score[j])
    if created_us[i] != created_us[j]:
        return bool(created_us[i] < created_us[j])
    return i > j


@kernel
def _sink(score: F64, created_us: I64, out_heap: I64, size: int) -> None:
    """Let the first of a heap, whose first is its worst, sink to its place."""
    at = 0
    while True:
        worst, child = at, 2 * at + 1
        for c in range(child, min(child + 2, size)):
            if _is_worse(score, created_us, out_heap[c], out_heap[worst]):
                worst = c
        if worst == at:
            return
        out_heap[at], out_heap[worst] = out_heap[worst], out_heap[at]
        at = worst


@kernel
def _place_positive(score: F64, out_order: I64) -> int:
    """Write the positions of positive scores; return how many there are."""
    size = 0
    for i in range(score.size):
        if score[i] > 0.0:
            out_order[size] = i
            size += 1
    return size


@kernel
def _order_all(score: F64, created_us: I64, out_order: I64) -> tuple[int, bool]:
    """Order all positive scores; return their number, and True on a tie."""
    size = _place_positive(score, out_order)
    order, bits = out_order[:size], score.view(np.int64)  # of positive numbers, in their order
    order_keys(~bits, order)
    equal = False
    for at in range(1, size):
        equal = equal or score[order[at - 1]] == score[order[at]]
    if not equal:
        return size, False
    _place_positive(score, out_order)
    order_keys(~created_us, order)
    order_keys(~bits, order)
    return size, _has_ties(score, created_us, order)


@kernel
def _has_ties(score: F64, created_us: I64, order: I64) -> bool:
    tied = False
    for at in range(1, order.size):
        i, j = order[at - 1], order[at]
        tied = tied or (score[i] == score[j] and created_us[i] == created_us[j])
    return tied


@kernel
def _best(score: F64, created_us: I64, out_order: I64) -> tuple[int, bool]:
    """Select the best positive scores; return their number, and True on a tie."""
    if out_order.size >= score.size:
        return _order_all(score, created_us, out_order)
    size, left = 0, 0  # some of them, by a heap
    for i in range(score.size):
        if not score[i] > 0.0 or out_order.size == 0:
            continue
        if size < out_order.size:
            at = size
            size += 1
            out_order[at] = i
            while at > 0 and _is_worse(score, created_us, out_order[at], out_order[(at - 1) >> 1]):
                above = (at - 1) >> 1
                out_order[at], out_order[above] = out_order[above], out_order[at]
                at = above
        else:
            left += 1
            if _is_worse(score, created_us, out_order[0], i):
                out_order[0] = i
                _sink(score, created_us, out_order, size)
    for end in range(size - 1, 0, -1):
        out_order[0], out_order[end] = out_order[end], out_order[0]
        _sink(score, created_us, out_order, end)
    tied = _has_ties(score, created_us, out_order[:size])
    if left > 0:
        last = out_order[size - 1]
        for i in range(last + 1, score.size):
            tied = tied or (score[i] == score[last] and created_us[i] == created_us[last])
    return size, tied


@kernel(examples=[_examples])
def score_rows_kernel(
    semantic: F64,
    factor: F64,
    created_us: I64,
    half_life_days: F64,
    multipliers: F64,
    formula: Formula,
    out_score: F64,
    out_order: I64,
) -> tuple[int, bool]:
    """Score rows; see `score_rows`.

    Parameters
    ----------
    semantic, factor, created_us, half_life_days, multipliers, formula
        As for `score_rows`.
    out_score : float64 (n,)
        Written.
    out_order : int64 (m,)
        Written: the order, as far as there are rows with a score above 0.

    Returns
    -------
    (int, bool)
        How many positions the order has, and whether any are tied.
    """
    p = formula
    n = semantic.size
    if p.semantic_weight < 1.0:
        for i in range(n):
            dated = created_us[i] != UNDATED_US
            half_life_s = half_life_days[i] * _S_PER_DAY
            age_s = max(p.aged_s - (float(created_us[i]) if dated else p.undated_us) / _US_PER_S, 0.0)
            least_s = 0.0 if dated or half_life_s == np.inf else LEAST_HALF_LIVES * half_life_s
            age_s = max(age_s, least_s)
            recency = _halve(age_s / half_life_s)
            if p.slope > 0.0:
                recency *= p.slope * max(semantic[i] - p.floor, 0.0)
            out_score[i] = factor[i] * (p.semantic_weight * semantic[i] + (1.0 - p.semantic_weight) * recency)
    else:
        for i in range(n):
            out_score[i] = factor[i] * semantic[i]
    if p.window_weight > 0.0:
        for i in range(n):
            out_score[i] *= 1.0 - p.window_weight * _away(created_us[i], p)
    if p.boost > 0.0:
        for i in range(n):
            hours = max(p.now_s - float(created_us[i]) / _US_PER_S, 0.0) / _S_PER_HOUR
            recency = _halve(hours / p.boost_half_life_hours)
            out_score[i] *= 1.0 + p.boost * (recency if created_us[i] != UNDATED_US else 0.0)
    for j in range(multipliers.shape[0]):
        for i in range(n):
            out_score[i] *= multipliers[j, i]
    return _best(out_score, created_us, out_order)

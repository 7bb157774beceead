"""Recency: half-life and time-constant decay, and the blend of a semantic score with it; and decay by hops.

``half_life`` always means 0.5^(age / h); ``time_constant`` always means e^(−age / τ). Ages are seconds, clamped at 0.
A row that never ages has an infinite half-life (or an inverse half-life of 0) and decays to 1 whatever its age.
Otherwise an age that is not known (NaN) or infinite decays to 0: it never outranks a known one.

What links lead to is weighed by hops and never by the clock: days without work on a project say nothing about what led
to what. Decay by hops is for tens of nodes, so NumPy is all of it.

The float64 forms are exact to rounding. `blend` is the hot path: float32 columns, with 2^x as a polynomial
and the exponent put in as bits, so that LLVM vectorises the whole loop without a vector math library. It reads
12 bytes and writes 4 per row.
"""

from __future__ import annotations

import math

import numpy as np

from lamina_kernels._jit import kernel
from lamina_kernels.layouts import F32, F64, I32, I64

# 2^f on [−0.5, 0.5] as 1 + f·(C1 + f·(… + f·C6)): least maximum relative error (2e-9) with the constant held at 1,
# so that age 0 gives exactly 1 and whole half-lives give exact powers of two. In float32 the error is 1.1e-7.
_C1 = np.float32(0.6931472)
_C2 = np.float32(0.24022648)
_C3 = np.float32(0.055503324)
_C4 = np.float32(0.009618437)
_C5 = np.float32(0.0013398875)
_C6 = np.float32(0.00015353362)
_ONE = np.float32(1.0)
_ZERO = np.float32(0.0)
_OLDEST = np.float32(3.0e38)
_DEEPEST = np.float32(126.0)  # 2^−126 is the least normal float32; ranking treats it as 0
_ROUNDER = np.float32(12582912.0)  # 1.5·2^23: adding it leaves the nearest integer in the low bits
_ROUNDER_BITS = np.int32(0x4B400000)
_BIAS = np.int32(127)
_MANTISSA = np.int32(23)


def half_life_decay_numpy(age_s: F64, half_life_s: F64) -> F64:
    """Recency of each row, halving once per half-life.

    Parameters
    ----------
    age_s : float64 (n,)
        Seconds; below 0 counts as 0, NaN as infinitely old.
    half_life_s : float64 (n,)
        Seconds; > 0; inf never ages.

    Returns
    -------
    float64 (n,)
        In [0, 1]; 1 at age 0.

    Notes
    -----
    0.5 ** (age_s / half_life_s).  O(n).
    """
    ages = _periods(age_s, half_life_s)
    return np.power(0.5, ages)


def time_constant_decay_numpy(age_s: F64, time_constant_s: F64) -> F64:
    """Recency of each row, falling to 1/e once per time constant.

    Parameters
    ----------
    age_s : float64 (n,)
        Seconds; below 0 counts as 0, NaN as infinitely old.
    time_constant_s : float64 (n,)
        Seconds; > 0; inf never ages.

    Returns
    -------
    float64 (n,)
        In [0, 1]; 1 at age 0.

    Notes
    -----
    e ** (−age_s / time_constant_s).  O(n).
    """
    return np.exp(-_periods(age_s, time_constant_s))


def blend_numpy(semantic: F32, age_s: F32, inverse_half_life: F32, semantic_weight: float) -> F64:
    """Weigh a semantic score with recency, in float64.

    Parameters
    ----------
    semantic : float32 (n,)
        Score of each row, higher is better.
    age_s : float32 (n,)
        Seconds; below 0 counts as 0, NaN as infinitely old.
    inverse_half_life : float32 (n,)
        1/s; ≥ 0; 0 never ages.
    semantic_weight : float
        In [0, 1]; recency has the rest.

    Returns
    -------
    float64 (n,)
        semantic_weight · semantic + (1 − semantic_weight) · 0.5^(age_s · inverse_half_life).
    """
    never = inverse_half_life == 0
    ages = np.where(never, 0.0, np.maximum(_known(age_s.astype(np.float64)), 0.0))
    recency = np.power(0.5, ages * inverse_half_life)
    return semantic_weight * semantic.astype(np.float64) + (1.0 - semantic_weight) * recency


def linear_hop_decay(hops: I32 | I64, hold: float, dies: float) -> F64:
    """Weight of what lies some links away: 1 for a while, then falling evenly to 0.

    Parameters
    ----------
    hops : int32 or int64 (n,)
        ≥ 0.
    hold : float
        Hops up to which the weight is 1; ≥ 0.
    dies : float
        Hops from which on it is 0; > ``hold``.

    Returns
    -------
    float64 (n,)
        In [0, 1].

    Notes
    -----
    max(0, 1 − max(0, hops − hold) / (dies − hold)).
    """
    fallen = np.maximum(hops.astype(np.float64) - hold, 0.0) / (dies - hold)
    return np.maximum(1.0 - fallen, 0.0)


def exponential_hop_decay(hops: I32 | I64, base: float, least: float) -> F64:
    """Weight of what lies some links away: multiplied by the base each hop, and 0 once it is below the least.

    Parameters
    ----------
    hops : int32 or int64 (n,)
        ≥ 0.
    base, least : float
        In (0, 1).

    Returns
    -------
    float64 (n,)
        In [0, 1].
    """
    weight = np.power(base, hops.astype(np.float64))
    return np.where(weight < least, 0.0, weight)


def _periods(age_s: F64, period_s: F64) -> F64:
    """Ages counted in periods, ≥ 0; rows that never age have 0."""
    never = np.isinf(period_s)
    ages: F64 = np.where(never, 0.0, np.maximum(_known(age_s), 0.0)) / np.where(never, 1.0, period_s)
    return ages


def _known(age_s: F64) -> F64:
    return np.where(np.isnan(age_s), np.inf, age_s)


def _column_examples() -> tuple[object, ...]:
    return np.zeros(2), np.ones(2), np.empty(2)


def _blend_examples() -> tuple[object, ...]:
    columns = np.zeros((4, 2), np.float32)
    return columns[0], columns[1], columns[2], 0.7, columns[3]


@kernel(examples=[_column_examples])
def half_life_decay(age_s: F64, half_life_s: F64, out: F64) -> None:
    """Recency of each row, halving once per half-life.

    Parameters
    ----------
    age_s : float64 (n,)
        Seconds; below 0 counts as 0, NaN as infinitely old.
    half_life_s : float64 (n,)
        Seconds; > 0; inf never ages.
    out : float64 (n,)
        Written. In [0, 1]; 1 at age 0.

    Notes
    -----
    out = 0.5 ** (age_s / half_life_s).  O(n), serial, bound by the machine's ``pow``.
    """
    for i in range(age_s.size):
        if np.isinf(half_life_s[i]) or age_s[i] <= 0.0:
            out[i] = 1.0
        elif np.isnan(age_s[i]):
            out[i] = 0.0
        else:
            out[i] = 0.5 ** (age_s[i] / half_life_s[i])


@kernel(examples=[_column_examples])
def time_constant_decay(age_s: F64, time_constant_s: F64, out: F64) -> None:
    """Recency of each row, falling to 1/e once per time constant.

    Parameters
    ----------
    age_s : float64 (n,)
        Seconds; below 0 counts as 0, NaN as infinitely old.
    time_constant_s : float64 (n,)
        Seconds; > 0; inf never ages.
    out : float64 (n,)
        Written. In [0, 1]; 1 at age 0.

    Notes
    -----
    out = e ** (−age_s / time_constant_s).  O(n), serial, bound by the machine's ``exp``.
    """
    for i in range(age_s.size):
        if np.isinf(time_constant_s[i]) or age_s[i] <= 0.0:
            out[i] = 1.0
        elif np.isnan(age_s[i]):
            out[i] = 0.0
        else:
            out[i] = math.exp(-age_s[i] / time_constant_s[i])


# contract: a multiplication and the addition after it become one instruction, a quarter of the time; the loop and its
# remainder are made of the same ones
@kernel(examples=[_blend_examples], fastmath=("contract",))
def blend(semantic: F32, age_s: F32, inverse_half_life: F32, semantic_weight: float, out: F32) -> None:
    """Weigh a semantic score with recency, in float32 at the speed of memory.

    Parameters
    ----------
    semantic : float32 (n,)
        Score of each row, higher is better.
    age_s : float32 (n,)
        Seconds; below 0 counts as 0, NaN as infinitely old.
    inverse_half_life : float32 (n,)
        1/s; ≥ 0; 0 never ages.
    semantic_weight : float
        In [0, 1]; recency has the rest.
    out : float32 (n,)
        Written; may be ``semantic`` itself.

    Notes
    -----
    out = w·semantic + (1 − w)·0.5^(age_s · inverse_half_life), within 2e-7 of `blend_numpy` for scores in [−1, 1].
    Every row goes through the same operations in the same order: its value does not depend on where it stands in a
    batch. Recency below 2^−126 is 2^−126.
    """
    w = np.float32(semantic_weight)
    rest = np.float32(1.0 - semantic_weight)
    for i in range(semantic.size):
        # selects, which LLVM vectorises; `not <`, so that NaN becomes the oldest age; finite, so that 0 · age is 0
        age = age_s[i]
        if not age < _OLDEST:
            age = _OLDEST
        if age < _ZERO:
            age = _ZERO
        halvings = age * inverse_half_life[i]
        if not halvings < _DEEPEST:
            halvings = _DEEPEST
        # 2^−h = 2^k · 2^f: k the nearest integer to −h, f in [−0.5, 0.5]
        shifted = np.float32(_ROUNDER - halvings)
        f = (_ROUNDER - shifted) - halvings
        # Estrin's order: the chain of dependent operations is half as long as Horner's
        f2 = f * f
        tail = (_C4 + f * _C5) + f2 * _C6
        p = (_ONE + f * _C1) + f2 * ((_C2 + f * _C3) + f2 * tail)
        power = np.int32((np.int32(shifted.view(np.int32) - _ROUNDER_BITS) + _BIAS) << _MANTISSA)
        out[i] = w * semantic[i] + rest * (p * power.view(np.float32))

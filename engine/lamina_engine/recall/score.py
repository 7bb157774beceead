"""The profile's formula over the whole candidate set, in float64 and one order of operations: the same bytes everywhere."""

from __future__ import annotations

import functools
import math
from typing import Protocol

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from lamina_engine.clock import MISSING_US, US_PER_S, parse_instant
from lamina_engine.index.accesses import Accesses
from lamina_engine.index.categories import CategoryTable
from lamina_engine.profiles import Decay
from lamina_engine.store.snapshot import Rows, Snapshot
from lamina_kernels.decay import half_life_decay_numpy

SECONDS_PER_DAY = 86_400.0
LEAST_MISSING_HALF_LIVES = 10.0
"""A chunk without a date counts as at least so many half-lives old, whatever the moment: recency below 0.001."""
F64 = NDArray[np.float64]


class Dated(Protocol):
    """What scoring by age needs to see of the vault."""

    @property
    def snapshot(self) -> Snapshot:
        """The version."""
        ...

    @property
    def created_us(self) -> NDArray[np.int64]:
        """created_at of every row; `MISSING_US` where unknown."""
        ...

    @property
    def categories(self) -> CategoryTable:
        """Codes of the narrow columns."""
        ...

    @property
    def accesses(self) -> Accesses:
        """How often rows were recalled."""
        ...


class Ages(Struct, frozen=True):
    """Ages of candidates and how fast they fade.

    Attributes
    ----------
    age_s : float64 (n,)
        Seconds, at least 0.
    half_life_s : float64 (n,)
        Seconds.
    recency : float64 (n,)
        0.5^(age/half-life), in [0, 1].
    dated : bool (n,)
        False where created_at is not known and the profile's stand-in was used.
    """

    age_s: F64
    half_life_s: F64
    recency: F64
    dated: NDArray[np.bool_]


def half_life_days(decay: Decay, type_: str | None, collection: str | None) -> float:
    """Return the half-life of a chunk: by its type, else by its collection, else the profile's."""
    if type_ in decay.type_half_life_days:
        return decay.type_half_life_days[type_]
    if collection in decay.collection_half_life_days:
        return decay.collection_half_life_days[collection]
    return decay.half_life_days


def ages(view: Dated, rows: Rows, decay: Decay, now_us: int) -> Ages:
    """Return the ages of some rows at a moment (which is truncated to whole seconds).

    Ages below zero (dates in the future) count as zero. A missing date counts as the profile's ``missing_created_at``, and as
    `LEAST_MISSING_HALF_LIVES` at least: a recall as of years ago, or a long half-life, must not make it fresh.
    """
    half_lives = reinforced(view, rows, _half_lives(view, rows, decay), decay, now_us)
    return _ages(view.created_us[rows], half_lives, decay, now_us)


def ages_of(created_us: list[int | None], half_lives_days: list[float] | F64, decay: Decay, now_us: int) -> Ages:
    """Return the ages of some dates (None: unknown) with their half-lives; the numbers that `ages` gives."""
    created = np.array([MISSING_US if us is None else us for us in created_us], np.int64)
    return _ages(created, np.array(half_lives_days, np.float64), decay, now_us)


def _ages(created: NDArray[np.int64], half_lives_days: F64, decay: Decay, now_us: int) -> Ages:
    dated = created != MISSING_US
    missing = not dated.all()
    if missing:
        created = np.where(dated, created, _stand_in(decay.missing_created_at))
    now_s = math.floor(now_us / US_PER_S)
    # float64 before the difference: absurd dates at the ends of int64 must not wrap round
    age_s = np.maximum(now_s - created.astype(np.float64) / US_PER_S, 0.0)
    half_life_s = half_lives_days * SECONDS_PER_DAY
    if missing:
        age_s = np.where(dated, age_s, np.maximum(age_s, LEAST_MISSING_HALF_LIVES * half_life_s))
    return Ages(age_s, half_life_s, half_life_decay_numpy(age_s, half_life_s), dated)


@functools.cache
def _stand_in(moment: str) -> int:
    return parse_instant(moment)


def reinforced(view: Dated, rows: Rows, half_lives_days: F64, decay: Decay, now_us: int) -> F64:
    """Return half-lives as being recalled has made them longer; see `lamina_engine.profiles.Reinforcement`.

    References
    ----------
    .. [1] ClawMem's half-life extended by use: rate 0.3, at most three times, accesses of the last 90 days.
    """
    rule = decay.reinforcement
    if rule.most <= 1.0 or not view.accesses:
        return half_lives_days
    factors = []
    for row in rows.tolist():
        days = max((now_us - view.accesses.last_us(row)) / US_PER_S / SECONDS_PER_DAY, 0.0)
        fresh = max(0.0, 1.0 - days / rule.window_days)
        factors.append(min(rule.most, 1.0 + rule.rate * math.log1p(view.accesses.count(row) * fresh)))
    return half_lives_days * np.array(factors, np.float64)


def _half_lives(view: Dated, rows: Rows, decay: Decay) -> F64:
    """Half-lives in days: one look-up for each distinct (type, collection)."""
    types = view.categories.gather(view.snapshot, "type", rows)
    collections = view.categories.gather(view.snapshot, "collection", rows)
    value = view.categories.value
    table: dict[tuple[int, int], float] = {}
    out = []
    for pair in zip(types.tolist(), collections.tolist(), strict=True):
        if pair not in table:
            table[pair] = half_life_days(decay, value("type", pair[0]), value("collection", pair[1]))
        out.append(table[pair])
    return np.array(out, np.float64)


def blend(semantic: F64, recency: F64, semantic_weight: float, factor: F64) -> F64:
    """Return factor · (w·semantic + (1 − w)·recency)."""
    if semantic_weight >= 1.0:
        return factor * semantic
    return factor * (semantic_weight * semantic + (1.0 - semantic_weight) * recency)

"""What multiplies a score besides its match: how recent a chunk is, whose session it is of, how long it is.

    score · (1 + r · 0.5^(age / half-life)) · (s where it is of the session that asks) / (1 + log2(max(1, tokens / anchor)))

after Causantic, with r = 0.3 and a half-life of 48 hours, s = 1.2, and an anchor of 500 tokens in the ``episodic``
profile. Recency raises what is new and never buries what is old: its factor lies in [1, 1 + r], and a chunk without a
date, or a date in the future, gains nothing that a dated one could not gain.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from lamina_engine.clock import MISSING_US, US_PER_S
from lamina_engine.recall.sizes import token_counts
from lamina_kernels.decay import half_life_decay_numpy
from lamina_kernels.layouts import F64, I64

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_engine.profiles import Boosts
    from lamina_engine.recall.request import Request

_SECONDS_PER_HOUR: Final = 3_600.0


def recency_boost(age_hours: F64, share: float, half_life_hours: float) -> F64:
    """Return 1 + share · 0.5^(age / half-life); ages below 0 count as 0, an age that is not known (NaN) gains nothing."""
    half_lives = np.full(age_hours.shape, half_life_hours)
    return 1.0 + share * half_life_decay_numpy(age_hours, half_lives)


def length_penalty(tokens: I64, anchor: int) -> F64:
    """Return 1 / (1 + log2(max(1, tokens / anchor))): 1 up to the anchor, a half at twice as many tokens."""
    penalty: F64 = 1.0 / (1.0 + np.log2(np.maximum(tokens.astype(np.float64) / anchor, 1.0)))
    return penalty


def boosted(view: View, request: Request, rows: I64, score: F64) -> F64:
    """Return scores times what the profile says; the same array where it says nothing.

    Parameters
    ----------
    view : View
    request : Request
    rows : int64 (n,)
    score : float64 (n,)
    """
    settings = request.profile.boosts
    if settings.recency:
        score = score * recency_boost(
            _age_hours(view, request, rows), settings.recency, settings.recency_half_life_hours
        )
    if settings.session != 1.0 and request.session is not None:
        score = np.where(_same_session(view, request.session, rows), score * settings.session, score)
    if settings.length_tokens:
        score = score * length_penalty(token_counts(view, rows).astype(np.int64), settings.length_tokens)
    return score


def applies(settings: Boosts) -> bool:
    """Tell whether a profile multiplies anything."""
    return bool(settings.recency or settings.length_tokens or settings.session != 1.0)


def boost_terms(view: View, request: Request, rows: I64) -> list[dict[str, Any]]:
    """Return what `recomputed` needs for each row."""
    settings = request.profile.boosts
    asks = request.session
    same = _same_session(view, asks, rows).tolist() if asks is not None else [False] * len(rows)
    columns = zip(_age_hours(view, request, rows).tolist(), same, token_counts(view, rows).tolist(), strict=True)
    return [
        {
            "recency": settings.recency, "half_life_hours": settings.recency_half_life_hours,
            "age_hours": None if math.isnan(age) else age, "session": settings.session if mine else 1.0,
            "tokens": tokens, "length_tokens": settings.length_tokens,
        }
        for age, mine, tokens in columns
    ]  # fmt: skip


def recomputed(terms: Mapping[str, Any]) -> float:
    """Return the factor that one of `boost_terms` stands for."""
    age = terms["age_hours"]
    factor = float(terms["session"])
    if age is not None:
        factor *= 1.0 + terms["recency"] * 0.5 ** (age / terms["half_life_hours"])
    if terms["length_tokens"]:
        factor /= 1.0 + math.log2(max(1.0, terms["tokens"] / terms["length_tokens"]))
    return factor


def _age_hours(view: View, request: Request, rows: I64) -> F64:
    """Hours, at least 0; NaN where there is no date."""
    created = view.created_us[rows]
    # float64 before the difference: absurd dates at the ends of int64 must not wrap round
    age = np.maximum(math.floor(request.now_us / US_PER_S) - created.astype(np.float64) / US_PER_S, 0.0)
    return np.where(created == MISSING_US, np.nan, age / _SECONDS_PER_HOUR)


def _same_session(view: View, session: str, rows: I64) -> Any:
    codes = view.categories.gather(view.snapshot, "session", rows)  # first: it reads the names
    return codes == view.categories.code("session", session)

"""Candidate scores: match, age, time window, boosts and ties.

    score = factor · (w·semantic + (1 − w)·reach·0.5^(age/half-life)) · window · recency boost · session · length

computed by one call (`lamina_kernels.scoring`) in float64 and one order of operations. The boosts are Causantic's; in
its profile recency adds up to 0.3 with a half-life of 48 hours, chunks of the current session count 1.2 times, and one
of more than 500 tokens is divided by 1 + log2(tokens/500). ``reach`` is 1, or with the profile's ``least_match`` a line
from 0 at that share of the best match to the best match itself.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from msgspec import Struct

from lamina_engine.clock import MISSING_US, US_PER_S, parse_instant, utc_datetime
from lamina_engine.index.state import INVALIDATED
from lamina_engine.recall.dialogue import turn_factors
from lamina_engine.recall.scopes import scope_factors
from lamina_kernels import scoring
from lamina_kernels.candidates import RowTraits
from lamina_kernels.layouts import BOOL, F64, I64
from lamina_kernels.scoring import Formula

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_engine.profiles import Decay, Profile
    from lamina_engine.recall.request import Request

SECONDS_PER_DAY: Final = 86_400.0
_NOTHING: Final = np.empty(0)
_TRAITS: Final = "row traits"
_SHOWN_INVALIDATED: Final = 0.5
"""Factor of an invalidated chunk that only a filter on status selects."""


# ---------------------------------------------------------------------- the formula


class AgeScale(Struct, frozen=True):
    """Match and date that ages are weighed by, where age orders only what matches."""

    best: float
    """Best semantic score of the candidates."""
    to_us: int
    """Ages are counted to this moment: the newest date of what matches well enough."""


def age_scale(view: View, request: Request, rows: I64, semantic: F64) -> AgeScale | None:
    """Return the scale of ages of some candidates; None where age counts for all of them."""
    decay = request.profile.decay
    if decay.least_match is None or decay.semantic_weight >= 1.0:
        return None
    best = float(semantic.max(initial=0.0))
    # a fact of the candidates and not of the clock: what matches may all be old, and the newer of it still leads
    newest = int(view.created_us[rows[semantic >= decay.least_match * best]].max(initial=MISSING_US))
    return AgeScale(best, request.aged_us if utc_datetime(newest) is None else min(newest, request.aged_us))


def score_rows(
    view: View,
    request: Request,
    rows: I64,
    semantic: F64,
    factor: F64,
    *,
    scale: AgeScale | None,
    weight: float | None = None,
    most: int | None = None,
) -> tuple[F64, list[int]]:
    """Score some rows and rank those with a score above 0."""
    # ``factor`` multiplies the blend of match and recency, ``weight`` is the share of the match (the profile's by default)
    # and ``most`` the number of positions to rank: by score, then newer, then id
    decay, boosts = request.profile.decay, request.profile.boosts
    weight = decay.semantic_weight if weight is None else weight
    formula = _formula(request, weight, scale)
    created = view.created_us[rows]
    half_lives = half_lives_of(view, rows, decay, request.aged_us, scale) if weight < 1.0 else _NOTHING
    multipliers: list[F64] = []
    if boosts.session != 1.0 and request.session is not None:
        multipliers.append(np.where(_is_of_session(view, request.session, rows), boosts.session, 1.0))
    if boosts.length_tokens:
        multipliers.append(length_penalty(_token_counts(view, rows), boosts.length_tokens))
    stacked = np.array(multipliers) if multipliers else np.empty((0, len(rows)))
    most = len(rows) if most is None else most
    scored = scoring.score_rows(semantic, factor, created, half_lives, stacked, formula, most)
    order = order_by_id(view, rows, scored.score)[:most] if scored.tied else scored.order
    ranked: list[int] = order.tolist()
    return scored.score, ranked


def blend_rows(view: View, request: Request, rows: I64, semantic: F64, scale: AgeScale | None) -> F64:
    """Blend match and recency of some rows without window or boosts, float64 (n,)."""
    decay = request.profile.decay
    formula = _aged_formula(request, decay.semantic_weight, scale)
    half_lives = half_lives_of(view, rows, decay, request.aged_us, scale) if decay.semantic_weight < 1.0 else _NOTHING
    factor, none = row_factors(view, request, rows), np.empty((0, len(rows)))
    return scoring.score_rows(semantic, factor, view.created_us[rows], half_lives, none, formula, 0).score


def row_factors(view: View, request: Request, rows: I64, *, turns: bool = True) -> F64:
    """Return the factor of each row: by status, role, and as a turn where something was asked."""
    profile = request.profile
    roles = view.categories.gather(view.snapshot, "role", rows)
    factors = view.categories.numbers("role", profile.roles, 1.0)[roles]
    as_turns = turn_factors(view, profile, rows, request.named) if turns else None
    factors = factors if as_turns is None else factors * as_turns
    factors = factors * scope_factors(request.scopes, rows) if request.scopes else factors
    if view.all_active:
        return factors
    invalidated = view.state.status[rows] == INVALIDATED
    return np.where(invalidated, (profile.invalidated or _SHOWN_INVALIDATED) * factors, factors)


def special_factors(view: View, request: Request, rows: I64) -> F64:
    """Return `row_factors` where more than roles make them, else nothing."""
    dialogue, turns = request.profile.dialogue, view.categories.has_values(view.snapshot, "session")
    if (
        view.all_active
        and not request.scopes
        and not (turns and (dialogue.length or (dialogue.named and request.named)))
    ):
        return _NOTHING
    return row_factors(view, request, rows)


def row_traits(view: View, profile: Profile) -> RowTraits:
    """Return the columns of a view that scores read, and a profile's numbers for their codes."""
    known: tuple[Profile, RowTraits] | None = view.peek_cached(_TRAITS)
    if known is None or known[0] is not profile:
        known = view.put_cached(_TRAITS, (profile, _read_traits(view, profile)))
    return known[1]


def _read_traits(view: View, profile: Profile) -> RowTraits:
    snapshot, categories, decay = view.snapshot, view.categories, profile.decay
    types, collections = categories.column(snapshot, "type"), categories.column(snapshot, "collection")
    roles = categories.column(snapshot, "role")  # columns first: they read the names
    return RowTraits(
        view.created_us, types, collections, roles, categories.numbers("type", decay.type_half_life_days, math.nan),
        categories.numbers("collection", decay.collection_half_life_days, decay.half_life_days),
        categories.numbers("role", profile.roles, 1.0),
    )  # fmt: skip


def formula_of_all(view: View, request: Request) -> Formula | None:
    """Return the formula of all scores; None where single rows have boosts of their own."""
    decay, boosts = request.profile.decay, request.profile.boosts
    used = decay.reinforcement.most > 1.0 and view.accesses
    if used or boosts.length_tokens or (boosts.session != 1.0 and request.session is not None):
        return None
    return _formula(request, decay.semantic_weight, None)


def _aged_formula(request: Request, weight: float, scale: AgeScale | None) -> Formula:
    """Return a formula of match and age alone."""
    decay = request.profile.decay
    to_us = request.aged_us if scale is None else scale.to_us
    aged_s, undated_us = _floor_seconds(to_us), _default_us(decay.missing_created_at)
    if scale is None or decay.least_match is None:
        return Formula(weight, aged_s, undated_us)
    floor, slope = decay.least_match * scale.best, 1.0 / (1.0 - decay.least_match)
    return Formula(weight, aged_s, undated_us, floor=floor, slope=slope)


def _formula(request: Request, weight: float, scale: AgeScale | None) -> Formula:
    boosts, window = request.profile.boosts, request.window
    found = _aged_formula(request, weight, scale)
    if window is not None:
        found = found._replace(
            start_us=float(window.start_us), end_us=float(window.end_us), window_weight=float(window.weight),
            before_days=float(window.before_days), after_days=float(window.after_days),
        )  # fmt: skip
    if boosts.recency:
        found = found._replace(
            boost=float(boosts.recency), boost_half_life_hours=float(boosts.recency_half_life_hours),
            now_s=_floor_seconds(request.now_us),
        )  # fmt: skip
    return found


def order_by_id(view: View, rows: I64, score: F64) -> I64:
    """Order rows with ties by id, reading the ids of tied rows only."""
    positions = np.flatnonzero(score > 0.0)
    worse, older = -score[positions], ~view.created_us[rows[positions]]
    order = np.lexsort((older, worse))
    equal = (worse[order[1:]] == worse[order[:-1]]) & (older[order[1:]] == older[order[:-1]])
    tied = np.sort(order[np.append(equal, False) | np.insert(equal, 0, False)])
    names = view.snapshot.values("chunks", "id", rows[positions[tied]])
    places = np.zeros(len(positions), np.int64)
    places[tied[sorted(range(len(tied)), key=names.__getitem__)]] = np.arange(len(tied))
    return positions[np.lexsort((places, older, worse))]


# ---------------------------------------------------------------------- age


class Ages(Struct, frozen=True):
    """Ages of rows and how fast they fade.

    Attributes
    ----------
    age_s, half_life_s : float64 (n,)
        Seconds, at least 0.
    recency : float64 (n,)
        0.5^(age/half-life), in [0, 1].
    dated : bool (n,)
        False where created_at is unknown and the profile's default was used.
    """

    age_s: F64
    half_life_s: F64
    recency: F64
    dated: BOOL


def ages(view: View, rows: I64, decay: Decay, now_us: int, scale: AgeScale | None = None) -> Ages:
    """Return ages of some rows at a moment cut to seconds, equal to those in `score_rows`."""
    half_lives = half_lives_of(view, rows, decay, now_us, scale)
    to_us = now_us if scale is None else scale.to_us
    created = view.created_us[rows]
    default_us = _default_us(decay.missing_created_at)
    age_s, half_life_s = scoring.ages_numpy(created, half_lives, _floor_seconds(to_us), default_us)
    return Ages(age_s, half_life_s, scoring.halve(age_s / half_life_s), created != MISSING_US)


def half_life_days(decay: Decay, type_: str | None, collection: str | None) -> float:
    """Return the half-life of a chunk: by its type, else by its collection, else the profile's."""
    if type_ in decay.type_half_life_days:
        return decay.type_half_life_days[type_]
    if collection in decay.collection_half_life_days:
        return decay.collection_half_life_days[collection]
    return decay.half_life_days


def half_lives_of(view: View, rows: I64, decay: Decay, now_us: int, scale: AgeScale | None) -> F64:
    """Return half-lives of some rows in days, float64 (n,), by type, collection and use.

    Where ages are weighed by a scale, they are divided by the profile's speed.

    References
    ----------
    .. [1] ClawMem's half-life extended by use: rate 0.3, at most three times, accesses of the last 90 days.
    """
    types = view.categories.gather(view.snapshot, "type", rows)
    collections = view.categories.gather(view.snapshot, "collection", rows)
    days = view.categories.numbers("type", decay.type_half_life_days, math.nan)[types]
    unknown = np.isnan(days)
    if unknown.any():
        by_collection = view.categories.numbers("collection", decay.collection_half_life_days, decay.half_life_days)
        days[unknown] = by_collection[collections[unknown]]
    rule = decay.reinforcement
    for i, row in enumerate(rows.tolist() if rule.most > 1.0 and view.accesses else ()):
        since = max((now_us - view.accesses.last_us(row)) / US_PER_S / SECONDS_PER_DAY, 0.0)
        fresh = max(0.0, 1.0 - since / rule.window_days)
        days[i] *= min(rule.most, 1.0 + rule.rate * math.log1p(view.accesses.count(row) * fresh))
    return days if scale is None else days / decay.speed


@functools.cache
def _default_us(moment: str) -> float:
    return float(parse_instant(moment))


def _floor_seconds(us: int) -> float:
    return float(math.floor(us / US_PER_S))


# ---------------------------------------------------------------------- boosts


def length_penalty(tokens: I64, anchor: int) -> F64:
    """Return 1 / (1 + log2(max(1, tokens / anchor))), 1 up to the anchor, 0.5 at twice that."""
    penalty: F64 = 1.0 / (1.0 + np.log2(np.maximum(tokens.astype(np.float64) / anchor, 1.0)))
    return penalty


def boost_terms(view: View, request: Request, rows: I64) -> list[dict[str, Any]] | None:
    """Return the explanation term ``boosts`` of each row; None in profiles without boosts."""
    settings = request.profile.boosts
    if not (settings.recency or settings.length_tokens or settings.session != 1.0):
        return None
    asks, created = request.session, view.created_us[rows]
    same = _is_of_session(view, asks, rows).tolist() if asks is not None else [False] * len(rows)
    age = np.maximum(_floor_seconds(request.now_us) - created.astype(np.float64) / US_PER_S, 0.0) / 3_600.0
    columns = zip(
        age.tolist(), (created == MISSING_US).tolist(), same, _token_counts(view, rows).tolist(), strict=True
    )  # fmt: skip
    return [
        {
            "recency": settings.recency, "half_life_hours": settings.recency_half_life_hours,
            "age_hours": None if undated else hours, "session": settings.session if mine else 1.0,
            "tokens": tokens, "length_tokens": settings.length_tokens,
        }
        for hours, undated, mine, tokens in columns
    ]  # fmt: skip


def recompute_boosts(terms: Mapping[str, Any]) -> float:
    """Recompute the factor from a term of `boost_terms`."""
    age = terms["age_hours"]
    factor = float(terms["session"])
    if age is not None:
        factor *= 1.0 + terms["recency"] * 0.5 ** (age / terms["half_life_hours"])
    if terms["length_tokens"]:
        factor /= 1.0 + math.log2(max(1.0, terms["tokens"] / terms["length_tokens"]))
    return factor


def _token_counts(view: View, rows: I64) -> I64:
    from lamina_engine.recall.pack import count_row_tokens

    return count_row_tokens(view, rows).astype(np.int64)


def _is_of_session(view: View, session: str, rows: I64) -> BOOL:
    codes = view.categories.gather(view.snapshot, "session", rows)  # first: it reads the names
    same: BOOL = codes == view.categories.code("session", session)
    return same

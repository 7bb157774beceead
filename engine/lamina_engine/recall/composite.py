"""Composite scores: blend of match, age and confidence; quality, length, pin and co-use.

The formula is ClawMem's. A profile may replace the blend of `lamina_engine.recall.score` by it; none does by default,
as ranking by match alone measured better.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from msgspec.structs import replace

from lamina_engine.clock import MISSING_US, US_PER_DAY
from lamina_engine.index.claims import USAGE
from lamina_engine.index.state import SUPERSEDED
from lamina_engine.recall.pages import BLOCK
from lamina_engine.recall.score import score_rows
from lamina_engine.stored_json import read_json

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_engine.recall.candidates import Candidates
    from lamina_engine.recall.request import Request

_TRAIT_COLUMNS: Final = ("id", "type", "text", "tags", "project", "headings", "metadata")


class Kind(NamedTuple):
    """Half-life and first confidence of a type of content."""

    half_life_days: float
    baseline: float
    """Confidence of a new one."""


KINDS: Final[Mapping[str, Kind]] = MappingProxyType(
    {
        "handoff": Kind(30.0, 0.60),
        "progress": Kind(45.0, 0.50),
        "conversation": Kind(45.0, 0.55),
        "problem": Kind(60.0, 0.75),
        "milestone": Kind(60.0, 0.70),
        "note": Kind(60.0, 0.50),
        "research": Kind(90.0, 0.70),
        "project": Kind(120.0, 0.65),
        "decision": Kind(180.0, 0.85),
        "preference": Kind(math.inf, 0.80),
        "deductive": Kind(math.inf, 0.85),
        "hub": Kind(math.inf, 0.80),
        "antipattern": Kind(math.inf, 0.75),
    }
)
"""By type; any other type counts as a note."""
_OTHER: Final = KINDS["note"]
ATTENTIVE: Final = frozenset({"decision", "deductive", "hub", "research", "antipattern", "preference"})
"""Types exempt from `attention`."""

UNKNOWN_RECENCY: Final = 0.5
_EXTENSION: Final = 0.3
_MOST_EXTENDED: Final = 3.0
_FRESH_DAYS: Final = 90.0
_USE: Final = 0.1
_MOST_USE: Final = 1.5
_ATTENTION_A_WEEK: Final = 0.95
_LEAST_ATTENTION: Final = 0.5
_NEUTRAL: Final = 0.5
_ANCHOR_CHARS: Final = 500.0
_LEAST_LENGTH: Final = 0.3
_REPETITION: Final = 0.03
_MOST_REPETITION: Final = 0.10
_PIN: Final = 0.3
_MOST_COMPANY: Final = 0.15


class Weights(NamedTuple):
    """Shares of the blend; they add up to 1."""

    match: float = 0.5
    recency: float = 0.25
    confidence: float = 0.25


BALANCED: Final = Weights()
BY_RECENCY: Final = Weights(0.1, 0.7, 0.2)
"""For questions that ask for the newest; replaces the profile's weights."""

_RECENT: Final = re.compile(
    r"(?<![\w-])(?:recent(?:ly)?|latest|last (?:session|time|week|month|few days)|left off|where (?:was|were) (?:we|i)"
    r"|pick up|continue|yesterday|today|what (?:was|were) (?:we|i) (?:doing|working))(?![\w-])",
    re.IGNORECASE,
)


_LIST_ITEM: Final = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s", re.MULTILINE)
_DECISION: Final = re.compile(
    r"(?<![\w-])(?:decided|decisions?|chose|chosen|agreed|approved|instead of|rationale|trade-?offs?)(?![\w-])",
    re.IGNORECASE,
)
_FIX: Final = re.compile(
    r"(?<![\w-])(?:fix(?:e[sd])?|solved|solution|resolved|root cause|workaround|bugs?)(?![\w-])", re.IGNORECASE
)
NEWEST_FIRST: Final = frozenset({"handoff", "decision", "progress"})
"""Types ranked before all others where a question asks for the newest."""


@dataclass(frozen=True, slots=True)
class Traits:
    """Inputs of a composite score.

    Attributes
    ----------
    match : float
        Its score by words and meaning, in [0, 1].
    type : str
    age_days : float or None
        None or NaN if unknown; below 0 counts as 0.
    accesses : int
        Times it was recalled.
    days_since_access : float or None
        None if unknown or estimated.
    stored_confidence : float
        In [0, 1]; 0.5 is neutral.
    quality : float
        In [0, 1]; 0.5 is neutral.
    chars : int
        Length of its text.
    revisions, duplicates : int
        From 1 up.
    pinned : bool
    """

    match: float
    type: str = "note"
    age_days: float | None = None
    accesses: int = 0
    days_since_access: float | None = None
    stored_confidence: float = _NEUTRAL
    quality: float = _NEUTRAL
    chars: int = 0
    revisions: int = 1
    duplicates: int = 1
    pinned: bool = False


@dataclass(frozen=True, slots=True)
class Composite:
    """A composite score, and every factor of it."""

    score: float
    recency: float
    half_life_days: float
    """Extended by use."""
    confidence: float
    blend: float
    """Before the factors."""
    quality: float
    length: float
    repetition: float
    pin: float
    """Added by the pin."""


def composite(traits: Traits, weights: Weights = BALANCED, boost: float = 1.0) -> Composite:
    """Return a candidate's composite score with all its factors."""
    # score = (w_m·match + w_r·recency + w_c·confidence) · quality · length · repetition · boost, then the pin; NaN counts
    # as unknown, so the score is always finite
    kind = KINDS.get(traits.type, _OTHER)
    extended = extended_half_life(kind.half_life_days, traits.accesses, traits.days_since_access)
    fading = recency(traits.age_days, extended)
    certain = confidence(traits)
    match = _finite_or(traits.match, 0.0)
    blended = weights.match * match + weights.recency * fading + weights.confidence * certain
    good = 0.7 + 0.6 * min(max(_finite_or(traits.quality, _NEUTRAL), 0.0), 1.0)
    short, repeated = length_factor(traits.chars), repetition_factor(traits.revisions, traits.duplicates)
    raw = blended * good * short * repeated * boost
    score = add_pin(raw) if traits.pinned else raw
    return Composite(score, fading, extended, certain, blended, good, short, repeated, score - raw)


def quality_of(text: str, headed: bool = False, marks: int = 0) -> float:
    """Estimate the quality of a text, 0 to 1: length, lists, headings, decisions, fixes, marks."""
    # marks: how many of tags, domain and workstream it has
    found = 0.3 + 0.1 * (len(text) > 200) + 0.1 * (len(text) > 500) - 0.1 * (len(text) < 50)
    found += 0.1 * headed + 0.05 * (_LIST_ITEM.search(text) is not None)
    found += 0.15 * (_DECISION.search(text) is not None) + 0.1 * (_FIX.search(text) is not None)
    return min(max(found + 0.05 * min(max(marks, 0), 3), 0.0), 1.0)


def asks_for_newest(question: str) -> bool:
    """Return True where a question asks for the newest; `BY_RECENCY` applies then."""
    return _RECENT.search(question) is not None


def recency(age_days: float | None, half_life_days: float) -> float:
    """Return 0.5^(age / half-life); 1 without fading or for future dates, 0.5 for unknown ones."""
    if math.isinf(half_life_days):
        return 1.0
    if age_days is None or math.isnan(age_days):
        return UNKNOWN_RECENCY
    return math.pow(0.5, max(age_days, 0.0) / half_life_days)


def extended_half_life(half_life_days: float, accesses: int, days_since_access: float | None = None) -> float:
    """Return a half-life extended by use: h + 0.3·h·ln(1 + accesses · fresh), at most 3·h.

    ``fresh`` falls from 1 to 0 within 90 days of the last access.
    """
    fresh = 1.0 if days_since_access is None else max(0.0, 1.0 - max(days_since_access, 0.0) / _FRESH_DAYS)
    extended = half_life_days + _EXTENSION * half_life_days * math.log1p(max(accesses, 0) * fresh)
    return min(_MOST_EXTENDED * half_life_days, extended)


def confidence(traits: Traits) -> float:
    """Return the confidence of a candidate: type, age, use, attention and the stored value."""
    kind = KINDS.get(traits.type, _OTHER)
    use = min(_MOST_USE, 1.0 + _USE * math.log2(1.0 + max(traits.accesses, 0)))
    fading = recency(traits.age_days, kind.half_life_days)
    computed = min(1.0, kind.baseline * fading * use * attention(traits.type, traits.days_since_access))
    stored = min(max(_finite_or(traits.stored_confidence, _NEUTRAL), 0.0), 1.0)
    if stored == _NEUTRAL:
        return computed
    return min(1.0, computed * (stored / _NEUTRAL) * 0.5 + computed * 0.5)


def attention(type_: str, days_since_access: float | None) -> float:
    """Return the attention factor: 0.95 per week without access, at least 0.5; 1 if exempt."""
    if type_ in ATTENTIVE or days_since_access is None or math.isnan(days_since_access):
        return 1.0
    return max(_LEAST_ATTENTION, math.pow(_ATTENTION_A_WEEK, max(days_since_access, 0.0) / 7.0))


def length_factor(chars: int) -> float:
    """Return the length factor 1 / (1 + 0.5·log2(chars / 500)), between 0.3 and 1."""
    return max(_LEAST_LENGTH, 1.0 / (1.0 + 0.5 * math.log2(max(chars / _ANCHOR_CHARS, 1.0))))


def repetition_factor(revisions: int, duplicates: int) -> float:
    """Return the repetition factor 1 + min(0.10, 0.03·ln(1 + 2·revisions' + duplicates'))."""
    # revisions' and duplicates' are those beyond the first
    again = 2 * (max(revisions, 1) - 1) + max(duplicates, 1) - 1
    return 1.0 + min(_MOST_REPETITION, _REPETITION * math.log1p(again))


def add_pin(score: float) -> float:
    """Add 0.3 to a pinned score, up to 1; a score above 1 stays, so a pin never lowers."""
    return max(score, min(1.0, score + _PIN))


def boost_co_used(names: Sequence[str], scores: Sequence[float], pairs: Mapping[tuple[str, str], int]) -> list[float]:
    """Raise scores of chunks that were used together with those of the first quarter."""
    # names by match, best first; pairs count in either order. Those outside the first max(1, n // 4) get
    # ×(1 + min(count / 10, 0.15)), once, for their best partner among them
    first = set(names[: max(1, len(names) // 4)])
    best: dict[str, int] = {}
    for pair, count in pairs.items():
        for one, other in (pair, pair[::-1]):
            if one in first and other not in first:
                best[other] = max(best.get(other, 0), count)
    return [
        score * (1.0 + min(best.get(name, 0) / 10.0, _MOST_COMPANY)) for name, score in zip(names, scores, strict=True)
    ]


def _finite_or(value: float, otherwise: float) -> float:
    return value if math.isfinite(value) else otherwise


def score_composite(
    view: View, request: Request, c: Candidates, order: list[int], folded: Mapping[int, Sequence[str]]
) -> tuple[Candidates, list[int], Mapping[int, dict[str, Any]]]:
    """Score the hits of a recall by the composite formula, where the profile asks for it."""
    # the third value has the inputs of `recompute_composite` by position; where a question asks for the newest,
    # hand-offs, decisions and progress come first among the k best
    settings = request.profile.composite
    if not order:
        return c, order, {}
    newest = asks_for_newest(request.text)
    weights = BY_RECENCY if newest else Weights(settings.match, settings.recency, settings.confidence)
    known = _traits(view, request, c, order, folded)
    names, boosts = [name for name, _ in known], {} if newest else settings.boosts
    found = [composite(traits, weights, boosts.get(traits.type, 1.0)) for _, traits in known]
    scores = [part.score for part in found]
    raised = boost_co_used(names, scores, _use_counts(view, names))
    terms = {
        position: _composite_terms(traits, part, weights, boosts.get(traits.type, 1.0), new / old)
        for position, (_, traits), part, old, new in zip(order, known, found, scores, raised, strict=True)
    }
    hits = np.sort(np.array(order, np.int64))
    semantic = np.zeros(len(c.rows))
    semantic[order] = raised
    score = c.score.copy()
    score[hits], best = score_rows(view, request, c.rows[hits], semantic[hits], c.factor[hits], scale=None, weight=1.0)
    ranked: list[int] = hits[best].tolist()
    if newest:
        type_of = {position: traits.type for position, (_, traits) in zip(order, known, strict=True)}
        for start in range(0, len(ranked), BLOCK):
            some = slice(start, start + BLOCK)
            ranked[some] = sorted(ranked[some], key=lambda position: type_of[position] not in NEWEST_FIRST)
    return replace(c, score=score), ranked, terms


def recompute_composite(terms: Mapping[str, Any], match: float) -> float:
    """Recompute a composite score from a hit's term ``composite`` and its semantic score."""
    weights = terms["weights"]
    blend = (
        weights["match"] * match + weights["recency"] * terms["recency"] + weights["confidence"] * terms["confidence"]
    )
    raw = blend * terms["quality"] * terms["length"] * terms["repetition"] * terms["boost"]
    return float((add_pin(raw) if terms["pinned"] else raw) * terms["company"])


def _composite_terms(traits: Traits, part: Composite, weights: Weights, boost: float, company: float) -> dict[str, Any]:
    extended = part.half_life_days
    return {
        "weights": weights._asdict(),
        "recency": part.recency,
        "half_life_days": extended if math.isfinite(extended) else None,  # None: it does not fade
        "confidence": part.confidence,
        "quality": part.quality,
        "length": part.length,
        "repetition": part.repetition,
        "boost": boost,
        "pinned": traits.pinned,
        "company": company,
        "uses": traits.accesses,
        "days_since_use": traits.days_since_access,
        "revisions": traits.revisions,
        "duplicates": traits.duplicates,
    }


def _traits(
    view: View, request: Request, c: Candidates, order: Sequence[int], folded: Mapping[int, Sequence[str]]
) -> list[tuple[str, Traits]]:
    """Return the id and the inputs of each hit."""
    from lamina_engine.graph.usage import uses

    rows = c.rows[list(order)]
    used = uses(view)
    edited = bool((view.state.status == SUPERSEDED).any())
    created = view.created_us[rows].tolist()
    pins = view.state.pinned[rows].tolist()
    found = []
    for i, record in enumerate(view.snapshot.records("chunks", rows, _TRAIT_COLUMNS)):
        name, use = record["id"], used.get(record["id"])
        metadata = read_json(record["metadata"]) if record["metadata"] else {}
        quality = _share(metadata.get("quality"))
        stored = _share(metadata.get("confidence"))
        known = Traits(
            match=float(c.semantic[order[i]]),
            type=record["type"],
            age_days=None if created[i] == MISSING_US else (request.now_us - created[i]) / US_PER_DAY,
            accesses=use.times if use else 0,
            days_since_access=(request.now_us - use.last_us) / US_PER_DAY if use else None,
            stored_confidence=0.5 if stored is None else stored,
            quality=_quality(record, metadata) if quality is None else quality,
            chars=len(record["text"]),
            revisions=max(1, len(view.all_rows_of_id(name))) if edited else 1,
            duplicates=1 + len(folded.get(order[i], ())),
            pinned=bool(pins[i]),
        )
        found.append((name, known))
    return found


def _share(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value <= 1.0:
        return None
    return float(value)


def _quality(record: Mapping[str, Any], metadata: Mapping[str, Any]) -> float:
    marks = bool(record["tags"]) + bool(record["project"] or metadata.get("domain")) + bool(metadata.get("workstream"))
    return quality_of(record["text"], bool(record["headings"]) or "## " in record["text"], marks)


def _use_counts(view: View, names: Sequence[str]) -> dict[tuple[str, str], int]:
    """Return co-use counts of the first quarter of the hits with others."""
    if not view.snapshot.rows("links"):
        return {}
    from lamina_engine.graph.links import links_of
    from lamina_engine.index.nodes import state_of

    if USAGE not in state_of(view).graph.relations:
        return {}
    return {
        (link.source, link.target): link.count or 0
        for name in names[: max(1, len(names) // 4)]
        for link in links_of(view, name, relations=[USAGE])
    }

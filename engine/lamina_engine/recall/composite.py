"""Composite scoring after ClawMem: match, age and confidence blended, then quality, length, repetition, pin, company.

An option and no default: ranking by the match alone measured better, by the source system's own evaluation too. Every
part is a pure function of numbers; `composite` keeps them all, so a score can be explained and computed again.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, NamedTuple


class Kind(NamedTuple):
    """What a type of content starts from."""

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
"""By type; any other is as a note."""
_OTHER: Final = KINDS["note"]
ATTENTIVE: Final = frozenset({"decision", "deductive", "hub", "research", "antipattern", "preference"})
"""Types that do not fade for want of attention."""

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
BY_MATCH: Final = Weights(0.7, 0.15, 0.15)
BY_RECENCY: Final = Weights(0.1, 0.7, 0.2)
"""Of a question that asks for what is newest; it takes the place of the others."""

_RECENT: Final = re.compile(
    r"(?<![\w-])(?:recent(?:ly)?|latest|last (?:session|time|week|month|few days)|left off|where (?:was|were) (?:we|i)"
    r"|pick up|continue|yesterday|today|what (?:was|were) (?:we|i) (?:doing|working))(?![\w-])",
    re.IGNORECASE,
)


_LISTED: Final = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s", re.MULTILINE)
_DECIDED: Final = re.compile(
    r"(?<![\w-])(?:decided|decisions?|chose|chosen|agreed|approved|instead of|rationale|trade-?offs?)(?![\w-])",
    re.IGNORECASE,
)
_MENDED: Final = re.compile(
    r"(?<![\w-])(?:fix(?:e[sd])?|solved|solution|resolved|root cause|workaround|bugs?)(?![\w-])", re.IGNORECASE
)
NEWEST_FIRST: Final = frozenset({"handoff", "decision", "progress"})
"""Types that come before all others where a question asks for what is newest."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a candidate.

    Attributes
    ----------
    match : float
        Its score by words and meaning, in [0, 1].
    type : str
    age_days : float or None
        None or NaN where its date is not known; below 0 counts as 0.
    accesses : int
        How often it was recalled.
    days_since_access : float or None
        None where that is not known, or only filled in.
    stored_confidence : float
        In [0, 1]; 0.5 says nothing.
    quality : float
        In [0, 1]; 0.5 changes nothing.
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
    """As use has extended it."""
    confidence: float
    blend: float
    """Before the factors."""
    quality: float
    length: float
    repetition: float
    pin: float
    """What the pin added."""


def composite(facts: Facts, weights: Weights = BALANCED, boost: float = 1.0) -> Composite:
    """Return a candidate's composite score with all its factors.

    Parameters
    ----------
    facts : Facts
    weights : Weights
        `BY_RECENCY` where `asks_for_newest` says so.
    boost : float
        What the profile multiplies by, such as 1.08 for preferences.

    Notes
    -----
    score = (w_m·match + w_r·recency + w_c·confidence) · quality · length · repetition · boost, then the pin. NaN counts
    as not known, so the score is always finite.
    """
    kind = KINDS.get(facts.type, _OTHER)
    extended = extended_half_life(kind.half_life_days, facts.accesses, facts.days_since_access)
    fading = recency(facts.age_days, extended)
    certain = confidence(facts)
    match = _known(facts.match, 0.0)
    blended = weights.match * match + weights.recency * fading + weights.confidence * certain
    good = 0.7 + 0.6 * min(max(_known(facts.quality, _NEUTRAL), 0.0), 1.0)
    short, repeated = length_factor(facts.chars), repetition_factor(facts.revisions, facts.duplicates)
    raw = blended * good * short * repeated * boost
    score = pinned(raw) if facts.pinned else raw
    return Composite(score, fading, extended, certain, blended, good, short, repeated, score - raw)


def quality_of(text: str, headed: bool = False, marks: int = 0) -> float:
    """Return how good a text looks, 0 to 1, where nobody said: long, ordered, with decisions and mended faults.

    Parameters
    ----------
    text : str
    headed : bool
        Whether it stands under a heading, or has one.
    marks : int
        How many of tags, domain and workstream it has; three count at most.
    """
    found = 0.3 + 0.1 * (len(text) > 200) + 0.1 * (len(text) > 500) - 0.1 * (len(text) < 50)
    found += 0.1 * headed + 0.05 * (_LISTED.search(text) is not None)
    found += 0.15 * (_DECIDED.search(text) is not None) + 0.1 * (_MENDED.search(text) is not None)
    return min(max(found + 0.05 * min(max(marks, 0), 3), 0.0), 1.0)


def asks_for_newest(question: str) -> bool:
    """Tell whether a question asks for what is newest, so that `BY_RECENCY` holds."""
    return _RECENT.search(question) is not None


def recency(age_days: float | None, half_life_days: float) -> float:
    """Return 0.5^(age / half-life); 1 where nothing fades or the date is to come, 0.5 where it is not known."""
    if math.isinf(half_life_days):
        return 1.0
    if age_days is None or math.isnan(age_days):
        return UNKNOWN_RECENCY
    return math.pow(0.5, max(age_days, 0.0) / half_life_days)


def extended_half_life(half_life_days: float, accesses: int, days_since_access: float | None = None) -> float:
    """Return a half-life as use extends it: h + 0.3·h·ln(1 + accesses · fresh), at most 3·h.

    ``fresh`` falls from 1 to 0 within 90 days of the last access.
    """
    fresh = 1.0 if days_since_access is None else max(0.0, 1.0 - max(days_since_access, 0.0) / _FRESH_DAYS)
    extended = half_life_days + _EXTENSION * half_life_days * math.log1p(max(accesses, 0) * fresh)
    return min(_MOST_EXTENDED * half_life_days, extended)


def confidence(facts: Facts) -> float:
    """Return how far a candidate is to be believed: type, age, use and attention, and what was stored about it."""
    kind = KINDS.get(facts.type, _OTHER)
    use = min(_MOST_USE, 1.0 + _USE * math.log2(1.0 + max(facts.accesses, 0)))
    fading = recency(facts.age_days, kind.half_life_days)
    computed = min(1.0, kind.baseline * fading * use * attention(facts.type, facts.days_since_access))
    stored = min(max(_known(facts.stored_confidence, _NEUTRAL), 0.0), 1.0)
    if stored == _NEUTRAL:
        return computed
    return min(1.0, computed * (stored / _NEUTRAL) * 0.5 + computed * 0.5)


def attention(type_: str, days_since_access: float | None) -> float:
    """Return the factor for want of attention: 0.95 a week, at least 0.5; 1 for `ATTENTIVE` types and where not known."""
    if type_ in ATTENTIVE or days_since_access is None or math.isnan(days_since_access):
        return 1.0
    return max(_LEAST_ATTENTION, math.pow(_ATTENTION_A_WEEK, max(days_since_access, 0.0) / 7.0))


def length_factor(chars: int) -> float:
    """Return the factor for long texts: 1 / (1 + 0.5·log2(chars / 500)), at most 1, at least 0.3."""
    return max(_LEAST_LENGTH, 1.0 / (1.0 + 0.5 * math.log2(max(chars / _ANCHOR_CHARS, 1.0))))


def repetition_factor(revisions: int, duplicates: int) -> float:
    """Return the factor for what was said again: 1 + min(0.10, 0.03·ln(1 + 2·(revisions − 1) + (duplicates − 1)))."""
    again = 2 * (max(revisions, 1) - 1) + max(duplicates, 1) - 1
    return 1.0 + min(_MOST_REPETITION, _REPETITION * math.log1p(again))


def pinned(score: float) -> float:
    """Return a pinned score: 0.3 more, up to 1; one above 1 stays as it is, so that a pin never lowers."""
    return max(score, min(1.0, score + _PIN))


def with_company(names: Sequence[str], scores: Sequence[float], together: Mapping[tuple[str, str], int]) -> list[float]:
    """Return scores raised for what was used together with the first quarter of them.

    Parameters
    ----------
    names : sequence of str
        Candidates in the order of their match, best first.
    scores : sequence of float
        Their composite scores.
    together : mapping of (str, str) to int
        How often two were used together; in either order.

    Notes
    -----
    Those outside the first max(1, n // 4) get ×(1 + min(count / 10, 0.15)), once, for their best partner among them.
    """
    first = set(names[: max(1, len(names) // 4)])
    best: dict[str, int] = {}
    for pair, count in together.items():
        for one, other in (pair, pair[::-1]):
            if one in first and other not in first:
                best[other] = max(best.get(other, 0), count)
    return [
        score * (1.0 + min(best.get(name, 0) / 10.0, _MOST_COMPANY)) for name, score in zip(names, scores, strict=True)
    ]


def _known(value: float, otherwise: float) -> float:
    return value if math.isfinite(value) else otherwise

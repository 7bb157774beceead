"""Composite scoring as a part of a recall: the facts about each candidate, its score anew, and every factor told.

What the vault knows of a chunk makes its facts: date and type, its versions, equal chunks that were folded into it, its
pin, how often it was used (`lamina_engine.graph.usage`) and with what. ``confidence`` and ``quality`` of its metadata
count where they are numbers from 0 to 1; else quality is read from the text.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace

from lamina_engine.clock import MISSING_US, US_PER_DAY
from lamina_engine.index.claims import USAGE
from lamina_engine.index.state import SUPERSEDED
from lamina_engine.recall.boosts import boosted
from lamina_engine.recall.candidates import Candidates, ranking
from lamina_engine.recall.composite import (
    BY_RECENCY,
    NEWEST_FIRST,
    Composite,
    Facts,
    Weights,
    asks_for_newest,
    composite,
    pinned,
    quality_of,
    with_company,
)
from lamina_engine.recall.time_window import apply_window

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_engine.recall.request import Request

_READ: Final = ("id", "type", "text", "tags", "project", "headings", "metadata")


class Composed(NamedTuple):
    """Candidates scored anew, in their new order."""

    candidates: Candidates
    order: list[int]
    terms: Mapping[int, dict[str, Any]]
    """By position, what `recomposed` needs; empty where the profile does not ask for composite scoring."""


def composed(
    view: View, request: Request, c: Candidates, order: list[int], folded: Mapping[int, Sequence[str]]
) -> Composed:
    """Score the hits of a recall anew, where the profile says so.

    Parameters
    ----------
    order : list of int
        Positions of the hits among the candidates, best first.
    folded : mapping
        By position, the ids of equal chunks.

    Notes
    -----
    O(hits): their texts and metadata are read, some microseconds each. Where a question asks for what is newest, hand-offs,
    decisions and progress come first among the k best.
    """
    settings = request.profile.composite
    if not settings.on or not order:
        return Composed(c, order, {})
    newest = asks_for_newest(request.text)
    weights = BY_RECENCY if newest else Weights(settings.match, settings.recency, settings.confidence)
    known = _facts(view, request, c, order, folded)
    found = [composite(facts, weights, 1.0 if newest else settings.boosts.get(facts.type, 1.0)) for _, facts in known]
    scores = [part.score for part in found]
    raised = with_company([name for name, _ in known], scores, _together(view, [name for name, _ in known]))
    terms = {
        position: _terms(facts, part, weights, 1.0 if newest else settings.boosts.get(facts.type, 1.0), new / old)
        for position, (_, facts), part, old, new in zip(order, known, found, scores, raised, strict=True)
    }
    rows = c.rows[order]
    score = c.score.copy()
    score[order] = boosted(
        view, request, rows, apply_window(view, request.meant, rows, c.factor[order] * np.array(raised))
    )
    again = replace(c, score=score)
    kept = set(order)
    ranked = [position for position in ranking(view, again) if position in kept]
    if newest:
        type_of = {position: facts.type for position, (_, facts) in zip(order, known, strict=True)}
        best = sorted(ranked[: request.k], key=lambda position: type_of[position] not in NEWEST_FIRST)
        ranked[: request.k] = best
    return Composed(again, ranked, terms)


def recomposed(terms: Mapping[str, Any], match: float) -> float:
    """Return a composite score from its terms.

    Parameters
    ----------
    terms : mapping
        ``Hit.terms["composite"]``.
    match : float
        The hit's semantic score.

    Returns
    -------
    float
        (w_match · match + w_recency · recency + w_confidence · confidence) · quality · length · repetition · boost; the
        pin, which adds 0.3 up to 1; times company. recency and confidence are those of the terms.
    """
    weights = terms["weights"]
    blend = (
        weights["match"] * match + weights["recency"] * terms["recency"] + weights["confidence"] * terms["confidence"]
    )
    raw = blend * terms["quality"] * terms["length"] * terms["repetition"] * terms["boost"]
    return float((pinned(raw) if terms["pinned"] else raw) * terms["company"])


def _terms(facts: Facts, part: Composite, weights: Weights, boost: float, company: float) -> dict[str, Any]:
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
        "pinned": facts.pinned,
        "company": company,
        "uses": facts.accesses,
        "days_since_use": facts.days_since_access,
        "revisions": facts.revisions,
        "duplicates": facts.duplicates,
    }


# ---------------------------------------------------------------------- facts


def _facts(
    view: View, request: Request, c: Candidates, order: Sequence[int], folded: Mapping[int, Sequence[str]]
) -> list[tuple[str, Facts]]:
    """Return the id and the facts of each hit."""
    from lamina_engine.graph.usage import uses

    rows = c.rows[list(order)]
    used = uses(view)
    edited = bool((view.state.status == SUPERSEDED).any())
    created = view.created_us[rows].tolist()
    pins = view.state.pinned[rows].tolist()
    found = []
    for i, record in enumerate(view.snapshot.records("chunks", rows, _READ)):
        name, use = record["id"], used.get(record["id"])
        metadata = msgspec.json.decode(record["metadata"]) if record["metadata"] else {}
        quality = _share(metadata.get("quality"))
        stored = _share(metadata.get("confidence"))
        known = Facts(
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


def _together(view: View, names: Sequence[str]) -> dict[tuple[str, str], int]:
    """Return how often the first quarter of the hits were used together with others."""
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

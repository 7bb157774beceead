"""Results that know why they are there: the terms of every score, and the score from its terms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lamina_engine.chunks.reading import shown_at
from lamina_engine.index.view import View
from lamina_engine.recall.candidates import Candidates
from lamina_engine.recall.lanes import Words
from lamina_engine.recall.request import Request
from lamina_engine.recall.score import ages


@dataclass(frozen=True, slots=True)
class Found:
    """One result."""

    chunk: dict[str, Any]
    """What is shown of it; see `lamina_engine.chunks.reading.shown_at`."""
    score: float
    via: str | None
    terms: dict[str, Any]


def results(
    view: View,
    request: Request,
    c: Candidates,
    kept: list[int],
    words: Words,
    folded: dict[int, list[str]],
    share: float,
) -> list[Found]:
    """Return the kept candidates with every term of their scores."""
    profile = request.profile
    rows = c.rows[kept]
    aged = ages(view, rows, profile.decay, request.now_us)
    parts = words.contributions(rows) if len(kept) and len(words.query.idf) else [{} for _ in kept]
    found = []
    for i, (position, chunk, terms) in enumerate(zip(kept, shown_at(view, rows), parts, strict=True)):
        direct = c.lexical_rank[position] or c.vector_rank[position]
        record = {
            "fusion": profile.fusion,
            "vector_share": share,
            "rank_constant": profile.rank_constant,
            "bm25": float(c.bm25[position]),
            "coverage": float(c.coverage[position]),
            "words": terms,
            "cosine": float(c.cosine[position]) if share else None,
            "lexical_rank": int(c.lexical_rank[position]) or None,
            "vector_rank": int(c.vector_rank[position]) or None,
            "own": float(c.own[position]),
            "received": float(c.received[position]),
            "semantic": float(c.semantic[position]),
            "semantic_weight": profile.decay.semantic_weight,
            "recency": float(aged.recency[i]),
            "age_days": float(aged.age_s[i]) / 86_400.0,
            "half_life_days": float(aged.half_life_s[i]) / 86_400.0,
            "date_missing": not bool(aged.dated[i]),
            "factor": float(c.factor[position]),
            "folded": folded.get(position, []),
        }
        found.append(Found(chunk, float(c.score[position]), None if direct else "following", record))
    return found


def recompute(terms: Mapping[str, Any]) -> float:
    """Return a hit's score from its terms, to 1e-6 of what recall gave.

    Parameters
    ----------
    terms : mapping
        ``Hit.terms``.

    Returns
    -------
    float
        factor · (w·semantic + (1 − w)·0.5^(age_days/half_life_days)) with w = ``semantic_weight``;
        semantic = float(min(1, own + received); own = (1 − v)·coverage + v·max(cosine, 0) with v = ``vector_share`` where
        ``fusion`` is ``absolute``, else (k + 1)·((1 − v)/(k + lexical_rank) + v/(k + vector_rank)) with k =
        ``rank_constant``; received is what the chunk after it passed on.
    """
    share = float(terms["vector_share"])
    if terms["fusion"] == "absolute":
        own = (1.0 - share) * terms["coverage"] + share * max(terms["cosine"] or 0.0, 0.0)
    else:
        k = float(terms["rank_constant"])
        ranks = ((1.0 - share, terms["lexical_rank"]), (share, terms["vector_rank"]))
        own = (k + 1.0) * sum(weight / (k + rank) for weight, rank in ranks if rank is not None)
    semantic = min(float(own + terms["received"]), 1.0)
    weight = float(terms["semantic_weight"])
    recency: float = 0.5 ** (terms["age_days"] / terms["half_life_days"])
    return float(terms["factor"]) * (weight * semantic + (1.0 - weight) * recency)

"""A score from its terms: what `lamina_engine.recall.pipeline` reports, put together again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


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

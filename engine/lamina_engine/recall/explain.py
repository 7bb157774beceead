"""Explanation of hits: the terms of each score, and the score recomputed from them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
from msgspec.structs import replace

from lamina_engine import after_fork
from lamina_engine.chunks.reading import fields_at
from lamina_engine.clock import MISSING_US, format_instant
from lamina_engine.index.row_columns import NO_VALUE
from lamina_engine.index.view import View
from lamina_engine.recall.dialogue import turn_terms
from lamina_engine.recall.request import Request
from lamina_engine.recall.scopes import scope_term
from lamina_engine.recall.score import SECONDS_PER_DAY, Ages, ages, boost_terms, recompute_boosts
from lamina_engine.recall.time_window import recompute_factor, time_term
from lamina_engine.results import Hit, Terms
from lamina_kernels.layouts import I64

if TYPE_CHECKING:
    from lamina_engine.recall.pipeline import Ranking


@after_fork.track_property_locks
class Explained:
    """Hits of some candidates, whose terms are made when one of them is looked at.

    Their texts cost a recall little, their terms as much as a lane; most hits are read by somebody who asks for neither.
    """

    def __init__(self, view: View, request: Request, ranked: Ranking, kept: list[int]) -> None:
        self._view, self._request, self._ranked, self._kept = view, request, ranked, kept

    def hits(self) -> list[Hit]:
        """Return the kept candidates, in their order."""
        ranked, kept = self._ranked, np.array(self._kept, np.int64)
        c = ranked.candidates
        rows = c.rows[kept]
        ranks = (c.lexical_rank[kept] | c.vector_rank[kept]).tolist()
        if ranked.linked or ranked.facts.chunks or ranked.by_time:
            vias = [self._via(*each) for each in zip(self._kept, rows.tolist(), ranks, strict=True)]
        else:
            vias = [None if rank else "following" for rank in ranks]
        columns = zip(fields_at(self._view, rows), c.score[kept].tolist(), vias, strict=True)
        return [
            replace(stored.hit, score=score, via=via, _terms=partial(self._terms, place), **current)
            for place, ((stored, current), score, via) in enumerate(columns)
        ]

    def _via(self, position: int, row: int, rank: int) -> str | None:
        """Return what brought in a candidate (``rank`` 0: no lane); None for a direct match."""
        link = self._ranked.linked.get(position)
        if link is not None:
            return link.via
        fact = self._ranked.facts.chunks.get(row)
        if self._ranked.by_time:
            via = "time" if self._request.window is not None else None
        else:
            via = None if rank else "following"
        return fact.via if via and fact is not None else via

    def _terms(self, place: int) -> Terms:
        return self._all[place]

    @cached_property
    def _all(self) -> list[Terms]:
        """Every term of the scores."""
        request, ranked, kept = self._request, self._ranked, self._kept
        c = ranked.candidates
        profile, rows = request.profile, c.rows[kept]
        aged = ages(self._view, rows, profile.decay, request.aged_us)
        scaled = aged if c.scale is None else ages(self._view, rows, profile.decay, request.aged_us, c.scale)
        numbers = (c.bm25, c.coverage, c.cosine, c.own, c.received, c.semantic, c.factor)
        columns = zip(
            kept,
            rows.tolist(),
            ranked.words.contributions(rows) if kept else [],
            zip(*(column[kept].tolist() for column in numbers), strict=True),
            c.lexical_rank[kept].tolist(),
            c.vector_rank[kept].tolist(),
            _age_terms(aged, scaled),
            self._traits(rows, scaled),
            strict=True,
        )
        found = []
        for position, row, words, values, lexical_rank, vector_rank, age, traits in columns:
            bm25, coverage, cosine, own, received, semantic, factor = values
            record: dict[str, Any] = {
                "fusion": profile.fusion,
                "vector_share": ranked.share,
                "rank_constant": profile.rank_constant,
                "bm25": bm25,
                "coverage": coverage,
                "words": words,
                "cosine": cosine if ranked.share else None,
                "lexical_rank": lexical_rank or None,
                "vector_rank": vector_rank or None,
                "own": own,
                "received": received,
                "semantic": semantic,
                "semantic_weight": profile.decay.semantic_weight,
                **age,
                "factor": factor,
                "folded": ranked.folded.get(position, []),
            }
            found.append(cast("Terms", record | traits | self._sources(position, row)))
        return found

    def _traits(self, rows: I64, scaled: Ages) -> list[dict[str, Any]]:
        """Return the terms of scaled age, role, turn, scope, boosts and time, if any."""
        view, request, ranked = self._view, self._request, self._ranked
        scale, corrections = ranked.candidates.scale, ranked.corrections
        decay, found = request.profile.decay, list[dict[str, Any]]()
        columns = zip(
            rows.tolist(),
            scaled.age_s.tolist(),
            view.categories.gather(view.snapshot, "role", rows).tolist(),
            turn_terms(view, request.profile, rows, request.named),
            boost_terms(view, request, rows) or (None for _ in rows),
            view.created_us[rows].tolist(),
            strict=True,
        )
        for row, age_s, role, turn, boost, created in columns:
            terms: dict[str, Any] = {}
            if scale is not None:
                terms["age"] = {
                    "best": scale.best, "least_match": decay.least_match, "to": format_instant(scale.to_us),
                    "days": age_s / SECONDS_PER_DAY, "speed": decay.speed,
                }  # fmt: skip
            if role != NO_VALUE:
                terms["role"] = view.categories.value("role", role)
            if turn is not None and not ranked.by_time:
                terms["turn"] = turn
            if request.scopes:
                terms["scope"] = scope_term(request.scopes, row)
            if corrections:
                terms["corrected"] = {word: list(nearest) for word, nearest in corrections.items()}
            if boost is not None:
                terms["boosts"] = boost
            if request.window is not None:
                terms["time"] = time_term(request.window, None if created == MISSING_US else created)
            found.append(terms)
        return found

    def _sources(self, position: int, row: int) -> dict[str, Any]:
        """Return the terms of composite scores, facts, links and pages."""
        ranked, terms = self._ranked, dict[str, Any]()
        if position in ranked.composite:
            terms["composite"] = ranked.composite[position]
        if ranked.by_time:
            terms["by_time"] = True
        if any(ranked.facts):
            terms |= {"facts_share": self._request.profile.facts.share, "fact": 0.0}
        fact = ranked.facts.chunks.get(row)
        if fact is not None:
            terms |= fact.terms
        link = ranked.linked.get(position)
        if link is not None:
            terms |= {"linked": link.semantic, "path": list(link.path), "contradicts": link.contradicts}
        ceilings = [ranked.candidates.ceiling, link.ceiling if link is not None else None]
        if known := [each for each in ceilings if each is not None]:
            terms["ceiling"] = min(known)
        return terms


def _age_terms(aged: Ages, scaled: Ages) -> list[dict[str, Any]]:
    """Return the terms of each row's age."""
    columns = zip(
        scaled.recency.tolist(), aged.age_s.tolist(), aged.half_life_s.tolist(), aged.dated.tolist(), strict=True
    )
    return [
        {
            "recency": recency, "age_days": age_s / SECONDS_PER_DAY, "half_life_days": half_life_s / SECONDS_PER_DAY,
            "date_missing": not dated,
        }
        for recency, age_s, half_life_s, dated in columns
    ]  # fmt: skip


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
        ``rank_constant``; received is what the short turn after it passed
        on, and the question before it. Where facts answered, semantic = min(1, (1 −
        ``facts_share``)·(own + received) + ``fact``). A hit that a link added has ``linked`` as its semantic
        score; one scored by time alone (``by_time``) has 1. ``factor`` is below 1 for an invalidated chunk, and for one whose
        ``role`` has a factor in the profile; for a turn of a session it holds what ``turn`` says: see
        `lamina_engine.recall.dialogue.recompute_turn`.
        With ``age``, its ``days`` · ``speed`` stand for ``age_days``, and recency counts times max(semantic − f·``best``, 0)/(1 − f)
        with f = its ``least_match``.
        ``composite`` takes the place of the blend with recency: see `lamina_engine.recall.composite.recompute_composite`. Where the
        question means a time, all of it times 1 − weight · (1 − closeness) by the numbers of ``time``. Where
        the profile boosts, all of it times what ``boosts`` says, see `lamina_engine.recall.score`; and never more than
        ``ceiling``, where there is one.
    """
    share = float(terms["vector_share"])
    if terms["fusion"] == "absolute":
        own = (1.0 - share) * terms["coverage"] + share * max(terms["cosine"] or 0.0, 0.0)
    else:
        k = float(terms["rank_constant"])
        ranks = ((1.0 - share, terms["lexical_rank"]), (share, terms["vector_rank"]))
        own = (k + 1.0) * sum(weight / (k + rank) for weight, rank in ranks if rank is not None)
    linked = terms.get("linked", 1.0 if terms.get("by_time") else None)
    matched = (1.0 - float(terms.get("facts_share", 0.0))) * (own + terms["received"]) + float(terms.get("fact", 0.0))
    semantic = min(float(matched), 1.0) if linked is None else float(linked)
    weight = float(terms["semantic_weight"])
    aged = terms["age"]["days"] * terms["age"]["speed"] if "age" in terms else terms["age_days"]
    recency: float = 0.5 ** (aged / terms["half_life_days"])
    if "age" in terms:
        floor = float(terms["age"]["least_match"])
        recency *= max(semantic - floor * float(terms["age"]["best"]), 0.0) / (1.0 - floor)
    blended = weight * semantic + (1.0 - weight) * recency
    if "composite" in terms:
        from lamina_engine.recall.composite import recompute_composite  # no profile uses it by default

        blended = recompute_composite(terms["composite"], semantic)
    score = float(terms["factor"]) * blended
    score = score * recompute_factor(terms["time"]) if "time" in terms else score
    score = score * recompute_boosts(terms["boosts"]) if "boosts" in terms else score
    return min(score, float(terms.get("ceiling", score)))


_PARTS: Final[dict[str, tuple[str, ...]]] = {
    "words": ("coverage", "lexical_rank"),
    "meaning": ("cosine", "vector_rank", "vector_share"),
    "neighbour": ("received",),
    "facts": ("facts_share", "fact"),
    "links": ("linked",),
    "age": ("age_days", "half_life_days", "age"),
    "factor": ("factor",),
    "time": ("time", "by_time"),
    "boosts": ("boosts",),
    "composite": ("composite",),
    "ceiling": ("ceiling",),
    "formula": ("fusion", "rank_constant", "semantic_weight"),
}
"""Parts of a score and what `recompute` reads of each, in the order of the formula."""
_READ: Final = tuple(name for names in _PARTS.values() for name in names)
_RANKS: Final = ("lexical_rank", "vector_rank")


def attribute(one: Terms, other: Terms) -> dict[str, float]:
    """Return by part of the score what the other terms give more; the sum is the difference."""
    # part by part the other's terms take the place of the one's, so that each step is a score of `recompute`
    mixed, theirs = dict[str, Any](one), cast("dict[str, Any]", other)
    differ = {name for name in _READ if mixed.get(name) != theirs.get(name)}
    if one["fusion"] == other["fusion"] == "absolute":
        differ.difference_update(_RANKS)
    score, found = recompute(mixed), dict[str, float]()
    for part, names in _PARTS.items():
        if differ.isdisjoint(names):
            continue
        for name in names:
            mixed.pop(name, None)
            if name in theirs:
                mixed[name] = theirs[name]
        step = recompute(mixed)
        if step != score:
            found[part] = step - score
        score = step
    return found

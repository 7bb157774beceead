"""Facts lane: chunks that hold the answer to a question about a named entity.

Facts are scored by phases (95 to 40), words by BM25, meaning by cosine: three scales that cannot be summed. A chunk gets a
share of the semantic score by the *rank* of its answer where the profile fuses ranks, otherwise by its phase divided by
100, on the same scale as coverage and cosine.

A fact that no chunk of the vault states (an imported ``facts.db``, a seed file, what somebody added) is a hit by itself: type and
collection say so, the id is ``fact:`` and its number, the source its own, the text the fact in words. Such hits do not age.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import numpy as np
from msgspec import Struct

from lamina_engine.clock import format_instant
from lamina_engine.errors import InvalidArgument
from lamina_engine.profiles import Profile
from lamina_engine.recall.explain import recompute
from lamina_engine.recall.filters import All
from lamina_engine.recall.pack import count_tokens, pack
from lamina_engine.results import Chunk, Hit

if TYPE_CHECKING:
    from lamina_engine.config import FactsConfig
    from lamina_engine.index.view import View
    from lamina_engine.recall.lanes import Selection
    from lamina_engine.recall.request import Request
    from lamina_engine.results import Answer, Fact, Terms

FULL: Final = 100.0
_MOST: Final = 50
"""Answers looked up; only the first of each chunk counts."""
_ALONE: Final = 6
"""Facts of one recall that are hits by themselves."""
FACT_TYPE: Final = "fact"
_FACT_ID: Final = "fact:"
FACT_COLLECTION: Final = "facts"
_NO_TERMS: Final[dict[str, Any]] = {
    "bm25": 0.0, "coverage": 0.0, "words": {}, "cosine": None, "lexical_rank": None, "vector_rank": None, "own": 0.0,
    "received": 0.0, "recency": 1.0, "age_days": 0.0, "half_life_days": 1.0, "date_missing": False, "factor": 1.0,
    "folded": [], "facts_share": 1.0,
}  # fmt: skip
"""Terms of a hit that no chunk stands behind: what it scores is the fact's."""


class FactHit(Struct, frozen=True):
    """A chunk that holds an answer, with its contribution to the score."""

    row: int
    rank: int
    """Of the answer among those of other chunks, from 1."""
    part: float
    """Added to the semantic score."""
    answer: Answer

    @property
    def terms(self) -> dict[str, Any]:
        """Score terms and the fact, for `lamina_engine.recall.explain`."""
        answer = self.answer
        return {
            "fact": self.part,
            "fact_rank": self.rank,
            "fact_score": answer.score,
            "fact_method": answer.method,
            "fact_says": [answer.subject, answer.predicate, answer.object],
            "fact_contradicted": list(answer.contradicted),
            "fact_asked": answer.asked,
            "fact_path": [list(hop) for hop in answer.path],
        }

    @property
    def via(self) -> str:
        """The fact as text, after those that lead to it."""
        answer = self.answer
        hops = (*answer.path, (answer.subject, answer.predicate, answer.object))
        return f"fact: {', '.join(f'{subject} -{predicate}-> {object}' for subject, predicate, object in hops)}"


class FactLane(NamedTuple):
    """Answers of the facts to one recall."""

    chunks: Mapping[int, FactHit]
    """Chunks that hold answers, by row."""
    alone: tuple[Answer, ...]
    """Answers that no chunk of the vault states, best first."""


NOTHING: Final = FactLane({}, ())


def fact_lane(view: View, request: Request, selection: Selection, config: FactsConfig) -> FactLane:
    """Return what the facts answer; the view limits the facts."""
    settings = request.profile.facts
    from lamina_engine.facts.intents import intents_from
    from lamina_engine.facts.questions import ask_view

    found = ask_view(
        view, request.text, k=_MOST, valid_at_us=request.now_us, identity=request.identity or config.speaker,
        addressed=config.identity or request.identity, intents=intents_from(config.intents), least=settings.least,
        tz=request.tz,
    )  # fmt: skip
    answers = [answer for answer in found if answer.score >= settings.least]
    fact_hits: dict[int, FactHit] = {}
    alone: list[Answer] = []
    for answer, row in zip(answers, _rows_of(view, answers), strict=True):
        if row < 0 and answer.chunk is None and found.answered:
            alone.append(answer)
        if row >= 0 and row not in fact_hits and (selection.live is None or selection.live[row]):
            rank = len(fact_hits) + 1
            fact_hits[row] = FactHit(row, rank, _part(request.profile, answer.score, rank), answer)
    if any(answer.asked for answer in alone):  # without, the question is for all that is known
        alone = [answer for answer in alone if answer.asked]
    wants_chunks = request.fill or request.candidates is not None or request.parsed is not None
    is_filtered = (
        wants_chunks or request.where != All(()) or request.since_us is not None or request.until_us is not None
    )
    return FactLane(fact_hits, () if is_filtered else tuple(alone[:_ALONE]))


def add_facts(view: View, request: Request, found: Sequence[Hit], answers: Sequence[Answer]) -> list[Hit]:
    """Return hits with facts that no chunk states, each before the first that scores less."""
    from lamina_engine.facts.view import fact_view

    hits = list(found)
    facts = {fact.row: fact for fact in fact_view(view).facts_at([answer.row for answer in answers])}
    for rank, answer in enumerate(answers, 1):
        # by itself it has no words to match: where scores are absolute, it is as sure as its phase
        absolute = request.profile.fusion == "absolute"
        part = answer.score / FULL if absolute else _part(request.profile, answer.score, rank)
        hit = _fact_hit(facts[answer.row], FactHit(-1, rank, part, answer), request.profile)
        place = next((i for i, other in enumerate(hits) if other.score < hit.score), len(hits))
        hits.insert(place, hit)
    kept = pack((count_tokens(hit.text) for hit in hits), request.k, request.token_budget)
    return [hits[place] for place in kept][request.offset :]


def _fact_hit(fact: Fact, found: FactHit, profile: Profile) -> Hit:
    """Return a fact as a hit of its own."""
    terms = cast("Terms", {
        **_NO_TERMS, "fusion": profile.fusion, "vector_share": 0.0, "rank_constant": profile.rank_constant,
        "semantic": min(found.part, 1.0), "semantic_weight": profile.decay.semantic_weight, **found.terms,
    })  # fmt: skip
    return Hit(**_fact_fields(fact), score=recompute(terms), via=found.via, _terms=lambda: terms)


def _fact_fields(fact: Fact) -> dict[str, Any]:
    """Return a fact as the fields of a chunk."""
    metadata: dict[str, Any] = {
        "subject": fact.subject, "predicate": fact.predicate, "object": fact.object, "fact": fact.row,
        "valid_from": format_instant(fact.valid_from_us), "valid_to": format_instant(fact.valid_to_us),
        "confidence": fact.confidence,
    }  # fmt: skip
    until = f", until {metadata['valid_to'][:10]}" if fact.valid_to_us is not None else ""
    return {
        "id": f"{_FACT_ID}{fact.row}", "row": -1, "text": f"{fact.subject} {fact.predicate.replace('_', ' ')} {fact.object}{until}",
        "title": fact.subject, "type": FACT_TYPE, "collection": FACT_COLLECTION, "source": fact.source,
        "created_at_us": fact.valid_from_us, "recorded_at_us": fact.recorded_at_us, "status": fact.status,
        "reason": fact.reason, "metadata": metadata,
    }  # fmt: skip


def fact_chunk(view: View, identity: str) -> Chunk | None:
    """Return the fact of a hit's id (``fact:12``) as a chunk; None for any other id."""
    from lamina_engine.facts.view import fact_view

    number = identity.removeprefix(_FACT_ID) if isinstance(identity, str) else ""
    if number == identity or not number.isdecimal():
        return None
    try:
        (fact,) = fact_view(view).facts_at([int(number)])
    except InvalidArgument:
        return None
    return Chunk(**_fact_fields(fact))


def _part(profile: Profile, score: float, rank: int) -> float:
    from lamina_engine.facts.questions import ANSWERED_FROM

    settings = profile.facts
    weight = settings.weight if score >= ANSWERED_FROM else settings.other
    if profile.fusion == "ranks":
        return weight * (profile.rank_constant + 1.0) / (profile.rank_constant + rank)
    return weight * score / FULL


# ---------------------------------------------------------------------- from facts to chunks


def _rows_of(view: View, answers: Sequence[Answer]) -> list[int]:
    """Return the chunk row of each answer; -1 where its source is not in the vault."""
    chunks = [answer.chunk or "" for answer in answers]
    rows: list[int] = view.rows_of_ids(chunks).tolist()
    for place, answer in enumerate(answers):
        if rows[place] < 0 and answer.chunk is None:
            rows[place] = _row_of_source(view, answer)
    return rows


def _row_of_source(view: View, answer: Answer) -> int:
    """Return the source's row that contains the value, else its first; bare names match too."""
    rows = _by_source(view).get(answer.source.casefold(), [])
    if len(rows) > 1:
        value = answer.value.casefold()
        texts = view.snapshot.values("chunks", "text", np.array(rows, np.int64))
        return next((row for row, text in zip(rows, texts, strict=True) if value in text.casefold()), rows[0])
    return rows[0] if rows else -1


def _by_source(view: View) -> dict[str, list[int]]:
    """Return active rows by source path and by bare file name; cached per version. O(rows)."""

    def make() -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for segment in view.snapshot.segments("chunks"):
            sources = segment.texts("source")
            for row, source in enumerate(sources, segment.start):
                if source and row < view.rows and not view.state.status[row]:
                    path = str(source).casefold()
                    for name in {path, path.rpartition("/")[2]}:
                        found.setdefault(name, []).append(row)
        return found

    return view.cached("rows by source", make)

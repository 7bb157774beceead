"""Facts lane: chunks that hold the answer to a question about a named entity.

Facts are scored by phases (95 to 40), words by BM25, meaning by cosine: three scales that cannot be summed. A chunk gets a
share of the semantic score by the *rank* of its answer where the profile fuses ranks, otherwise by its phase divided by
100, on the same scale as coverage and cosine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from msgspec import Struct

from lamina_engine.profiles import Profile

if TYPE_CHECKING:
    from lamina_engine.config import FactsConfig
    from lamina_engine.index.view import View
    from lamina_engine.recall.lanes import Selection
    from lamina_engine.recall.request import Request
    from lamina_engine.results import Answer

_FULL: Final = 100.0
_MOST: Final = 50
"""Answers looked up; only the first of each chunk counts."""


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
        }

    @property
    def via(self) -> str:
        """The fact as text."""
        return f"fact: {self.answer.subject} -{self.answer.predicate}-> {self.answer.object}"


def fact_lane(view: View, request: Request, selection: Selection, config: FactsConfig) -> dict[int, FactHit]:
    """Return chunks that hold answers to the question, by row; the view limits the facts."""
    settings = request.profile.facts
    if not settings.weight or "facts" not in request.lanes or not view.snapshot.rows("facts"):
        return {}
    from lamina_engine.facts.intents import intents_from
    from lamina_engine.facts.questions import ask_view

    found = ask_view(
        view, request.text, k=_MOST, valid_at_us=request.now_us, identity=request.identity or config.identity or None,
        intents=intents_from(config.intents), least=settings.least,
    )  # fmt: skip
    answers = [answer for answer in found if answer.score >= settings.least]
    fact_hits: dict[int, FactHit] = {}
    for answer, row in zip(answers, _rows_of(view, answers), strict=True):
        if row >= 0 and row not in fact_hits and (selection.live is None or selection.live[row]):
            rank = len(fact_hits) + 1
            fact_hits[row] = FactHit(row, rank, _part(request.profile, answer.score, rank), answer)
    return fact_hits


def _part(profile: Profile, score: float, rank: int) -> float:
    from lamina_engine.facts.questions import ANSWERED_FROM

    settings = profile.facts
    weight = settings.weight if score >= ANSWERED_FROM else settings.other
    if profile.fusion == "ranks":
        return weight * (profile.rank_constant + 1.0) / (profile.rank_constant + rank)
    return weight * score / _FULL


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
            sources = segment.column("source").to_pylist()
            for row, source in enumerate(sources, segment.start):
                if source and row < view.rows and not view.state.status[row]:
                    path = str(source).casefold()
                    for name in {path, path.rpartition("/")[2]}:
                        found.setdefault(name, []).append(row)
        return found

    return view.cached("rows by source", make)

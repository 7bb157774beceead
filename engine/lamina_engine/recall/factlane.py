"""The facts lane: where a question names an entity, the chunks that say what is asked of it.

Facts are scored by phases (95 to 40), words by BM25, meaning by cosine: three scales that are not added up. A chunk gets
a share of the semantic score by its answer's *rank* where the profile fuses ranks, and otherwise by its phase as a part
of 100, beside coverage and cosine, which are parts of 1 too.
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
"""Answers that are looked up; of a file with many only the first counts."""


class Held(Struct, frozen=True):
    """Why a chunk is among the hits, or higher: a fact that it holds."""

    row: int
    rank: int
    """Of the answer among those of other chunks, from 1."""
    part: float
    """What it adds to the semantic score."""
    answer: Answer

    @property
    def terms(self) -> dict[str, Any]:
        """The numbers and what is said, for `lamina_engine.recall.explain`."""
        said = self.answer
        return {
            "fact": self.part,
            "fact_rank": self.rank,
            "fact_score": said.score,
            "fact_method": said.method,
            "fact_says": [said.subject, said.predicate, said.object],
            "fact_contradicted": list(said.contradicted),
        }

    @property
    def via(self) -> str:
        """The fact, in words."""
        return f"fact: {self.answer.subject} -{self.answer.predicate}-> {self.answer.object}"


def fact_lane(view: View, request: Request, selection: Selection, config: FactsConfig) -> dict[int, Held]:
    """Return the chunks that hold answers to the question.

    Parameters
    ----------
    view : View
        The version, or a past moment of it; only facts known then count.
    request : Request
    selection : Selection
        Which rows may be returned.
    config : FactsConfig
        Who "I" is, and what questions ask about.

    Returns
    -------
    dict of int to Held
        By row of the chunks log; empty where the profile has no such lane, the vault no facts, or the question no answer.
    """
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
    held: dict[int, Held] = {}
    for answer, row in zip(answers, _rows_of(view, answers), strict=True):
        if row >= 0 and row not in held and (selection.live is None or selection.live[row]):
            rank = len(held) + 1
            held[row] = Held(row, rank, _part(request.profile, answer.score, rank), answer)
    return held


def _part(profile: Profile, score: float, rank: int) -> float:
    from lamina_engine.facts.questions import ANSWERED_FROM

    settings = profile.facts
    weight = settings.weight if score >= ANSWERED_FROM else settings.other
    if profile.fusion == "ranks":
        return weight * (profile.rank_constant + 1.0) / (profile.rank_constant + rank)
    return weight * score / _FULL


# ---------------------------------------------------------------------- from facts to chunks


def _rows_of(view: View, answers: Sequence[Answer]) -> list[int]:
    """Return the row of the chunk that says each answer; -1 where it came from nothing that the vault holds."""
    chunks = [answer.chunk or "" for answer in answers]
    rows: list[int] = view.rows_of_ids(chunks).tolist()
    for place, answer in enumerate(answers):
        if rows[place] < 0 and answer.chunk is None:
            rows[place] = _row_of_source(view, answer)
    return rows


def _row_of_source(view: View, answer: Answer) -> int:
    """Return the chunk of a file that has the answer's value in it, else the file's first; a bare name will do."""
    rows = _by_source(view).get(answer.source.casefold(), [])
    if len(rows) > 1:
        wanted = answer.value.casefold()
        texts = view.snapshot.values("chunks", "text", np.array(rows, np.int64))
        return next((row for row, text in zip(rows, texts, strict=True) if wanted in text.casefold()), rows[0])
    return rows[0] if rows else -1


def _by_source(view: View) -> dict[str, list[int]]:
    """Return the active rows of each file, by its path and by its bare name; made once for a version. O(rows)."""

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

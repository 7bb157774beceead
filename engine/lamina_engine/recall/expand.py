"""What the hits lead to along links: neighbours brought in, walks from the best hits; each with the path it came by.

A chunk that only a link brought in never passes the best hit of the question itself, but for the ``task`` profile,
whose formula lets a fresh neighbour pass an old hit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from lamina_engine.profiles import LANES_BY_INTENT
from lamina_engine.recall.brought import Batch, Brought, Told, among, linked, may_return
from lamina_engine.recall.candidates import Candidates
from lamina_engine.recall.intent import classify
from lamina_engine.recall.lanes import Selection
from lamina_engine.recall.score import blend_rows, score_rows, status_factors
from lamina_kernels.layouts import F32, F64, I64

if TYPE_CHECKING:
    from lamina_engine.graph.adjacent import Adjacent
    from lamina_engine.index.view import View
    from lamina_engine.recall.request import Request


class Expanded(Struct, frozen=True):
    """Candidates with what links brought in, ranked anew."""

    candidates: Candidates
    order: list[int]
    brought: Mapping[int, Brought]
    """By position among the candidates."""
    intent: str | None
    """What the question was taken to be after, where that mattered."""


def expand(
    view: View, request: Request, selection: Selection, query: F32 | None, candidates: Candidates, order: list[int]
) -> Expanded:
    """Follow links from the hits, as the profile says.

    Parameters
    ----------
    order : list of int
        Positions of the hits among the candidates, best first, without repetitions.

    Returns
    -------
    Expanded
        The same candidates where nothing was brought in. What was has no match of its own yet: see `with_matches`.
    """
    profile = request.profile
    intent = (request.intent or classify(request.text).name) if profile.graph.intents else None
    sources: list[Batch | None] = []
    hits = np.array(order, np.int64)
    if order and view.snapshot.rows("links"):
        if profile.neighbours.most:
            sources.append(_neighbours(view, request, selection, candidates, hits[: request.k]))
        if intent in profile.graph.intents:
            from lamina_engine.recall.led import led

            sources.append(led(view, request, selection, candidates, hits, query, str(intent)))
    if order and profile.siblings.topics:
        from lamina_engine.recall.siblings import siblings

        sources.append(_listed(siblings(view, request, selection, candidates, order)))
    found = [batch for batch in sources if batch is not None]
    if not found:
        return Expanded(candidates, order, {}, intent)
    merged, at = _merge(candidates, found)
    hits = np.union1d(hits, at)
    rows, semantic = merged.rows[hits], merged.semantic[hits]
    factor, score = merged.factor.copy(), merged.score.copy()
    factor[at] = status_factors(view, profile, merged.rows[at])
    score[hits], best = score_rows(view, request, rows, semantic, factor[hits])
    places = [(batch.tell, place) for batch in found for place in range(len(batch.rows))]
    brought = Told(dict(zip(at.tolist(), places, strict=True)))
    return Expanded(replace(merged, factor=factor, score=score), hits[best].tolist(), brought, intent)


def by_intent(request: Request, share: float) -> float:
    """Return the vector lane's part of the score, as the question's intent shifts it in profiles that walk links."""
    if not request.profile.graph.intents:
        return share
    words, meaning = LANES_BY_INTENT.get(request.intent or classify(request.text).name, (1.0, 1.0))
    return share * meaning / (share * meaning + (1.0 - share) * words)


# ---------------------------------------------------------------------- neighbours


def _neighbours(view: View, request: Request, selection: Selection, c: Candidates, hits: I64) -> Batch | None:
    """Return the best neighbours of each hit: combined score, then newest link, then id; no hit, and none twice."""
    from lamina_engine.graph.adjacent import around, chosen

    settings = request.profile.neighbours
    rows = c.rows[hits]
    near = around(view, rows, settings.relations)
    free = np.flatnonzero(~among(np.sort(rows), near.rows) & may_return(selection, near.rows))
    if not free.size:
        return None
    near = near.only(free)
    semantic = (settings.share * c.semantic[hits])[near.owners]
    scores = blend_rows(view, request, near.rows, semantic)
    picked = chosen(view, near, scores, semantic, settings.most, best=settings.best)
    near, semantic = near.only(picked), semantic[picked]
    return Batch(near.rows, semantic, partial(_adjacent, view, near, semantic))


def _adjacent(view: View, near: Adjacent, semantic: F64, position: int) -> Brought:
    from lamina_engine.graph.adjacent import step_to

    return linked(int(near.rows[position]), float(semantic[position]), [step_to(view, near, position)])


def _listed(found: Sequence[Brought]) -> Batch | None:
    if not found:
        return None
    rows = np.array([item.row for item in found], np.int64)
    return Batch(rows, np.array([item.semantic for item in found]), found.__getitem__)


# ---------------------------------------------------------------------- together


def _merge(c: Candidates, found: Sequence[Batch]) -> tuple[Candidates, I64]:
    """Return the candidates with what links and topics bring in, and the position of each; a later batch overrides."""
    rows = np.concatenate([batch.rows for batch in found])
    at = np.minimum(np.searchsorted(c.rows, rows), len(c.rows) - 1)
    fresh = np.flatnonzero(c.rows[at] != rows)
    new = rows[fresh]
    at[fresh] = len(c.rows) + np.arange(len(new))
    if len(found) > 1:  # a row of several batches has one place
        place = {row: i for i, row in enumerate(new.tolist())}
        at[fresh] = len(c.rows) + np.array([place[row] for row in new.tolist()], np.int64)
    merged = c.append(new)
    merged.semantic[at] = np.concatenate([batch.semantic for batch in found])
    return merged, at

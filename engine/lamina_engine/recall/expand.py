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
from lamina_engine.recall.boosts import boosted
from lamina_engine.recall.brought import Batch, Brought, Told, among, linked, may_return
from lamina_engine.recall.candidates import Candidates, factors, ranking
from lamina_engine.recall.intent import classify
from lamina_engine.recall.lanes import Selection, Words, cosines
from lamina_engine.recall.score import ages, blend
from lamina_engine.recall.time_window import apply_window
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
    merged, at = _merged(view, request, candidates, found)
    kept = np.zeros(len(merged.rows), np.bool_)
    kept[hits] = kept[at] = True
    places = [(batch.tell, place) for batch in found for place in range(len(batch.rows))]
    brought = Told(dict(zip(at.tolist(), places, strict=True)))
    return Expanded(merged, ranking(view, merged, np.flatnonzero(kept)), brought, intent)


def with_matches(
    view: View, words: Words, query: F32 | None, candidates: Candidates, kept: Sequence[int], first: int
) -> Candidates:
    """Return the candidates with how those brought in match the question themselves, where they are kept.

    Parameters
    ----------
    kept : sequence of int
        Positions that are shown.
    first : int
        From this position on candidates were brought in.

    Notes
    -----
    It is told and changes no score, so it is worked out for the few that are shown.
    """
    new = np.array([position for position in kept if position >= first], np.int64)
    if not new.size:
        return candidates
    rows = candidates.rows[new]
    bm25, coverage, cosine = candidates.bm25.copy(), candidates.coverage.copy(), candidates.cosine.copy()
    bm25[new] = words.score(rows)
    coverage[new] = bm25[new] / words.ceiling if words.ceiling else 0.0
    cosine[new] = cosines(view, query, rows)
    return replace(candidates, bm25=bm25, coverage=coverage, cosine=cosine)


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

    settings, decay = request.profile.neighbours, request.profile.decay
    rows = c.rows[hits]
    near = around(view, rows, settings.relations)
    free = np.flatnonzero(~among(np.sort(rows), near.rows) & may_return(selection, near.rows))
    if not free.size:
        return None
    near = near.only(free)
    semantic = (settings.share * c.semantic[hits])[near.owners]
    recency, factor = ages(view, near.rows, decay, request.aged_us).recency, factors(view, request.profile, near.rows)
    scores = blend(semantic, recency, decay.semantic_weight, factor)
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


def _merged(view: View, request: Request, c: Candidates, found: Sequence[Batch]) -> tuple[Candidates, I64]:
    """Return the candidates with what was brought in, and the position of each thing brought in."""
    rows = found[0].rows if len(found) == 1 else np.concatenate([batch.rows for batch in found])
    own = found[0].semantic if len(found) == 1 else np.concatenate([batch.semantic for batch in found])
    at = np.minimum(np.searchsorted(c.rows, rows), len(c.rows) - 1)
    fresh = np.flatnonzero(c.rows[at] != rows)
    new = rows[fresh]
    at[fresh] = len(c.rows) + np.arange(len(new))
    if len(found) > 1:  # what several bring in has one place, and what the last of them says stands
        place = {row: i for i, row in enumerate(new.tolist())}
        at[fresh] = len(c.rows) + np.array([place[row] for row in new.tolist()], np.int64)
    zeros, nowhere = np.zeros(len(new)), np.zeros(len(new), np.int64)
    semantic = np.concatenate([c.semantic, zeros])
    semantic[at] = own
    merged = Candidates(
        np.concatenate([c.rows, new]),
        np.concatenate([c.bm25, zeros]),
        np.concatenate([c.coverage, zeros]),
        np.concatenate([c.cosine, zeros]),
        np.concatenate([c.lexical_rank, nowhere]),
        np.concatenate([c.vector_rank, nowhere]),
        np.concatenate([c.own, zeros]),
        np.concatenate([c.received, zeros]),
        semantic,
        np.concatenate([c.factor, factors(view, request.profile, new)]),
        np.concatenate([c.score, zeros]),
    )
    merged.score[at] = _scores(view, request, rows, semantic[at], merged.factor[at])
    return merged, at


def _scores(view: View, request: Request, rows: I64, semantic: F64, factor: F64) -> F64:
    """Return the scores of rows whose own match something else takes the place of."""
    decay = request.profile.decay
    dated = decay.semantic_weight < 1.0
    recency = ages(view, rows, decay, request.aged_us).recency if dated else np.zeros(len(rows))
    score = apply_window(view, request.meant, rows, blend(semantic, recency, decay.semantic_weight, factor))
    return boosted(view, request, rows, score)

"""What the hits lead to along links: neighbours brought in, walks from the best hits; each with the path it came by.

A chunk that only a link brought in never passes the best hit of the question itself, but for the ``task`` profile,
whose formula lets a fresh neighbour pass an old hit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from lamina_engine.profiles import LANES_BY_INTENT
from lamina_engine.recall.boosts import boosted
from lamina_engine.recall.candidates import Candidates, factors, ranking
from lamina_engine.recall.intent import classify
from lamina_engine.recall.lanes import Selection, Words, cosines
from lamina_engine.recall.score import ages, blend
from lamina_engine.recall.time_preference import timely
from lamina_kernels.layouts import F32, I64

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_engine.links.walks import Step
    from lamina_engine.recall.request import Request

_MISSING: Final = -(2**63)
_BELOW_BEST: Final = 1.0 - 1e-9
"""No walk lifts a chunk to the best hit's score."""


class Brought(Struct, frozen=True):
    """Why a chunk is where it is: by a link, and not by its own match alone."""

    row: int
    semantic: float
    """What takes the place of its own semantic score."""
    via: str
    """The path, in words: ``a1 -blocks-> b2``."""
    path: tuple[dict[str, Any], ...]
    contradicts: bool
    sibling: bool = False
    """True where a topic, and no link, brought it in: it stands below every direct hit."""
    ceiling: float | None = None
    """Score that it was lowered to for that."""


class Expanded(Struct, frozen=True):
    """Candidates with what links brought in, ranked anew."""

    candidates: Candidates
    order: list[int]
    brought: dict[int, Brought]
    """By position among the candidates."""
    intent: str | None
    """What the question was taken to be after, where that mattered."""


def expand(
    view: View,
    request: Request,
    selection: Selection,
    words: Words,
    query: F32 | None,
    candidates: Candidates,
    order: list[int],
) -> Expanded:
    """Follow links from the hits, as the profile says.

    Parameters
    ----------
    order : list of int
        Positions of the hits among the candidates, best first, without repetitions.

    Returns
    -------
    Expanded
        The same candidates where nothing was brought in.
    """
    profile = request.profile
    intent = (request.intent or classify(request.text).name) if profile.graph.intents else None
    found: list[Brought] = []
    if order and view.snapshot.rows("links"):
        if profile.neighbours.most:
            found += _neighbours(view, request, selection, candidates, order[: request.k])
        if intent in profile.graph.intents:
            found += _walked(view, request, selection, candidates, order, query, str(intent))
    if order and profile.siblings.topics:
        from lamina_engine.recall.siblings import siblings

        found += siblings(view, request, selection, candidates, order)
    if not found:
        return Expanded(candidates, order, {}, intent)
    merged, brought = _merged(view, request, words, query, candidates, found)
    kept = {*order, *brought}
    return Expanded(merged, [p for p in ranking(view, merged) if p in kept], brought, intent)


def by_intent(request: Request, share: float) -> float:
    """Return the vector lane's part of the score, as the question's intent shifts it in profiles that walk links."""
    if not request.profile.graph.intents:
        return share
    words, meaning = LANES_BY_INTENT.get(request.intent or classify(request.text).name, (1.0, 1.0))
    return share * meaning / (share * meaning + (1.0 - share) * words)


# ---------------------------------------------------------------------- neighbours


def _neighbours(
    view: View, request: Request, selection: Selection, c: Candidates, hits: Sequence[int]
) -> list[Brought]:
    """Return the best neighbours of each hit: combined score, then newest link, then id; no hit, and none twice."""
    from lamina_engine.links.adjacent import around, described

    settings, decay = request.profile.neighbours, request.profile.decay
    names = [str(name) for name in view.snapshot.values("chunks", "id", c.rows[list(hits)])]
    taken = set(c.rows[list(hits)].tolist())
    found: dict[int, Brought] = {}
    near = around(view, names, settings.relations)
    every = np.unique(np.concatenate([np.empty(0, np.int64), *(links.rows for links in near if links is not None)]))
    recency, factor = ages(view, every, decay, request.aged_us).recency, factors(view, request.profile, every)
    for position, links in zip(hits, near, strict=True):
        if links is None:
            continue
        semantic = settings.share * float(c.semantic[position])
        at = np.searchsorted(every, links.rows)
        scores = blend(np.full(len(at), semantic), recency[at], decay.semantic_weight, factor[at]).tolist()
        combined = {
            place: score
            for place, (row, score) in enumerate(zip(links.rows.tolist(), scores, strict=True))
            if row not in taken and (settings.best or row not in found) and _may_return(selection, row)
        }
        if not combined:
            continue
        # ids and dates are read of those alone that can be among the first
        least = sorted(combined.values())[-min(settings.most, len(combined))]
        places = [place for place, score in combined.items() if score >= least]
        shown = described(view, links, np.array(places, np.int64))
        newest = [-_moment(link.created_at) for link in shown]
        ranked = sorted(
            zip([-combined[place] for place in places], newest, shown, strict=True),
            key=lambda item: (*item[:2], item[2].id),
        )
        for _, _, link in ranked[: settings.most]:
            known = found.get(link.row)
            if known is None or semantic > known.semantic:
                found[link.row] = _brought(link.row, semantic, [link.step], links.name)
    return list(found.values())


def _moment(us: int | None) -> int:
    return _MISSING if us is None else us


# ---------------------------------------------------------------------- walks


def _walked(
    view: View, request: Request, selection: Selection, c: Candidates, order: list[int], query: F32 | None, intent: str
) -> list[Brought]:
    """Walk from the best hits and merge by the profile's shares, all relative to the best hit's score."""
    from lamina_engine.links import walks

    settings = request.profile.graph
    top = float(c.semantic[order].max())
    first = [position for position in order[: settings.anchors] if c.semantic[position] >= settings.strong * top]
    names = [str(name) for name in view.snapshot.values("chunks", "id", c.rows[first])]
    anchors = dict(zip(names, (c.semantic[first] / top).tolist(), strict=True)) if top > 0.0 else {}
    if not anchors:
        return []
    keep = request.profile.invalidated > 0.0
    reached = walks.traverse(
        view, anchors, intent=intent, depth=settings.depth, beam=settings.beam, budget=settings.budget, vector=query,
        invalidated=keep,
    )  # fmt: skip
    own = dict(zip(c.rows.tolist(), (c.semantic / top).tolist(), strict=True))
    strong = {row for row, score in own.items() if score >= settings.strong}
    found: dict[int, Brought] = {}
    greatest = max((step.score for step in reached), default=0.0)
    rows = view.rows_of_ids([step.id for step in reached]).tolist()
    for step, row in zip(reached, rows, strict=True):
        if step.via and _may_return(selection, row):
            # what contradicts a hit is shown beside it; that is no reason to rank higher
            share = settings.raised if row in strong else settings.added
            lift = 0.0 if step.contradicts and row in own else share * step.score / greatest
            _merge(found, own, row, lift, top, step.via)
    if settings.pushed:
        pushed = walks.propagate(view, anchors, intent=intent, budget=settings.pushed, invalidated=keep)
        greatest = max((score for _, score, _ in pushed), default=0.0)
        rows = view.rows_of_ids([name for name, _, _ in pushed]).tolist()
        for (name, score, path), row in zip(pushed, rows, strict=True):
            if name not in anchors and _may_return(selection, row):
                share = settings.raised_by_push if row in strong else settings.added_by_push
                told = f"{' -> '.join(path)} from the best hits"
                _merge(found, own, row, share * score / greatest, top, told)
    return list(found.values())


def _merge(
    found: dict[int, Brought], own: Mapping[int, float], row: int, lift: float, top: float, path: Sequence[Step] | str
) -> None:
    """Let a walk's score, relative to the best hit's, count for a row: none is lowered, none passes the best hit."""
    before = found[row].semantic / top if row in found else own.get(row, -1.0)
    score = min(lift, _BELOW_BEST)
    if score <= before:
        return
    semantic = min(score * top, 1.0)
    if isinstance(path, str) and row in found:  # link by link says more than along which relations
        found[row] = replace(found[row], semantic=semantic)
    elif isinstance(path, str):
        found[row] = Brought(row, semantic, path, (), contradicts=False)
    else:
        start = path[0].source if path[0].outward else path[0].target
        found[row] = _brought(row, semantic, path, start)


def _may_return(selection: Selection, row: int) -> bool:
    return row >= 0 and (selection.live is None or bool(selection.live[row]))


def _brought(row: int, semantic: float, path: Sequence[Step], start: str) -> Brought:
    said, at = start, start
    for step in path:
        at = step.target if step.outward else step.source
        said += f" -{step.relation}-> {at}" if step.outward else f" <-{step.relation}- {at}"
    record = tuple(
        {
            "source": step.source, "target": step.target, "relation": step.relation, "weight": step.weight,
            "outward": step.outward,
        }
        for step in path
    )  # fmt: skip
    return Brought(row, semantic, said, record, contradicts=any(step.relation == "contradicts" for step in path))


# ---------------------------------------------------------------------- together


def _merged(
    view: View, request: Request, words: Words, query: F32 | None, c: Candidates, found: Iterable[Brought]
) -> tuple[Candidates, dict[int, Brought]]:
    """Return the candidates with what was brought in, and what was brought in by position."""
    profile = request.profile
    place = {row: position for position, row in enumerate(c.rows.tolist())}
    brought = list(found)
    new = np.array([item.row for item in brought if item.row not in place], np.int64)
    place.update({row: len(c.rows) + i for i, row in enumerate(new.tolist())})
    zeros = np.zeros(len(new))
    bm25 = words.score(new)
    coverage = bm25 / words.ceiling if words.ceiling else zeros
    rows = _joined(c.rows, new)
    semantic = np.concatenate([c.semantic, zeros])
    positions = {place[item.row]: item for item in brought}
    semantic[list(positions)] = [item.semantic for item in positions.values()]
    factor = np.concatenate([c.factor, factors(view, profile, new)])
    weight = profile.decay.semantic_weight
    recency = ages(view, rows, profile.decay, request.aged_us).recency if weight < 1.0 else zeros
    nowhere = np.zeros(len(new), np.int64)
    merged = Candidates(
        rows,
        np.concatenate([c.bm25, bm25]),
        np.concatenate([c.coverage, coverage]),
        np.concatenate([c.cosine, cosines(view, query, new)]),
        _joined(c.lexical_rank, nowhere),
        _joined(c.vector_rank, nowhere),
        np.concatenate([c.own, zeros]),
        np.concatenate([c.received, zeros]),
        semantic,
        factor,
        boosted(view, request, rows, timely(view, request.meant, rows, blend(semantic, recency, weight, factor))),
    )
    return merged, positions


def _joined(a: I64, b: I64) -> I64:
    return np.concatenate([a, b])

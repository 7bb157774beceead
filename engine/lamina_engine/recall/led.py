"""Where the best hits lead: a best-first walk and pushed mass, both made to count by the profile's shares."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from lamina_engine.graph import leads
from lamina_engine.recall.brought import Batch, Brought, linked
from lamina_kernels.leads import Shares, merge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lamina_engine.index.view import View
    from lamina_engine.recall.candidates import Candidates
    from lamina_engine.recall.lanes import Selection
    from lamina_engine.recall.request import Request
    from lamina_kernels.layouts import F32, F64, I64, Walk

_ALL_LIVE: Final = np.empty(0, np.uint8)
_NOTHING: Final = leads.Pushed(np.empty(0, np.int64), np.empty(0), np.empty(0, np.int64))


def led(
    view: View, request: Request, selection: Selection, c: Candidates, hits: I64, query: F32 | None, intent: str
) -> Batch | None:
    """Return what links lead to from the best hits, and what mass pushed from them comes to; None where nothing moves.

    Parameters
    ----------
    c : Candidates
        Their rows ascend.
    hits : int64 (h,)
        Positions of the hits among the candidates, best first; one at least.
    """
    settings = request.profile.graph
    top = float(c.semantic[hits].max())
    first = hits[: settings.anchors]
    first = first[c.semantic[first] >= settings.strong * top]
    if top <= 0.0 or not first.size:
        return None
    keep = request.profile.invalidated > 0.0
    begun, scores = c.rows[first], c.semantic[first] / top
    if not view.all_active:
        begun, scores = leads.current(view, begun, scores)
    begin = leads.starts(view, begun, scores, invalidated=keep)
    walk = leads.walk(
        view, begin, intent=intent, depth=settings.depth, beam_width=settings.beam, budget=settings.budget,
        vector=query, invalidated=keep,
    )  # fmt: skip
    pushed = _NOTHING
    if settings.pushed:
        pushed = leads.pushed(view, begin, intent=intent, budget=settings.pushed, invalidated=keep)
    rows = np.concatenate([leads.rows_led(view, walk, begin, settings.budget), pushed.rows])
    semantic = merge(
        c.rows, c.semantic, top,
        Shares(settings.strong, settings.raised, settings.added, settings.raised_by_push, settings.added_by_push),
        _ALL_LIVE if selection.live is None else selection.live.view(np.uint8), begun,
        rows[: walk.nodes.size], walk.scores, leads.contradicted(view, walk),
        float(max(walk.scores.max(initial=0.0), begin.lone_scores.max(initial=0.0))),
        pushed.rows, pushed.scores, float(pushed.scores.max(initial=0.0)),
    )  # fmt: skip
    places = np.flatnonzero(semantic >= 0.0)
    if not places.size:
        return None
    rows, semantic = rows[places], semantic[places]
    paths = leads.paths_of(intent)
    return Batch(rows, semantic, partial(_told, view, walk, paths, pushed.paths, places, rows, semantic))


def _told(
    view: View, walk: Walk, paths: Sequence[tuple[str, ...]], along: I64, places: I64, rows: I64, semantic: F64, i: int
) -> Brought:
    """Return what was led to, with the way there; of pushed mass only the relations are known."""
    row, score, place = int(rows[i]), float(semantic[i]), int(places[i])
    if place < walk.nodes.size:
        return linked(row, score, leads.path_to(view, walk, place))
    said = f"{' -> '.join(paths[along[place - walk.nodes.size]])} from the best hits"
    return Brought(row, score, said, (), contradicts=False)

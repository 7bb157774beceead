"""The last choice where sizes count: what is said, how new it is beside what was chosen, and what still fits.

From ten candidates on, hits are chosen one by one by maximal marginal relevance, among those that fit the rest of the
budget; the fewer have room, the more relevance alone counts. Fewer candidates are taken in order, passing over what
does not fit. What topics brought in then goes below all direct hits: its place says what its score says, at most a
hair less than the least of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from lamina_engine.recall.diversify import head_vectors
from lamina_engine.recall.sizes import token_counts
from lamina_kernels.diversity import fitting_relevance, slotted_lambda

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lamina_engine.index.view import View
    from lamina_engine.recall.brought import Brought
    from lamina_engine.recall.candidates import Candidates
    from lamina_engine.recall.request import Request
    from lamina_kernels.layouts import I64

_MOST: Final = 512
"""Candidates among which variety is looked for; those after them are taken in order."""
_BELOW: Final = 1.0 - 1e-9
_NO_BUDGET: Final = 2**62


class Arranged(Struct, frozen=True):
    """Hits that are kept, best first."""

    kept: list[int]
    """Positions among the candidates."""
    candidates: Candidates
    """With the scores that siblings were lowered to."""
    brought: Mapping[int, Brought]


def arrange(
    view: View, request: Request, candidates: Candidates, order: list[int], brought: Mapping[int, Brought]
) -> Arranged:
    """Return at most k hits that fit the budget together.

    Parameters
    ----------
    order : list of int
        Positions among the candidates, best first.
    brought : mapping of int to Brought
        By position.
    """
    settings, budget = request.profile.diversity, request.token_budget
    sizes = token_counts(view, candidates.rows[order]).astype(np.int64)
    if budget is not None:
        fits = sizes <= budget
        order, sizes = [p for p, fit in zip(order, fits.tolist(), strict=True) if fit], sizes[fits]
    head = order[:_MOST]
    left = _NO_BUDGET if budget is None else budget
    if len(head) < settings.least or settings.mmr >= 1.0:
        chosen = _fitting(sizes, left, request.k)
    else:
        rows = candidates.rows[head]
        vectors = head_vectors(view, rows)
        slots = request.k if budget is None else min(budget / max(float(np.median(sizes)), 1.0), request.k)
        lam = slotted_lambda(settings.mmr, slots, settings.slots)
        flat = np.zeros((len(head), 1), np.float32)
        varied = fitting_relevance(
            candidates.score[head], flat if vectors is None else vectors, sizes[: len(head)], left, lam, request.k
        )
        chosen = varied.tolist()
        rest = _fitting(sizes[len(head) :], left - int(sizes[varied].sum()), request.k - len(chosen))
        chosen += [len(head) + i for i in rest]
    return _siblings_last(candidates, [order[i] for i in chosen], brought)


def _fitting(sizes: I64, budget: int, k: int) -> list[int]:
    """Return at most k positions in order, passing over what does not fit the rest of the budget."""
    kept: list[int] = []
    for position, size in enumerate(sizes.tolist()):
        if len(kept) >= k:
            break
        if size <= budget:
            kept.append(position)
            budget -= size
    return kept


def _siblings_last(candidates: Candidates, kept: list[int], brought: Mapping[int, Brought]) -> Arranged:
    siblings = [position for position in kept if position in brought and brought[position].sibling]
    if not siblings:
        return Arranged(kept, candidates, brought)
    direct = [position for position in kept if position not in siblings]
    score, known = candidates.score.copy(), dict(brought)
    if direct:
        ceiling = float(score[direct].min()) * _BELOW
        for position in siblings:
            if score[position] > ceiling:
                score[position], known[position] = ceiling, replace(known[position], ceiling=ceiling)
    siblings.sort(key=lambda position: -score[position])  # of equals the one chosen first stays first
    return Arranged(direct + siblings, replace(candidates, score=score), known)

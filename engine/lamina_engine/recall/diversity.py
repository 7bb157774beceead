"""Diversity of hits: folded duplicates, maximal marginal relevance, slots in a token budget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
from msgspec.structs import replace

from lamina_engine.chunks.locations import locate
from lamina_engine.index.view import View
from lamina_engine.profiles import Profile
from lamina_engine.recall.candidates import Candidates
from lamina_engine.recall.pack import count_row_tokens
from lamina_kernels.diversity import fitting_relevance, maximal_marginal_relevance, near_duplicates, slotted_lambda
from lamina_kernels.layouts import F32, I64

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lamina_engine.recall.expansion import LinkedHit
    from lamina_engine.recall.request import Request

_REORDERED: Final = 4
"""Times k: depth down to which hits are checked for repeats."""
_ROUNDING: Final = 1e-5
_KEPT_VERSIONS: Final = 16_384
"""Some 2 MB."""
_MOST: Final = 512
"""Candidates that are diversified; later ones are taken in order."""
_BELOW: Final = 1.0 - 1e-9
_LOOKED_AT: Final = 32
"""Candidates whose sources are read at once."""
_NO_BUDGET: Final = 2**62


def diversify(
    view: View, profile: Profile, candidates: Candidates, order: list[int], k: int
) -> tuple[list[int], dict[int, list[str]]]:
    """Fold what repeats an earlier hit, then trade relevance for variety as the profile says."""
    # the second value has, by position, the ids of the hits folded into it
    head, folded, seen = _fold(view, candidates, order, _REORDERED * k)
    rows = candidates.rows[head]
    keep = np.ones(len(head), np.bool_)
    settings = profile.diversity
    varied = settings.mmr < 1.0 and not settings.slots  # with slots the choice is made where sizes are known
    vectors = head_vectors(view, rows) if settings.near_duplicate < 1.0 or varied else None
    if vectors is not None and settings.near_duplicate < 1.0:
        keep = near_duplicates(vectors, np.arange(len(head), dtype=np.int64), settings.near_duplicate)
        names = view.snapshot.values("chunks", "id", rows[~keep])
        for name, i in zip(names, np.flatnonzero(~keep).tolist(), strict=True):
            # the first kept hit before it that is as near as the threshold says
            near = np.flatnonzero(keep[:i])[vectors[:i][keep[:i]] @ vectors[i] >= settings.near_duplicate - _ROUNDING]
            if len(near):
                folded.setdefault(head[near[0]], []).append(str(name))
    chosen = np.flatnonzero(keep)
    if vectors is not None and varied and len(chosen) > 1:
        relevance = candidates.score[np.array(head)[chosen]]
        chosen = chosen[maximal_marginal_relevance(relevance, vectors[chosen], settings.mmr, len(chosen))]
    return [head[i] for i in chosen.tolist()] + order[seen:], folded


def limit_sources(view: View, request: Request, rows: I64, order: list[int]) -> tuple[list[int], int]:
    """Pass over chunks of a file that has its hits; return the rest and the number left out.

    Only what was cut from a document counts: rows of a table, turns of a session and added chunks are each their own. Hits
    are taken from the top, so the first n of k do not depend on k.
    """
    if request.per_source is None:
        return order, 0
    # a budget takes what fits, however far down it stands
    most = len(order) if request.token_budget is not None or request.profile.diversity.slots else request.k
    kept: list[int] = []
    files: dict[str, list[int]] = {}
    passed = 0
    for at in range(0, len(order), _LOOKED_AT):
        part = order[at : at + _LOOKED_AT]
        names = view.snapshot.values("chunks", "source", rows[part])
        starts = view.snapshot.numbers("chunks", "start", rows[part]).tolist()
        for position, name, start in zip(part, names, starts, strict=True):
            if len(kept) == most:
                return kept, passed
            if name is not None and start >= 0:
                row = int(rows[position])
                before = files.setdefault(name, [])
                if len(before) >= request.per_source and _count_of_file(view, before, row) >= request.per_source:
                    passed += 1
                    continue
                before.append(row)
            kept.append(position)
    return kept, passed


def _count_of_file(view: View, before: list[int], row: int) -> int:
    """Count rows of one name that were cut from the file of another: folders share names."""
    records = view.snapshot.records("chunks", np.array([*before, row], np.int64), ("id", "source"))
    *others, mine = locate(view, records)
    return sum(mine is None or other is None or other.path == mine.path for other in others)


def _fold(
    view: View, candidates: Candidates, order: list[int], limit: int
) -> tuple[list[int], dict[int, list[str]], int]:
    """Go down the order until ``limit`` hits of distinct content are found."""
    # returns the first position of each content, the ids folded into it, and the depth reached
    head = order[:limit]
    versions = _versions(view, candidates.rows[head])
    if len(set(versions)) == len(head):  # as a rule nothing repeats
        return head, {}, len(head)
    owner: dict[bytes, int] = {}
    folded: dict[int, list[str]] = {}
    seen = 0
    while len(owner) < limit and seen < len(order):
        part = order[seen : seen + limit]
        seen += len(part)
        rows = candidates.rows[part]
        for position, row, version in zip(part, rows, view.snapshot.values("chunks", "version", rows), strict=True):
            first = owner.setdefault(version, position)
            if first != position:
                folded.setdefault(first, []).append(str(view.snapshot.values("chunks", "id", np.array([row]))[0]))
    return list(owner.values()), folded, seen


def _versions(view: View, rows: I64) -> list[bytes]:
    """Return content hashes of some rows; cached, because many questions share their top rows."""
    kept = view.tables.contents
    found = [kept.get(row) for row in rows.tolist()]
    if None in found:
        new = [place for place, version in enumerate(found) if version is None]
        if len(kept) > _KEPT_VERSIONS:
            kept.clear()
        versions = view.snapshot.values("chunks", "version", rows[new])
        kept.update(zip(rows[new].tolist(), versions, strict=True))
        for place, version in zip(new, versions, strict=True):
            found[place] = version
    return [version for version in found if version is not None]


def head_vectors(view: View, rows: I64) -> F32 | None:
    """Return vectors of some rows, float32 (n, d), zero if missing; None in vaults without any."""
    if not view.vector_rows:
        return None
    out = np.zeros((len(rows), view.vectors.dim), np.float32)
    has = rows < view.vector_rows
    out[has] = view.vectors.gather(rows[has])
    return out


def arrange(
    view: View, request: Request, candidates: Candidates, order: list[int], linked: Mapping[int, LinkedHit]
) -> tuple[list[int], Candidates, Mapping[int, LinkedHit]]:
    """Return at most k hits whose total size fits the budget."""
    settings, budget = request.profile.diversity, request.token_budget
    sizes = count_row_tokens(view, candidates.rows[order]).astype(np.int64)
    if budget is not None:
        fits = sizes <= budget
        order, sizes = [p for p, fit in zip(order, fits.tolist(), strict=True) if fit], sizes[fits]
    head = order[:_MOST]
    left = _NO_BUDGET if budget is None else budget
    if len(head) < settings.least or settings.mmr >= 1.0:
        chosen = _fit_budget(sizes, left, request.k)
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
        rest = _fit_budget(sizes[len(head) :], left - int(sizes[varied].sum()), request.k - len(chosen))
        chosen += [len(head) + i for i in rest]
    return _lower_siblings(candidates, [order[i] for i in chosen], linked)


def _fit_budget(sizes: I64, budget: int, k: int) -> list[int]:
    """Return at most k positions in order, skipping those that exceed the remaining budget."""
    kept: list[int] = []
    for position, size in enumerate(sizes.tolist()):
        if len(kept) >= k:
            break
        if size <= budget:
            kept.append(position)
            budget -= size
    return kept


def _lower_siblings(
    candidates: Candidates, kept: list[int], linked: Mapping[int, LinkedHit]
) -> tuple[list[int], Candidates, Mapping[int, LinkedHit]]:
    """Rank topic siblings below all direct hits, lowering their scores to match."""
    siblings = [position for position in kept if position in linked and linked[position].sibling]
    if not siblings:
        return (kept, candidates, linked)
    direct = [position for position in kept if position not in siblings]
    score, known = candidates.score.copy(), dict(linked)
    if direct:
        ceiling = float(score[direct].min()) * _BELOW
        for position in siblings:
            if score[position] > ceiling:
                score[position], known[position] = ceiling, replace(known[position], ceiling=ceiling)
    siblings.sort(key=lambda position: -score[position])  # of equals the one chosen first stays first
    return (direct + siblings, replace(candidates, score=score), known)

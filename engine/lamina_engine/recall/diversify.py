"""What is done about hits that repeat each other: equal content is folded, near-equal too if asked, then variety."""

from __future__ import annotations

from typing import Final

import numpy as np

from lamina_engine.index.view import View
from lamina_engine.profiles import Profile
from lamina_engine.recall.candidates import Candidates
from lamina_kernels.diversity import maximal_marginal_relevance, near_duplicates
from lamina_kernels.layouts import F32, I64

_REORDERED: Final = 4
"""Times k: how far down hits are looked at for repetition."""
_ROUNDING: Final = 1e-5
_KEPT_VERSIONS: Final = 16_384
"""Some 2 MB."""


def diversify(
    view: View, profile: Profile, candidates: Candidates, order: list[int], k: int
) -> tuple[list[int], dict[int, list[str]]]:
    """Fold what repeats an earlier hit, then trade relevance for variety as the profile says.

    Returns
    -------
    (positions, folded)
        ``folded`` has, by position, the ids of the hits that were folded into it.
    """
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


def _fold(
    view: View, candidates: Candidates, order: list[int], wanted: int
) -> tuple[list[int], dict[int, list[str]], int]:
    """Go down the order until ``wanted`` hits of distinct content are found.

    Returns
    -------
    (positions, folded, seen)
        The first of each content, the ids folded into it, and how far down was looked.
    """
    head = order[:wanted]
    versions = _versions(view, candidates.rows[head])
    if len(set(versions)) == len(head):  # as a rule nothing repeats
        return head, {}, len(head)
    owner: dict[bytes, int] = {}
    folded: dict[int, list[str]] = {}
    seen = 0
    while len(owner) < wanted and seen < len(order):
        part = order[seen : seen + wanted]
        seen += len(part)
        rows = candidates.rows[part]
        for position, row, version in zip(part, rows, view.snapshot.values("chunks", "version", rows), strict=True):
            first = owner.setdefault(version, position)
            if first != position:
                folded.setdefault(first, []).append(str(view.snapshot.values("chunks", "id", np.array([row]))[0]))
    return list(owner.values()), folded, seen


def _versions(view: View, rows: I64) -> list[bytes]:
    """Return the content hash of some rows; remembered, as the heads of many questions share their rows."""
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
    """Return float32 (n, d): vectors of some rows, zero where a row has none; None where the vault has none."""
    if not view.vector_rows:
        return None
    out = np.zeros((len(rows), view.vectors.dim), np.float32)
    has = rows < view.vector_rows
    out[has] = view.vectors.gather(rows[has])
    return out

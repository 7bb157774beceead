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


def diversify(
    view: View, profile: Profile, candidates: Candidates, order: list[int], k: int
) -> tuple[list[int], dict[int, list[str]]]:
    """Fold what repeats an earlier hit, then trade relevance for variety as the profile says.

    Returns
    -------
    (positions, folded)
        ``folded`` has, by position, the ids of the hits that were folded into it.
    """
    head, rest = order[: _REORDERED * k], order[_REORDERED * k :]
    rows = candidates.rows[head]
    versions = view.snapshot.values("chunks", "version", rows)
    keep = np.ones(len(head), np.bool_)
    owner: dict[bytes, int] = {}
    folded: dict[int, list[str]] = {}
    names: dict[int, str] = {}
    for i, version in enumerate(versions):
        if version in owner:
            keep[i] = False
            names[i] = str(view.snapshot.values("chunks", "id", rows[i : i + 1])[0])
            folded.setdefault(head[owner[version]], []).append(names[i])
        else:
            owner[version] = i
    settings = profile.diversity
    vectors = _head_vectors(view, rows) if settings.near_duplicate < 1.0 or settings.mmr < 1.0 else None
    if vectors is not None and settings.near_duplicate < 1.0:
        keep &= near_duplicates(vectors, np.arange(len(head), dtype=np.int64), settings.near_duplicate)
    chosen = np.flatnonzero(keep)
    if vectors is not None and settings.mmr < 1.0 and len(chosen) > 1:
        relevance = candidates.score[np.array(head)[chosen]]
        chosen = chosen[maximal_marginal_relevance(relevance, vectors[chosen], settings.mmr, len(chosen))]
    return [head[i] for i in chosen.tolist()] + rest, folded


def _head_vectors(view: View, rows: I64) -> F32 | None:
    if not view.vector_rows:
        return None
    out = np.zeros((len(rows), view.vectors.dim), np.float32)
    has = rows < view.vector_rows
    out[has] = view.vectors.gather(rows[has])
    return out

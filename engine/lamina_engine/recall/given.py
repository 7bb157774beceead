"""Candidates that the caller brings: ids and distances from another vector store."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from msgspec.structs import replace

from lamina_engine.chunks.identities import find_rows
from lamina_engine.errors import InvalidArgument, describe_value
from lamina_engine.recall.lanes import Lane, Selection

if TYPE_CHECKING:
    from lamina_engine.index.view import View


class Given(NamedTuple):
    """Candidates of the caller that the vault has."""

    lane: Lane
    """Their rows, nearest first, scored by 1 − distance, in [0, 1]."""
    selection: Selection
    """The rows that a recall may find: these, as far as the filters accept them."""
    unknown: tuple[str, ...]
    """Ids that the vault does not have, as given."""


def check_candidates(candidates: object) -> dict[str, float]:
    """Return distances by id, of an id given twice the smaller one."""
    if isinstance(candidates, str | bytes) or not isinstance(candidates, Iterable):
        raise InvalidArgument(f"{describe_value('candidates', candidates)}; give pairs of an id and its distance")
    found: dict[str, float] = {}
    for position, pair in enumerate(candidates):
        try:
            name, distance = pair
            number = math.nan if distance is None else float(distance)
        except (TypeError, ValueError) as error:
            raise InvalidArgument(f"candidates[{position}]={pair!r:.60} is no pair of an id and a distance") from error
        if not isinstance(name, str):
            raise InvalidArgument(f"candidates[{position}] has the id {name!r:.60}, which is not text")
        # no distance is no likeness, as in the system that this comes from
        number = math.inf if math.isnan(number) else number
        found[name] = min(number, found.get(name, math.inf))
    return found


def place_candidates(view: View, selection: Selection, candidates: dict[str, float]) -> Given:
    """Find the rows of candidates and narrow a selection to them."""
    names = list(candidates)
    rows = np.array(find_rows(view, names, missing_ok=True), np.int64)
    likeness = np.clip(1.0 - np.array([candidates[name] for name in names], np.float64), 0.0, 1.0)
    here = rows >= 0
    allowed = here.copy()
    if selection.live is not None:
        allowed[here] = selection.live[rows[here]]
    unknown = tuple(name for name, known in zip(names, here.tolist(), strict=True) if not known)
    rows, likeness = rows[allowed].astype(np.int64), likeness[allowed]
    order = np.lexsort((-rows, -likeness))
    live = np.zeros(view.rows, np.bool_)
    live[rows] = True
    narrow = replace(selection, live=live, count=int(live.sum()), must_is_all=False)
    return Given(Lane(rows[order], likeness[order]), narrow, unknown)

"""What people, and merged requests, said about single chunks: who asked for a review, and when it was given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from lamina_engine.index.state import FORGOTTEN

if TYPE_CHECKING:
    from lamina_engine.index.view import View

REVIEW: Final = "review"
REVIEWED: Final = "reviewed"


@dataclass(frozen=True, slots=True)
class Marks:
    """By row of the chunks log."""

    asked: dict[int, str]
    """Why somebody is to look at it."""
    cleared_us: dict[int, int]
    """When it was last said to be right."""


def marks(view: View) -> Marks:
    """Return what events say of reviews. O(events), and nothing is read where none is a review."""
    asked: dict[int, str] = {}
    cleared: dict[int, int] = {}
    for segment in view.snapshot.segments("events"):
        kind = segment.column("kind")
        names = kind.dictionary.to_pylist()
        wanted = np.array([name in (REVIEW, REVIEWED) for name in names], np.bool_)
        if not wanted.any():
            continue
        offsets = np.flatnonzero(wanted[kind.indices.to_numpy(zero_copy_only=False)])
        facts = (segment.values(name, offsets) for name in ("kind", "row", "reason", "recorded_at"))
        for said, row, reason, recorded_us in zip(*facts, strict=True):
            if said == REVIEWED:
                asked.pop(row, None)
                cleared[row] = recorded_us
            else:
                asked[row] = reason or "a review was asked for"
    status = view.state.status
    return Marks({row: why for row, why in asked.items() if status[row] != FORGOTTEN}, cleared)

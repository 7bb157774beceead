"""The backbone of time: each document to the next one, by created_at, equal ones by id."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from lamina_engine.clock import MISSING_US
from lamina_engine.graph.documents import documents_of
from lamina_engine.graph.log import Draft, Written, sync

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory

ORIGIN: Final = "temporal"
RELATION: Final = "temporal"


def build(memory: Memory) -> Written:
    """Link every dated document to the next; where one went, its neighbours are joined.

    Chunks of one file are one document, and stand for it through one of them. What has no date is on no backbone.

    Raises
    ------
    VaultReadOnly, VaultLocked, OSError
    """
    return sync(memory, backbone(memory.view()), origin=ORIGIN, relations=[RELATION], redacted=True)


def backbone(view: View) -> list[Draft]:
    """Return the links of the backbone: one less than there are dated documents."""
    found = documents_of(view)
    line = sorted(
        (created, name)
        for created, name in zip(found.created_at.tolist(), found.ids, strict=True)
        if created != MISSING_US
    )
    return [Draft(before, after, RELATION) for (_, before), (_, after) in pairwise(line)]

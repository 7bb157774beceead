"""``next`` links: each chunk of a source to the one after it."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from lamina_engine.index.state import ACTIVE
from lamina_engine.links.log import Draft, Written, sync

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory

ORIGIN: Final = "sequence"
RELATION: Final = "next"


def build(memory: Memory) -> Written:
    """Link the chunks of every source in their order; where one went, its neighbours are joined.

    Raises
    ------
    VaultReadOnly, VaultLocked, OSError
    """
    return sync(memory, sequences(memory.view()), origin=ORIGIN, relations=[RELATION], redacted=True)


def sequences(view: View) -> list[Draft]:
    """Return the links of all sequences.

    The sources log says the order of what was ingested. Chunks that say a place in a source and are of no ingested one
    (they came by an import) stand by collection, source and place.
    """
    rows = np.flatnonzero(view.state.status == ACTIVE)
    ordinals = view.snapshot.numbers("chunks", "ordinal", rows)
    rows, ordinals = rows[ordinals >= 0], ordinals[ordinals >= 0]
    names = [str(name) for name in view.snapshot.values("chunks", "id", rows)]
    active = set(names)
    lines = [[name for name in chunks if name in active] for chunks in _present(view)]
    placed = {name for line in lines for name in line}
    others: dict[tuple[str, str], list[tuple[int, str]]] = defaultdict(list)
    sources = view.snapshot.values("chunks", "source", rows)
    collections = view.snapshot.values("chunks", "collection", rows)
    for name, ordinal, source, collection in zip(names, ordinals.tolist(), sources, collections, strict=True):
        if name not in placed and source is not None:
            others[collection, source].append((ordinal, name))
    lines += [[name for _, name in sorted(found)] for found in others.values()]
    return [Draft(before, after, RELATION) for line in lines for before, after in pairwise(line)]


def _present(view: View) -> list[list[str]]:
    """Return the chunk ids of every present source, in order."""
    snapshot, past = view.snapshot, view.as_of_us
    rows = np.arange(snapshot.rows("sources") if past is None else snapshot.watermark("sources", past))
    newest: dict[tuple[str, str], list[str]] = {}
    for record in snapshot.records("sources", rows, ("root", "source", "state", "chunks")):
        newest[record["root"], record["source"]] = record["chunks"] if record["state"] == "present" else []
    return list(newest.values())

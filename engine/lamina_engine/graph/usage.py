"""Usage links: chunks that an agent recalled and then cited in one answer.

Each use is an event of the chunk, and each pair a link of the relation ``usage`` whose count grows by one. Only the caller
reports uses: a recall alone shows what was offered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from lamina_engine import after_fork
from lamina_engine.arguments import ids_of
from lamina_engine.chunks import writing
from lamina_engine.chunks.identities import find_ends
from lamina_engine.errors import InvalidArgument
from lamina_engine.graph import log
from lamina_engine.graph.links import links_of
from lamina_engine.index.claims import USAGE
from lamina_engine.results import Link

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory

EVENT: Final = "use"
"""Kind of the events that say that a chunk was used."""
MAX_CHUNKS: Final = 64
"""Chunks that one answer may name; pairs grow with their square."""


class Use(NamedTuple):
    """Number of uses of a chunk, and the last."""

    times: int
    last_us: int
    """When last, us UTC."""


def record_use(memory: Memory, identities: Sequence[str]) -> list[Link]:
    """Count the use of some chunks, and that they were used together."""
    given = ids_of(identities)
    if not 1 <= len(given) <= MAX_CHUNKS:
        raise InvalidArgument(f"{len(given)} ids were given; name the 1 to {MAX_CHUNKS} chunks that one answer used")
    with memory.write() as (transaction, view):
        ends = dict(sorted(find_ends(view, given).values()))
        names, rows = list(ends), np.array(list(ends.values()), np.int64)
        writing.add_events(transaction, EVENT, names, rows, transaction.stamps(len(rows)))
        log.count(memory, transaction, view, combinations(names, 2), origin=USAGE, relation=USAGE)
    log.sync_index(memory)
    after = memory.view()
    return [
        link
        for name in names[:-1]
        for link in sorted(links_of(after, name, relations=[USAGE], hidden=True), key=lambda link: link.target)
        if link.source == name and link.target in ends
    ]


# ---------------------------------------------------------------------- reading

_lock = after_fork.make_lock()
_KNOWN: Final = "graph.uses"
"""Key of the uses by chunk as last read, with how many rows of the events log that was."""


def uses(view: View) -> Mapping[str, Use]:
    """Return the uses of each used chunk by id, as of the view's moment.

    O(new events) for the newest version, O(events) for a moment of the past.
    """
    with _lock:
        rows, former = view.tables.peek_cached(_KNOWN) or (0, {})
        events = view.state.events
        if rows > events:
            return _read(view, 0, {})
        found = _read(view, rows, former) if rows < events else former
        if view.as_of_us is None:
            view.tables.put_cached(_KNOWN, (events, found))
        return found


def _read(view: View, start: int, former: Mapping[str, Use]) -> dict[str, Use]:
    found = dict(former)
    rows = view.snapshot.rows_with("events", "kind", (EVENT,), start)
    rows = rows[rows < view.state.events]
    stamps = view.snapshot.numbers("events", "recorded_at", rows).tolist()
    for chunk, stamp in zip(view.snapshot.values("events", "chunk", rows), stamps, strict=True):
        known = found.get(chunk)
        found[chunk] = Use(1 if known is None else known.times + 1, stamp)
    return found

"""Order links: `next` within a source, and the temporal backbone between documents."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from lamina_engine.chunks.handoffs import is_derived
from lamina_engine.clock import MISSING_US
from lamina_engine.graph import sessions
from lamina_engine.graph.documents import documents_of
from lamina_engine.graph.log import Draft, LinkCounts, sync
from lamina_engine.graph.sessions import is_session_chunk
from lamina_engine.index.state import ACTIVE

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory
    from lamina_kernels.layouts import I64

ORIGIN: Final = "sequence"
RELATION: Final = "next"
GAP_US: Final = 30 * 60 * 1_000_000
"""A longer pause than half an hour ends what belongs together, as in ingested sessions."""


def build(memory: Memory) -> LinkCounts:
    """Link the chunks of every source in their order; where one went, its neighbours are joined.

    Sessions have rules of their own; see `lamina_engine.graph.sessions`.
    """
    written = sync(memory, sequences(memory.view()), origin=ORIGIN, relations=[RELATION], redacted=True)
    written.add(sessions.build(memory))
    return written


def sequences(view: View) -> list[Draft]:
    """Return the links of all sequences; chunks of ingested sessions are left out.

    The sources log has the order of ingested sources. Chunks with a place in a source that was not ingested here (they came
    by an import) are ordered by collection, source and place; chunks added with a session by session, agent and date.
    """
    rows = np.flatnonzero(view.state.status == ACTIVE)
    rows = rows[~is_session_chunk(view, rows) & ~is_derived(view, rows)]
    told = list(_session_runs(view, rows))
    ordinals = view.snapshot.numbers("chunks", "ordinal", rows)
    rows, ordinals = rows[ordinals >= 0], ordinals[ordinals >= 0]
    names = [str(name) for name in view.snapshot.values("chunks", "id", rows)]
    active = set(names)
    lines = [[name for name in chunks if name in active] for chunks in _chunks_of_sources(view)]
    placed = {name for line in lines for name in line}
    others: dict[tuple[str, str], list[tuple[int, str]]] = defaultdict(list)
    sources = view.snapshot.values("chunks", "source", rows)
    collections = view.snapshot.values("chunks", "collection", rows)
    for name, ordinal, source, collection in zip(names, ordinals.tolist(), sources, collections, strict=True):
        if name not in placed and source is not None:
            others[collection, source].append((ordinal, name))
    lines += [[name for _, name in sorted(found)] for found in others.values()]
    return [Draft(before, after, RELATION) for line in (*lines, *told) for before, after in pairwise(line)]


def _session_runs(view: View, rows: I64) -> Iterator[list[str]]:
    """Yield runs of chunks added by one agent in one session, by date, split by `GAP_US`."""
    session, agent = (view.categories.gather(view.snapshot, name, rows) for name in ("session", "agent"))
    some = np.flatnonzero((session >= 0) & (view.snapshot.numbers("chunks", "ordinal", rows) < 0))
    rows, session, agent = rows[some], session[some], agent[some]
    created = view.created_us[rows]
    order = np.lexsort((rows, created, agent, session))
    rows, session, agent, created = rows[order], session[order], agent[order], created[order]
    new = (np.diff(session) != 0) | (np.diff(agent) != 0) | (np.diff(created.astype(np.float64)) > GAP_US)
    for run in np.split(rows, np.flatnonzero(new) + 1):
        if len(run) > 1:
            yield [str(name) for name in view.snapshot.values("chunks", "id", run)]


def _chunks_of_sources(view: View) -> list[list[str]]:
    """Return the chunk ids of every present source, in order."""
    snapshot, past = view.snapshot, view.as_of_us
    rows = np.arange(snapshot.rows("sources") if past is None else snapshot.watermark("sources", past))
    newest: dict[tuple[str, str], list[str]] = {}
    for record in snapshot.records("sources", rows, ("root", "source", "state", "chunks")):
        newest[record["root"], record["source"]] = record["chunks"] if record["state"] == "present" else []
    return list(newest.values())


TEMPORAL_ORIGIN: Final = "temporal"
TEMPORAL_RELATION: Final = "temporal"


def build_temporal(memory: Memory) -> LinkCounts:
    """Link every dated document to the next; where one went, its neighbours are joined.

    Chunks of one file are one document, and stand for it through one of them. What has no date is on no backbone.
    """
    return sync(memory, backbone(memory.view()), origin=TEMPORAL_ORIGIN, relations=[TEMPORAL_RELATION], redacted=True)


def backbone(view: View) -> list[Draft]:
    """Return the links of the backbone: one less than there are dated documents."""
    found = documents_of(view)
    line = sorted(
        (created, name)
        for created, name in zip(found.created_at.tolist(), found.ids, strict=True)
        if created != MISSING_US
    )
    return [Draft(before, after, TEMPORAL_RELATION) for (_, before), (_, after) in pairwise(line)]

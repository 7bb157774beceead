"""Order links: `next` within a source, and the temporal backbone between documents."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from lamina_engine.chunks.handoffs import is_derived
from lamina_engine.clock import MISSING_US
from lamina_engine.graph import sessions
from lamina_engine.graph.documents import documents_of, present_sources
from lamina_engine.graph.log import Draft, LinkCounts, sync
from lamina_engine.graph.sessions import is_session_chunk
from lamina_engine.graph.steps import LEAST, Pages, find_step, likeness_weight, pause_weight
from lamina_engine.index.state import ACTIVE

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory
    from lamina_kernels.layouts import I64

ORIGIN: Final = "sequence"
RELATION: Final = "next"


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
    steps = list(_session_drafts(view, rows))
    ordinals = view.snapshot.numbers("chunks", "ordinal", rows)
    rows, ordinals = rows[ordinals >= 0], ordinals[ordinals >= 0]
    names = [str(name) for name in view.snapshot.values("chunks", "id", rows)]
    active = set(names)
    ingested = present_sources(view, "chunks").values()
    lines = [[name for name in source["chunks"] if name in active] for source in ingested]
    placed = {name for line in lines for name in line}
    others: dict[tuple[str, str], list[tuple[int, str]]] = defaultdict(list)
    sources = view.snapshot.values("chunks", "source", rows)
    collections = view.snapshot.values("chunks", "collection", rows)
    for name, ordinal, source, collection in zip(names, ordinals.tolist(), sources, collections, strict=True):
        if name not in placed and source is not None:
            others[collection, source].append((ordinal, name))
    lines += [[name for _, name in sorted(found)] for found in others.values()]
    return [*(Draft(before, after, RELATION) for line in lines for before, after in pairwise(line)), *steps]


def _session_drafts(view: View, rows: I64) -> Iterator[Draft]:
    """Yield the steps of added chunks within a session and agent, and across sessions."""
    session, agent = (view.categories.gather(view.snapshot, name, rows) for name in ("session", "agent"))
    some = np.flatnonzero((session >= 0) & (view.snapshot.numbers("chunks", "ordinal", rows) < 0))
    rows, session, agent = rows[some], session[some], agent[some]
    created = view.created_us[rows]
    order = np.lexsort((rows, created, agent, session))
    rows, session, agent = rows[order], session[order], agent[order]
    new = (np.diff(session) != 0) | (np.diff(agent) != 0)
    runs = [run for run in np.split(rows, np.flatnonzero(new) + 1) if len(run)]
    pages = Pages(view)
    for run in runs:
        yield from _steps_within(view, run, pages)
    yield from _steps_across(view, runs, pages)


def _steps_within(view: View, run: I64, pages: Pages) -> Iterator[Draft]:
    names = [str(name) for name in view.snapshot.values("chunks", "id", run)]
    pauses = np.diff(view.created_us[run].astype(np.float64)).tolist()
    for number, pause_us in enumerate(pauses, 1):
        weight = pause_weight(pause_us)
        if weight < LEAST:
            weight = likeness_weight(pages.tail(run[:number]), pages.head(run[number:]))
        if weight >= LEAST:
            yield Draft(names[number - 1], names[number], RELATION, weight)


def _steps_across(view: View, runs: Sequence[I64], pages: Pages) -> Iterator[Draft]:
    firsts = np.array([run[0] for run in runs], np.int64)
    projects = view.categories.gather(view.snapshot, "project", firsts).tolist()
    lines: dict[int, list[I64]] = defaultdict(list)
    for number in np.lexsort((firsts, view.created_us[firsts])).tolist():
        if projects[number] >= 0:
            lines[projects[number]].append(runs[number])
    for line in lines.values():
        for after, run in enumerate(line):
            step = find_step(after, pages.head(run), lambda n, line=line: pages.tail(line[n]))  # type: ignore[misc]
            if step is not None:
                ends = view.snapshot.values("chunks", "id", np.array([line[step.before][-1], run[0]]))
                yield Draft(str(ends[0]), str(ends[1]), RELATION, step.weight)


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

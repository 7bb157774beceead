"""Handoffs and insights of sessions: derived ones, and those written in their place."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Final

import numpy as np

from lamina_engine.index.state import ACTIVE

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory
    from lamina_kernels.layouts import BOOL, I64

HANDOFF: Final = "agent_handoff"
INSIGHT: Final = "agent_insight"
HANDOFFS: Final = (HANDOFF, "handoff")
"""Types of chunks that hand a session's work on."""
ECHO: Final = "\nThe agent then said: "
"""In an insight, before the reply that names the thing and repeats its new value."""
DERIVED: Final = "derived"
"""Role of chunks that sum up others of their session: they stand a little below what they are made of."""
_SAME: Final = {HANDOFF: HANDOFF, "handoff": HANDOFF, INSIGHT: INSIGHT}
"""By the types that people and agents write, the derived type whose place they take."""
WRITTEN: Final = frozenset(_SAME)
_REASON: Final = "one that was written for its session took its place"


def is_derived(view: View, rows: I64) -> BOOL:
    """Return bool for some rows: whether each was derived from a transcript."""
    roles = view.categories.gather(view.snapshot, "role", rows)
    derived: BOOL = roles == view.categories.code("role", DERIVED)
    return derived


def find_written(view: View) -> set[tuple[str, str]]:
    """Return the pairs of derived type and session whose place a written chunk has."""
    table, snapshot = view.categories, view.snapshot
    types = table.column(snapshot, "type")[: view.rows]  # first: it reads the names
    codes = {table.code("type", name): same for name, same in _SAME.items()}
    rows = np.flatnonzero(view.state.active() & np.isin(types, list(codes)))
    rows = rows[table.gather(snapshot, "session", rows) >= 0]
    if not len(rows):
        return set()
    rows = rows[~is_derived(view, rows)]
    sessions = table.gather(snapshot, "session", rows).tolist()
    kinds = table.gather(snapshot, "type", rows).tolist()
    return {(codes[kind], str(table.value("session", code))) for kind, code in zip(kinds, sessions, strict=True)}


def yield_to_written(memory: Memory, types: Collection[str | None], sessions: Collection[str | None]) -> None:
    """Remove what was derived from sessions for which chunks of these types were just written."""
    if not any(type_ in _SAME for type_ in types) or not any(sessions):
        return
    with memory.write() as (transaction, view):
        table, snapshot = view.categories, view.snapshot
        taken = find_written(view)
        table.column(snapshot, "session")
        codes = [table.code("session", name) for name in sessions if name]
        rows = np.flatnonzero(
            (view.state.status == ACTIVE) & np.isin(table.column(snapshot, "session")[: view.rows], codes)
        )
        rows = rows[is_derived(view, rows)]
        names = zip(
            table.gather(snapshot, "type", rows).tolist(), table.gather(snapshot, "session", rows).tolist(), strict=True
        )
        kept = [(table.value("type", kind), table.value("session", code)) in taken for kind, code in names]
        rows = rows[np.array(kept, np.bool_)] if len(rows) else rows
        if len(rows):
            ids = snapshot.values("chunks", "id", rows)
            from lamina_engine.chunks.writing import add_events  # whoever only reads needs no writing

            add_events(transaction, "remove", ids, rows, transaction.stamps(len(rows)), [_REASON] * len(rows))

"""Which chunk comes before which: chunks of one session, in the order they were written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from lamina_engine.chunks.batch import ChunkBatch
from lamina_engine.index.state import ACTIVE

if TYPE_CHECKING:
    from lamina_engine.index.view import View

Key = tuple[str | None, str]
"""Project and session."""


def previous_rows(view: View, batch: ChunkBatch, first: int, older: Mapping[int, int] | None = None) -> list[int]:
    """Return for each chunk of a batch the row of the chunk before it, -1 for none.

    Parameters
    ----------
    view : View
        The vault as it is.
    batch : ChunkBatch
        Chunks in the order in which they get rows. Where ``after`` names the chunk before each, that is followed; else
        the chunks of a session follow each other.
    first : int
        Row of the first of them.
    older : mapping, optional
        By position, the row that a chunk supersedes: it takes that row's place in its session, not one at the end.
    """
    older = older or {}
    if batch.after is not None:
        return _declared(view, batch, batch.after, first)
    keys = [
        None if session is None else (project, session)
        for project, session in zip(batch.projects, batch.sessions, strict=True)
    ]
    last = _last_rows(view, {key for key in keys if key is not None})
    previous = []
    for i, key in enumerate(keys):
        old = older.get(i)
        if key is None:
            previous.append(-1)
        elif old is None or key != (keys[old - first] if old >= first else _key_of(view, old)):
            previous.append(last.get(key, -1))
            last[key] = first + i
        else:
            previous.append(previous[old - first] if old >= first else _previous_of(view, old))
            if last.get(key) == old:
                last[key] = first + i
    return previous


def _key_of(view: View, row: int) -> Key | None:
    at = np.array([row], np.int64)
    session, project = (view.snapshot.values("chunks", name, at)[0] for name in ("session", "project"))
    return None if session is None else (project, session)


def _previous_of(view: View, row: int) -> int:
    return int(view.snapshot.numbers("chunks", "previous", np.array([row], np.int64))[0])


def _declared(view: View, batch: ChunkBatch, after: list[str | None], first: int) -> list[int]:
    """Rows of the chunks that a source's reader says come before: in this batch, or already in the vault."""
    here = {str(identity): first + i for i, identity in enumerate(batch.ids)}
    outside = [identity for identity in after if identity is not None and identity not in here]
    known = dict(zip(outside, view.rows_of_ids(outside).tolist(), strict=True)) if outside else {}
    places: dict[str, int] = {**known, **here}
    found = [-1 if identity is None else places.get(identity, -1) for identity in after]
    # a chunk's words may depend on chunks before it, never on later ones
    return [row if row < first + i else -1 for i, row in enumerate(found)]


def _last_rows(view: View, keys: set[Key]) -> dict[Key, int]:
    """Return the newest active row of each session that the vault has already. O(rows) for all keys together."""
    if not keys or not view.rows:
        return {}
    categories, snapshot = view.categories, view.snapshot
    sessions = categories.column(snapshot, "session")
    wanted = {categories.code("session", name) for _, name in keys} - {-2}
    if not wanted:
        return {}
    table = np.zeros(len(categories.values("session")) + 1, np.bool_)
    table[list(wanted)] = True
    rows = np.flatnonzero(table[sessions] & (view.state.status == ACTIVE))
    projects = categories.gather(snapshot, "project", rows).astype(np.int64)
    pairs = ((projects + 1) << 32) | sessions[rows]
    # the last occurrence of each pair: unique gives first ones, so look from the end
    distinct, position = np.unique(pairs[::-1], return_index=True)
    found = {
        (
            categories.value("project", int(pair >> 32) - 1),
            str(categories.value("session", int(pair & 0xFFFFFFFF))),
        ): int(row)
        for pair, row in zip(distinct.tolist(), rows[::-1][position].tolist(), strict=True)
    }
    return {key: row for key, row in found.items() if key in keys}

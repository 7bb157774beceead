"""Which chunk comes before which: chunks of one session, or of one source, in the order they were written."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lamina_engine.chunks.batch import ChunkBatch
from lamina_engine.index.state import ACTIVE

if TYPE_CHECKING:
    from lamina_engine.index.view import View

Key = tuple[str, str | None, str]


def previous_rows(view: View, batch: ChunkBatch, first: int) -> list[int]:
    """Return for each chunk of a batch the row of the chunk before it, -1 for none.

    Parameters
    ----------
    view : View
        The vault as it is.
    batch : ChunkBatch
        Chunks in the order in which they get rows.
    first : int
        Row of the first of them.
    """
    keys = [_key(batch, i) for i in range(len(batch))]
    if batch.after is not None:
        return _declared(view, batch, first)
    last = _last_rows(view, {key for key in keys if key is not None})
    previous = []
    for i, key in enumerate(keys):
        previous.append(-1 if key is None else last.get(key, -1))
        if key is not None:
            last[key] = first + i
    return previous


def _key(batch: ChunkBatch, i: int) -> Key | None:
    if batch.sessions[i] is not None:
        return "session", batch.projects[i], str(batch.sessions[i])
    if batch.sources[i] is not None:
        return "source", batch.projects[i], str(batch.sources[i])
    return None


def _declared(view: View, batch: ChunkBatch, first: int) -> list[int]:
    """Rows of the chunks that a source's reader says come before: in this batch, or already in the vault."""
    after = batch.after or []
    here = {str(identity): first + i for i, identity in enumerate(batch.ids)}
    outside = [identity for identity in after if identity is not None and identity not in here]
    known = dict(zip(outside, view.rows_of_ids(outside).tolist(), strict=True)) if outside else {}
    return [-1 if identity is None else here.get(identity, known.get(identity, -1)) for identity in after]


def _last_rows(view: View, keys: set[Key]) -> dict[Key, int]:
    """Return the newest active row of each session or source that the vault has already."""
    found: dict[Key, int] = {}
    for column in ("session", "source"):
        wanted = {key[2] for key in keys if key[0] == column}
        if not wanted or not view.rows:
            continue
        rows = _candidates(view, column, wanted)
        rows = rows[view.state.status[rows] == ACTIVE]
        projects = view.categories.gather(view.snapshot, "project", rows)
        names = view.snapshot.values("chunks", column, rows)
        for row, code, name in zip(rows.tolist(), projects.tolist(), names, strict=True):
            key = (column, view.categories.value("project", code), name)
            if key in keys:
                found[key] = row  # rows ascend: the last one stays
    return found


def _candidates(view: View, column: str, wanted: set[str]) -> NDArray[np.int64]:
    """Rows whose session or source is wanted, ascending; when few are wanted only the newest of each."""
    if column == "session":
        codes = view.categories.column(view.snapshot, column)
        table = np.zeros(len(view.categories.values(column)) + 1, np.bool_)
        table[[view.categories.code(column, name) for name in wanted if view.categories.code(column, name) >= 0]] = True
        rows = np.flatnonzero(table[codes])
    else:
        import pyarrow as pa
        import pyarrow.compute as pc

        wanted_array = pa.array(sorted(wanted), pa.string())
        rows = np.flatnonzero(
            view.snapshot.column(
                "chunks", column, convert=lambda s: pc.is_in(s.column(column), value_set=wanted_array).to_numpy(zero_copy_only=False)
            )
        )
    return rows.astype(np.int64)

"""Neighbours of a chunk without links: in time, and by vector."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lamina_engine.arguments import whole_of
from lamina_engine.chunks.identities import find_row
from lamina_engine.chunks.reading import chunks_at, with_texts
from lamina_engine.clock import MISSING_US
from lamina_engine.errors import InvalidArgument
from lamina_engine.index.state import ACTIVE, INVALIDATED
from lamina_engine.results import Neighbor, Timeline

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lamina_engine.index.view import View

_MOST = 1_000


def timeline(view: View, identity: str, *, before: int = 5, after: int = 5, same_collection: bool = False) -> Timeline:
    """Return the chunks just before and just after one, by created_at, then id.

    O(chunks). Chunks without a date are on no timeline.
    """
    for name, count in (("before", before), ("after", after)):
        whole_of(count, name, 0, _MOST)
    row = find_row(view, identity)
    rows = np.arange(view.rows)
    created = view.snapshot.column("chunks", "created_at", convert=lambda s: s.numbers("created_at", MISSING_US))
    created = created[: view.rows].astype(np.int64)
    moment = int(created[row])
    wanted = (view.state.status == ACTIVE) & (created != MISSING_US)
    wanted[row] = moment != MISSING_US and view.state.status[row] in (ACTIVE, INVALIDATED)
    if not wanted[row]:
        raise InvalidArgument(f"{identity!r} has no date, or was removed: it is on no timeline")
    if same_collection:
        codes = view.categories.column(view.snapshot, "collection")[: view.rows]
        wanted &= codes == codes[row]
    rows = rows[wanted]
    times = created[rows]
    near = np.union1d(_nearest(rows, times, moment, before, -1), _nearest(rows, times, moment, after, 1))
    chunks = sorted(chunks_at(view, near.astype(np.int64)), key=lambda chunk: (chunk.created_at_us or 0, chunk.id))
    at = next(i for i, chunk in enumerate(chunks) if chunk.row == row)
    return Timeline(
        tuple(chunks[max(0, at - before) : at]), chunks[at], tuple(chunks[at + 1 : at + 1 + after]), len(rows)
    )


def _nearest(rows: NDArray[np.int64], times: NDArray[np.int64], moment: int, count: int, way: int) -> NDArray[np.int64]:
    """Return rows on one side, and all at the moment itself: enough to cut by id later."""
    side = (times - moment) * way
    ahead = np.flatnonzero(side >= 0)
    later = np.sort(side[ahead][side[ahead] > 0])
    cut = later[min(count, len(later)) - 1] if count and len(later) else 0
    return rows[ahead[side[ahead] <= cut]]


def similar(view: View, identity: str, *, k: int = 5) -> list[Neighbor]:
    """Return the chunks nearest by cosine, best first; of equal ones the newer first.

    Exact. O(chunks · d).
    """
    whole_of(k, "k", 1, _MOST)
    row = find_row(view, identity)
    stop = view.vector_rows
    if row >= stop or not view.vectors.present(np.array([row])).any():
        raise InvalidArgument(f"{identity!r} has no vector: this vault, or this chunk, is searched by words alone")
    mask = view.state.status[:stop] == ACTIVE
    mask[row] = False
    query = view.vectors.gather(np.array([row]))[0]
    # ties at the cut are settled by date and id, so more are asked for
    found = view.vectors.scan(query, min(k + 64, stop), stop=stop, mask=mask)
    names = view.snapshot.values("chunks", "id", found.rows)
    created = view.snapshot.numbers("chunks", "created_at", found.rows, MISSING_US).tolist()
    order = sorted(zip((-found.scores).tolist(), (-made for made in created), names, strict=True))
    return with_texts(view, [Neighbor(str(name), -score) for score, _, name in order[:k]])

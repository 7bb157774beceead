"""Documents of a view: the chunks of one source, and their representative."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lamina_engine.clock import MISSING_US
from lamina_engine.index.state import ACTIVE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lamina_engine.index.view import View


class Documents(NamedTuple):
    """Active chunks by the document that they are part of; m chunks, n documents.

    Attributes
    ----------
    rows : int64 (m,)
        Ascending.
    documents : int64 (m,)
        The document of each.
    ids : list of str (n,)
        Id of each document's representative: its active chunk with the least ordinal, then the least id.
    created_at : int64 (n,)
        us UTC, of the representative; `lamina_engine.clock.MISSING_US` unknown.
    """

    rows: NDArray[np.int64]
    documents: NDArray[np.int64]
    ids: list[str]
    created_at: NDArray[np.int64]


def documents_of(view: View) -> Documents:
    """Return the documents of a view; a chunk without a place in a source is one itself."""
    rows = np.flatnonzero(view.state.status == ACTIVE)
    names = view.snapshot.values("chunks", "id", rows)
    sources = view.snapshot.values("chunks", "source", rows)
    collections = view.snapshot.values("chunks", "collection", rows)
    ordinals = view.snapshot.numbers("chunks", "ordinal", rows).tolist()
    created = view.snapshot.numbers("chunks", "created_at", rows, MISSING_US).astype(np.int64)
    places: dict[tuple[str | None, ...], int] = {}
    best: list[tuple[int, str, int]] = []
    documents = np.empty(len(rows), np.int64)
    for i, (name, source, collection, ordinal) in enumerate(zip(names, sources, collections, ordinals, strict=True)):
        alone = source is None or ordinal < 0
        key = (name,) if alone else (collection, source)
        place = places.setdefault(key, len(best))
        documents[i] = place
        if place == len(best):
            best.append((ordinal, name, i))
        else:
            best[place] = min(best[place], (ordinal, name, i))
    chosen = np.array([i for _, _, i in best], np.int64)
    return Documents(rows, documents, [name for _, name, _ in best], created[chosen])

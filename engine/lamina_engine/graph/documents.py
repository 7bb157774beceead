"""Documents of a view: the chunks of one source, and their representative."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

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
    names : list of str (m,)
        Their ids.
    documents : int64 (m,)
        The document of each; documents are numbered as they appear.
    ids : list of str (n,)
        Id of each document's representative: its active chunk with the least ordinal, then the least id.
    created_at : int64 (n,)
        us UTC, of the representative; `lamina_engine.clock.MISSING_US` unknown.
    """

    rows: NDArray[np.int64]
    names: list[str]
    documents: NDArray[np.int64]
    ids: list[str]
    created_at: NDArray[np.int64]


def present_sources(view: View, *names: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Return columns of the newest record of every present source, by root and path."""
    rows = np.arange(view.snapshot.watermark("sources", view.as_of_us))
    records = view.snapshot.records("sources", rows, ("root", "source", "state", *names))
    newest = {(record["root"], record["source"]): record for record in records}
    return {key: record for key, record in newest.items() if record["state"] == "present"}


def documents_of(view: View) -> Documents:
    """Return the documents of a view; a chunk without a place in a source is one itself."""
    rows = np.flatnonzero(view.state.status == ACTIVE)
    names = view.snapshot.values("chunks", "id", rows)
    ordinals = view.snapshot.numbers("chunks", "ordinal", rows)
    created = view.snapshot.numbers("chunks", "created_at", rows, MISSING_US).astype(np.int64)
    begins = np.arange(len(rows))  # of each chunk, the first one of its document
    best: dict[int, tuple[int, str, int]] = {}
    first: dict[tuple[str, str], int] = {}
    placed = np.flatnonzero(ordinals >= 0)
    sources, collections = (view.snapshot.values("chunks", name, rows[placed]) for name in ("source", "collection"))
    for i, source, collection in zip(placed.tolist(), sources, collections, strict=True):
        if source is not None:
            begin = begins[i] = first.setdefault((collection, source), i)
            rank = int(ordinals[i]), names[i], i
            best[begin] = min(best.get(begin, rank), rank)
    starts, documents = np.unique(begins, return_inverse=True)
    chosen = starts.copy()
    chosen[np.searchsorted(starts, list(best))] = [i for _, _, i in best.values()]
    return Documents(rows, names, documents, [names[i] for i in chosen], created[chosen])

"""Batch resolution of the ids that callers give."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lamina_engine.arguments import ids_of
from lamina_engine.chunks.reading import find_row
from lamina_engine.index.state import FORGOTTEN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lamina_engine.index.view import View


def find_ends(view: View, identities: Iterable[Any]) -> dict[str, tuple[str, int]]:
    """Return the full id and the current row of each id, by the id as it was given.

    Raises
    ------
    InvalidArgument
        When one is no text.
    ChunkNotFound, AmbiguousId
        As `lamina_engine.chunks.reading.find_row` raises them.
    """
    distinct = list(dict.fromkeys(ids_of(identities)))
    rows = view.rows_of_ids(distinct)
    found: dict[str, tuple[str, int]] = {}
    for name, row in zip(distinct, rows.tolist(), strict=True):
        if row < 0 or view.state.status[row] == FORGOTTEN:
            other = find_row(view, name)  # a short id, or an error that says what is wrong
            found[name] = (str(view.snapshot.values("chunks", "id", np.array([other]))[0]), other)
        else:
            found[name] = (name, row)
    return found

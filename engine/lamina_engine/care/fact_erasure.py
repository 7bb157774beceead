"""What has to be written anew in the logs of facts, so that nothing of some chunks is left in them.

A fact goes with the chunk that says so, and with it what became of it. What it ended stands again, as if it had never been
said. An entity goes where such a chunk named it first and no other fact speaks of it; its other names go with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

if TYPE_CHECKING:
    from lamina_engine.store.segments import Segment
    from lamina_engine.store.snapshot import Snapshot

_BLANK_FACT: Final[dict[str, Any]] = {
    "kind": "", "amends": -1, "subject": -1, "predicate": "", "target": -1, "source": "", "confidence": 0.0, "weight": 0.0,
    "origin": "",
}  # fmt: skip
_BLANK_ENTITY: Final[dict[str, Any]] = {
    "kind": "", "entity": -1, "into": -1, "id": "", "name": "", "type": "", "origin": "",
}  # fmt: skip
_BLANK_ALIAS: Final[dict[str, Any]] = {"alias": "", "entity": -1, "active": False, "origin": ""}
_CATEGORIES: Final[Mapping[str, tuple[str, ...]]] = {
    "facts": ("predicate", "category", "origin"),
    "entities": ("type", "origin"),
}


class FactErasure:
    """Facts, entities and aliases of some chunks, on their way out.

    Parameters
    ----------
    snapshot : Snapshot
        The newest version.
    chunks : collection of str
        Ids of the chunks.
    """

    def __init__(self, snapshot: Snapshot, chunks: Mapping[str, str]) -> None:
        self._snapshot, self._chunks = snapshot, chunks

    @cached_property
    def facts(self) -> NDArray[np.bool_]:
        """True for rows of the facts log that go: said by one of the chunks, or about what one of them said."""
        gone = self._named("facts")
        if gone.any():
            amends = self._snapshot.column("facts", "amends")
            gone |= (amends >= 0) & gone[amends]
        return gone

    @cached_property
    def named(self) -> NDArray[np.bool_]:
        """True for rows of the entities log that one of the chunks named first."""
        return self._named("entities")

    @cached_property
    def entities(self) -> NDArray[np.bool_]:
        """True for those of them that nothing else speaks of, and for what says into what they were merged."""
        gone = self.named.copy()
        if gone.any():
            kept = ~self.facts
            for column in ("subject", "target"):
                rows = self._snapshot.column("facts", column)[kept]
                gone[rows[rows >= 0]] = False
            into, entity = (self._snapshot.column("entities", name) for name in ("into", "entity"))
            gone[into[(into >= 0) & ~gone[entity]]] = False  # what another has become stays
            gone |= (entity >= 0) & gone[entity]
        return gone

    @cached_property
    def aliases(self) -> NDArray[np.bool_]:
        """True for rows of the aliases log about entities that go."""
        entity = self._snapshot.column("aliases", "entity")
        return (entity >= 0) & self.entities[entity] if len(entity) else np.zeros(0, np.bool_)

    def _named(self, log: str) -> NDArray[np.bool_]:
        found = np.zeros(self._snapshot.rows(log), np.bool_)
        for segment in self._snapshot.segments(log):
            named = segment.column("chunk").to_pylist()
            found[segment.start : segment.start + segment.rows] = [name in self._chunks for name in named]
        return found

    def changes(self, log: str) -> Iterator[tuple[Segment, NDArray[np.int64], dict[str, list[Any]], int]]:
        """Yield (segment, offsets, new values, rows that go) of the segments to write anew.

        Also of those whose dictionaries list what only they had: pieces of one batch share theirs.
        """
        gone, touched = self._rows(log)
        if not touched.any():
            return
        names = {
            field: set(self._snapshot.values(log, field, np.flatnonzero(gone))) - {None}
            for field in _CATEGORIES.get(log, ())
        }
        for segment in self._snapshot.segments(log):
            span = slice(segment.start, segment.start + segment.rows)
            offsets = np.flatnonzero(touched[span])
            if len(offsets) or _lists(segment, names):
                yield segment, offsets, self._values(log, segment, offsets, gone[span][offsets]), int(gone[span].sum())

    def _rows(self, log: str) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return the rows that go, and those that change."""
        if log == "facts":
            return self.facts, self.facts
        if log == "aliases":
            return self.aliases, self.aliases
        return self.entities, self.entities | self.named

    def _values(
        self, log: str, segment: Segment, offsets: NDArray[np.int64], gone: NDArray[np.bool_]
    ) -> dict[str, list[Any]]:
        if log != "entities":
            blank = _BLANK_FACT if log == "facts" else _BLANK_ALIAS
            return {name: [value] * len(offsets) for name, value in blank.items()}
        return {
            name: [
                value if goes else old for old, goes in zip(segment.values(name, offsets), gone.tolist(), strict=True)
            ]
            for name, value in _BLANK_ENTITY.items()
        }  # the chunk's id, which is not among them, goes from all


def _lists(segment: Segment, names: Mapping[str, set[str]]) -> bool:
    """Tell whether a dictionary of a segment lists one of some names."""
    for field, wanted in names.items():
        column = segment.column(field)
        if pa.types.is_dictionary(column.type) and not wanted.isdisjoint(column.dictionary.to_pylist()):
            return True
    return False

"""Locations: the file of each chunk, and its lines there as of the last ingest.

A chunk's own row says what its file was called; where that lay, and on which lines the chunk stands now, is said by the
newest row of the sources log that lists the chunk: text inserted above moves lines without writing chunks anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from lamina_engine import columns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lamina_engine.index.view import View
    from lamina_engine.store.segments import Segment


class Location(NamedTuple):
    """File and lines of a chunk."""

    path: str
    """Absolute, with ``/``."""
    line: int | None = None
    """First line with text of the chunk, from 1; None where the file has no lines or is gone."""
    end_line: int | None = None
    """Last line with text of it."""


_MANY: Final = 32
"""Chunks from which on each row of the sources log is decoded once, instead of searched for each chunk."""


def locate(view: View, records: Sequence[Mapping[str, Any]]) -> list[Location | None]:
    """Return the location of each chunk, given its id and source; None for what no file holds."""
    rows = _SourceRows(view)
    if len(records) <= _MANY:
        return [rows.find(record["source"], record["id"]) if record["source"] else None for record in records]
    known = rows.decode({record["source"] for record in records if record["source"]})
    return [known.get((record["source"], record["id"])) for record in records]


class _SourceRows:
    """Rows of the sources log that a view sees, newest first."""

    def __init__(self, view: View) -> None:
        past, snapshot = view.as_of_us, view.snapshot
        self._limit = snapshot.rows("sources") if past is None else snapshot.watermark("sources", past)
        self._segments = [part for part in reversed(snapshot.segments("sources")) if part.start < self._limit]

    def find(self, name: str, identity: str) -> Location | None:
        """Return the location by the newest row of that name which lists the chunk."""
        for segment in self._segments:
            for offset in columns.offsets_of(segment.column("source"), name)[::-1].tolist():
                if segment.start + offset < self._limit:
                    listed = segment.column("chunks")
                    start, stop = listed.offsets[offset].as_py(), listed.offsets[offset + 1].as_py()
                    found = columns.offsets_of(listed.values.slice(start, stop - start), identity)
                    if len(found):
                        return _locations(segment, offset, name, [int(found[0])], stop - start)[0]
        return None

    def decode(self, names: set[str]) -> dict[tuple[str, str], Location]:
        """Return the newest location of every chunk of some names."""
        known: dict[tuple[str, str], Location] = {}
        for segment in self._segments:
            texts = segment.texts("source")
            for offset in range(min(len(texts), self._limit - segment.start) - 1, -1, -1):
                if texts[offset] in names:
                    ids = segment.reader("chunks")(offset)
                    places = _locations(segment, offset, texts[offset], range(len(ids)), len(ids))
                    for identity, place in zip(ids, places, strict=True):
                        known.setdefault((texts[offset], identity), place)
        return known


def _locations(segment: Segment, offset: int, name: str, positions: Sequence[int], count: int) -> list[Location]:
    """Return the locations of some of the ``count`` chunks that a row lists."""
    root, lines, ends = (segment.reader(column)(offset) for column in ("root", "lines", "end_lines"))
    path = f"{root.rstrip('/')}/{name}"
    if len(lines) != count:
        return [Location(path) for _ in positions]
    return [Location(path, lines[position], ends[position]) for position in positions]

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
_SEARCHES: Final = 64
"""Names that are searched for before all names are read: a process that answers one question reads none."""
_LONG_LIST: Final = 64
"""Chunks of a source from which on its list is searched and not decoded."""
_REMEMBERED: Final = 16_384


def locate(view: View, records: Sequence[Mapping[str, Any]]) -> list[Location | None]:
    """Return the location of each chunk, given its id and source; None for what no file holds."""
    rows = view.cached("chunks.locations", lambda: _SourceRows(view))
    if len(records) <= _MANY:
        return [rows.find(record["source"], record["id"]) if record["source"] else None for record in records]
    known = rows.decode({record["source"] for record in records if record["source"]})
    return [known.get((record["source"], record["id"])) for record in records]


class _SourceRows:
    """Rows of the sources log that a view sees, newest first."""

    def __init__(self, view: View) -> None:
        snapshot = view.snapshot
        self._limit = snapshot.watermark("sources", view.as_of_us)
        self._segments = [part for part in reversed(snapshot.segments("sources")) if part.start < self._limit]
        self._found: dict[tuple[str, str], Location | None] = {}
        self._rows: dict[str, list[tuple[Segment, int]]] = {}
        self._all: dict[str, list[tuple[Segment, int]]] | None = None

    def find(self, name: str, identity: str) -> Location | None:
        """Return the location by the newest row of that name which lists the chunk."""
        key = name, identity
        if key not in self._found:
            if len(self._found) >= _REMEMBERED:
                self._found.clear()
            places = (_look(segment, offset, name, identity) for segment, offset in self._rows_of(name))
            self._found[key] = next((place for place in places if place is not None), None)
        return self._found[key]

    def decode(self, names: set[str]) -> dict[tuple[str, str], Location]:
        """Return the newest location of every chunk of some names."""
        known: dict[tuple[str, str], Location] = {}
        rows = self._read_all()
        for name in names:
            for segment, offset in rows.get(name, ()):
                ids = segment.reader("chunks")(offset)
                places = _locations(segment, offset, name, range(len(ids)), len(ids))
                for identity, place in zip(ids, places, strict=True):
                    known.setdefault((name, identity), place)
        return known

    def _rows_of(self, name: str) -> list[tuple[Segment, int]]:
        if self._all is not None or len(self._rows) >= _SEARCHES:
            return self._read_all().get(name, [])
        if name not in self._rows:
            self._rows[name] = [
                (segment, offset)
                for segment in self._segments
                for offset in columns.offsets_of(segment.column("source"), name)[::-1].tolist()
                if segment.start + offset < self._limit
            ]
        return self._rows[name]

    def _read_all(self) -> dict[str, list[tuple[Segment, int]]]:
        if self._all is None:
            found: dict[str, list[tuple[Segment, int]]] = {}
            for segment in self._segments:
                texts = segment.texts("source")
                for offset in range(min(len(texts), self._limit - segment.start) - 1, -1, -1):
                    found.setdefault(texts[offset], []).append((segment, offset))
            self._all = found
        return self._all


def _look(segment: Segment, offset: int, name: str, identity: str) -> Location | None:
    """Return the location of a chunk by one row, or None where it does not list the chunk."""
    listed = segment.column("chunks")
    start, stop = columns.list_bounds(listed)[offset : offset + 2].tolist()
    if stop - start <= _LONG_LIST:
        ids = segment.reader("chunks")(offset)
        at = ids.index(identity) if identity in ids else -1
    else:
        at = next(iter(columns.offsets_of(listed.values.slice(start, stop - start), identity).tolist()), -1)
    return _locations(segment, offset, name, [at], stop - start)[0] if at >= 0 else None


def _locations(segment: Segment, offset: int, name: str, positions: Sequence[int], count: int) -> list[Location]:
    """Return the locations of some of the ``count`` chunks that a row lists."""
    path = f"{segment.reader('root')(offset).rstrip('/')}/{name}"
    spans = []
    for column in ("lines", "end_lines"):
        listed = segment.column(column)
        start, stop = columns.list_bounds(listed)[offset : offset + 2].tolist()
        if stop - start != count:
            return [Location(path) for _ in positions]
        numbers = columns.numbers(listed.values)
        spans.append([int(numbers[start + position]) for position in positions])
    return [Location(path, *span) for span in zip(*spans, strict=True)]

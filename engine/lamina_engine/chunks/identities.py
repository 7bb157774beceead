"""Ids as callers give them: whole, short, or the place of a chunk in its source.

A place is the path of a source, or the end of one, with ``:LINE`` (also ``:LINE:COLUMN``, ``:FROM-TO``, ``#L12``) or
``#heading`` where it has several chunks. Every call that takes an id reads it here.
"""

from __future__ import annotations

import difflib
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from lamina_engine.arguments import ids_of
from lamina_engine.chunks.locations import Location, locate
from lamina_engine.errors import AmbiguousId, ChunkNotFound
from lamina_engine.index.state import ACTIVE, FORGOTTEN, INVALIDATED, SUPERSEDED

if TYPE_CHECKING:
    from lamina_engine.index.view import View

_SHORT: Final = re.compile(r"#?[0-9a-f]{4,32}")
_PATH: Final = re.compile(r"[/.:]\w")
"""Looks like a path: a folder, a suffix or a line."""
_LINE: Final = re.compile(r"(.+?):(\d+)(?:[:-]\d+)*|(.+)#L(\d+)(?:-L?\d+)?")
_SHOWN: Final = 5
_MOST_COMPARED: Final = 20_000
"""Names of files that an unknown one is compared with."""


def find_row(view: View, identity: str) -> int:
    """Return the current row of a chunk by its id, an unambiguous short id, or its place."""
    return find_rows(view, [identity])[0]


def find_rows(view: View, identities: Iterable[Any], *, missing_ok: bool = False) -> list[int]:
    """Return the current row of each id; see `find_row`.

    O(ids), and O(chunks) once where one is a place. ``missing_ok``: -1 for an id that the vault does not have.
    """
    given = ids_of(identities)
    rows: list[int] = view.rows_of_ids(given).tolist()
    places: _Places | None = None
    for i, (identity, row) in enumerate(zip(given, rows, strict=True)):
        if row >= 0 and view.state.status[row] == FORGOTTEN and not missing_ok:
            raise ChunkNotFound(f"{identity!r} stands for a chunk that was forgotten: nothing of it is left")
        if row < 0 and _SHORT.fullmatch(identity):
            rows[i] = _row_of_short(view, identity)
        if rows[i] < 0 and _PATH.search(identity):
            places = places or _Places(view)
            rows[i] = places.find(identity)
        if rows[i] < 0 and not missing_ok:
            near = places.near(identity) if places else []
            instead = f"; the nearest files are {', '.join(near)}" if near else ""
            if view.snapshot.missing:
                instead = f" in what is there, and it may lie in {', '.join(view.snapshot.missing)}, which is missing{instead}"
            raise ChunkNotFound(
                f"no chunk has the id {identity!r}{instead}; ids are listed by `lamina list`, short ones need 4 hex digits or more"
            )
    return rows


def find_ends(view: View, identities: Iterable[Any]) -> dict[str, tuple[str, int]]:
    """Return the full id and the current row of each id, by the id as it was given."""
    given = list(dict.fromkeys(ids_of(identities)))
    rows = find_rows(view, given)
    names = view.snapshot.values("chunks", "id", np.array(rows, np.int64)) if rows else []
    return {identity: (str(name), row) for identity, name, row in zip(given, names, rows, strict=True)}


def _row_of_short(view: View, identity: str) -> int:
    found = view.ids_with_prefix(identity.removeprefix("#"))
    if len(found) > 1:
        raise AmbiguousId(f"id={identity!r} fits {len(found)} chunks ({list_some(sorted(found))}); give more digits")
    return int(view.rows_of_ids(found)[0]) if found else -1


def list_some(names: Sequence[str]) -> str:
    """Return the first of some names as errors list them."""
    return ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")


class _Chunk(NamedTuple):
    row: int
    identity: str
    source: str
    headings: tuple[str, ...]
    at: Location | None

    def shown(self) -> str:
        """Return the id and the place, as errors list them."""
        return f"{self.identity} at {self.source}" + (f":{self.at.line}" if self.at and self.at.line else "")


class _Places:
    """Sources of a view by the names of their files."""

    def __init__(self, view: View) -> None:
        self._view = view
        status = view.state.status
        self._rows = np.flatnonzero((status != SUPERSEDED) & (status != FORGOTTEN))
        self._sources = view.snapshot.values("chunks", "source", self._rows)
        self._named: dict[str, list[int]] = defaultdict(list)
        for i, source in enumerate(self._sources):
            if source:
                self._named[source.rpartition("/")[2]].append(i)

    def find(self, identity: str) -> int:
        """Return the row of the only chunk at a place; -1 where no source has that path."""
        whole = identity.replace("\\", "/").removeprefix("./")
        for path, line, heading in (whole, None, None), *_split(whole):
            chunks = self._chunks_of(path)
            if chunks:
                return self._choose(identity, chunks, line, heading)
        return -1

    def near(self, identity: str) -> list[str]:
        """Return sources whose files have names like that of a place."""
        name = identity.replace("\\", "/").rpartition("/")[2].partition("#")[0].partition(":")[0]
        names = list(self._named)[:_MOST_COMPARED]
        found = difflib.get_close_matches(name, names, _SHOWN, 0.7)
        return list(dict.fromkeys(self._sources[self._named[each][0]] for each in found))

    def _chunks_of(self, path: str) -> list[_Chunk]:
        """Return the chunks of the sources that a path is, else of those that it is the end of."""
        fits = [
            i
            for i in self._named.get(path.rpartition("/")[2], ())
            if (source := self._sources[i]) == path or source.endswith(f"/{path}") or path.endswith(f"/{source}")
        ]
        fits = [i for i in fits if self._sources[i] == path] or fits
        rows = self._rows[fits]
        here = np.isin(self._view.state.status[rows], (ACTIVE, INVALIDATED))
        rows = rows[here] if here.any() else rows  # what was removed or archived has an id as well
        records = self._view.snapshot.records("chunks", rows, ("id", "source", "headings"))
        found = [
            _Chunk(row, record["id"], record["source"], tuple(record["headings"] or ()), place)
            for row, record, place in zip(rows.tolist(), records, locate(self._view, records), strict=True)
        ]
        if path.startswith("/"):
            found = [chunk for chunk in found if chunk.source == path or (chunk.at and chunk.at.path == path)]
        return found

    def _choose(self, identity: str, chunks: list[_Chunk], line: int | None, heading: str | None) -> int:
        found = chunks if line is None else _at_line(chunks, line)
        if not found:
            shown = list_some([chunk.shown() for chunk in chunks])
            raise ChunkNotFound(f"id={identity!r}: no chunk of {chunks[0].source} holds line {line}; it has {shown}")
        if heading is not None:
            found = [each for each in found if heading in (name.casefold() for name in each.headings)][:1] or found
        if len(found) > 1:
            shown = list_some([chunk.shown() for chunk in found])
            raise AmbiguousId(
                f"id={identity!r} fits {len(found)} chunks ({shown}); give one of these ids, or a path with :LINE"
            )
        return found[0].row


def _split(identity: str) -> list[tuple[str, int | None, str | None]]:
    """Return path, line and heading of ``path:LINE`` and ``path#heading``."""
    place = _LINE.fullmatch(identity)
    if place:
        return [(place[1] or place[3], int(place[2] or place[4]), None)]
    path, sharp, heading = identity.partition("#")
    return [(path, None, heading.strip().casefold() or None)] if sharp and path else []


def _at_line(chunks: Sequence[_Chunk], line: int) -> list[_Chunk]:
    """Return the chunks that begin on a line, else that hold it, else the last one before it."""
    spans = [(chunk, at.line, at.end_line or at.line) for chunk in chunks if (at := chunk.at) and at.line]
    for found in (
        [chunk for chunk, first, _ in spans if first == line],
        [chunk for chunk, first, last in spans if first <= line <= last],
    ):
        if found:
            return found
    before = [first for _, first, _ in spans if first < line]
    if not before or not any(first > line for _, first, _ in spans):
        return []
    return [chunk for chunk, first, _ in spans if first == max(before)]

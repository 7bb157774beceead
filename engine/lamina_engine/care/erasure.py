"""Rewrites of each log without the erased chunks, which leave tombstones.

Nothing is written here: an `Erasure` names the segments that hold something of the chunks, and makes their new rows on
request.

A fact goes with the chunk that states it, and so do its amendments. What it ended is current again, as if the fact had
never been stated. An entity goes where such a chunk named it first and no other fact names it; its aliases go with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lamina_engine import after_fork, columns, schema
from lamina_engine.index.row_columns import FIELDS
from lamina_engine.index.zones import reachable_rows
from lamina_engine.ingest.sources import SESSIONS_MARK, SKIPPED, SPANS, absolute_path, digest_path
from lamina_engine.store.segments import Segment
from lamina_engine.store.snapshot import Rows, Snapshot
from lamina_engine.stored_json import read_json
from lamina_engine.topics.labels import TopicErasure, TopicWords

BLANKS: Final[Mapping[str, Mapping[str, Any]]] = {
    "chunks": {
        "version": bytes(16), "text": "", "type": "", "collection": "", "ordinal": -1, "start": -1, "stop": -1, "previous": -1,
    },
    "events": {"kind": "", "chunk": "", "row": -1},
    "sources": {
        "source": "", "root": "", "state": SKIPPED, "digest": bytes(16), "size": 0, "mtime_ns": 0, "settings": "", "chunks": [],
        "starts": [], "stops": [], "lines": [], "end_lines": [],
    },
    "links": {"source": "", "target": "", "relation": "", "weight": 0.0, "origin": "", "active": False},
    "topics": {
        "generation": 0, "topic": "", "name": "", "words": [], "size": 0, "persistence": 0.0, "exemplars": [], "centroid": [],
    },
    "members": {"generation": 0, "topic": "", "chunk": "", "row": -1, "probability": 0.0, "origin": ""},
    "origins": {"chunk": "", "row": -1, "repository": "", "path": ""},
    "freshness": {"chunk": "", "row": -1, "tier": "", "reason": "", "commits": -1, "review": False},
    "facts": {
        "kind": "", "amends": -1, "subject": -1, "predicate": "", "target": -1, "source": "", "confidence": 0.0, "weight": 0.0,
        "origin": "",
    },
    "entities": {"kind": "", "entity": -1, "into": -1, "id": "", "name": "", "type": "", "origin": ""},
    "aliases": {"alias": "", "entity": -1, "active": False, "origin": ""},
    "predicates": {"name": "", "object": "any", "functional": False},
}  # fmt: skip
"""By log: a row that says nothing; columns that are not named are null. A chunk and a source get names besides."""
_OF_FACTS: Final = ("facts", "entities", "aliases")
_OF_ONE_CHUNK: Final = ("members", "origins", "freshness")
"""Logs of which each row is about one chunk, and says nothing without it."""
_CATEGORIES: Final[Mapping[str, tuple[str, ...]]] = {
    "facts": ("predicate", "category", "origin"),
    "entities": ("type", "origin"),
}


@after_fork.track_property_locks
class FactErasure:
    """Facts, entities and aliases of some chunks, on their way out."""

    def __init__(self, snapshot: Snapshot, chunks: Mapping[str, str]) -> None:
        self._snapshot, self._chunks = snapshot, chunks

    @cached_property
    def facts(self) -> NDArray[np.bool_]:
        """Mask of the facts rows to erase: facts of the chunks, and rows that amend them."""
        gone = self._rows_naming("facts")
        if gone.any():
            amends = self._snapshot.column("facts", "amends")
            gone |= (amends >= 0) & gone[amends]
        return gone

    @cached_property
    def first_named(self) -> NDArray[np.bool_]:
        """True for rows of the entities log that one of the chunks named first."""
        return self._rows_naming("entities")

    @cached_property
    def entities(self) -> NDArray[np.bool_]:
        """Mask of the entities rows to erase: those that nothing else names, and their merges."""
        gone = self.first_named.copy()
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

    def _rows_naming(self, log: str) -> NDArray[np.bool_]:
        found = np.zeros(self._snapshot.rows(log), np.bool_)
        for segment in self._snapshot.segments(log):
            named = segment.texts("chunk")
            found[segment.start : segment.start + segment.rows] = [name in self._chunks for name in named]
        return found

    def changes(self, log: str) -> Iterator[tuple[Segment, NDArray[np.int64], dict[str, list[Any]], int]]:
        """Yield (segment, offsets, new values, erased rows) of the segments to rewrite.

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
        return self.entities, self.entities | self.first_named

    def _values(
        self, log: str, segment: Segment, offsets: NDArray[np.int64], gone: NDArray[np.bool_]
    ) -> dict[str, list[Any]]:
        if log != "entities":
            return blank_rows(log, len(offsets))
        return {
            name: [
                value if goes else old for old, goes in zip(segment.values(name, offsets), gone.tolist(), strict=True)
            ]
            for name, value in BLANKS["entities"].items()
        }  # the chunk's id, which is not among them, goes from all


def _lists(segment: Segment, names: Mapping[str, set[str]]) -> bool:
    """Return True if a dictionary of a segment lists one of some names."""
    for field, wanted in names.items():
        column = segment.column(field)
        if pa.types.is_dictionary(column.type) and not wanted.isdisjoint(column.dictionary.to_pylist()):
            return True
    return False


Values = Mapping[str, Sequence[Any]]
"""By column, the new values of some rows; columns that are not named become null."""


@dataclass(frozen=True, slots=True)
class Change:
    """A segment to rewrite."""

    segment: Segment
    make: Callable[[], pa.RecordBatch]
    """Gives its new rows."""
    counted: int
    """How many of its rows say something of the chunks."""


@after_fork.track_property_locks
class Erasure:
    """Some chunks, on their way out of one log: of a vault, or of a shard.

    ``whole`` and ``all_rows`` are the vault and the chunks' rows there.
    """

    def __init__(
        self, snapshot: Snapshot, rows: Rows, tombstones: Mapping[str, str], whole: Snapshot, all_rows: Rows
    ) -> None:
        self._snapshot, self._rows, self._tombstones, self._whole = snapshot, rows, tombstones, whole
        self._gone = np.zeros(snapshot.rows("chunks"), np.bool_)
        self._gone[rows] = True
        names = [tombstones[name] for name in snapshot.values("chunks", "id", rows)]
        self._name_of_row = dict(zip(rows.tolist(), names, strict=True))
        self._said = FactErasure(snapshot, tombstones)
        self._unsaid = TopicErasure(whole, all_rows)
        self._before = snapshot.column("chunks", "previous").astype(np.int64)
        self._previous = skip_forgotten(self._before, self._gone)

    def changes(self, log: str) -> Iterator[Change]:
        """Yield the segments of a log to rewrite."""
        if log in _OF_FACTS:
            for segment, offsets, values, counted in self._said.changes(log):
                yield Change(segment, partial(rewrite_segment, segment, offsets, values), counted)
        elif log in _OF_ONE_CHUNK:
            for segment in self._snapshot.segments(log):
                yield from _emptied(segment, [name in self._tombstones for name in segment.texts("chunk")])
        else:
            find = {
                "chunks": self._chunks, "vectors": self._vectors, "events": self._events, "sources": self._sources,
                "links": self._links, "topics": self._topics,
            }  # fmt: skip
            yield from find[log]()

    # ------------------------------------------------------------------ chunks

    def _chunks(self) -> Iterator[Change]:
        """Yield segments of the chunks log with erased rows or rows that share their words.

        Also those whose dictionaries name what only they had: pieces of one batch share theirs.
        """
        touched = self._gone | (self._previous != self._before) | reachable_rows(self._before, self._gone)
        names = {field: set(self._snapshot.values("chunks", field, self._rows)) - {None} for field in FIELDS}
        for segment in self._snapshot.segments("chunks"):
            span = slice(segment.start, segment.start + segment.rows)
            if touched[span].any() or _lists_unused(segment, names):
                counted = int(np.count_nonzero(self._gone[span]))
                yield Change(segment, partial(self._chunk_rows, segment), counted)

    def _chunk_rows(self, segment: Segment) -> pa.RecordBatch:
        span = slice(segment.start, segment.start + segment.rows)
        offsets = np.flatnonzero(self._gone[span])
        blank = blank_rows("chunks", len(offsets))
        blank["id"] = [self._name_of_row[row] for row in (offsets + segment.start).tolist()]
        batch = rewrite_segment(segment, offsets, blank)
        at = batch.schema.get_field_index("previous")
        previous = self._previous[span].copy()
        previous[offsets] = -1
        return batch.set_column(at, batch.schema.field(at), pa.array(previous))

    def _vectors(self) -> Iterator[Change]:
        """Yield the segments with their vectors, in every embedding space; all zero stands for none."""
        for log in self._snapshot.manifest.logs:
            for segment in self._snapshot.segments(log) if log.startswith("vectors.") else ():
                offsets = np.flatnonzero(self._gone[segment.start : segment.start + segment.rows])
                if len(offsets):
                    present = columns.vectors(segment.column("vector"))[offsets].any(axis=1)
                    yield Change(segment, partial(_without_vectors, segment, offsets), int(present.sum()))

    # ------------------------------------------------------------------ what is said about them

    def _events(self) -> Iterator[Change]:
        """Yield the segments with events about them: kind, row and instant stay."""
        for segment in self._snapshot.segments("events"):
            names, rows = segment.texts("chunk"), segment.numbers("row").tolist()
            about = [self._name_of_row.get(row) or self._tombstones.get(n) for n, row in zip(names, rows, strict=True)]
            offsets = np.flatnonzero([name is not None for name in about])
            if len(offsets):
                new: dict[str, Sequence[Any]] = {
                    "chunk": [about[i] for i in offsets.tolist()],
                    "kind": segment.values("kind", offsets),
                    "row": [rows[i] for i in offsets.tolist()],
                }
                yield Change(segment, partial(rewrite_segment, segment, offsets, new), len(offsets))

    def _sources(self) -> Iterator[Change]:
        """Yield the segments of the sources log that name them; the sources keep their digests.

        A file whose chunks all go loses its name, too; a transcript keeps it, since it is read on from where it ended.
        """
        for segment in self._snapshot.segments("sources"):
            listed = segment.texts("chunks")
            keys = zip(segment.texts("root"), segment.texts("source"), strict=True)
            named = [
                key in self._nameless or not self._tombstones.keys().isdisjoint(ids)
                for key, ids in zip(keys, listed, strict=True)
            ]
            offsets = np.flatnonzero(named)
            if len(offsets):
                yield Change(segment, partial(self._source_rows, segment, offsets), len(offsets))

    @cached_property
    def _nameless(self) -> set[tuple[str, str]]:
        """Roots and names of the files that have no chunk left."""
        had, kept = set[tuple[str, str]](), set[tuple[str, str]]()
        for segment in self._whole.segments("sources"):
            fields = (segment.texts(name) for name in ("root", "source", "settings", "chunks"))
            for root, source, settings, ids in zip(*fields, strict=True):
                if ids:
                    had.add((root, source))
                if settings.startswith(SESSIONS_MARK) or not self._tombstones.keys() >= set(ids):
                    kept.add((root, source))
        return had - kept

    def _source_rows(self, segment: Segment, offsets: NDArray[np.int64]) -> pa.RecordBatch:
        values = {name: segment.values(name, offsets) for name in segment.batch.schema.names}
        for i, key in enumerate(zip(values["root"], values["source"], strict=True)):
            if key in self._nameless:
                values["root"][i], values["source"][i] = "", digest_path(absolute_path(*key))
                values["state"][i], values["commit"][i], values["blob"][i] = SKIPPED, None, None
        keep_chunks(values, lambda name: name not in self._tombstones)
        return rewrite_segment(segment, offsets, values)

    def _links(self) -> Iterator[Change]:
        """Yield the segments with links that begin or end at one of them; such a row is emptied."""
        for segment in self._snapshot.segments("links"):
            ends = zip(segment.texts("source"), segment.texts("target"), strict=True)
            yield from _emptied(segment, [not self._tombstones.keys().isdisjoint(pair) for pair in ends])

    def _topics(self) -> Iterator[Change]:
        """Yield the segments with topics that name them as examples, or by their words alone."""
        for segment in self._snapshot.segments("topics"):
            named = zip(segment.texts("medoid"), segment.texts("exemplars"), strict=True)
            less = self._unsaid.topics(segment)
            offsets = np.flatnonzero(
                [
                    i in less or not self._tombstones.keys().isdisjoint({medoid, *others})
                    for i, (medoid, others) in enumerate(named)
                ]
            )
            if len(offsets):
                yield Change(segment, partial(self._topic_rows, segment, offsets, less), len(offsets))

    def _topic_rows(
        self, segment: Segment, offsets: NDArray[np.int64], less: Mapping[int, TopicWords]
    ) -> pa.RecordBatch:
        values = {name: segment.values(name, offsets) for name in segment.batch.schema.names}
        for place, offset in enumerate(offsets.tolist()):
            if offset in less:
                values["name"][place], values["words"][place] = less[offset]
        values["medoid"] = [None if name in self._tombstones else name for name in values["medoid"]]
        values["exemplars"] = [
            [name for name in names if name not in self._tombstones] for names in values["exemplars"]
        ]
        return rewrite_segment(segment, offsets, values)


def _emptied(segment: Segment, gone: Sequence[bool]) -> Iterator[Change]:
    """Yield a segment some of whose rows say nothing any more, if there are any."""
    offsets = np.flatnonzero(gone)
    if len(offsets):
        blank = blank_rows(segment.log, len(offsets))
        yield Change(segment, partial(rewrite_segment, segment, offsets, blank), len(offsets))


def blank_rows(log: str, n: int) -> dict[str, list[Any]]:
    """Return so many rows that say nothing, by column."""
    return {name: [value] * n for name, value in BLANKS[log].items()}


def skip_forgotten(previous: Rows, gone: NDArray[np.bool_]) -> Rows:
    """Return for every row the first row before it that stays, -1 for none."""
    to = previous.copy()
    while True:
        hit = np.flatnonzero((to >= 0) & gone[to])
        if not len(hit):
            return to
        # a row comes after the one before it; one that does not say so has been tampered with, and begins a chain
        before = previous[to[hit]]
        to[hit] = np.where(before < to[hit], before, -1)


def rewrite_segment(segment: Segment, offsets: NDArray[np.int64], values: Values) -> pa.RecordBatch:
    """Return a segment's rows with new values at some offsets; recorded_at stays.

    Every column is copied, and dictionaries keep only what is used, so that nothing of the old values is left.
    """
    arrays = []
    for field in segment.batch.schema:
        column = segment.column(field.name)
        if field.name != "recorded_at":
            column = _with_values(column, offsets.tolist(), values.get(field.name) or [None] * len(offsets))
        arrays.append(column)
    return pa.RecordBatch.from_arrays(arrays, schema=segment.batch.schema.remove_metadata())


def _with_values(column: pa.Array, offsets: list[int], values: Sequence[Any]) -> pa.Array:
    """Copy a column with other values at ascending offsets."""
    kind = column.type
    plain = column.dictionary_decode() if pa.types.is_dictionary(kind) else column
    new = pa.array(values, plain.type)
    parts, at = [], 0
    for i, offset in enumerate(offsets):
        parts += [plain.slice(at, offset - at), new.slice(i, 1)]
        at = offset + 1
    copied = pa.concat_arrays([*parts, plain.slice(at)])
    return copied.dictionary_encode() if pa.types.is_dictionary(kind) else copied


def _without_vectors(segment: Segment, offsets: NDArray[np.int64]) -> pa.RecordBatch:
    matrix = columns.vectors(segment.column("vector")).copy()
    matrix[offsets] = 0.0
    layout = schema.log_schema(segment.log, matrix.shape[1])
    return pa.RecordBatch.from_arrays(
        [segment.column("recorded_at"), columns.vector_array(matrix).cast(layout.field("vector").type)], schema=layout
    )


def _lists_unused(segment: Segment, names: Mapping[str, set[str]]) -> bool:
    """Return True if a dictionary of a segment lists some names that no row uses."""
    for field, wanted in names.items():
        column = segment.column(field)
        here = [code for code, name in enumerate(column.dictionary.to_pylist()) if name in wanted]
        if here and not np.isin(here, columns.numbers(column.indices, -1)).all():
            return True
    return False


def keep_chunks(sources: Mapping[str, list[Any]], is_kept: Callable[[str], bool]) -> None:
    """Take chunks out of rows of the sources log, with their places and links."""
    for i, ids in enumerate(sources["chunks"]):
        kept = [position for position, name in enumerate(ids) if is_kept(name)]
        for name in SPANS:
            whole = len(sources[name][i]) == len(ids)
            sources[name][i] = [sources[name][i][position] for position in kept] if whole else []
        sources["chunks"][i] = [ids[position] for position in kept]
        sources["links"][i] = _keep_links(sources["links"][i], kept)


def _keep_links(written: str | None, kept: Sequence[int]) -> str | None:
    """Return a source's links without those of erased chunks, the others renumbered."""
    place = {position: i for i, position in enumerate(kept)}
    links = [
        link | {"chunk": place[link.get("chunk", 0)]}  # the first is left out, as defaults are
        for link in read_json(written or "[]", list[dict[str, Any]])
        if link.get("chunk", 0) in place
    ]
    return msgspec.json.encode(links).decode() if links else None

"""Batches of chunks as columns, with their ids and versions."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lamina_engine.chunks.turns import role_of_turn
from lamina_engine.errors import InvalidArgument
from lamina_engine.index.zones import date_words
from lamina_kernels._jit import is_ready
from lamina_kernels.distances import unit_rows, unit_rows_numpy

_FIELD = "\x1f"
_PERSON = b"lamina chunk id"
_EMPTY = (
    ("titles", None), ("projects", None), ("sessions", None), ("agents", None), ("sources", None), ("created_at", None),
    ("success", None), ("commits", None), ("blobs", None), ("metadata", None), ("roles", None),
    ("ordinals", -1), ("starts", -1), ("stops", -1),
)  # fmt: skip
"""Optional columns, and the value of their rows where a column is left out."""


def embedded_text(title: str | None, headings: Sequence[str] | None, text: str) -> str:
    """Return the text to embed for a chunk: title and headings give it a subject."""
    parts = [part for part in (title, *(headings or ())) if part]
    return "\n".join([*parts, text]) if parts else text


def versions_of(texts: Iterable[bytes]) -> list[bytes]:
    """Return the version of each of many contents, given their UTF-8; see `version_of`."""
    blake2b = hashlib.blake2b
    return [blake2b(text, digest_size=16).digest() for text in texts]


def version_of(embedded: str) -> bytes:
    """Return the version of a content: BLAKE2b-128 of its embedded text."""
    return hashlib.blake2b(encode(embedded), digest_size=16).digest()


def new_id(*parts: str | None) -> str:
    """Return the id of a chunk first seen with these parts: 32 hex digits."""
    return new_ids([parts])[0]


def new_ids(rows: Iterable[Sequence[str | None]]) -> list[str]:
    """Return the ids of many chunks; see `new_id`."""
    fresh = hashlib.blake2b(digest_size=16, person=_PERSON).copy  # a copy costs less than its parameters
    found: list[str] = []
    for parts in rows:
        state = fresh()
        state.update(encode(_FIELD.join([part or "" for part in parts])))
        found.append(state.hexdigest())
    return found


def derive_ids(texts: Iterable[bytes], said: Iterable[str]) -> list[str]:
    """Return ids of records given without one: `new_id` of "add", the text and all other fields."""
    fresh = hashlib.blake2b(encode(f"add{_FIELD}"), digest_size=16, person=_PERSON).copy
    found: list[str] = []
    for text, rest in zip(texts, said, strict=True):
        state = fresh()
        state.update(text)
        state.update(encode(_FIELD + rest))
        found.append(state.hexdigest())
    return found


def join_parts(parts: Iterable[str | None]) -> str:
    """Return parts of an id as one text."""
    return _FIELD.join([part or "" for part in parts])


def encode(text: str) -> bytes:
    """Return a text's UTF-8; a lone surrogate is kept."""
    return text.encode("utf-8", "surrogatepass")


_BULK_ROWS = 1024
"""Rows from which on it pays to load a kernel."""


@dataclass(frozen=True, slots=True)
class Origin:
    """A file of a git repository that a chunk speaks of, as it was when the chunk was written."""

    repository: str
    """Top of the work tree, absolute."""
    path: str
    """The file's path below it, with ``/``."""
    commit: str | None
    blob: str | None


@dataclass(slots=True)
class ChunkBatch:
    """Columns of equal length; see `lamina_engine.schema.CHUNKS` for their meaning.

    ``ids`` may hold None (an id is derived), ``vectors`` may be None (the embedder makes them); a column that is left out
    has no values (ordinals and spans: -1).
    """

    texts: list[str]
    ids: list[str | None]
    types: list[str]
    collections: list[str]
    titles: list[str | None] = field(default_factory=list)
    headings: list[list[str]] = field(default_factory=list)
    projects: list[str | None] = field(default_factory=list)
    sessions: list[str | None] = field(default_factory=list)
    agents: list[str | None] = field(default_factory=list)
    sources: list[str | None] = field(default_factory=list)
    ordinals: list[int] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    stops: list[int] = field(default_factory=list)
    created_at: list[int | None] = field(default_factory=list)
    tags: list[list[str]] = field(default_factory=list)
    success: list[bool | None] = field(default_factory=list)
    commits: list[str | None] = field(default_factory=list)
    blobs: list[str | None] = field(default_factory=list)
    metadata: list[str | None] = field(default_factory=list)
    roles: list[str | None] = field(default_factory=list)
    vectors: NDArray[np.float32] | None = None
    after: list[str | None] | None = None
    """Id of the chunk before each, where a reader knows; None: by session."""
    fallback_created_at: list[int | None] | None = None
    """Date of new rows that have none of their own, where a reader knows a better one than now, or that there is none. It
    changes no old row."""
    title_is_name: list[bool] | None = None
    """True where a title is only a file's name: it is not embedded, so a file that moves keeps its vectors."""
    date_is_embedded: list[bool] | None = None
    """True for records that say their date: it is part of their subject, and gives short texts more to stand on."""
    origins: list[Origin | None] | None = None
    """The file that each speaks of, where the caller names one; sources that were read know theirs."""
    versions: list[bytes] = field(default_factory=list)
    """Filled by `identify`."""

    def __post_init__(self) -> None:
        n = len(self.texts)
        for name, value in _EMPTY:
            if not getattr(self, name):
                setattr(self, name, [value] * n)
        self.headings = self.headings or [[] for _ in range(n)]
        self.tags = self.tags or [[] for _ in range(n)]
        if self.after is None:  # what a reader joins of several turns has their answers too
            spoken = zip(self.roles, self.sessions, self.texts, strict=True)
            self.roles = [
                role_of_turn(text) if role is None and session is not None else role for role, session, text in spoken
            ]

    def __len__(self) -> int:
        return len(self.texts)

    def identify(self) -> None:
        """Compute versions, and missing ids. Done once: columns must not change after.

        A derived id hashes all fields of the record, so adding the same record again finds the same chunk.
        """
        if self.versions and None not in self.ids:
            return
        coded = list(map(encode, self.embedded(range(len(self)))))
        self.versions = versions_of(coded)
        given = self.ids
        wanted = [i for i, name in enumerate(given) if name is None]
        if not wanted:
            return
        whole = len(wanted) == len(self)
        chosen = coded if whole else [coded[i] for i in wanted]
        said = list(self._id_parts())
        derived = derive_ids(chosen, said if whole else [said[i] for i in wanted])
        for i, name in zip(wanted, derived, strict=True):
            given[i] = name

    def _id_parts(self) -> Iterator[str]:
        """Yield the fields of each record beside its text, joined as its id hashes them."""
        named = zip(self.types, self.collections, self.projects, self.sessions, self.agents, self.sources, strict=True)
        known: dict[tuple[str | None, ...], str] = {}
        rows = zip(named, self.created_at, self.tags, self.success, self.metadata, strict=True)
        for names, created, tags, success, metadata in rows:
            first = known.get(names)
            if first is None:
                first = known[names] = join_parts(names)
            yield join_parts((first, str(created), "\x1e".join(tags), str(success), metadata))

    def embedded(self, positions: Sequence[int]) -> list[str]:
        """Return the texts to embed for some of the chunks."""
        names = self.title_is_name or itertools.repeat(False)
        dated = self.date_is_embedded or itertools.repeat(False)
        said = zip(self.texts, self.titles, self.headings, self.created_at, names, dated, strict=False)
        rows = said if positions == range(len(self)) else map(list(said).__getitem__, positions)
        return [
            _embedded_text(text, None if name else title, headings, created, dated=date)
            for text, title, headings, created, name, date in rows
        ]

    def _embedded(self, i: int, *, title: bool, date: bool) -> str:
        shown = self.titles[i] if title else None
        return _embedded_text(self.texts[i], shown, self.headings[i], self.created_at[i], dated=date)

    def embed_like(self, versions: Sequence[str | None]) -> None:
        """Embed title and date as known versions did, so that an unchanged chunk keeps its version."""
        titles_are_names, dates = [False] * len(self), [True] * len(self)
        for i, version in enumerate(versions):
            for title, date in ((True, True), (True, False), (False, False), (False, True)) if version else ():
                if version_of(self._embedded(i, title=title, date=date)).hex() == version:
                    titles_are_names[i], dates[i] = not title, date
                    break
        self.title_is_name, self.date_is_embedded = titles_are_names, dates

    def select(self, positions: Sequence[int]) -> ChunkBatch:
        """Return a batch of some of the chunks, in the order given."""
        picked: dict[str, Any] = {}
        for column in fields(self):
            values = getattr(self, column.name)
            if isinstance(values, np.ndarray):
                picked[column.name] = values[np.asarray(positions, np.int64)]
            elif isinstance(values, list):
                picked[column.name] = [values[i] for i in positions] if values else []
            else:
                picked[column.name] = values
        return ChunkBatch(**picked)

    def columns(self, previous: Sequence[int]) -> dict[str, Any]:
        """Return the batch as columns of the chunks log (all but recorded_at)."""
        return {
            "id": self.ids,
            "version": self.versions,
            "text": self.texts,
            "title": self.titles,
            "headings": self.headings,
            "type": self.types,
            "collection": self.collections,
            "project": self.projects,
            "session": self.sessions,
            "agent": self.agents,
            "source": self.sources,
            "ordinal": self.ordinals,
            "start": self.starts,
            "stop": self.stops,
            "previous": previous,
            "created_at": self.created_at,
            "tags": self.tags,
            "success": self.success,
            "commit": self.commits,
            "blob": self.blobs,
            "metadata": self.metadata,
            "role": self.roles,
        }


def _embedded_text(
    text: str, title: str | None, headings: Sequence[str], created_at: int | None, *, dated: bool
) -> str:
    if title or headings:
        text = embedded_text(title, headings, text)
    return f"{text}\n{date_words(created_at)}".rstrip("\n") if dated else text


def check_vectors(vectors: NDArray[np.float32], n: int, dim: int | None) -> NDArray[np.float32]:
    """Check a caller's vectors and scale them to unit length; a zero vector stays zero."""
    if vectors.ndim != 2 or len(vectors) != n:
        raise InvalidArgument(f"vectors have shape {vectors.shape}; give one row for each of the {n} records")
    if dim is not None and vectors.shape[1] != dim:
        raise InvalidArgument(
            f"vectors have dimension {vectors.shape[1]}, this vault's space has {dim}; embed with its model, or reindex with another"
        )
    if n >= _BULK_ROWS or is_ready(unit_rows):
        vectors = np.ascontiguousarray(vectors, np.float32)
        unit = np.empty(vectors.shape, np.float32)
        bad = unit_rows(vectors, unit)
    else:
        wrong = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
        bad, unit = (int(wrong[0]), vectors) if wrong.size else (-1, unit_rows_numpy(vectors))
    if bad >= 0:
        raise InvalidArgument(
            f"the vector of record {bad} holds NaN or infinity; give finite numbers, or none to have it embedded"
        )
    return unit

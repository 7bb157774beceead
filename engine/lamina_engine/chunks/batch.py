"""A batch of chunks on its way into the log: one list a column, because a hundred thousand records pass through here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lamina_engine.chunks import identity
from lamina_engine.errors import InvalidArgument
from lamina_engine.index.zones import date_words


@dataclass(slots=True)
class ChunkBatch:
    """Columns of equal length; see `lamina_engine.schema.CHUNKS` for what each means.

    ``ids`` may hold None (an id is derived), ``vectors`` may be None (the embedder makes them).
    """

    texts: list[str]
    ids: list[str | None]
    titles: list[str | None]
    headings: list[list[str]]
    types: list[str]
    collections: list[str]
    projects: list[str | None]
    sessions: list[str | None]
    agents: list[str | None]
    sources: list[str | None]
    ordinals: list[int]
    starts: list[int]
    stops: list[int]
    created_at: list[int | None]
    tags: list[list[str]]
    success: list[bool | None]
    commits: list[str | None]
    blobs: list[str | None]
    metadata: list[str | None]
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
    versions: list[bytes] = field(default_factory=list)
    """Filled by `identify`."""

    def __len__(self) -> int:
        return len(self.texts)

    def identify(self) -> None:
        """Compute versions, and ids where none was given.

        A derived id hashes all that the record says, so adding the same record again finds the same chunk.
        """
        embedded = self.embedded(range(len(self)))
        self.versions = [identity.version_of(text) for text in embedded]
        for i, given in enumerate(self.ids):
            if given is None:
                self.ids[i] = identity.new_id(
                    "add",
                    embedded[i],
                    self.types[i],
                    self.collections[i],
                    self.projects[i],
                    self.sessions[i],
                    self.agents[i],
                    self.sources[i],
                    str(self.created_at[i]),
                    "\x1e".join(self.tags[i]),
                    str(self.success[i]),
                    self.metadata[i],
                )

    def embedded(self, positions: Sequence[int]) -> list[str]:
        """Return what is embedded for some of the chunks."""
        names = self.title_is_name or [False] * len(self)
        dated = self.date_is_embedded or [False] * len(self)
        return [self._embedded(i, title=not names[i], date=dated[i]) for i in positions]

    def _embedded(self, i: int, *, title: bool, date: bool) -> str:
        text = identity.embedded_text(self.titles[i] if title else None, self.headings[i], self.texts[i])
        return f"{text}\n{date_words(self.created_at[i])}".rstrip("\n") if date else text

    def embed_like(self, versions: Sequence[str | None]) -> None:
        """Embed what known versions say was embedded: with or without the title, with or without the date.

        So a chunk that is written again unchanged is the same chunk, whatever wrote it first.

        Parameters
        ----------
        versions : sequence of str or None
            Version of each chunk in hexadecimal digits. Where it is None or fits nothing, title and date are embedded.
        """
        titles_are_names, dates = [False] * len(self), [True] * len(self)
        for i, version in enumerate(versions):
            for title, date in ((True, True), (True, False), (False, False), (False, True)) if version else ():
                if identity.version_of(self._embedded(i, title=title, date=date)).hex() == version:
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
        }


def checked_vectors(vectors: NDArray[np.float32], n: int, dim: int | None) -> NDArray[np.float32]:
    """Check vectors that a caller supplies and scale them to unit length (a zero vector stays zero).

    Raises
    ------
    InvalidArgument
        When there are not ``n`` of them, they are not of dimension ``dim``, or one holds NaN or infinity.
    """
    if vectors.ndim != 2 or len(vectors) != n:
        raise InvalidArgument(f"vectors have shape {vectors.shape}; give one row for each of the {n} records")
    if dim is not None and vectors.shape[1] != dim:
        raise InvalidArgument(
            f"vectors have dimension {vectors.shape[1]}, this vault's space has {dim}; embed with its model, or reindex with another"
        )
    if not np.isfinite(vectors).all():
        bad = int(np.flatnonzero(~np.isfinite(vectors).all(axis=1))[0])
        raise InvalidArgument(
            f"the vector of record {bad} holds NaN or infinity; give finite numbers, or none to have it embedded"
        )
    # float64 and a sequential sum: a row's bytes do not depend on the rows beside it
    wide = vectors.astype(np.float64)
    length = np.sqrt(np.cumsum(wide * wide, axis=1)[:, -1:]) if vectors.shape[1] else np.zeros((n, 1))
    return np.divide(wide, length, out=np.zeros_like(wide), where=length > 0).astype(np.float32)

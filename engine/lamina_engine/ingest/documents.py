"""Document writer: drafts of changed sources, matched with their chunks, group-committed."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from lamina_engine.chunks import writing
from lamina_engine.chunks.batch import ChunkBatch, new_id
from lamina_engine.index.state import REMOVED
from lamina_engine.index.tables import NO_MORE, BulkHint
from lamina_engine.ingest import invalidated
from lamina_engine.ingest.drafts import SourceDraft
from lamina_engine.ingest.sources import SourceRows
from lamina_engine.reports import Problem
from lamina_kernels.layouts import F32

if TYPE_CHECKING:
    from lamina_engine.graph.references import SourceLink
    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory
    from lamina_engine.reports import IngestReport

_DIFF_LIMIT = 4_000
"""Sources of more chunks are matched by content and order alone: the diff is quadratic at worst."""


_DIFF_PAIRS = 1 << 20
"""Pairs of equal chunks from which on the same holds: a diff looks at each of them."""


def match_chunks(old: Sequence[bytes], new: Sequence[bytes]) -> list[int]:
    """Return the position of the old version that each new one continues, or -1.

    Equal contents in equal order are matched first (a diff), then equal contents that moved within the source; what is
    left between two matched neighbours is an edit. No old position is used twice.
    """
    matched = [-1] * len(new)
    free = [True] * len(old)
    if len(old) <= _DIFF_LIMIT and len(new) <= _DIFF_LIMIT and _equal_pairs(old, new) <= _DIFF_PAIRS:
        for block in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks():
            for i in range(block.size):
                matched[block.b + i] = block.a + i
                free[block.a + i] = False
    _match_moved(old, new, matched, free)
    _match_gaps(matched, free)
    return matched


def _equal_pairs(old: Sequence[bytes], new: Sequence[bytes]) -> int:
    counts = Counter(old)
    return sum(counts[version] for version in new)


def _match_moved(old: Sequence[bytes], new: Sequence[bytes], matched: list[int], free: list[bool]) -> None:
    places: dict[bytes, list[int]] = defaultdict(list)
    for i in reversed(range(len(old))):
        if free[i]:
            places[old[i]].append(i)
    for j, version in enumerate(new):
        if matched[j] < 0 and places[version]:
            matched[j] = places[version].pop()
            free[matched[j]] = False


def _match_gaps(matched: list[int], free: list[bool]) -> None:
    """Pair the remaining chunks between two matched neighbours, in order."""
    before = -1
    for j, position in enumerate(matched):
        if position >= 0:
            before = position
            continue
        candidate = before + 1
        if candidate < len(free) and free[candidate]:
            matched[j] = before = candidate
            free[candidate] = False


GROUP_CHUNKS = 1_024
"""Chunks of one commit: an interrupt loses less than a second of reading."""


@dataclass(slots=True)
class Document:
    """Draft of a source and the chunks it had before."""

    draft: SourceDraft
    former: tuple[str, ...]
    """Ids of the chunks it had, in order; empty for a new one."""
    fallback_us: int
    """Its date where it has none of its own."""
    commit: str | None
    blob: str | None
    row: dict[str, Any]
    """Its row of the sources log, without chunks, starts, stops and links."""
    links: list[SourceLink] = field(default_factory=list)
    released: list[dict[str, Any]] = field(default_factory=list)
    """Rows of the sources log to commit with it: the place it was at before no longer has its chunks."""
    vectors: Mapping[bytes, F32] = field(default_factory=dict)
    """Vectors by version, where a worker made them."""


class DocumentWriter:
    """Collector of documents, committed in groups."""

    def __init__(self, memory: Memory, report: IngestReport) -> None:
        self._memory, self._report = memory, report
        self._documents: list[Document] = []
        self._rows = SourceRows.empty()
        self._gone: list[str] = []
        self._pending = 0
        self.identity = ""
        """Of the embedder that workers made vectors with."""

    def add(self, document: Document) -> None:
        """Add a document; a full group is committed before."""
        self._make_room()
        self._documents.append(document)
        self._pending += len(document.draft.chunks) + 1

    def note(self, *rows: dict[str, Any], gone: Sequence[str] = ()) -> None:
        """Add source rows that change no chunk but the removed ones; they are committed together."""
        self._make_room()
        for row in rows:
            self._rows.add(**row)
        self._gone += gone
        self._pending += len(rows) + len(gone)

    def _make_room(self) -> None:
        if self._pending >= GROUP_CHUNKS:
            self.flush(BulkHint(more=True))

    def flush(self, hint: BulkHint = NO_MORE) -> None:
        """Commit pending chunks, events and source rows in one transaction."""
        if not (self._documents or len(self._rows)):
            return
        memory = self._memory
        memory.ensure_space(None)
        batch, parts, lost = prepare_documents(memory.view(), self._documents)
        made = writing.PrecomputedVectors(self.identity, (pair for d in self._documents for pair in d.vectors.items()))
        vectors, embedded = writing.precompute_vectors(memory, memory.view(), batch, made)
        with memory.write(hint=hint) as (transaction, view):
            invalid = self._keep_invalid(view, batch, parts)
            written = writing.ChunkWriter(memory, batch, vectors, invalid=invalid).append_to(transaction, view)
            writing.remove_chunks(transaction, view, [*lost, *self._gone], "its source no longer exists")
            for document, ids in zip(self._documents, parts, strict=True):
                self._note_document(document, ids)
            transaction.append("sources", self._rows.columns, transaction.stamps(len(self._rows)))
        self._report.chunks += written.added + written.updated
        self._report.embedded += embedded + written.embedded
        self._report.redactions += sum(document.draft.redactions for document in self._documents)
        self._documents, self._rows, self._gone, self._pending = [], SourceRows.empty(), [], 0

    def _keep_invalid(self, view: View, batch: ChunkBatch, parts: Sequence[list[str]]) -> dict[int, str | None]:
        """Return the positions that say what was invalidated, with the reasons; report them."""
        found: dict[int, str | None] = {}
        start = 0
        for document, ids in zip(self._documents, parts, strict=True):
            texts = batch.texts[start : start + len(ids)]
            marked, edits = invalidated.keep_invalid(view, document.former, ids, texts)
            found |= {start + position: reason for position, reason in marked.items()}
            source = document.draft.source
            self._report.problems += [Problem(source, "invalidated", edit.message()) for edit in edits]
            start += len(ids)
        return found

    def _note_document(self, document: Document, ids: list[str]) -> None:
        chunks = document.draft.chunks
        for row in document.released:
            self._rows.add(**row)
        self._rows.add(
            **document.row,
            chunks=ids,
            starts=[chunk.start for chunk in chunks],
            stops=[chunk.stop for chunk in chunks],
            lines=[chunk.line for chunk in chunks if chunk.line],
            end_lines=[chunk.end_line for chunk in chunks if chunk.line],
            links=msgspec.json.encode(document.links).decode() if document.links else None,
        )


def prepare_documents(view: View, documents: Sequence[Document]) -> tuple[ChunkBatch, list[list[str]], list[str]]:
    """Return the chunks of documents as one batch, their ids by document, and the ids to remove."""
    after: list[str | None] = []
    batch = ChunkBatch(texts=[], ids=[], types=[], collections=[], after=after)
    for document in documents:
        _extend(batch, document)
    batch.fallback_created_at = [d.fallback_us for d in documents for _ in d.draft.chunks]
    batch.title_is_name = [d.draft.title_is_name for d in documents for _ in d.draft.chunks]
    batch.identify()
    parts: list[list[str]] = []
    lost: list[str] = []
    taken: set[str] = set()
    start = 0
    for document in documents:
        stop = start + len(document.draft.chunks)
        ids = _ids(view, document, batch.versions[start:stop], taken)
        kept = set(ids)
        lost += [name for name in document.former if name not in kept]
        batch.ids[start:stop] = ids
        after += [None, *ids[:-1]] if ids else []
        parts.append(ids)
        start = stop
    return batch, parts, lost


def _ids(view: View, document: Document, versions: Sequence[bytes], taken: set[str]) -> list[str]:
    """Return the id of each chunk: that of the chunk it continues, or a new one."""
    rows = view.rows_of_ids(list(document.former))
    known = [(i, row) for i, row in zip(document.former, rows.tolist(), strict=True) if row >= 0]
    old = view.snapshot.values("chunks", "version", np.array([row for _, row in known], np.int64))
    kept = [known[position][0] if position >= 0 else None for position in match_chunks(old, versions)]
    following: dict[bytes, int] = defaultdict(int)
    return [
        name or _new_id(view, document, version, taken, following) for name, version in zip(kept, versions, strict=True)
    ]


def _new_id(view: View, document: Document, version: bytes, taken: set[str], following: dict[bytes, int]) -> str:
    """Return an unused id; equal chunks are numbered, continuing after the last number.

    Text that its source had before, and lost, comes back with the id it had.
    """
    while True:
        number = following[version]
        following[version] += 1
        name = new_id("source", document.draft.source, version.hex(), str(number))
        row = int(view.rows_of_ids([name])[0])
        if name not in taken and (row < 0 or (document.former and _is_lost(view, row, version))):
            taken.add(name)
            return name


def _is_lost(view: View, row: int, version: bytes) -> bool:
    """Return whether a row is a chunk of this content that was removed with its text."""
    same = view.snapshot.values("chunks", "version", np.array([row], np.int64))[0] == version
    return bool(same) and int(view.state.status[row]) == REMOVED


def _extend(batch: ChunkBatch, document: Document) -> None:
    draft = document.draft
    n = len(draft.chunks)
    extra = {**draft.metadata, **({"aliases": list(draft.aliases)} if draft.aliases else {})}
    metadata = msgspec.json.encode(extra, order="sorted").decode() if extra else None
    batch.texts += [c.text for c in draft.chunks]
    batch.ids += [""] * n
    batch.titles += [c.title or draft.title for c in draft.chunks]
    batch.headings += [list(c.headings) for c in draft.chunks]
    batch.types += [draft.type or "note"] * n
    batch.collections += [draft.collection or "notes"] * n
    batch.projects += [draft.project] * n
    batch.sessions += [None] * n
    batch.agents += [None] * n
    batch.sources += [draft.source] * n
    batch.ordinals += range(n)
    batch.starts += [c.start for c in draft.chunks]
    batch.stops += [c.stop for c in draft.chunks]
    batch.created_at += [draft.created_at_us] * n
    batch.tags += [list(draft.tags)] * n
    batch.success += [None] * n
    batch.commits += [document.commit] * n
    batch.blobs += [document.blob] * n
    batch.metadata += [metadata] * n
    batch.roles += [c.role for c in draft.chunks]

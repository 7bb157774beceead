"""Vectors of a new embedding space, appended until they are level with the chunks.

It is an ordinary log of the vault: what is committed survives a kill, and the next run continues at its end. A run
looks vectors up by the hash of their text, so no text is embedded twice, whatever the batches of this run or the last.

The text that was embedded for a row follows from the log alone. The log says neither whether a title is only a file's
name (then it is not embedded) nor whether a date was embedded with the text; but it holds the hash of what was embedded.
So each possible text is hashed, and the one whose hash is the row's version is the one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamina_engine import columns
from lamina_engine.chunks.batch import embedded_text, version_of
from lamina_engine.embed.protocol import Embedder
from lamina_engine.embed.travelling import TravellingEmbedder
from lamina_engine.errors import EmbeddingError, VaultLocked
from lamina_engine.executor import Executor, InlineExecutor
from lamina_engine.index.keys import KeyIndex, hash_versions
from lamina_engine.index.state import FORGOTTEN
from lamina_engine.index.vectors import VectorBlocks
from lamina_engine.index.zones import date_words
from lamina_engine.reports import ProgressReporter, ReindexReport
from lamina_engine.schema import vector_log
from lamina_engine.store.snapshot import Rows, Snapshot
from lamina_engine.store.transaction import Transaction

if TYPE_CHECKING:
    from lamina_engine.memory import Memory

_COLUMNS = ("version", "text", "title", "headings", "created_at")


F32 = NDArray[np.float32]

_MATCHED_AT_ONCE: Final = 8_192

_FEW: Final = 64

_PASSES: Final = 100
"""Each embeds what came during the one before, so they shrink wherever writers are slower than the embedder."""


class EmbeddedText(NamedTuple):
    """The text embedded for one row."""

    key: bytes
    """Its hash: rows with equal keys have equal vectors. Empty where there is nothing to embed."""
    text: str
    matched: bool
    """False where no text that the log can give has the row's version as its hash."""


def embedded_texts(snapshot: Snapshot, rows: Rows) -> list[EmbeddedText]:
    """Return the embedded texts of some rows. O(bytes of their text)."""
    return [
        embedded_of(record["version"], record["text"], record["title"], record["headings"], record["created_at"])
        for record in snapshot.records("chunks", rows, _COLUMNS)
    ]


def embedded_range(snapshot: Snapshot, start: int, stop: int) -> list[EmbeddedText]:
    """Return the embedded texts of rows ``start`` to ``stop``."""
    return embedded_texts(snapshot, np.arange(start, stop, dtype=np.int64))


def embedded_of(
    version: bytes, text: str, title: str | None, headings: Sequence[str] | None, created_at: int | None
) -> EmbeddedText:
    """Return the embedded text of a row with these values."""
    for candidate in _candidates(text, title, headings, created_at):
        if version_of(candidate) == version:
            return EmbeddedText(version if candidate.strip() else b"", candidate, matched=True)
    whole = embedded_text(title, headings, text)
    if not text.strip():  # a tombstone keeps its version and promises nothing
        return EmbeddedText(b"", "", matched=True)
    return EmbeddedText(version_of(whole), whole, matched=False)


def _candidates(text: str, title: str | None, headings: Sequence[str] | None, created_at: int | None) -> Iterator[str]:
    """Yield the texts that may have been embedded, the likeliest first."""
    date = date_words(created_at)
    for name in (title, None) if title else (None,):
        plain = embedded_text(name, headings, text)
        yield plain
        if date:
            yield f"{plain}\n{date}"
        yield plain.rstrip("\n")  # dated records of which no date was known


class _Batch(NamedTuple):
    """Rows ``start`` to ``start + len(own)`` on their way into the log."""

    start: int
    own: NDArray[np.int64]
    """int64 (n,): position among the texts given to the embedder; -1 where it is given none for this row."""
    older: NDArray[np.int64]
    """int64 (n,): an earlier row with the same text; -1 none."""
    texts: list[str]
    unmatched: int


class SpaceBuilder:
    """Builder of one space's vectors log."""

    def __init__(
        self,
        memory: Memory,
        name: str,
        embedder: Embedder,
        executor: Executor,
        batch_rows: int,
        report: ReindexReport,
        progress: ProgressReporter,
        guard: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._guard = guard
        """Held around each commit, before the vault's own lock."""
        self._memory, self._embedder = memory, embedder
        self._dim = embedder.dim
        self._log = vector_log(name)
        self._batch_rows = batch_rows
        self._report, self._progress = report, progress
        self._keys = KeyIndex()
        self._travelling = TravellingEmbedder.of(embedder) if executor.remote else None
        self._executor: Executor = InlineExecutor() if self._travelling is None else executor

    def blocks(self, snapshot: Snapshot) -> VectorBlocks:
        """Return the vectors that the log has in a version."""
        return VectorBlocks([columns.vectors(s.column("vector")) for s in snapshot.segments(self._log)], self._dim)

    def index_texts(self) -> None:
        """Index the texts of earlier runs, whose vectors are used again."""
        snapshot = self._memory.store.snapshot()
        stop = snapshot.rows(self._log)
        self._report.resumed += stop
        self._match(snapshot, stop)

    def _match(self, snapshot: Snapshot, stop: int) -> None:
        """Index the texts of the first rows."""
        self._keys = KeyIndex()
        blocks = self.blocks(snapshot)
        for at in range(0, stop, _MATCHED_AT_ONCE):
            rows = np.arange(at, min(stop, at + _MATCHED_AT_ONCE), dtype=np.int64)
            self._index_texts(embedded_texts(snapshot, rows), blocks.present(rows))
            self._progress("matching", int(rows[-1]) + 1, stop)

    def catch_up(self) -> None:
        """Append until few rows are missing; embedding runs outside the lock of each commit.

        Beside a writer that never rests there is always one more row: the last `_FEW` are left to `finish`.
        """
        for again in range(_PASSES):
            snapshot = self._memory.store.snapshot()
            start, stop = snapshot.rows(self._log), snapshot.rows("chunks")
            if start >= stop or (again and stop - start <= _FEW):
                return
            self._progress("embedding", start, stop)
            for batch, vectors in self._embed_batches(snapshot, start, stop):
                with self._guard(), self._memory.store.transaction(self._memory.lock_timeout_s) as transaction:
                    self._append(transaction, batch, vectors)
                self._progress("embedding", batch.start + len(batch.own), stop)

    def finish(self, transaction: Transaction) -> None:
        """Append the last few rows, in the transaction that makes the space the default."""
        snapshot = transaction.snapshot
        for batch, vectors in self._embed_batches(
            snapshot, snapshot.rows(self._log), snapshot.rows("chunks"), pending=True
        ):
            self._append(transaction, batch, vectors)

    def _embed_batches(
        self, snapshot: Snapshot, start: int, stop: int, *, pending: bool = False
    ) -> Iterator[tuple[_Batch, F32]]:
        """Yield the batches of some rows with the vectors of their texts, in order."""
        under_way: deque[_Batch] = deque()
        size = max(stop - start, 1) if pending else self._batch_rows  # one batch: what is pending cannot be read back

        def texts() -> Iterator[list[str]]:
            for at in range(start, stop, size):
                under_way.append(self._prepare(snapshot, at, min(stop, at + size)))
                yield under_way[-1].texts

        for vectors in self._executor.map(self._function(), texts()):
            batch = under_way.popleft()
            yield batch, self._check(vectors, len(batch.texts))

    def _function(self) -> Callable[[list[str]], F32]:
        return self._travelling or self._embed

    def _embed(self, texts: list[str]) -> F32:
        return self._embedder.embed_documents(texts) if texts else np.zeros((0, self._dim), np.float32)

    def _check(self, vectors: F32, n: int) -> F32:
        found = np.asarray(vectors, np.float32) if n else np.zeros((0, self._dim), np.float32)
        if found.shape != (n, self._dim) or not np.isfinite(found).all():
            raise EmbeddingError(
                f"the embedder gave {found.shape} for {n} texts, expected are finite numbers of shape ({n}, {self._dim}); "
                "rows already written stay, mend it and run the reindex again"
            )
        return found

    def _prepare(self, snapshot: Snapshot, start: int, stop: int) -> _Batch:
        """Return a batch: the texts to embed, and the rows with the same texts."""
        if self._keys.rows != start:  # rows of a writer that died were taken back from a shard, with their vectors
            self._match(snapshot, start)
        rows = embedded_range(snapshot, start, stop)
        older = self._earlier(snapshot, rows)
        own = np.full(len(rows), -1, np.int64)
        first: dict[bytes, int] = {}
        texts: list[str] = []
        for i, row in enumerate(rows):
            if row.key and older[i] < 0:
                if row.key not in first:
                    first[row.key] = len(texts)
                    texts.append(row.text)
                own[i] = first[row.key]
        self._index_texts(rows, np.array([bool(row.key) for row in rows], np.bool_))
        return _Batch(start, own, older, texts, sum(not row.matched for row in rows))

    def _index_texts(self, rows: list[EmbeddedText], present: NDArray[np.bool_]) -> None:
        keys = [row.key or bytes(16) for row in rows]
        self._keys = self._keys.extend(
            hash_versions(keys), present=present & np.array([bool(row.key) for row in rows], np.bool_)
        )

    def _earlier(self, snapshot: Snapshot, rows: list[EmbeddedText]) -> Rows:
        """Return int64 (n,): an earlier row with the same text, -1 where there is none."""
        found = self._keys.lookup(hash_versions([row.key or bytes(16) for row in rows]))
        found[[not row.key for row in rows]] = -1
        hit = np.flatnonzero(found >= 0)
        for i, former in zip(hit.tolist(), embedded_texts(snapshot, found[hit]), strict=True):
            if former.key != rows[i].key:  # half a hash in common, or forgotten meanwhile
                found[i] = -1
        return found

    def _append(self, transaction: Transaction, batch: _Batch, vectors: F32) -> None:
        if transaction.rows(self._log) != batch.start:
            raise VaultLocked(
                f"something else wrote to {self._log} of {self._memory.root} meanwhile; run the reindex again"
            )
        matrix = np.zeros((len(batch.own), self._dim), np.float32)
        matrix[batch.own >= 0] = vectors[batch.own[batch.own >= 0]]
        used = np.flatnonzero(batch.older >= 0)
        if len(used):
            matrix[used] = self._reuse(transaction.snapshot, batch, used)
        state = self._memory.view_of(transaction.snapshot).state
        matrix[state.status[batch.start : batch.start + len(matrix)] == FORGOTTEN] = (
            0.0  # forgotten while it was embedded
        )
        stamps = transaction.stamps(len(matrix))
        transaction.append(self._log, {"vector": columns.vector_array(matrix)}, stamps)
        self._report.embedded += len(batch.texts)
        self._report.cached += int(np.count_nonzero((batch.own >= 0) | (batch.older >= 0))) - len(batch.texts)
        self._report.unmatched += batch.unmatched

    def _reuse(self, snapshot: Snapshot, batch: _Batch, used: Rows) -> F32:
        """Return vectors of earlier rows; texts of rows forgotten since are embedded again."""
        snapshot.require_intact(self._log, batch.older[used])
        matrix = self.blocks(snapshot).gather(batch.older[used])
        gone = np.flatnonzero(~matrix.any(axis=1))
        if len(gone):
            texts = [row.text for row in embedded_texts(snapshot, batch.start + used[gone])]
            matrix[gone] = self._check(self._embed(texts), len(texts))
        return matrix

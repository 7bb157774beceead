"""Writing of session chunks: ids, group commits, and links after a round of files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

from lamina_engine.chunks import writing
from lamina_engine.chunks.batch import ChunkBatch, new_ids
from lamina_engine.chunks.handoffs import DERIVED, HANDOFF, INSIGHT
from lamina_engine.graph import sessions
from lamina_engine.index.tables import NO_MORE, BulkHint
from lamina_engine.ingest.sources import SourceRows
from lamina_engine.redact import search
from lamina_engine.sessions.events import Thread
from lamina_engine.sessions.turns import CONVERSATION, SUMMARY, ChunkPack

if TYPE_CHECKING:
    from lamina_engine.memory import Memory
    from lamina_engine.reports import IngestReport

Place = tuple[str, str, int, int, str]
"""Session, agent, turn and piece of a chunk, or number of a summary; its type."""
_NAMESPACES: Final = {CONVERSATION: "session", SUMMARY: "summary"}


def chunk_ids(places: Iterable[Place]) -> list[str]:
    """Return the ids of chunks of sessions: by their places, so that they stay when texts grow."""
    return new_ids(
        (_NAMESPACES.get(type_, type_), session, agent, str(turn), str(piece))
        for session, agent, turn, piece, type_ in places
    )


class ChunkNamer:
    """Names the chunks of a file, pack by pack."""

    def __init__(self, key_of: Callable[[Thread], str]) -> None:
        self._key_of = key_of
        self._keys: dict[tuple[str, str], str] = {}
        self._last: dict[tuple[str, str], str] = {}

    def __call__(self, pack: ChunkPack) -> tuple[list[str], list[str | None], list[str]]:
        """Return ids, the id of the chunk before each where it is about the same, and sessions."""
        threads = [(thread.session, thread.agent) for thread in pack.threads]
        for key, thread in zip(threads, pack.threads, strict=True):
            if key not in self._keys:
                self._keys[key] = self._key_of(thread)
        keys = [self._keys[key] for key in threads]
        sessions = [keys[owner] for owner in pack.owners]
        agents = [threads[owner][1] for owner in pack.owners]
        names = chunk_ids(zip(sessions, agents, pack.turns, pack.pieces, pack.types, strict=True))
        after: list[str | None] = []
        last = self._last
        for name, owner, follows, type_ in zip(names, pack.owners, pack.follows, pack.types, strict=True):
            after.append(last.get(threads[owner]) if follows else None)
            if type_ == CONVERSATION:
                last[threads[owner]] = name
        return names, after, sessions


COLLECTION: Final = "discussions"

GROUP_CHUNKS: Final = 16_384
GROUP_CHARS: Final = 1 << 25
"""A group is committed when it has so many chunks, or so much text."""
ROUND_CHUNKS: Final = 65_536
"""After so many chunks links are made and files are noted as read; an interrupted run reads at most these again."""


class SessionWriter:
    """Collects chunks of sessions and commits them."""

    def __init__(
        self, memory: Memory, report: IngestReport, overrides: Mapping[str, str | None], *, links: bool
    ) -> None:
        self._memory, self._report, self._links = memory, report, links
        self._collection, self._project = overrides.get("collection"), overrides.get("project")
        self._rows = SourceRows.empty()
        self._touched: set[str] = set()
        self._in_round = 0
        self._begin_group()
        self._pool: ThreadPoolExecutor | None = None
        self._pending: Future[None] | None = None

    def _begin_group(self) -> None:
        self._group = ChunkPack()
        self._threads: list[Thread] = []
        self._ids: list[str | None] = []
        self._after: list[str | None] = []
        self._sessions: list[str | None] = []
        self._sources: list[str | None] = []
        self._fallbacks: list[int | None] = []
        self._chars = 0

    def add(
        self, pack: ChunkPack, names: Sequence[str], after: Sequence[str | None], sessions: Sequence[str], source: str,
        fallback_us: int | None,
    ) -> None:  # fmt: skip
        """Take chunks with their ids; a full group is committed.

        ``after`` are the ids of the chunks before them, where they are about the same; ``fallback_us`` is the date of those
        without one.
        """
        self._touched.update(sessions)
        self._in_round += len(names)
        begin = 0
        while begin < len(names):
            end = min(len(names), begin + GROUP_CHUNKS - len(self._ids))
            here = slice(begin, end)
            self._extend_group(pack, here)
            self._ids += names[here]
            self._after += after[here]
            self._sessions += sessions[here]
            self._sources += [source] * (end - begin)
            self._fallbacks += [fallback_us] * (end - begin)
            if len(self._ids) >= GROUP_CHUNKS or self._chars >= GROUP_CHARS:
                self._flush_in_background()
            begin = end

    def _extend_group(self, pack: ChunkPack, here: slice) -> None:
        group = self._group
        group.texts += pack.texts[here]
        group.metadata += pack.metadata[here]
        group.ordinals += pack.ordinals[here]
        group.created_us += pack.created_us[here]
        group.types += pack.types[here]
        group.titles += pack.titles[here]
        self._threads += [pack.threads[owner] for owner in pack.owners[here]]
        self._chars += sum(map(len, pack.texts[here]))

    def note_file(self, row: Mapping[str, Any], ids: Sequence[str], former: Iterable[str] = ()) -> None:
        """Note a file as read: its row of the sources log, its chunks, and its former chunks."""
        kept = set(ids)
        removed = [name for name in former if name not in kept]
        self._rows.add(**row, chunks=list(ids), links=None)
        if removed:
            self.flush()
            self._remove(removed)
        if self._in_round >= ROUND_CHUNKS:
            self.end_round()

    def release(self, row: Mapping[str, Any]) -> None:
        """Note that a file's chunks are another's now."""
        self._rows.add(**{**row, "chunks": [], "links": None})

    def flush(self) -> None:
        """Commit the chunks that were taken."""
        self._wait()
        if self._ids:
            self._commit(self._batch())
            self._begin_group()

    def _flush_in_background(self) -> None:
        """Commit a full group on a thread, while the next one is read; at most one is under way."""
        self._wait()
        if self._pool is None:
            search.load_kernel()
            self._pool = ThreadPoolExecutor(1, thread_name_prefix="lamina-sessions")
        self._pending = self._pool.submit(self._commit, self._batch(), BulkHint(more=True))
        self._begin_group()

    def _wait(self) -> None:
        """Wait for the write under way, and raise its error."""
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.result()

    def _commit(self, batch: ChunkBatch, hint: BulkHint = NO_MORE) -> None:
        memory = self._memory
        memory.ensure_space(None)
        batch.identify()
        vectors, embedded = writing.precompute_vectors(memory, memory.view(), batch)
        with memory.write(hint=hint) as (transaction, view):
            written = writing.ChunkWriter(memory, batch, vectors).append_to(transaction, view)
        self._report.chunks += written.added + written.updated
        self._report.embedded += embedded + written.embedded

    def close(self) -> None:
        """Shut the thread down, also after an error."""
        if self._pool is not None:
            self._pool.shutdown()

    def end_round(self) -> None:
        """Commit everything, link the sessions that were written to, and note their files as read."""
        self.flush()
        if self._touched and self._links:
            self._report.links += sessions.build(self._memory, self._touched).added
        if len(self._rows):
            with self._memory.write() as (transaction, _):
                transaction.append("sources", self._rows.columns, transaction.stamps(len(self._rows)))
        self._rows, self._touched, self._in_round = SourceRows.empty(), set(), 0

    def _remove(self, names: Sequence[str]) -> None:
        """Make chunks of removed text inactive. Nothing is deleted: they come back with their text."""
        with self._memory.write() as (transaction, view):
            writing.remove_chunks(transaction, view, names, "its session no longer has it")

    def _batch(self) -> ChunkBatch:
        group, threads, n = self._group, self._threads, len(self._ids)
        collection, project = self._collection or COLLECTION, self._project
        return ChunkBatch(
            texts=group.texts,
            ids=self._ids,
            titles=list(group.titles),
            headings=[[]] * n,
            types=list(group.types),
            collections=[collection] * n,
            projects=[project or thread.project for thread in threads],
            sessions=self._sessions,
            agents=[thread.agent for thread in threads],
            sources=self._sources,
            ordinals=group.ordinals,
            starts=[-1] * n,
            stops=[-1] * n,
            created_at=group.created_us,
            tags=[[]] * n,
            success=[None] * n,
            commits=[None] * n,
            blobs=[None] * n,
            metadata=list(group.metadata),
            roles=[DERIVED if type_ in (HANDOFF, INSIGHT) else None for type_ in group.types],
            after=self._after,
            fallback_created_at=self._fallbacks,
        )

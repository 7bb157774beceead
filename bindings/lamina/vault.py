"""A vault, as its users hold it: a thin front over the engine."""

from __future__ import annotations

import builtins
import contextlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from lamina.cared import Cared
from lamina.contextual import Contextual
from lamina.episodic import Episodic
from lamina.facts import Factual
from lamina.following import Following
from lamina.fresh import Fresh
from lamina.linked import Linked
from lamina.results import Hit, Hits
from lamina.starting import uncollected
from lamina.topical import Topical
from lamina_engine.arguments import paths_of
from lamina_engine.clock import Clock, Instant, format_instant, parse_instant
from lamina_engine.errors import InvalidArgument

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import ArrayLike

    from lamina_engine.chunks.reading import Chunk
    from lamina_engine.embed.resolve import EmbedderSpec as Spec
    from lamina_engine.ingest.report import IngestReport, Progress
    from lamina_engine.recall.explain import Found
    from lamina_engine.redact.redactor import Redactor

ENVIRONMENT = "LAMINA_VAULT"
DEFAULT_PATH = ".lamina"


def open_vault(
    path: str | os.PathLike[str] | None = None,
    *,
    mode: str = "w",
    create: bool = False,
    embedder: Spec = None,
    clock: Clock | None = None,
    redactor: Redactor | None = None,
    trust: bool = False,
    lock_timeout_s: float = 10.0,
    settings: Mapping[str, Any] | None = None,
) -> Vault:
    """Open a vault.

    Parameters
    ----------
    path : path, optional
        The vault's folder; ``$LAMINA_VAULT`` unless given, else ``./.lamina``.
    mode : {"w", "r"}
        ``"r"`` never writes, and works on a read-only mount.
    create : bool
        Make the vault where there is none.
    embedder : Embedder, str, callable or mapping, optional
        What makes vectors: ``"wordllama"`` (bundled, offline, the default), ``"minilm"``, ``"none"``, a function
        ``list[str] -> float32 (n, d)``, or ``{"url": ..., "model": ...}`` of an OpenAI-compatible endpoint.
    clock : Clock, optional
        Where the present comes from; the machine's clock unless given.
    redactor : Redactor, optional
        What is done about secrets; they are masked unless given.
    trust : bool
        Open a vault that another user owns.
    lock_timeout_s : float
        How long a write waits for another writer, seconds.
    settings : mapping, optional
        Settings by name, such as ``{"DECAY_SEMANTIC_WEIGHT": 0.8}``: they win over the environment, which wins over ``.env``
        in the working directory, which wins over ``[settings]`` of ``vault.toml``. See `lamina_engine.settings`.

    Raises
    ------
    VaultNotFound, VaultExists, VaultCorrupt, VaultTooNew, VaultUntrusted, VaultReadOnly, InvalidConfig, InvalidArgument

    Examples
    --------
    >>> import tempfile, lamina
    >>> with lamina.open(tempfile.mkdtemp(), create=True) as vault:
    ...     _ = vault.add("We moved to PostgreSQL 16.", type="decision")
    ...     vault.recall("which database", k=1)[0].text
    'We moved to PostgreSQL 16.'
    """
    with uncollected():
        from lamina_engine.index import native

        native.begin(*native.ARROW)
        from lamina_engine.memory import Memory

        memory = Memory(
            vault_path(path),
            mode=mode,
            create=create,
            clock=clock,
            embedder=embedder,
            redactor=redactor,
            trust=trust,
            lock_timeout_s=lock_timeout_s,
            settings=settings,
        )
    if any(name.startswith("FRESHNESS_") for name in memory.settings.given):
        from lamina_engine.freshness.tiers import read_settings as freshness_settings

        freshness_settings(memory.settings.given)  # a wrong value is told now, not by the first scan
    return Vault(memory)


def vault_path(path: str | os.PathLike[str] | None = None) -> Path:
    """Return the folder that is meant: the path, else ``$LAMINA_VAULT``, else ``./.lamina``."""
    return Path(path if path is not None else os.environ.get(ENVIRONMENT) or DEFAULT_PATH)


class Vault(Cared, Contextual, Episodic, Factual, Following, Fresh, Linked, Topical):
    """An open vault; made by `lamina.open`. Safe to use from several threads; a context manager."""

    def __init__(self, memory: Any) -> None:
        self._memory = memory

    def __enter__(self) -> Self:
        self._memory.check_open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of files and threads; what was committed is on disk already. A closed vault can be used no more."""
        self._memory.close()

    @property
    def path(self) -> Path:
        """The vault's folder."""
        path: Path = self._memory.root
        return path

    # ------------------------------------------------------------------ writing

    def add(
        self,
        records: str | Mapping[str, Any] | Sequence[Mapping[str, Any]] | pa.Table | pa.RecordBatchReader,
        *,
        links: bool = False,
        **fields: Any,
    ) -> builtins.list[str]:
        """Add memories; the call returns when they are durable and can be found.

        Parameters
        ----------
        records : str, mapping, sequence of mappings, Table, RecordBatch or RecordBatchReader
            A text, or records with ``text`` and any of ``id, title, type, collection, project, session, agent, source,
            created_at, success, tags, vector, metadata``; other keys go to metadata. Where ``source``, or ``source_file`` in
            the metadata, is a file of a git repository, its commit and blob are noted: `freshness` counts from them.
        links : bool
            Also bring the cheap links level, now and then; off, as links would then depend on how records were batched:
            `build_links` makes them all.
        **fields
            The same fields, for a text or as defaults for all records.

        Returns
        -------
        list of str
            The id of each record, in order. A record that is there already keeps its id and changes nothing; one with a
            known id and other content supersedes.

        Raises
        ------
        InvalidArgument
            For a record that cannot be used; nothing of the call is written then.
        EmbedderMismatch, EmbeddingError, VaultReadOnly, VaultLocked, OSError

        Notes
        -----
        Complexity: O(records); one flush to disk per 65,536 of them.
        """
        from lamina_engine.ingest.adding import add

        return add(self._memory, records, fields, links=links)

    def ingest(
        self,
        path: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        *,
        kind: str = "auto",
        collection: str | None = None,
        type: str | None = None,
        project: str | None = None,
        columns: Mapping[str, str] | None = None,
        links: bool = True,
        recover: bool = False,
        facts: bool = False,
        progress: bool | Callable[[Progress], None] = False,
    ) -> IngestReport:
        """Read files into the vault; a second run reads only what changed.

        Parameters
        ----------
        path : path or iterable of paths
            Files or folders; ``"-"`` reads text (or JSON lines, by ``kind``) from standard input.
        kind : str
            ``auto`` (by file name; JSON lines that say so are sessions), ``markdown``, ``text``, ``rst``, ``code``,
            ``jsonl``, ``csv``, ``tsv``, ``parquet``, ``arrow``; ``sessions`` (transcripts of Claude Code and Codex, chats
            exported from Claude.ai and ChatGPT, logs of ``User:`` and ``Assistant:``); ``beads`` (issues with their
            dependencies), ``tasks`` (a Clawpy task file), ``github`` (what ``gh pr|issue list --json`` prints) and
            ``jira`` (a search's JSON).
        collection, type, project : str, optional
            Take the place of what frontmatter and rules say.
        columns : mapping, optional
            For tables: record field -> column name.
        links : bool
            Also link what was read: what follows in its source, in time, by wikilinks, by names and likeness; large vaults
            wait for `build_links` with the costly ones.
        recover : bool
            With ``tasks``: go on where the file is corrupt. It is put aside and told in ``problems``; else it is put aside
            and an error.
        facts : bool
            Also make facts of what notes say in frontmatter and in ``key:: value`` lines, and take back what they no longer
            say; see `lamina_engine.facts.fields`.
        progress : bool or callable
            True shows a bar on stderr (when it is a terminal); a callable receives `Progress` records.

        Returns
        -------
        IngestReport
            Counts of sources added, updated, unchanged, moved, removed and skipped, links found, and problems.

        Raises
        ------
        IngestError
            When the path itself cannot be read; single bad files are in ``problems``.
        """
        from lamina.progress import reporter
        from lamina_engine.ingest.pipeline import ingest

        with reporter(progress) as report:
            return ingest(
                self._memory,
                paths_of(path),
                kind=kind,
                collection=collection,
                type_=type,
                project=project,
                columns=columns,
                links=links,
                recover=recover,
                facts=facts,
                progress=report,
            )

    def update(self, id: str, **changes: Any) -> Chunk:
        """Supersede a chunk: a new version with the same id; what is not named stays. The old one stays in its history.

        Raises
        ------
        ChunkNotFound, AmbiguousId, InvalidArgument, VaultReadOnly, VaultLocked
        """
        from lamina_engine.ingest.adding import update

        return update(self._memory, id, changes)

    def invalidate(self, id: str, reason: str, stamp: str = "") -> Chunk:
        """Mark a chunk as no longer true: recall leaves it out unless a filter on status asks for it.

        Raises
        ------
        ChunkNotFound, AmbiguousId, InvalidArgument, VaultReadOnly, VaultLocked
        """
        from lamina_engine.chunks.lifecycle import invalidate

        return invalidate(self._memory, id, reason, self._memory.redact(stamp))

    def restore(self, id: str, reason: str | None = None) -> Chunk:
        """Make an invalidated, removed or archived chunk current again, and wake a snoozed one.

        Raises
        ------
        ChunkNotFound, AmbiguousId, InvalidArgument, VaultReadOnly, VaultLocked
        """
        from lamina_engine.chunks.lifecycle import restore

        return restore(self._memory, id, reason)

    def pin(self, id: str, *, pinned: bool = True) -> Chunk:
        """Pin a chunk (or unpin it).

        Raises
        ------
        ChunkNotFound, AmbiguousId, InvalidArgument, VaultReadOnly, VaultLocked
        """
        from lamina_engine.chunks.lifecycle import pin

        return pin(self._memory, id, pinned=pinned)

    # ------------------------------------------------------------------ reading

    def recall(
        self,
        query: str,
        k: int = 10,
        *,
        profile: str | None = None,
        where: Mapping[str, Any] | None = None,
        since: Instant | None = None,
        until: Instant | None = None,
        as_of: Instant | None = None,
        now: Instant | None = None,
        token_budget: int | None = None,
        lanes: Sequence[str] | None = None,
        vector: ArrayLike | None = None,
        intent: str | None = None,
        session: str | None = None,
        time: str | None = None,
        tz: str | None = None,
    ) -> Hits:
        """Return what the vault knows that matters for a query.

        Parameters
        ----------
        query : str
            The question, as asked.
        k : int
            Most hits.
        profile : str, optional
            ``default``, ``lexical``, ``temporal``, ``task``, ``causal``, ``episodic``, ``entity`` or one of
            ``vault.toml``; the vault's own default unless given.
        where : mapping, optional
            Filter; see `lamina_engine.recall.where`.
        since, until : date, optional
            Only chunks with since <= created_at < until.
        as_of : date, optional
            Recall as it would have been at that moment: what had been recorded by then, and ages as of then.
        now : date, optional
            The moment ages are counted to; the clock's time (or ``as_of``) unless given.
        token_budget : int, optional
            Leave out hits whose text does not fit the rest of so many tokens; see
            `lamina_engine.recall.pack.count_tokens`.
        lanes : sequence of str, optional
            Some of ``lexical``, ``vector``, ``facts``.
        vector : array of float, optional
            The query's own vector, when the caller has it.
        intent : {"why", "when", "entity", "what"}, optional
            What the question is after, for profiles that walk links (``causal``); by its words unless given.
        session : str, optional
            The session that asks: ``episodic`` prefers its chunks.
        time : {"prefer", "filter", "off"}, optional
            What becomes of the time that the question's own words mean ("last Tuesday", "before the migration"): it is
            preferred, or alone returned where that gives k hits, or not read. By the profile unless given: ``default``
            prefers, ``temporal`` filters where the words are sure; ``since`` and ``until`` take its place.
        tz : str, optional
            Zone of naive dates in this call; the vault's unless given.

        Raises
        ------
        InvalidArgument, InvalidConfig, EmbedderMismatch, EmbeddingError, VaultCorrupt

        Notes
        -----
        Deterministic: equal vault, query, profile and clock give equal bytes but for ``snapshot`` and ``took_ms``.
        """
        if lanes is not None and not isinstance(lanes, Sequence):
            raise InvalidArgument(f"lanes={lanes!r} must be a list that names some of lexical, vector, facts")
        if (lanes is None or "vector" in lanes) and profile != "lexical":
            self._memory.begin_recall()
        with contextlib.nullcontext() if self._memory.recalled else uncollected():
            from lamina_engine.recall.pipeline import recall

            outcome = recall(
                self._memory, query, k=k, profile=profile, where=where, since=since, until=until, as_of=as_of, now=now,
                token_budget=token_budget, lanes=None if lanes is None else tuple(lanes), vector=vector, intent=intent,
                session=session, time=time, tz=tz,
            )  # fmt: skip
        hits = [_hit(found) for found in outcome.found]
        return Hits(
            hits, query=query, profile=outcome.profile, snapshot=outcome.version,
            as_of=None if as_of is None else format_instant(parse_instant(as_of, tz or self._memory.config.tz)),
            took_ms=outcome.took_ms, trace=outcome.trace,
        )  # fmt: skip

    def get(self, id: str) -> Chunk:
        """Return a chunk as it is now, by its id or an unambiguous short id (``#a1b2c3``).

        Raises
        ------
        ChunkNotFound, AmbiguousId, InvalidArgument
        """
        return self.get_many([id])[0]

    def get_many(self, ids: Sequence[str]) -> builtins.list[Chunk]:
        """Return several chunks, in the order of the ids; see `get`.

        Raises
        ------
        ChunkNotFound, AmbiguousId, InvalidArgument
        """
        import numpy as np

        from lamina_engine.chunks.reading import chunks_at, current_rows

        if isinstance(ids, str):
            raise InvalidArgument(f"ids={ids!r} is one text; give a list of ids, or use get")
        view = self._memory.view()
        return chunks_at(view, np.array(current_rows(view, ids), np.int64))

    def history(self, id: str) -> builtins.list[dict[str, Any]]:
        """Return what happened to a chunk, oldest first; see `lamina_engine.chunks.reading.history`.

        Raises
        ------
        ChunkNotFound, AmbiguousId, InvalidArgument
        """
        from lamina_engine.chunks.reading import history

        return history(self._memory.view(), id)

    def list(self, where: Mapping[str, Any] | None = None, limit: int | None = 100) -> builtins.list[Chunk]:
        """Return chunks that a filter accepts, newest first.

        Superseded, invalidated and removed ones are given only when the filter names ``status``.

        Raises
        ------
        InvalidArgument
        """
        from lamina_engine.recall.pipeline import listed

        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
            raise InvalidArgument(f"limit={limit!r} must be a whole number from 1 up, or None for all")
        return listed(self._memory, where, limit)


def _hit(found: Found) -> Hit:
    shown = found.chunk
    return Hit(
        id=shown["id"],
        text=shown["text"],
        score=found.score,
        source=shown["source"],
        title=shown["title"],
        type=shown["type"],
        collection=shown["collection"],
        project=shown["project"],
        session=shown["session"],
        created_at=format_instant(shown["created_at"]),
        recorded_at=str(format_instant(shown["recorded_at"])),
        status=shown["status"],
        freshness=shown["freshness"],
        via=found.via,
        terms=found.terms,
        metadata=shown["metadata"],
        needs_review=shown["needs_review"],
    )

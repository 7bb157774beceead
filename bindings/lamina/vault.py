"""A vault as its users hold it: a thin front over the engine."""

from __future__ import annotations

import builtins
import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal, NoReturn, Self, Unpack, cast

from lamina import location
from lamina.accessor import unpicklable
from lamina.options import RankOptions, RecallOptions
from lamina.results import Hits, Results
from lamina.startup import gc_paused
from lamina_engine.arguments import flag_of, ids_of, limit_of, path_of, paths_of, renamed_arguments, whole_of
from lamina_engine.clock import EPOCH, Clock, Instant, format_instant
from lamina_engine.errors import AmbiguousId, ChunkNotFound, InvalidArgument, VaultNotFound

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import ArrayLike, NDArray

    from lamina.context import Context
    from lamina.facts import Facts
    from lamina.freshness import Freshness
    from lamina.links import Links
    from lamina.options import (
        ArrowStream,
        CauseDirection,
        ChainDirection,
        ClusterMethod,
        ClusterSelection,
        Direction,
        ExportFormat,
        IndexName,
        Intent,
        KeepEnd,
        Lane,
        LinkKind,
        OnConflict,
        OpenMode,
        PathLike,
        ProfileName,
        ScopeMode,
        ShardKey,
        SourceKind,
        StoryMode,
        Tier,
        TimeMode,
        TopicNames,
        Trigger,
        Where,
    )
    from lamina.pages import PageReport
    from lamina.sessions import Sessions
    from lamina.topics import Topics
    from lamina_engine.care.backup import BackupReport
    from lamina_engine.care.compaction import CompactReport
    from lamina_engine.care.forgetting import ForgetReport
    from lamina_engine.care.verify import VerifyReport
    from lamina_engine.context.rendering import ContextBlock
    from lamina_engine.embed.chat import Budget, ChatSpec
    from lamina_engine.embed.resolve import EmbedderSpec
    from lamina_engine.evaluation.tuning import TuneReport
    from lamina_engine.freshness.archive import ArchiveReport
    from lamina_engine.freshness.refresh import RefreshReport
    from lamina_engine.graph.generators import BuildReport
    from lamina_engine.memory import Memory
    from lamina_engine.recall.absence import Absence
    from lamina_engine.recall.diff import Diff
    from lamina_engine.redact.redactor import Redactor
    from lamina_engine.reports import IngestReport, Progress, ReindexReport
    from lamina_engine.results import Cause, Chunk, Event, Link, Neighbor, Project, Reconstruction, Story, Timeline
    from lamina_engine.sessions.judged import JudgingReport
    from lamina_engine.shards.making import ShardReport
    from lamina_engine.stats import ContentStats, Stats
    from lamina_engine.store.files import Files
    from lamina_engine.topics.catalog import TopicMembers
    from lamina_engine.topics.clustering import ClusterReport


def open_vault(
    path: PathLike | None = None,
    *,
    mode: OpenMode = "w",
    create: bool = False,
    embedder: EmbedderSpec = None,
    clock: Clock | None = None,
    redactor: Redactor | None = None,
    trust: bool = False,
    lock_timeout_s: float = 10.0,
    settings: Mapping[str, object] | None = None,
    incomplete: bool = False,
) -> Vault:
    """Open a vault.

    Parameters
    ----------
    path : path, optional
        The vault's folder, its address on object storage (``s3://bucket/vault``, ``gs://``, ``az://``; needs
        ``lamina[cluster]``), or that of a cluster that serves it for reading (``http://host:8000/vault``); by default
        ``$LAMINA_VAULT``, else the nearest ``.lamina`` from the working directory up to the root of its repository
        (elsewhere: up to the home folder), else the user's own vault.
    mode : {"w", "r"}
        ``"r"`` never writes, and works on a read-only mount.
    create : bool
        Create the vault where there is none: without a path, ``./.lamina``.
    embedder : Embedder, str, callable or mapping, optional
        Source of vectors: ``"wordllama"`` (bundled, offline, the default), ``"minilm"``, ``"none"``, a function
        ``list[str] -> float32 (n, d)``, or ``{"url": ..., "model": ...}`` of an OpenAI-compatible endpoint.
    clock : Clock, optional
        Source of the current time; the machine's clock by default.
    redactor : Redactor, optional
        Treatment of secrets; they are masked by default.
    trust : bool
        Write to a vault that came with a clone or belongs to another user, without `lamina trust`.
    lock_timeout_s : float
        Seconds that a write waits for another writer.
    settings : mapping, optional
        Settings by name, such as ``{"DECAY_SEMANTIC_WEIGHT": 0.8}``. They take precedence over the environment, then
        ``.env`` in the working directory, then ``[settings]`` of ``vault.toml``; see `lamina_engine.settings`.
    incomplete : bool
        Of a vault in shards: answer without those that are missing, damaged, behind the others or out of reach, instead of
        raising. What did not answer is named by ``vault.incomplete`` and by ``incomplete`` of hits and lists; nothing is
        written meanwhile.

    Returns
    -------
    Vault

    Raises
    ------
    VaultNotFound, VaultExists, VaultCorrupt, VaultTooNew, VaultTooOld, VaultUntrusted, VaultReadOnly, VaultIncomplete
    InvalidConfig, InvalidArgument
    StoreUnreachable, StoreDenied, StoreUnsafe, MissingExtra
        Of a vault on object storage: it does not answer, refuses the credentials, or would lose commits.
    ClusterUnreachable, ClusterBusy, CallTimedOut
        Of a vault that a cluster serves, here and in every call.

    Examples
    --------
    >>> import tempfile, lamina
    >>> with lamina.open(tempfile.mkdtemp(), create=True) as vault:
    ...     _ = vault.add("We moved to PostgreSQL 16.", type="decision")
    ...     vault.recall("which database", k=1)[0].text
    'We moved to PostgreSQL 16.'
    """
    place = location.find_vault() if path is None else path
    if isinstance(place, str) and place.startswith(location.SERVED):
        return _open_served(place, create, (embedder, clock, redactor, settings), incomplete=incomplete)
    with gc_paused():
        from lamina_engine.index import native

        native.begin(*native.ARROW)
        from lamina_engine.memory import Memory

        root, files = vault_place(place, create=create)
        memory = Memory(
            root,
            mode=mode,
            files=files,
            create=create,
            clock=clock,
            embedder=embedder,
            redactor=redactor,
            check_trust=None if trust else _check_trusted,
            lock_timeout_s=lock_timeout_s,
            settings=settings,
        )
        if memory.store.last_seen.manifest.shards:
            from lamina_engine.shards.memory import ShardedMemory

            memory.close()
            memory = ShardedMemory(
                root, mode=mode, files=files, clock=clock, embedder=embedder, redactor=redactor,
                check_trust=None if trust else _check_trusted, lock_timeout_s=lock_timeout_s, settings=settings,
                incomplete=flag_of(incomplete, "incomplete"),
            )  # fmt: skip
    if any(name.startswith("FRESHNESS_") for name in memory.settings.given):
        from lamina_engine.freshness.tiers import read_settings as freshness_settings

        freshness_settings(memory.settings.given)  # a wrong value raises here, not in the first scan
    return Vault(memory)


def _open_served(address: str, create: bool, others: Sequence[object], *, incomplete: bool) -> Vault:
    from lamina.serving.client import Connection, ServedVault

    if create or any(each is not None for each in others):
        raise InvalidArgument(
            f"{address} is served by a cluster: it cannot be made from here, and embedder, clock, redactor and settings "
            "are those of the cluster"
        )
    return ServedVault(Connection(address, incomplete=incomplete))


def vault_path(path: PathLike | None) -> Path:
    """Return the folder of a vault, the path given or found; for an address, its cache."""
    return vault_place(path)[0]


def vault_place(path: PathLike | None = None, *, create: bool = False) -> tuple[Path, Files | None]:
    """Return the folder of a vault, and the files that publish it if it has an address."""
    place = path if path is not None else location.find_vault()
    if isinstance(place, str) and location.is_url(place):
        from lamina_engine.store.publishing import PublishedFiles

        files = PublishedFiles(place)
        return files.root, files
    if place is not None:
        return path_of(place), None
    if create:
        return Path(location.FOLDER), None
    raise VaultNotFound(
        f"no vault: there is no {location.FOLDER} in {Path.cwd()} or above it, and you have no vault of your own; "
        "`lamina init` makes one here, `lamina init --user` one for all your projects"
    )


def vault_at(vault: Vault, moment: Instant) -> Vault:
    """Return a vault as it was known at a moment, its clock standing there; for reading.

    Raises
    ------
    InvalidArgument
    """
    memory = vault._memory
    return Vault(memory.at(memory.moment(moment, "as_of")))


def count_rewrites(vault: Vault) -> int:
    """Return a number that grows when what was read before is stale: rows were forgotten."""
    return vault._memory.view().snapshot.generation


def write_settings(vault: Vault, text: str) -> None:
    """Replace the ``vault.toml`` of a vault."""
    vault._memory.store.write_settings(text)


def _check_trusted(root: Path) -> None:
    from lamina.trust import check_trusted  # only writers ask

    check_trusted(root)


def _check_options(call: str, options: Mapping[str, object], known: type) -> None:
    unknown = sorted(set(options) - set(known.__annotations__))
    if unknown:
        raise TypeError(f"{call}() has no {unknown[0]}=; it takes {', '.join(sorted(known.__annotations__))}")


_HABITS = {
    **dict.fromkeys(("search", "query", "retrieve", "find", "similarity_search"), "; recall(query, k=10) searches"),
    **dict.fromkeys(("delete", "remove"), "; forget(ids, dry_run=False) erases, invalidate(id, reason) marks as wrong"),
    **dict.fromkeys(("insert", "save", "store", "put", "add_texts"), "; add(records) stores"),
    "upsert": "; add(records) with ids of your own stores, a known id as a new version",
    **dict.fromkeys(("get_all", "all", "chunks"), "; list(limit=None) returns every chunk"),
    "load": "; ingest(path) reads files",
}
"""Names of other libraries, each with the call of this one."""


class Vault:
    """An open vault, made by `lamina.open`; a context manager, safe to use from several threads.

    Facts, links, topics, sessions, context and freshness have accessors of their own, such as ``vault.facts``. Some of
    their calls are also here under the names of everyday use: `link`, `neighbors`, `chain`, `bootstrap`, ...

    Examples
    --------
    >>> vault
    <Vault 'demo': 3 chunks>
    """

    def __init__(self, memory: object) -> None:
        self._memory = cast("Memory", memory)  # the engine's own class is no part of the public surface

    def __enter__(self) -> Self:
        self._memory.check_open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        name = self._memory.root.name
        if self._memory.closed:
            return f"<Vault {name!r}: closed>"
        view = self._memory.view()
        count = int(view.state.active().sum())
        return f"<Vault {name!r}: {count:,} chunk{'' if count == 1 else 's'}>"

    def __reduce__(self) -> NoReturn:
        raise unpicklable(self.path)

    def __getitem__(self, id: str) -> Chunk:
        return self.get(id)

    def __len__(self) -> int:
        return self.count()

    def __bool__(self) -> bool:
        return True  # an empty vault is still a vault

    def __contains__(self, id: object) -> bool:
        try:
            return isinstance(id, str) and self.get(id).status == "active"
        except (ChunkNotFound, AmbiguousId):
            return False

    def __iter__(self) -> Iterator[Chunk]:
        return iter(self.list(limit=None))

    if not TYPE_CHECKING:  # type checkers know the names; people who come from other libraries may not

        def __getattr__(self, name):
            raise AttributeError(f"Vault has no {name!r}{_HABITS.get(name, '')}")

    def close(self) -> None:
        """Release files and threads; a closed vault cannot be used again."""
        self._memory.close()

    @property
    def path(self) -> Path:
        """Folder of the vault."""
        return self._memory.root

    @property
    def incomplete(self) -> tuple[str, ...]:
        """Shards without which the vault answers now, such as ``shards/01``; see `lamina.open`.

        Raises
        ------
        VaultCorrupt
        """
        return self._memory.view().snapshot.missing

    @property
    def tz(self) -> str:
        """Zone in which dates without one are read."""
        return self._memory.config.tz

    @property
    def version(self) -> int:
        """Number of the newest version; every write makes another.

        Raises
        ------
        VaultCorrupt
        """
        return self._memory.view().snapshot.manifest.version

    @property
    def now(self) -> datetime:
        """Time of the vault's clock, UTC."""
        return EPOCH + timedelta(microseconds=self._memory.clock.now_us())

    # ------------------------------------------------------------------ accessors

    @cached_property
    def facts(self) -> Facts:
        """Facts about people, projects and things; see `lamina.facts.Facts`."""
        from lamina.facts import Facts

        return Facts(self._memory)

    @cached_property
    def links(self) -> Links:
        """Links between chunks, and walks along them; ``vault.links(id)`` lists those of a chunk."""
        from lamina.links import Links

        return Links(self._memory)

    @cached_property
    def topics(self) -> Topics:
        """Topics of the chunks; ``vault.topics()`` lists them."""
        from lamina.topics import Topics

        return Topics(self._memory)

    @cached_property
    def sessions(self) -> Sessions:
        """Sessions of agents; ``vault.sessions()`` lists them."""
        from lamina.sessions import Sessions

        return Sessions(self._memory)

    @cached_property
    def context(self) -> Context:
        """Context blocks for agents; `bootstrap` and `inject` are short for its calls."""
        from lamina.context import Context

        return Context(self._memory)

    @cached_property
    def freshness(self) -> Freshness:
        """Freshness of the chunks; ``vault.freshness()`` reports it."""
        from lamina.freshness import Freshness

        return Freshness(self._memory)

    # ------------------------------------------------------------------ writing

    def add(
        self,
        records: str
        | Mapping[str, object]
        | Sequence[str | Mapping[str, object]]
        | Iterator[str | Mapping[str, object]]
        | ArrowStream,
        *,
        links: bool = False,
        on_conflict: OnConflict = "version",
        **fields: object,
    ) -> builtins.list[str]:
        """Add memories; the call returns when they are durable and can be recalled.

        Parameters
        ----------
        records : str, mapping, sequence or iterator of these, or table
            Texts, or records with ``text`` and any of ``id, title, type, collection, project, session, agent, source,
            created_at, success, tags, vector, metadata``; other keys go to the metadata. Metadata is kept as JSON: dates
            become ISO 8601 text, decimals text, bytes hexadecimal text, sets sorted lists, NaN null; what JSON cannot hold
            is refused. Where ``source``, or ``source_file`` in the metadata, is a file of a git repository, its commit and
            blob are recorded for `freshness`. A table is one of PyArrow, pandas, polars or DuckDB, or a reader.
        links : bool
            Also make the cheap links: those that the texts hold (``[[Title]]``, Markdown), and mentions now and then. Off by
            default, as links would then depend on how records are batched; the next `ingest` or `build_links` makes all.
        on_conflict : {"version", "skip", "error", "overwrite"}
            Treatment of a record whose id is known: a new version where it differs (``version``), nothing (``skip``),
            `ChunkExists` with nothing written (``error``), or a new version where it differs that is current in any
            case, even if the chunk was invalidated, archived or removed (``overwrite``).
        **fields
            The same fields, for a text or as defaults for all records.

        Returns
        -------
        list of str
            The id of each record, in order. A record that is there already keeps its id and changes nothing; one with a
            known id and new content supersedes the old version, also where one call gives an id twice.

        Raises
        ------
        InvalidArgument
            For a record that cannot be used; nothing of the call is written.
        ChunkExists, EmbedderMismatch, EmbeddingError, VaultReadOnly, VaultLocked, OSError

        Notes
        -----
        O(records); one flush to disk per 65,536 of them.

        Examples
        --------
        >>> vault.add("The nightly backup runs at 02:00 UTC.", type="guideline", id="backup")
        ['backup']
        """
        from lamina_engine.ingest.adding import add

        return add(self._memory, records, fields, links=links, on_conflict=on_conflict)

    def ingest(
        self,
        path: PathLike | Iterable[PathLike],
        *,
        kind: SourceKind = "auto",
        collection: str | None = None,
        type: str | None = None,
        project: str | None = None,
        columns: Mapping[str, str] | None = None,
        links: bool = True,
        recover: bool = False,
        facts: bool = False,
        workers: int = 1,
        ray: str | None = None,
        ray_resources: Mapping[str, float] | None = None,
        progress: bool | Callable[[Progress], None] = False,
    ) -> IngestReport:
        """Read files into the vault; a second run reads only what changed.

        Parameters
        ----------
        path : path or iterable of paths
            Files or folders; ``"-"`` reads text (or JSON lines, by ``kind``) from standard input.
        kind : str
            ``auto`` (by file name; JSON lines of transcripts are sessions), ``markdown``, ``text``, ``rst``, ``code``,
            ``jsonl``, ``csv``, ``tsv``, ``parquet``, ``arrow``; ``sessions`` (transcripts of Claude Code and Codex, chats
            exported from Claude.ai and ChatGPT, logs of ``User:`` and ``Assistant:``); ``beads`` (issues with their
            dependencies), ``tasks`` (a Clawpy task file), ``github`` (the output of ``gh pr|issue list --json``) and
            ``jira`` (the JSON of a search).
        collection, type, project : str, optional
            Take precedence over frontmatter and rules.
        columns : mapping, optional
            For tables: record field -> column name.
        links : bool
            Also link the chunks read: by order, links in texts, names and similarity; in large vaults the costly kinds
            wait for `build_links`.
        recover : bool
            With ``tasks``: set a corrupt file aside, report it in ``problems`` and continue; otherwise raise.
        facts : bool
            Also extract facts from frontmatter and ``key:: value`` lines, and withdraw those no longer stated; see
            `lamina_engine.facts.fields`.
        workers : int
            Processes that read, cut and embed documents; 1 works in this one. A script that asks for more guards its own
            entry with ``if __name__ == "__main__":``, as for every pool of processes.
        ray : str, optional
            Address of a running Ray cluster whose workers do it instead; needs ``lamina[cluster]``. Files are read here and
            travel to them; what is written does not depend on where.
        ray_resources : mapping, optional
            Resources of the cluster that each of its tasks reserves beside one CPU, such as ``{"big_memory": 1}``.
        progress : bool or callable
            True shows a bar on stderr (when it is a terminal); a callable receives each step.

        Returns
        -------
        IngestReport
            Counts of sources added, updated, unchanged, moved, removed and skipped, links found, and problems.

        Raises
        ------
        IngestError
            When the path itself cannot be read; single bad files are listed in ``problems``.
        ClusterUnreachable
            When the cluster is not there, or no node of it has the resources. What was committed is kept: run it again.
        InvalidArgument, EmbedderMismatch, EmbeddingError, VaultReadOnly, VaultLocked, OSError

        Examples
        --------
        >>> report = vault.ingest("notes/")  # doctest: +SKIP
        """
        from lamina.progress import reporter
        from lamina_engine.executor import open_executor
        from lamina_engine.ingest.pipeline import ingest

        with open_executor(workers, ray, ray_resources) as executor, reporter(progress) as report:
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
                executor=executor if executor.remote else None,
            )

    def follow(
        self,
        path: PathLike | Iterable[PathLike],
        *,
        kind: SourceKind = "auto",
        collection: str | None = None,
        type: str | None = None,
        project: str | None = None,
        columns: Mapping[str, str] | None = None,
        links: bool = True,
        recover: bool = False,
        settled_s: float = 0.2,
        stop: threading.Event | None = None,
    ) -> Iterator[IngestReport]:
        """Ingest files, and again whenever they change; needs ``lamina[watch]``.

        Parameters
        ----------
        path : path or iterable of paths
            Files or folders. A deleted one leaves its chunks as they are, and is read again when it comes back.
        kind, collection, type, project, columns, links, recover
            As in `ingest`.
        settled_s : float
            Seconds without a change before files are read; at most ten times that while changes go on.
        stop : Event, optional
            Ends the iteration within half a second once another thread sets it.

        Returns
        -------
        iterator of IngestReport
            It waits for changes, so it ends only by ``stop``, by Ctrl-C or when it is closed. First one report per path,
            then one for each change of the vault or new problem; unreadable files, a locked vault and a model that does
            not answer are listed in ``problems`` and tried again. Under `lamina.aopen` the iterator is awaited and its
            steps block: take them with ``asyncio.to_thread(next, reports, None)``.

        Raises
        ------
        InvalidArgument, IngestError, MissingExtra, EmbedderMismatch, EmbeddingError, VaultReadOnly, VaultLocked, OSError

        Examples
        --------
        >>> for report in vault.follow("notes/"):  # doctest: +SKIP
        ...     print(report.added, report.updated, report.removed)
        """
        from lamina_engine.ingest.watch import follow

        return follow(
            self._memory, paths_of(path), settled_s=settled_s, stop=stop, kind=kind, collection=collection,
            type_=type, project=project, columns=columns, links=links, recover=recover,
        )  # fmt: skip

    def update(self, id: str, **changes: object) -> Chunk:
        """Write a new version of a chunk under the same id; fields that are not named stay.

        Parameters
        ----------
        id : str
            Its id, or an unambiguous short id.
        **changes
            Fields of a record but ``id`` and ``vector``; see `add`. ``metadata`` and ``tags`` replace what was there:
            ``metadata=chunk.metadata | {"key": 1}`` adds a key.

        Returns
        -------
        Chunk

        Raises
        ------
        ChunkNotFound, AmbiguousId, InvalidArgument, VaultReadOnly, VaultLocked

        Notes
        -----
        One commit. Many chunks at once: `add` of whole records with their ids, which embeds changed texts alone.

        Examples
        --------
        >>> vault.update("db", title="Our database").title
        'Our database'
        """
        from lamina_engine.ingest.adding import update

        return update(self._memory, id, changes)

    def invalidate(self, id: str, reason: str, stamp: str = "") -> Chunk:
        """Mark a chunk as no longer true: recall leaves it out unless a filter names its status.

        Parameters
        ----------
        id : str
            Its id, or an unambiguous short id.
        reason : str
            What made it wrong, in words.
        stamp : str
            A mark of the caller, such as a ticket.

        Returns
        -------
        Chunk

        Raises
        ------
        ChunkNotFound, AmbiguousId, InvalidArgument, VaultReadOnly, VaultLocked

        Examples
        --------
        >>> vault.invalidate("db", "we moved on").status
        'invalidated'
        """
        from lamina_engine.chunks.lifecycle import invalidate

        return invalidate(self._memory, id, reason, stamp)

    def restore(self, id: str, reason: str | None = None) -> Chunk:
        """Make an invalidated, removed or archived chunk current again, and wake a snoozed one.

        Parameters
        ----------
        id : str
            Its id, or an unambiguous short id.
        reason : str, optional
            The reason, in words.

        Returns
        -------
        Chunk

        Raises
        ------
        ChunkNotFound, AmbiguousId, InvalidArgument, VaultReadOnly, VaultLocked

        Examples
        --------
        >>> _ = vault.invalidate("db", "a mistake")
        >>> vault.restore("db").status
        'active'
        """
        from lamina_engine.chunks.lifecycle import restore

        return restore(self._memory, id, reason)

    def pin(self, id: str, *, pinned: bool = True) -> Chunk:
        """Pin a chunk, or unpin it; a pinned chunk never ages out of recall.

        Parameters
        ----------
        id : str
            Its id, or an unambiguous short id.
        pinned : bool
            False unpins.

        Returns
        -------
        Chunk

        Raises
        ------
        ChunkNotFound, AmbiguousId, InvalidArgument, VaultReadOnly, VaultLocked

        Examples
        --------
        >>> vault.pin("db").pinned
        True
        """
        from lamina_engine.chunks.lifecycle import pin

        return pin(self._memory, id, pinned=pinned)

    def forget(
        self,
        what: Where | str | Sequence[str] | None = None,
        dry_run: bool = True,
        *,
        where: Where | None = None,
        ids: str | Sequence[str] | None = None,
        query: str | None = None,
        threshold: float = 0.6,
    ) -> ForgetReport:
        """Erase every byte of some chunks, all their versions included. This cannot be undone.

        Parameters
        ----------
        what : mapping, str or sequence of str
            A filter (which also sees invalidated and removed chunks), an id, or ids; ``where=`` and ``ids=`` are the same
            by name.
        dry_run : bool
            Only count; False erases.
        query : str, optional
            Chunks that are like this text, among those that ``where`` accepts. Look at the dry run first.
        threshold : float
            Least likeness for ``query``: the cosine, or the share of its words, whichever is more.

        Returns
        -------
        ForgetReport

        Raises
        ------
        InvalidArgument
            When nothing is named, or the filter is empty.
        ChunkNotFound, AmbiguousId, VaultCorrupt, VaultReadOnly, VaultLocked, OSError
            Nothing is erased then.

        Notes
        -----
        Backups and exports are not reached. A source that is ingested again unchanged brings nothing back; one whose
        file was changed or moved, and still has the text, does.

        The files that hold a chunk and the indexes made from it are written again, for one chunk as for a thousand: a
        second or two at 60,000 chunks. Give all ids in one call; `invalidate` takes a chunk out of recall in milliseconds.

        Examples
        --------
        >>> vault.forget(["db"]).chunks
        1
        """
        from lamina_engine.care.forgetting import forget

        if what is not None:
            if where is not None or ids is not None:
                raise InvalidArgument("forget was given two selections; give a filter or ids, once")
            where, ids = (what, None) if isinstance(what, Mapping) else (None, what)
        if query is None:
            return forget(self._memory, where, ids, dry_run=dry_run)
        if ids is not None:
            raise InvalidArgument("forget was given ids and a query; give one of them, or a filter with the query")
        from lamina_engine.care.likeness import forget_alike

        return forget_alike(self._memory, query, where, threshold, dry_run=dry_run)

    # ------------------------------------------------------------------ reading

    @renamed_arguments(limit="k", top_k="k", n_results="k", filter="where", filters="where")
    def recall(
        self,
        query: str,
        k: int = 10,
        *,
        profile: ProfileName | str | None = None,
        where: Where | None = None,
        since: Instant | None = None,
        until: Instant | None = None,
        as_of: Instant | None = None,
        now: Instant | None = None,
        token_budget: int | None = None,
        lanes: Sequence[Lane] | None = None,
        vector: ArrayLike | None = None,
        intent: Intent | None = None,
        session: str | None = None,
        time: TimeMode | None = None,
        scope: ScopeMode | None = None,
        tz: str | None = None,
        syntax: bool = True,
        offset: int = 0,
        fill: bool = False,
        per_source: int | None = 2,
        min_confidence: float | None = None,
        candidates: Iterable[tuple[str, float]] | None = None,
    ) -> Hits:
        """Return the chunks that matter for a question, best first.

        Parameters
        ----------
        query : str
            The question, as asked.
        k : int
            Maximum number of hits.
        profile : str, optional
            ``default``, ``lexical``, ``temporal``, ``task``, ``causal``, ``episodic``, ``entity``, or a profile of
            ``vault.toml``; the vault's own by default.
        where : mapping, optional
            A filter; see `lamina_engine.recall.filters`.
        since, until : date, optional
            Only chunks with since <= created_at < until.
        as_of : date, optional
            Recall as of that moment: only what was recorded by then, with ages as of then.
        now : date, optional
            The moment to which ages are counted; the time of the clock (or ``as_of``) by default.
        token_budget : int, optional
            Leave out hits whose text does not fit the rest of so many tokens; see
            `lamina_engine.recall.pack.count_tokens`.
        lanes : sequence of str, optional
            Any of ``lexical``, ``vector`` and ``facts``.
        vector : array of float, optional
            Vector of the query, where the caller has it.
        intent : {"why", "when", "entity", "what"}, optional
            Aim of the question, for profiles that walk links (``causal``); by default taken from its words.
        session : str, optional
            The session that asks: ``episodic`` prefers its chunks.
        time : {"prefer", "filter", "off"}, optional
            Treatment of a time that the question names ("last Tuesday", "before the migration"): preferred, required
            where that gives k hits, or ignored. By default ``default`` and ``temporal`` prefer it, and every profile
            filters by it where the question is nothing else; ``since`` and ``until`` replace it.
        scope : {"prefer", "filter", "off"}, optional
            Treatment of a project, a person or a folder that the question names ("Anna's deploy notes"): preferred,
            required where the name is sure (a confidence of 0.5), or ignored. By default ``default``, ``temporal``,
            ``causal``, ``entity`` and ``episodic`` prefer it; `Hits.scope` tells what was understood.
        tz : str, optional
            Time zone of naive dates in this call; the vault's by default.
        syntax : bool
            Read operators in the query: ``"exact phrase"``, ``prefix*``, ``typo~``, ``+required``, ``-excluded``,
            ``title:``, ``project:``, ``type:``, ``tag:`` and ``source:``. What only looks like one is text. With False
            all of it is.
        offset : int
            Best hits to leave out, for a next page.
        fill : bool
            Return k hits as long as k chunks are selected: nothing is folded, and chunks that do not match follow
            those that do, nearest first, then newest, with a score of 0. Not together with ``token_budget``. O(selected
            chunks) where fewer match.
        per_source : int, optional
            Most hits of one document, so that a long page does not fill the list; None for any number. It does not apply
            to records, sessions and added chunks, where ``where`` or ``source:`` names sources, and with ``fill``.
        min_confidence : float, optional
            Return no hits where ``hits.confidence`` is less: 0.6 keeps about nine of ten answers, and refuses most
            questions that the vault cannot answer.
        candidates : iterable of (str, float), optional
            Ids and cosine distances that another vector store found: only these are ranked, with 1 − distance (in
            [0, 1]) in place of the cosine. Links may bring more. Unknown ids are named by ``hits.unknown``.

        Returns
        -------
        Hits

        Raises
        ------
        InvalidArgument, InvalidConfig, EmbedderMismatch, EmbeddingError, VaultCorrupt

        Notes
        -----
        Deterministic: equal files, query, profile and clock give equal bytes, except for ``snapshot`` and ``took_ms``.

        Examples
        --------
        >>> [hit.id for hit in vault.recall("why did we move to PostgreSQL", k=1)]
        ['db']
        >>> [hit.id for hit in vault.recall("PostgreSQL", where={"type": "decision"})]
        ['db']
        >>> hits = vault.recall("postgre* type:decision")
        >>> [hit.id for hit in hits], hits.snippet(hits[0]).ranges != ()
        (['db'], True)
        """
        if lanes is not None and (isinstance(lanes, str) or not isinstance(lanes, Sequence)):
            raise InvalidArgument(f"lanes={lanes!r} must be a list that names some of lexical, vector, facts")
        if (lanes is None or "vector" in lanes) and profile != "lexical" and candidates is None:
            self._memory.begin_recall()
        with contextlib.nullcontext() if self._memory.recalled else gc_paused():
            from lamina_engine.recall.pipeline import recall

            outcome = recall(
                self._memory, query, k=k, profile=profile, where=where, since=since, until=until, as_of=as_of, now=now,
                token_budget=token_budget, lanes=None if lanes is None else tuple(lanes), vector=vector, intent=intent,
                session=session, time=time, scope=scope, tz=tz, syntax=syntax, offset=offset, fill=fill, per_source=per_source,
                min_confidence=min_confidence, candidates=candidates, with_facts=True,
            )  # fmt: skip
        return Hits(
            outcome.hits, query=query, profile=outcome.profile, snapshot=outcome.version,
            as_of=None if as_of is None else format_instant(self._memory.moment(as_of, "as_of", tz)),
            took_ms=outcome.took_ms, missing=outcome.missing, rate=outcome.rate, describe=outcome.describe, cut=outcome.snippet,
        )  # fmt: skip

    def why_not(self, query: str, id: str, **options: Unpack[RecallOptions]) -> Absence:
        """Return why a chunk is not among the hits of a question, and what would bring it in.

        The recall is run as `recall` runs it; the stage at which the chunk lost is told with that recall's own numbers,
        and every proposed change was tried.

        Parameters
        ----------
        query : str
            The question, as asked.
        id : str
            The chunk: an id, a short one, or its place in a source.
        **options
            The options of `recall`.

        Returns
        -------
        Absence

        Raises
        ------
        ChunkNotFound, AmbiguousId, InvalidArgument, InvalidConfig, EmbedderMismatch, EmbeddingError, VaultCorrupt

        Notes
        -----
        Some twenty recalls, most of them for what would bring the chunk in.

        Examples
        --------
        >>> found = vault.why_not("why did we move to PostgreSQL", "db", where={"type": "note"})
        >>> found.stage, found.clauses, found.remedies[0].arguments
        ('filter', ('{"type":"note"}',), {'where': None})
        """
        _check_options("why_not", options, RecallOptions)
        from lamina_engine.recall.absence import why_not

        return why_not(self._memory, query, id, {"syntax": True, **options})

    def diff(
        self,
        query: str | None = None,
        *,
        since: Instant,
        until: Instant | None = None,
        budget: int | None = None,
        **options: Unpack[RankOptions],
    ) -> Diff:
        """Return what changed between two moments: hits of a question, or all that was learnt.

        Parameters
        ----------
        query : str, optional
            The question; without one, what the vault learnt, by project and type.
        since : date
            The earlier moment of recorded time.
        until : date, optional
            The later one; the present by default.
        budget : int, optional
            Most tokens of ``text``; without a question 1,000 by default.
        **options
            Options of `recall`: ``k``, ``profile``, ``where``, ``lanes``, ``vector``, ``intent``, ``session``, ``time``,
            ``scope``, ``tz``, ``syntax``, ``per_source``. Without a question ``where`` and ``tz`` alone.

        Returns
        -------
        Diff
            For each hit that entered, left or moved, the causes, which add up to the difference of its scores.

        Raises
        ------
        InvalidArgument, InvalidConfig, EmbedderMismatch, EmbeddingError, VaultCorrupt

        Notes
        -----
        Two recalls and one comparison. What was forgotten is shown at neither moment; ``forgotten`` says how much there was.

        Examples
        --------
        >>> found = vault.diff("which database", since="2020-01-01")
        >>> found.known_then, found.changes[0].kind, list(found.changes[0].causes)
        (0, 'entered', ['new'])
        """
        _check_options("diff", options, RankOptions)
        from lamina_engine.recall.diff import diff

        tz = options.get("tz")
        since_us = self._memory.moment(since, "since", tz)
        until_us = None if until is None else self._memory.moment(until, "until", tz)
        return diff(self._memory, query, since_us, until_us, budget, {"syntax": True, **options})

    def get(self, id: str) -> Chunk:
        """Return a chunk as it is now, by its id or an unambiguous short id (``#a1b2c3``).

        The id of a hit that is a fact (``fact:12``) gives the fact in words, as a chunk of type ``fact``.

        Returns
        -------
        Chunk

        Raises
        ------
        ChunkNotFound, AmbiguousId, InvalidArgument

        Examples
        --------
        >>> vault.get("db").created_at.isoformat()
        '2026-02-15T00:00:00+00:00'
        """
        return self.get_many([id])[0]

    def get_many(self, ids: Iterable[str]) -> Results[Chunk]:
        """Return several chunks, in the order of the ids; see `get`.

        Returns
        -------
        Results of Chunk

        Raises
        ------
        ChunkNotFound, AmbiguousId, InvalidArgument

        Examples
        --------
        >>> [chunk.title for chunk in vault.get_many(["db", "pool"])]
        ['Database', None]
        """
        import numpy as np

        from lamina_engine.chunks.identities import find_rows
        from lamina_engine.chunks.reading import chunks_at
        from lamina_engine.results import Chunk

        if isinstance(ids, str):
            raise InvalidArgument(f"ids={ids!r} is one text; give a list of ids, or use get")
        ids = ids_of(ids)
        view = self._memory.view()
        facts: dict[str, Chunk] = {}
        if any(isinstance(each, str) and each.startswith("fact:") for each in ids):
            from lamina_engine.recall.factlane import fact_chunk

            facts = {each: found for each in ids if (found := fact_chunk(view, each)) is not None}
        rows = np.array(find_rows(view, [each for each in ids if each not in facts]), np.int64)
        chunks = iter(chunks_at(view, rows))
        return Results([facts[each] if each in facts else next(chunks) for each in ids], Chunk, self._memory.incomplete)

    def vectors(self, ids: Iterable[str]) -> NDArray[np.float32]:
        """Return the vectors of chunks, in the order of the ids.

        Returns
        -------
        ndarray of float32, shape (len(ids), d)
            Of unit length; zero where a chunk has none. In a vault without vectors d is 0.

        Raises
        ------
        ChunkNotFound, AmbiguousId, InvalidArgument

        Examples
        --------
        >>> vault.vectors(["db", "pool"]).shape
        (2, 256)
        """
        import numpy as np

        from lamina_engine.chunks.identities import find_rows
        from lamina_engine.recall.diversity import head_vectors

        if isinstance(ids, str):
            raise InvalidArgument(f"ids={ids!r} is one text; give a list of ids")
        view = self._memory.view()
        rows = np.array(find_rows(view, ids), np.int64)
        found = head_vectors(view, rows)
        return np.zeros((len(rows), 0), np.float32) if found is None else found

    def history(self, id: str) -> Results[Event]:
        """Return the versions of a chunk and the events of its life, oldest first.

        Returns
        -------
        Results of Event

        Raises
        ------
        ChunkNotFound, AmbiguousId, InvalidArgument

        Examples
        --------
        >>> _ = vault.pin("db")
        >>> [event.kind for event in vault.history("db")]
        ['added', 'pin']
        """
        from lamina_engine.chunks.reading import history
        from lamina_engine.results import Event

        return Results(history(self._memory.view(), id), Event, self._memory.incomplete)

    @renamed_arguments(filter="where", filters="where", k="limit", top_k="limit")
    def list(self, where: Where | None = None, limit: int | None = 100, *, offset: int = 0) -> Results[Chunk]:
        """Return the chunks that a filter accepts, newest first.

        Parameters
        ----------
        where : mapping, optional
            A filter; chunks that are not current are included only when it names ``status``.
        limit : int, optional
            Maximum number of chunks; None for all.
        offset : int
            Newest chunks to leave out, for a next page.

        Returns
        -------
        Results of Chunk

        Raises
        ------
        InvalidArgument

        Examples
        --------
        >>> [chunk.id for chunk in vault.list({"project": "api"})]
        ['db']
        """
        from lamina_engine.recall.pipeline import list_chunks
        from lamina_engine.results import Chunk

        found = list_chunks(self._memory, where, limit_of(limit), offset=whole_of(offset, "offset", 0))
        return Results(found, Chunk, self._memory.incomplete)

    def count(self, where: Where | None = None) -> int:
        """Return how many chunks a filter accepts; see `list`.

        Raises
        ------
        InvalidArgument

        Examples
        --------
        >>> vault.count({"project": "api"})
        1
        """
        from lamina_engine.recall.pipeline import count_chunks

        return count_chunks(self._memory, where)

    def projects(self) -> Results[Project]:
        """Return the projects of the current chunks, the largest first.

        Raises
        ------
        VaultCorrupt

        Examples
        --------
        >>> [(project.project, project.chunks) for project in vault.projects()]
        [('api', 1)]
        """
        from lamina_engine.results import Project
        from lamina_engine.stats import projects

        return Results(projects(self._memory), Project, self._memory.incomplete)

    def to_arrow(self, where: Where | None = None) -> pa.Table:
        """Return the chunks that a filter accepts as an Arrow table, newest first.

        Parameters
        ----------
        where : mapping, optional
            A filter, as in `list`.

        Returns
        -------
        pyarrow.Table
            Instants are ``timestamp[us, UTC]``, tags and headings lists, metadata JSON text.

        Raises
        ------
        InvalidArgument

        Examples
        --------
        >>> vault.to_arrow(where={"project": "api"}).num_rows
        1
        """
        return self.list(where, None).to_arrow()

    def timeline(self, id: str, before: int = 5, after: int = 5, *, same_collection: bool = False) -> Timeline:
        """Return a chunk and its neighbours in time; see `lamina.links.Links.timeline`.

        Raises
        ------
        ChunkNotFound, AmbiguousId, InvalidArgument
        """
        return self.links.timeline(id, before, after, same_collection=same_collection)

    def similar(self, id: str, k: int = 5) -> Results[Neighbor]:
        """Return the chunks with the nearest vectors; see `lamina.links.Links.similar`.

        Raises
        ------
        ChunkNotFound, AmbiguousId, InvalidArgument
        """
        return self.links.similar(id, k)

    # ------------------------------------------------------------------ links

    def link(
        self,
        source: str,
        target: str,
        relation: str,
        weight: float = 1.0,
        note: str = "",
        created_at: Instant | None = None,
        *,
        update: bool = False,
    ) -> Link:
        """Link two chunks; see `lamina.links.Links.add`.

        Raises
        ------
        InvalidArgument, ChunkNotFound, AmbiguousId, VaultReadOnly, VaultLocked, OSError

        Examples
        --------
        >>> vault.link("outage", "db", "causal").origin
        'user'
        """
        return self.links.add(source, target, relation, weight, note, created_at, update=update)

    def unlink(self, source: str, target: str, relation: str) -> bool:
        """Withdraw a user's link; see `lamina.links.Links.remove`.

        Raises
        ------
        InvalidArgument, ChunkNotFound, AmbiguousId, VaultReadOnly, VaultLocked, OSError
        """
        return self.links.remove(source, target, relation)

    def used(self, ids: Sequence[str]) -> Results[Link]:
        """Record which chunks an answer used; see `lamina.links.Links.used`.

        Raises
        ------
        InvalidArgument, ChunkNotFound, AmbiguousId, VaultReadOnly, VaultLocked, OSError
        """
        return self.links.used(ids)

    def build_links(
        self,
        kinds: Sequence[LinkKind] | None = None,
        *,
        threshold: float | None = None,
        most: int = 6,
        similar_threshold: float | None = None,
        judge: ChatSpec = None,
        budget: Budget | None = None,
        workers: int = 1,
        ray: str | None = None,
        ray_resources: Mapping[str, float] | None = None,
    ) -> BuildReport:
        """Generate links of some kinds, or of all; see `lamina.links.Links.build`.

        Raises
        ------
        InvalidArgument, InvalidConfig, MissingExtra, ClusterUnreachable, VaultReadOnly, VaultLocked, OSError
        """
        return self.links.build(
            kinds, threshold=threshold, most=most, similar_threshold=similar_threshold, judge=judge, budget=budget,
            workers=workers, ray=ray, ray_resources=ray_resources,
        )  # fmt: skip

    def judge(
        self,
        judge: ChatSpec = None,
        *,
        budget: Budget | None = None,
        over: Sequence[str] = (),
        private: Sequence[str] = (),
    ) -> JudgingReport:
        """Ask a language model for observations of sessions, then for links and causes.

        Observation blocks (decisions, preferences, problems, ...) become chunks in the collection ``observations`` of their
        session, their triples facts. What was asked about once is not asked about again; what could not be asked waits
        for the next run. An excerpt is shown when it is full, or its session over: quiet for half an hour.

        Parameters
        ----------
        judge : mapping or Chat, optional
            ``{"url": ..., "model": ...}`` of an OpenAI-compatible endpoint; by default ``$LAMINA_JUDGE_URL`` and
            ``$LAMINA_JUDGE_MODEL`` (key: ``$LAMINA_JUDGE_KEY``, else ``$OPENAI_API_KEY``).
        budget : Budget, optional
            Limit of requests and tokens; 500,000 tokens by default.
        over : sequence of str
            Sessions that have ended, however short ago.
        private : sequence of str
            Sessions that no model is to see.

        Returns
        -------
        JudgingReport
            With what was made, the questions that still wait, and why it stopped early.

        Raises
        ------
        InvalidConfig
            When no endpoint is configured or usable.
        VaultReadOnly, VaultLocked, OSError

        Examples
        --------
        >>> vault.judge({"url": "http://127.0.0.1:8080/v1", "model": "qwen3"}).observations  # doctest: +SKIP
        4
        """
        from lamina_engine.judging.queue import no_judge, resolve_judge
        from lamina_engine.sessions.judged import judge as judge_waiting

        model = resolve_judge(judge)
        if model is None:
            raise no_judge()
        return judge_waiting(self._memory, model, budget=budget, over=over, private=private)

    def neighbors(
        self,
        id: str | Sequence[str],
        hops: int = 1,
        relations: Sequence[str] | None = None,
        direction: Direction = "both",
        *,
        invalidated: bool = True,
        limit: int = 100,
    ) -> Results[Neighbor]:
        """Return the chunks within some hops of a chunk; see `lamina.links.Links.neighbors`.

        Raises
        ------
        ChunkNotFound, AmbiguousId, InvalidArgument
        """
        return self.links.neighbors(id, hops, relations, direction, invalidated=invalidated, limit=limit)

    def traverse(
        self,
        query: str | Mapping[str, float] | Sequence[str] | None = None,
        intent: Intent | None = None,
        depth: int = 2,
        beam: int = 5,
        budget: int = 30,
        *,
        anchors: Mapping[str, float] | Sequence[str] | None = None,
        relations: Sequence[str] | None = None,
        without: Sequence[str] = (),
        invalidated: bool = True,
    ) -> Results[Neighbor]:
        """Walk best-first from a question or from anchors; see `lamina.links.Links.traverse`.

        Raises
        ------
        ChunkNotFound, AmbiguousId, InvalidArgument, EmbedderMismatch, EmbeddingError, VaultCorrupt
        """
        return self.links.traverse(
            query, intent, depth, beam, budget, anchors=anchors, relations=relations, without=without,
            invalidated=invalidated,
        )  # fmt: skip

    def causes(self, id: str, direction: CauseDirection = "both", depth: int = 5) -> Results[Cause]:
        """Return the causes and the effects of a chunk; see `lamina.links.Links.causes`.

        Raises
        ------
        ChunkNotFound, AmbiguousId, InvalidArgument
        """
        return self.links.causes(id, direction, depth)

    # ------------------------------------------------------------------ sessions and context

    def chain(
        self,
        query: str | Sequence[str] | None = None,
        direction: ChainDirection = "backward",
        token_budget: int = 20_000,
        *,
        seeds: Sequence[str] | None = None,
        agent: str | None = None,
        where: Where | None = None,
        since: Instant | None = None,
        until: Instant | None = None,
        as_of: Instant | None = None,
        now: Instant | None = None,
        vector: ArrayLike | None = None,
        profile: ProfileName | str = "episodic",
        tz: str | None = None,
    ) -> Story:
        """Return the chain of chunks around a hit; see `lamina.sessions.Sessions.chain`.

        Raises
        ------
        InvalidArgument, InvalidConfig, ChunkNotFound, AmbiguousId, EmbedderMismatch, EmbeddingError, VaultCorrupt
        """
        return self.sessions.chain(
            query, direction, token_budget, seeds=seeds, agent=agent, where=where, since=since, until=until,
            as_of=as_of, now=now, vector=vector, profile=profile, tz=tz,
        )  # fmt: skip

    def reconstruct(
        self,
        session: str | None = None,
        *,
        since: Instant | None = None,
        until: Instant | None = None,
        days: float | None = None,
        previous: bool = False,
        project: str | None = None,
        agent: str | None = None,
        mode: StoryMode = "timeline",
        keep: KeepEnd = "newest",
        token_budget: int = 4_000,
        as_of: Instant | None = None,
        now: Instant | None = None,
        tz: str | None = None,
    ) -> Reconstruction:
        """Return a session, or some days, as one text; see `lamina.sessions.Sessions.reconstruct`.

        Raises
        ------
        InvalidArgument, SessionNotFound
        """
        return self.sessions.reconstruct(
            session, since=since, until=until, days=days, previous=previous, project=project, agent=agent, mode=mode,
            keep=keep, token_budget=token_budget, as_of=as_of, now=now, tz=tz,
        )  # fmt: skip

    def bootstrap(
        self,
        session: str | None = None,
        budget: int | None = None,
        *,
        project: str | None = None,
        agent: str | None = None,
        repo: PathLike | None = None,
        now: Instant | None = None,
        trigger: Trigger = "startup",
    ) -> ContextBlock:
        """Return the context block that begins a session; see `lamina.context.Context.bootstrap`.

        Raises
        ------
        InvalidArgument
        """
        return self.context.bootstrap(
            session, budget, project=project, agent=agent, repo=repo, now=now, trigger=trigger
        )

    def inject(
        self,
        prompt: str,
        session: str | None,
        floor: int | None = None,
        ceiling: int | None = None,
        *,
        project: str | None = None,
        repo: PathLike | None = None,
        now: Instant | None = None,
    ) -> ContextBlock:
        """Return the context block for one prompt; see `lamina.context.Context.turn`.

        Raises
        ------
        InvalidArgument
        """
        return self.context.turn(prompt, session, floor, ceiling, project=project, repo=repo, now=now)

    # ------------------------------------------------------------------ topics

    def cluster(
        self,
        min_cluster_size: int = 4,
        min_samples: int | None = None,
        threshold: float | Literal["auto"] = "auto",
        method: ClusterMethod = "auto",
        *,
        selection: ClusterSelection = "topics",
        full: bool = False,
        names: TopicNames = "auto",
        namer: ChatSpec = None,
        budget: Budget | None = None,
        workers: int = 1,
        ray: str | None = None,
        ray_resources: Mapping[str, float] | None = None,
        progress: bool | Callable[[Progress], None] = False,
    ) -> ClusterReport:
        """Find topics, or continue the existing ones; see `lamina.topics.Topics.cluster`.

        Raises
        ------
        InvalidArgument, InvalidConfig, MissingExtra, ClusterUnreachable, VaultReadOnly, VaultLocked, OSError
        """
        return self.topics.cluster(
            min_cluster_size, min_samples, threshold, method, selection=selection, full=full, names=names, namer=namer,
            budget=budget, workers=workers, ray=ray, ray_resources=ray_resources, progress=progress,
        )  # fmt: skip

    def topic(self, id: str) -> TopicMembers:
        """Return one topic with its members, surest first; see `lamina.topics.Topics.get`.

        Raises
        ------
        TopicNotFound
        """
        return self.topics.get(id)

    def topic_map(self, path: PathLike) -> PageReport:
        """Write the map and all that lies on it as one HTML page; see `lamina.topics.Topics.map`.

        Raises
        ------
        InvalidArgument, OSError
        """
        return self.topics.map(path)

    # ------------------------------------------------------------------ freshness

    def refresh(
        self,
        ids: str | Sequence[str] | None = None,
        *,
        where: Where | None = None,
        tier: Tier | None = None,
        collection: str | None = None,
        project: str | None = None,
        needs_review: bool | None = None,
        dry_run: bool = True,
    ) -> RefreshReport:
        """Read the sources of some chunks again; see `lamina.freshness.Freshness.refresh`.

        Raises
        ------
        InvalidArgument, ChunkNotFound, AmbiguousId, InvalidConfig, VaultReadOnly, VaultLocked, OSError
        """
        return self.freshness.refresh(
            ids, where=where, tier=tier, collection=collection, project=project, needs_review=needs_review,
            dry_run=dry_run,
        )  # fmt: skip

    def review(self, id: str, reason: str = "", *, needed: bool = True) -> Chunk:
        """Ask for a review of a chunk, or record one; see `lamina.freshness.Freshness.review`.

        Raises
        ------
        ChunkNotFound, AmbiguousId, InvalidArgument, VaultReadOnly, VaultLocked
        """
        return self.freshness.review(id, reason, needed=needed)

    def snooze(self, id: str, until: Instant | None, *, tz: str | None = None) -> Chunk:
        """Keep a chunk out of recall until a moment; see `lamina.freshness.Freshness.snooze`.

        Raises
        ------
        ChunkNotFound, AmbiguousId, InvalidArgument, VaultReadOnly, VaultLocked
        """
        return self.freshness.snooze(id, until, tz=tz)

    def archive(
        self,
        ids: str | Sequence[str] | None = None,
        *,
        where: Where | None = None,
        after_days: float = 90.0,
        types: Mapping[str, float | None] | None = None,
        tier: Tier | None = None,
        dry_run: bool = True,
    ) -> ArchiveReport:
        """Archive chunks that have not changed lately; see `lamina.freshness.Freshness.archive`.

        Raises
        ------
        InvalidArgument, ChunkNotFound, AmbiguousId, VaultReadOnly, VaultLocked
        """
        return self.freshness.archive(ids, where=where, after_days=after_days, types=types, tier=tier, dry_run=dry_run)

    # ------------------------------------------------------------------ care

    def reindex(
        self,
        embedder: EmbedderSpec = None,
        resume: bool = True,
        engine: IndexName | None = None,
        *,
        accept: bool = False,
        tolerance: float = 0.05,
        batch_rows: int = 2_048,
        drop_old: bool = False,
        workers: int = 1,
        ray: str | None = None,
        ray_resources: Mapping[str, float] | None = None,
        progress: bool | Callable[[Progress], None] = False,
    ) -> ReindexReport:
        """Rebuild every index from the log and swap them in at once.

        Recall and writes continue while it runs.

        Parameters
        ----------
        embedder : Embedder, str, callable or mapping, optional
            Model of the new vectors. By default the vault's own: its vectors stay, and what is derived from them is
            rebuilt.
        resume : bool
            Continue an interrupted run; False makes every vector again.
        engine : {"lexical", "vectors", "keys"}, optional
            Rebuild one index only.
        accept : bool
            Swap even if the new generation recalls less; wrong counts still stop it.
        tolerance : float
            Share of the old generation's recall@10, on the vault's own titles and headings, that the new one may lose.
        batch_rows : int
            Rows per commit: the most that a kill costs.
        drop_old : bool
            Remove the vectors of the former model; otherwise they are kept.
        workers : int
            Processes that embed (bundled models) and analyse; 1 works in this one. See `ingest`.
        ray : str, optional
            Address of a running Ray cluster whose workers embed and analyse instead; needs ``lamina[cluster]``.
        ray_resources : mapping, optional
            Resources of the cluster that each of its tasks reserves beside one CPU, such as ``{"big_memory": 1}``.
        progress : bool or callable
            True shows a bar on stderr (when it is a terminal); a callable receives each step.

        Returns
        -------
        ReindexReport

        Raises
        ------
        ReindexGateError
            When the new generation holds or finds less than it should; the old one stays in use.
        ClusterUnreachable
            When the cluster is not there, or no node of it has the resources. Committed batches are kept.
        InvalidArgument, InvalidConfig, EmbeddingError, VaultReadOnly, VaultLocked, OSError

        Examples
        --------
        >>> report = vault.reindex(engine="lexical")
        """
        from lamina.progress import reporter
        from lamina_engine.executor import open_executor
        from lamina_engine.reindex.job import reindex

        with open_executor(workers, ray, ray_resources) as executor, reporter(progress) as listener:
            return reindex(
                self._memory,
                embedder=embedder,
                resume=resume,
                engine=engine,
                accept=accept,
                tolerance=tolerance,
                batch_rows=batch_rows,
                drop_old=drop_old,
                executor=executor,
                listener=listener,
            )

    def tune(
        self, sample: int = 300, *, write: bool = True, progress: bool | Callable[[Progress], None] = False
    ) -> TuneReport:
        """Learn the share of vectors from the vault's own titles, headings and links.

        Titles, headings and sentences around links are asked of a copy of the sections that has lost them, in a temporary
        folder, with one share of the vector lane after the other. A share that gains more than two standard errors over
        questions that did not choose it is written into ``vault.toml``, for this model alone. A profile's own
        ``vector_share`` still comes first.

        Parameters
        ----------
        sample : int
            Questions, at most, at least 40; up to 2,000 chunks are embedded anew.
        write : bool
            False leaves ``vault.toml`` as it is.
        progress : bool or callable
            True shows a bar on stderr (when it is a terminal); a callable receives each step.

        Returns
        -------
        TuneReport
            Share before and best share, gain and its standard error, and whether it was written.

        Raises
        ------
        InvalidArgument
            Where there are no vectors, or fewer than 40 titles, headings and links to ask by.
        EmbeddingError, InvalidConfig, VaultReadOnly, VaultLocked

        Examples
        --------
        >>> report = notes.tune(write=False)  # doctest: +SKIP
        """
        from lamina.progress import reporter
        from lamina_engine.evaluation.tuning import tune_share
        from lamina_engine.reports import ProgressReporter

        with reporter(progress) as listener:
            return tune_share(self._memory, sample=sample, write=write, progress=ProgressReporter(listener))

    def compact(self) -> CompactReport:
        """Join small files of the log; history, row numbers and readers are not affected.

        Returns
        -------
        CompactReport

        Raises
        ------
        VaultReadOnly, VaultLocked, OSError

        Examples
        --------
        >>> report = vault.compact()
        """
        from lamina_engine.care.compaction import compact

        return compact(self._memory)

    def snapshot(self, path: PathLike) -> BackupReport:
        """Copy the newest version into an empty or new folder, as a vault of its own.

        Parameters
        ----------
        path : path
            Folder of the copy.

        Returns
        -------
        BackupReport

        Raises
        ------
        VaultExists, VaultReadOnly, InvalidArgument, VaultCorrupt, OSError
            The partial copy is removed.

        Examples
        --------
        >>> import tempfile
        >>> report = vault.snapshot(tempfile.mkdtemp())
        """
        from lamina_engine.care.backup import backup

        self._memory.check_open()
        return backup(self._memory, path_of(path))

    def shard(self, address: PathLike, shards: int = 8, *, by: ShardKey = "source") -> ShardReport:
        """Copy the vault into a new sharded one, which gives the same answers.

        The vault stays as it is. It may be sharded itself: the copy then has another number of shards.

        Parameters
        ----------
        address : path
            An empty or new folder, or an address on object storage.
        shards : int
            Number of shards, 1 to 256.
        by : {"source", "project"}
            What is kept together in one shard.

        Returns
        -------
        ShardReport

        Raises
        ------
        InvalidArgument, VaultExists, VaultCorrupt, StoreUnreachable, StoreDenied, StoreUnsafe, MissingExtra

        Examples
        --------
        >>> import tempfile
        >>> report = vault.shard(tempfile.mkdtemp(), shards=2)
        >>> report.shards
        2
        """
        from lamina_engine.shards.making import shard_vault

        self._memory.check_open()
        root, files = vault_place(address if isinstance(address, str) else path_of(address))
        return shard_vault(self._memory, root, files, shards=shards, by=by)

    def verify(self, deep: bool = False, *, repair: bool = False) -> VerifyReport:
        """Check that the vault is what was written.

        Parameters
        ----------
        deep : bool
            Read every byte of the log and the indexes; otherwise names, sizes and order are checked.
        repair : bool
            Write damaged files of the log again with what can be read of them; point CURRENT to the newest complete version
            where it is lost; remove damaged index files and older manifests.

        Returns
        -------
        VerifyReport
            ``ok``, ``checked`` and ``problems``: what is wrong, which rows are affected, and what to do. ``repaired`` names what
            was done, and each row that is lost.

        Raises
        ------
        VaultReadOnly, VaultLocked
            When a repair cannot write.

        Notes
        -----
        Rows keep their numbers: a lost one leaves a tombstone, as a forgotten one does. Each damaged file is copied beside itself
        first (``*.damaged``; ``forget`` removes the copies). Sharded vaults and object storage are not repaired so.

        Examples
        --------
        >>> vault.verify().ok
        True
        """
        from lamina_engine.care.verify import verify

        self._memory.check_open()
        return verify(self._memory, deep=flag_of(deep, "deep"), repair=flag_of(repair, "repair"))

    def stats(self) -> Stats:
        """Return counts and sizes: the document of ``lamina stats --json``.

        Returns
        -------
        dict
            `content` has those of what the vault holds now, without sizes, versions and indexes: a vault that was exported
            and imported has the same.

        Raises
        ------
        VaultCorrupt

        Examples
        --------
        >>> vault.stats()["chunks"]
        3
        """
        from lamina_engine.stats import stats

        return stats(self._memory)

    def content(self) -> ContentStats:
        """Return counts of what the vault holds now; see ``lamina stats --content --json``.

        Two vaults that hold the same have the same, whatever they held before and however it lies on disk.

        Returns
        -------
        dict

        Raises
        ------
        VaultCorrupt

        Examples
        --------
        >>> vault.content()["status"]
        {'active': 3, 'invalidated': 0, 'removed': 0, 'archived': 0}
        """
        from lamina_engine.stats import content

        return content(self._memory)

    def export(self, path: PathLike, format: ExportFormat | None = None, *, where: Where | None = None) -> int:
        """Write everything in the vault to a file; return the number of chunks.

        Chunks with what happened to them, sources, entities and facts, links, topics: `import_` restores them. Older
        versions of chunks are left out; `snapshot` copies them too.

        Parameters
        ----------
        path : path
            The file; it appears complete or not at all.
        format : str
            ``jsonl`` or ``parquet``, by default taken from the file's suffix; ``clawpy`` (tasks and their links);
            ``facts`` (entities and facts) or ``links`` alone as JSON lines; ``graph-json`` for the viewer. The last
            three return their own counts.
        where : mapping, optional
            A filter: only chunks it accepts are written, and the links between them.

        Returns
        -------
        int

        Raises
        ------
        InvalidArgument, OSError

        Examples
        --------
        >>> import tempfile
        >>> vault.export(tempfile.mkdtemp() + "/chunks.jsonl")
        3
        """
        from lamina_engine.transfer.exporting import export

        return export(self._memory, path_of(path), format, where)

    def import_(self, path: PathLike, *, forgotten: bool = False) -> builtins.list[str]:
        """Read a file that `export` wrote: ids, dates, states and reasons are kept.

        What this vault has seen before, its own chunks or those of an earlier import from the same vault, stays as it
        is now: an older export brings nothing back that was forgotten or edited since.

        Parameters
        ----------
        path : path
            The file.
        forgotten : bool
            Bring back what was forgotten here.

        Returns
        -------
        list of str
            Ids of the chunks in the file; empty for facts and links.

        Raises
        ------
        IngestError, InvalidArgument, EmbedderMismatch, VaultReadOnly, VaultLocked, OSError

        Examples
        --------
        >>> import tempfile
        >>> path = tempfile.mkdtemp() + "/chunks.jsonl"
        >>> _ = vault.export(path)
        >>> len(vault.import_(path))
        3
        """
        from lamina_engine.transfer.importing import import_

        return import_(self._memory, path_of(path), forgotten=flag_of(forgotten, "forgotten"))

"""The awaitable vault: the surface of `lamina.Vault`, each call in a thread of its own.

Generated from the synchronous classes by ``bindings/generate_async.py``; do not edit.
"""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import Coroutine, Generator
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self, overload

from lamina.vault import Vault, open_vault

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import Unpack

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
        ObjectKind,
        OnConflict,
        OpenMode,
        PathLike,
        ProfileName,
        RankOptions,
        RecallOptions,
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
    from lamina.results import Answers, Hits, Results
    from lamina.sessions import Sessions
    from lamina.topics import Topics
    from lamina_engine.care.backup import BackupReport
    from lamina_engine.care.compaction import CompactReport
    from lamina_engine.care.forgetting import ForgetReport
    from lamina_engine.care.verify import VerifyReport
    from lamina_engine.clock import Clock, Instant
    from lamina_engine.context.rendering import ContextBlock
    from lamina_engine.embed.chat import Budget, ChatSpec
    from lamina_engine.embed.resolve import EmbedderSpec
    from lamina_engine.evaluation.tuning import TuneReport
    from lamina_engine.facts.extract import ExtractReport
    from lamina_engine.facts.predicates import Declaration, Predicate
    from lamina_engine.facts.schema import Alias, Entity, Resolution
    from lamina_engine.facts.seeding import SeedReport
    from lamina_engine.freshness.archive import ArchiveReport
    from lamina_engine.freshness.refresh import RefreshReport
    from lamina_engine.freshness.report import FreshnessReport
    from lamina_engine.graph.generators import BuildReport
    from lamina_engine.recall.absence import Absence
    from lamina_engine.recall.diff import Diff
    from lamina_engine.redact.redactor import Redactor
    from lamina_engine.reports import IngestReport, Progress, ReindexReport
    from lamina_engine.results import (
        Cause,
        Chunk,
        Contradiction,
        Event,
        Fact,
        FactsReport,
        Link,
        Neighbor,
        Project,
        Reconstruction,
        Session,
        Story,
        Timeline,
        UnresolvedLink,
    )
    from lamina_engine.sessions.judged import JudgingReport
    from lamina_engine.shards.making import ShardReport
    from lamina_engine.stats import ContentStats, Stats
    from lamina_engine.topics.catalog import Topic, TopicMembers
    from lamina_engine.topics.clustering import ClusterReport


def aopen(
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
) -> Opening:
    """Open a vault without blocking the event loop; the arguments are those of `lamina.open`.

    Returns
    -------
    Opening
        To be awaited, or entered at once: ``async with lamina.aopen("vault/") as vault``.
    """

    async def opened() -> AsyncVault:
        return AsyncVault(
            await asyncio.to_thread(
                open_vault,
                path,
                mode=mode,
                create=create,
                embedder=embedder,
                clock=clock,
                redactor=redactor,
                trust=trust,
                lock_timeout_s=lock_timeout_s,
                settings=settings,
                incomplete=incomplete,
            )
        )

    return Opening(opened())


class Opening(Coroutine[object, object, "AsyncVault"]):
    """A vault that is being opened: a coroutine, and a context manager that closes the vault."""

    def __init__(self, coroutine: Coroutine[object, object, AsyncVault]) -> None:
        self._coroutine = coroutine
        self._vault: AsyncVault | None = None

    def __await__(self) -> Generator[object, object, AsyncVault]:
        return self._coroutine.__await__()

    def send(self, value: object) -> object:
        """Resume; see `collections.abc.Coroutine`."""
        return self._coroutine.send(value)

    @overload
    def throw(
        self, typ: type[BaseException], val: BaseException | object = None, tb: TracebackType | None = None, /
    ) -> object: ...
    @overload
    def throw(self, typ: BaseException, val: None = None, tb: TracebackType | None = None, /) -> object: ...
    def throw(
        self,
        typ: type[BaseException] | BaseException,
        val: BaseException | object = None,
        tb: TracebackType | None = None,
        /,
    ) -> object:
        """Raise inside; see `collections.abc.Coroutine`."""
        error = typ if isinstance(typ, BaseException) else val if isinstance(val, BaseException) else typ()
        return self._coroutine.throw(error)

    def close(self) -> None:
        """Cancel; see `collections.abc.Coroutine`."""
        self._coroutine.close()

    async def __aenter__(self) -> AsyncVault:
        self._vault = await self
        return self._vault

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._vault is not None:
            await self._vault.close()


class AsyncVault:
    """A vault with awaitable calls; made by `lamina.aopen`.

    Accessors are not awaited; their calls are.
    """

    def __init__(self, vault: Vault) -> None:
        self.vault: Vault = vault
        """The synchronous vault."""

    def __repr__(self) -> str:
        return f"<Async{repr(self.vault)[1:]}"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def path(self) -> Path:
        """Folder of the vault."""
        return self.vault.path

    @cached_property
    def facts(self) -> AsyncFacts:
        """The accessor; its calls are awaited. See `lamina.facts.Facts`."""
        return AsyncFacts(self.vault.facts)

    @cached_property
    def links(self) -> AsyncLinks:
        """The accessor; its calls are awaited. See `lamina.links.Links`."""
        return AsyncLinks(self.vault.links)

    @cached_property
    def topics(self) -> AsyncTopics:
        """The accessor; its calls are awaited. See `lamina.topics.Topics`."""
        return AsyncTopics(self.vault.topics)

    @cached_property
    def sessions(self) -> AsyncSessions:
        """The accessor; its calls are awaited. See `lamina.sessions.Sessions`."""
        return AsyncSessions(self.vault.sessions)

    @cached_property
    def context(self) -> AsyncContext:
        """The accessor; its calls are awaited. See `lamina.context.Context`."""
        return AsyncContext(self.vault.context)

    @cached_property
    def freshness(self) -> AsyncFreshness:
        """The accessor; its calls are awaited. See `lamina.freshness.Freshness`."""
        return AsyncFreshness(self.vault.freshness)

    async def close(self) -> None:
        """Release files and threads; a closed vault cannot be used again.

        See `Vault.close`.
        """
        return await asyncio.to_thread(
            self.vault.close,
        )

    async def add(
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

        See `Vault.add`.
        """
        return await asyncio.to_thread(self.vault.add, records, links=links, on_conflict=on_conflict, **fields)

    async def ingest(
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

        See `Vault.ingest`.
        """
        return await asyncio.to_thread(
            self.vault.ingest,
            path,
            kind=kind,
            collection=collection,
            type=type,
            project=project,
            columns=columns,
            links=links,
            recover=recover,
            facts=facts,
            workers=workers,
            ray=ray,
            ray_resources=ray_resources,
            progress=progress,
        )

    async def follow(
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

        See `Vault.follow`.
        """
        return await asyncio.to_thread(
            self.vault.follow,
            path,
            kind=kind,
            collection=collection,
            type=type,
            project=project,
            columns=columns,
            links=links,
            recover=recover,
            settled_s=settled_s,
            stop=stop,
        )

    async def update(self, id: str, **changes: object) -> Chunk:
        """Write a new version of a chunk under the same id; fields that are not named stay.

        See `Vault.update`.
        """
        return await asyncio.to_thread(self.vault.update, id, **changes)

    async def invalidate(self, id: str, reason: str, stamp: str = "") -> Chunk:
        """Mark a chunk as no longer true: recall leaves it out unless a filter names its status.

        See `Vault.invalidate`.
        """
        return await asyncio.to_thread(self.vault.invalidate, id, reason, stamp)

    async def restore(self, id: str, reason: str | None = None) -> Chunk:
        """Make an invalidated, removed or archived chunk current again, and wake a snoozed one.

        See `Vault.restore`.
        """
        return await asyncio.to_thread(self.vault.restore, id, reason)

    async def pin(self, id: str, *, pinned: bool = True) -> Chunk:
        """Pin a chunk, or unpin it; a pinned chunk never ages out of recall.

        See `Vault.pin`.
        """
        return await asyncio.to_thread(self.vault.pin, id, pinned=pinned)

    async def forget(
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

        See `Vault.forget`.
        """
        return await asyncio.to_thread(
            self.vault.forget, what, dry_run, where=where, ids=ids, query=query, threshold=threshold
        )

    async def recall(
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

        See `Vault.recall`.
        """
        return await asyncio.to_thread(
            self.vault.recall,
            query,
            k,
            profile=profile,
            where=where,
            since=since,
            until=until,
            as_of=as_of,
            now=now,
            token_budget=token_budget,
            lanes=lanes,
            vector=vector,
            intent=intent,
            session=session,
            time=time,
            scope=scope,
            tz=tz,
            syntax=syntax,
            offset=offset,
            fill=fill,
            per_source=per_source,
            min_confidence=min_confidence,
            candidates=candidates,
        )

    async def why_not(self, query: str, id: str, **options: Unpack[RecallOptions]) -> Absence:
        """Return why a chunk is not among the hits of a question, and what would bring it in.

        See `Vault.why_not`.
        """
        return await asyncio.to_thread(self.vault.why_not, query, id, **options)

    async def diff(
        self,
        query: str | None = None,
        *,
        since: Instant,
        until: Instant | None = None,
        budget: int | None = None,
        **options: Unpack[RankOptions],
    ) -> Diff:
        """Return what changed between two moments: hits of a question, or all that was learnt.

        See `Vault.diff`.
        """
        return await asyncio.to_thread(self.vault.diff, query, since=since, until=until, budget=budget, **options)

    async def get(self, id: str) -> Chunk:
        """Return a chunk as it is now, by its id or an unambiguous short id (``#a1b2c3``).

        See `Vault.get`.
        """
        return await asyncio.to_thread(self.vault.get, id)

    async def get_many(self, ids: Iterable[str]) -> Results[Chunk]:
        """Return several chunks, in the order of the ids.

        See `Vault.get_many`.
        """
        return await asyncio.to_thread(self.vault.get_many, ids)

    async def vectors(self, ids: Iterable[str]) -> NDArray[np.float32]:
        """Return the vectors of chunks, in the order of the ids.

        See `Vault.vectors`.
        """
        return await asyncio.to_thread(self.vault.vectors, ids)

    async def history(self, id: str) -> Results[Event]:
        """Return the versions of a chunk and the events of its life, oldest first.

        See `Vault.history`.
        """
        return await asyncio.to_thread(self.vault.history, id)

    async def list(self, where: Where | None = None, limit: int | None = 100, *, offset: int = 0) -> Results[Chunk]:
        """Return the chunks that a filter accepts, newest first.

        See `Vault.list`.
        """
        return await asyncio.to_thread(self.vault.list, where, limit, offset=offset)

    async def count(self, where: Where | None = None) -> int:
        """Return how many chunks a filter accepts.

        See `Vault.count`.
        """
        return await asyncio.to_thread(self.vault.count, where)

    async def projects(self) -> Results[Project]:
        """Return the projects of the current chunks, the largest first.

        See `Vault.projects`.
        """
        return await asyncio.to_thread(
            self.vault.projects,
        )

    async def to_arrow(self, where: Where | None = None) -> pa.Table:
        """Return the chunks that a filter accepts as an Arrow table, newest first.

        See `Vault.to_arrow`.
        """
        return await asyncio.to_thread(self.vault.to_arrow, where)

    async def timeline(self, id: str, before: int = 5, after: int = 5, *, same_collection: bool = False) -> Timeline:
        """Return a chunk and its neighbours in time.

        See `Vault.timeline`.
        """
        return await asyncio.to_thread(self.vault.timeline, id, before, after, same_collection=same_collection)

    async def similar(self, id: str, k: int = 5) -> Results[Neighbor]:
        """Return the chunks with the nearest vectors.

        See `Vault.similar`.
        """
        return await asyncio.to_thread(self.vault.similar, id, k)

    async def link(
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
        """Link two chunks.

        See `Vault.link`.
        """
        return await asyncio.to_thread(
            self.vault.link, source, target, relation, weight, note, created_at, update=update
        )

    async def unlink(self, source: str, target: str, relation: str) -> bool:
        """Withdraw a user's link.

        See `Vault.unlink`.
        """
        return await asyncio.to_thread(self.vault.unlink, source, target, relation)

    async def used(self, ids: Sequence[str]) -> Results[Link]:
        """Record which chunks an answer used.

        See `Vault.used`.
        """
        return await asyncio.to_thread(self.vault.used, ids)

    async def build_links(
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
        """Generate links of some kinds, or of all.

        See `Vault.build_links`.
        """
        return await asyncio.to_thread(
            self.vault.build_links,
            kinds,
            threshold=threshold,
            most=most,
            similar_threshold=similar_threshold,
            judge=judge,
            budget=budget,
            workers=workers,
            ray=ray,
            ray_resources=ray_resources,
        )

    async def judge(
        self,
        judge: ChatSpec = None,
        *,
        budget: Budget | None = None,
        over: Sequence[str] = (),
        private: Sequence[str] = (),
    ) -> JudgingReport:
        """Ask a language model for observations of sessions, then for links and causes.

        See `Vault.judge`.
        """
        return await asyncio.to_thread(self.vault.judge, judge, budget=budget, over=over, private=private)

    async def neighbors(
        self,
        id: str | Sequence[str],
        hops: int = 1,
        relations: Sequence[str] | None = None,
        direction: Direction = "both",
        *,
        invalidated: bool = True,
        limit: int = 100,
    ) -> Results[Neighbor]:
        """Return the chunks within some hops of a chunk.

        See `Vault.neighbors`.
        """
        return await asyncio.to_thread(
            self.vault.neighbors, id, hops, relations, direction, invalidated=invalidated, limit=limit
        )

    async def traverse(
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
        """Walk best-first from a question or from anchors.

        See `Vault.traverse`.
        """
        return await asyncio.to_thread(
            self.vault.traverse,
            query,
            intent,
            depth,
            beam,
            budget,
            anchors=anchors,
            relations=relations,
            without=without,
            invalidated=invalidated,
        )

    async def causes(self, id: str, direction: CauseDirection = "both", depth: int = 5) -> Results[Cause]:
        """Return the causes and the effects of a chunk.

        See `Vault.causes`.
        """
        return await asyncio.to_thread(self.vault.causes, id, direction, depth)

    async def chain(
        self,
        query: str | Sequence[str] | None = None,
        direction: ChainDirection = "backward",
        token_budget: int = 20000,
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
        """Return the chain of chunks around a hit.

        See `Vault.chain`.
        """
        return await asyncio.to_thread(
            self.vault.chain,
            query,
            direction,
            token_budget,
            seeds=seeds,
            agent=agent,
            where=where,
            since=since,
            until=until,
            as_of=as_of,
            now=now,
            vector=vector,
            profile=profile,
            tz=tz,
        )

    async def reconstruct(
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
        token_budget: int = 4000,
        as_of: Instant | None = None,
        now: Instant | None = None,
        tz: str | None = None,
    ) -> Reconstruction:
        """Return a session, or some days, as one text.

        See `Vault.reconstruct`.
        """
        return await asyncio.to_thread(
            self.vault.reconstruct,
            session,
            since=since,
            until=until,
            days=days,
            previous=previous,
            project=project,
            agent=agent,
            mode=mode,
            keep=keep,
            token_budget=token_budget,
            as_of=as_of,
            now=now,
            tz=tz,
        )

    async def bootstrap(
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
        """Return the context block that begins a session.

        See `Vault.bootstrap`.
        """
        return await asyncio.to_thread(
            self.vault.bootstrap, session, budget, project=project, agent=agent, repo=repo, now=now, trigger=trigger
        )

    async def inject(
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
        """Return the context block for one prompt.

        See `Vault.inject`.
        """
        return await asyncio.to_thread(
            self.vault.inject, prompt, session, floor, ceiling, project=project, repo=repo, now=now
        )

    async def cluster(
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
        """Find topics, or continue the existing ones.

        See `Vault.cluster`.
        """
        return await asyncio.to_thread(
            self.vault.cluster,
            min_cluster_size,
            min_samples,
            threshold,
            method,
            selection=selection,
            full=full,
            names=names,
            namer=namer,
            budget=budget,
            workers=workers,
            ray=ray,
            ray_resources=ray_resources,
            progress=progress,
        )

    async def topic(self, id: str) -> TopicMembers:
        """Return one topic with its members, surest first.

        See `Vault.topic`.
        """
        return await asyncio.to_thread(self.vault.topic, id)

    async def topic_map(self, path: PathLike) -> PageReport:
        """Write the map and all that lies on it as one HTML page.

        See `Vault.topic_map`.
        """
        return await asyncio.to_thread(self.vault.topic_map, path)

    async def refresh(
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
        """Read the sources of some chunks again.

        See `Vault.refresh`.
        """
        return await asyncio.to_thread(
            self.vault.refresh,
            ids,
            where=where,
            tier=tier,
            collection=collection,
            project=project,
            needs_review=needs_review,
            dry_run=dry_run,
        )

    async def review(self, id: str, reason: str = "", *, needed: bool = True) -> Chunk:
        """Ask for a review of a chunk, or record one.

        See `Vault.review`.
        """
        return await asyncio.to_thread(self.vault.review, id, reason, needed=needed)

    async def snooze(self, id: str, until: Instant | None, *, tz: str | None = None) -> Chunk:
        """Keep a chunk out of recall until a moment.

        See `Vault.snooze`.
        """
        return await asyncio.to_thread(self.vault.snooze, id, until, tz=tz)

    async def archive(
        self,
        ids: str | Sequence[str] | None = None,
        *,
        where: Where | None = None,
        after_days: float = 90.0,
        types: Mapping[str, float | None] | None = None,
        tier: Tier | None = None,
        dry_run: bool = True,
    ) -> ArchiveReport:
        """Archive chunks that have not changed lately.

        See `Vault.archive`.
        """
        return await asyncio.to_thread(
            self.vault.archive, ids, where=where, after_days=after_days, types=types, tier=tier, dry_run=dry_run
        )

    async def reindex(
        self,
        embedder: EmbedderSpec = None,
        resume: bool = True,
        engine: IndexName | None = None,
        *,
        accept: bool = False,
        tolerance: float = 0.05,
        batch_rows: int = 2048,
        drop_old: bool = False,
        workers: int = 1,
        ray: str | None = None,
        ray_resources: Mapping[str, float] | None = None,
        progress: bool | Callable[[Progress], None] = False,
    ) -> ReindexReport:
        """Rebuild every index from the log and swap them in at once.

        See `Vault.reindex`.
        """
        return await asyncio.to_thread(
            self.vault.reindex,
            embedder,
            resume,
            engine,
            accept=accept,
            tolerance=tolerance,
            batch_rows=batch_rows,
            drop_old=drop_old,
            workers=workers,
            ray=ray,
            ray_resources=ray_resources,
            progress=progress,
        )

    async def tune(
        self, sample: int = 300, *, write: bool = True, progress: bool | Callable[[Progress], None] = False
    ) -> TuneReport:
        """Learn the share of vectors from the vault's own titles, headings and links.

        See `Vault.tune`.
        """
        return await asyncio.to_thread(self.vault.tune, sample, write=write, progress=progress)

    async def compact(self) -> CompactReport:
        """Join small files of the log; history, row numbers and readers are not affected.

        See `Vault.compact`.
        """
        return await asyncio.to_thread(
            self.vault.compact,
        )

    async def snapshot(self, path: PathLike) -> BackupReport:
        """Copy the newest version into an empty or new folder, as a vault of its own.

        See `Vault.snapshot`.
        """
        return await asyncio.to_thread(self.vault.snapshot, path)

    async def shard(self, address: PathLike, shards: int = 8, *, by: ShardKey = "source") -> ShardReport:
        """Copy the vault into a new sharded one, which gives the same answers.

        See `Vault.shard`.
        """
        return await asyncio.to_thread(self.vault.shard, address, shards, by=by)

    async def verify(self, deep: bool = False, *, repair: bool = False) -> VerifyReport:
        """Check that the vault is what was written.

        See `Vault.verify`.
        """
        return await asyncio.to_thread(self.vault.verify, deep, repair=repair)

    async def stats(self) -> Stats:
        """Return counts and sizes: the document of ``lamina stats --json``.

        See `Vault.stats`.
        """
        return await asyncio.to_thread(
            self.vault.stats,
        )

    async def content(self) -> ContentStats:
        """Return counts of what the vault holds now.

        See `Vault.content`.
        """
        return await asyncio.to_thread(
            self.vault.content,
        )

    async def export(self, path: PathLike, format: ExportFormat | None = None, *, where: Where | None = None) -> int:
        """Write everything in the vault to a file; return the number of chunks.

        See `Vault.export`.
        """
        return await asyncio.to_thread(self.vault.export, path, format, where=where)

    async def import_(self, path: PathLike, *, forgotten: bool = False) -> builtins.list[str]:
        """Read a file that `export` wrote: ids, dates, states and reasons are kept.

        See `Vault.import_`.
        """
        return await asyncio.to_thread(self.vault.import_, path, forgotten=forgotten)


class AsyncFacts:
    """`lamina.facts.Facts` with calls that are awaited."""

    def __init__(self, accessor: Facts) -> None:
        self._sync = accessor

    def __repr__(self) -> str:
        return f"<Async{repr(self._sync)[1:]}"

    async def __call__(
        self,
        subject: str | None = None,
        predicate: str | None = None,
        object: str | None = None,
        *,
        valid_at: Instant | None = None,
        history: bool = False,
        category: str | None = None,
        limit: int | None = 100,
    ) -> Results[Fact]:
        """Return facts by subject, predicate and object; the same as `list`.

        See `Facts`.
        """
        return await asyncio.to_thread(
            self._sync, subject, predicate, object, valid_at=valid_at, history=history, category=category, limit=limit
        )

    async def ask(
        self,
        question: str,
        k: int = 6,
        *,
        valid_at: Instant | None = None,
        as_of: Instant | None = None,
        identity: str | None = None,
        fuzzy: bool = False,
    ) -> Answers:
        """Answer a question from the facts, best first, else from a sentence that states it.

        See `Facts.ask`.
        """
        return await asyncio.to_thread(
            self._sync.ask, question, k, valid_at=valid_at, as_of=as_of, identity=identity, fuzzy=fuzzy
        )

    async def about(
        self,
        entity: str,
        valid_at: Instant | None = None,
        as_of: Instant | None = None,
        direction: Direction = "both",
        *,
        predicates: Collection[str] | None = None,
        history: bool = False,
        type: str | None = None,
    ) -> Results[Fact]:
        """Return the facts of an entity: as subject, then as object; by predicate, earliest first.

        See `Facts.about`.
        """
        return await asyncio.to_thread(
            self._sync.about, entity, valid_at, as_of, direction, predicates=predicates, history=history, type=type
        )

    async def list(
        self,
        subject: str | None = None,
        predicate: str | None = None,
        object: str | None = None,
        *,
        valid_at: Instant | None = None,
        history: bool = False,
        category: str | None = None,
        limit: int | None = 100,
    ) -> Results[Fact]:
        """Return facts by subject, predicate and object, in the order in which they were written.

        See `Facts.list`.
        """
        return await asyncio.to_thread(
            self._sync.list,
            subject,
            predicate,
            object,
            valid_at=valid_at,
            history=history,
            category=category,
            limit=limit,
        )

    async def contradictions(
        self, *, judge: ChatSpec | Literal[True] = None, budget: Budget | None = None
    ) -> Results[Contradiction]:
        """Return the pairs of facts that contradict or update each other, oldest finding first.

        See `Facts.contradictions`.
        """
        return await asyncio.to_thread(self._sync.contradictions, judge=judge, budget=budget)

    async def add(
        self,
        subject: str,
        predicate: str,
        object: str | int | float,
        valid_from: Instant | None = None,
        valid_to: Instant | None = None,
        source: str | None = None,
        confidence: float = 1.0,
        *,
        weight: float = 1.0,
        kind: ObjectKind = "auto",
        type: str | None = None,
        object_type: str | None = None,
        category: str | None = None,
        strict: bool = False,
    ) -> Fact:
        """Add a fact; one that is there already is left alone.

        See `Facts.add`.
        """
        return await asyncio.to_thread(
            self._sync.add,
            subject,
            predicate,
            object,
            valid_from,
            valid_to,
            source,
            confidence,
            weight=weight,
            kind=kind,
            type=type,
            object_type=object_type,
            category=category,
            strict=strict,
        )

    async def add_many(
        self,
        records: Iterable[Mapping[str, object]] | ArrowStream,
        *,
        origin: str = "user",
        strict: bool = False,
        skip_bad: bool = True,
        index: bool = True,
    ) -> FactsReport:
        """Add many facts in one commit.

        See `Facts.add_many`.
        """
        return await asyncio.to_thread(
            self._sync.add_many, records, origin=origin, strict=strict, skip_bad=skip_bad, index=index
        )

    async def close(
        self, subject: str, predicate: str, object: str | None = None, valid_to: Instant | None = None
    ) -> int:
        """End open facts: one value, or all values of a predicate. Return the number of facts ended.

        See `Facts.close`.
        """
        return await asyncio.to_thread(self._sync.close, subject, predicate, object, valid_to)

    async def retract(self, ids: int | Sequence[int]) -> int:
        """Retract facts that were never true; return how many were still held.

        See `Facts.retract`.
        """
        return await asyncio.to_thread(self._sync.retract, ids)

    async def declare(
        self,
        predicate: str,
        *,
        functional: bool | None = None,
        inverse: str | None = None,
        object: Literal["any", "entity", "literal"] | None = None,
    ) -> Declaration:
        """Register a predicate, or change its registration.

        See `Facts.declare`.
        """
        return await asyncio.to_thread(
            self._sync.declare, predicate, functional=functional, inverse=inverse, object=object
        )

    async def predicates(self, *, used: bool = False) -> Results[Predicate]:
        """Return the registered predicates by name, with the number of values each may have.

        See `Facts.predicates`.
        """
        return await asyncio.to_thread(self._sync.predicates, used=used)

    async def entities(self, type: str | None = None) -> Results[Entity]:
        """Return the entities by name, with their aliases.

        See `Facts.entities`.
        """
        return await asyncio.to_thread(self._sync.entities, type)

    async def aliases(self, entity: str | None = None, *, type: str | None = None) -> Results[Alias]:
        """Return the aliases of all entities, by entity; or of one.

        See `Facts.aliases`.
        """
        return await asyncio.to_thread(self._sync.aliases, entity, type=type)

    async def add_entity(self, name: str, type: str | None = None, aliases: Sequence[str] = ()) -> Entity:
        """Create an entity, or return the existing one; with other names of its own.

        See `Facts.add_entity`.
        """
        return await asyncio.to_thread(self._sync.add_entity, name, type, aliases)

    async def alias(self, alias: str, entity: str, *, type: str | None = None) -> Entity:
        """Give an entity another name; a name of several entities is ambiguous.

        See `Facts.alias`.
        """
        return await asyncio.to_thread(self._sync.alias, alias, entity, type=type)

    async def unalias(self, alias: str, entity: str | None = None) -> int:
        """Remove a name from one entity, or from all that have it; return how many lost it.

        See `Facts.unalias`.
        """
        return await asyncio.to_thread(self._sync.unalias, alias, entity)

    async def merge(self, entity: str, into: str) -> Entity:
        """Merge one entity into another, with its names, aliases and facts.

        See `Facts.merge`.
        """
        return await asyncio.to_thread(self._sync.merge, entity, into)

    async def resolve(
        self,
        name: str,
        *,
        type: str | None = None,
        part: bool = False,
        prefix: bool = False,
        edits: bool = False,
        as_of: Instant | None = None,
    ) -> Resolution:
        """Return all entities that a name may mean, and how it was resolved.

        See `Facts.resolve`.
        """
        return await asyncio.to_thread(
            self._sync.resolve, name, type=type, part=part, prefix=prefix, edits=edits, as_of=as_of
        )

    async def entity(self, name_or_id: str, *, type: str | None = None) -> Entity:
        """Return the one entity of a name, an alias or a canonical id.

        See `Facts.entity`.
        """
        return await asyncio.to_thread(self._sync.entity, name_or_id, type=type)

    async def graph(
        self,
        center: str | None = None,
        hops: int = 2,
        limit: int | None = None,
        *,
        valid_at: Instant | None = None,
        as_of: Instant | None = None,
        history: bool = False,
    ) -> dict[str, object]:
        """Return entities and relations as the document of a ``graph-json`` export, whole or a part.

        See `Facts.graph`.
        """
        return await asyncio.to_thread(
            self._sync.graph, center, hops, limit, valid_at=valid_at, as_of=as_of, history=history
        )

    async def extract(
        self,
        text: str | None = None,
        *,
        source: str | None = None,
        session: str | None = None,
        collection: str | None = None,
        created_at: Instant | None = None,
        judge: ChatSpec | Literal[True] = None,
        budget: Budget | None = None,
    ) -> ExtractReport:
        """Extract facts from the observations of a text, or from the fields of the vault's notes.

        See `Facts.extract`.
        """
        return await asyncio.to_thread(
            self._sync.extract,
            text,
            source=source,
            session=session,
            collection=collection,
            created_at=created_at,
            judge=judge,
            budget=budget,
        )

    async def seed(self, path: PathLike, *, strict: bool = False) -> SeedReport:
        """Read a seed file (TOML or YAML) of entities, aliases, facts and relations.

        See `Facts.seed`.
        """
        return await asyncio.to_thread(self._sync.seed, path, strict=strict)

    async def load(self, path: PathLike) -> SeedReport:
        """Read an openclaw ``facts.db``, or facts that `lamina.Vault.export` wrote.

        See `Facts.load`.
        """
        return await asyncio.to_thread(self._sync.load, path)


class AsyncLinks:
    """`lamina.links.Links` with calls that are awaited."""

    def __init__(self, accessor: Links) -> None:
        self._sync = accessor

    def __repr__(self) -> str:
        return f"<Async{repr(self._sync)[1:]}"

    async def __call__(
        self, id: str, direction: Direction = "both", relations: Sequence[str] | None = None, *, hidden: bool = False
    ) -> Results[Link]:
        """Return the links of a chunk: outward ones first, then by relation and id.

        See `Links`.
        """
        return await asyncio.to_thread(self._sync, id, direction, relations, hidden=hidden)

    async def add(
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
        """Link two chunks; a link that is there keeps its weight, note and date unless ``update``.

        See `Links.add`.
        """
        return await asyncio.to_thread(
            self._sync.add, source, target, relation, weight, note, created_at, update=update
        )

    async def remove(self, source: str, target: str, relation: str) -> bool:
        """Withdraw a user's link; a generator's link between the same chunks stays.

        See `Links.remove`.
        """
        return await asyncio.to_thread(self._sync.remove, source, target, relation)

    async def used(self, ids: Sequence[str]) -> Results[Link]:
        """Record which chunks an answer used: chunks that are used together become linked.

        See `Links.used`.
        """
        return await asyncio.to_thread(self._sync.used, ids)

    async def build(
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
        """Generate links; a second run changes nothing, and links that no longer hold are withdrawn.

        See `Links.build`.
        """
        return await asyncio.to_thread(
            self._sync.build,
            kinds,
            threshold=threshold,
            most=most,
            similar_threshold=similar_threshold,
            judge=judge,
            budget=budget,
            workers=workers,
            ray=ray,
            ray_resources=ray_resources,
        )

    async def unresolved(self) -> Results[UnresolvedLink]:
        """Return the links in texts whose note is missing or ambiguous, by source.

        See `Links.unresolved`.
        """
        return await asyncio.to_thread(
            self._sync.unresolved,
        )

    async def neighbors(
        self,
        id: str | Sequence[str],
        hops: int = 1,
        relations: Sequence[str] | None = None,
        direction: Direction = "both",
        *,
        invalidated: bool = True,
        limit: int = 100,
    ) -> Results[Neighbor]:
        """Return the chunks within some hops of others: nearest first, then newest, then by id.

        See `Links.neighbors`.
        """
        return await asyncio.to_thread(
            self._sync.neighbors, id, hops, relations, direction, invalidated=invalidated, limit=limit
        )

    async def traverse(
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
        """Walk best-first from the hits of a question, or from anchors; anchors included.

        See `Links.traverse`.
        """
        return await asyncio.to_thread(
            self._sync.traverse,
            query,
            intent,
            depth,
            beam,
            budget,
            anchors=anchors,
            relations=relations,
            without=without,
            invalidated=invalidated,
        )

    async def graph(self, center: str | None = None, hops: int = 2, limit: int | None = None) -> dict[str, object]:
        """Return linked chunks and their links in the form of `vault.facts.graph`, for a drawing.

        See `Links.graph`.
        """
        return await asyncio.to_thread(self._sync.graph, center, hops, limit)

    async def causes(self, id: str, direction: CauseDirection = "both", depth: int = 5) -> Results[Cause]:
        """Return the causes and the effects of a chunk, each once, at its least depth.

        See `Links.causes`.
        """
        return await asyncio.to_thread(self._sync.causes, id, direction, depth)

    async def timeline(self, id: str, before: int = 5, after: int = 5, *, same_collection: bool = False) -> Timeline:
        """Return a chunk among those just before and just after it, by date, then id; oldest first.

        See `Links.timeline`.
        """
        return await asyncio.to_thread(self._sync.timeline, id, before, after, same_collection=same_collection)

    async def similar(self, id: str, k: int = 5) -> Results[Neighbor]:
        """Return the chunks with the nearest vectors, best first; ``score`` is the cosine.

        See `Links.similar`.
        """
        return await asyncio.to_thread(self._sync.similar, id, k)


class AsyncTopics:
    """`lamina.topics.Topics` with calls that are awaited."""

    def __init__(self, accessor: Topics) -> None:
        self._sync = accessor

    def __repr__(self) -> str:
        return f"<Async{repr(self._sync)[1:]}"

    async def __call__(self) -> Results[Topic]:
        """Return the topics as they are now, largest first; chunks added since the clustering count.

        See `Topics`.
        """
        return await asyncio.to_thread(
            self._sync,
        )

    async def get(self, id: str) -> TopicMembers:
        """Return one topic with its members, surest first.

        See `Topics.get`.
        """
        return await asyncio.to_thread(self._sync.get, id)

    async def get_many(self, ids: Iterable[str]) -> list[TopicMembers]:
        """Return topics with their members, in this order: one look at the chunks for all of them.

        See `Topics.get_many`.
        """
        return await asyncio.to_thread(self._sync.get_many, ids)

    async def cluster(
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
        """Find topics, or continue the existing ones.

        See `Topics.cluster`.
        """
        return await asyncio.to_thread(
            self._sync.cluster,
            min_cluster_size,
            min_samples,
            threshold,
            method,
            selection=selection,
            full=full,
            names=names,
            namer=namer,
            budget=budget,
            workers=workers,
            ray=ray,
            ray_resources=ray_resources,
            progress=progress,
        )

    async def places(self, *, history: bool = False) -> pa.Table:
        """Return every chunk's place on the map, with dates, lowest topic and freshness.

        See `Topics.places`.
        """
        return await asyncio.to_thread(self._sync.places, history=history)

    async def map(self, path: PathLike) -> PageReport:
        """Write the map and all that lies on it as one HTML page, which opens from disk.

        See `Topics.map`.
        """
        return await asyncio.to_thread(self._sync.map, path)


class AsyncSessions:
    """`lamina.sessions.Sessions` with calls that are awaited."""

    def __init__(self, accessor: Sessions) -> None:
        self._sync = accessor

    def __repr__(self) -> str:
        return f"<Async{repr(self._sync)[1:]}"

    async def __call__(
        self,
        project: str | None = None,
        *,
        agent: str | None = None,
        since: Instant | None = None,
        until: Instant | None = None,
        days: float | None = None,
        limit: int | None = 30,
        now: Instant | None = None,
        tz: str | None = None,
    ) -> Results[Session]:
        """Return the sessions of the vault, newest first.

        See `Sessions`.
        """
        return await asyncio.to_thread(
            self._sync, project, agent=agent, since=since, until=until, days=days, limit=limit, now=now, tz=tz
        )

    async def handoff(self, session: str | None = None, *, project: str | None = None) -> Results[Chunk]:
        """Return the handoff of a session, then its insights; empty where it left none.

        See `Sessions.handoff`.
        """
        return await asyncio.to_thread(self._sync.handoff, session, project=project)

    async def chain(
        self,
        query: str | Sequence[str] | None = None,
        direction: ChainDirection = "backward",
        token_budget: int = 20000,
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
        """Return the chain of chunks that led to a hit of a question, or that followed from it.

        See `Sessions.chain`.
        """
        return await asyncio.to_thread(
            self._sync.chain,
            query,
            direction,
            token_budget,
            seeds=seeds,
            agent=agent,
            where=where,
            since=since,
            until=until,
            as_of=as_of,
            now=now,
            vector=vector,
            profile=profile,
            tz=tz,
        )

    async def reconstruct(
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
        token_budget: int = 4000,
        as_of: Instant | None = None,
        now: Instant | None = None,
        tz: str | None = None,
    ) -> Reconstruction:
        """Return a session, or a span of days, as one text within a token budget.

        See `Sessions.reconstruct`.
        """
        return await asyncio.to_thread(
            self._sync.reconstruct,
            session,
            since=since,
            until=until,
            days=days,
            previous=previous,
            project=project,
            agent=agent,
            mode=mode,
            keep=keep,
            token_budget=token_budget,
            as_of=as_of,
            now=now,
            tz=tz,
        )


class AsyncContext:
    """`lamina.context.Context` with calls that are awaited."""

    def __init__(self, accessor: Context) -> None:
        self._sync = accessor

    def __repr__(self) -> str:
        return f"<Async{repr(self._sync)[1:]}"

    async def bootstrap(
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
        """Return the block that begins a session: last handoff, work, decisions, changes.

        See `Context.bootstrap`.
        """
        return await asyncio.to_thread(
            self._sync.bootstrap, session, budget, project=project, agent=agent, repo=repo, now=now, trigger=trigger
        )

    async def turn(
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
        """Return the block for one prompt: facts and memories about it, and the active task.

        See `Context.turn`.
        """
        return await asyncio.to_thread(
            self._sync.turn, prompt, session, floor, ceiling, project=project, repo=repo, now=now
        )

    async def count_tokens(self, text: str) -> int:
        """Return the tokens of a text, as budgets of blocks count them.

        See `Context.count_tokens`.
        """
        return await asyncio.to_thread(self._sync.count_tokens, text)


class AsyncFreshness:
    """`lamina.freshness.Freshness` with calls that are awaited."""

    def __init__(self, accessor: Freshness) -> None:
        self._sync = accessor

    def __repr__(self) -> str:
        return f"<Async{repr(self._sync)[1:]}"

    async def __call__(
        self,
        repo: PathLike | None = None,
        collection: str | None = None,
        tier: Tier | None = None,
        *,
        project: str | None = None,
        where: Where | None = None,
        git_check: bool = True,
    ) -> FreshnessReport:
        """Report which chunks are still current, from the git history of their files.

        See `Freshness`.
        """
        return await asyncio.to_thread(
            self._sync, repo, collection, tier, project=project, where=where, git_check=git_check
        )

    async def refresh(
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
        """Read the sources of some chunks again and supersede what changed.

        See `Freshness.refresh`.
        """
        return await asyncio.to_thread(
            self._sync.refresh,
            ids,
            where=where,
            tier=tier,
            collection=collection,
            project=project,
            needs_review=needs_review,
            dry_run=dry_run,
        )

    async def review(self, id: str, reason: str = "", *, needed: bool = True) -> Chunk:
        """Ask for a review of a chunk, or record that it was reviewed and is right.

        See `Freshness.review`.
        """
        return await asyncio.to_thread(self._sync.review, id, reason, needed=needed)

    async def snooze(self, id: str, until: Instant | None, *, tz: str | None = None) -> Chunk:
        """Keep a chunk out of recall until a moment; None wakes it. It stays listed.

        See `Freshness.snooze`.
        """
        return await asyncio.to_thread(self._sync.snooze, id, until, tz=tz)

    async def archive(
        self,
        ids: str | Sequence[str] | None = None,
        *,
        where: Where | None = None,
        after_days: float = 90.0,
        types: Mapping[str, float | None] | None = None,
        tier: Tier | None = None,
        dry_run: bool = True,
    ) -> ArchiveReport:
        """Archive chunks, by id or by age.

        See `Freshness.archive`.
        """
        return await asyncio.to_thread(
            self._sync.archive, ids, where=where, after_days=after_days, types=types, tier=tier, dry_run=dry_run
        )

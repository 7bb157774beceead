"""Links between chunks: written, listed and walked; ``vault.links``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from lamina.accessor import Accessor
from lamina.results import Results
from lamina_engine.arguments import flag_of, limit_of
from lamina_engine.clock import Instant
from lamina_engine.errors import InvalidArgument

if TYPE_CHECKING:
    from lamina.options import CauseDirection, Direction, Intent, LinkKind
    from lamina_engine.embed.chat import Budget, ChatSpec
    from lamina_engine.graph.generators import BuildReport
    from lamina_engine.results import Cause, Link, Neighbor, Timeline, UnresolvedLink


class Links(Accessor):
    """Links of a vault. Call it for the links of one chunk: ``vault.links(id)``.

    Examples
    --------
    >>> vault.links.add("outage", "db", "causal", note="the reason for the move").relation
    'causal'
    >>> [(link.source, link.target) for link in vault.links("db")]
    [('outage', 'db')]
    """

    def __call__(
        self, id: str, direction: Direction = "both", relations: Sequence[str] | None = None, *, hidden: bool = False
    ) -> Results[Link]:
        """Return the links of a chunk: outward ones first, then by relation and id.

        Parameters
        ----------
        id : str
            Its id, or an unambiguous short id.
        direction : {"both", "out", "in"}
            Links that begin at the chunk, that end at it, or both.
        relations : sequence of str, optional
            Only these relations.
        hidden : bool
            Include links whose other end was removed; they are kept and not walked.

        Returns
        -------
        Results of Link

        Raises
        ------
        ChunkNotFound, AmbiguousId, InvalidArgument
        """
        from lamina_engine.graph.links import links_of
        from lamina_engine.results import Link

        hidden = flag_of(hidden, "hidden")
        found = links_of(self._memory.view(), id, direction=direction, relations=relations, hidden=hidden)
        return Results(found, Link, self._memory.incomplete)

    def add(
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

        Parameters
        ----------
        source, target : str
            Ids, or unambiguous short ids. For a symmetric relation the smaller id becomes the source.
        relation : str
            A relation, such as ``causal``, ``supporting``, ``contradicts``, ``blocks`` or ``derived_from``.
        weight : float
            In (0, 1].
        note : str
            The reason, in words.
        created_at : date, optional
            When the link came to be; now by default.
        update : bool
            Give a link that you or an import made before this weight, note and date.

        Returns
        -------
        Link
            A user's link takes precedence over those of generators.

        Raises
        ------
        InvalidArgument, ChunkNotFound, AmbiguousId, VaultReadOnly, VaultLocked, OSError

        Examples
        --------
        >>> vault.links.add("outage", "db", "causal").weight
        1.0
        """
        import numpy as np

        from lamina_engine.chunks.identities import find_rows
        from lamina_engine.chunks.reading import chunks_at
        from lamina_engine.graph.links import links_of
        from lamina_engine.graph.log import Draft, write

        memory, update = self._memory, flag_of(update, "update")
        made = None if created_at is None else memory.moment(created_at, "created_at")
        write(memory, [Draft(source, target, relation, weight, note or None, made)], keep_first=not update)
        view = memory.view()
        first, second = (chunk.id for chunk in chunks_at(view, np.array(find_rows(view, [source, target]))))
        found = links_of(view, first, relations=[relation], hidden=True)
        between = [link for link in found if second in (link.source, link.target)]
        return max(between, key=lambda link: link.source == first)

    def remove(self, source: str, target: str, relation: str) -> bool:
        """Withdraw a user's link; a generator's link between the same chunks stays.

        Returns
        -------
        bool
            True where there was one.

        Raises
        ------
        InvalidArgument, ChunkNotFound, AmbiguousId, VaultReadOnly, VaultLocked, OSError

        Examples
        --------
        >>> vault.links.remove("outage", "db", "blocks")
        False
        """
        from lamina_engine.graph.log import withdraw

        return withdraw(self._memory, [(source, target, relation)]).withdrawn > 0

    def used(self, ids: Sequence[str]) -> Results[Link]:
        """Record which chunks an answer used: chunks that are used together become linked.

        Parameters
        ----------
        ids : sequence of str
            1 to 64 ids, such as those of the hits that were cited; short ids work where they are unambiguous.

        Returns
        -------
        Results of Link
            Links of the relation ``usage`` between them: ``count``, and ``weight`` = count / (count + 3).

        Raises
        ------
        InvalidArgument, ChunkNotFound, AmbiguousId, VaultReadOnly, VaultLocked, OSError

        Examples
        --------
        >>> vault.links.used(["db", "pool"])[0].count
        1
        """
        from lamina_engine.graph.usage import record_use
        from lamina_engine.results import Link

        return Results(record_use(self._memory, ids), Link, self._memory.incomplete)

    def build(
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

        Parameters
        ----------
        kinds : sequence of str, optional
            Any of ``sequence`` (consecutive chunks of a source), ``temporal`` (documents in order of time), ``semantic``
            (chunks with similar vectors), ``wikilinks``, ``markdown`` (all other links in texts: Markdown, references of
            reStructuredText, URLs), ``mention`` (chunks that name another document, a file, a symbol or a known entity),
            ``entity`` (documents that name the same imported entity), ``similar`` (similar tasks) and ``judged`` (by a
            language model). By default all but ``temporal``, ``judged`` only with a judge.
        threshold, most : float, int
            For ``semantic``: the least cosine, by default one that fits the embedding model and the vault's size; and
            the number of links per chunk.
        similar_threshold : float
            For ``similar``: the least cosine, by default a stricter one of the same kind.
        judge : mapping or Chat, optional
            ``{"url": ..., "model": ...}`` of an OpenAI-compatible endpoint; by default ``$LAMINA_JUDGE_URL`` and
            ``$LAMINA_JUDGE_MODEL`` (key: ``$LAMINA_JUDGE_KEY``, else ``$OPENAI_API_KEY``).
        budget : Budget, optional
            Limit of requests and tokens for ``judged``.
        workers : int
            Processes that compare vectors for ``semantic`` and ``similar``; 1 works in this one. The links are the same.
        ray : str, optional
            Address of a running Ray cluster whose workers do it instead; needs ``lamina[cluster]``.
        ray_resources : mapping, optional
            Resources of the cluster that each of its tasks reserves beside one CPU, such as ``{"big_memory": 1}``.

        Returns
        -------
        BuildReport
            ``kinds``: links added, updated, withdrawn and left unchanged by each kind, and its seconds; ``unresolved``:
            links in texts whose note is missing or ambiguous.

        Raises
        ------
        InvalidArgument
            For an unknown kind, or an option out of range.
        InvalidConfig
            When ``judged`` is named and no endpoint is configured or usable.
        MissingExtra, ClusterUnreachable
            With ``ray``.
        VaultReadOnly, VaultLocked, OSError

        Examples
        --------
        >>> vault.links.build(["sequence"]).kinds["sequence"].withdrawn
        0
        """
        from lamina_engine.executor import open_executor
        from lamina_engine.graph.generators import build
        from lamina_engine.judging.queue import resolve_judge

        if not (kinds is None or isinstance(kinds, Iterable)) or isinstance(kinds, str):
            raise InvalidArgument(
                f"kinds={kinds!r} must be a list of kinds of links, or None for all that need no model"
            )
        judge = resolve_judge(judge) if kinds is None or "judged" in kinds else None
        with open_executor(workers, ray, ray_resources) as executor:
            return build(
                self._memory, kinds, threshold=threshold, most=most, similar_threshold=similar_threshold,
                judge=judge, budget=budget, executor=executor,
            )  # fmt: skip

    def unresolved(self) -> Results[UnresolvedLink]:
        """Return the links in texts whose note is missing or ambiguous, by source.

        A link becomes one of the vault's as soon as its note is ingested. Web pages, images and other attachments are
        no notes and not listed.

        Returns
        -------
        Results of UnresolvedLink

        Raises
        ------
        VaultCorrupt

        Examples
        --------
        >>> len(vault.links.unresolved())
        0
        """
        from lamina_engine.graph.references import resolve
        from lamina_engine.results import UnresolvedLink

        return Results(resolve(self._memory.view()).unresolved, UnresolvedLink, self._memory.incomplete)

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
        """Return the chunks within some hops of others: nearest first, then newest, then by id.

        Parameters
        ----------
        id : str or sequence of str
            Where to start.
        hops : int
            1 to 16.
        relations : sequence of str, optional
            Only these relations.
        direction : {"both", "out", "in"}
            Direction in which links are walked; symmetric ones are walked both ways.
        invalidated : bool
            Include invalidated chunks; each says so in ``status``.
        limit : int
            Maximum number of chunks.

        Returns
        -------
        Results of Neighbor

        Raises
        ------
        ChunkNotFound, AmbiguousId, InvalidArgument

        Examples
        --------
        >>> _ = vault.link("outage", "db", "causal")
        >>> vault.links.neighbors("outage")[0].via
        'outage -causal-> db'
        """
        from lamina_engine.graph.walks import neighbours
        from lamina_engine.results import Neighbor

        found = neighbours(
            self._memory.view(), id, hops=hops, relations=relations, direction=direction,
            invalidated=flag_of(invalidated, "invalidated"), limit=limit,
        )  # fmt: skip
        return Results(found, Neighbor, self._memory.incomplete)

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
        """Walk best-first from the hits of a question, or from anchors; anchors included.

        Parameters
        ----------
        query : str, mapping or sequence of str
            A question, whose best hits become the anchors; or ids, with scores in a mapping.
        intent : {"why", "when", "entity", "what"}, optional
            Which relations weigh most; by default taken from the words of the question, ``what`` for anchors.
        depth, beam, budget : int
            Hops, chunks per hop, and chunks in all (anchors included).
        anchors : mapping or sequence of str, optional
            Ids by name, in place of a question.
        relations : sequence of str, optional
            Only these relations.
        without : sequence of str
            Collections that are not walked.
        invalidated : bool
            Walk invalidated chunks too.

        Returns
        -------
        Results of Neighbor

        Raises
        ------
        ChunkNotFound, AmbiguousId, InvalidArgument, EmbedderMismatch, EmbeddingError, VaultCorrupt

        Examples
        --------
        >>> _ = vault.link("outage", "db", "causal")
        >>> sorted(near.id for near in vault.links.traverse(anchors=["outage"]))
        ['db', 'outage']
        """
        from lamina_engine.recall.expansion import traverse_question
        from lamina_engine.results import Neighbor

        start = anchors if query is None else query
        if start is None or (query is not None and anchors is not None):
            raise InvalidArgument("traverse begins with a question or with anchors; give one of them")
        found = traverse_question(
            self._memory, start, intent=intent, depth=depth, beam=beam, budget=budget, relations=relations,
            without=without, invalidated=flag_of(invalidated, "invalidated"),
        )  # fmt: skip
        return Results(found, Neighbor, self._memory.incomplete)

    def graph(self, center: str | None = None, hops: int = 2, limit: int | None = None) -> dict[str, object]:
        """Return linked chunks and their links in the form of `vault.facts.graph`, for a drawing.

        Parameters
        ----------
        center : str, optional
            A chunk; only what lies within ``hops`` of it. By default everything that has links, or where that is more than
            ``limit`` chunks, what lies around the one with the most.
        hops : int
            1 to 16.
        limit : int, optional
            Maximum number of chunks.

        Returns
        -------
        dict
            ``nodes`` (chunks; ``category`` is the type), ``edges`` (links; ``predicate`` is the relation), ``facts`` (date, project,
            source and first line of each), ``stats``, ``center`` and ``left_out``.

        Raises
        ------
        ChunkNotFound, AmbiguousId, InvalidArgument

        Examples
        --------
        >>> _ = vault.link("outage", "db", "causal")
        >>> [edge["predicate"] for edge in vault.links.graph("db", hops=1)["edges"]]
        ['causal']
        """
        from lamina_engine.graph.diagram import link_diagram

        return link_diagram(self._memory.view(), center, hops, limit_of(limit))

    def causes(self, id: str, direction: CauseDirection = "both", depth: int = 5) -> Results[Cause]:
        """Return the causes and the effects of a chunk, each once, at its least depth.

        Parameters
        ----------
        id : str
            Its id, or an unambiguous short id.
        direction : {"both", "causes", "caused_by"}
            Effects (``causes``), causes (``caused_by``), or both.
        depth : int
            Hops, 1 to 10.

        Returns
        -------
        Results of Cause

        Raises
        ------
        ChunkNotFound, AmbiguousId, InvalidArgument

        Examples
        --------
        >>> _ = vault.link("outage", "db", "causal")
        >>> [(cause.id, cause.direction) for cause in vault.links.causes("db")]
        [('outage', 'caused_by')]
        """
        from lamina_engine.graph.links import causes
        from lamina_engine.results import Cause

        return Results(
            causes(self._memory.view(), id, direction=direction, depth=depth), Cause, self._memory.incomplete
        )

    def timeline(self, id: str, before: int = 5, after: int = 5, *, same_collection: bool = False) -> Timeline:
        """Return a chunk among those just before and just after it, by date, then id; oldest first.

        Parameters
        ----------
        id : str
            Its id, or an unambiguous short id.
        before, after : int
            Maximum number of chunks on each side, 0 to 1,000.
        same_collection : bool
            Only chunks of its collection.

        Returns
        -------
        Timeline
            ``before``, ``focus``, ``after``, and ``total``: the dated chunks that were considered.

        Raises
        ------
        ChunkNotFound, AmbiguousId
        InvalidArgument
            For counts out of range, and for a chunk that was removed or has no date.

        Examples
        --------
        >>> [chunk.id for chunk in vault.links.timeline("db").before]
        ['outage']
        """
        from lamina_engine.graph.neighbors import timeline

        return timeline(
            self._memory.view(),
            id,
            before=before,
            after=after,
            same_collection=flag_of(same_collection, "same_collection"),
        )

    def similar(self, id: str, k: int = 5) -> Results[Neighbor]:
        """Return the chunks with the nearest vectors, best first; ``score`` is the cosine.

        Parameters
        ----------
        id : str
            Its id, or an unambiguous short id.
        k : int
            Maximum number of chunks, 1 to 1,000.

        Returns
        -------
        Results of Neighbor

        Raises
        ------
        ChunkNotFound, AmbiguousId
        InvalidArgument
            For k out of range, and for a chunk without a vector.

        Examples
        --------
        >>> vault.links.similar("db", k=1)[0].id
        'pool'
        """
        from lamina_engine.graph.neighbors import similar
        from lamina_engine.results import Neighbor

        return Results(similar(self._memory.view(), id, k=k), Neighbor, self._memory.incomplete)

"""Links between chunks: made, shown, walked; a part of `lamina.Vault`."""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lamina_engine.clock import Instant, parse_instant
from lamina_engine.errors import InvalidArgument

if TYPE_CHECKING:
    from lamina.linkresults import Cause, Link, Near
    from lamina_engine.graph.generators import BuildReport
    from lamina_engine.graph.nearby import Timeline
    from lamina_engine.judging.queue import Budget, JudgeSpec


class Linked:
    """Links of a vault, and the walks along them."""

    _memory: Any

    def link(
        self,
        source: str,
        target: str,
        relation: str,
        weight: float = 1.0,
        note: str = "",
        created_at: Instant | None = None,
    ) -> Link:
        """Link two chunks; the same link again changes its weight and note.

        Parameters
        ----------
        source, target : str
            Ids, or unambiguous short ones. Of a relation without direction the smaller id becomes the source.
        relation : str
            A registered one, such as ``causal``, ``supporting``, ``contradicts``, ``blocks``, ``derived_from``; see
            `lamina_engine.graph.registry`.
        weight : float
            In (0, 1].
        note : str
            Why, in words.
        created_at : date, optional
            When it came to be; now unless given.

        Returns
        -------
        Link
            As it stands. What a user says stands over what generators say.

        Raises
        ------
        InvalidArgument, ChunkNotFound, AmbiguousId, VaultReadOnly, VaultLocked, OSError
        """
        import numpy as np

        from lamina.linkresults import link_of
        from lamina_engine.chunks.reading import chunks_at, current_rows
        from lamina_engine.graph.links import links_of
        from lamina_engine.graph.log import Draft, write

        memory = self._memory
        made = None if created_at is None else parse_instant(created_at, memory.config.tz, what="created_at")
        write(memory, [Draft(source, target, relation, weight, note or None, made)])
        view = memory.view()
        first, second = (chunk.id for chunk in chunks_at(view, np.array(current_rows(view, [source, target]))))
        found = [
            link
            for link in links_of(view, first, relations=[relation], hidden=True)
            if second in (link.source, link.target)
        ]
        return link_of(max(found, key=lambda link: link.source == first))

    def unlink(self, source: str, target: str, relation: str) -> bool:
        """Withdraw what the user said about a link; what a generator says of it stands. Return whether there was any.

        Raises
        ------
        InvalidArgument, ChunkNotFound, AmbiguousId, VaultReadOnly, VaultLocked, OSError
        """
        from lamina_engine.graph.log import withdraw

        return withdraw(self._memory, [(source, target, relation)]).withdrawn > 0

    def used(self, ids: Sequence[str]) -> builtins.list[Link]:
        """Say which chunks an answer used: each use is counted, and that they were used together.

        Parameters
        ----------
        ids : sequence of str
            1 to 64 of them, such as the hits that were cited; short ids work where they are unambiguous.

        Returns
        -------
        list of Link
            The links of the relation ``usage`` between them: ``count``, and ``weight`` = count / (count + 3).

        Raises
        ------
        InvalidArgument, ChunkNotFound, AmbiguousId, VaultReadOnly, VaultLocked, OSError
        """
        from lamina.linkresults import link_of
        from lamina_engine.graph.usage import record_use

        return [link_of(link) for link in record_use(self._memory, ids)]

    def links(
        self, id: str, direction: str = "both", relations: Sequence[str] | None = None, *, hidden: bool = False
    ) -> builtins.list[Link]:
        """Return the standing links of a chunk: outward ones first, then by relation and the other end's id.

        Parameters
        ----------
        id : str
        direction : {"both", "out", "in"}
            Links that begin at it, that end at it, or both.
        relations : sequence of str, optional
            Only these.
        hidden : bool
            Also links whose other end was removed: they are kept, and not walked.

        Raises
        ------
        ChunkNotFound, AmbiguousId, InvalidArgument
        """
        from lamina.linkresults import link_of
        from lamina_engine.graph.links import links_of

        found = links_of(self._memory.view(), id, direction=direction, relations=relations, hidden=hidden)  # type: ignore[arg-type]
        return [link_of(link) for link in found]

    def build_links(
        self,
        kinds: Sequence[str] | None = None,
        *,
        threshold: float = 0.7,
        most: int = 10,
        similar_threshold: float = 0.8,
        judge: JudgeSpec = None,
        budget: Budget | None = None,
    ) -> BuildReport:
        """Make links; a second run changes nothing, and what no longer holds is withdrawn.

        Parameters
        ----------
        kinds : sequence of str, optional
            Some of ``sequence`` (chunks of a source in order), ``temporal`` (documents in the order of time),
            ``semantic`` (chunks that are alike), ``entity`` (documents that name the same rare things), ``similar``
            (tasks that are alike), ``wikilinks``, ``judged`` (by a language model). All of them unless given,
            ``judged`` only where there is a judge.
        threshold, most : float, int
            Of ``semantic``: cosine to be above, and links that one chunk looks for.
        similar_threshold : float
            Cosine that tasks must be above.
        judge : mapping or Judge, optional
            ``{"url": ..., "model": ...}`` of an OpenAI-compatible endpoint; else ``$LAMINA_JUDGE_URL`` and
            ``$LAMINA_JUDGE_MODEL`` (key: ``$LAMINA_JUDGE_KEY``, else ``$OPENAI_API_KEY``).
        budget : Budget, optional
            What ``judged`` may cost; see `lamina_engine.judging.queue.Budget`.

        Returns
        -------
        BuildReport
            ``kinds``: by kind what was added, updated, withdrawn and left unchanged, and the seconds it took.

        Raises
        ------
        InvalidArgument
            For a kind that is not known, or an option out of range.
        InvalidConfig
            When ``judged`` is named and no endpoint is configured, or it cannot be used.
        VaultReadOnly, VaultLocked, OSError
        """
        from lamina_engine.graph.generators import build
        from lamina_engine.ingest.wikilinks import resolve_stored_links
        from lamina_engine.judging.queue import resolve_judge

        if not (kinds is None or isinstance(kinds, Iterable)) or isinstance(kinds, str):
            raise InvalidArgument(
                f"kinds={kinds!r} must be a list of kinds of links, or None for all that need no model"
            )
        judge = resolve_judge(judge) if kinds is None or "judged" in kinds else None
        return build(
            self._memory, kinds, threshold=threshold, most=most, similar_threshold=similar_threshold,
            resolve=resolve_stored_links, judge=judge, budget=budget,
        )  # fmt: skip

    def neighbors(
        self,
        id: str | Sequence[str],
        hops: int = 1,
        relations: Sequence[str] | None = None,
        direction: str = "both",
        *,
        invalidated: bool = True,
        limit: int = 100,
    ) -> builtins.list[Near]:
        """Return what lies within some links of a chunk, or of several: nearest first, then newer, then by id.

        Parameters
        ----------
        id : str or sequence of str
        hops : int
            1 to 16.
        relations : sequence of str, optional
            Only these.
        direction : {"both", "out", "in"}
            Which way links are walked; those without direction both ways in any case.
        invalidated : bool
            Also chunks that were invalidated; each says so.
        limit : int
            Most chunks.

        Raises
        ------
        ChunkNotFound, AmbiguousId, InvalidArgument
        """
        from lamina.linkresults import reached
        from lamina_engine.graph.walks import neighbours

        view = self._memory.view()
        found = neighbours(
            view, id, hops=hops, relations=relations, direction=direction, invalidated=invalidated, limit=limit,  # type: ignore[arg-type]
        )  # fmt: skip
        return reached(view, found)

    def traverse(
        self,
        query: str | Mapping[str, float] | Sequence[str] | None = None,
        intent: str | None = None,
        depth: int = 2,
        beam: int = 5,
        budget: int = 30,
        *,
        anchors: Mapping[str, float] | Sequence[str] | None = None,
        relations: Sequence[str] | None = None,
        without: Sequence[str] = (),
        invalidated: bool = True,
    ) -> builtins.list[Near]:
        """Return what a question, or anchors, lead to by a best-first walk, anchors included, best first.

        Parameters
        ----------
        query : str, mapping or sequence of str
            A question, whose best hits are the anchors; or ids, with scores where it is a mapping.
        intent : {"why", "when", "entity", "what"}, optional
            Which relations weigh most: by the question's words unless given, ``what`` for anchors.
        depth, beam, budget : int
            Hops, chunks taken in each, chunks in all (anchors included, and never more).
        anchors : mapping or sequence of str, optional
            Ids by name, in place of a question.
        relations : sequence of str, optional
            Only these.
        without : sequence of str
            Collections that are not walked.
        invalidated : bool
            Also walk chunks that were invalidated.

        Raises
        ------
        ChunkNotFound, AmbiguousId, InvalidArgument, EmbedderMismatch, EmbeddingError, VaultCorrupt
        """
        from lamina.linkresults import reached
        from lamina_engine.recall.expansion import traverse_question

        start = anchors if query is None else query
        if start is None or (query is not None and anchors is not None):
            raise InvalidArgument("traverse begins with a question or with anchors; give one of them")
        found = traverse_question(
            self._memory, start, intent=intent, depth=depth, beam=beam, budget=budget, relations=relations,
            without=without, invalidated=invalidated,
        )  # fmt: skip
        return reached(self._memory.view(), found)

    def causes(self, id: str, direction: str = "both", depth: int = 5) -> builtins.list[Cause]:
        """Return what led to a chunk and what it led to, each once, at its least depth.

        Parameters
        ----------
        id : str
        direction : {"both", "causes", "caused_by"}
            Effects (``causes``), causes (``caused_by``), or both.
        depth : int
            Hops; below 1 is taken as 1, above 10 as 10.

        Raises
        ------
        ChunkNotFound, AmbiguousId, InvalidArgument
        """
        from lamina.linkresults import caused
        from lamina_engine.graph.causes import causes

        view = self._memory.view()
        return caused(view, causes(view, id, direction=direction, depth=depth))  # type: ignore[arg-type]

    def timeline(self, id: str, before: int = 5, after: int = 5, *, same_collection: bool = False) -> Timeline:
        """Return a chunk among those just before and just after it, by date, then id; oldest first.

        Returns
        -------
        Timeline
            ``before``, ``focus``, ``after`` (chunks as `get` gives them), and ``total``: dated chunks looked at.

        Raises
        ------
        ChunkNotFound, AmbiguousId
        InvalidArgument
            For counts out of range, and for a chunk without a date or that was removed.
        """
        from lamina_engine.graph.nearby import timeline

        return timeline(self._memory.view(), id, before=before, after=after, same_collection=same_collection)

    def similar(self, id: str, k: int = 5) -> builtins.list[Near]:
        """Return the chunks whose vectors are nearest to one's, best first; ``score`` is the cosine.

        Raises
        ------
        ChunkNotFound, AmbiguousId
        InvalidArgument
            For k out of range, and for a chunk without a vector.
        """
        from lamina.linkresults import alike
        from lamina_engine.graph.nearby import similar

        view = self._memory.view()
        return alike(view, similar(view, id, k=k))

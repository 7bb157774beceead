"""Facts from elsewhere: files, notes, observing and judging models; the part of ``vault.facts`` that reads them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal

from lamina.factbase import OfFacts
from lamina_engine.arguments import path_of
from lamina_engine.clock import Instant

if TYPE_CHECKING:
    from lamina.factresults import Contradiction
    from lamina_engine.embed.chat import Budget, Chat, ChatSpec
    from lamina_engine.facts.extract import ExtractReport
    from lamina_engine.facts.seeding import SeedReport


class FactSources(OfFacts):
    """Facts that files, notes and models say."""

    def extract(
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
        """Make facts of a text's observation blocks, which become chunks, or of what the vault's notes say in fields.

        Again it changes nothing; what a note says no more is withdrawn.

        Parameters
        ----------
        text : str, optional
            What an observing model wrote; see `lamina_engine.facts.observations`. Without it, frontmatter and ``key:: value``
            lines of all notes are read.
        source, session, collection : str, optional
            Of the chunks.
        created_at : date, optional
            When it was observed; now unless given.
        judge : mapping, Chat or True, optional
            A language model that is asked for facts of chunks it was not asked about yet: the options of an endpoint
            (``url``, ``model``, ``key``), or True for ``$LAMINA_JUDGE_URL``.
        budget : Budget, optional
            What it may cost.

        Returns
        -------
        ExtractReport
            With what was dropped, and why.

        Raises
        ------
        InvalidArgument, InvalidConfig, EmbedderMismatch, EmbeddingError, VaultReadOnly, VaultLocked, OSError
        """
        from lamina_engine.facts.extract import COLLECTION, extract

        return extract(
            self._memory, text, source=source, session=session, collection=collection or COLLECTION,
            created_at_us=self._instant(created_at, "created_at"), judge=_judge(judge), budget=budget,
        )  # fmt: skip

    def contradictions(
        self, *, judge: ChatSpec | Literal[True] = None, budget: Budget | None = None
    ) -> list[Contradiction]:
        """Return which facts another one contradicts or brings up to date, the oldest finding first.

        Values of a functional predicate that another one ended are found by themselves.

        Parameters
        ----------
        judge : mapping, Chat or True, optional
            A language model that is first asked which facts of one thing contradict each other; as in `extract`.
        budget : Budget, optional
            What it may cost.

        Raises
        ------
        InvalidConfig, VaultReadOnly, VaultLocked, OSError
        """
        from lamina.factresults import contradiction_of
        from lamina_engine.facts.contradictions import contradictions_of
        from lamina_engine.facts.view import fact_view_at

        chat = _judge(judge)
        if chat is not None:
            from lamina_engine.facts.judged import judge_contradictions

            judge_contradictions(self._memory, chat, budget=budget)
        found, kg = contradictions_of(self._memory.view()), fact_view_at(self._memory)
        return [contradiction_of(each, *kg.facts_at([each.old, each.new])) for each in found]

    def seed(self, path: str | os.PathLike[str], *, strict: bool = False) -> SeedReport:
        """Read a seed file, TOML or YAML, of entities, aliases, facts and relations; again it changes nothing.

        Parameters
        ----------
        path : path
            See `lamina_engine.facts.seeding` for its form.
        strict : bool
            Refuse predicates that are not registered.

        Raises
        ------
        IngestError, InvalidArgument, AmbiguousEntity, VaultReadOnly, VaultLocked, OSError
        """
        from lamina_engine.facts.seeding import seed

        return seed(self._memory, path_of(path), strict=strict)

    def load(self, path: str | os.PathLike[str]) -> SeedReport:
        """Read an openclaw ``facts.db``, or facts that `lamina.Vault.export` wrote; again it changes nothing.

        Raises
        ------
        IngestError, InvalidArgument, AmbiguousEntity, VaultReadOnly, VaultLocked, OSError
        """
        from lamina_engine.facts.seeding import SeedReport
        from lamina_engine.facts.transfer import import_facts, import_openclaw, is_fact_file

        if is_fact_file(path_of(path)):
            return SeedReport(facts=import_facts(self._memory, path_of(path)))
        return import_openclaw(self._memory, path_of(path))


def _judge(spec: ChatSpec | Literal[True]) -> Chat | None:
    if spec is None:
        return None
    from lamina_engine.judging.queue import no_judge, resolve_judge

    judge = resolve_judge(None if spec is True else spec)
    if judge is None:
        raise no_judge()
    return judge

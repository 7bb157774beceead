"""Facts about people, projects and things, in time; ``vault.facts``."""

from __future__ import annotations

import builtins
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from lamina.factnames import FactNames
from lamina.factsources import FactSources
from lamina.factwriting import RECORD, FactWriting
from lamina_engine.clock import Instant
from lamina_engine.errors import InvalidArgument

if TYPE_CHECKING:
    from lamina.factresults import Answers, Fact

__all__ = ["RECORD", "Facts", "Factual"]


class Factual:
    """The facts of a vault."""

    _memory: Any

    @property
    def facts(self) -> Facts:
        """Exact answers about people, projects and things, in time; see `Facts`."""
        return Facts(self._memory)


class Facts(FactWriting, FactNames, FactSources):
    """The facts of a vault: subject, predicate, object, since when and until when, and who said so.

    Examples
    --------
    >>> import tempfile, lamina
    >>> with lamina.open(tempfile.mkdtemp(), create=True) as vault:
    ...     _ = vault.facts.add("Keystone", "port", "3055", source="keystone.md")
    ...     [(fact.key, fact.value, fact.source) for fact in vault.facts.about("keystone")]
    [('port', '3055', 'keystone.md')]
    """

    def __init__(self, memory: Any) -> None:
        self._memory = memory

    def about(
        self,
        entity: str,
        valid_at: Instant | None = None,
        as_of: Instant | None = None,
        direction: str = "both",
        *,
        predicates: Collection[str] | None = None,
        history: bool = False,
        type: str | None = None,
    ) -> builtins.list[Fact]:
        """Return what is said of an entity: as subject first, then as object; by predicate, the earlier first.

        Parameters
        ----------
        entity : str
            A name, an alias or a canonical id.
        valid_at : date, optional
            What holds then; at ``as_of``, else now, unless given.
        as_of : date, optional
            As it was known then.
        direction : {"both", "out", "in"}
            Facts that it is the subject of, or the object of.
        predicates : collection of str, optional
            Only these, as they read from the entity.
        history : bool
            Also what holds no more, or not yet.
        type : str, optional
            Of the entity, where others have its name.

        Raises
        ------
        EntityNotFound, AmbiguousEntity, InvalidArgument
        """
        from lamina.factresults import fact_of
        from lamina_engine.facts.log import entity_row
        from lamina_engine.facts.predicates import predicate_name
        from lamina_engine.facts.view import fact_view_at

        seen = self._instant(as_of, "as_of")
        when = self._instant(valid_at, "valid_at")
        if when is None:
            when = seen if seen is not None else self._memory.clock.now_us()
        wanted = None if predicates is None else {predicate_name(name) for name in predicates}
        kg = fact_view_at(self._memory, seen)
        row = entity_row(kg, entity, type)
        found = kg.about(row, valid_at=None if history else when, direction=direction, predicates=wanted)  # type: ignore[arg-type]
        return [fact_of(fact) for fact in found]

    def list(
        self,
        subject: str | None = None,
        predicate: str | None = None,
        object: str | None = None,
        *,
        valid_at: Instant | None = None,
        history: bool = False,
        limit: int = 100,
    ) -> builtins.list[Fact]:
        """Return facts by what is given of them, in the order in which they were written.

        Parameters
        ----------
        subject : str, optional
            Of one entity.
        predicate : str, optional
        object : str, optional
            A value, or the name of an entity.
        valid_at : date, optional
            What holds then; now unless given.
        history : bool
            Also what holds no more, or not yet.
        limit : int
            Most facts.

        Raises
        ------
        EntityNotFound, AmbiguousEntity, InvalidArgument
        """
        from lamina.factresults import fact_of
        from lamina_engine.facts.log import entity_row
        from lamina_engine.facts.predicates import predicate_name
        from lamina_engine.facts.view import fact_view_at

        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
            raise InvalidArgument(f"limit={limit!r} must be a number from 1 on")
        kg = fact_view_at(self._memory)
        when = None if history else self._instant(valid_at, "valid_at")
        if when is None and not history:
            when = self._memory.clock.now_us()
        entity = None if object is None else kg.resolve(object).entity
        name = None if predicate is None else predicate_name(predicate)
        row = None if subject is None else entity_row(kg, subject)
        found = kg.find(subject=row, predicate=name, object=None if entity is None else entity.row, valid_at=when)
        if object is not None and entity is None:
            found = kg.find(subject=row, predicate=name, object=object, valid_at=when)
        return [fact_of(fact) for fact in found[:limit]]

    def ask(
        self,
        question: str,
        k: int = 6,
        *,
        valid_at: Instant | None = None,
        as_of: Instant | None = None,
        identity: str | None = None,
        fuzzy: bool = False,
    ) -> Answers:
        """Answer a question from the facts alone, best first.

        Parameters
        ----------
        question : str
        k : int
            Most answers.
        valid_at : date, optional
            From what holds then; now unless given.
        as_of : date, optional
            As it was known then.
        identity : str, optional
            Whom the question means by "I" and "my"; see `lamina_engine.facts.questions.ask`.
        fuzzy : bool
            Also try names as beginnings, and names that differ by one letter.

        Returns
        -------
        Answers
            Each with ``subject, predicate, object, score, method, source``; ``answered`` tells whether they are what was
            asked for.

        Raises
        ------
        InvalidArgument, VaultCorrupt
        """
        from lamina.factresults import answers_of
        from lamina_engine.facts.questions import ask

        found = ask(
            self._memory, question, k=k, valid_at_us=self._instant(valid_at, "valid_at"),
            as_of_us=self._instant(as_of, "as_of"), identity=identity, fuzzy=fuzzy,
        )  # fmt: skip
        return answers_of(found)

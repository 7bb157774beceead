"""Facts about people, projects and things: written, asked, seeded; ``vault.facts``."""

from __future__ import annotations

import builtins
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from lamina_engine.clock import Instant, parse_instant
from lamina_engine.errors import InvalidArgument

if TYPE_CHECKING:
    import pyarrow as pa

    from lamina.factresults import Adding, Answers, Contradiction, Fact
    from lamina_engine.embed.chat import Budget, Chat, ChatSpec
    from lamina_engine.facts.extraction import ExtractReport
    from lamina_engine.facts.predicates import Predicate
    from lamina_engine.facts.seeding import Seeded
    from lamina_engine.facts.shapes import Entity, Resolution

RECORD = (
    "subject", "predicate", "object", "kind", "subject_type", "object_type", "category", "source", "confidence", "weight",
    "valid_from", "valid_to",
)  # fmt: skip
"""Fields of a record of `Facts.add_many`; the first three are needed."""


class Factual:
    """The facts of a vault."""

    _memory: Any

    @property
    def facts(self) -> Facts:
        """Exact answers about people, projects and things, in time; see `Facts`."""
        return Facts(self._memory)


class Facts:
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

    # ------------------------------------------------------------------ writing

    def add(
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
        kind: str = "auto",
        type: str | None = None,
        object_type: str | None = None,
        category: str | None = None,
        strict: bool = False,
    ) -> Fact:
        """Say something of a thing; what stands already is left alone.

        A value of a functional predicate (`declare`) ends the one before it: from ``valid_from`` on, or from the beginning of
        the present day.

        Parameters
        ----------
        subject : str
            A name, an alias or a canonical id. A name that nothing has becomes an entity.
        predicate : str
            Such as ``runs_on``; blanks and capitals do not matter.
        object : str or number
            A value, or the name of an entity.
        valid_from, valid_to : date, optional
            It holds from the first, and until just before the second.
        source : str, optional
            Id of the chunk that says so, or a path or label; ``user`` unless given.
        confidence, weight : float
            0 to 1; above 0.
        kind : {"auto", "entity", "literal"}
            What the object is: by itself what is registered of the predicate, else an entity where it names one already.
        type, object_type : str, optional
            Types of the two; see `add_entity`.
        category : str, optional
            The subject's type unless given.
        strict : bool
            Refuse predicates that are not registered.

        Returns
        -------
        Fact
            As it stands.

        Raises
        ------
        InvalidArgument, AmbiguousEntity, VaultReadOnly, VaultLocked, OSError
        """
        from lamina.factresults import fact_of
        from lamina_engine.facts.book import book_at
        from lamina_engine.facts.drafts import Draft
        from lamina_engine.facts.log import write

        draft = Draft(
            subject, predicate, _text(object), kind, type, object_type, category, source, confidence, weight,  # type: ignore[arg-type]
            self._instant(valid_from, "valid_from"), self._instant(valid_to, "valid_to"),
        )  # fmt: skip
        written = write(self._memory, [draft], strict=strict)
        return fact_of(book_at(self._memory).facts_at(written.rows)[0])

    def add_many(
        self,
        records: Iterable[Mapping[str, Any]] | pa.Table,
        *,
        origin: str = "user",
        strict: bool = False,
        skip_bad: bool = True,
        index: bool = True,
    ) -> Adding:
        """Add many facts in one commit.

        Parameters
        ----------
        records : iterable of mapping, or pyarrow.Table
            With ``subject``, ``predicate``, ``object`` and any of ``kind, subject_type, object_type, category, source,
            confidence, weight, valid_from, valid_to``; see `add`.
        origin : str
            What writes them.
        strict : bool
            Refuse predicates that are not registered.
        skip_bad : bool
            Leave out what cannot be written and report it; else the first such is an error, and nothing is written.
        index : bool
            Bring the full text level at once. Else the next write does, and questions read what it lacks exactly.

        Returns
        -------
        Adding

        Raises
        ------
        InvalidArgument, SchemaMismatch, AmbiguousEntity, VaultReadOnly, VaultLocked, OSError
        """
        from lamina.factresults import Adding
        from lamina_engine.facts.log import write_columns

        columns = self._columns(records)
        written = write_columns(self._memory, columns, origin=origin, strict=strict, skip_bad=skip_bad, index=index)
        return Adding(
            written.added, written.unchanged, written.superseded, written.entities, tuple(written.problems),
            tuple(written.rows),
        )  # fmt: skip

    def _columns(self, records: Iterable[Mapping[str, Any]] | pa.Table) -> dict[str, builtins.list[Any]]:
        import pyarrow as pa

        if isinstance(records, pa.Table):
            _check_fields(records.column_names)
            columns = {name: records.column(name).to_pylist() for name in records.column_names}
        else:
            rows = [*records]
            for row in rows:
                if not isinstance(row, Mapping):
                    raise InvalidArgument(f"a record is a {type(row).__name__}; give mappings or a pyarrow.Table")
            given = dict.fromkeys(name for row in rows for name in row)
            _check_fields(given)
            optional = [name for name in RECORD[3:] if name in given]
            columns = {name: [row.get(name) for row in rows] for name in (*RECORD[:3], *optional)}
        columns["object"] = [value if isinstance(value, str) else _text(value) for value in columns["object"]]
        for name, default in (("kind", "auto"), ("confidence", 1.0), ("weight", 1.0)):
            if name in columns:
                columns[name] = [default if value is None else value for value in columns[name]]
        for name in ("valid_from", "valid_to"):
            if name in columns:
                columns[name] = self._instants(columns[name], name)
        return columns

    def _instants(self, values: Sequence[Any], what: str) -> builtins.list[Any]:
        """Read dates, each different one once; one that is none stays, and is reported with its record."""
        known: dict[Any, Any] = {None: None}
        found = []
        for value in values:
            if value not in known:
                try:
                    known[value] = self._instant(value, what)
                except InvalidArgument:
                    known[value] = value if isinstance(value, str) else str(value)
            found.append(known[value])
        return found

    def close(
        self, subject: str, predicate: str, object: str | None = None, valid_to: Instant | None = None
    ) -> int:  # fmt: skip
        """End facts that are open; return how many. One value, or all of them.

        Parameters
        ----------
        subject, predicate : str
        object : str, optional
            Only this value.
        valid_to : date, optional
            The first moment at which they hold no more; the beginning of the present day unless given.

        Raises
        ------
        EntityNotFound, AmbiguousEntity
            For the subject.
        InvalidArgument
            When a fact would end before it began.
        VaultReadOnly, VaultLocked, OSError
        """
        from lamina_engine.facts.log import close

        return close(self._memory, subject, predicate, object, valid_to=self._instant(valid_to, "valid_to"))

    def retract(self, ids: int | Sequence[int]) -> int:
        """Take facts back that never were so; return how many. As of before they are still seen.

        Raises
        ------
        InvalidArgument, VaultReadOnly, VaultLocked, OSError
        """
        from lamina_engine.facts.log import retract

        return retract(self._memory, [ids] if isinstance(ids, int) else ids)

    def declare(
        self, predicate: str, *, functional: bool | None = None, inverse: str | None = None, object: str | None = None
    ) -> Predicate:
        """Register a predicate, or change what is registered of one; facts that are there stay as they are.

        Parameters
        ----------
        predicate : str
        functional : bool, optional
            Whether a subject has one value of it at a time.
        inverse : str, optional
            How a fact reads from its object; then it is found from both ends.
        object : {"any", "entity", "literal"}, optional
            What its objects are.

        Raises
        ------
        InvalidArgument, VaultReadOnly, VaultLocked, OSError
        """
        from lamina_engine.facts.predicates import declare

        return declare(self._memory, predicate, functional=functional, inverse=inverse, object=object)  # type: ignore[arg-type]

    # ------------------------------------------------------------------ entities

    def add_entity(self, name: str, type: str | None = None, aliases: Sequence[str] = ()) -> Entity:
        """Make an entity, or give the one there is; with other names of its own.

        Parameters
        ----------
        name : str
        type : str, optional
            Such as ``person`` or ``project``; the one type that entities of this name have, else ``concept``, unless given.
        aliases : sequence of str

        Raises
        ------
        InvalidArgument, AmbiguousEntity, VaultReadOnly, VaultLocked, OSError
        """
        from lamina_engine.facts.entities import add_entity

        return add_entity(self._memory, name, type, aliases)

    def alias(self, alias: str, entity: str, *, type: str | None = None) -> Entity:
        """Give an entity another name. Given to several, it is ambiguous, and shown to be.

        Raises
        ------
        EntityNotFound, AmbiguousEntity, InvalidArgument, VaultReadOnly, VaultLocked, OSError
        """
        from lamina_engine.facts.entities import alias as give

        return give(self._memory, alias, entity, type=type)

    def unalias(self, alias: str, entity: str | None = None) -> int:
        """Take another name back, from one entity or from all that have it; return from how many.

        Raises
        ------
        EntityNotFound, AmbiguousEntity, InvalidArgument, VaultReadOnly, VaultLocked, OSError
        """
        from lamina_engine.facts.entities import unalias

        return unalias(self._memory, alias, entity)

    def merge(self, entity: str, into: str) -> Entity:
        """Make one of two entities: names, aliases and facts of the first are the second's from now on.

        Raises
        ------
        EntityNotFound, AmbiguousEntity, InvalidArgument, VaultReadOnly, VaultLocked, OSError
        """
        from lamina_engine.facts.entities import merge

        return merge(self._memory, entity, into)

    def resolve(
        self, name: str, *, type: str | None = None, prefix: bool = False, edits: bool = False,
        as_of: Instant | None = None,
    ) -> Resolution:  # fmt: skip
        """Return all entities that a name may stand for, and how it was resolved.

        Parameters
        ----------
        name : str
            A canonical id, a name or an alias. Case and diacritics matter only where they tell entities apart.
        type : str, optional
            Only entities of this type.
        prefix, edits : bool
            Also try it as a beginning, and names that differ by one letter.
        as_of : date, optional
            As it was known then.

        Raises
        ------
        InvalidArgument
        """
        from lamina_engine.facts.book import book_at

        book = book_at(self._memory, self._instant(as_of, "as_of"))
        return book.resolve(name, type=type, prefix=prefix, edits=edits)

    def entity(self, name_or_id: str, *, type: str | None = None) -> Entity:
        """Return the one entity of a name, an alias or a canonical id.

        Raises
        ------
        EntityNotFound
            Nothing has this name.
        AmbiguousEntity
            Several have it; `resolve` shows them.
        InvalidArgument
        """
        from lamina_engine.facts.book import book_at
        from lamina_engine.facts.log import known_entity

        book = book_at(self._memory)
        return book.entity(known_entity(book, name_or_id, type))

    # ------------------------------------------------------------------ reading

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
        from lamina_engine.facts.book import book_at
        from lamina_engine.facts.log import known_entity
        from lamina_engine.facts.predicates import predicate_name

        seen = self._instant(as_of, "as_of")
        when = self._instant(valid_at, "valid_at")
        if when is None:
            when = seen if seen is not None else self._memory.clock.now_us()
        wanted = None if predicates is None else {predicate_name(name) for name in predicates}
        book = book_at(self._memory, seen)
        row = known_entity(book, entity, type)
        found = book.about(row, valid_at=None if history else when, direction=direction, predicates=wanted)  # type: ignore[arg-type]
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
        from lamina_engine.facts.book import book_at
        from lamina_engine.facts.log import known_entity
        from lamina_engine.facts.predicates import predicate_name

        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
            raise InvalidArgument(f"limit={limit!r} must be a number from 1 on")
        book = book_at(self._memory)
        when = None if history else self._instant(valid_at, "valid_at")
        if when is None and not history:
            when = self._memory.clock.now_us()
        entity = None if object is None else book.resolve(object).entity
        name = None if predicate is None else predicate_name(predicate)
        row = None if subject is None else known_entity(book, subject)
        found = book.find(subject=row, predicate=name, object=None if entity is None else entity.row, valid_at=when)
        if object is not None and entity is None:
            found = book.find(subject=row, predicate=name, object=object, valid_at=when)
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
        from lamina_engine.facts.extraction import COLLECTION, extract

        return extract(
            self._memory, text, source=source, session=session, collection=collection or COLLECTION,
            created_at_us=self._instant(created_at, "created_at"), judge=_judge(judge), budget=budget,
        )  # fmt: skip

    def contradictions(
        self, *, judge: ChatSpec | Literal[True] = None, budget: Budget | None = None
    ) -> builtins.list[Contradiction]:
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
        from lamina_engine.facts.book import book_at
        from lamina_engine.facts.contradiction import contradictions_of

        chat = _judge(judge)
        if chat is not None:
            from lamina_engine.facts.judged import judge_contradictions

            judge_contradictions(self._memory, chat, budget=budget)
        found, book = contradictions_of(self._memory.view()), book_at(self._memory)
        return [contradiction_of(each, *book.facts_at([each.old, each.new])) for each in found]

    # ------------------------------------------------------------------ files

    def seed(self, path: str | os.PathLike[str], *, strict: bool = False) -> Seeded:
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

        return seed(self._memory, Path(path), strict=strict)

    def load(self, path: str | os.PathLike[str]) -> Seeded:
        """Read an openclaw ``facts.db``, or facts that `lamina.Vault.export` wrote; again it changes nothing.

        Raises
        ------
        IngestError, InvalidArgument, AmbiguousEntity, VaultReadOnly, VaultLocked, OSError
        """
        from lamina_engine.facts.exporting import import_facts, is_fact_file
        from lamina_engine.facts.openclaw import load
        from lamina_engine.facts.seeding import Seeded

        if is_fact_file(Path(path)):
            return Seeded(facts=import_facts(self._memory, Path(path)))
        return load(self._memory, Path(path))

    def _instant(self, value: Instant | None, what: str) -> int | None:
        return None if value is None else parse_instant(value, self._memory.config.tz, what=what)


def _text(value: Any) -> Any:
    """Return a number as text; what is neither stays, and is refused by its type."""
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def _check_fields(given: Iterable[str]) -> None:
    unknown = sorted(str(name) for name in given if name not in RECORD)
    if unknown:
        raise InvalidArgument(f"a fact has no field {unknown[0]!r}; it has {', '.join(RECORD)}")


def _judge(spec: ChatSpec | Literal[True]) -> Chat | None:
    if spec is None:
        return None
    from lamina_engine.links.judging import no_judge, resolve_judge

    judge = resolve_judge(None if spec is True else spec)
    if judge is None:
        raise no_judge()
    return judge

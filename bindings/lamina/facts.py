"""Facts about people, projects and things, valid in time; ``vault.facts``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from lamina.accessor import Accessor
from lamina.results import Answers, Results
from lamina_engine.arguments import flag_of, limit_of, names_of, numbers_of, path_of, whole_of
from lamina_engine.clock import Instant
from lamina_engine.errors import InvalidArgument, describe_value

if TYPE_CHECKING:
    from lamina.options import ArrowStream, Direction, ObjectKind, PathLike
    from lamina_engine.embed.chat import Budget, Chat, ChatSpec
    from lamina_engine.facts.extract import ExtractReport
    from lamina_engine.facts.predicates import Declaration, Predicate
    from lamina_engine.facts.schema import Alias, Entity, Resolution
    from lamina_engine.facts.seeding import SeedReport
    from lamina_engine.results import Contradiction, Fact, FactsReport

RECORD = (
    "subject", "predicate", "object", "kind", "subject_type", "object_type", "category", "source", "confidence", "weight",
    "valid_from", "valid_to",
)  # fmt: skip
"""Fields of a record of `Facts.add_many`; the first three are required."""


class Facts(Accessor):
    """Facts of a vault: subject, predicate and object, with a validity interval and a source.

    Examples
    --------
    >>> _ = vault.facts.add("Keystone", "port", "3055", source="keystone.md")
    >>> [(fact.key, fact.value, fact.source) for fact in vault.facts.about("keystone")]
    [('port', '3055', 'keystone.md')]
    """

    def __call__(
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

        Raises
        ------
        EntityNotFound, AmbiguousEntity, InvalidArgument
        """
        return self.list(subject, predicate, object, valid_at=valid_at, history=history, category=category, limit=limit)

    # ------------------------------------------------------------------ questions

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
        """Answer a question from the facts, best first, else from a sentence that states it.

        Parameters
        ----------
        question : str
            As asked.
        k : int
            Maximum number of answers.
        valid_at : date, optional
            Use the facts valid then; now by default.
        as_of : date, optional
            Use the facts recorded by then.
        identity : str, optional
            The entity that "I" and "my" mean.
        fuzzy : bool
            Also match names by prefix, and with one letter changed.

        Returns
        -------
        Answers
            Each with ``subject, predicate, object, score, method, source``; ``answered`` is False where they are only
            related facts.

        Raises
        ------
        InvalidArgument, VaultCorrupt

        Examples
        --------
        >>> _ = vault.facts.add("Keystone", "port", "3055")
        >>> vault.facts.ask("what port does Keystone run on?")[0].object
        '3055'
        """
        from lamina_engine.recall.statements import ask

        found = ask(
            self._memory, question, k=k, valid_at_us=self._instant(valid_at, "valid_at"),
            as_of_us=self._instant(as_of, "as_of"), identity=identity, fuzzy=fuzzy,
        )  # fmt: skip
        return Answers(found, self._memory.incomplete)

    def about(
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

        Parameters
        ----------
        entity : str
            A name, an alias or a canonical id; where nothing is called so, words of one entity's name or alias.
        valid_at : date, optional
            Facts valid then; by default at ``as_of``, else now.
        as_of : date, optional
            Facts recorded by then.
        direction : {"both", "out", "in"}
            Facts with the entity as subject, or as object.
        predicates : collection of str, optional
            Only these, read from the entity.
        history : bool
            Include facts that are no longer, or not yet, valid.
        type : str, optional
            Type of the entity, where several share its name.

        Returns
        -------
        Results of Fact

        Raises
        ------
        EntityNotFound, AmbiguousEntity, InvalidArgument

        Examples
        --------
        >>> _ = vault.facts.add("Ann", "works_at", "Acme", object_type="company")
        >>> [fact.value for fact in vault.facts.about("Acme")]
        ['Ann']
        """
        from lamina_engine.facts.log import entity_row
        from lamina_engine.facts.predicates import predicate_name
        from lamina_engine.facts.view import fact_view_at
        from lamina_engine.results import Fact

        recorded, history = self._instant(as_of, "as_of"), flag_of(history, "history")
        moment = self._instant(valid_at, "valid_at")
        if moment is None:
            moment = recorded if recorded is not None else self._memory.clock.now_us()
        names = (
            None
            if predicates is None
            else {predicate_name(name) for name in names_of(predicates, "predicates", "works_at")}
        )
        kg = fact_view_at(self._memory, recorded)
        row = entity_row(kg, entity, type, part=True)
        found = kg.about(row, valid_at=None if history else moment, direction=direction, predicates=names)
        return Results(found, Fact, self._memory.incomplete)

    def list(
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

        Parameters
        ----------
        subject : str, optional
            Only facts of this entity.
        predicate : str, optional
            Only this predicate.
        object : str, optional
            A literal, or the name of an entity.
        valid_at : date, optional
            Facts valid then; now by default.
        history : bool
            Include facts that are no longer, or not yet, valid.
        category : str, optional
            Only facts of this category, such as ``person`` or ``project``. Categories and predicates are words of your own: one
            that no fact has gives none.
        limit : int, optional
            Maximum number of facts; None for all.

        Returns
        -------
        Results of Fact

        Raises
        ------
        EntityNotFound, AmbiguousEntity, InvalidArgument

        Examples
        --------
        >>> _ = vault.facts.add("Keystone", "port", "3055")
        >>> vault.facts.list(predicate="port")[0].subject
        'Keystone'
        """
        from lamina_engine.facts.log import entity_row
        from lamina_engine.facts.names import clean_type
        from lamina_engine.facts.predicates import predicate_name
        from lamina_engine.facts.view import fact_view_at
        from lamina_engine.results import Fact

        limit, history = limit_of(limit), flag_of(history, "history")
        kg = fact_view_at(self._memory)
        moment = None if history else self._instant(valid_at, "valid_at")
        if moment is None and not history:
            moment = self._memory.clock.now_us()
        entity = None if object is None else kg.resolve(object).entity
        name = None if predicate is None else predicate_name(predicate)
        row = None if subject is None else entity_row(kg, subject)
        end = entity.row if entity is not None else object
        found = kg.find(subject=row, predicate=name, object=end, valid_at=moment)
        if category is not None:
            kind = clean_type(category)
            found = [fact for fact in found if fact.category == kind]
        return Results(found[:limit], Fact, self._memory.incomplete)

    def contradictions(
        self, *, judge: ChatSpec | Literal[True] = None, budget: Budget | None = None
    ) -> Results[Contradiction]:
        """Return the pairs of facts that contradict or update each other, oldest finding first.

        Values of a functional predicate that a later value ended are found without a model.

        Parameters
        ----------
        judge : mapping, Chat or True, optional
            A language model that first looks for contradictions; as in `extract`.
        budget : Budget, optional
            Limit of requests and tokens.

        Returns
        -------
        Results of Contradiction

        Raises
        ------
        InvalidConfig, VaultReadOnly, VaultLocked, OSError

        Examples
        --------
        >>> vault.facts.contradictions()
        <0 Contradictions>
        """
        from lamina_engine.facts.contradictions import contradictions_of
        from lamina_engine.facts.view import fact_view_at
        from lamina_engine.results import Contradiction

        chat = _judge(judge)
        if chat is not None:
            from lamina_engine.facts.judged import judge_contradictions

            judge_contradictions(self._memory, chat, budget=budget)
        kg = fact_view_at(self._memory)
        pairs = []
        for found in contradictions_of(self._memory.view()):
            old, new = kg.facts_at([found.old, found.new])
            pairs.append(Contradiction(old, new, found.relation, found.confidence, found.reasoning))
        return Results(pairs, Contradiction, self._memory.incomplete)

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
        kind: ObjectKind = "auto",
        type: str | None = None,
        object_type: str | None = None,
        category: str | None = None,
        strict: bool = False,
    ) -> Fact:
        """Add a fact; one that is there already is left alone.

        A new value of a functional predicate (see `declare`) ends the value before it: at ``valid_from``, or at the
        beginning of the current day.

        Parameters
        ----------
        subject : str
            A name, an alias or a canonical id. An unknown name becomes an entity.
        predicate : str
            Such as ``runs_on``; spaces and capitals do not matter.
        object : str or number
            A literal, or the name of an entity.
        valid_from, valid_to : date, optional
            Half-open interval in which it holds.
        source : str, optional
            Id of the chunk that states it, or a path or label; ``user`` by default.
        confidence, weight : float
            In [0, 1]; above 0.
        kind : {"auto", "entity", "literal"}
            Kind of the object: by default as registered for the predicate, else an entity where one has this name.
        type, object_type : str, optional
            Types of subject and object; see `add_entity`.
        category : str, optional
            Type of the subject by default.
        strict : bool
            Refuse predicates that are not registered.

        Returns
        -------
        Fact

        Raises
        ------
        InvalidArgument, AmbiguousEntity, VaultReadOnly, VaultLocked, OSError

        Examples
        --------
        >>> vault.facts.add("Ann", "works_at", "Acme", valid_from="2026-02-01").valid_from.year
        2026
        """
        from lamina_engine.facts.log import write
        from lamina_engine.facts.schema import Draft
        from lamina_engine.facts.view import fact_view_at

        draft = Draft(
            subject, predicate, _text(object), kind, type, object_type, category, source, confidence, weight,
            self._instant(valid_from, "valid_from"), self._instant(valid_to, "valid_to"),
        )  # fmt: skip
        written = write(self._memory, [draft], strict=strict)
        return fact_view_at(self._memory).facts_at(written.rows)[0]

    def add_many(
        self,
        records: Iterable[Mapping[str, object]] | ArrowStream,
        *,
        origin: str = "user",
        strict: bool = False,
        skip_bad: bool = True,
        index: bool = True,
    ) -> FactsReport:
        """Add many facts in one commit.

        Parameters
        ----------
        records : iterable of mapping, or table
            With ``subject``, ``predicate``, ``object`` and any of ``kind, subject_type, object_type, category, source,
            confidence, weight, valid_from, valid_to``; see `add`.
        origin : str
            Who writes them.
        strict : bool
            Refuse predicates that are not registered.
        skip_bad : bool
            Leave out and report records that cannot be written; otherwise the first one raises and nothing is written.
        index : bool
            Index the texts at once; otherwise the next write does, and questions scan what is not indexed.

        Returns
        -------
        FactsReport

        Raises
        ------
        InvalidArgument, SchemaMismatch, AmbiguousEntity, VaultReadOnly, VaultLocked, OSError

        Examples
        --------
        >>> vault.facts.add_many([{"subject": "Ann", "predicate": "role", "object": "lead"}]).added
        1
        """
        from lamina_engine.facts.log import write_columns
        from lamina_engine.results import FactsReport

        columns = self._columns(records)
        written = write_columns(self._memory, columns, origin=origin, strict=strict, skip_bad=skip_bad, index=index)
        return FactsReport(
            written.added, written.unchanged, written.superseded, written.entities, tuple(written.problems),
            tuple(written.rows),
        )  # fmt: skip

    def close(
        self, subject: str, predicate: str, object: str | None = None, valid_to: Instant | None = None
    ) -> int:  # fmt: skip
        """End open facts: one value, or all values of a predicate. Return the number of facts ended.

        Parameters
        ----------
        subject, predicate : str
            Whose facts, and which.
        object : str, optional
            Only this value.
        valid_to : date, optional
            The first moment at which they no longer hold; the beginning of the current day by default.

        Raises
        ------
        EntityNotFound, AmbiguousEntity
            For the subject.
        InvalidArgument
            When a fact would end before it began.
        VaultReadOnly, VaultLocked, OSError

        Examples
        --------
        >>> _ = vault.facts.add("Ann", "works_at", "Acme", valid_from="2026-02-01")
        >>> vault.facts.close("Ann", "works_at")
        1
        """
        from lamina_engine.facts.log import close

        return close(self._memory, subject, predicate, object, valid_to=self._instant(valid_to, "valid_to"))

    def retract(self, ids: int | Sequence[int]) -> int:
        """Retract facts that were never true; return how many were still held.

        Questions as of an earlier moment still see them. One that was retracted before changes nothing.

        Parameters
        ----------
        ids : int or sequence of int
            ``Fact.id`` of each.

        Raises
        ------
        InvalidArgument
            For a number that no fact has; nothing is retracted then.
        VaultReadOnly, VaultLocked, OSError

        Examples
        --------
        >>> vault.facts.retract(vault.facts.add("Ann", "role", "pilot").id)
        1
        """
        from lamina_engine.facts.log import retract

        return retract(self._memory, numbers_of(ids, "ids", "a fact"))

    def declare(
        self,
        predicate: str,
        *,
        functional: bool | None = None,
        inverse: str | None = None,
        object: Literal["any", "entity", "literal"] | None = None,
    ) -> Declaration:
        """Register a predicate, or change its registration.

        Where it has one value at a time from now on, a value that is there already ends where the next one was stated.

        Parameters
        ----------
        predicate : str
            Its name.
        functional : bool, optional
            True where a subject has one value of it at a time.
        inverse : str, optional
            The predicate read from the object; facts are then found from both ends.
        object : {"any", "entity", "literal"}, optional
            Kind of its objects.

        Returns
        -------
        Declaration
            The predicate, and in ``mended`` the number of facts that changed for it.

        Raises
        ------
        InvalidArgument, VaultReadOnly, VaultLocked, OSError

        Examples
        --------
        >>> vault.facts.declare("mentors", inverse="mentored_by", object="entity").inverse
        'mentored_by'
        """
        from lamina_engine.facts.predicates import declare

        return declare(self._memory, predicate, functional=functional, inverse=inverse, object=object)

    def predicates(self, *, used: bool = False) -> Results[Predicate]:
        """Return the registered predicates by name, with the number of values each may have.

        Parameters
        ----------
        used : bool
            Those that this vault's facts have, registered or not, instead of all that are registered.

        Raises
        ------
        VaultCorrupt

        Examples
        --------
        >>> [each.functional for each in vault.facts.predicates() if each.name in ("owner", "phone")]
        [True, False]
        """
        from lamina_engine.facts.predicates import Predicate
        from lamina_engine.facts.view import fact_view_at

        kg = fact_view_at(self._memory)
        found = {predicate.name: predicate for predicate in kg.registry}
        if flag_of(used, "used"):
            found = {name: found.get(name) or Predicate(name) for name in kg.predicate_names()}
        return Results([found[name] for name in sorted(found)], Predicate, self._memory.incomplete)

    # ------------------------------------------------------------------ entities

    def entities(self, type: str | None = None) -> Results[Entity]:
        """Return the entities by name, with their aliases.

        Parameters
        ----------
        type : str, optional
            Only entities of this type (their facts' category), such as ``person`` or ``project``.

        Raises
        ------
        InvalidArgument

        Examples
        --------
        >>> _ = vault.facts.add_entity("Keystone", "project"), vault.facts.add_entity("Ann", "person")
        >>> [entity.name for entity in vault.facts.entities("person")]
        ['Ann']
        """
        from lamina_engine.facts.schema import Entity
        from lamina_engine.facts.view import fact_view_at

        return Results(fact_view_at(self._memory).list_entities(type), Entity, self._memory.incomplete)

    def aliases(self, entity: str | None = None, *, type: str | None = None) -> Results[Alias]:
        """Return the aliases of all entities, by entity; or of one.

        Parameters
        ----------
        entity : str, optional
            Only aliases of this entity.
        type : str, optional
            Only aliases of entities of this type.

        Raises
        ------
        EntityNotFound, AmbiguousEntity, InvalidArgument

        Examples
        --------
        >>> _ = vault.facts.add_entity("Keystone", "project", aliases=["KS"])
        >>> [(alias.alias, alias.entity) for alias in vault.facts.aliases(type="project")]
        [('KS', 'Keystone')]
        """
        from lamina_engine.facts.log import entity_row
        from lamina_engine.facts.schema import Alias
        from lamina_engine.facts.view import fact_view_at

        kg = fact_view_at(self._memory)
        owners = kg.list_entities(type) if entity is None else [kg.entity(entity_row(kg, entity, type))]
        return Results(
            [Alias(name, each.name, each.id, each.type) for each in owners for name in each.aliases],
            Alias,
            self._memory.incomplete,
        )

    def add_entity(self, name: str, type: str | None = None, aliases: Sequence[str] = ()) -> Entity:
        """Create an entity, or return the existing one; with other names of its own.

        Parameters
        ----------
        name : str
            Its name.
        type : str, optional
            Such as ``person`` or ``project``; by default the only type that entities of this name have, else ``concept``.
        aliases : sequence of str
            Other names.

        Raises
        ------
        InvalidArgument, AmbiguousEntity, VaultReadOnly, VaultLocked, OSError

        Examples
        --------
        >>> vault.facts.add_entity("Keystone", "project", aliases=["KS"]).aliases
        ('KS',)
        """
        from lamina_engine.facts.entities import add_entity

        return add_entity(self._memory, name, type, names_of(aliases, "aliases", "KS"))

    def alias(self, alias: str, entity: str, *, type: str | None = None) -> Entity:
        """Give an entity another name; a name of several entities is ambiguous.

        Parameters
        ----------
        alias, entity : str
            The new name; the entity's name or canonical id.
        type : str, optional
            Type of the entity, where several share its name.

        Raises
        ------
        EntityNotFound, AmbiguousEntity, InvalidArgument, VaultReadOnly, VaultLocked, OSError

        Examples
        --------
        >>> _ = vault.facts.add_entity("Keystone", "project")
        >>> vault.facts.alias("the gateway", "Keystone").name
        'Keystone'
        """
        from lamina_engine.facts.entities import add_alias

        return add_alias(self._memory, alias, entity, type=type)

    def unalias(self, alias: str, entity: str | None = None) -> int:
        """Remove a name from one entity, or from all that have it; return how many lost it.

        Raises
        ------
        EntityNotFound, AmbiguousEntity, InvalidArgument, VaultReadOnly, VaultLocked, OSError

        Examples
        --------
        >>> _ = vault.facts.add_entity("Keystone", aliases=["KS"])
        >>> vault.facts.unalias("KS")
        1
        """
        from lamina_engine.facts.entities import remove_alias

        return remove_alias(self._memory, alias, entity)

    def merge(self, entity: str, into: str) -> Entity:
        """Merge one entity into another, with its names, aliases and facts.

        Raises
        ------
        EntityNotFound, AmbiguousEntity, InvalidArgument, VaultReadOnly, VaultLocked, OSError

        Examples
        --------
        >>> _ = vault.facts.add_entity("Keystone"), vault.facts.add_entity("Keystone gateway")
        >>> vault.facts.merge("Keystone gateway", "Keystone").aliases
        ('Keystone gateway',)
        """
        from lamina_engine.facts.entities import merge_entities

        return merge_entities(self._memory, entity, into)

    def resolve(
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

        Parameters
        ----------
        name : str
            A canonical id, a name or an alias. Case and diacritics matter only where they distinguish entities.
        type : str, optional
            Only entities of this type.
        part, prefix, edits : bool
            Also match it as words of a name, as a prefix, and with one letter changed.
        as_of : date, optional
            Use the names recorded by then.

        Raises
        ------
        InvalidArgument

        Examples
        --------
        >>> vault.facts.resolve("nothing").how
        'none'
        """
        from lamina_engine.facts.view import fact_view_at

        kg = fact_view_at(self._memory, self._instant(as_of, "as_of"))
        return kg.resolve(name, type=type, part=part, prefix=prefix, edits=edits)

    def entity(self, name_or_id: str, *, type: str | None = None) -> Entity:
        """Return the one entity of a name, an alias or a canonical id.

        Raises
        ------
        EntityNotFound
            When nothing has this name.
        AmbiguousEntity
            When several have it; `resolve` lists them.
        InvalidArgument

        Examples
        --------
        >>> _ = vault.facts.add_entity("Keystone", "project")
        >>> vault.facts.entity("keystone").type
        'project'
        """
        from lamina_engine.facts.log import entity_row
        from lamina_engine.facts.view import fact_view_at

        kg = fact_view_at(self._memory)
        return kg.entity(entity_row(kg, name_or_id, type))

    def graph(
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

        Parameters
        ----------
        center : str, optional
            Name, alias or id of an entity; only what lies within ``hops`` of it. By default everything, or where that is more
            than ``limit`` nodes, what lies around the entity with the most relations.
        hops : int
            1 to 16.
        limit : int, optional
            Maximum number of nodes.
        valid_at, as_of
            As in `about`.
        history : bool
            Facts of all times; those with an interval have ``valid_from`` and ``valid_to``.

        Returns
        -------
        dict
            ``nodes``, ``edges``, ``facts``, ``stats`` (of everything), ``center`` (None for everything) and ``left_out``, the number
            of nodes that are not in it.

        Raises
        ------
        EntityNotFound, AmbiguousEntity, InvalidArgument

        Examples
        --------
        >>> _ = vault.facts.add("Ann", "works_at", "Acme", object_type="company")
        >>> vault.facts.graph("Ann", hops=1)["edges"]
        [{'source': 'Ann', 'target': 'Acme', 'predicate': 'works_at'}]
        """
        from lamina_engine.facts.log import entity_row
        from lamina_engine.facts.transfer import around, graph
        from lamina_engine.facts.view import fact_view_at

        hops, limit = whole_of(hops, "hops", 1, 16), limit_of(limit)
        recorded, history = self._instant(as_of, "as_of"), flag_of(history, "history")
        moment = self._instant(valid_at, "valid_at")
        if moment is None:
            moment = recorded if recorded is not None else self._memory.clock.now_us()
        kg = fact_view_at(self._memory, recorded)
        document = graph(kg, None if history else moment)
        total = len(document["nodes"])
        if center is not None:
            found = kg.entity(entity_row(kg, center, None, part=True))
            center = found.name if any(node["id"] == found.name for node in document["nodes"]) else found.id
        elif limit is not None and total > limit:
            ends = Counter(end for edge in document["edges"] for end in (edge["source"], edge["target"]))
            center = min(document["nodes"], key=lambda node: (-ends[node["id"]], node["id"]))["id"]
        if center is not None:
            document = around(document, center, hops, total if limit is None else limit)
        return {**document, "center": center, "left_out": total - len(document["nodes"])}

    # ------------------------------------------------------------------ sources

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
        """Extract facts from the observations of a text, or from the fields of the vault's notes.

        A second run changes nothing; facts that their note no longer states are withdrawn.

        Parameters
        ----------
        text : str, optional
            The output of an observing model, whose blocks also become chunks; see `lamina_engine.facts.observations`.
            Without it, the frontmatter and ``key:: value`` lines of all notes are read.
        source, session, collection : str, optional
            Fields of the new chunks.
        created_at : date, optional
            When it was observed; now by default.
        judge : mapping, Chat or True, optional
            A language model for chunks it has not seen yet: the options of an endpoint (``url``, ``model``, ``key``), or
            True for ``$LAMINA_JUDGE_URL``.
        budget : Budget, optional
            Limit of requests and tokens.

        Returns
        -------
        ExtractReport
            With the observations that were dropped, and why.

        Raises
        ------
        InvalidArgument, InvalidConfig, EmbedderMismatch, EmbeddingError, VaultReadOnly, VaultLocked, OSError

        Examples
        --------
        >>> vault.facts.extract().added
        0
        """
        from lamina_engine.facts.extract import COLLECTION, extract

        return extract(
            self._memory, text, source=source, session=session, collection=collection or COLLECTION,
            created_at_us=self._instant(created_at, "created_at"), judge=_judge(judge), budget=budget,
        )  # fmt: skip

    def seed(self, path: PathLike, *, strict: bool = False) -> SeedReport:
        """Read a seed file (TOML or YAML) of entities, aliases, facts and relations.

        A second run changes nothing.

        Parameters
        ----------
        path : path
            See `lamina_engine.facts.seeding` for the format.
        strict : bool
            Refuse predicates that are not registered.

        Raises
        ------
        IngestError, InvalidArgument, AmbiguousEntity, VaultReadOnly, VaultLocked, OSError
        """
        from lamina_engine.facts.seeding import seed

        return seed(self._memory, path_of(path), strict=strict)

    def load(self, path: PathLike) -> SeedReport:
        """Read an openclaw ``facts.db``, or facts that `lamina.Vault.export` wrote.

        A second run changes nothing.

        Raises
        ------
        IngestError, InvalidArgument, AmbiguousEntity, VaultReadOnly, VaultLocked, OSError
        """
        from lamina_engine.facts.seeding import SeedReport
        from lamina_engine.facts.transfer import import_facts, import_openclaw, is_fact_file

        if is_fact_file(path_of(path)):
            return SeedReport(facts=import_facts(self._memory, path_of(path)))
        return import_openclaw(self._memory, path_of(path))

    # ------------------------------------------------------------------ arguments

    def _instant(self, value: Instant | None, what: str) -> int | None:
        return None if value is None else self._memory.moment(value, what)

    def _columns(self, records: Iterable[Mapping[str, object]] | ArrowStream) -> dict[str, Sequence[Any]]:
        import pyarrow as pa

        columns: dict[str, Sequence[Any]]
        if hasattr(records, "__arrow_c_stream__"):
            table = pa.table(records)
            _check_fields(table.column_names)
            columns = {name: table.column(name).to_pylist() for name in table.column_names}
        else:
            if not isinstance(records, Iterable):
                raise InvalidArgument(f"{describe_value('records', records)}; give mappings or a pyarrow.Table")
            rows = [*records]
            for row in rows:
                if not isinstance(row, Mapping):
                    raise InvalidArgument(f"a record is of type {type(row).__name__}; give mappings or a pyarrow.Table")
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

    def _instants(self, values: Sequence[Any], what: str) -> Sequence[Any]:
        """Parse dates; an invalid one stays, and is reported with its record."""
        parsed: dict[Any, Any] = {None: None}
        for value in values:
            if value not in parsed:
                try:
                    parsed[value] = self._instant(value, what)
                except InvalidArgument:
                    parsed[value] = value if isinstance(value, str) else str(value)
        return [parsed[value] for value in values]


def _judge(spec: ChatSpec | Literal[True]) -> Chat | None:
    if spec is None:
        return None
    from lamina_engine.judging.queue import no_judge, resolve_judge

    judge = resolve_judge(None if spec is True else spec)
    if judge is None:
        raise no_judge()
    return judge


def _text(value: Any) -> Any:
    """Return a number as text; other types stay, and are refused later."""
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) and value == value else value


def _check_fields(given: Iterable[str]) -> None:
    unknown = sorted(str(name) for name in given if name not in RECORD)
    if unknown:
        raise InvalidArgument(f"a fact has no field {unknown[0]!r}; it has {', '.join(RECORD)}")

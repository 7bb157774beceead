"""Facts written, ended and taken back; the part of ``vault.facts`` that changes what is said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lamina.factbase import OfFacts
from lamina_engine.clock import Instant
from lamina_engine.errors import InvalidArgument

if TYPE_CHECKING:
    import pyarrow as pa

    from lamina.factresults import Adding, Fact
    from lamina_engine.facts.predicates import Predicate

RECORD = (
    "subject", "predicate", "object", "kind", "subject_type", "object_type", "category", "source", "confidence", "weight",
    "valid_from", "valid_to",
)  # fmt: skip
"""Fields of a record of `Facts.add_many`; the first three are needed."""


class FactWriting(OfFacts):
    """Writes facts."""

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
        from lamina_engine.facts.log import write
        from lamina_engine.facts.schema import Draft
        from lamina_engine.facts.view import fact_view_at

        draft = Draft(
            subject, predicate, _text(object), kind, type, object_type, category, source, confidence, weight,  # type: ignore[arg-type]
            self._instant(valid_from, "valid_from"), self._instant(valid_to, "valid_to"),
        )  # fmt: skip
        written = write(self._memory, [draft], strict=strict)
        return fact_of(fact_view_at(self._memory).facts_at(written.rows)[0])

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

    def _columns(self, records: Iterable[Mapping[str, Any]] | pa.Table) -> dict[str, list[Any]]:
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

    def _instants(self, values: Sequence[Any], what: str) -> list[Any]:
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


def _text(value: Any) -> Any:
    """Return a number as text; what is neither stays, and is refused by its type."""
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) and value == value else value


def _check_fields(given: Iterable[str]) -> None:
    unknown = sorted(str(name) for name in given if name not in RECORD)
    if unknown:
        raise InvalidArgument(f"a fact has no field {unknown[0]!r}; it has {', '.join(RECORD)}")

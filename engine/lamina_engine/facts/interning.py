"""Interning of entities: the names of a write become rows of the entities log.

A name is interned as an existing entity only where it is that entity's own name (in any case) or alias; other diacritics and
spellings make another entity. A name of several entities is an error where a person writes, who can choose one; what is
read from texts and files is filed under a concept of that name, so nothing is lost and nothing guessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamina_engine.errors import AmbiguousEntity, InvalidArgument
from lamina_engine.facts import names
from lamina_engine.facts.resolve import ENTITY, MERGE, Hashes, NameMatch, find_named, row_of_id
from lamina_engine.facts.view import FactView

if TYPE_CHECKING:
    from lamina_engine.facts.predicates import Registry
    from lamina_engine.facts.schema import DraftColumns
    from lamina_engine.store.transaction import Transaction

I64 = NDArray[np.int64]
_MANY_NAMES: Final = 1_024


class _NewEntities:
    """New rows of the entities log by column, as many objects would slow garbage collection."""

    def __init__(self) -> None:
        self.id: list[str] = []
        self.name: list[str] = []
        self.type: list[str] = []
        self.chunk: list[str | None] = []
        self.merges: dict[int, tuple[int, int]] = {}
        """By place, entity and what it is merged into."""

    def __len__(self) -> int:
        return len(self.id)

    def add(self, id: str, name: str, type: str, chunk: str | None) -> None:
        self.id.append(id)
        self.name.append(name)
        self.type.append(type)
        self.chunk.append(chunk)

    def merge(self, row: int, into: int) -> None:
        self.merges[len(self)] = row, into
        self.add("", "", "", None)


class EntityInterner:
    """Entities of one write: existing ones by name, and new ones."""

    def __init__(self, kg: FactView, vault: str, expected: Iterable[str] = (), *, strict: bool = True) -> None:
        self._kg, self._part = kg, names.vault_part(vault)
        self._strict = strict
        """Whether a name of several entities is an error, and not a concept."""
        self.base = kg.snapshot.rows("entities")
        """Row of the first new one."""
        self._new = _NewEntities()
        self._made: dict[str, int] = {}
        """By slug, row of the first entity of this write."""
        self._more: dict[str, list[int]] = {}
        """By slug, rows of the others."""
        self._merged: dict[int, int] = {}
        self._new_names: set[str] = set()
        """Names that nothing in the vault has."""
        self._found: dict[str | None, dict[str, int]] = {None: {}}
        """By type and name, what was asked for."""
        self._look_up([name for name in dict.fromkeys(expected) if isinstance(name, str) and name.count(":") < 2])

    def _look_up(self, expected: list[str]) -> None:
        if not self._kg.entity_rows:
            self._new_names.update(expected)
            return
        keys, lexicon = names.keys(expected), self._kg.name_index
        rows = lexicon.names.lookup(keys, n_rows=self._kg.entity_rows)
        alias = lexicon.aliases.lookup(keys, n_rows=self._kg.alias_rows) >= 0
        self._new_names.update(expected[at] for at in np.flatnonzero((rows < 0) & ~alias).tolist())
        if len(expected) > _MANY_NAMES:
            self._take_exact(expected, keys, rows, (rows >= 0) & ~alias)

    def _take_exact(self, expected: list[str], keys: Hashes, rows: I64, named: NDArray[np.bool_]) -> None:
        """Resolve names that exactly one entity has, letter by letter: most names of a large write."""
        held, count = np.unique(self._kg.name_index.name_keys.values[: self._kg.entity_rows], return_counts=True)
        named[named] = count[np.searchsorted(held, keys[named])] == 1
        at = np.flatnonzero(named)
        written = self._kg.snapshot.values("entities", "name", rows[at])
        for place, row, name in zip(at.tolist(), rows[at].tolist(), written, strict=True):
            if name == expected[place]:
                self._found[None][name] = self._kg.root(row)

    @property
    def new_count(self) -> int:
        """Number of new entities."""
        return len(self._new) - len(self._new.merges)

    def row(self, name: str, kind: str | None, chunk: str | None = None) -> int:
        """Return the row of a name, creating an entity where none has it."""
        of_kind = self._found.setdefault(kind, {})
        found = of_kind.get(name)
        if found is None:
            found = self.find_row(name, kind)
            if found < 0:
                found = self._make(names.clean(name), kind, chunk)
            of_kind[name] = found
        return self._root(found) if self._merged else found

    def _rows_of_slug(self, slug: str) -> list[int]:
        return [self._made[slug], *self._more.get(slug, ())] if slug in self._made else []

    def find_row(self, name: str, kind: str | None) -> int:
        """Return the row of an existing name, -1 for another."""
        found = self._found.get(kind, {}).get(name)
        if found is not None:
            return self._root(found)
        if name in self._new_names and names.slug(names.single(name)) not in self._made:
            return -1
        row = row_of_id(self._kg, name) if name.count(":") >= 2 else -1
        if row >= 0:
            return self._root(self._kg.root(row))
        for rows in self._levels(name):
            fitting = [row for row in rows if kind is None or self._type(row) == kind]
            if len(fitting) > 1 and not self._strict:
                concepts = [row for row in fitting if self._type(row) == names.DEFAULT_TYPE]
                return concepts[0] if concepts else self._make(names.clean(name), None)
            if len(fitting) > 1:
                ids = ", ".join(sorted(self._id(row) for row in fitting))
                raise AmbiguousEntity(f"{name!r} may be any of {ids}; give one of these ids, or a type")
            if fitting:
                return fitting[0]
        return -1

    def _levels(self, name: str) -> tuple[list[int], list[int], list[int], list[int]]:
        """Return rows with a name: exact, without case, as an exact alias, as an alias without case."""
        found = [] if name in self._new_names else find_named(self._kg, names.key(name))
        caseless, slug = names.caseless(name), names.slug(name)
        written = [row for row in self._rows_of_slug(slug) if row not in self._merged]
        same = [each for each in found if not each.is_alias and names.slug(each.name) == slug]
        aliases = [each for each in found if each.is_alias and names.caseless(each.name) == caseless]
        levels = (
            _distinct_rows(each for each in same if each.name == name),
            _distinct_rows(same) + written,
            _distinct_rows(each for each in aliases if each.name == name),
            _distinct_rows(aliases),
        )
        return tuple([self._root(row) for row in level] for level in levels)  # type: ignore[return-value]

    def _root(self, row: int) -> int:
        while row in self._merged:
            row = self._merged[row]
        return row

    def _type(self, row: int) -> str:
        return self._kg.type(row) if row < self.base else self._new.type[row - self.base]

    def _id(self, row: int) -> str:
        return self._kg.identity(row) if row < self.base else self._new.id[row - self.base]

    def _make(self, name: str, kind: str | None, chunk: str | None = None) -> int:
        slug, unspecific = names.slug(name), -1
        if kind is not None and kind != names.DEFAULT_TYPE:
            unspecific = self.find_row(name, names.DEFAULT_TYPE)
        type_ = kind or names.DEFAULT_TYPE
        row = self.base + len(self._new)
        self._new.add(f"{self._part}:{type_}:{slug}", name, type_, chunk)
        if self._made.setdefault(slug, row) != row:
            self._more.setdefault(slug, []).append(row)
        self._found[None].pop(name, None)  # what was the only one of its name may not be it any more
        if unspecific >= 0:  # what was a mere concept is now known to be this
            self.merge(unspecific, row)
        return row

    def merge(self, row: int, into: int) -> None:
        """Merge an entity into another."""
        self._new.merge(row, into)
        self._merged[row] = into

    def append(self, transaction: Transaction, origin: str) -> None:
        """Append the new entities and merges to the log."""
        new, n = self._new, len(self._new)
        if not n:
            return
        ends = np.full((2, n), -1, np.int64)
        kinds = [ENTITY] * n
        for at, pair in new.merges.items():
            ends[:, at], kinds[at] = pair, MERGE
        transaction.append(
            "entities",
            {
                "kind": kinds, "entity": ends[0], "into": ends[1], "id": new.id, "name": new.name, "type": new.type,
                "chunk": new.chunk, "origin": [origin] * n,
            },
            transaction.stamps(n),
        )  # fmt: skip


def _distinct_rows(found: Iterable[NameMatch]) -> list[int]:
    return list(dict.fromkeys(each.row for each in found))


class DraftEnds(NamedTuple):
    """Subject and object entities of each draft, as rows of the entities log."""

    interner: EntityInterner
    subjects: list[int]
    """-1 for a row that is left out."""
    targets: list[int]
    """-1 where the object is a literal."""


def intern_ends(
    kg: FactView, vault: str, columns: DraftColumns, chunks: Sequence[str | None], *, skip_bad: bool
) -> DraftEnds:
    """Return the entities of each draft, creating the missing ones in order of first appearance.

    With ``skip_bad`` rows with unusable names join ``columns.bad``, and names of several entities mean a concept; else the first
    is an error.
    """
    kinds = _object_kinds(kg.registry, columns)
    expected = dict.fromkeys(columns["subject"])
    expected.update(
        dict.fromkeys(text for text, kind in zip(columns["object"], kinds, strict=True) if kind != "literal")
    )
    interner = EntityInterner(kg, vault, expected, strict=not skip_bad)
    subjects, targets = [-1] * columns.n, [-1] * columns.n
    rows = zip(
        columns["subject"], columns["subject_type"], columns["object"], columns["object_type"], kinds, chunks, strict=True
    )  # fmt: skip
    for row, (subject, subject_type, object, object_type, kind, chunk) in enumerate(rows):
        if row in columns.bad:
            continue
        try:
            entity = interner.row(subject, subject_type, chunk)
            if kind == "entity":
                targets[row] = interner.row(object, object_type, chunk)
            elif kind == "any" and len(object) <= names.MAX_NAME:
                targets[row] = interner.find_row(object, None)
            subjects[row] = entity
        except (InvalidArgument, AmbiguousEntity) as error:
            if not skip_bad:
                raise type(error)(columns.error_message(row, str(error))) from error
            columns.bad[row], targets[row] = str(error), -1
    return DraftEnds(interner, subjects, targets)


def _object_kinds(registry: Registry, columns: DraftColumns) -> list[str | None]:
    """Return the kind of each row's object: entity, literal, or any; None for a bad row."""
    predicates, kinds, types = columns["predicate"], columns["kind"], columns["object_type"]
    registered = {name: registry.kind(name) for name in dict.fromkeys(predicates) if isinstance(name, str)}
    found: list[str | None] = list(map(registered.get, predicates))
    if set(kinds) != {"auto"} or set(types) != {None}:
        found = [
            given if given != "auto" else kind if object_type is None else "entity"
            for kind, given, object_type in zip(found, kinds, types, strict=True)
        ]
    for row in columns.bad:
        found[row] = None
    return found

"""Names of drafts into rows of the entities log: what is known, and what has to be made.

Writing takes a name for an entity of the vault only where it is that entity's own name (whatever its case) or alias;
diacritics and slips make another entity. Where several have it, nothing is written: the caller says which one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lamina_engine.errors import AmbiguousEntity
from lamina_engine.facts import names
from lamina_engine.facts.book import Book
from lamina_engine.facts.lexicon import ENTITY, MERGE, Hashes
from lamina_engine.facts.resolution import Called, called, row_of_id

if TYPE_CHECKING:
    from lamina_engine.store.writer import Transaction


I64 = NDArray[np.int64]
_MANY: Final = 1_024


class _New(NamedTuple):
    id: str
    name: str
    type: str
    chunk: str | None


class Namer:
    """The entities of one write.

    Parameters
    ----------
    book : Book
        What is known.
    vault : str
        The vault's name.
    expected : iterable of str
        Names that will be asked for: looked up at once.
    """

    def __init__(self, book: Book, vault: str, expected: Iterable[str] = ()) -> None:
        self._book, self._part = book, names.vault_part(vault)
        self._base = book.snapshot.rows("entities")
        self._rows: list[_New | tuple[int, int]] = []
        """New rows of the log: entities, and merges (entity, into)."""
        self._made: dict[str, list[int]] = {}
        """By slug, rows of entities of this write."""
        self._merged: dict[int, int] = {}
        self._unheard: set[str] = set()
        """Names that nothing in the vault has."""
        self._found: dict[tuple[str, str | None], int] = {}
        self._look_up([name for name in dict.fromkeys(expected) if isinstance(name, str) and name.count(":") < 2])

    def _look_up(self, expected: list[str]) -> None:
        if not self._book.entity_rows:
            self._unheard.update(expected)
            return
        keys, lexicon = names.keys(expected), self._book.lexicon
        rows = lexicon.names.lookup(keys, n_rows=self._book.entity_rows)
        alias = lexicon.aliases.lookup(keys, n_rows=self._book.alias_rows) >= 0
        self._unheard.update(expected[at] for at in np.flatnonzero((rows < 0) & ~alias).tolist())
        if len(expected) > _MANY:
            self._take_exact(expected, keys, rows, (rows >= 0) & ~alias)

    def _take_exact(self, expected: list[str], keys: Hashes, rows: I64, named: NDArray[np.bool_]) -> None:
        """Take for granted, name by name, what only one entity is called, to the letter: most names of a large write."""
        held, count = np.unique(self._book.lexicon.name_keys.values[: self._book.entity_rows], return_counts=True)
        named[named] = count[np.searchsorted(held, keys[named])] == 1
        at = np.flatnonzero(named)
        written = self._book.snapshot.values("entities", "name", rows[at])
        for place, row, name in zip(at.tolist(), rows[at].tolist(), written, strict=True):
            if name == expected[place]:
                self._found[name, None] = self._book.root(row)

    @property
    def made(self) -> int:
        """How many entities are new."""
        return sum(isinstance(row, _New) for row in self._rows)

    def row(self, name: str, kind: str | None, chunk: str | None = None) -> int:
        """Return the row of a name; a new entity's where nothing has it.

        Raises
        ------
        AmbiguousEntity
            When several entities have this name.
        InvalidArgument
        """
        found = self._found.get((name, kind))
        if found is not None and not self._merged:
            return found
        if found is None:
            found = self.known(name, kind)
            if found < 0:
                found = self._make(names.clean(name), kind, chunk)
            self._found[name, kind] = found
        return self._root(found)

    def known(self, name: str, kind: str | None) -> int:
        """Return the row of a name that is known, -1 for another.

        Raises
        ------
        AmbiguousEntity
        """
        found = self._found.get((name, kind))
        if found is not None:
            return self._root(found)
        if name in self._unheard and names.slug(" ".join(name.split())) not in self._made:
            return -1
        row = row_of_id(self._book, name) if name.count(":") >= 2 else -1
        if row >= 0:
            return self._root(self._book.root(row))
        for rows in self._levels(name):
            fitting = [row for row in rows if kind is None or self._type(row) == kind]
            if len(fitting) > 1:
                told = ", ".join(sorted(self._id(row) for row in fitting))
                raise AmbiguousEntity(f"{name!r} may be any of {told}; give one of these ids, or a type")
            if fitting:
                return fitting[0]
        return -1

    def _levels(self, name: str) -> tuple[list[int], list[int], list[int], list[int]]:
        """Return rows that have a name: as written, by case, as an alias, as an alias by case."""
        found = [] if name in self._unheard else called(self._book, names.key(name))
        caseless, slug = names.caseless(name), names.slug(name)
        written = [row for row in self._made.get(slug, ()) if row not in self._merged]
        same = [each for each in found if not each.is_alias and names.slug(each.name) == slug]
        aliases = [each for each in found if each.is_alias and names.caseless(each.name) == caseless]
        levels = (
            _rows(each for each in same if each.name == name),
            _rows(same) + written,
            _rows(each for each in aliases if each.name == name),
            _rows(aliases),
        )
        return tuple([self._root(row) for row in level] for level in levels)  # type: ignore[return-value]

    def _root(self, row: int) -> int:
        while row in self._merged:
            row = self._merged[row]
        return row

    def _type(self, row: int) -> str:
        new = self._new(row)
        return self._book.type(row) if new is None else new.type

    def _id(self, row: int) -> str:
        new = self._new(row)
        return self._book.identity(row) if new is None else new.id

    def _new(self, row: int) -> _New | None:
        found = self._rows[row - self._base] if row >= self._base else None
        return found if isinstance(found, _New) else None

    def _make(self, name: str, kind: str | None, chunk: str | None) -> int:
        unspecific = -1
        if kind is not None and kind != names.DEFAULT_TYPE:
            unspecific = self.known(name, names.DEFAULT_TYPE)
        wanted = kind or names.DEFAULT_TYPE
        row = self._base + len(self._rows)
        slug = names.slug(name)
        self._rows.append(_New(f"{self._part}:{wanted}:{slug}", name, wanted, chunk))
        self._made.setdefault(slug, []).append(row)
        self._found.pop((name, None), None)  # what was the only one of its name may not be it any more
        if unspecific >= 0:  # what was a mere concept is now known to be this
            self.merge(unspecific, row)
        return row

    def merge(self, row: int, into: int) -> None:
        """Merge an entity into another."""
        self._rows.append((row, into))
        self._merged[row] = into

    def append(self, transaction: Transaction, origin: str) -> None:
        """Write what is new."""
        if not self._rows:
            return
        made = [row if isinstance(row, _New) else None for row in self._rows]
        merges = [(-1, -1) if isinstance(row, _New) else row for row in self._rows]
        transaction.append(
            "entities",
            {
                "kind": [MERGE if new is None else ENTITY for new in made],
                "entity": [pair[0] for pair in merges],
                "into": [pair[1] for pair in merges],
                "id": ["" if new is None else new.id for new in made],
                "name": ["" if new is None else new.name for new in made],
                "type": ["" if new is None else new.type for new in made],
                "chunk": [None if new is None else new.chunk for new in made],
                "origin": [origin] * len(made),
            },
            transaction.stamps(len(made)),
        )


def _rows(found: Iterable[Called]) -> list[int]:
    return list(dict.fromkeys(each.row for each in found))

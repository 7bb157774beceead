"""Names of drafts into rows of the entities log: what is known, and what has to be made.

Writing takes a name for an entity of the vault only where it is that entity's own name (whatever its case) or alias;
diacritics and slips make another entity. Where several have it, nothing is written: the caller says which one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from lamina_engine.errors import AmbiguousEntity
from lamina_engine.facts import manynames, names
from lamina_engine.facts.book import Book
from lamina_engine.facts.lexicon import ENTITY, MERGE, Hashes
from lamina_engine.facts.resolution import Called, called, row_of_id

if TYPE_CHECKING:
    from lamina_engine.store.transaction import Transaction


I64 = NDArray[np.int64]
_MANY: Final = 1_024


class _New:
    """New rows of the log, entities and merges, by column: an object each would be walked by every collection of garbage."""

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
        self.base = book.snapshot.rows("entities")
        """Row of the first new one."""
        self.disturbed = False
        """Whether a name may stand for another entity now than it did before in this write."""
        self._new = _New()
        self._made: dict[str, int] = {}
        """By slug, row of the first entity of this write."""
        self._more: dict[str, list[int]] = {}
        """By slug, rows of the others."""
        self._merged: dict[int, int] = {}
        self._unheard: set[str] = set()
        """Names that nothing in the vault has."""
        self._found: dict[str | None, dict[str, int]] = {None: {}}
        """By type and name, what was asked for."""
        self._look_up([name for name in dict.fromkeys(expected) if isinstance(name, str) and name.count(":") < 2])

    def _look_up(self, expected: list[str]) -> None:
        if not self._book.entity_rows:
            self._unheard.update(expected)
            return
        keys, lexicon = manynames.keys(expected), self._book.lexicon
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
                self._found[None][name] = self._book.root(row)

    @property
    def made(self) -> int:
        """How many entities are new."""
        return len(self._new) - len(self._new.merges)

    def row(self, name: str, kind: str | None, chunk: str | None = None) -> int:
        """Return the row of a name; a new entity's where nothing has it.

        Raises
        ------
        AmbiguousEntity
            When several entities have this name.
        InvalidArgument
        """
        asked = self._found.setdefault(kind, {})
        found = asked.get(name)
        if found is None:
            found = self._make_unheard(name, kind, chunk) if name in self._unheard else -1
            if found < 0:
                found = self.known(name, kind)
            if found < 0:
                text = names.clean(name)
                found = self._make(text, names.slug(text), kind, chunk)
            asked[name] = found
        return self._root(found) if self._merged else found

    def rows(self, wanted: Sequence[str]) -> list[int]:
        """Return the row of each of many different names of any type, as `row` does one after the other.

        Raises
        ------
        AmbiguousEntity, InvalidArgument
        """
        if not manynames.all_plain(wanted):
            return [self.row(name, None) for name in wanted]
        found = self._found[None]
        out: list[int] = []
        for name, slug in zip(wanted, manynames.slugs(wanted), strict=True):
            if name in self._unheard and slug not in self._made:
                row = self._made[slug] = found[name] = self.base + len(self._new)
                self._new.add(f"{self._part}:{names.DEFAULT_TYPE}:{slug}", name, names.DEFAULT_TYPE, None)
            else:
                row = self.row(name, None)
            out.append(row)
        return out

    def may_be_known(self, wanted: Sequence[str]) -> list[str]:
        """Return those of many names that something in the vault, or made in this write, may have."""
        made, unheard = self._made, self._unheard
        return [
            name
            for name, slug in zip(wanted, manynames.slugs(wanted), strict=True)
            if slug in made or name not in unheard
        ]

    def is_unheard(self, name: str) -> bool:
        """Tell whether a name that was expected is one that nothing in the vault has."""
        return name in self._unheard

    def made_like(self, name: str) -> Sequence[int]:
        """Return the rows of new entities that a name may stand for."""
        return self._written(names.slug(names.single(name))) if self._made else ()

    def _written(self, slug: str) -> list[int]:
        return [self._made[slug], *self._more.get(slug, ())] if slug in self._made else []

    def _make_unheard(self, name: str, kind: str | None, chunk: str | None) -> int:
        """Make an entity of a name that nothing in the vault has; -1 where one of this write may have it."""
        single = names.single(name)
        slug = names.slug(single)
        if slug in self._made:
            return -1
        text = names.clean(name)
        return self._make(text, slug if text == single else names.slug(text), kind, chunk)

    def known(self, name: str, kind: str | None) -> int:
        """Return the row of a name that is known, -1 for another.

        Raises
        ------
        AmbiguousEntity
        """
        found = self._found.get(kind, {}).get(name)
        if found is not None:
            return self._root(found)
        if name in self._unheard and not self.made_like(name):
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
        written = [row for row in self._written(slug) if row not in self._merged]
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
        return self._book.type(row) if row < self.base else self._new.type[row - self.base]

    def _id(self, row: int) -> str:
        return self._book.identity(row) if row < self.base else self._new.id[row - self.base]

    def _make(self, name: str, slug: str, kind: str | None, chunk: str | None) -> int:
        unspecific = -1
        if kind is not None and kind != names.DEFAULT_TYPE:
            unspecific = self.known(name, names.DEFAULT_TYPE)
        wanted = kind or names.DEFAULT_TYPE
        row = self.base + len(self._new)
        self._new.add(f"{self._part}:{wanted}:{slug}", name, wanted, chunk)
        if self._made.setdefault(slug, row) != row:
            self._more.setdefault(slug, []).append(row)
        # what was the only one of its name may not be it any more
        self.disturbed |= self._found[None].pop(name, None) is not None
        if unspecific >= 0:  # what was a mere concept is now known to be this
            self.merge(unspecific, row)
        return row

    def merge(self, row: int, into: int) -> None:
        """Merge an entity into another."""
        self._new.merge(row, into)
        self._merged[row] = into
        self.disturbed = True

    def append(self, transaction: Transaction, origin: str) -> None:
        """Write what is new."""
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


def _rows(found: Iterable[Called]) -> list[int]:
    return list(dict.fromkeys(each.row for each in found))

"""The facts of one version of a vault, or of a past moment of it: entities, what they are called, and what is said of them.

A book is made for a view and is as immutable as that; what it reads from is shared by all versions.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lamina_engine import after_fork
from lamina_engine.facts.about import RowTexts, fact_texts
from lamina_engine.facts.lexicon import ENTITY, Lexicon, lexicon_of
from lamina_engine.facts.predicates import Registry, read_registry
from lamina_engine.facts.shapes import Direction, Entity, Fact, Mention, Resolution
from lamina_engine.facts.tables import FactTables, fact_tables
from lamina_engine.index.view import View

if TYPE_CHECKING:
    from lamina_engine.memory import Memory

__all__ = ["Book", "Entity", "Fact", "Mention", "Resolution", "book_at", "book_of"]


@after_fork.track_property_locks
class Book:
    """One version's facts; see `book_of`."""

    def __init__(self, view: View) -> None:
        snapshot, past = view.snapshot, view.as_of_us
        self.view, self.snapshot = view, snapshot
        self.lexicon: Lexicon = lexicon_of(view.tables, snapshot)
        """What entities are called."""
        facts, entities, aliases, predicates = (
            snapshot.rows(log) if past is None else snapshot.watermark(log, past)
            for log in ("facts", "entities", "aliases", "predicates")
        )
        self.facts = facts
        """Rows of the facts log that it sees."""
        self.entity_rows = entities
        """Rows of the entities log that it sees."""
        self.alias_rows = aliases
        """Rows of the aliases log that it sees."""
        self.predicate_rows = predicates
        """Rows of the predicates log that it sees."""
        self._entities: dict[int, Entity] = {}

    @cached_property
    def tables(self) -> FactTables:
        """Columns of the facts log; read when a fact is first asked for."""
        return fact_tables(self.view.tables, self.snapshot)

    @cached_property
    def registry(self) -> Registry:
        """What is known of predicates."""
        return read_registry(self.snapshot, self.predicate_rows)

    # ------------------------------------------------------------------ entities

    @cached_property
    def parents(self) -> dict[int, int]:
        """By row of an entity that was merged, what it was merged into."""
        found: dict[int, int] = {}
        for row, entity, into in self.lexicon.merges:
            end = into
            while end in found:
                end = found[end]
            # no Lamina merges in a circle, twice, or what is no entity; such a row of a tampered log is passed over
            fits = end != entity and entity not in found and self.is_entity(entity) and self.is_entity(into)
            if row < self.entity_rows and fits:
                found[entity] = into
        return found

    @cached_property
    def _children(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for entity in self.parents:
            found.setdefault(self.root(entity), []).append(entity)
        return found

    def root(self, row: int) -> int:
        """Return what an entity has become: itself, or what it was merged into."""
        parents = self.parents
        while row in parents:
            row = parents[row]
        return row

    def members(self, row: int) -> list[int]:
        """Return the rows that stand for an entity: its own, and those merged into it."""
        return [row, *self._children.get(row, ())] if self.parents else [row]

    @property
    def entities(self) -> int:
        """How many entities there are."""
        kinds = self.lexicon.kind.values[: self.entity_rows]
        return int(np.count_nonzero(kinds == self.lexicon.kinds.code(ENTITY))) - len(self.parents)

    def is_entity(self, row: int) -> bool:
        """Tell whether a row of the entities log makes an entity that this book sees."""
        kinds = self.lexicon.kind.values
        return 0 <= row < self.entity_rows and int(kinds[row]) == self.lexicon.kinds.code(ENTITY)

    def called(self, row: int) -> tuple[str, str, str]:
        """Return name, canonical id and type of an entity, as they are now."""
        name, identity, kind = self._entity_texts.at(self.root(row))
        return name, identity, kind

    def name(self, row: int) -> str:
        """Return the name of an entity, as it is now."""
        return self.called(row)[0]

    def identity(self, row: int) -> str:
        """Return the canonical id of an entity, as it is now."""
        return self.called(row)[1]

    def type(self, row: int) -> str:
        """Return the type of an entity, as it is now."""
        return self.called(row)[2]

    @cached_property
    def _entity_texts(self) -> RowTexts:
        return RowTexts(self.snapshot.segments("entities"), ("name", "id", "type"))

    @cached_property
    def fact_texts(self) -> RowTexts:
        """What reads the texts of facts."""
        return fact_texts(self.snapshot)

    def entity(self, row: int) -> Entity:
        """Return an entity by its number; one that was merged gives what it has become."""
        row = self.root(row)
        found = self._entities.get(row)
        if found is None:
            merged = self.members(row)[1:]
            name, identity, kind = self.called(row)
            others = [self._entity_texts.at(other) for other in merged]
            aliases = tuple(
                alias for alias in dict.fromkeys([o[0] for o in others] + self._aliases(row)) if alias != name
            )
            found = self._entities[row] = Entity(
                row, identity, name, kind, aliases, tuple(other[1] for other in others)
            )
        return found

    def _aliases(self, row: int) -> list[str]:
        rows = [self.lexicon.by_entity.of(member, self.alias_rows) for member in self.members(row)]
        ordered = np.sort(np.concatenate(rows))
        written = self.snapshot.values("aliases", "alias", ordered)
        # of several rows about one alias the last stands
        active = dict(zip(written, self.snapshot.values("aliases", "active", ordered), strict=True))
        return [alias for alias, stands in active.items() if stands]

    def entity_by_id(self, identity: str) -> Entity | None:
        """Return the entity of a canonical id, None where there is none; one that was merged gives what it has become."""
        from lamina_engine.facts.resolution import row_of_id

        row = row_of_id(self, identity)
        return None if row < 0 else self.entity(row)

    def resolve(self, name: str, *, type: str | None = None, prefix: bool = False, edits: bool = False) -> Resolution:
        """Return what a name stands for; see `lamina_engine.facts.resolution.resolve`."""
        from lamina_engine.facts.resolution import resolve

        return resolve(self, name, type=type, prefix=prefix, edits=edits)

    def scan(self, text: str) -> list[Mention]:
        """Return the entities that a text names; see `lamina_engine.facts.resolution.scan`."""
        from lamina_engine.facts.resolution import scan

        return scan(self, text)

    # ------------------------------------------------------------------ facts

    def about(
        self, row: int, *, valid_at: int | None, direction: Direction = "both", predicates: Collection[str] | None = None
    ) -> list[Fact]:  # fmt: skip
        """Return what is said of an entity; see `lamina_engine.facts.about.about`."""
        from lamina_engine.facts.about import about

        return about(self, row, valid_at=valid_at, direction=direction, predicates=predicates)

    def facts_at(self, rows: Sequence[int]) -> list[Fact]:
        """Return facts by row, in the order given; rows that are no facts raise; see `standing`."""
        from lamina_engine.facts.about import facts_at

        return facts_at(self, rows)

    def standing(self, rows: NDArray[np.int64], valid_at: int | None) -> NDArray[np.bool_]:
        """Tell of rows whether they are facts that hold at a moment (at any, where none is given)."""
        from lamina_engine.facts.about import standing

        return standing(self, rows, valid_at)

    def standing_facts(self, valid_at: int) -> int:
        """Return how many facts hold at a moment. O(facts)."""
        return int(np.count_nonzero(self.standing(np.arange(self.facts), valid_at)))

    def find(
        self, *, subject: int | None = None, predicate: str | None = None, object: int | str | None = None,
        valid_at: int | None = None,
    ) -> list[Fact]:  # fmt: skip
        """Return facts by what is given of them; see `lamina_engine.facts.about.find`."""
        from lamina_engine.facts.about import find

        return find(self, subject=subject, predicate=predicate, object=object, valid_at=valid_at)

    def texts(self, start: int, stop: int) -> list[tuple[int, str, str, str]]:
        """Return (row, subject, predicate, object) of the facts in a range of rows."""
        from lamina_engine.facts.about import texts

        return texts(self, start, stop)


def book_of(view: View) -> Book:
    """Return the facts of a view; the first call in a process reads the logs, O(rows)."""
    return view.cached("facts.view", lambda: Book(view))


def book_at(memory: Memory, as_of_us: int | None = None) -> Book:
    """Return a vault's present facts, or those of a past moment of recorded time."""
    view = memory.view()
    return book_of(view if as_of_us is None else View(view.snapshot, view.tables, as_of_us=as_of_us))

"""Entities and what they are called; the part of ``vault.facts`` that says who is meant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lamina.factbase import OfFacts
from lamina_engine.clock import Instant

if TYPE_CHECKING:
    from lamina_engine.facts.schema import Entity, Resolution


class FactNames(OfFacts):
    """Entities, their names and aliases."""

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
        from lamina_engine.facts.entities import add_alias as give

        return give(self._memory, alias, entity, type=type)

    def unalias(self, alias: str, entity: str | None = None) -> int:
        """Take another name back, from one entity or from all that have it; return from how many.

        Raises
        ------
        EntityNotFound, AmbiguousEntity, InvalidArgument, VaultReadOnly, VaultLocked, OSError
        """
        from lamina_engine.facts.entities import remove_alias

        return remove_alias(self._memory, alias, entity)

    def merge(self, entity: str, into: str) -> Entity:
        """Make one of two entities: names, aliases and facts of the first are the second's from now on.

        Raises
        ------
        EntityNotFound, AmbiguousEntity, InvalidArgument, VaultReadOnly, VaultLocked, OSError
        """
        from lamina_engine.facts.entities import merge_entities

        return merge_entities(self._memory, entity, into)

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
        from lamina_engine.facts.view import fact_view_at

        kg = fact_view_at(self._memory, self._instant(as_of, "as_of"))
        return kg.resolve(name, type=type, prefix=prefix, edits=edits)

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
        from lamina_engine.facts.log import entity_row
        from lamina_engine.facts.view import fact_view_at

        kg = fact_view_at(self._memory)
        return kg.entity(entity_row(kg, name_or_id, type))

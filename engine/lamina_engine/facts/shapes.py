"""What readers of facts get: entities, what a name stands for, names in a text, facts. Instants are us UTC."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from msgspec import Struct

Direction = Literal["both", "out", "in"]
DIRECTIONS: Final = ("both", "out", "in")
HOW: Final = ("id", "name", "alias", "folded name", "folded alias", "prefix", "edit", "none")
"""How a name was resolved, strongest first."""
MIN_TIME: Final = -(2**63)
"""Beginning of a fact that has held since forever, us UTC."""
MAX_TIME: Final = 2**63 - 1
"""End of a fact that is open, us UTC."""


@dataclass(frozen=True, slots=True)
class Entity:
    """A person, a project, a thing."""

    row: int
    """Its number: a row of the entities log."""
    id: str
    """``vault:type:slug``."""
    name: str
    type: str
    aliases: tuple[str, ...]
    """In the order they were given; names of what was merged into it among them."""
    merged: tuple[str, ...]
    """Canonical ids of what was merged into it."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """What a name stands for."""

    entities: tuple[Entity, ...]
    """By canonical id."""
    how: str
    """One of `HOW`."""

    @property
    def ambiguous(self) -> bool:
        """True where several entities have this name."""
        return len(self.entities) > 1

    @property
    def entity(self) -> Entity | None:
        """The only one; None where there is none, or several."""
        return self.entities[0] if len(self.entities) == 1 else None


@dataclass(frozen=True, slots=True)
class Mention:
    """A name in a text."""

    start: int
    stop: int
    """Characters of the text."""
    text: str
    entities: tuple[Entity, ...]
    how: str


class Fact(Struct, frozen=True):
    """A fact, as seen from an entity. Instants are us UTC."""

    row: int
    subject: str
    subject_id: str
    predicate: str
    object: str
    """Name of the entity, or the literal."""
    object_id: str | None
    """Canonical id, where it is an entity."""
    category: str
    source: str
    """Path or label; never empty."""
    chunk: str | None
    """Id of the chunk that says so."""
    confidence: float
    weight: float
    valid_from: int | None
    """None: since ever."""
    valid_to: int | None
    """First instant at which it does not hold any more; None: open."""
    recorded_at: int
    origin: str
    direction: Literal["out", "in"] = "out"
    """``in`` where the entity that was asked about is its object."""
    key: str = ""
    """Its predicate as it reads from there: the inverse, where one is declared."""

    @property
    def value(self) -> str:
        """What is at the other end."""
        return self.subject if self.direction == "in" else self.object

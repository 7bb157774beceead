"""Answers to questions of facts: what each says, how sure it is, and whether all of them answer what was asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, overload

import msgspec
from msgspec import Struct

from lamina_engine.clock import format_instant

if TYPE_CHECKING:
    from lamina_engine.facts.asked import Question

ANSWERS_FROM: Final = 90.0
"""An answer of this score or more is one to what was asked; those below are what else is known."""


class Tiers(Struct, frozen=True):
    """Scores of the phases."""

    fact: float = 95.0
    relation: float = 90.0
    other_fact: float = 70.0
    other_relation: float = 65.0
    found_fact: float = 50.0
    found_relation: float = 40.0
    others_always: bool = True
    """True: phase 2 in any case; False: only for entities of which phase 1 found nothing."""


TIERS: Final[dict[str, Tiers]] = {"shipped": Tiers(), "seed": Tiers(relation=95.0, others_always=False)}
"""``shipped`` is what the source system's code does, ``seed`` what its description says."""


class Answer(Struct, frozen=True):
    """One answer."""

    subject: str
    predicate: str
    object: str
    score: float
    method: str
    source: str
    """The file, chunk or label that says so; never empty."""
    resolution: str | None
    """By which of its names the entity was found; None for full text."""
    ambiguous: bool
    """True where the name means others too."""
    entity: str | None
    """Id of the entity asked about."""
    key: str
    """The predicate, read from there."""
    value: str
    """What is at the other end."""
    row: int
    chunk: str | None
    confidence: float
    valid_from: int | None
    valid_to: int | None
    contradicted: tuple[str, ...] = ()
    """Other values that were said of the same thing."""

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as JSON values; dates as ISO 8601."""
        found: dict[str, Any] = msgspec.structs.asdict(self)
        found |= {name: format_instant(found[name]) for name in ("valid_from", "valid_to")}
        return found | {"contradicted": list(self.contradicted)}


class Answers(Sequence[Answer]):
    """Answers, best first, and how the question was understood."""

    def __init__(self, question: Question, found: Sequence[Answer], *, answered: bool) -> None:
        self._found = tuple(found)
        self.question = question
        self.answered = answered
        """Whether they answer what was asked; False where they only tell what else is known, or nothing."""

    @overload
    def __getitem__(self, place: int) -> Answer: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Answer]: ...
    def __getitem__(self, place: int | slice) -> Answer | Sequence[Answer]:
        """Return one answer, or some."""
        return self._found[place]

    def __len__(self) -> int:
        return len(self._found)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Answers) and (self._found, self.answered) == (other._found, other.answered)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Answers: {len(self)}, {'answered' if self.answered else 'not answered'}>"

    @property
    def intents(self) -> tuple[str, ...]:
        """Names of what was asked about."""
        return tuple(intent.name for intent in self.question.intents)

    @property
    def entities(self) -> tuple[str, ...]:
        """Names of the entities asked about."""
        return tuple(named.entity.name for named in self.question.named)

    @property
    def unknown(self) -> tuple[str, ...]:
        """Names in the question that nothing in the vault has."""
        return self.question.unknown

    @property
    def ambiguous(self) -> bool:
        """True where a name means several entities: answers are of all of them."""
        return any(named.ambiguous for named in self.question.named)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        return {
            "question": self.question.text,
            "answered": self.answered,
            "entities": list(self.entities),
            "unknown": list(self.unknown),
            "ambiguous": self.ambiguous,
            "intents": list(self.intents),
            "answers": [answer.to_dict() for answer in self],
        }

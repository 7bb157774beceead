"""What facts return: instants are ISO 8601 with Z, and every fact says where it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, overload

from lamina_engine.clock import format_instant

if TYPE_CHECKING:
    from lamina_engine.facts.contradictions import Contradiction as Found
    from lamina_engine.facts.questions import Answers as Told
    from lamina_engine.facts.schema import Fact as Standing


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact, as seen from the entity that was asked about."""

    id: int
    """Its number in the vault; `lamina.facts.Facts.retract` takes it."""
    subject: str
    predicate: str
    object: str
    """Name of the entity, or the value."""
    subject_id: str
    """Canonical id, ``vault:type:slug``."""
    object_id: str | None
    """Canonical id, where the object is an entity."""
    direction: str
    """``out``, or ``in`` where the entity that was asked about is the object."""
    key: str
    """The predicate as it reads from there: ``owned_by`` where ``owns`` was stored of the other."""
    value: str
    """What is at the other end."""
    category: str
    source: str
    """Path or label where it comes from; never empty."""
    chunk: str | None
    """Id of the chunk that says so."""
    confidence: float
    weight: float
    valid_from: str | None
    """None: since ever."""
    valid_to: str | None
    """First instant at which it holds no more; None: open."""
    recorded_at: str
    origin: str

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two facts that do not go together, or of which one brings the other up to date."""

    old: Fact
    """The one that is believed less for it."""
    new: Fact
    relation: str
    """``contradiction`` or ``update``."""
    confidence: float
    """How sure that is."""
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Adding:
    """What became of many facts."""

    added: int
    unchanged: int
    """They were there already."""
    superseded: int
    """Earlier values that ended."""
    entities: int
    """New ones."""
    problems: tuple[str, ...]
    """What was left out, and why."""
    ids: tuple[int, ...]
    """Of each fact, in their order; -1 for one that was left out."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self) | {"problems": list(self.problems), "ids": list(self.ids)}


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer to a question."""

    subject: str
    predicate: str
    object: str
    score: float
    """95 to 40, by the phase that found it; comparable within one answer."""
    method: str
    source: str
    """Path or label; never empty."""
    entity: str | None
    """Id of the entity that was asked about."""
    key: str
    """The predicate, as it reads from there."""
    value: str
    """What is at the other end."""
    resolution: str | None
    """By which of its names the entity was found."""
    ambiguous: bool
    """True where the question's name means others too."""
    chunk: str | None
    confidence: float
    valid_from: str | None
    valid_to: str | None
    id: int
    contradicted: tuple[str, ...]
    """What else is said of the same."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return asdict(self) | {"contradicted": list(self.contradicted)}


class Answers(Sequence[Answer]):
    """Answers, best first."""

    def __init__(self, found: Iterable[Answer], *, answered: bool) -> None:
        self._found = tuple(found)
        self.answered = answered
        """False where they only tell what else is known of what was asked about, or nothing."""

    @overload
    def __getitem__(self, place: int) -> Answer: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Answer]: ...
    def __getitem__(self, place: int | slice) -> Answer | Sequence[Answer]:
        """Return one answer, or some."""
        return self._found[place]

    def __len__(self) -> int:
        return len(self._found)

    def __repr__(self) -> str:
        return f"Answers({len(self._found)}, answered={self.answered})"


def answers_of(found: Told) -> Answers:
    """Return answers of the engine as users see them."""
    return Answers(
        (
            Answer(
                each.subject, each.predicate, each.object, each.score, each.method, each.source, each.entity, each.key,
                each.value, each.resolution, each.ambiguous, each.chunk, each.confidence, format_instant(each.valid_from),
                format_instant(each.valid_to), each.row, each.contradicted,
            )
            for each in found
        ),
        answered=found.answered,
    )  # fmt: skip


def fact_of(told: Standing) -> Fact:
    """Return a fact of the engine as users see it."""
    return Fact(
        told.row, told.subject, told.predicate, told.object, told.subject_id, told.object_id, told.direction,
        told.key or told.predicate, told.value, told.category, told.source, told.chunk, told.confidence, told.weight,
        format_instant(told.valid_from), format_instant(told.valid_to), str(format_instant(told.recorded_at)), told.origin,
    )  # fmt: skip


def contradiction_of(found: Found, old: Standing, new: Standing) -> Contradiction:
    """Return what was found about two facts as users see it."""
    return Contradiction(fact_of(old), fact_of(new), found.relation, found.confidence, found.reasoning)

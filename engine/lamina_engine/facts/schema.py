"""Records of facts: entities, facts, drafts to write, and their checks. Instants are us UTC."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np

from lamina_engine.clock import format_instant
from lamina_engine.errors import InvalidArgument, describe_value
from lamina_engine.facts import names
from lamina_engine.facts.predicates import Registry, predicate_name

if TYPE_CHECKING:
    from lamina_engine.memory import Memory
    from lamina_engine.results import JSONValue

Direction = Literal["both", "out", "in"]
DIRECTIONS: Final = ("both", "out", "in")
HOW: Final = ("id", "name", "alias", "folded name", "folded alias", "part", "prefix", "edit", "none")
"""How a name was resolved, strongest first."""
MIN_TIME: Final = -(2**63)
"""Beginning of a fact that has held since forever, us UTC."""
MAX_TIME: Final = 2**63 - 1
"""End of a fact that is open, us UTC."""


@dataclass(frozen=True, slots=True)
class Entity:
    """Person, project or thing."""

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

    def to_dict(self) -> dict[str, JSONValue]:
        """Return it as JSON values."""
        return {
            "id": self.id, "name": self.name, "type": self.type, "aliases": list(self.aliases), "merged": list(self.merged),
            "row": self.row,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Alias:
    """Another name of an entity."""

    alias: str
    entity: str
    """Name of the entity."""
    id: str
    """Canonical id of the entity."""
    type: str
    """Type of the entity."""

    def to_dict(self) -> dict[str, JSONValue]:
        """Return it as JSON values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Resolution:
    """Entities of a name."""

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
        """The only entity; None for none or several."""
        return self.entities[0] if len(self.entities) == 1 else None


@dataclass(frozen=True, slots=True)
class Mention:
    """Name in a text."""

    start: int
    stop: int
    """Characters of the text."""
    text: str
    entities: tuple[Entity, ...]
    how: str


DraftKind = Literal["auto", "entity", "literal"]
DRAFT_KINDS: Final = ("auto", "entity", "literal")
MAX_LITERAL: Final = 4_000
"""Most characters of a literal object: a fact is an answer, a text belongs into a chunk."""
MAX_SOURCE: Final = 1_000
_SECRET_PROBE: Final = "Zq7-pW3x_Rt9vKb2Lm"


class Draft(NamedTuple):
    """Fact to write."""

    subject: str
    """A name, an alias, or a canonical id. A name that nothing has becomes an entity."""
    predicate: str
    object: str
    kind: DraftKind = "auto"
    """Of the object: what is registered of the predicate, else an entity where it names one already."""
    subject_type: str | None = None
    """The one type that entities of this name have, else ``concept``, unless given."""
    object_type: str | None = None
    category: str | None = None
    """The subject's type, unless given."""
    source: str | None = None
    """Id of a chunk, short with ``#`` or whole; else a path or a label."""
    confidence: float = 1.0
    weight: float = 1.0
    valid_from: int | None = None
    """us UTC; see `lamina_engine.facts.timeline.insert_interval` for what holds unless given."""
    valid_to: int | None = None


FIELDS: Final = Draft._fields
_DEFAULTS: Final = Draft("", "", "")._asdict()


@dataclass(slots=True)
class DraftColumns:
    """Drafts by column in normal form, with the unusable rows in ``bad``."""

    n: int
    values: dict[str, list[Any]]
    bad: dict[int, str] = field(default_factory=dict)
    """By row, what is wrong with it."""

    def __getitem__(self, name: str) -> list[Any]:
        return self.values[name]

    def error_message(self, row: int, why: str) -> str:
        """Return the reason, with the row where there are several."""
        return why if self.n == 1 else f"fact {row + 1}: {why}"


class _BadValue:
    """Placeholder of an unusable value."""

    __slots__ = ("why",)

    def __init__(self, why: str) -> None:
        self.why = why


def to_columns(drafts: Iterable[Draft]) -> dict[str, list[Any]]:
    """Turn drafts into columns."""
    rows = list(drafts)
    return {name: [row[at] for row in rows] for at, name in enumerate(FIELDS)}


def check_columns(
    memory: Memory, given: Mapping[str, Sequence[Any]], registry: Registry, *, strict: bool
) -> DraftColumns:
    """Return columns in normal form; single bad values are collected.

    Each different value is checked once: a million facts cost a dictionary look-up a value. Missing, unknown and uneven columns
    are errors; with ``strict`` predicates must be registered.
    """
    unknown = sorted(set(given) - set(FIELDS))
    missing = [name for name in ("subject", "predicate", "object") if name not in given]
    if unknown or missing:
        raise InvalidArgument(
            f"facts have the fields {', '.join(FIELDS)}; " + (f"{unknown[0]!r} is none" if unknown else f"{missing[0]!r} is missing")
        )  # fmt: skip
    n = len(given["subject"])
    uneven = [name for name in given if len(given[name]) != n]
    if uneven:
        raise InvalidArgument(f"{n} subjects came with {len(given[uneven[0]])} values of {uneven[0]!r}")
    found = DraftColumns(n, {})
    to_predicate = _registered_name(registry) if strict else predicate_name
    convert: dict[str, Callable[[Any], Any]] = {
        "subject": _to_subject, "predicate": to_predicate, "object": _to_object, "kind": _to_kind, "subject_type": _to_type,
        "object_type": _to_type, "category": _to_type, "source": _to_source, "confidence": _to_confidence, "weight": _to_weight,
        "valid_from": _to_instant, "valid_to": _to_instant,
    }  # fmt: skip
    for name in FIELDS:
        if name in given:
            found.values[name] = _convert_column(given[name], convert[name], _MAX_CHARS.get(name, 0), found.bad)
        else:
            found.values[name] = [_DEFAULTS[name]] * n
    _check_order(found)
    _redact(memory, found)
    return found


def _convert_column(values: Sequence[Any], convert: Callable[[Any], Any], most: int, bad: dict[int, str]) -> list[Any]:
    """Convert a column, each value once; unusable ones become `_BadValue`, noted by row.

    Plain texts of at most ``most`` characters need no conversion.
    """
    if most and names.all_plain(values, most):
        return list(values)

    def tried(value: Any) -> Any:
        try:
            return convert(value)
        except InvalidArgument as error:
            return _BadValue(str(error))

    if _PLAIN_TYPES.issuperset(map(type, values)):
        converted = {value: tried(value) for value in dict.fromkeys(values)}
        out = list(map(converted.__getitem__, values))
        some_bad = any(type(value) is _BadValue for value in converted.values())
    else:  # True would be taken for 1, and what cannot be a key has to be refused, not to fail
        out, some_bad = [tried(value) for value in values], True
    if some_bad:
        for row, value in enumerate(out):
            if type(value) is _BadValue:
                bad.setdefault(row, value.why)
    return out


_PLAIN_TYPES: Final = frozenset({str, int, float, type(None)})
_MAX_CHARS: Final = {"subject": names.MAX_NAME, "object": MAX_LITERAL, "source": MAX_SOURCE}
"""Most characters of a column's texts."""


def _registered_name(registry: Registry) -> Callable[[str], str]:
    def convert(predicate: str) -> str:
        name = predicate_name(predicate)
        if name not in registry:
            raise InvalidArgument(
                f"predicate={predicate!r} is not registered, and strict=True allows no others; declare it, or give one "
                f"such as {', '.join(sorted(known.name for known in registry)[:6])}"
            )
        return name

    return convert


def _to_subject(value: Any) -> str:
    return value if isinstance(value, str) and value.count(":") >= 2 else names.clean(value, "subject")


def _to_object(value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidArgument(f"{describe_value('object', value)}; give text")
    text = value.strip()
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
        if any("\ud800" <= letter <= "\udfff" for letter in text):
            raise InvalidArgument(f"object={value!r:.60} is not valid Unicode")
    if not text or len(text) > MAX_LITERAL:
        raise InvalidArgument(f"object={value!r:.60} has {len(text)} characters; give 1 to {MAX_LITERAL}")
    return text


def _to_kind(value: Any) -> str:
    if value not in DRAFT_KINDS:
        raise InvalidArgument(f"kind={value!r} must be one of {', '.join(DRAFT_KINDS)}")
    return str(value)


def _to_type(value: Any) -> str | None:
    return None if value is None else names.clean_type(value)


def _to_source(value: Any) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or len(value) > MAX_SOURCE or any("\ud800" <= letter <= "\udfff" for letter in value):
        raise InvalidArgument(f"source={value!r:.60} must be text of at most {MAX_SOURCE} characters")
    return value.strip() or None


def _to_confidence(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.floating)) or not 0.0 <= value <= 1.0:
        raise InvalidArgument(f"confidence={value!r} must be a number from 0 to 1")
    return float(np.float32(value))


def _to_weight(value: Any) -> float:
    numeric = isinstance(value, (int, float, np.floating)) and not isinstance(value, bool)
    if not numeric or not math.isfinite(value) or not 0.0 < np.float32(value) < np.inf:
        raise InvalidArgument(f"weight={value!r} must be a finite number above 0")
    return float(np.float32(value))


def _to_instant(value: Any) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not MIN_TIME <= value < MAX_TIME:
        raise InvalidArgument(f"{value!r} must be microseconds since 1970 that fit 64 bits")
    return int(value)


def _check_order(columns: DraftColumns) -> None:
    if {None}.issuperset(columns["valid_to"]):
        return
    for row, (begin, end) in enumerate(zip(columns["valid_from"], columns["valid_to"], strict=True)):
        if end is not None and begin is not None and row not in columns.bad and end <= begin:
            columns.bad[row] = (
                f"valid_to={format_instant(end)} is not after valid_from={format_instant(begin)}; what holds ends after it began"
            )


def _redact(memory: Memory, columns: DraftColumns) -> None:
    """Mask secrets in all texts, and whole values of predicates named like secrets."""
    for name in ("subject", "object", "source", "predicate"):
        texts = [text for text in dict.fromkeys(columns[name]) if isinstance(text, str)]
        masked = {texts[at]: text for at, text, _ in memory.redactor.clean_batch(texts)}
        if masked:
            columns.values[name] = [masked.get(text, text) if isinstance(text, str) else text for text in columns[name]]
    clean = memory.redactor.clean_value
    named = {
        name
        for name in dict.fromkeys(columns["predicate"])
        if isinstance(name, str) and clean({name: _SECRET_PROBE})[1]
    }
    if named:
        columns.values["object"] = [
            clean({predicate: text})[0].get(predicate, text) if predicate in named and isinstance(text, str) else text
            for predicate, text in zip(columns["predicate"], columns["object"], strict=True)
        ]

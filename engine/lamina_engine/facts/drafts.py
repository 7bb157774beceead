"""Facts on their way in: what callers give, checked and brought into normal form column by column.

A column has far fewer different values than rows, so each different value is looked at once; a million facts cost a
dictionary look-up a value.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np

from lamina_engine.clock import format_instant
from lamina_engine.errors import InvalidArgument
from lamina_engine.facts import manynames, names
from lamina_engine.facts.predicates import Registry, predicate_name
from lamina_engine.facts.shapes import MAX_TIME, MIN_TIME

if TYPE_CHECKING:
    from lamina_engine.memory import Memory

Kind = Literal["auto", "entity", "literal"]
KINDS: Final = ("auto", "entity", "literal")
MAX_LITERAL: Final = 4_000
"""Most characters of a literal object: a fact is an answer, a text belongs into a chunk."""
MAX_SOURCE: Final = 1_000
_SECRET: Final = "Zq7-pW3x_Rt9vKb2Lm"


class Draft(NamedTuple):
    """A fact to write."""

    subject: str
    """A name, an alias, or a canonical id. A name that nothing has becomes an entity."""
    predicate: str
    object: str
    kind: Kind = "auto"
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
    """us UTC; see `lamina_engine.facts.timeline.put` for what holds unless given."""
    valid_to: int | None = None


FIELDS: Final = Draft._fields
_DEFAULTS: Final = Draft("", "", "")._asdict()


@dataclass(slots=True)
class Columns:
    """Drafts by column, in normal form; rows that cannot be used are named in ``bad``."""

    n: int
    values: dict[str, list[Any]]
    bad: dict[int, str] = field(default_factory=dict)
    """By row, what is wrong with it."""

    def __getitem__(self, name: str) -> list[Any]:
        return self.values[name]

    def told(self, row: int, why: str) -> str:
        """Return what is wrong, with the row where there are several."""
        return why if self.n == 1 else f"fact {row + 1}: {why}"


class _Bad:
    """Stands for a value that cannot be used."""

    __slots__ = ("why",)

    def __init__(self, why: str) -> None:
        self.why = why


def columns_of(drafts: Iterable[Draft]) -> dict[str, list[Any]]:
    """Turn drafts into columns."""
    rows = list(drafts)
    return {name: [row[at] for row in rows] for at, name in enumerate(FIELDS)}


def checked(memory: Memory, given: Mapping[str, Sequence[Any]], registry: Registry, *, strict: bool) -> Columns:
    """Bring columns into normal form.

    Parameters
    ----------
    memory : Memory
    given : mapping of str to sequence
        By a name of `FIELDS`, values of one length. ``subject``, ``predicate`` and ``object`` are needed.
    registry : Registry
    strict : bool
        Refuse predicates that are not registered.

    Raises
    ------
    InvalidArgument
        For columns that are missing, unknown, or of different lengths. Single bad values are collected.
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
    found = Columns(n, {})
    known = _known(registry) if strict else predicate_name
    convert: dict[str, Callable[[Any], Any]] = {
        "subject": _subject, "predicate": known, "object": _object, "kind": _kind, "subject_type": _type,
        "object_type": _type, "category": _type, "source": _source, "confidence": _confidence, "weight": _weight,
        "valid_from": _instant, "valid_to": _instant,
    }  # fmt: skip
    for name in FIELDS:
        if name in given:
            found.values[name] = _converted(given[name], convert[name], _MOST.get(name, 0), found.bad)
        else:
            found.values[name] = [_DEFAULTS[name]] * n
    _check_order(found)
    _redact(memory, found)
    return found


def _converted(values: Sequence[Any], convert: Callable[[Any], Any], most: int, bad: dict[int, str]) -> list[Any]:
    """Convert a column, each different value once; what cannot be used becomes `_Bad`, and is noted by its row.

    A column of plain texts of at most ``most`` characters is what it would be converted to.
    """
    if most and manynames.all_plain(values, most):
        return list(values)

    def tried(value: Any) -> Any:
        try:
            return convert(value)
        except InvalidArgument as error:
            return _Bad(str(error))

    if _PLAIN.issuperset(map(type, values)):
        known = {value: tried(value) for value in dict.fromkeys(values)}
        out = list(map(known.__getitem__, values))
        some_bad = any(type(value) is _Bad for value in known.values())
    else:  # True would be taken for 1, and what cannot be a key has to be refused, not to fail
        out, some_bad = [tried(value) for value in values], True
    if some_bad:
        for row, value in enumerate(out):
            if type(value) is _Bad:
                bad.setdefault(row, value.why)
    return out


_PLAIN: Final = frozenset({str, int, float, type(None)})
_MOST: Final = {"subject": names.MAX_NAME, "object": MAX_LITERAL, "source": MAX_SOURCE}
"""Most characters of a column's texts."""


def _known(registry: Registry) -> Callable[[str], str]:
    def convert(predicate: str) -> str:
        name = predicate_name(predicate)
        if name not in registry:
            raise InvalidArgument(
                f"predicate={predicate!r} is not registered, and strict=True allows no others; declare it, or give one "
                f"such as {', '.join(sorted(known.name for known in registry)[:6])}"
            )
        return name

    return convert


def _subject(value: Any) -> str:
    return value if isinstance(value, str) and value.count(":") >= 2 else names.clean(value, "subject")


def _object(value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidArgument(f"object={value!r} is a {type(value).__name__}; give text")
    text = value.strip()
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
        if any("\ud800" <= letter <= "\udfff" for letter in text):
            raise InvalidArgument(f"object={value!r:.60} is not valid Unicode")
    if not text or len(text) > MAX_LITERAL:
        raise InvalidArgument(f"object={value!r:.60} has {len(text)} characters; give 1 to {MAX_LITERAL}")
    return text


def _kind(value: Any) -> str:
    if value not in KINDS:
        raise InvalidArgument(f"kind={value!r} must be one of {', '.join(KINDS)}")
    return str(value)


def _type(value: Any) -> str | None:
    return None if value is None else names.clean_type(value)


def _source(value: Any) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or len(value) > MAX_SOURCE or any("\ud800" <= letter <= "\udfff" for letter in value):
        raise InvalidArgument(f"source={value!r:.60} must be text of at most {MAX_SOURCE} characters")
    return value.strip() or None


def _confidence(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.floating)) or not 0.0 <= value <= 1.0:
        raise InvalidArgument(f"confidence={value!r} must be a number from 0 to 1")
    return float(np.float32(value))


def _weight(value: Any) -> float:
    numeric = isinstance(value, (int, float, np.floating)) and not isinstance(value, bool)
    if not numeric or not math.isfinite(value) or not 0.0 < np.float32(value) < np.inf:
        raise InvalidArgument(f"weight={value!r} must be a finite number above 0")
    return float(np.float32(value))


def _instant(value: Any) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not MIN_TIME <= value < MAX_TIME:
        raise InvalidArgument(f"{value!r} must be microseconds since 1970 that fit 64 bits")
    return int(value)


def _check_order(columns: Columns) -> None:
    if {None}.issuperset(columns["valid_to"]):
        return
    for row, (begin, end) in enumerate(zip(columns["valid_from"], columns["valid_to"], strict=True)):
        if end is not None and begin is not None and row not in columns.bad and end <= begin:
            columns.bad[row] = (
                f"valid_to={format_instant(end)} is not after valid_from={format_instant(begin)}; what holds ends after it began"
            )


def _redact(memory: Memory, columns: Columns) -> None:
    """Mask secrets in all texts, and whole values of predicates that are named like secrets."""
    for name in ("subject", "object", "source", "predicate"):
        texts = [text for text in dict.fromkeys(columns[name]) if isinstance(text, str)]
        masked = {texts[at]: text for at, text, _ in memory.redactor.clean_batch(texts)}
        if masked:
            columns.values[name] = [masked.get(text, text) if isinstance(text, str) else text for text in columns[name]]
    clean = memory.redactor.clean_value
    named = {
        name for name in dict.fromkeys(columns["predicate"]) if isinstance(name, str) and clean({name: _SECRET})[1]
    }
    if named:
        columns.values["object"] = [
            clean({predicate: text})[0].get(predicate, text) if predicate in named and isinstance(text, str) else text
            for predicate, text in zip(columns["predicate"], columns["object"], strict=True)
        ]

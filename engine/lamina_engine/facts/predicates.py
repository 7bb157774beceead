"""Predicates as data: object kind, functional or not, and inverse. The vocabulary is open.

A functional predicate has one value at a time. An inverse is declared once, on either of the two, and then facts are
found from both ends. Vaults add their own with `declare`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from lamina_engine.errors import InvalidArgument

if TYPE_CHECKING:
    from lamina_engine.memory import Memory
    from lamina_engine.results import JSONValue
    from lamina_engine.store.snapshot import Snapshot

Kind = Literal["any", "entity", "literal"]
KINDS: Final[tuple[Kind, ...]] = ("any", "entity", "literal")
MAX_PREDICATE: Final = 64

TRIPLE_PREDICATES: Final = frozenset(
    {
        "adopted", "migrated_to", "deployed_to", "runs_on", "replaced", "depends_on", "integrates_with", "uses", "prefers",
        "avoids", "caused_by", "resolved_by", "owned_by",
    }
)  # fmt: skip
"""The closed vocabulary of triples that are extracted from observations."""


@dataclass(frozen=True, slots=True)
class Predicate:
    """Kind of fact: what its objects are, and whether a subject has one or several."""

    name: str
    object: Kind = "any"
    """Whether its objects are entities or literals; ``any``: an entity where one is named already."""
    functional: bool = False
    """True where a subject has one value at a time: a new one ends the one before."""
    inverse: str | None = None
    """How the same fact reads from its object; the name itself where it has no direction."""

    def to_dict(self) -> dict[str, JSONValue]:
        """Return it as JSON values."""
        return asdict(self)


def _inverse_pairs(*names: tuple[str, str]) -> Iterator[Predicate]:
    for name, inverse in names:
        yield Predicate(name, "entity", inverse=inverse)


def _of_kind(kind: Kind, names: str, *, functional: bool = False) -> Iterator[Predicate]:
    for name in names.split():
        yield Predicate(name, kind, functional)


BUILT_IN: Final = (
    *_of_kind("literal", "birthday birthplace full_name timezone fqdn", functional=True),
    *_of_kind("literal", "version current_version release port status state stage phase priority", functional=True),
    *_of_kind("literal", "deadline due due_date", functional=True),
    *_of_kind("literal", "phone email url github stack services hardware schedule purpose cost reason fix details"),
    *_of_kind("literal", "prefers avoids type role includes checks file"),
    Predicate("lives_in", "any", functional=True, inverse="home_of"),
    Predicate("works_at", "entity", functional=True, inverse="employs"),
    Predicate("married_to", "entity", functional=True, inverse="married_to"),
    *_inverse_pairs(
        ("partner_of", "partner_of"), ("parent_of", "child_of"), ("sibling_of", "sibling_of"), ("friend_of", "friend_of"),
        ("pet_of", "has_pet"), ("prevents", "prevented_by"),
        ("covers", "covered_by"), ("described_in", "describes"), ("depends_on", "needed_by"),
        ("integrates_with", "integrates_with"), ("caused_by", "causes"), ("resolved_by", "resolves"),
        ("replaced", "replaced_by"), ("manages", "managed_by"), ("part_of", "has_part"), ("member_of", "has_member"),
    ),
    Predicate("uses", "entity", inverse="used_by"),
    Predicate("adopted", "entity", inverse="adopted_by"),
    Predicate("owned_by", "entity", functional=True, inverse="owns"),
    Predicate("hosted_on", "entity", functional=True, inverse="hosts"),
    Predicate("migrated_to", "entity", functional=True),
    Predicate("deployed_to", "entity", functional=True),
    Predicate("runs_on", "any", functional=True),
    Predicate("configured_via", "any"),
    *_of_kind("any", "owner host server machine location address lead led_by", functional=True),
    *_of_kind("any", "domain relationship"),
)  # fmt: skip


_KINDS_APART: Final = frozenset({"runs_on"})
"""Functional predicates of which ports and machines are told apart: what runs on one host also runs on a port."""
_PORT: Final = re.compile(r"(?:(?:tcp|udp|ports?)[\s:/]*)*\d{1,5}", re.IGNORECASE)


def value_kind(predicate: str, text: str) -> str:
    """Return the kind of values that end each other: ``port``, or empty for all others."""
    return "port" if predicate in _KINDS_APART and _PORT.fullmatch(text) else ""


def predicate_name(text: str) -> str:
    """Return a predicate's normal form: lower case, ``_`` for blanks and hyphens."""
    return _normalize(text if isinstance(text, str) else repr(text), isinstance(text, str))


@lru_cache(maxsize=4_096)
def _normalize(text: str, is_text: bool) -> str:
    folded = unicodedata.normalize("NFC", text).casefold() if is_text else ""
    name = re.sub(r"[\s_-]+", "_", folded.strip())
    letters = all(letter in "_.:" or unicodedata.category(letter)[0] in "LMN" for letter in name)
    if not name.strip("_.:") or len(name) > MAX_PREDICATE or not letters:
        raise InvalidArgument(
            f"predicate={text!r:.100} must be 1 to {MAX_PREDICATE} letters, digits and '_', such as 'runs_on'"
        )
    return name


class Registry:
    """Predicates of a vault at one moment; immutable."""

    def __init__(self, predicates: Iterable[Predicate] = BUILT_IN) -> None:
        self._known: dict[str, Predicate] = {}
        for predicate in predicates:
            self._known[predicate.name] = predicate
        for predicate in list(self._known.values()):
            other = predicate.inverse
            if other is not None and (other not in self._known or self._known[other].inverse is None):
                target = self._known.get(other, Predicate(other, "entity"))
                self._known[other] = Predicate(other, target.object, target.functional, predicate.name)

    def __iter__(self) -> Iterator[Predicate]:
        return iter(self._known.values())

    def __contains__(self, name: object) -> bool:
        return name in self._known

    def get(self, name: str) -> Predicate | None:
        """Return a predicate by its normal form, or None."""
        return self._known.get(name)

    def inverse(self, name: str) -> str | None:
        """Return the inverse of a predicate, or None."""
        declared = self._known.get(name)
        return None if declared is None else declared.inverse

    def is_functional(self, name: str) -> bool:
        """Return whether a subject has one value of it at a time."""
        declared = self._known.get(name)
        return declared is not None and declared.functional

    def kind(self, name: str) -> Kind:
        """Return the kind of its objects."""
        declared = self._known.get(name)
        return "any" if declared is None else declared.object

    def is_reversed(self, name: str) -> bool:
        """Return whether facts of a predicate are compared in the form of its inverse.

        Of the two, the functional one stands for both, else the first by name.
        """
        other = self.inverse(name)
        if other is None or other == name:
            return False
        mine, its = self.is_functional(name), self.is_functional(other)
        return its if mine != its else other < name


def read_declared(snapshot: Snapshot, rows: int) -> list[Predicate]:
    """Return a vault's own predicates by name; the newest row of a name holds."""
    found = {
        record["name"]: Predicate(record["name"], record["object"], record["functional"], record["inverse"])
        for segment in snapshot.segments("predicates")
        for record in snapshot.records("predicates", np.arange(segment.start, min(rows, segment.start + segment.rows)))
        if record["name"]
    }
    return [found[name] for name in sorted(found)]


def read_registry(snapshot: Snapshot, rows: int) -> Registry:
    """Return the built-in predicates, and those declared in the first rows of the log."""
    own = read_declared(snapshot, rows) if rows else []
    return Registry((*BUILT_IN, *own)) if own else STANDARD


@dataclass(frozen=True, slots=True)
class Declaration(Predicate):
    """Predicate as declared, with what that changed."""

    mended: int = 0
    """Facts that hold for another time now, because one value ends another."""


def declare(
    memory: Memory, name: str, *, functional: bool | None = None, inverse: str | None = None, object: Kind | None = None
) -> Declaration:  # fmt: skip
    """Declare a predicate, or change what is given of it.

    Where it has one value at a time from now on, earlier facts are mended as if it had been so when they were written.
    """
    from lamina_engine.facts.mending import mend_predicate
    from lamina_engine.facts.view import fact_view

    normal = predicate_name(name)
    other = None if inverse is None else predicate_name(inverse)
    if object is not None and (not isinstance(object, str) or object not in KINDS):
        raise InvalidArgument(f"object={object!r} must be one of {', '.join(KINDS)}")
    if functional is not None and not isinstance(functional, bool):
        raise InvalidArgument(f"functional={functional!r} must be True or False")
    with memory.write() as (transaction, view):
        registry = fact_view(view).registry
        before = registry.get(normal) or Predicate(normal)
        taken = None if other is None else registry.inverse(other)
        if taken is not None and taken != normal:
            raise InvalidArgument(f"inverse={other!r} is declared already, of {taken!r}; choose another name")
        made = Predicate(
            normal,
            before.object if object is None else object,
            before.functional if functional is None else functional,
            before.inverse if other is None else other,
        )
        if made != registry.get(normal):
            row = {name: [getattr(made, name)] for name in ("name", "object", "functional", "inverse")}
            transaction.append("predicates", row, transaction.stamps(1))
        mended, kg = 0, fact_view(view)
        if made.functional and not before.functional:
            own = [*read_declared(view.snapshot, kg.predicate_rows), made]
            tz = memory.config.tz
            mended = mend_predicate(transaction, kg, Registry((*BUILT_IN, *own)), normal, tz=tz)
    return Declaration(made.name, made.object, made.functional, made.inverse, mended)


STANDARD: Final = Registry()

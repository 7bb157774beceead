"""Triples as a model writes them, checked one by one: a closed vocabulary, bounded lengths, no echoes of the question.

Rules are those of ClawMem's observer; a bad triple is dropped with its reason, and its siblings stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from lamina_engine.facts.predicates import TRIPLE_PREDICATES

VOCABULARY: Final = tuple(sorted(TRIPLE_PREDICATES))
"""Predicates that an extracted triple may have."""
LITERAL: Final = frozenset({"prefers", "avoids"})
"""Of these the object is a text, whatever entity may have that name."""
SUBJECT_CHARS: Final = (2, 80)
OBJECT_CHARS: Final = (2, 120)
MOST: Final = 5
"""Triples of one observation; further ones are dropped."""
_PARTS: Final = ("subject", "predicate", "object")
_ECHOES: Final = frozenset(
    {"subject", "predicate", "object", "entity", "entity name", "entity1", "entity2", "entity a", "entity b", "value",
     "relation", "literal", "string", "text", "name", "title", "fact", "narrative", "short title", "brief title",
     "subject entity", "object entity", "canonical predicate", "entity or literal", "object or literal", "example", "n/a", "none",
     "null", "unknown", "todo", "tbd", "...", "…"}
)  # fmt: skip


class Triple(NamedTuple):
    """One checked triple."""

    subject: str
    predicate: str
    object: str

    @property
    def is_literal(self) -> bool:
        """True where the object is a text and no entity."""
        return self.predicate in LITERAL


class Drop(NamedTuple):
    """Something that was left out, and why."""

    what: str
    why: str


def check_triples(raw: Iterable[Mapping[str, object]], *, most: int = MOST) -> tuple[list[Triple], list[Drop]]:
    """Return the triples that can be used, and what was dropped.

    Parameters
    ----------
    raw : iterable of mappings
        Each with ``subject``, ``predicate`` and ``object``.
    most : int
        Triples kept; further good ones are dropped.

    Returns
    -------
    tuple
        Kept triples in order (equal ones once), and a `Drop` for each of the others.
    """
    kept: dict[Triple, None] = {}
    dropped: list[Drop] = []
    for number, parts in enumerate(raw, 1):
        triple, why = _checked(parts)
        if triple is None:
            dropped.append(Drop(f"triple {number}", why))
        elif triple not in kept and len(kept) >= most:
            dropped.append(Drop(f"triple {number}", f"an observation has at most {most} triples"))
        else:
            kept[triple] = None
    return list(kept), dropped


def spelled(predicate: str) -> str:
    """Return a predicate as the vocabulary spells it: lower case, ``_`` for white space and hyphens."""
    return "_".join(predicate.replace("-", " ").lower().split())


def is_echo(text: str) -> bool:
    """Tell whether a text only repeats a placeholder of the question it answers."""
    said = text.strip().strip("<>[]{}()\"'`").strip().casefold()
    return said in _ECHOES or not any(char.isalnum() for char in said)


def _checked(parts: Mapping[str, object]) -> tuple[Triple | None, str]:
    given = {name: parts.get(name) for name in _PARTS}
    absent = [name for name, value in given.items() if not isinstance(value, str) or not value.strip()]
    if absent:
        return None, f"it has no {' and no '.join(absent)}"
    subject, predicate, object_ = (" ".join(str(given[name]).split()) for name in _PARTS)
    for name, text, (least, longest) in (("subject", subject, SUBJECT_CHARS), ("object", object_, OBJECT_CHARS)):
        if not least <= len(text) <= longest:
            return None, f"its {name} has {len(text)} characters; {least} to {longest} are allowed"
        if is_echo(text):
            return None, f"its {name} {text!r} is a placeholder"
    predicate = spelled(predicate)
    if predicate not in VOCABULARY:
        return None, f"its predicate {predicate[:40]!r} is none of {', '.join(VOCABULARY)}"
    return Triple(subject, predicate, object_), ""

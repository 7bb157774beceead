"""Relations: meaning, walking direction, names in other systems, and weights by intent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

import numpy as np

from lamina_engine.arguments import names_of
from lamina_engine.errors import InvalidArgument
from lamina_kernels.graph.hops import RELATIONS
from lamina_kernels.layouts import F64, U8

Direction = Literal["out", "in", "both"]
DIRECTIONS: Final = ("out", "in", "both")


@dataclass(frozen=True, slots=True)
class Relation:
    """One relation."""

    name: str
    symmetric: bool
    """True where it has no direction: a pair is stored once, the smaller id as source."""
    walk_out: bool
    """Whether a best-first walk follows it from source to target."""
    walk_in: bool
    """Whether it follows it from target to source."""
    meaning: str
    raises: bool = True
    """False if the link adds no score: it is walked, shown and marked only."""
    counted: bool = False
    """True where its weight in the log is a count of at least 1, squashed to a weight when read."""


_RELATIONS: Final = (
    Relation("semantic", True, True, True, "the two are about the same"),
    Relation("supporting", False, True, False, "the source supports the target"),
    Relation("contradicts", False, True, False, "the source contradicts the target", raises=False),
    Relation("causal", False, True, False, "the source led to the target"),
    Relation("temporal", False, True, False, "the source came next before the target"),
    Relation("entity", True, True, True, "the two name the same known thing"),
    Relation("usage", True, True, True, "the two were used together, so many times", counted=True),
    Relation("blocks", False, True, True, "the source prevents the target from proceeding"),
    Relation("related_to", True, True, True, "tasks of one domain, component or area"),
    Relation("derived_from", False, True, True, "the source was split off or follows from the target"),
    Relation("similar_to", True, True, True, "tasks whose texts are alike"),
    Relation("next", False, True, True, "the target follows the source in its document or session"),
    Relation("brief", False, True, True, "the source is what led to calling the agent that begins at the target"),
    Relation("debrief", False, True, True, "the source ends an agent's work, the target goes on from there"),
    Relation("related", False, True, True, "the text of the source holds a link to the target"),
    Relation("mention", False, True, True, "the source names the target: its title, an alias, a file or a symbol"),
)  # fmt: skip
KNOWN: Final = {relation.name: relation for relation in _RELATIONS}

IMPORTED: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {
        "beads": MappingProxyType(
            {
                "blocks": "causal",
                "conditional-blocks": "causal",
                "waits-for": "causal",
                "caused-by": "causal",
                "discovered-from": "supporting",
                "supersedes": "supporting",
                "duplicates": "supporting",
                "relates-to": "semantic",
                "related": "semantic",
                "parent-child": "semantic",
                "*": "semantic",
            }
        ),
        "clawpy": MappingProxyType({name: name for name in ("blocks", "related_to", "derived_from", "similar_to")}),
    }
)
"""By system, what its names stand for; ``*`` stands for any other. A name that is not listed is refused."""


def relation_of(name: str) -> Relation:
    """Return a relation by name."""
    found = KNOWN.get(name) if isinstance(name, str) else None
    if found is None:
        raise InvalidArgument(f"relation={name!r} is not known; allowed are {', '.join(sorted(KNOWN))}")
    return found


def wanted_names(relations: Iterable[str] | None) -> set[str] | None:
    """Return the names of relations that a caller wants; None for all."""
    return (
        None if relations is None else {relation_of(name).name for name in names_of(relations, "relations", "causal")}
    )


def imported_relation(system: str, name: str) -> Relation:
    """Return the relation for another system's name."""
    names = IMPORTED[system]
    found = names.get(name, names.get("*"))
    if found is None:
        raise InvalidArgument(f"{system} has no relation {name!r}; allowed are {', '.join(names)}")
    return relation_of(found)


def masks(
    names: Iterable[str],
    relations: Iterable[str] | None = None,
    direction: Direction | None = None,
    intent: str | None = None,
) -> tuple[U8, U8]:
    """Return which codes are walked outward and inward, uint8 (256,) each."""
    if direction is not None and direction not in DIRECTIONS:
        raise InvalidArgument(f"direction={direction!r} must be one of {', '.join(DIRECTIONS)}")
    wanted = wanted_names(relations)
    outward, inward = np.zeros(RELATIONS, np.uint8), np.zeros(RELATIONS, np.uint8)
    for code, name in enumerate(names):
        if wanted is not None and name not in wanted:
            continue
        known = KNOWN.get(name) or Relation(name, False, True, False, "")
        if direction is None:
            turned = TURNED.get(intent or "", {}).get(name)
            if turned is None or (wanted is not None and not any(turned)):  # named, so it is meant
                turned = known.walk_out, known.walk_in
            outward[code], inward[code] = turned
        else:
            outward[code] = known.symmetric or direction != "in"
            inward[code] = known.symmetric or direction != "out"
    return outward, inward


# `WEIGHTS` and the coefficients are those of ClawMem's adaptive traversal.
STRUCTURE: Final = 0.6
"""How much a relation's weight by intent counts in the exponent of a transition."""
AFFINITY: Final = 0.4
"""How much the cosine with the question counts there."""

WEIGHTS: Final[Mapping[str, Mapping[str, float]]] = {
    "why": {"causal": 5.0, "semantic": 2.0, "temporal": 0.5, "entity": 1.0},
    "when": {"causal": 1.0, "semantic": 2.0, "temporal": 5.0, "entity": 0.5},
    "entity": {"causal": 2.0, "semantic": 3.0, "temporal": 1.0, "entity": 6.0},
    "what": {"causal": 1.0, "semantic": 5.0, "temporal": 1.0, "entity": 2.0},
}
"""Weight of each relation by intent; 1 where it is not listed."""

TURNED: Final[Mapping[str, Mapping[str, tuple[bool, bool]]]] = {
    "why": {
        "causal": (False, True), "supporting": (False, True), "blocks": (False, True), "derived_from": (True, False),
        "temporal": (False, False),
    },
}  # fmt: skip
"""Whether a walk for an intent follows a relation outward and inward, where that differs: *why* goes back to causes."""

PASSED: Final[Mapping[str, float]] = {
    "causal": 0.3, "supporting": 0.3, "blocks": 0.3, "derived_from": 0.3, "related_to": 0.3, "similar_to": 0.3,
    "related": 0.5, "mention": 0.5, "entity": 0.2, "semantic": 0.1, "usage": 0.2, "contradicts": 0.3,
}  # fmt: skip
"""Share of a hit's match that a recall passes along a link of weight 1, any intent; 0 where it is not listed.

What is walked both ways and has a direction passes half of it against the direction.
"""
PASSED_BY_INTENT: Final[Mapping[str, Mapping[str, float]]] = {
    "why": {"causal": 0.8, "supporting": 0.8, "blocks": 0.8, "derived_from": 0.5},
    "when": {"temporal": 0.2},
    "entity": {"entity": 0.4},
}
"""The same where the intent makes a difference."""


def gains(names: Iterable[str], intent: str) -> F64:
    """Return exp(0.6 · weight) by relation code, float64 (256,); 0 if it never raises a score."""
    table = WEIGHTS[intent]
    silent = {relation.name for relation in _RELATIONS if not relation.raises}
    found = np.full(RELATIONS, np.exp(STRUCTURE))
    for code, name in enumerate(names):
        found[code] = 0.0 if name in silent else np.exp(STRUCTURE * table.get(name, 1.0))
    return found


def passed_shares(names: Sequence[str], intent: str, relations: Iterable[str] | None = None) -> tuple[F64, F64]:
    """Return the shares passed along relation codes outward and inward, float64 (256,) each."""
    table = {**PASSED, **PASSED_BY_INTENT.get(intent, {})}
    outward, inward = (mask.astype(np.float64) for mask in masks(names, relations, intent=intent))
    symmetric = {relation.name for relation in _RELATIONS if relation.symmetric}
    for code, name in enumerate(names):
        if outward[code] and name not in symmetric:
            inward[code] *= 0.5
        outward[code] *= table.get(name, 0.0)
        inward[code] *= table.get(name, 0.0)
    return outward, inward

"""What a model said about links, checked: a strict schema, and the rules of what is dropped and what rejects all.

Rules are those of ClawMem's memory links and causal inference, with its defects mended.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, Literal, NamedTuple

import msgspec
from msgspec import Struct

from lamina_engine.embed.chat import InvalidAnswer, json_in

LEAST_CAUSAL: Final = 0.6
"""Causal links below this confidence are dropped."""
_WRAPPERS: Final = ("result", "results", "links")
_PLACEHOLDERS: Final = frozenset(
    {"", "reason", "reasoning", "explanation", "brief explanation", "string", "text", "why", "n/a", "na", "none", "null",
     "todo", "tbd", "...", "…", "your reasoning here", "short reason"}
)  # fmt: skip


class Verdict(Struct, frozen=True, forbid_unknown_fields=True):
    """One element of an answer about a note and its neighbours."""

    target_idx: int
    """Number of the neighbour, from 1."""
    link_type: Literal["semantic", "supporting", "contradicts"]
    confidence: float
    reasoning: str


class CausalVerdict(Struct, frozen=True, forbid_unknown_fields=True):
    """One element of an answer about facts."""

    source_fact_idx: int
    """Number of the fact that led to the other, from 0."""
    target_fact_idx: int
    confidence: float
    reasoning: str


class Fact(NamedTuple):
    """A fact, and the document that says it."""

    document: str
    text: str


def memory_links(text: str, neighbours: int) -> list[Verdict]:
    """Return the links of an answer about a note and so many neighbours.

    One malformed element rejects all of them. Numbers out of range and repeated ones are passed over.
    """
    try:
        found = msgspec.convert(_elements(text), list[Verdict])
    except msgspec.ValidationError as error:
        raise InvalidAnswer(str(error)) from error
    kept: dict[int, Verdict] = {}
    for verdict in found:
        if not _is_confidence(verdict.confidence):
            raise InvalidAnswer(f"confidence {verdict.confidence} is not between 0 and 1")
        if 1 <= verdict.target_idx <= neighbours and verdict.confidence > 0.0:
            kept.setdefault(verdict.target_idx, verdict)
    return list(kept.values())


def causal_links(text: str, facts: Sequence[Fact]) -> list[CausalVerdict]:
    """Return the links of an answer about facts.

    Dropped one by one: what is malformed, a placeholder for a reason, a confidence that is no number from 0.6 to 1,
    a number of no fact, two facts of one document, and all but the surest link between two documents.
    """
    best: dict[tuple[str, str], CausalVerdict] = {}
    for element in _elements(text):
        try:
            verdict = msgspec.convert(element, CausalVerdict)
        except msgspec.ValidationError:
            continue
        if not _is_confidence(verdict.confidence) or verdict.confidence < LEAST_CAUSAL:
            continue
        ends = (verdict.source_fact_idx, verdict.target_fact_idx)
        if not all(0 <= end < len(facts) for end in ends) or is_placeholder(verdict.reasoning):
            continue
        pair = (facts[ends[0]].document, facts[ends[1]].document)
        if pair[0] != pair[1] and (pair not in best or verdict.confidence > best[pair].confidence):
            best[pair] = verdict
    return list(best.values())


def is_placeholder(reasoning: str) -> bool:
    """Tell whether a reason only repeats what the question called it."""
    said = reasoning.strip().strip("<>[]{}\"'").strip().casefold()
    return said in _PLACEHOLDERS or not any(char.isalnum() for char in said)


def _is_confidence(value: float) -> bool:
    return math.isfinite(value) and 0.0 <= value <= 1.0


def _elements(text: str) -> list[Any]:
    """Return the list in an answer, be it within an object."""
    found = json_in(text)
    if isinstance(found, dict):
        found = next((found[name] for name in _WRAPPERS if name in found), None)
    if not isinstance(found, list):
        raise InvalidAnswer("it is no JSON array")
    return found


__all__ = [
    "LEAST_CAUSAL", "CausalVerdict", "Fact", "InvalidAnswer", "Verdict", "causal_links", "is_placeholder", "memory_links",
]  # fmt: skip

"""Verdicts of a language model: schemas and validation of its answers.

The rules for links are those of ClawMem's memory links and causal inference, with its defects mended.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final, Literal, NamedTuple, TypeVar

import msgspec
from msgspec import Struct

from lamina_engine.embed.chat import InvalidAnswer, parse_json

MIN_CAUSAL: Final = 0.6
"""Causal links below this confidence are dropped."""
MAX_NAME_CHARS: Final = 60
"""Characters of a topic's name."""
_WRAPPERS: Final = ("result", "results", "links", "facts", "triples")
"""Fields of an object that may hold the array, where an answer is none itself."""
_PLACEHOLDERS: Final = frozenset(
    {"", "reason", "reasoning", "explanation", "brief explanation", "string", "text", "why", "n/a", "na", "none", "null",
     "todo", "tbd", "...", "…", "your reasoning here", "short reason"}
)  # fmt: skip
_NAME_PLACEHOLDERS: Final = frozenset(
    {"name", "topic", "topic name", "title", "untitled", "unknown", "none", "null", "n/a", "misc", "..."}
)

V = TypeVar("V", bound=Struct)


class LinkVerdict(Struct, frozen=True, forbid_unknown_fields=True):
    """One element of an answer about a note and its neighbours."""

    target_idx: int
    """Number of the neighbour, from 1."""
    link_type: Literal["semantic", "supporting", "contradicts"]
    confidence: float
    reasoning: str


class CausalVerdict(Struct, frozen=True, forbid_unknown_fields=True):
    """One element of an answer about the statements of a session."""

    source_fact_idx: int
    """Number of the statement that led to the other, from 0."""
    target_fact_idx: int
    confidence: float
    reasoning: str


class TripleVerdict(Struct, frozen=True, forbid_unknown_fields=True):
    """One fact that a note states."""

    subject: str
    predicate: str
    object: str


class DisputeVerdict(Struct, frozen=True, forbid_unknown_fields=True):
    """One element of an answer about the facts of one thing."""

    new_idx: int
    old_idx: int
    relation: Literal["same", "update", "contradiction"]
    confidence: float
    reasoning: str


class _TopicName(Struct, frozen=True, forbid_unknown_fields=True):
    topic: int
    name: str


class Statement(NamedTuple):
    """A sentence and its document."""

    document: str
    text: str


def parse_links(text: str, neighbours: int) -> list[LinkVerdict]:
    """Return the links of an answer about a note and so many neighbours.

    One malformed element rejects all of them. Numbers out of range and repeated ones are skipped.
    """
    kept: dict[int, LinkVerdict] = {}
    for verdict in _convert(elements_in(text), LinkVerdict):
        _check_confidence(verdict.confidence)
        if 1 <= verdict.target_idx <= neighbours and verdict.confidence > 0.0:
            kept.setdefault(verdict.target_idx, verdict)
    return list(kept.values())


def parse_causes(text: str, statements: Sequence[Statement]) -> list[CausalVerdict]:
    """Return the causal links of an answer about statements.

    Dropped one by one: malformed elements, placeholders for a reason, a confidence outside 0.6 to 1,
    numbers of no statement, two statements of one document, and all but the surest link between two documents.
    """
    best: dict[tuple[str, str], CausalVerdict] = {}
    for element in elements_in(text):
        try:
            verdict = msgspec.convert(element, CausalVerdict)
        except msgspec.ValidationError:
            continue
        if not _is_confidence(verdict.confidence) or verdict.confidence < MIN_CAUSAL:
            continue
        ends = (verdict.source_fact_idx, verdict.target_fact_idx)
        if not all(0 <= end < len(statements) for end in ends) or is_placeholder(verdict.reasoning):
            continue
        pair = (statements[ends[0]].document, statements[ends[1]].document)
        if pair[0] != pair[1] and (pair not in best or verdict.confidence > best[pair].confidence):
            best[pair] = verdict
    return list(best.values())


def parse_triples(text: str) -> list[TripleVerdict]:
    """Return the facts of an answer about a note; one malformed element rejects all of them."""
    return _convert(elements_in(text), TripleVerdict)


def parse_disputes(text: str, facts: int) -> list[DisputeVerdict]:
    """Return the pairs of an answer about so many facts; a malformed element rejects all."""
    found = _convert(elements_in(text), DisputeVerdict)
    for verdict in found:
        _check_confidence(verdict.confidence)
    inside = range(facts)
    return [v for v in found if v.old_idx in inside and v.new_idx in inside and v.old_idx != v.new_idx]


def parse_names(text: str, topics: int) -> dict[int, str]:
    """Return the names of an answer about so many topics, by their numbers.

    One malformed element rejects all of them: a field too many or too few, a number of no topic or named twice, a name
    that is empty, a placeholder, too long or of several lines.
    """
    found = parse_json(text)
    if isinstance(found, dict):
        found = next((value for value in found.values() if isinstance(value, list)), [found])
    names: dict[int, str] = {}
    for element in _convert(found, _TopicName):
        name = element.name.strip().strip("\"'“”").strip()
        if not 1 <= element.topic <= topics or element.topic in names:
            raise InvalidAnswer(f"topic {element.topic} is none of 1 to {topics}, or was named twice")
        if not name.isprintable() or len(name) > MAX_NAME_CHARS or not any(char.isalnum() for char in name):
            raise InvalidAnswer(
                f"the name of topic {element.topic} must be one line of 1 to {MAX_NAME_CHARS} characters"
            )
        if name.casefold() in _NAME_PLACEHOLDERS:
            raise InvalidAnswer(f"the name of topic {element.topic} says nothing")
        names[element.topic] = name
    if not names:
        raise InvalidAnswer("it names no topic")
    return names


def is_placeholder(reasoning: str) -> bool:
    """Return True if a reason only repeats a word of the question."""
    bare = reasoning.strip().strip("<>[]{}\"'").strip().casefold()
    return bare in _PLACEHOLDERS or not any(char.isalnum() for char in bare)


def elements_in(text: str) -> list[Any]:
    """Return the array in an answer, also from within an object."""
    found = parse_json(text)
    if isinstance(found, dict):
        found = next((found[name] for name in _WRAPPERS if name in found), None)
    if not isinstance(found, list):
        raise InvalidAnswer("the answer is not a JSON array")
    return found


def _convert(found: Any, kind: type[V]) -> list[V]:
    try:
        return msgspec.convert(found, list[kind])  # type: ignore[valid-type]
    except msgspec.ValidationError as error:
        raise InvalidAnswer(str(error)) from error


def _check_confidence(value: float) -> None:
    if not _is_confidence(value):
        raise InvalidAnswer(f"confidence {value} is not between 0 and 1")


def _is_confidence(value: float) -> bool:
    return math.isfinite(value) and 0.0 <= value <= 1.0

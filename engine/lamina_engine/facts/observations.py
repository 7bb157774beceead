"""Observation blocks and their triples, parsed leniently; each dropped part has a reason.

A block is an ``<observation>`` element with ``type``, ``title``, ``narrative``, ``facts`` and ``triples``. Models forget to escape
and to close, so elements are found one by one, and a broken one costs only itself. Triples have a closed vocabulary and
bounded lengths, by ClawMem's rules.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from lamina_engine.facts.predicates import TRIPLE_PREDICATES

VOCABULARY: Final = tuple(sorted(TRIPLE_PREDICATES))
"""Predicates that an extracted triple may have."""
LITERAL: Final = frozenset({"prefers", "avoids"})
"""Of these the object is a text, whatever entity may have that name."""
SUBJECT_CHARS: Final = (2, 80)
OBJECT_CHARS: Final = (2, 120)
MAX_TRIPLES: Final = 5
"""Triples of one observation; further ones are dropped."""
_PARTS: Final = ("subject", "predicate", "object")
_PLACEHOLDERS: Final = frozenset(
    {"subject", "predicate", "object", "entity", "entity name", "entity1", "entity2", "entity a", "entity b", "value",
     "relation", "literal", "string", "text", "name", "title", "fact", "narrative", "short title", "brief title",
     "subject entity", "object entity", "canonical predicate", "entity or literal", "object or literal", "example", "n/a", "none",
     "null", "unknown", "todo", "tbd", "...", "…"}
)  # fmt: skip


class Triple(NamedTuple):
    """Checked triple."""

    subject: str
    predicate: str
    object: str

    @property
    def is_literal(self) -> bool:
        """True where the object is a text and no entity."""
        return self.predicate in LITERAL


class Drop(NamedTuple):
    """Dropped part, and the reason."""

    what: str
    why: str


def check_triples(raw: Iterable[Mapping[str, object]], *, most: int = MAX_TRIPLES) -> tuple[list[Triple], list[Drop]]:
    """Return usable triples (equal ones once, at most ``most``), and a `Drop` for each other."""
    kept: dict[Triple, None] = {}
    dropped: list[Drop] = []
    for number, parts in enumerate(raw, 1):
        triple, why = _check_triple(parts)
        if triple is None:
            dropped.append(Drop(f"triple {number}", why))
        elif triple not in kept and len(kept) >= most:
            dropped.append(Drop(f"triple {number}", f"an observation has at most {most} triples"))
        else:
            kept[triple] = None
    return list(kept), dropped


def normalize_spelling(predicate: str) -> str:
    """Return a predicate in the vocabulary's spelling: lower case, ``_`` for blanks and hyphens."""
    return "_".join(predicate.replace("-", " ").lower().split())


def is_placeholder(text: str) -> bool:
    """Return whether a text only repeats a placeholder of the prompt."""
    plain = text.strip().strip("<>[]{}()\"'`").strip().casefold()
    return plain in _PLACEHOLDERS or not any(char.isalnum() for char in plain)


def _check_triple(parts: Mapping[str, object]) -> tuple[Triple | None, str]:
    given = {name: parts.get(name) for name in _PARTS}
    absent = [name for name, value in given.items() if not isinstance(value, str) or not value.strip()]
    if absent:
        return None, f"it has no {' and no '.join(absent)}"
    subject, predicate, object_ = (" ".join(str(given[name]).split()) for name in _PARTS)
    for name, text, (least, longest) in (("subject", subject, SUBJECT_CHARS), ("object", object_, OBJECT_CHARS)):
        if not least <= len(text) <= longest:
            return None, f"its {name} has {len(text)} characters; {least} to {longest} are allowed"
        if is_placeholder(text):
            return None, f"its {name} {text!r} is a placeholder"
    predicate = normalize_spelling(predicate)
    if predicate not in VOCABULARY:
        return None, f"its predicate {predicate[:40]!r} is none of {', '.join(VOCABULARY)}"
    return Triple(subject, predicate, object_), ""


OBSERVATION_TYPES: Final = (
    "decision", "preference", "milestone", "problem", "discovery", "feature", "bugfix", "change", "refactor",
)  # fmt: skip
"""Types of observations."""
ELIGIBLE: Final = frozenset({"decision", "preference", "milestone", "problem", "discovery", "feature"})
"""Types whose triples become facts: the others tell of code, not of what holds."""
SURE: Final = frozenset({"decision", "preference"})
_CONFIDENCE: Final = (0.7, 0.9)
TITLE_CHARS: Final = 80
LEAST_FACT_CHARS: Final = 5
_MOST_BLOCK_CHARS: Final = 100_000

_OPEN: Final = re.compile(r"<observation(?:\s[^<>]*)?>", re.IGNORECASE)
_CLOSE: Final = re.compile(r"</observation\s*>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Observation:
    """Checked observation."""

    type: str
    title: str
    narrative: str
    facts: tuple[str, ...]
    triples: tuple[Triple, ...]
    """Empty for types that are not eligible, and without facts."""
    start: int
    """First character of its block in the text."""

    @property
    def confidence(self) -> float:
        """Confidence of its triples: 0.9 for decisions and preferences, else 0.7."""
        return _CONFIDENCE[self.type in SURE]

    @property
    def text(self) -> str:
        """Text of its chunk: the narrative, then the facts as a list."""
        listed = "\n".join(f"- {fact}" for fact in self.facts)
        return "\n\n".join(filter(None, (self.narrative, listed))) or self.title


def parse_observations(text: str) -> tuple[list[Observation], list[Drop]]:
    """Return the observations of a text, and the parts dropped with the reasons. O(length)."""
    found: list[Observation] = []
    dropped: list[Drop] = []
    openings = list(_OPEN.finditer(text))
    for number, opening in enumerate(openings, 1):
        limit = openings[number].start() if number < len(openings) else len(text)
        closing = _CLOSE.search(text, opening.end(), limit)
        where = f"observation {number}"
        if closing is None:
            dropped.append(Drop(where, "it is not closed; it was read up to the next one"))
        body = text[opening.end() : closing.start() if closing else limit]
        observation, why = _parse_block(body, opening.start(), where)
        dropped += why
        if observation is not None:
            found.append(observation)
    return found, dropped


def _parse_block(body: str, start: int, where: str) -> tuple[Observation | None, list[Drop]]:
    if len(body) > _MOST_BLOCK_CHARS:
        return None, [Drop(where, f"it has {len(body)} characters; {_MOST_BLOCK_CHARS} are allowed")]
    kind = (_first_element(body, "type") or "").lower()
    title = " ".join((_first_element(body, "title") or "").split())[:TITLE_CHARS].rstrip()
    if kind not in OBSERVATION_TYPES:
        return None, [Drop(where, f"its type {kind[:40]!r} is none of {', '.join(OBSERVATION_TYPES)}")]
    if is_placeholder(title):
        return None, [Drop(where, f"its title {title!r} says nothing")]
    dropped: list[Drop] = []
    facts = _facts(body, where, dropped)
    triples = _triples(body, where, kind, bool(facts), dropped)
    narrative = (_first_element(body, "narrative") or "").strip()
    narrative = "" if is_placeholder(narrative) else narrative
    return Observation(kind, title, narrative, facts, triples, start), dropped


def _facts(body: str, where: str, dropped: list[Drop]) -> tuple[str, ...]:
    kept: dict[str, None] = {}
    for number, raw in enumerate(_elements(_wrapper_content(body, "facts") or "", "fact"), 1):
        fact = " ".join(raw.split())
        if len(fact) < LEAST_FACT_CHARS or is_placeholder(fact):
            dropped.append(Drop(where, f"fact {number} says nothing"))
        else:
            kept[fact] = None
    return tuple(kept)


def _triples(body: str, where: str, kind: str, has_facts: bool, dropped: list[Drop]) -> tuple[Triple, ...]:
    wrapper = _wrapper_content(body, "triples")
    raw = [
        {part: _first_element(triple, part) for part in ("subject", "predicate", "object")}
        for triple in _elements(wrapper or "", "triple")
    ]
    if not raw:
        return ()
    if kind not in ELIGIBLE or not has_facts:
        why = f"{kind} observations give no triples" if has_facts else "without facts it gives no triples"
        dropped.append(Drop(where, why))
        return ()
    kept, bad = check_triples(raw)
    dropped += [Drop(f"{where}, {drop.what}", drop.why) for drop in bad]
    return tuple(kept)


def _wrapper_content(body: str, name: str) -> str | None:
    """Return the raw content of the first wrapper, up to the end where it is not closed."""
    found = re.search(rf"<{name}(?:\s[^<>]*)?>(.*?)(?:</{name}\s*>|\Z)", body, re.DOTALL | re.IGNORECASE)
    return found[1] if found else None


def _elements(body: str, name: str) -> list[str]:
    """Return the content of each element, up to the next where it is not closed."""
    parts = re.split(rf"<{name}(?:\s[^<>]*)?>", body, flags=re.IGNORECASE)[1:]
    end = re.compile(rf"</{name}\s*>", re.IGNORECASE)
    raw = [end.split(part, maxsplit=1)[0] for part in parts]
    return raw if name == "triple" else [html.unescape(each) for each in raw]


def _first_element(body: str, name: str) -> str | None:
    """Return the text of the first closed element of a name, or None."""
    found = re.search(rf"<{name}(?:\s[^<>]*)?>(.*?)</{name}\s*>", body, re.DOTALL | re.IGNORECASE)
    return html.unescape(found[1]).strip() if found else None

"""The observation blocks that an observing model writes: found in a text, read leniently, bad ones reported.

A block is an ``<observation>`` element with ``type``, ``title``, ``narrative``, ``facts`` and ``triples``. It is no XML
document: models forget to escape and to close, so elements are looked for one by one, and what is broken costs only itself.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from typing import Final

from lamina_engine.facts.triples import Drop, Triple, check_triples, is_echo

TYPES: Final = (
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
    """One observation, checked."""

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
        """How sure its triples are: 0.9 for decisions and preferences, else 0.7."""
        return _CONFIDENCE[self.type in SURE]

    @property
    def text(self) -> str:
        """What it says, as a memory: the narrative, then the facts as a list."""
        listed = "\n".join(f"- {fact}" for fact in self.facts)
        return "\n\n".join(filter(None, (self.narrative, listed))) or self.title


def parse_observations(text: str) -> tuple[list[Observation], list[Drop]]:
    """Return the observations of a text, and what was dropped of them and why.

    Parameters
    ----------
    text : str
        Anything; all outside the blocks is passed over.

    Returns
    -------
    tuple
        Observations in order. A block that is not closed ends where the next begins, or with the text.

    Notes
    -----
    O(length of the text).
    """
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
        observation, why = _read(body, opening.start(), where)
        dropped += why
        if observation is not None:
            found.append(observation)
    return found, dropped


def _read(body: str, start: int, where: str) -> tuple[Observation | None, list[Drop]]:
    if len(body) > _MOST_BLOCK_CHARS:
        return None, [Drop(where, f"it has {len(body)} characters; {_MOST_BLOCK_CHARS} are allowed")]
    kind = (_first(body, "type") or "").lower()
    title = " ".join((_first(body, "title") or "").split())[:TITLE_CHARS].rstrip()
    if kind not in TYPES:
        return None, [Drop(where, f"its type {kind[:40]!r} is none of {', '.join(TYPES)}")]
    if is_echo(title):
        return None, [Drop(where, f"its title {title!r} says nothing")]
    dropped: list[Drop] = []
    facts = _facts(body, where, dropped)
    triples = _triples(body, where, kind, bool(facts), dropped)
    narrative = (_first(body, "narrative") or "").strip()
    narrative = "" if is_echo(narrative) else narrative
    return Observation(kind, title, narrative, facts, triples, start), dropped


def _facts(body: str, where: str, dropped: list[Drop]) -> tuple[str, ...]:
    kept: dict[str, None] = {}
    for number, raw in enumerate(_all(_wrapped(body, "facts") or "", "fact"), 1):
        fact = " ".join(raw.split())
        if len(fact) < LEAST_FACT_CHARS or is_echo(fact):
            dropped.append(Drop(where, f"fact {number} says nothing"))
        else:
            kept[fact] = None
    return tuple(kept)


def _triples(body: str, where: str, kind: str, has_facts: bool, dropped: list[Drop]) -> tuple[Triple, ...]:
    wrapper = _wrapped(body, "triples")
    raw = [
        {part: _first(triple, part) for part in ("subject", "predicate", "object")}
        for triple in _all(wrapper or "", "triple")
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


def _wrapped(body: str, name: str) -> str | None:
    """Return the raw content of the first wrapper; one that is not closed reaches to the end."""
    found = re.search(rf"<{name}(?:\s[^<>]*)?>(.*?)(?:</{name}\s*>|\Z)", body, re.DOTALL | re.IGNORECASE)
    return found[1] if found else None


def _all(body: str, name: str) -> list[str]:
    """Return the content of each element; one that is not closed ends where the next begins."""
    parts = re.split(rf"<{name}(?:\s[^<>]*)?>", body, flags=re.IGNORECASE)[1:]
    end = re.compile(rf"</{name}\s*>", re.IGNORECASE)
    raw = [end.split(part, maxsplit=1)[0] for part in parts]
    return raw if name == "triple" else [html.unescape(each) for each in raw]


def _first(body: str, name: str) -> str | None:
    """Return the text of the first element of a name that is closed; None without one."""
    found = re.search(rf"<{name}(?:\s[^<>]*)?>(.*?)</{name}\s*>", body, re.DOTALL | re.IGNORECASE)
    return html.unescape(found[1]).strip() if found else None

"""Heads of documents: ``Name: value`` lines as in mail and PEPs, and field lists of rST.

A head tells of its document what frontmatter does, and unlike frontmatter it stays in the text: readers see it. A line
that begins with white space goes on with the field before it (RFC 822); of a field that stands twice the first counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from lamina_engine.ingest.frontmatter import Frontmatter, Json

MAX_LINES: Final = 200
"""Lines of a head, folded ones included; what goes on longer is text."""
KNOWN: Final = frozenset(
    [
        "title",
        "subject",
        "author",
        "authors",
        "from",
        "date",
        "created",
        "created-at",
        "status",
        "version",
        "modified",
        "last-modified",
    ]
)
"""Fields of which one must stand in a head: else it may be a paragraph with a colon."""
FEWEST: Final = 2
"""Fields of a head of ``Name: value`` lines."""

_FIELD: Final = re.compile(r"([A-Za-z][A-Za-z0-9-]{0,39}):(?:[ \t]+(.*))?$")
_LISTED: Final = re.compile(r":([^:\s][^:\n]{0,39}):(?:[ \t]+(.*))?$")
_NAMED: Final = re.compile(r"(.*?)<[^<>]*>|[^\s()]+@[^\s()]+\s*\((.+?)\)|(.+)")
_COMMA: Final = re.compile(r",(?![^<(]*[>)])")
_VERSION_KEYWORD: Final = re.compile(r"\$\w+:\s*(.*?)\s*\$$")


def read_head(text: str, kind: str) -> Frontmatter:
    """Read the head of a text: ``body`` is 0, as it stays part of it.

    In Markdown and plain text it is `FEWEST` fields or more with a known one among them, before the first blank line. In
    reStructuredText it may be a field list too, at the beginning or right below the title.
    """
    lines = text.split("\n", MAX_LINES)[:MAX_LINES]
    start = next((i for i, line in enumerate(lines) if line.strip()), len(lines))
    found = dict(_fields(lines[start:], _FIELD))
    if len(found) < FEWEST or not KNOWN & found.keys():
        found = {}
    if not found and kind == "rst":
        found = dict(_fields(lines[_below_title(lines, start) :], _LISTED))
    return Frontmatter(found)


def _fields(lines: list[str], pattern: re.Pattern[str]) -> Iterator[tuple[str, Json]]:
    """Yield lower-case names and values up to a blank line; nothing where other lines are.

    Where a name in capitals has a number, the two are an alias.
    """
    found: dict[str, list[str]] = {}
    values: list[str] = []
    numbered = ""
    for line in lines:
        if not line.strip():
            break
        match = pattern.match(line)
        if match:
            values = [(match[2] or "").strip()]
            found.setdefault(match[1].lower(), values)
            numbered = numbered or (match[1] if match[1].isupper() and values[0].isdigit() else "")
        elif line[0].isspace() and found:
            values.append(line.strip())
        else:
            return
    else:
        if len(lines) >= MAX_LINES:
            return
    if numbered:  # PEP: 8, as people name it
        yield "aliases", [f"{numbered} {int(found[numbered.lower()][0])}"]
    for name, parts in found.items():
        value = " ".join(part for part in parts if part)
        keyword = _VERSION_KEYWORD.match(value)
        value = keyword[1] if keyword else value
        if value:
            yield name, people_of(value) if name in ("author", "authors", "from") else value


def _below_title(lines: list[str], start: int) -> int:
    """Return the first line of text below a title that begins the lines, else where it began."""
    rows = [line.rstrip() for line in lines[start : start + 3]]
    under = [len(row) > 2 and len(set(row)) == 1 and not row[0].isalnum() for row in rows]
    taken = 3 if under[:1] == [True] and under[2:3] == [True] else 2 if under[1:2] == [True] else 0
    return next((i for i in range(start + taken, len(lines)) if lines[i].strip()), start)


def people_of(value: str) -> list[Json]:
    """Return names out of ``A B <a@b>, c@d (C D)``, without addresses."""
    names: list[Json] = []
    for part in value.split(";") if ";" in value else _COMMA.split(value):
        match = _NAMED.match(part.strip())
        name = next((group.strip(" \t\"'") for group in match.groups() if group), "") if match else ""
        if name:
            names.append(name)
    return names

"""Outline and header of AsciiDoc: sections, entries of description lists, lists, blocks.

Both forms of headings are read, ``== Section`` and a line underlined with ``= - ~ ^ +``. A scanner instead of a parser, as in
`lamina_engine.ingest.markdown`: it never fails, and the text stays as it is.
"""

from __future__ import annotations

import re
from typing import Final

from lamina_engine.ingest.chunking import DEEPEST, ENTRY, MAX_HEADING_CHARS, Block, BlockScanner, Outline, shorten_term
from lamina_engine.ingest.frontmatter import Frontmatter, Json
from lamina_engine.ingest.heads import MAX_LINES, people_of

_HEADING: Final = re.compile(r"(={1,6})[ \t]+(\S.*)")
_UNDERLINE: Final = re.compile(r"([=\-~^+])\1+[ \t]*$")
_LEVELS: Final = {letter: level for level, letter in enumerate("=-~^+", 1)}
_UNEVEN: Final = 2
"""Characters by which an underline may be longer or shorter than its title."""
_VERBATIM: Final = re.compile(r"(-{4,}|\.{4,}|\+{4,}|/{4,}|`{3,}[\w,+-]*|[|,:!]={3,})[ \t]*$")
"""Line that begins, and ends, a block whose text is no prose."""
_BORDER: Final = re.compile(r"(?:={4,}|\*{4,}|_{4,}|--)[ \t]*$")
"""Line that begins or ends a block of prose."""
_TERM: Final = re.compile(r"([ \t]*)(\S.*?)(:{2,4})(?:[ \t]+(\S.*))?$")
_ITEM: Final = re.compile(r"[ \t]*(?:([*.]{1,5}|-)|\d{1,9}[.)]|[a-zA-Z][.)]|<(?:\d+|\.)>)[ \t]+\S")
_ABOVE: Final = re.compile(r"\[(?:\[[^\[\]\n]*\]|[^\[\]\n]*)\][ \t]*$|\.[^\s.].*$")
"""Anchor, attributes or title of the block below."""
_ATTRIBUTE: Final = re.compile(r":([\w-]+)!?:(?:[ \t]+(.*))?$")
_REVISION: Final = re.compile(r"(?:v?[\d.]+,[ \t]*)?(\d{4}-\d\d?-\d\d?)(?:[:,\s].*)?$")
_AUTHOR: Final = re.compile(r"[^\W\d_][^<>\n=]*<[^<>\s]+>|[^\W\d_][\w.'-]*(?: [^\W\d_][\w.'-]*){1,3}$")
_FIELDS: Final = {
    "revdate": "date",
    "date": "date",
    "keywords": "tags",
    "author": "author",
    "description": "description",
}


def outline_asciidoc(text: str) -> Outline:
    """Return blocks, title and code of AsciiDoc; the title is a first heading of level one."""
    return _Scanner(text).outline()


def read_asciidoc_header(text: str) -> Frontmatter:
    """Read author, revision and attributes below the title; they stay part of the text."""
    lines = text.split("\n", MAX_LINES)[:MAX_LINES]
    start = next((i for i, line in enumerate(lines) if line.strip() and not line.startswith("//")), len(lines))
    fields: dict[str, Json] = {}
    heading = _heading_at(lines, start)
    is_titled = heading is not None and heading[0] == 1
    below = start + heading[2] if heading else start
    for i, line in enumerate(lines[below:]):
        attribute, revision = _ATTRIBUTE.match(line), _REVISION.match(line)
        if attribute:
            if (name := _FIELDS.get(attribute[1].lower())) and attribute[2]:
                fields.setdefault(name, people_of(attribute[2]) if name == "author" else attribute[2].strip())
        elif is_titled and i < 2 and revision:
            fields.setdefault("date", revision[1])
        elif is_titled and i == 0 and _AUTHOR.match(line):
            fields.setdefault("author", people_of(line))
        elif not line.startswith("//"):
            break
    return Frontmatter(fields)


def _heading_at(lines: list[str], i: int) -> tuple[int, str, int] | None:
    """Return level, title and number of lines of a heading that begins at line ``i``."""
    if i >= len(lines):
        return None
    if match := _HEADING.match(lines[i]):
        title = match[2].rstrip()
        closing = f" {match[1]}"  # == Section ==
        return len(match[1]), title.removesuffix(closing).rstrip()[:MAX_HEADING_CHARS], 1
    title, below = lines[i].rstrip(), lines[i + 1 : i + 2]
    under = _UNDERLINE.match(below[0]) if below else None
    if not under or not title or title[0].isspace() or not any(letter.isalnum() for letter in title):
        return None
    if abs(len(title) - len(below[0].rstrip())) > _UNEVEN or _ABOVE.match(title) or _ITEM.match(title):
        return None
    if i and lines[i - 1].strip() and not _ABOVE.match(lines[i - 1]):  # within a paragraph
        return None
    return _LEVELS[under[1]], title[:MAX_HEADING_CHARS], 2


class _Scanner(BlockScanner):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._entry = 0
        """Level of the innermost entry that is open; 0 without one."""
        self._above: int | None = None
        """Offset of the anchor, attributes and title of the block that follows."""
        self._ends = self._find_ends()

    def _find_ends(self) -> dict[int, int]:
        """Return the last line of each verbatim block by its first."""
        ends: dict[int, int] = {}
        following: dict[str, int] = {}
        for i in range(len(self._lines) - 1, -1, -1):
            if match := _VERBATIM.match(self._lines[i]):
                border = "```" if match[1].startswith("`") else match[1]
                if border in following:
                    ends[i] = following[border]
                if match[1] == border:
                    following[border] = i
        return ends

    def _take(self, i: int, offset: int) -> int:
        """Note the block that starts at line ``i`` and return how many lines it has."""
        line = self._lines[i]
        if heading := _heading_at(self._lines, i):
            level, title, taken = heading
            self._entry = 0
            self._begin(offset, "heading", level, title)
            return taken
        if line.startswith("//") and not line.startswith("////"):
            return 1
        if i in self._ends:
            return self._verbatim(offset, self._lines[i : self._ends[i] + 1])
        if _ABOVE.match(line):
            self._above = offset if self._above is None else self._above
            return 1
        if _BORDER.match(line):
            return 1
        if term := self._terms(i):
            level, title, taken = term
            self._entry = level
            self._begin(offset, "heading", level, title)
            return taken
        return self._prose(i, offset)

    def _begin(self, offset: int, kind: str, level: int = 0, title: str = "", depth: int = 0) -> None:
        start = offset if self._above is None else self._above
        self._above = None
        self._blocks.append(Block(start, start, kind, level, title, depth))

    def _verbatim(self, offset: int, lines: list[str]) -> int:
        is_table = lines[0].rstrip().endswith("=")
        self._begin(offset, "table" if is_table else "fence")
        if not is_table:
            self._code.append((offset, offset + sum(len(line) + 1 for line in lines)))
        return len(lines)

    def _terms(self, i: int) -> tuple[int, str, int] | None:
        """Return level, terms and number of lines of an entry; terms may share one."""
        names: list[str] = []
        mark = ""
        while i + len(names) < len(self._lines):
            match = _TERM.match(self._lines[i + len(names)])
            if match is None or (mark and match[3] != mark) or (match[1] and not self._entry):
                break
            if len(match[2]) > MAX_HEADING_CHARS or "::" in match[2]:
                break
            mark = match[3]
            names.append(_name_of(match[2]))
            if match[4]:
                break
        level = min(ENTRY + len(mark) - 2, DEEPEST)
        return (level, ", ".join(names)[:MAX_HEADING_CHARS], len(names)) if names else None

    def _prose(self, i: int, offset: int) -> int:
        line = self._lines[i]
        item = _ITEM.match(line)
        kind = "item" if item else "paragraph"
        ended = 0
        attached = line[0].isspace() or item or (i and self._lines[i - 1].strip())
        if self._entry and not attached and self._above is None:  # a paragraph of its own ends a list
            ended, self._entry = self._entry, 0
        self._begin(offset, kind, ended, "", len(item[1]) - 1 if item and item[1] else 0)
        taken = 1
        while i + taken < len(self._lines) and self._lines[i + taken].strip():
            following = self._lines[i + taken]
            if i + taken in self._ends or _BORDER.match(following) or _ITEM.match(following):
                break
            if (self._entry or item) and _TERM.match(following):
                break
            taken += 1
        return taken


def _name_of(term: str) -> str:
    """Return a term without marks of emphasis and code."""
    words = term.replace("`", "").lstrip("\\")
    return shorten_term((words.replace("'", "") if words.startswith("'") else words).strip("*_ "))

"""Outline and keywords of Org: headlines, blocks, lists and tables.

A scanner instead of a parser, as in `lamina_engine.ingest.markdown`: it never fails, and the text stays as it is.
"""

from __future__ import annotations

import re
from typing import Final

from lamina_engine.ingest.chunking import DEEPEST, MAX_HEADING_CHARS, Block, BlockScanner, Outline
from lamina_engine.ingest.frontmatter import Frontmatter, Json
from lamina_engine.ingest.heads import MAX_LINES, people_of

_HEADLINE: Final = re.compile(r"(\*+)[ \t]+(\S.*)")
_STATE: Final = re.compile(
    r"(?:TODO|DONE|NEXT|STARTED|DOING|WAITING|WAIT|HOLD|SOMEDAY|MAYBE|CANCELLED|CANCELED|KILL|PROJ)(?:[ \t]+|$)"
)
_PRIORITY: Final = re.compile(r"\[#[A-Z0-9]\][ \t]*")
_TAGS: Final = re.compile(r"[ \t]+:[\w@#%:]+:[ \t]*$")
_BEGIN: Final = re.compile(r"[ \t]*(?:#\+begin_(\w+)|:[\w-]+:[ \t]*$)", re.IGNORECASE)
"""First line of a block, or of a drawer."""
_END: Final = re.compile(r"[ \t]*(?:#\+end_(\w+)|:end:)[ \t]*$", re.IGNORECASE)
_ITEM: Final = re.compile(r"([ \t]*)(?:[-+]|\d{1,9}[.)]|(?<=[ \t])\*)[ \t]+\S")
_KEYWORD: Final = re.compile(r"#\+(\w+):[ \t]*(.*)$")
_PROPERTY: Final = re.compile(r"[ \t]*:([\w-]+):[ \t]+(\S.*)$")
_DATE: Final = re.compile(r"[<\[]?(\d{4}-\d\d-\d\d)(?:[ \t]+[^\W\d_]+\.?)?(?:[ \t]+(\d\d:\d\d))?[^>\]]*[>\]]?$")
_QUOTED: Final = re.compile(r'"([^"]+)"|(\S+)')
_FIELDS: Final = frozenset({"title", "date", "author", "filetags", "description"})
_PROSE: Final = re.compile(r"[ \t]*#\+begin_(?:quote|verse|center|note|tip|warning|abstract)\b", re.IGNORECASE)


def outline_org(text: str) -> Outline:
    """Return blocks and code of an Org file. Its title is a keyword, never a headline."""
    return _Scanner(text).outline()._replace(title=None)


def read_org_keywords(text: str) -> Frontmatter:
    """Read the keywords above the first headline; they stay part of the text."""
    found: dict[str, list[str]] = {}
    for line in text.split("\n", MAX_LINES)[:MAX_LINES]:
        if _HEADLINE.match(line):
            break
        if (keyword := _KEYWORD.match(line)) and keyword[1].lower() in _FIELDS and keyword[2].strip():
            found.setdefault(keyword[1].lower(), []).append(keyword[2].strip())
        elif (given := _PROPERTY.match(line)) and given[1].upper() == "ROAM_ALIASES":
            found["aliases"] = [quoted or bare for quoted, bare in _QUOTED.findall(given[2])]
    fields: dict[str, Json] = {name: " ".join(parts) for name, parts in found.items()}
    if date := _DATE.match(str(fields.get("date", ""))):
        fields["date"] = f"{date[1]}T{date[2]}" if date[2] else date[1]
    if "author" in fields:
        fields["author"] = people_of(str(fields["author"]))
    if "filetags" in fields:
        fields["tags"] = list[Json](re.findall(r"[^\s:]+", str(fields.pop("filetags"))))
    if "aliases" in found:
        fields["aliases"] = list[Json](found["aliases"])
    return Frontmatter(fields)


class _Scanner(BlockScanner):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._ends = self._find_ends()

    def _find_ends(self) -> dict[int, int]:
        """Return the last line of each block or drawer by its first, within a section."""
        ends: dict[int, int] = {}
        following: dict[str, int] = {}
        for i in range(len(self._lines) - 1, -1, -1):
            line = self._lines[i]
            if _HEADLINE.match(line):
                following = {}
            elif end := _END.match(line):
                following[(end[1] or ":").lower()] = i
            elif (begin := _BEGIN.match(line)) and (name := (begin[1] or ":").lower()) in following:
                ends[i] = following[name]
        return ends

    def _take(self, i: int, offset: int) -> int:
        """Note the block that starts at line ``i`` and return how many lines it has."""
        line = self._lines[i]
        if headline := _HEADLINE.match(line):
            self._begin(offset, "heading", min(len(headline[1]), DEEPEST), _title(headline[2]))
            return 1
        if i in self._ends and not _PROSE.match(line):
            return self._verbatim(offset, self._lines[i : self._ends[i] + 1])
        item = _ITEM.match(line)
        kind = "item" if item else "table" if line.lstrip().startswith("|") else "paragraph"
        self._begin(offset, kind, depth=len(item[1].expandtabs(4)) // 2 if item else 0)
        return self._prose(i, kind)

    def _begin(self, offset: int, kind: str, level: int = 0, title: str = "", depth: int = 0) -> None:
        self._blocks.append(Block(offset, offset, kind, level, title, depth))

    def _verbatim(self, offset: int, lines: list[str]) -> int:
        self._begin(offset, "fence")
        self._code.append((offset, offset + sum(len(line) + 1 for line in lines)))
        return len(lines)

    def _prose(self, i: int, kind: str) -> int:
        taken = 1
        while i + taken < len(self._lines) and self._lines[i + taken].strip():
            following = self._lines[i + taken]
            if _HEADLINE.match(following) or _BEGIN.match(following) or _ITEM.match(following):
                break
            if (kind == "table") != following.lstrip().startswith("|"):
                break
            taken += 1
        return taken


def _title(written: str) -> str:
    """Return a headline without its state, priority and tags."""
    words = _PRIORITY.sub("", _STATE.sub("", written, count=1), count=1)
    return " ".join(_TAGS.sub("", words).split())[:MAX_HEADING_CHARS]

"""Markdown outlines and tags (Obsidian's conventions), code exempt.

A scanner of its own instead of a parser: offsets come for free, it never fails, and it takes a few microseconds a
line. It follows CommonMark for what decides where to cut (headings, fences, lists, tables, raw HTML); the tests hold
its headings and fences against markdown-it-py over a real vault. Known to differ on purpose: a fence inside a list item
ends at its closing fence even where its lines are indented too little, as its writer meant.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from lamina_engine.graph.code_spans import Range, is_inside
from lamina_engine.ingest.chunking import ENTRY, Block, Outline

_ATX = re.compile(r"(#{1,6})(?:[ \t]+(.*))?$")
_ATX_END = re.compile(r"(?:^|[ \t])#+[ \t]*$")
_SETEXT = re.compile(r"(?:=+|-+)$")
_FENCE = re.compile(r"(`{3,}|~{3,})(.*)$")
_ITEM = re.compile(r"([-*+]|(\d{1,9})[.)])(?:[ \t]+|$)")
_QUOTE = re.compile(r"(?:>[ \t]?)+[ \t]*")
_RAW = re.compile(r"<(?:(!--)|(pre|script|style|textarea)(?=[\s>]|$))", re.IGNORECASE)
_RULE_LETTERS = frozenset("-*_")
_DELIMITER_LETTERS = frozenset("|-: \t")


def outline_markdown(text: str) -> Outline:
    """Return blocks, title (the first level-one heading) and code ranges of Markdown."""
    scanner = _Scanner()
    lines = text.split("\n")
    offset = 0
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        scanner.line(line, offset, following)
        offset += len(line) + 1
    return scanner.finish(text)


class _Open(NamedTuple):
    """Code or raw HTML that runs until its end is seen."""

    end: str
    """Fence characters, or the tag that ends raw HTML."""
    quoted: bool
    fence: bool


class _Scanner:
    def __init__(self) -> None:
        self._starts: list[tuple[int, str, int, int]] = []  # offset, kind, level, depth
        self._code: list[list[int]] = []
        self._open: _Open | None = None
        self._state = ""  # kind of the block that the next line may continue
        self._list = False
        self._after_blank = True
        self._last = -1  # offset of the last line that is not blank
        self._explains = False  # within what explains a term
        self._ended = False  # the next block is no part of it

    def line(self, line: str, offset: int, following: str) -> None:
        """Take one line; ``following`` is the next one."""
        bare = line.strip(" \t")
        if self._open is not None:
            if self._continue_open(bare, self._open, offset, len(line)):
                return
            self._open = None
        if not bare:
            self._after_blank = True
            return
        indent = _indent(line)
        if not self._explains_term(bare, indent, offset):
            if self._explains and indent >= 2:
                indent = max(indent - 4, 0)
            elif self._explains and self._after_blank:
                self._explains, self._ended = False, True
            self._nonblank(bare, indent, offset, following)
        self._last = offset
        if self._code and self._code[-1][1] >= offset:
            self._code[-1][1] = offset + len(line)
        self._after_blank = False

    def finish(self, text: str) -> Outline:
        """Return the outline once every line was taken."""
        starts = [start for start, *_ in self._starts[1:]]
        blocks: list[Block] = []
        for (start, kind, level, depth), stop in zip(self._starts, [*starts, len(text)], strict=bool(self._starts)):
            if level == ENTRY:
                title = _term(text[start:stop]) if kind == "heading" else ""
            else:
                title = _heading_text(text[start:stop]) if level else ""
            blocks.append(Block(start if blocks else 0, stop, kind, level, title, depth))
        if not blocks and text:
            blocks = [Block(0, len(text), "paragraph")]
        first = next((block.title for block in blocks if block.level == 1 and block.title), None)
        return Outline(blocks, first, tuple((start, min(stop, len(text))) for start, stop in self._code))

    def _continue_open(self, bare: str, opened: _Open, offset: int, length: int) -> bool:
        """Return whether a line still belongs to the open code or HTML; note where that ends."""
        content = _QUOTE.sub("", bare, count=1) if opened.quoted else bare
        if opened.quoted and not bare.startswith(">"):
            self._state = ""
            return False
        self._code[-1][1] = offset + length
        if opened.fence:
            ends = content.startswith(opened.end) and not content.strip(opened.end[0])
        else:
            ends = opened.end in content.lower()
        if ends:
            self._open = None
            self._state, self._after_blank = "", False
        return True

    def _begin(self, offset: int, kind: str, state: str, *, level: int = 0, depth: int = 0) -> None:
        self._starts.append((offset, kind, level or (ENTRY if self._ended else 0), depth))
        self._state = state
        self._ended = False

    def _explains_term(self, bare: str, indent: int, offset: int) -> bool:
        """Take a line that explains a term, ``: like this``, below the line with the term."""
        if bare[0] != ":" or bare[1:2] not in (" ", "\t") or indent >= 4 or self._list:
            return False
        if not self._explains:
            if self._state != "paragraph" or self._starts[-1][0] != self._last:
                return False
            start, *_ = self._starts.pop()
            self._starts.append((start, "heading", ENTRY, 0))
            self._explains = True
        self._begin(offset, "paragraph", "item")
        return True

    def _nonblank(self, bare: str, indent: int, offset: int, following: str) -> None:
        inside_item = self._list and (indent >= 2 or (self._state == "item" and not self._after_blank))
        if indent < 4 or self._list:
            if self._opens_code(bare, indent, offset):
                return
            if self._is_heading(bare, offset, nested=self._list and indent >= 2):
                return
            if self._is_rule_or_item(bare, indent, offset):
                return
        elif self._state != "paragraph" or self._after_blank:
            if self._state != "indented":
                self._begin(offset, "fence", "indented")
                self._code.append([offset, offset])
            self._code[-1][1] = offset
            return
        if bare[0] == ">" and indent < 4:
            if self._state != "quote" or self._after_blank:
                self._begin(offset, "paragraph", "quote", depth=int(inside_item))
            return
        if self._state not in ("table", "quote") and _is_table(bare, following):
            self._begin(offset, "table", "table", depth=int(inside_item))
            return
        self._text(offset, inside_item=inside_item)

    def _text(self, offset: int, *, inside_item: bool) -> None:
        if not self._after_blank and self._state in ("paragraph", "item", "quote", "table"):
            return
        self._list = inside_item
        # a paragraph inside an item cannot become a heading: its state is the item's
        self._begin(offset, "paragraph", "item" if inside_item else "paragraph", depth=int(inside_item))

    def _opens_code(self, bare: str, indent: int, offset: int) -> bool:
        quoted = bare[0] == ">"
        content = _QUOTE.sub("", bare, count=1) if quoted else bare
        fence = _FENCE.match(content) if content[:1] in ("`", "~") else None
        if fence and not (fence[1][0] == "`" and "`" in fence[2]):
            self._open = _Open(fence[1], quoted, fence=True)
        elif content[:1] == "<" and not quoted and (raw := _RAW.match(content)):
            end = "-->" if raw[1] else f"</{raw[2].lower()}>"
            if end not in content[raw.end() :].lower():
                self._open = _Open(end, quoted=False, fence=False)
        else:
            return False
        nested = self._list and indent >= 2
        self._list = nested
        self._begin(offset, "fence", "", depth=int(nested))
        self._code.append([offset, offset])
        return True

    def _is_heading(self, bare: str, offset: int, *, nested: bool) -> bool:
        if nested:
            return False
        if bare[0] == "#" and (atx := _ATX.match(bare)):
            self._begin(offset, "heading", "", level=len(atx[1]))
            self._list = False
            return True
        if self._state == "paragraph" and not self._after_blank and bare[0] in "=-" and _SETEXT.match(bare):
            start, *_ = self._starts.pop()
            self._begin(start, "heading", "", level=1 if bare[0] == "=" else 2)
            return True
        return False

    def _is_rule_or_item(self, bare: str, indent: int, offset: int) -> bool:
        if bare[0] in _RULE_LETTERS and bare.count(bare[0]) > 2 and not bare.strip(bare[0] + " \t"):
            self._list = self._list and indent >= 2
            self._begin(offset, "rule", "", depth=int(self._list))
            return True
        item = _ITEM.match(bare)
        if not item:
            return False
        interrupts = self._state == "paragraph" and not self._after_blank
        if interrupts and (item.end() == len(bare) or (item[2] is not None and int(item[2]) != 1)):
            return False
        self._begin(offset, "item", "item", depth=indent // 2 if self._list else 0)
        self._list = True
        fence = _FENCE.match(bare, item.end())
        if fence and not (fence[1][0] == "`" and "`" in fence[2]):
            self._open = _Open(fence[1], quoted=False, fence=True)
            self._code.append([offset, offset])
        return True


def _indent(line: str) -> int:
    columns = 0
    for letter in line:
        if letter == " ":
            columns += 1
        elif letter == "\t":
            columns += 4 - columns % 4
        else:
            break
    return columns


def _is_table(bare: str, following: str) -> bool:
    if "|" not in bare or "-" not in following:
        return False
    return _DELIMITER_LETTERS.issuperset(following) and following.count("|") >= 1


def _term(source: str) -> str:
    return " ".join(source.split()).strip("`*_")


_PERMALINK = re.compile(r"\[[^\w\]]*\]\(#[^()]*\)")
"""A link to the heading itself, as documentation that was made into Markdown has it: ``[¶](#install)``."""


def _heading_text(source: str) -> str:
    """Return a heading's text: one line with number signs, or lines over an underline."""
    source = source.strip()
    atx = _ATX.match(source)
    if atx:
        words = _ATX_END.sub("", atx[2] or "")
    else:
        words = source.rpartition("\n")[0]
    if "](#" in words:
        words = _PERMALINK.sub("", words)
    return " ".join(words.split())


_TAG = re.compile(
    r"#([^\s\u2000-\u206f\u2e00-\u2e7f\u3001-\u3003\u3008-\u3011\uff01-\uff0f\uff1a-\uff20'\"!#$%&()*+,.:;<=>?@^`{|}~\[\]\\]+)"
)
_BEFORE_TAG = frozenset("(,;\u3001\u3002\uff0c\uff08\u300c")
"""Marks that a tag may follow, besides white space; a link's target begins with ``](``."""
_ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://\S*|\bwww\.\S+", re.IGNORECASE)


def find_tags(text: str, code: Sequence[Range]) -> list[str]:
    """Return the tags outside code and addresses, in order; digits alone are no tag."""
    if "#" not in text:
        return []
    tags: list[str] = []
    addresses: list[Range] | None = None
    for match in _TAG.finditer(text):
        tag = clean_tag(match[1])
        if tag is None or not _may_begin_tag(text, match.start()) or is_inside(code, match.start()):
            continue
        if addresses is None:
            addresses = [found.span() for found in _ADDRESS.finditer(text)]
        if not is_inside(addresses, match.start()):
            tags.append(tag)
    return tags


def _may_begin_tag(text: str, position: int) -> bool:
    before = text[position - 1] if position else "\n"
    return before.isspace() or (before in _BEFORE_TAG and text[position - 2 : position] != "](")


def clean_tag(word: str) -> str | None:
    """Strip ``#`` and stray slashes from a tag; None where only digits are left."""
    tag = "/".join(part for part in word.strip().lstrip("#").split("/") if part)
    return tag if tag and not tag.replace("/", "").isdigit() else None

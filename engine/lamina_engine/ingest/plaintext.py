"""Outlines of plain text (paragraphs) and reStructuredText (sections, directives, blocks)."""

from __future__ import annotations

import re

from lamina_engine.ingest.chunking import DEEPEST, ENTRY, MAX_HEADING_CHARS, Block, Outline, scan_blocks, shorten_term

_GAP = re.compile(r"\n[ \t]*\n\s*")


def outline_text(text: str) -> Outline:
    """Return the paragraphs of a text, which has no title or headings of its own."""
    blocks: list[Block] = []
    start = 0
    for gap in _GAP.finditer(text):
        # the next paragraph keeps its indentation
        stop = text.rfind("\n", gap.start(), gap.end()) + 1
        if text[start:stop].strip():
            blocks.append(Block(start, stop, "paragraph"))
            start = stop
    if start < len(text):
        blocks.append(Block(start, len(text), "paragraph"))
    return Outline(blocks)


_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1*[ \t]*$")
_ITEM = re.compile(r"(?:[-*+\u2022]|(?:\d{1,9}|#|[a-zA-Z])[.)]|\((?:\d{1,9}|#|[a-zA-Z])\))(?:[ \t]+|$)")
_SHORTEST = 4
"""An underline shorter than its title counts from here on (docutils' rule)."""
_DESCRIPTION = re.compile(
    r"\.\. (?:[\w-]+::?)*(?:attribute|class|classmethod|cmdoption|concept|confval|control|data|decorator|decoratormethod|describe"
    r"|directive|django-admin|django-admin-option|enum|enumerator|envvar|event|exception|fieldlookup|function|fixture|globalvar"
    r"|macro|member|method|object|opcode|option|program-option|property|role|setting|signal|staticmethod|struct|templatefilter"
    r"|templatetag|type|union|var)::[ \t]+(.+)"
)
"""Directive that describes a thing, as Sphinx and its extensions have them, with its name; what is indented below it is prose."""

_NO_TERM = re.compile(r"\.\.(?: |$)|>>>|\||\+[-=]|:")
"""Begins a directive, a doctest, a line block, a table or a field."""


def outline_rst(text: str) -> Outline:
    """Return blocks and title (the first level-one section) of reStructuredText.

    A section's level is the order in which its style (character, overlined or not) first appeared.
    """
    return _Scanner(text).outline()


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = text.split("\n")
        self._styles: list[tuple[str, bool]] = []
        self._marks: list[tuple[int, str, int, str, int]] = []  # offset, kind, level, title, depth
        self._code: list[tuple[int, int]] = []
        self._entries: list[int] = []  # indentations of the open ones, outermost first
        self._base = 0  # of the lines of the innermost

    def outline(self) -> Outline:
        """Return the outline."""
        scan_blocks(self._lines, self._take)
        return self._finish()

    def _take(self, i: int, offset: int) -> int:
        """Note the block that starts at line ``i`` and return how many lines it has."""
        line = self._lines[i]
        indent = _indent(line)
        ended = self._end_entries(indent)
        section = self._section(i)
        if section:
            level, title, taken = section
            self._marks.append((offset, "heading", level, title, 0))
            return taken
        if described := self._entry(i, indent):
            term, taken = described
            level = min(ENTRY + len(self._entries), DEEPEST)
            self._marks.append((offset, "heading", level, term, 0))
            self._entries.append(indent)
            self._base = self._indent_from(i + taken)
            return taken
        if ended:  # what follows a list is no part of it
            first = len(self._marks)
            taken = self._block(i, offset, indent)
            self._marks[first] = (*self._marks[first][:2], ended, *self._marks[first][3:])
            return taken
        return self._block(i, offset, indent)

    def _block(self, i: int, offset: int, indent: int) -> int:
        """Note a block that is no section and no entry; return how many lines it has."""
        bare = self._lines[i].lstrip()
        if indent == self._base and (bare.startswith((".. ", ">>>")) or bare.rstrip() == ".."):
            return self._literal(i, offset, 1)
        if indent > self._base and self._after_double_colon(i):
            return self._literal(i, offset, 0)
        return self._prose(i, offset)

    def _end_entries(self, indent: int) -> int:
        """End the entries that a line so far indented is not in; return their least level or 0."""
        ended = 0
        while self._entries and indent <= self._entries[-1]:
            self._entries.pop()
            ended = min(ENTRY + len(self._entries), DEEPEST)
            self._base = 0 if not self._entries else indent
        return ended

    def _entry(self, i: int, indent: int) -> tuple[str, int] | None:
        """Return the term of an entry that begins at line ``i``, and how many lines say it."""
        line = self._lines[i]
        bare, below = line.strip(), self._lines[i + 1 : i + 2]
        if indent != self._base:
            return None
        if described := _DESCRIPTION.match(bare):
            taken = self._signature(i, indent)
            return (shorten_term(described[1].rstrip("\\ ")), taken) if self._indent_from(i + taken) > indent else None
        if not below or _indent(below[0]) <= indent or _NO_TERM.match(bare) or len(bare) > MAX_HEADING_CHARS:
            return None
        if bare.endswith("::") or _ITEM.match(bare) or _ADORNMENT.match(bare):
            return None
        before = self._lines[i - 1] if i else ""
        if before.strip() and _indent(before) <= indent:  # within a paragraph
            return None
        return _name_of_term(bare), 1

    def _signature(self, i: int, indent: int) -> int:
        """Return how many lines a directive has before its body: signatures and options."""
        stop = i + 1
        while stop < len(self._lines) and self._lines[stop].strip() and _indent(self._lines[stop]) > indent:
            stop += 1
        return stop - i

    def _indent_from(self, i: int) -> int:
        """Return the indentation of the first line, from ``i`` on, with text; -1 without one."""
        while i < len(self._lines) and not self._lines[i].strip():
            i += 1
        return _indent(self._lines[i]) if i < len(self._lines) else -1

    def _section(self, i: int) -> tuple[int, str, int] | None:
        """Return level, title and number of lines of the section that starts at line ``i``."""
        above = _ADORNMENT.match(self._lines[i])
        rows = self._lines[i : i + 3]
        boxed = above and len(rows) == 3 and rows[1].strip() and rows[2].rstrip() == rows[0].rstrip()
        if above and boxed and len(rows[0].rstrip()) >= min(_SHORTEST, len(rows[1].strip())):
            return self._level(above[1], overlined=True), " ".join(rows[1].split()), 3
        below = _ADORNMENT.match(rows[1]) if len(rows) > 1 else None
        if above or not below or rows[0][0].isspace():
            return None
        width, title = len(rows[1].rstrip()), rows[0].rstrip()
        if width < len(title) and width < _SHORTEST:
            return None
        return self._level(below[1], overlined=False), " ".join(title.split()), 2

    def _level(self, letter: str, *, overlined: bool) -> int:
        style = (letter, overlined)
        if style not in self._styles:
            self._styles.append(style)
        return min(self._styles.index(style) + 1, DEEPEST)

    def _after_double_colon(self, i: int) -> bool:
        while i and not self._lines[i - 1].strip():
            i -= 1
        return i > 0 and self._lines[i - 1].rstrip().endswith("::")

    def _literal(self, i: int, offset: int, taken: int) -> int:
        """Take the indented lines after line ``i``, blank ones between them included."""
        doctest = self._lines[i].lstrip().startswith(">>>")
        last = taken
        while i + taken < len(self._lines):
            line = self._lines[i + taken]
            taken += 1
            if line.strip() and (_indent(line) > self._base or (doctest and _indent(line) == self._base)):
                last = taken
            elif line.strip() or doctest:
                break
        self._marks.append((offset, "fence", 0, "", 0))
        self._code.append((offset, offset + sum(len(line) + 1 for line in self._lines[i : i + last])))
        return last

    def _prose(self, i: int, offset: int) -> int:
        line = self._lines[i]
        indent = _indent(line)
        if line.startswith(("+-", "+=", "|")):
            kind = "table"
        elif _ITEM.match(line, indent):
            kind = "item"
        else:
            kind = "rule" if _ADORNMENT.match(line) and len(line.rstrip()) >= _SHORTEST else "paragraph"
        self._marks.append((offset, kind, 0, "", indent // 2 if kind == "item" else 0))
        taken = 1
        while i + taken < len(self._lines):
            following = self._lines[i + taken]
            if not following.strip() or (kind == "item" and _ITEM.match(following.lstrip())):
                break
            if self._entries and _indent(following) < self._base:
                break
            taken += 1
        return taken

    def _finish(self) -> Outline:
        stops = [offset for offset, *_ in self._marks[1:]] + [len(self._text)]
        blocks: list[Block] = []
        for (start, kind, level, title, depth), stop in zip(self._marks, stops, strict=bool(self._marks)):
            blocks.append(Block(start if blocks else 0, stop, kind, level, title, depth))
        if not blocks and self._text:
            blocks = [Block(0, len(self._text), "paragraph")]
        first = next((block for block in blocks if block.level), None)
        length = len(self._text)
        code = tuple((start, min(stop, length)) for start, stop in self._code)
        return Outline(blocks, first.title if first and first.level == 1 else None, code)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _name_of_term(line: str) -> str:
    """Return the term of an entry: of a list of options, what stands before two spaces."""
    return (line.partition("  ")[0] if line[0] in "-/" else line).replace("``", "")

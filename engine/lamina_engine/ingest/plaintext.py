"""Outlines of plain text (paragraphs) and reStructuredText (sections, directives, blocks)."""

from __future__ import annotations

import re

from lamina_engine.ingest.chunking import Block, Outline

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
_DEEPEST = 9


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

    def outline(self) -> Outline:
        """Return the outline."""
        i, offset = 0, 0
        while i < len(self._lines):
            taken = self._take(i, offset) if self._lines[i].strip() else 1
            offset += sum(len(line) + 1 for line in self._lines[i : i + taken])
            i += taken
        return self._finish()

    def _take(self, i: int, offset: int) -> int:
        """Note the block that starts at line ``i`` and return how many lines it has."""
        line = self._lines[i]
        section = self._section(i)
        if section:
            level, title, taken = section
            self._marks.append((offset, "heading", level, title, 0))
            return taken
        if line.startswith((".. ", ">>>")) or line.rstrip() == "..":
            return self._literal(i, offset, 1)
        if line[0].isspace() and self._after_double_colon(i):
            return self._literal(i, offset, 0)
        return self._prose(i, offset)

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
        return min(self._styles.index(style) + 1, _DEEPEST)

    def _after_double_colon(self, i: int) -> bool:
        while i and not self._lines[i - 1].strip():
            i -= 1
        return i > 0 and self._lines[i - 1].rstrip().endswith("::")

    def _literal(self, i: int, offset: int, taken: int) -> int:
        """Take the indented lines after line ``i``, blank ones between them included."""
        doctest = self._lines[i].startswith(">>>")
        last = taken
        while i + taken < len(self._lines):
            line = self._lines[i + taken]
            taken += 1
            if line.strip() and (line[0].isspace() or doctest):
                last = taken
            elif line.strip() or doctest:
                break
        self._marks.append((offset, "fence", 0, "", 0))
        self._code.append((offset, offset + sum(len(line) + 1 for line in self._lines[i : i + last])))
        return last

    def _prose(self, i: int, offset: int) -> int:
        line = self._lines[i]
        indent = len(line) - len(line.lstrip())
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

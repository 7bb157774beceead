"""Lines of a text as they are read.

What is broken for its length is one line again, code is none, and every heading has its signs. Markdown, reStructuredText and plain
notes break lines alike. A line goes on with the next where it ends no sentence and is full, where a small letter follows, and where
it is an item that the next is set in below. What is set in right below a line explains it, as in a list of definitions; what is set
in below ``::``, or below a blank line, is code.
"""

from __future__ import annotations

import re
from typing import Final

_FENCE: Final = re.compile(r"\s*(`{3,}|~{3,})(?=[^`~]|$)")
_UNDERLINE: Final = re.compile(r"(?:={3,}|-{3,}|~{3,}|\^{3,})\s*")
_LEVELS: Final = {"=": 1, "-": 2, "~": 3, "^": 4}
"""Levels of headings by what they are underlined with."""
TERM_SIGNS: Final = "#######"
"""Signs of a term that is explained below it."""
_LONGEST_TERM: Final = 60
_CODE: Final = 4
"""Columns from which on a line is code, unless it belongs to what stands before."""
_FULL: Final = 60
"""Characters of a line that is broken for its length."""
_ENDS: Final = re.compile(r"[\s.!?:;|]$")
_ENDS_PLAIN: Final = re.compile(r"[\s.!?:;`|]$")
_SMALL: Final = re.compile(r"[a-z(]")
_FIELD: Final = re.compile(r"[\w /-]{1,40}::?\s")
"""Begins a line of its own (``owner:: Ann``, ``ip: 10.0.0.9``)."""
_ITEM: Final = re.compile(r"(?:[-*+]|\d+[.)])\s+(?=\S)")
_BEGINS: Final = re.compile(r"[>|#]|\.\. |:\w+:|[-*+] |\d+[.)] |\*\*|\[")
"""Begins a quotation, a row, a heading, a directive or an item, which no line goes on with."""
_LITERAL: Final = re.compile(r".*::$|\.\. (?:code|sourcecode|parsed-literal|literalinclude|prompt)")
"""Before code that is set in."""
_UNREAD: Final = re.compile(
    r"\.\. (?!(?:version|deprecated|note|warning|tip|important|hint|caution|attention|danger|seealso|admonition|function|method|class"
    r"|option|confval|data|attribute|envvar)[\w-]*::)"
)
"""Directives, targets and comments that nobody reads as text."""
_OPTION: Final = re.compile(r":[\w-]+:(?:\s|$)")
_TAG: Final = re.compile(r"</?[a-zA-Z][^<>]*>|<!--[^<>]*-->")
"""Tag of HTML, on a line that begins with one."""
_NO_TERM: Final = re.compile(r"[^\w`*\"'/<(\[-]|.*[.,;:!?]$|[-*+] |\d+[.)] ")


def read_lines(text: str) -> list[str]:
    """Return the lines of a text; those of code, and underlines, are blank."""
    lines = text.splitlines()
    reader = _Reader()
    for number, line in enumerate(lines):
        reader.read(line, lines[number + 1] if number + 1 < len(lines) else "")
    reader.end()
    return reader.found


class _Reader:
    """Reader of one line after the other."""

    def __init__(self) -> None:
        self.found: list[str] = []
        self._open = -1
        """Place of the line that the next may go on with; -1 for none."""
        self._parts: list[str] = []
        self._fence = ""
        self._item = 0
        """Column from which on a line belongs to the item before it; 0 outside of one."""
        self._body = 0
        """The same of what explains a line."""
        self._literal = -1
        """Column of the line that code is set in below; -1 for none."""
        self._column = 0
        self._is_explained = False
        self._is_directive = False
        self._length = 0
        self._is_whole = False
        """True for a heading or a row, which never go on."""

    def read(self, line: str, following: str) -> None:
        """Read a line."""
        bare = line.strip()
        column = _column(line)
        fence = _FENCE.match(line)
        if self._fence:
            if fence and fence[1].startswith(self._fence):
                self._fence = ""
            self._skip()
        elif not bare:
            self._skip()
        elif self._underlines(line):
            self.end()
            self.found[-1] = f"{'#' * _LEVELS[bare[0]]} {self.found[-1].strip()}"
            self._skip()
        elif fence:
            self._fence = fence[1]
            self._skip()
        elif self._is_code(column):
            self._skip()
        elif _UNREAD.match(bare) or (self._is_directive and _OPTION.match(bare)):
            self._is_directive = True
            self._skip()
            self._literal = column if _LITERAL.match(bare) else self._literal
        else:
            if bare[0] == "<":
                line = _TAG.sub(" ", line)
                bare = line.strip()
            self._add(line, bare, column, following)

    def _skip(self) -> None:
        self.end()
        self.found.append("")

    def end(self) -> None:
        """End the line that the next could go on with."""
        if self._parts:
            self.found[self._open] = " ".join(self._parts)
        self._parts, self._open = [], -1

    def _underlines(self, line: str) -> bool:
        """Return whether a line makes the one before it a heading."""
        if not self._parts or self._column or not _UNDERLINE.fullmatch(line):
            return False
        title = self._parts[0]
        is_plain = (len(self._parts) == 1 and not _BEGINS.match(title)) or title.startswith("[")
        return is_plain and (line[0] == "=" or len(line.rstrip()) >= len(title.strip()))

    def _is_code(self, column: int) -> bool:
        if self._literal >= 0:
            if column > self._literal:
                return True
            self._literal = -1
        if self._item and column >= self._item:
            return column >= self._item + _CODE and self._open < 0
        self._item = 0
        if self._body and column >= self._body:
            return False
        self._body = 0
        return column >= _CODE and self._open < 0

    def _add(self, line: str, bare: str, column: int, following: str) -> None:
        self._is_directive = False
        item = _ITEM.match(bare)
        if self._goes_on(bare, column):
            self._parts.append(bare)
        else:
            if self._open >= 0 and column > self._column and not self._item:
                self._body = column
            is_term = self._is_term(bare, column, following)
            self.end()
            if is_term:
                line = f"{TERM_SIGNS} {bare}"
            elif self._is_explained and not column:
                self.found.append(f"{TERM_SIGNS} ")  # what was explained is over
            if not column:
                self._is_explained = is_term
            self._open, self._parts, self._column = len(self.found), [line], column
            self.found.append(line)
            self._is_whole = bare.startswith(("#", "|")) or is_term
            if item:
                self._item = column + item.end()
        if _LITERAL.match(bare):
            self._literal = column
        self._length = len(line.rstrip())

    def _goes_on(self, bare: str, column: int) -> bool:
        """Return whether the line before goes on with this one."""
        if self._open < 0 or self._is_whole or _BEGINS.match(bare):
            return False
        before = self._parts[-1]
        if self._item:
            return column >= self._item and not _FIELD.match(bare)
        if column != self._column or _FIELD.match(bare):
            return False
        if self._length >= _FULL and not _ENDS.search(before):
            return True
        return _SMALL.match(bare) is not None and not _ENDS_PLAIN.search(before)

    def _is_term(self, bare: str, column: int, following: str) -> bool:
        """Return whether a line is explained by what is set in right below it."""
        return (
            not column
            and self._open < 0
            and len(bare) <= _LONGEST_TERM
            and _column(following) > 1
            and bool(following.strip())
            and not _ITEM.match(following.strip())
            and not _NO_TERM.match(bare)
        )


def _column(line: str) -> int:
    expanded = line.expandtabs(4)
    return len(expanded) - len(expanded.lstrip(" "))

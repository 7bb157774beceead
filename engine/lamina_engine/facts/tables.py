"""Tables of a text: each cell as a sentence about the first cell of its row.

"Who is primary in week 47" is answered by one cell of a row of three, and by none of the row as a whole, which names two people.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

_RULE: Final = re.compile(r"\|[\s:|-]+")
"""Line below the head of a table."""
_NARROW: Final = 2
"""Columns of a table whose rows are sentences as they stand."""

_NOTHING: Final = re.compile(r"[\W_]*(?:n/?a|t\.?b\.?[acd]\.?|unknown|none|nil|unklar|unbekannt)?[\W_]*", re.IGNORECASE)


class Cell(NamedTuple):
    """Cell of a table, as a sentence."""

    text: str
    """Heads are in lower case, but for abbreviations: they are no names."""
    written: str
    key: str
    """The part of the text that says which row it is of."""
    before: str
    """The part of the text before the value."""


def column_heads(lines: Sequence[str], number: int, former: Sequence[str]) -> Sequence[str]:
    """Return the heads of the columns of the table that a line is in.

    ``former`` are those of the line before it. Empty outside of a table, or of one without a head.
    """
    if not lines[number].startswith("|"):
        return ()
    if number and lines[number - 1].startswith("|"):
        return former
    is_head = number + 1 < len(lines) and _RULE.fullmatch(lines[number + 1])
    return _split_row(lines[number]) if is_head else ()


def read_cells(line: str, heads: Sequence[str]) -> list[Cell]:
    """Return the cells of a row of a wide table: "week 47, primary: Ann".

    None of its head, and of another line.
    """
    cells = _split_row(line) if is_wide(line, heads) else []
    if not cells or cells == heads or not cells[0]:
        return []
    found = []
    for head, cell in zip(heads[1:], cells[1:], strict=True):
        if head and not says_nothing(cell):
            key, before = _join(_plain(heads[0]), cells[0]), _plain(head)
            written = f"{_join(heads[0], cells[0])}, {head}: {cell}"
            found.append(Cell(f"{key}, {before}: {cell}", written, key, f"{key}, {before}"))
    return found


def is_wide(line: str, heads: Sequence[str]) -> bool:
    """Return whether a line is part of a table whose cells are sentences of their own."""
    return len(heads) > _NARROW and len(_split_row(line)) == len(heads)


def is_headless(line: str, heads: Sequence[str]) -> bool:
    """Return whether a line is a row of a table that was cut off its head."""
    return not heads and line.startswith("|") and len(_split_row(line)) > _NARROW


def says_nothing(value: str) -> bool:
    """Return whether a value is empty, or stands for one that is missing."""
    return _NOTHING.fullmatch(value) is not None


def _split_row(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _plain(head: str) -> str:
    return head if head.isupper() else head.lower()


def _join(head: str, cell: str) -> str:
    """Return "Week 47", and "Room 3" where the cell says that it is a room."""
    return cell if not head or cell.lower().startswith(head.lower()) else f"{head} {cell}"

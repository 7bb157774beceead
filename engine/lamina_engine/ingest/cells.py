"""Rows without a text, told as their cells: ``Payee: Rewe Markt``, a line each.

Bank statements, lists of contacts and pairs of questions and answers have no column called ``text``, and are words all the same. A
row of numbers alone is none: nobody asks for it by words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from lamina_engine.errors import InvalidArgument
from lamina_engine.json_values import shown

MOST_BYTES: Final = 1 << 20
"""Larger files are data rather than lists that somebody keeps: a hundred thousand rows beside notes would bury them."""
MOST_CHARS: Final = 20_000
"""Longer rows are documents or dumps: their owner must say where the text is."""
_OF_THE_TABLE: Final = frozenset({"id", "source", "type", "success", "vector"})
"""Fields that mean something else in a table of no memories."""
_NAMED: Final = 6
_WORD: Final = re.compile(r"[^\W\d_]{2}")


def with_text(record: Mapping[str, Any], *, is_large: bool = False) -> Mapping[str, Any]:
    """Return a record of a file, with its cells as text where it has no text of its own.

    ``is_large``: the file is, and its owner must say where the text is.

    What a table calls ``id``, ``source`` or ``type`` is then a cell too: two tables may both count their rows from 1.
    """
    if record.get("text") is not None:
        return record
    given = record.get("metadata")
    cells = {name: value for name, value in record.items() if name in _OF_THE_TABLE}
    if isinstance(given, Mapping):
        cells.update(given)
    if is_large:
        raise InvalidArgument(
            f"there is no text, and {_named(cells)} are not read of a file of over {MOST_BYTES >> 20} MiB: "
            "say which is the text (--column text=NAME)"
        )
    kept = {name: value for name, value in record.items() if name not in {*_OF_THE_TABLE, "metadata", "text"}}
    title = kept.get("title")
    lines = list(_lines(cells, "")) or ([f"title: {title}"] if isinstance(title, str) else [])
    words = [line.partition(": ")[2] for line in lines]
    if not any(map(_WORD.search, [*words, title] if isinstance(title, str) else words)):
        raise InvalidArgument(f"there is no text, and no words in {_named(cells)}")
    text = "\n".join(lines)
    if len(text) > MOST_CHARS:
        raise InvalidArgument(
            f"there is no text, and {_named(cells)} have {len(text):,} characters, of which {MOST_CHARS:,} are read: "
            "say which is the text (--column text=NAME)"
        )
    return {**kept, "text": text, "metadata": cells}


def _lines(value: Mapping[str, Any], before: str) -> Iterator[str]:
    """Yield ``name: value`` of each cell that says something; nested names are joined by dots."""
    for name, cell in value.items():
        yield from _lines_of(cell, f"{before}{name}")


def _lines_of(cell: Any, name: str) -> Iterator[str]:
    if isinstance(cell, Mapping):
        yield from _lines(cell, f"{name}.")
    elif isinstance(cell, list):
        if any(isinstance(each, (Mapping, list)) for each in cell):
            for each in cell:
                yield from _lines_of(each, name)
        elif any(isinstance(each, str) for each in cell):  # numbers in a row are a vector, or the like
            yield f"{name}: {', '.join(str(each) for each in cell if each is not None)}"
    elif cell is not None and str(cell).strip():
        yield f"{name}: {str(cell).strip()}"


def _named(cells: Mapping[str, Any]) -> str:
    names = [shown(name) for name in cells]
    return ", ".join(names[:_NAMED]) + (", ..." if len(names) > _NAMED else "") if names else "its other fields"


def is_of_cells(text: str, metadata: Mapping[str, Any]) -> bool:
    """Return whether a record's text is its cells: its first line begins with the name of one."""
    return re.split(r"\.|: ", text, maxsplit=1)[0] in {"title", *(name.partition(".")[0] for name in metadata)}

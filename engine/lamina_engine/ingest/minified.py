"""Recognition of code and data that only machines read.

Such are minified scripts, search indexes and tables of numbers.

What they are decides, not what they are called: nearly all of such a file stands on lines that nobody writes, and what stands
there is not prose. A file of notes in one line of JSON is prose, and records in one line of JSON are words: both are read.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Final

LONGEST_LINE: Final = 250
"""Characters of a line that somebody may have written; minifiers break lines at 500 and more, if at all."""
LEAST: Final = 2000
"""Characters on longer lines below which a file is read whatever it is: it makes a chunk or two."""
MOST_LONG: Final = 0.75
"""Share of a file on longer lines that may be a table or an embedded file in code that somebody wrote."""
LEAST_PROSE: Final = 0.4
"""Share of words in a row that long lines of code have where they are texts; names listed in a minified script reach a third."""
LEAST_LETTERS: Final = 0.2
"""Share of letters that records have; coordinates and vectors have fewer."""

_DATA: Final = frozenset(
    ["json", "json5", "jsonc", "xml", "yaml", "yml", "toml", "ini", "cfg", "conf", "sql", "tex", "bib"]
)
"""Suffixes of what is kept or written with long lines: there, only numbers and search indexes are a machine's."""
_LONG: Final = re.compile(rf"[^\n]{{{LONGEST_LINE + 1},}}")
_EMBEDDED: Final = re.compile(r"[A-Za-z0-9+/]{200,}=*")
"""Picture, font or source map in base64: it may stand in code that somebody wrote, and says nothing of the rest."""
_PROSE: Final = re.compile(
    r"(?<![^\W\d_])(?:[^\W\d_]{2,}+[,;:.]? )+[^\W\d_]{2,}+|[\u0e00-\u0eff\u3040-\u9fff]{4,}"  # words, or a script without spaces
)
_LETTERS: Final = re.compile(r"(?:[^\W\d_]|\\u[\da-fA-F]{4})+")
_SEARCH_INDEX: Final = re.compile(
    r'"(?:fieldVectors|invertedIndex|documentStore|objtypes)": ?[\[{]'  # lunr, elasticlunr, Sphinx
    r'|\A\s*\{\s*"config": ?\{.{,500}?\}, ?"(?:docs|items)": ?\[\{"location":'  # MkDocs: the pages' text once more
)


def is_machine_made(text: str, source: str) -> bool:
    """Return whether nobody wrote a file of source code or data, nor would read it."""
    if text.count("\n") * LONGEST_LINE > len(text) or len(text) < LEAST:
        return False
    text = _EMBEDDED.sub("", text)
    long = _LONG.findall(text)
    size = sum(map(len, long))
    if size < LEAST or size < MOST_LONG * len(text):
        return False
    if PurePosixPath(source).suffix.lower().lstrip(".") in _DATA:
        return _SEARCH_INDEX.search(text) is not None or _share(_LETTERS, long) < LEAST_LETTERS
    return _share(_PROSE, long) < LEAST_PROSE


def _share(pattern: re.Pattern[str], lines: list[str]) -> float:
    found = sum(match.end() - match.start() for line in lines for match in pattern.finditer(line))
    return found / sum(map(len, lines))

"""Real text that every machine with Python has: docstrings, comments and text files of the library and its packages.

No download, no generator of random words: the benches search what people wrote. Files come in an order that depends on
their names alone, so a small corpus is the beginning of a large one.
"""

from __future__ import annotations

import hashlib
import os
import re
import sysconfig
from collections.abc import Iterable, Iterator
from importlib.metadata import distributions
from pathlib import Path
from typing import Final, NamedTuple

LEAST_WORDS, ENOUGH_WORDS, MOST_WORDS = 60, 100, 130
MOST_OF_A_FILE: Final = 100
"""Chunks; one long file must not become the corpus."""
SUFFIXES: Final = (".py", ".pyi", ".pyx", ".h", ".hpp", ".md", ".rst", ".txt")
MOST_BYTES: Final = 3_000_000

_DOCSTRING = re.compile(r'^[ \t]*[rRuU]?("""|\'\'\')(.*?)\1', re.MULTILINE | re.DOTALL)
_COMMENTS = re.compile(r"(?:^[ \t]*#.*\n){2,}", re.MULTILINE)
_C_COMMENTS = re.compile(r"/\*\*.*?\*/|(?:^[ \t]*//.*\n){2,}", re.MULTILINE | re.DOTALL)
_MARKS = re.compile(r"^[ \t]*(?:[#*/!<]+[ \t]?)+", re.MULTILINE)
_BLANK = re.compile(r"\n\s*\n")


class Chunk(NamedTuple):
    """A piece of a file, and the headings that stand in it."""

    text: str
    headings: tuple[str, ...]


def chunks() -> Iterator[Chunk]:
    """Return distinct chunks of `LEAST_WORDS` to `MOST_WORDS` words, until there is no more text."""
    seen: set[str] = set()
    for path in _files():
        for chunk in cut(_paragraphs(path)):
            beginning = " ".join(chunk.text.split()[:30]).lower()
            if beginning not in seen and _is_prose(chunk.text):
                seen.add(beginning)
                yield chunk


def origin() -> str:
    """Return what the text depends on, as one line: Python's version and those of all installed packages."""
    installed = sorted(f"{d.metadata['Name']}=={d.version}" for d in distributions())
    return " ".join([f"python=={sysconfig.get_python_version()}", *installed])


def cut(paragraphs: Iterable[str]) -> Iterator[Chunk]:
    """Fill chunks with whole paragraphs where these are short enough; at most `MOST_OF_A_FILE` of them."""
    words: list[str] = []
    headings: list[str] = []
    made = 0
    for paragraph in paragraphs:
        found = paragraph.split()
        # the first line of a docstring says what a thing is, as a heading does
        first = paragraph.strip().partition("\n")[0].split()
        if 4 <= len(first) <= 14:
            headings.append(" ".join(first))
        for i, word in enumerate(found, 1):
            words.append(word)
            if len(words) == MOST_WORDS or (i == len(found) and len(words) >= ENOUGH_WORDS):
                yield Chunk(" ".join(words), tuple(headings))
                words, headings = [], []
                made += 1
                if made == MOST_OF_A_FILE:
                    return
    if len(words) >= LEAST_WORDS:
        yield Chunk(" ".join(words), tuple(headings))


def _files() -> list[Path]:
    found: dict[str, Path] = {}
    for root in dict.fromkeys(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")):
        for folder, folders, names in os.walk(root):
            # packages have their turn, and their licences and lists of files are nobody's memories
            folders[:] = [name for name in folders if name != "site-packages" and not name.endswith("-info")]
            for name in names:
                if name.endswith(SUFFIXES):
                    path = Path(folder, name)
                    found.setdefault(path.relative_to(root).as_posix(), path)
    return [found[name] for name in sorted(found, key=lambda name: hashlib.blake2b(name.encode()).digest())]


def _paragraphs(path: Path) -> Iterator[str]:
    try:
        text = path.read_text(encoding="utf-8") if path.stat().st_size <= MOST_BYTES else ""
    except (OSError, UnicodeDecodeError):
        return
    if path.suffix in (".py", ".pyi", ".pyx"):
        passages = [match[2] for match in _DOCSTRING.finditer(text)]
        passages += [_MARKS.sub("", match[0]) for match in _COMMENTS.finditer(text)]
    elif path.suffix in (".h", ".hpp"):
        passages = [_MARKS.sub("", match[0]) for match in _C_COMMENTS.finditer(text)]
    else:
        passages = [text]
    for passage in passages:
        yield from _BLANK.split(passage)


def _is_prose(text: str) -> bool:
    """Tell sentences from tables of numbers, rulers and encoded data."""
    words = text.split()
    alphabetic = sum(sum(map(str.isalpha, word)) >= max(2, len(word) // 2) for word in words)
    return alphabetic >= len(words) // 2 and len(text) <= 14 * len(words)

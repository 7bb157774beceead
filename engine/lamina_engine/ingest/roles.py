"""Roles of chunks: lists of links, tests and benches, which stand below what they are about.

A chunk is an ``index`` where its links are most of its words, or where it is a page of the index of a book: it tells where
something is written, and not what. Code is a
``test`` or ``bench`` by its folder or its file's name. Anything else is content and has no role.
"""

from __future__ import annotations

import re
from itertools import chain, pairwise
from pathlib import PurePosixPath
from typing import Final

from lamina_engine.profiles import INDEX

TEST: Final = "test"
BENCH: Final = "bench"

FEWEST_LINKS: Final = 3
"""A chunk of fewer links is a note that refers to something."""
MOST_OTHER: Final = 1 / 3
"""Share of letters outside its links up to which a chunk is nothing but links."""

FEWEST_TERMS: Final = 8
"""Entries from which on a chunk can be a page of a book's index."""
_TERMS: Final = 0.7
"""Least share of entries in the lines of such a page."""
_ORDERED: Final = 0.6
"""Least share of neighbours in the order of the alphabet; sub-entries begin it anew."""
_TERM: Final = re.compile(r"^[ \t]*(?:[-*+][ \t]+)?([^\[\]\n]{1,60}),[ \t]+(?=\[)(.+)$")
"""Entry of an index: a few words, a comma and links. Signs and links follow to the end of the line."""
_ELSEWHERE: Final = re.compile(r"\]\([a-z]+:", re.IGNORECASE)
"""Link out of the book: a list of people with their addresses is no index."""

_LINK: Final = re.compile(
    r"\[\[([^\[\]\n]+)\]\]|\[([^\[\]\n]*)\](?:\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)|\[[^\[\]\n]*\])"  # Markdown
    r"|:(?:doc|ref|pep|rfc):`([^`\n]+)`|`([^`<\n]*)<[^`>\n]+>`__?"  # reStructuredText
    r"|h(ttps?://[^\s<>]+)"
)
"""Each begins with a letter of its own, so that the search leaps to the next of those; signs around a link do not count."""
_ENTRY: Final = re.compile(r"^[ \t]++([\w./-]+)$|^[ \t]++([^<\n]+)<[\w./-]+>$", re.MULTILINE)
"""Line of a ``toctree``: a path, or a title with one. No white space is given back: a line of nothing else is read once."""
_DIRECTIVE: Final = re.compile(r"^\.\. \w[\w-]*::.*$|^[ \t]+:\w[\w-]*:.*$", re.MULTILINE)
_HEADING: Final = re.compile(r"^#{1,6}[ \t].*$|^.*\n(?:={3,}|-{3,}|~{3,})$", re.MULTILINE)
_NO_LETTERS: Final = re.compile(r"[\W_]+")
_FOLDERS: Final = {
    **dict.fromkeys(("test", "tests", "testing", "__tests__", "spec", "specs"), TEST),
    **dict.fromkeys(("bench", "benches", "benchmark", "benchmarks"), BENCH),
}
_TEST_FILE: Final = re.compile(r"(?:test_.*|.*_test|.*\.(?:test|spec)|conftest)")
_BENCH_FILE: Final = re.compile(r"(?:bench_.*|.*_bench|.*\.bench)")


def role_of_text(text: str, kind: str = "markdown") -> str | None:
    """Return `INDEX` for nothing but links and headings, and for a page of a book's index."""
    if _is_of_index(text):
        return INDEX
    entries: list[tuple[str, ...]] = []
    if kind == "rst":
        text = _DIRECTIVE.sub(" ", text)
        entries, text = _ENTRY.findall(text), _ENTRY.sub(" ", text)
    links = _LINK.findall(text)
    if len(entries) + len(links) < FEWEST_LINKS:
        return None
    rest = _HEADING.sub(" ", _LINK.sub(" ", text))
    inside = sum(map(_count_letters, chain.from_iterable((*entries, *links))))
    inside += sum(bool(link[-1]) for link in links)  # the "h" of a URL
    outside = _count_letters(rest)
    return INDEX if outside <= MOST_OTHER * (inside + outside) else None


def _is_of_index(text: str) -> bool:
    """Return True for terms by alphabet, each with nothing but links into the book."""
    lines = [line for line in _HEADING.sub("", text).splitlines() if line.strip()]
    if len(lines) < FEWEST_TERMS or _ELSEWHERE.search(text):
        return False
    found = [match for match in map(_TERM.match, lines) if match and not _count_letters(_LINK.sub("", match[2]))]
    terms = [match[1].casefold() for match in found]
    ordered = sum(first <= second for first, second in pairwise(terms))
    return len(terms) >= max(FEWEST_TERMS, _TERMS * len(lines)) and ordered >= _ORDERED * (len(terms) - 1)


def _count_letters(text: str) -> int:
    return len(_NO_LETTERS.sub("", text))


def role_of_code(source: str) -> str | None:
    """Return `TEST` or `BENCH` for the path of code that is one."""
    path = PurePosixPath(source)
    for folder in path.parent.parts:
        if folder.lower() in _FOLDERS:
            return _FOLDERS[folder.lower()]
    if _TEST_FILE.fullmatch(path.stem):
        return TEST
    return BENCH if _BENCH_FILE.fullmatch(path.stem) else None

"""Roles of chunks: lists of links, tests and benches, which stand below what they are about.

A chunk is an ``index`` where its links are most of its words: it tells where something is written, and not what. Code is a
``test`` or ``bench`` by its folder or its file's name. Anything else is content and has no role.
"""

from __future__ import annotations

import re
from itertools import chain
from pathlib import PurePosixPath
from typing import Final

from lamina_engine.profiles import INDEX

TEST: Final = "test"
BENCH: Final = "bench"

FEWEST_LINKS: Final = 3
"""A chunk of fewer links is a note that refers to something."""
MOST_OTHER: Final = 1 / 3
"""Share of letters outside its links up to which a chunk is nothing but links."""

_LINK: Final = re.compile(
    r"\[\[([^\[\]\n]+)\]\]|\[([^\[\]\n]*)\](?:\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)|\[[^\[\]\n]*\])"  # Markdown
    r"|:(?:doc|ref|pep|rfc):`([^`\n]+)`|`([^`<\n]*)<[^`>\n]+>`__?"  # reStructuredText
    r"|h(ttps?://[^\s<>]+)"
)
"""Each begins with a letter of its own, so that the search leaps to the next of those; signs around a link do not count."""
_ENTRY: Final = re.compile(r"^[ \t]+([\w./-]+)$|^[ \t]+([^<\n]+)<[\w./-]+>$", re.MULTILINE)
"""Line of a ``toctree``: a path, or a title with one."""
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
    """Return `INDEX` where a text is nothing but links, their headings and list marks."""
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

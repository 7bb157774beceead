"""Names of things in a chunk, found without a model: tags, wikilinks, capitalised names, identifiers of code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

_WIKILINK: Final = re.compile(r"\[\[([^\]\[|#\n]{1,120})")
_TICKED: Final = re.compile(r"`([^`\n]{2,80})`")
_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:(?:\.|::|/|-)[A-Za-z0-9_]+)*(?:\(\))?")
_CODE_WORD: Final = re.compile(r"\b(?:[a-z0-9]+_[a-z0-9_]+|[a-z]+[A-Z][A-Za-z0-9]+|[A-Z][a-z0-9]+[A-Z][A-Za-z0-9]+)\b")
_WORD: Final = r"[^\W\d_a-z][\w&'’-]*"
_NAME: Final = re.compile(rf"(?<![\w.]){_WORD}(?:[ \t]+{_WORD}){{0,3}}", re.UNICODE)
_SENTENCE_END: Final = re.compile(r"(?:^|[.!?:;\n]|\n[#>*\-\d. ]*)[\s\"'(*_#>-]*$")
_SHORTEST, _LONGEST = 2, 80


def entities_of(text: str, tags: Iterable[str] = ()) -> set[str]:
    """Return the entities of a text, folded: no case, spaces for runs of spaces.

    Parameters
    ----------
    text : str
    tags : iterable of str
        Its own, and those of its frontmatter.

    Notes
    -----
    A single capitalised word at the beginning of a sentence is no name: it would be every sentence's first word.
    Scripts without capitals give names by tags, wikilinks and code only.
    """
    found = {_fold(name) for name in (*tags, *_written(text), *_names(text))}
    return {name for name in found if _SHORTEST <= len(name) <= _LONGEST and not name.isdigit()}


def _written(text: str) -> Iterator[str]:
    yield from _WIKILINK.findall(text)
    for ticked in _TICKED.findall(text):
        if _IDENTIFIER.fullmatch(ticked):
            yield ticked.removesuffix("()")
    yield from _CODE_WORD.findall(text)


def _names(text: str) -> Iterator[str]:
    for match in _NAME.finditer(text):
        words = match.group().split()
        if _SENTENCE_END.search(text[max(0, match.start() - 12) : match.start()]):
            words = words[1:] if len(words) < 3 else words
        if words and (len(words) > 1 or len(words[0]) > _SHORTEST):
            yield " ".join(words)


def _fold(name: str) -> str:
    return " ".join(name.casefold().replace("’", "'").removesuffix("'s").split())

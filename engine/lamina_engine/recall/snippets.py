"""Snippets: the window of a text that matches a query best, with the matched words marked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from math import fsum
from typing import Final, NamedTuple

from lamina_engine.index.analysis import Analyzer, fold
from lamina_engine.results import Snippet

WIDTH: Final = 240
"""Characters of a window, unless told otherwise."""
_PIECE: Final = re.compile(r"\S+")
_WORD: Final = re.compile(r"\w[\w'’]*(?:[._+#-]+\w+)*")
_SPACELESS: Final = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u9fff\uac00-\ud7ff\uf900-\ufaff]"
)
_SENTENCE: Final = re.compile(r"[.!?]\s+|\n+")


class _Match(NamedTuple):
    start: int
    stop: int
    stems: tuple[str, ...]


def cut_snippet(text: str, weights: Mapping[str, float], analyzer: Analyzer, *, width: int = WIDTH) -> Snippet:
    """Return the window around the heaviest distinct terms, begun at a line or sentence.

    ``weights`` has the stems of the query, each with its inverse document frequency. Without a match, the text's beginning.
    O(length of the text).
    """
    matches = list(_matches(text, weights, analyzer))
    begin, end = _heaviest(matches, weights, width)
    start, stop = _around(text, begin, end, width)
    ranges = [(m.start - start, m.stop - start) for m in matches if m.start >= start and m.stop <= stop]
    best = (begin - start, end - start) if matches else (0, 0)
    return Snippet(text[start:stop], start, tuple(_joined(ranges)), best)


def _matches(text: str, weights: Mapping[str, float], analyzer: Analyzer) -> Iterator[_Match]:
    known: dict[str, tuple[str, ...]] = {}  # a text repeats its words
    if text.isascii() or not _SPACELESS.search(text):
        yield from _matches_of_words(text, 0, weights, analyzer, known)
        return
    for piece in _PIECE.finditer(text):
        if _SPACELESS.search(piece[0]):
            yield from _matches_of_run(piece[0], piece.start(), weights)
        else:
            yield from _matches_of_words(piece[0], piece.start(), weights, analyzer, known)


def _matches_of_words(
    text: str, offset: int, weights: Mapping[str, float], analyzer: Analyzer, known: dict[str, tuple[str, ...]]
) -> Iterator[_Match]:
    for word in _WORD.finditer(text):
        try:
            found = known[word[0]]
        except KeyError:
            found = known[word[0]] = tuple(stem for stem in _stems(analyzer, word[0]) if stem in weights)
        if found:
            yield _Match(offset + word.start(), offset + word.end(), found)


@lru_cache(maxsize=32_768)
def _stems(analyzer: Analyzer, word: str) -> tuple[str, ...]:
    return tuple(term.stem for terms in analyzer.words(word) for term in terms)


def _matches_of_run(run: str, offset: int, weights: Mapping[str, float]) -> Iterator[_Match]:
    """Yield the matches in a spaceless script by its bigrams; one character is a word."""
    size = min(len(run), 2)
    for i in range(len(run) - size + 1):
        gram = fold(run[i : i + size])
        if gram in weights:
            yield _Match(offset + i, offset + i + size, (gram,))


def _heaviest(matches: list[_Match], weights: Mapping[str, float], width: int) -> tuple[int, int]:
    """Return the shortest part with the heaviest terms that a window has room for.

    Each counts once. Of a table whose rows all begin with a word of the question, that is the row with its rare one.
    """
    best, chosen = (-1.0, 0), (0, 0)
    for first, match in enumerate(matches):
        seen = set(match.stems)
        stop = match.stop
        for place in range(first + 1, len(matches)):
            each = matches[place]
            if each.stop - match.start > width or len(seen) == len(weights):
                break
            if not seen.issuperset(each.stems):
                seen.update(each.stems)
                stop = each.stop
        found = fsum(map(weights.__getitem__, seen)), match.start - stop
        if found > best:
            best, chosen = found, (match.start, stop)
    return chosen


def _around(text: str, begin: int, end: int, width: int) -> tuple[int, int]:
    """Return a window with a part of the text in its middle, cut at words."""
    if len(text) <= width:
        return 0, len(text)
    start = _beginning(text, max(0, begin - (width - (end - begin)) // 2), begin)
    stop = min(len(text), max(start + width, end))
    if stop < len(text) and not text[stop].isspace():  # not within a word
        cut = max(text.rfind(" ", end, stop), text.rfind("\n", end, stop))
        stop = cut if cut > 0 else stop
    return start, stop


def _beginning(text: str, earliest: int, begin: int) -> int:
    """Return the beginning of a window: after a line or sentence in its margin, else a word."""
    if earliest == 0:
        return 0
    ends = [match.end() for match in _SENTENCE.finditer(text, earliest, begin)]
    if ends:
        return ends[0]
    space = text.find(" ", earliest, begin)
    return space + 1 if space >= 0 else begin


def _joined(ranges: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Join ranges that overlap, as bigrams do."""
    start, stop = -1, -1
    for first, last in ranges:
        if first > stop or start < 0:
            if start >= 0:
                yield start, stop
            start, stop = first, last
        else:
            stop = max(stop, last)
    if start >= 0:
        yield start, stop

"""Code in texts: spans between backquotes, and fenced blocks."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

_TICKS = re.compile(r"`+")
_FENCE: Final = re.compile(r"^ {0,3}(`{3,}|~{3,})[^\n]*\n.*?(?:^ {0,3}\1[`~]*[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)

Range = tuple[int, int]


def code_ranges(text: str, fenced: Sequence[Range]) -> list[Range]:
    """Return the ranges of code: the given fences and the code spans between them. O(n)."""
    if "`" not in text:
        return list(fenced)
    ranges: list[Range] = []
    start = 0
    for first, last in [*fenced, (len(text), len(text))]:
        for begin, end in _paragraphs(text, start, first):
            ranges += _code_spans(text, begin, end)
        if last > first:
            ranges.append((first, last))
        start = last
    return ranges


def _paragraphs(text: str, start: int, stop: int) -> list[Range]:
    found: list[Range] = []
    while start < stop:
        end = text.find("\n\n", start, stop)
        end = stop if end < 0 else end + 2
        found.append((start, end))
        start = end
    return found


def _code_spans(text: str, start: int, stop: int) -> list[Range]:
    if text.find("`", start, stop) < 0:
        return []
    runs = [match.span() for match in _TICKS.finditer(text, start, stop)]
    by_length: dict[int, list[int]] = defaultdict(list)
    for i, (begin, end) in enumerate(runs):
        by_length[end - begin].append(i)
    spans: list[Range] = []
    i = 0
    while i < len(runs):
        begin, end = runs[i]
        same = by_length[end - begin]
        k = bisect_right(same, i)
        if k < len(same):
            i = same[k]
            spans.append((begin, runs[i][1]))
        i += 1
    return spans


def fenced_ranges(text: str) -> list[Range]:
    """Return the ranges of fenced blocks of a short Markdown text."""
    return [match.span() for match in _FENCE.finditer(text)]


def is_inside(ranges: Sequence[Range], position: int) -> bool:
    """Return whether a position lies in one of some ascending ranges."""
    i = bisect_left(ranges, (position + 1, 0)) - 1
    return i >= 0 and position < ranges[i][1]

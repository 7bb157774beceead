"""Cutting of turns into pieces: greedy from the left, so that a cut stays when more follows.

A piece only ever grows at its end, and once the next one has begun it never changes. Code fences stay whole unless one
alone is over the limit.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import Final

from lamina_engine.errors import InvalidArgument

CHARS_PER_TOKEN: Final = 3.5
JOINT: Final = "\n\n"

_FENCE: Final = re.compile(r"^ {0,3}(`{3,}|~{3,})([^\n]*)", re.MULTILINE)
_BLANK: Final = re.compile(r"\n[ \t]*\n+")
_LINE: Final = re.compile(r"\n")
_SENTENCE: Final = re.compile(r"(?<=[.!?\u2026])[\"')\]]?\s+|[\u3002\uff01\uff1f]")
_SPACE: Final = re.compile(r"\s+")
_BLANK_LINES: Final = re.compile(r"(?:[ \t\r]*\n)*")
_SMALLEST: Final = 16


def estimate_tokens(characters: int) -> int:
    """Return the estimated tokens of so many characters: characters / 3.5, rounded up."""
    return math.ceil(characters / CHARS_PER_TOKEN)


@dataclass(frozen=True, slots=True)
class SessionLimits:
    """Sizes of session chunks, in tokens of 3.5 characters."""

    max_tokens: int = 4_096
    """No chunk has more."""
    min_tokens: int = 64
    """A turn that has fewer goes into one chunk with what follows it."""

    def __post_init__(self) -> None:
        if self.max_tokens < _SMALLEST:
            raise InvalidArgument(f"max_tokens={self.max_tokens} is too small; give at least {_SMALLEST}")
        if not 0 <= self.min_tokens <= self.max_tokens // 2:
            raise InvalidArgument(
                f"min_tokens={self.min_tokens} does not fit max_tokens={self.max_tokens}; give 0 to half of it"
            )

    @property
    def max_chars(self) -> int:
        """Characters that no chunk has more of."""
        return int(self.max_tokens * CHARS_PER_TOKEN)

    @property
    def min_chars(self) -> int:
        """Characters from which on a chunk stands alone."""
        return math.ceil(self.min_tokens * CHARS_PER_TOKEN)


def find_fences(text: str) -> list[tuple[int, int]]:
    """Return the code fences of a text; one that is never closed ends with the text."""
    found: list[tuple[int, int]] = []
    if "```" not in text and "~~~" not in text:
        return found
    mark, start = "", -1
    for match in _FENCE.finditer(text):
        if start < 0:
            if match[1][0] == "`" and "`" in match[2]:
                continue  # code within a line
            mark, start = match[1], match.start()
        elif match[1].startswith(mark) and not match[2].strip():
            found.append((start, match.end()))
            start = -1
    if start >= 0:
        found.append((start, len(text)))
    return found


def split_text(text: str, limit: int, first: int | None = None) -> list[str]:
    """Cut a text that is too long into pieces of at most ``limit`` characters.

    O(n).
    """
    closed = find_fences(text)
    starts = [start for start, _ in closed]
    pieces: list[str] = []
    at, room = 0, limit if first is None else min(first, limit)
    while len(text) - at > room:
        stop = _border(text, at, at + room, closed, starts, limit, may_wait=first is not None and not pieces)
        pieces.append(text[at:stop].rstrip())
        at = _skip_blank(text, stop)
        room = limit
    rest = text[at:].rstrip()
    return [*pieces, rest] if rest or not pieces else pieces


def _border(
    text: str, at: int, most: int, closed: list[tuple[int, int]], starts: list[int], limit: int, *, may_wait: bool
) -> int:
    """Return where to end the piece that begins at ``at`` and may go up to ``most``."""
    inside = bisect_right(starts, most) - 1
    if inside >= 0 and closed[inside][0] < most < closed[inside][1]:
        start, end = closed[inside]
        if start > at and (may_wait or end - start <= limit or start - at > limit // 4):
            return start
        if may_wait and end - at <= limit:
            return at
        # this fence alone is over the limit, or what stands before it is too little for a piece
        return _last_match(_LINE, text, max(at, start) + 1, most) or most
    after = closed[inside][1] if inside >= 0 and closed[inside][1] <= most else at
    for pattern, share in ((_BLANK, 0.5), (_SENTENCE, 0.5), (_LINE, 0.5), (_SPACE, 0.25)):
        low = max(at + int((most - at) * share), after)
        stop = _last_match(pattern, text, low, most, closed, starts)
        if stop:
            return stop
    if after > at:
        return after
    return at if may_wait and most - at < limit // 4 else most


def _last_match(
    pattern: re.Pattern[str], text: str, low: int, high: int,
    closed: list[tuple[int, int]] | None = None, starts: list[int] | None = None,
) -> int:  # fmt: skip
    """Return the end of the last match in a range that lies in no fence; 0 for none."""
    found = 0
    for match in pattern.finditer(text, low, high):
        if closed and starts is not None:
            inside = bisect_right(starts, match.start()) - 1
            if inside >= 0 and match.start() < closed[inside][1] and match.end() > closed[inside][0]:
                continue
        found = match.end()
    return found


def _skip_blank(text: str, at: int) -> int:
    """Return the start of the next piece: the next line, its indentation kept, or the next word."""
    end = _BLANK_LINES.match(text, at).end()  # type: ignore[union-attr]  # it matches nothing, too
    if end and text[end - 1] != "\n":
        while end < len(text) and text[end] in " \t":
            end += 1
    return end

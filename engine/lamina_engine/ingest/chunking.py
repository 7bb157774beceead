"""Splitter for every kind of text: blocks in, pieces out that partition the text.

A format's reader finds the blocks (`Block`); here they are packed into pieces of at most ``max_chars`` characters.
Every border between two blocks has a rank, the lower the better to cut at: headings by level, then paragraph borders,
list items by depth, and inside a block too large to stand whole blank lines, sentences, lines, white space, and at last
any character.

A range that fits is one piece. A range that does not is cut at all its best borders, each part is packed the same way,
and neighbours are joined again: sections where one of them is small, everything below a heading up to the limit.
So a section that grows changes its own pieces and seldom its neighbours'.
"""

from __future__ import annotations

import re
import unicodedata
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from lamina_engine.errors import InvalidArgument

SMALLEST_LIMIT = 40
"""A mask or a long word must still fit into a piece."""

MAX_HEADING_CHARS = 200
"""A heading adds no more to the path: it goes into every chunk below it."""

ENTRY = 7
"""Level of an entry of a definition list, plus the number of entries around it, at most `DEEPEST`."""
DEEPEST = 9

# ranks of borders that are no heading's (headings have their level, 1 to 9)
BLOCK = 10
INTRODUCED = 11
"""Between a paragraph that ends in a colon and what it introduces."""
ITEM = 12
"""Between items of one list; plus the depth."""
INSIDE_ITEM = 19
_INSIDE = 20

_CALL = re.compile(r"[^(]*\w(?=\()")
_CODE_KINDS = frozenset({"fence", "table", "code", "definition"})
_BLANK_LINE = re.compile(r"\n[ \t]*\n+")
_LINE = re.compile(r"\n")
_SENTENCE = re.compile(
    # an alphabet's full stop needs white space after it; the look-behind keeps a long row of dots linear
    r"""(?<![.!?\u2026])[.!?\u2026]++["'\u2019\u201d)\]*_]*+\s+"""
    r"""|[\u3002\uff01\uff1f\uff0e]+["'\u2019\u201d\u300d\u300f\uff09)\]]*\s*"""
)
_PROSE_CUTS = (_BLANK_LINE, _SENTENCE, _LINE)
_CODE_CUTS = (_BLANK_LINE, _LINE)


@dataclass(frozen=True, slots=True)
class ChunkLimits:
    """Size limits of a piece in characters: ``max_chars`` ≥ 40, ``min_chars`` at most half."""

    max_chars: int = 1600
    """No piece has more characters."""
    min_chars: int | None = None
    """A section with fewer is small: it is packed with its neighbours. A quarter of ``max_chars`` unless given."""

    def __post_init__(self) -> None:
        if self.max_chars < SMALLEST_LIMIT:
            raise InvalidArgument(f"max_chars={self.max_chars} is too small; give at least {SMALLEST_LIMIT} characters")
        if self.min_chars is not None and not 0 <= self.min_chars <= self.max_chars // 2:
            raise InvalidArgument(
                f"min_chars={self.min_chars} does not fit max_chars={self.max_chars}; give 0 to half of it, or None"
            )

    @property
    def small(self) -> int:
        """Characters under which a section is small."""
        return self.max_chars // 4 if self.min_chars is None else self.min_chars


class Block(NamedTuple):
    """Paragraph, heading, fence or the like; the blocks of a text are adjacent."""

    start: int
    stop: int
    kind: str
    """heading, paragraph, item, fence, table, rule, code or definition."""
    level: int = 0
    """1 to 9 where it opens a section or an entry (and closes those of its level and below), else 0."""
    title: str = ""
    """Text added to the heading path; empty adds nothing."""
    depth: int = 0
    """Of a list item, from 0; of anything else, 1 where it stands inside an item."""


class Outline(NamedTuple):
    """Blocks, title and code ranges that a format's reader found in a text."""

    blocks: list[Block]
    """A partition of the text."""
    title: str | None = None
    """The text's own title, if it has one."""
    code: tuple[tuple[int, int], ...] = ()
    """Ranges of code, ascending: nothing in them is a tag or a link."""


def scan_blocks(lines: Sequence[str], take: Callable[[int, int], int]) -> None:
    """Call ``take`` where each block starts, with its line and offset; it returns its lines."""
    i, offset = 0, 0
    while i < len(lines):
        taken = take(i, offset) if lines[i].strip() else 1
        offset += sum(len(line) + 1 for line in lines[i : i + taken])
        i += taken


class BlockScanner(ABC):
    """Scanner of a text's lines; a format says which block begins at a line."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = text.split("\n")
        self._blocks: list[Block] = []
        self._code: list[tuple[int, int]] = []

    @abstractmethod
    def _take(self, i: int, offset: int) -> int:
        """Note the block that starts at line ``i`` and return how many lines it has."""

    def outline(self) -> Outline:
        """Return the outline; the title is a first heading of level one. O(n)."""
        scan_blocks(self._lines, self._take)
        if not self._blocks and self._text:
            self._blocks = [Block(0, 0, "paragraph")]
        stops = [block.start for block in self._blocks[1:]] + [len(self._text)]
        blocks = [block._replace(stop=stop) for block, stop in zip(self._blocks, stops, strict=bool(self._blocks))]
        if blocks:
            blocks[0] = blocks[0]._replace(start=0)
        first = next((block for block in blocks if block.level), None)
        length = len(self._text)
        code = tuple((start, min(stop, length)) for start, stop in self._code)
        return Outline(blocks, first.title if first and first.level == 1 else None, code)


class Piece(NamedTuple):
    """A range of the text that becomes a chunk."""

    start: int
    stop: int
    headings: tuple[str, ...]
    """Heading path in force at its start, a heading that it starts with included.

    The term of an entry is in it where all of the piece is of that entry: of a list of short entries, the first names no other.
    """
    term: str = ""
    """The innermost of these terms; empty without one."""


class _Unit(NamedTuple):
    """Uncut range and the rank of the border before it."""

    start: int
    stop: int
    rank: int


def shorten_term(term: str) -> str:
    """Return the term of an entry; of a call, which may list parameters, only its name."""
    call = _CALL.match(term)
    return call[0] if call else term


def split(
    text: str, blocks: Sequence[Block], limits: ChunkLimits, *, whole: Sequence[tuple[int, int]] = ()
) -> list[Piece]:
    """Cut a text into pieces that partition it.

    No piece is blank unless no neighbour has room for its blank lines. ``whole`` are ranges that no border may fall into
    (masks), unless one exceeds the limit. O(n), times at most 25 ranks.
    """
    if not text.strip():
        return []
    units = _units(text, blocks, _Knife(text, limits.max_chars, whole))
    ranges = _pack(units, 0, len(units), limits)
    spans = _join_blank(text, [(units[lo].start, units[hi - 1].stop) for lo, hi in ranges], limits.max_chars)
    starts, paths = [block.start for block in blocks], _paths(blocks)
    pieces: list[Piece] = []
    for start, stop in spans:
        first, last = bisect_right(starts, start) - 1, bisect_left(starts, stop) - 1
        while first < last and blocks[first].kind == "heading" and blocks[first + 1].level >= ENTRY:
            first += 1  # the heading of a list stands before its first entry
        pieces.append(Piece(start, stop, *_headings_of(paths[first], paths[last])))
    return pieces


class _Path(NamedTuple):
    """Headings of a block."""

    titles: tuple[str, ...]
    """Its heading path, outermost first; at its end are the terms of its entries."""
    terms: tuple[int, ...]
    """Numbers of the blocks that these terms are."""


def heading_paths(blocks: Sequence[Block]) -> list[tuple[str, ...]]:
    """Return the heading path of each block, its own heading included, outermost first."""
    return [path.titles for path in _paths(blocks)]


def _headings_of(first: _Path, last: _Path) -> tuple[tuple[str, ...], str]:
    """Return the headings of a piece by its first and last block, and the innermost term.

    Of entries, those that both blocks are in.
    """
    common = sum(a == b for a, b in zip(first.terms, last.terms, strict=False))
    titles = first.titles[: len(first.titles) - len(first.terms) + common]
    return titles, titles[-1] if common else ""


def _paths(blocks: Sequence[Block]) -> list[_Path]:
    paths: list[_Path] = []
    open_levels: list[int] = []
    opened: list[int] = []
    path: tuple[str, ...] = ()
    for number, block in enumerate(blocks):
        if block.level:
            while open_levels and open_levels[-1] >= block.level:
                open_levels.pop()
                opened.pop()
                path = path[:-1]
            if block.title:
                open_levels.append(block.level)
                opened.append(number)
                path = (*path, block.title[:MAX_HEADING_CHARS])
        paths.append(_Path(path, tuple(opened[bisect_left(open_levels, ENTRY) :])))
    return paths


def _units(text: str, blocks: Sequence[Block], knife: _Knife) -> list[_Unit]:
    """Attach headings to the next block, rank the borders, and cut oversized blocks."""
    units: list[_Unit] = []
    previous: Block | None = None
    head: Block | None = None
    for block in blocks:
        if block.kind == "heading":
            head = head or block
        else:
            rank = head.level if head else _rank(text, block, previous)
            start = head.start if head else block.start
            units += knife.cut_block(start, block, rank)
            head = None
        previous = block
    if head and previous:
        units += knife.cut_block(head.start, previous, head.level)
    return units


def _rank(text: str, block: Block, previous: Block | None) -> int:
    if block.level:
        return block.level
    if block.kind == "item" and previous and (previous.kind == "item" or previous.depth):
        return ITEM + min(block.depth, 6)
    if block.depth:
        return INSIDE_ITEM
    if previous and previous.kind == "paragraph" and block.kind in ("item", "fence", "table"):
        # white space after the colon can only be a line's end and blank lines
        tail = text[max(previous.start, previous.stop - 16) : previous.stop].rstrip()
        return INTRODUCED if tail.endswith((":", "\uff1a")) else BLOCK
    return BLOCK


class _Knife:
    """Cutter of blocks that exceed the limit."""

    def __init__(self, text: str, limit: int, whole: Sequence[tuple[int, int]]) -> None:
        self._text = text
        self._limit = limit
        self._whole = whole
        self._whole_starts = [start for start, _ in whole]

    def cut_block(self, start: int, block: Block, rank: int) -> list[_Unit]:
        """Return the units of a block and of the headings before it, which begin at ``start``."""
        if block.stop - start <= self._limit:
            return [_Unit(start, block.stop, rank)]
        code = block.kind in _CODE_KINDS
        body = block.start
        filled = body + len(self._text[body : block.stop].rstrip())
        if start < body and ((code and filled - body <= self._limit) or body - start >= self._limit):
            # a fence that fits stays whole, even if its heading then stands alone
            return [*self._cut(start, body, rank, 0, _CODE_CUTS), *self.cut_block(body, block, BLOCK)]
        if code and filled - body <= self._limit:
            return [_Unit(start, filled, rank), *self._cut(filled, block.stop, _INSIDE, 0, _CODE_CUTS)]
        return self._cut(start, block.stop, rank, 0, _CODE_CUTS if code else _PROSE_CUTS, floor=body)

    def _cut(
        self, start: int, stop: int, rank: int, tier: int, tiers: tuple[re.Pattern[str], ...], *, floor: int = 0
    ) -> list[_Unit]:
        """Cut a range at every match of its best tier; parts that are still too large at the next."""
        if stop - start <= self._limit:
            return [_Unit(start, stop, rank)]
        if tier == len(tiers):
            return self._cut_anywhere(start, stop, rank, _INSIDE + tier)
        ends = (match.end() for match in tiers[tier].finditer(self._text, max(start, floor), stop))
        bounds = [start, *(end for end in ends if end < stop and not self._inside(end)), stop]
        units: list[_Unit] = []
        for lo, hi in pairwise(bounds):
            before = rank if lo == start else _INSIDE + tier
            units += self._cut(lo, hi, before, tier + 1, tiers, floor=floor)
        return units

    def _cut_anywhere(self, start: int, stop: int, rank: int, inner: int) -> list[_Unit]:
        units: list[_Unit] = []
        while stop - start > self._limit:
            end = self._last_gap(start, start + self._limit)
            units.append(_Unit(start, end, rank))
            start, rank = end, inner
        units.append(_Unit(start, stop, rank))
        return units

    def _last_gap(self, start: int, stop: int) -> int:
        """Return the best place to cut in (start, stop]: after white space, else between characters."""
        text = self._text
        for end in range(stop, start + self._limit // 2, -1):
            if text[end - 1].isspace() and not text[end].isspace() and not self._inside(end):
                return end
        end = stop
        if self._inside(end):
            end = self._whole_starts[bisect_left(self._whole_starts, end) - 1]
        while end > start and joins_previous(text, end):
            end -= 1
        # a mask or a heap of combining marks as long as the limit has to be cut
        return end if end > start else stop

    def _inside(self, position: int) -> bool:
        i = bisect_left(self._whole_starts, position) - 1
        return i >= 0 and position < self._whole[i][1]


def joins_previous(text: str, position: int) -> bool:
    """Return whether the character at a position belongs to the one before it.

    Combining marks, joiners, variation selectors, skin tones, conjoining Hangul and the second letter of a flag do; the
    other grapheme rules of Unicode are left out.
    """
    before, here = text[position - 1], text[position]
    if here.isascii():
        return before == "\u200d"
    if before == "\u200d" or here == "\u200d" or unicodedata.category(here) in ("Mn", "Mc", "Me"):
        return True
    if "\U0001f3fb" <= here <= "\U0001f3ff" or "\u1160" <= here <= "\u11ff":
        return True
    if "\udc00" <= here <= "\udfff" and "\ud800" <= before <= "\udbff":
        return True
    if not "\U0001f1e6" <= here <= "\U0001f1ff":
        return False
    letters = position
    while letters and "\U0001f1e6" <= text[letters - 1] <= "\U0001f1ff":
        letters -= 1
    return (position - letters) % 2 == 1


def _pack(units: Sequence[_Unit], lo: int, hi: int, limits: ChunkLimits) -> list[tuple[int, int]]:
    """Return ranges of units, each within the limit."""
    if units[hi - 1].stop - units[lo].start <= limits.max_chars:
        return [(lo, hi)]
    best = min(unit.rank for unit in units[lo + 1 : hi])
    bounds = [lo, *(i for i in range(lo + 1, hi) if units[i].rank == best), hi]
    parts = [part for first, last in pairwise(bounds) for part in _pack(units, first, last, limits)]
    if best < BLOCK:
        return _join_sections(units, parts, set(bounds), limits)
    return _fill(units, parts, limits)


def _join_sections(
    units: Sequence[_Unit], parts: Sequence[tuple[int, int]], bounds: set[int], limits: ChunkLimits
) -> list[tuple[int, int]]:
    """Join a small section to the previous one, a small first one to the next.

    Small entries are joined to small ones alone.
    """
    joined = [parts[0]]
    small = [_is_small(units, parts[0], bounds, limits)]
    for part in parts[1:]:
        lo, hi = part
        before, _ = joined[-1]
        small_section = _is_small(units, part, bounds, limits)
        small_beginning = before in bounds and units[lo].start - units[before].start < limits.small
        is_entry = lo in bounds and units[lo].rank >= ENTRY
        joins = small_section and small[-1] if is_entry else small_section or small_beginning
        if joins and units[hi - 1].stop - units[before].start <= limits.max_chars:
            joined[-1] = (before, hi)
        else:
            joined.append(part)
            small.append(small_section)
    return joined


def _is_small(units: Sequence[_Unit], part: tuple[int, int], bounds: set[int], limits: ChunkLimits) -> bool:
    """Return whether a part is a whole section with few characters."""
    lo, hi = part
    return lo in bounds and hi in bounds and units[hi - 1].stop - units[lo].start < limits.small


def _fill(units: Sequence[_Unit], parts: Sequence[tuple[int, int]], limits: ChunkLimits) -> list[tuple[int, int]]:
    """Join parts up to the limit, and even out a last one that would be small."""
    groups = [[parts[0]]]
    for part in parts[1:]:
        if units[part[1] - 1].stop - units[groups[-1][0][0]].start <= limits.max_chars:
            groups[-1].append(part)
        else:
            groups.append([part])
    if len(groups) > 1:
        before, last = groups[-2:]

        def chars(first: tuple[int, int], final: tuple[int, int]) -> int:
            return units[final[1] - 1].stop - units[first[0]].start

        while (
            len(before) > 1
            and chars(last[0], last[-1]) < limits.small <= chars(before[0], before[-2])
            and chars(before[-1], last[-1]) <= limits.max_chars
        ):
            last.insert(0, before.pop())
    return [(group[0][0], group[-1][1]) for group in groups]


def _join_blank(text: str, spans: list[tuple[int, int]], limit: int) -> list[tuple[int, int]]:
    """Give ranges without a visible character to a neighbour that has room."""
    kept: list[tuple[int, int]] = []
    for start, stop in spans:
        if kept and stop - kept[-1][0] <= limit and (_blank(text, start, stop) or _blank(text, *kept[-1])):
            kept[-1] = (kept[-1][0], stop)
        else:
            kept.append((start, stop))
    return kept


def _blank(text: str, start: int, stop: int) -> bool:
    return text[start:stop].isspace()

"""Candidate secrets in text: literals first, in one pass over a batch; patterns only where a literal stands."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from lamina_engine.ingest.literal_scan import LiteralScan, as_bytes
from lamina_engine.ingest.secret_assignments import WORDS, Word, find_assignment
from lamina_engine.ingest.secret_borders import Borders, Demand
from lamina_engine.ingest.secret_contexts import CONTEXTS, Context
from lamina_engine.ingest.secret_patterns import LEFT, PATTERNS
from lamina_engine.ingest.secret_values import is_random

Span = tuple[int, int, str]
"""Start, stop and kind of a secret."""

Place = tuple[int, int]
"""Where a literal stands in a text, and which."""

_JOINED_MAX = 1 << 20  # characters of one prefilter pass; more texts per pass save nothing, temporaries grow
_MANY = 2_048  # texts of a process for which it pays to read how expressions begin, some 60 ms
_FEW = 8  # texts for which joining and sorting places costs more than a few expressions
_MIXED_CASE = re.compile(r"[a-z0-9][A-Z][a-z0-9]*[A-Z]")
_LONG_RUN = re.compile(r"[A-Za-z0-9]{16}")


class _Shape(NamedTuple):
    """A row of the pattern table, ready to run."""

    kind: str
    regex: re.Pattern[str]
    group: int
    mixed: bool


_Finder = _Shape | Context | Word


def _finders() -> tuple[LiteralScan, list[list[tuple[int, _Finder]]], Borders]:
    """The scan; what to run at each literal, with the distance from its start, by the literal's number; its borders."""
    rows: list[tuple[str, int, _Finder]] = []
    bordered: set[int] = set()
    for pattern in PATTERNS:
        regex = re.compile(pattern.regex, re.ASCII)
        shape = _Shape(pattern.kind, regex, min(regex.groups, 1), pattern.mixed)
        rows += [(literal, back, shape) for literal in pattern.literals for back in pattern.back]
        if pattern.regex.startswith(LEFT):
            bordered.add(id(shape))
    rows += [(literal, context.back, context) for context in CONTEXTS for literal in context.literals]
    rows += [(literal, back, word) for literal, words in WORDS.items() for back, word in words]
    scan = LiteralScan(literal for literal, _, _ in rows)
    finders: list[list[tuple[int, _Finder]]] = [[] for _ in range(scan.size)]
    demands: list[Demand] = []
    for literal, back, finder in rows:
        number = scan.number(literal)
        if (back, finder) not in finders[number]:  # "sk-A" and "sk-a" are one literal
            finders[number].append((back, finder))
            demands.append(_demand(number, back, finder, bordered=id(finder) in bordered))
    return scan, finders, Borders(demands, scan.size)


def _demand(number: int, back: int, finder: _Finder, *, bordered: bool) -> Demand:
    if isinstance(finder, Word):
        return Demand(number, back, finder.first, border=finder.bounded, humps=True, regex=finder.regex)
    if isinstance(finder, Context):
        return Demand(number, back, needs=finder.needs, regex=finder.regex)
    return Demand(number, back, border=bordered, regex=finder.regex)


_SCAN, _FINDERS, _BORDERS = _finders()


def places(text: str) -> list[Place]:
    """Where literals of secrets stand in a text, ascending; few in prose."""
    positions, numbers = _SCAN.hits(as_bytes(text))
    return list(zip(positions.tolist(), numbers.tolist(), strict=True))


def batch_places(texts: Sequence[str]) -> Iterator[tuple[int, list[Place]]]:
    """Index and places of the texts that have any that may begin a secret, for a few passes over all of them joined.

    The places of :func:`places`, but for those that :class:`Borders` knows to give nothing.
    """
    if len(texts) < _FEW:
        found = ((index, places(text)) for index, text in enumerate(texts))
        yield from ((index, at_places) for index, at_places in found if at_places)
        return
    _BORDERS.texts += len(texts)
    leads = _BORDERS.texts >= _MANY
    ends = np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)) + 1)
    first = 0
    while first < len(texts):
        before = int(ends[first - 1]) if first else 0
        stop = max(int(np.searchsorted(ends, before + _JOINED_MAX, side="right")), first + 1)
        yield from _group_places(texts[first:stop], first, leads=leads)
        first = stop


def _group_places(group: Sequence[str], first: int, *, leads: bool) -> Iterator[tuple[int, list[Place]]]:
    raw = as_bytes("\n".join(group))
    positions, numbers = _SCAN.hits(raw)
    sizes = np.fromiter(map(len, group), np.int64, len(group)) + 1
    begins = np.cumsum(sizes) - sizes
    owners = np.searchsorted(begins, positions, side="right") - 1
    likely = _BORDERS.likely(raw, positions, numbers, begins[owners], leads=leads)
    owners = owners[likely]
    offsets = (positions[likely] - begins[owners]).tolist()
    chosen = numbers[likely].tolist()
    borders = [*np.flatnonzero(np.diff(owners, prepend=-1)).tolist(), owners.size]
    for start, stop in pairwise(borders):
        yield first + int(owners[start]), list(zip(offsets[start:stop], chosen[start:stop], strict=True))


def candidates(text: str, at_places: Iterable[Place]) -> Iterator[Span]:
    """Secrets whose literals stand at the given places; they may overlap.

    Parameters
    ----------
    text : str
        The text.
    at_places : iterable of (offset, literal)
        From :func:`places` or :func:`batch_places`, ascending. Places that are not in the text cost a look.
    """
    passed: dict[int, int] = {}
    for position, number in at_places:
        for back, finder in _FINDERS[number]:
            at = position - back
            # What starts inside the last match of the same pattern adds nothing, and a text made of nothing but
            # prefixes would pay for each of them. The key words of all assignments count as one pattern.
            group = 0 if isinstance(finder, Word) else id(finder)
            if at < passed.get(group, 0):
                continue
            if isinstance(finder, Context):
                yield from finder.find(text, at)
                continue
            taken, span = _assigned(finder, text, at) if isinstance(finder, Word) else _shaped(finder, text, at)
            if taken:
                passed[group] = taken
            if span:
                yield span


def _assigned(word: Word, text: str, at: int) -> tuple[int, Span | None]:
    span = find_assignment(text, at, word)
    return (span[1], span) if span else (0, None)


def _shaped(shape: _Shape, text: str, at: int) -> tuple[int, Span | None]:
    match = shape.regex.match(text, at)
    if match is None:
        return 0, None
    token = match[shape.group]
    # a row of crosses has the shape too; so have words joined by hyphens, where the row says so
    crosses = len(set(token[-12:])) == 1 and token[-1] in "xX*._-#"
    words = shape.mixed and not (is_random(token) or _MIXED_CASE.search(token) or _LONG_RUN.search(token))
    if crosses or words:
        return match.end(), None
    return match.end(), (match.start(shape.group), match.end(shape.group), shape.kind)

"""Lexical zones of a chunk: its text, its header, and the context of a short chunk."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import numpy as np

from lamina_engine.clock import US_PER_S
from lamina_engine.errors import VaultCorrupt
from lamina_engine.store.snapshot import Rows, Snapshot
from lamina_kernels.layouts import BOOL

WINDOW_WORDS = 96
"""A chunk with fewer words is indexed after as many preceding words of its source as fill this window."""
_S_PER_DAY = 86_400
_US_PER_DAY = _S_PER_DAY * US_PER_S
MAX_STEPS = 8
"""Preceding chunks whose words a short chunk may be indexed with."""
_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)


def header(
    title: str | None,
    headings: Sequence[str] | None,
    tags: Sequence[str] | None,
    created_at_us: int | None,
    name: str = "",
) -> str:
    """Return a chunk's header: title, headings, tags, date in words and digits, file name."""
    parts = [title, *(headings or ()), *(tags or ()), date_words(created_at_us), name]
    return "\n".join(part for part in parts if part)


def file_names(sources: Sequence[str | None], starts: Sequence[int | None], titles: Sequence[str | None]) -> list[str]:
    """Return the words of file names that titles lack; none where a row is of no file."""
    # people call a note by its file, whatever its first heading says: kombucha.md, "# Fermentation"
    return [
        _words_of_file(source, title or "") if source and start is not None and start >= 0 else ""
        for source, start, title in zip(sources, starts, titles, strict=True)
    ]


@functools.lru_cache(1 << 12)
def _words_of_file(source: str, title: str) -> str:
    known = set(_WORD.findall(title.casefold()))
    words = _WORD.findall(PurePosixPath(source).stem)
    return " ".join(word for word in words if word.casefold() not in known)


def date_words(created_at_us: int | None) -> str:
    """Return a date in words, such as ``8 May 2023``; empty if missing or off the calendar."""
    return "" if created_at_us is None else _day_words(created_at_us // _US_PER_DAY)


@functools.lru_cache(1 << 14)
def _day_words(day_since_1970: int) -> str:
    try:
        day = datetime.fromtimestamp(day_since_1970 * _S_PER_DAY, UTC)
    except (ValueError, OverflowError, OSError):
        return ""
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


def context(text: str, previous: int, read: Callable[[int], tuple[str, int]], window: int = WINDOW_WORDS) -> str:
    """Return the words before a short chunk, from the chunks before it.

    Only preceding chunks: so a chunk's terms never change when its source grows.

    Parameters
    ----------
    text : str
        The chunk's own text.
    previous : int
        Row of the chunk before it; -1 none.
    read : callable
        Gives (text, row before it) of a row.
    window : int
        Words in all, its own included.
    """
    if previous < 0 or len(text) > window * 12:
        return ""
    room = window - len(text.split(None, window))  # words beyond the window need not be told apart
    parts: list[str] = []
    for _ in range(MAX_STEPS):
        if room <= 0 or previous < 0:
            break
        before, previous = read(previous)
        words = before.rsplit(None, room)
        parts.append(" ".join(words[-room:]))
        room -= len(words)
    return "\n".join(reversed(parts))


_WORD = re.compile(r"[^\W_]+")
_ADDRESS = re.compile(r"\]\((?![a-z]+:)[^()\s]*\)")


def body(text: str) -> str:
    """Return a chunk's text to index: without the local addresses of Markdown links."""
    return _ADDRESS.sub("]", text) if "](" in text else text


def headers(
    rows: Iterable[tuple[str | None, Sequence[str] | None, Sequence[str] | None, int | None, str]],
) -> list[str]:
    """Return `header` of many rows: title, headings, tags, date and file's name of each."""
    return [
        header(title, headings, tags, created_at, name) if title or headings or tags or name else date_words(created_at)
        for title, headings, tags, created_at, name in rows
    ]


class Zones(NamedTuple):
    """The three zones of some rows, in row order."""

    bodies: list[str]
    headers: list[str]
    contexts: list[str]
    linking: list[int]
    """Places of rows whose texts hold links: their bodies may lack addresses."""


def zones_of(snapshot: Snapshot, start: int, stop: int) -> Zones:
    """Return the zones of rows ``start`` to ``stop`` from the log alone."""
    texts, titles, headings, tags, created_at, previous, sources, starts = (
        read_column(snapshot, name, start, stop)
        for name in ("text", "title", "headings", "tags", "created_at", "previous", "source", "start")
    )

    def read(row: int) -> tuple[str, int]:
        return (texts[row - start], previous[row - start]) if row >= start else read_chain(snapshot, row)

    return make_zones(
        texts,
        headers(zip(titles, headings, tags, created_at, file_names(sources, starts, titles), strict=True)),
        [context(text, row, read) if row >= 0 else "" for text, row in zip(texts, previous, strict=True)],
    )


def make_zones(texts: Sequence[str], headers: list[str], contexts: list[str]) -> Zones:
    """Return the zones of rows, given their texts and the two other zones."""
    linking = [place for place, text in enumerate(texts) if "](" in text]
    bodies = list(texts)
    for place in linking:
        bodies[place] = body(texts[place])
    return Zones(bodies, headers, contexts, linking)


def read_column(snapshot: Snapshot, name: str, start: int, stop: int) -> list[Any]:
    """Return the Python values of neighbouring rows by slices, a tenth of the cost by row."""
    found: list[Any] = []
    for segment in snapshot.segments("chunks"):
        begin, end = max(start, segment.start), min(stop, segment.start + segment.rows)
        if begin < end:
            try:
                found += segment.texts(name, begin - segment.start, end - segment.start)
            except VaultCorrupt:  # a lone surrogate
                found += segment.values(name, np.arange(begin - segment.start, end - segment.start))
    return found


def read_chain(snapshot: Snapshot, row: int) -> tuple[str, int]:
    """Return a row's text and the row before it."""
    at = np.array([row], np.int64)
    return snapshot.values("chunks", "text", at)[0], int(snapshot.numbers("chunks", "previous", at)[0])


def reachable_rows(previous: Rows, gone: BOOL) -> BOOL:
    """Return bool (n,): True for rows a few steps behind one that goes, `MAX_STEPS` at most."""
    found = np.zeros(len(previous), np.bool_)
    at = previous
    for _ in range(MAX_STEPS):
        inside = at >= 0
        found |= inside & gone[at]
        at = np.where(inside, previous[at], -1)
    return found

"""Tags, wikilinks and embeds in a Markdown text, code exempt (Obsidian's conventions)."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

_TICKS = re.compile(r"`+")
_LINK = re.compile(r"(!?)\[\[([^\[\]\n]{1,1000})\]\]")
_TAG = re.compile(
    r"#([^\s\u2000-\u206f\u2e00-\u2e7f\u3001-\u3003\u3008-\u3011\uff01-\uff0f\uff1a-\uff20'\"!#$%&()*+,.:;<=>?@^`{|}~\[\]\\]+)"
)
_BEFORE_TAG = frozenset("(,;\u3001\u3002\uff0c\uff08\u300c")
"""Marks that a tag may follow, besides white space; a link's target begins with ``](``."""
_ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]{1,20}://\S*|\bwww\.\S+", re.IGNORECASE)

Range = tuple[int, int]


class WrittenLink(NamedTuple):
    """A wikilink or embed and where it stands."""

    start: int
    stop: int
    target: str
    heading: str | None
    block: str | None
    alias: str | None
    embed: bool


def code_ranges(text: str, fenced: Sequence[Range]) -> list[Range]:
    """Return where code stands: the given fences, and the code spans between them.

    A code span ends at the next run of as many backticks, in the same paragraph.

    Parameters
    ----------
    text : str
        The whole text.
    fenced : sequence of (int, int)
        Ranges that are code already, ascending and disjoint.

    Returns
    -------
    list of (int, int)
        Ascending and disjoint.

    Notes
    -----
    O(n): each run of backticks is looked at once as a beginning and once as an end.
    """
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


def find_links(text: str, code: Sequence[Range]) -> list[WrittenLink]:
    """Return the wikilinks and embeds outside code, in order.

    Understood are ``[[note]]``, ``[[note|alias]]``, ``[[note#heading]]``, ``[[note#^block]]``, ``[[note^block]]``,
    ``[[#heading]]`` and each with ``!`` before it. In tables the bar may have a backslash before it.
    """
    if "[[" not in text:
        return []
    links: list[WrittenLink] = []
    for match in _LINK.finditer(text):
        if not _inside(code, match.start()):
            link = _parse(match[2], match.span(), embed=bool(match[1]))
            if link is not None:
                links.append(link)
    return links


def _parse(inner: str, span: Range, *, embed: bool) -> WrittenLink | None:
    place, bar, alias = inner.partition("|")
    if bar and place.endswith("\\"):
        place = place[:-1]
    target, sharp, heading = place.partition("#")
    block = ""
    if sharp:
        heading, caret, block = heading.partition("^")
    else:
        target, caret, block = target.partition("^")
    if not (target.strip() or heading.strip() or block.strip()):
        return None
    return WrittenLink(
        *span,
        target.strip(),
        heading.strip().strip("#").strip() or None,
        block.strip() or None if caret else None,
        alias.strip() or None,
        embed,
    )


def find_tags(text: str, code: Sequence[Range]) -> list[str]:
    """Return the tags outside code and addresses without ``#``, in order; a tag of digits alone is none."""
    if "#" not in text:
        return []
    tags: list[str] = []
    addresses: list[Range] | None = None
    for match in _TAG.finditer(text):
        tag = clean_tag(match[1])
        if tag is None or not _may_begin_tag(text, match.start()) or _inside(code, match.start()):
            continue
        if addresses is None:
            addresses = [found.span() for found in _ADDRESS.finditer(text)]
        if not _inside(addresses, match.start()):
            tags.append(tag)
    return tags


def _may_begin_tag(text: str, position: int) -> bool:
    before = text[position - 1] if position else "\n"
    return before.isspace() or (before in _BEFORE_TAG and text[position - 2 : position] != "](")


def clean_tag(word: str) -> str | None:
    """Return a tag without its ``#`` and stray slashes, or None where nothing but digits is left."""
    tag = "/".join(part for part in word.strip().lstrip("#").split("/") if part)
    return tag if tag and not tag.replace("/", "").isdigit() else None


def _inside(ranges: Sequence[Range], position: int) -> bool:
    i = bisect_left(ranges, (position + 1, 0)) - 1
    return i >= 0 and position < ranges[i][1]

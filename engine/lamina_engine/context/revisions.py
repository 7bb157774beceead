"""Revisions: what was said later is told with what it replaces, and before it.

A file says what holds, as its newest version replaces the others. What was said in a session, or added by itself, stays beside what
took its place, and often ranks higher: "the deadline is the 1st" has more words of the question than "Petra moved it to the 15th".
Who is told the older one alone builds the wrong thing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final

from lamina_engine.chunks.handoffs import ECHO, INSIGHT
from lamina_engine.clock import US_PER_DAY
from lamina_engine.context.content import content_words
from lamina_engine.expressions import late
from lamina_engine.time import changes

if TYPE_CHECKING:
    from lamina_engine.context.turn import Result

_MOST: Final = 2
"""Results that are told for being newer, though their score alone would leave them out."""
_AS_MUCH: Final = 0.9
"""Of the subject that the best result has, what makes another one speak of the same thing."""
_SCORE: Final = 0.5
"""Of the best score, what such a result needs."""
_SOME: Final = 0.3
_NEAR: Final = 0.7
"""Of that subject, or of the best score, what is enough where the result speaks of a change."""
_CHANGE: Final = late(rf"\b(?:{changes.ANY}|(?:was|not) \S*\d)\b", re.IGNORECASE)
_SENTENCE: Final = late(r"(?<=[.!?;])\s+|\n+")


def place_revisions(results: Sequence[Result], kept: Sequence[int], prompt: str) -> list[int]:
    """Return the positions of results to tell: those kept, and newer ones before older."""
    if not kept:
        return []
    best = results[kept[0]]
    words = {*content_words(prompt), *(content_words(best.text) if best.is_unfiled else ())}  # a page names too much
    told, replaced = {results[place].session for place in kept}, set[int]()
    found: dict[object, tuple[bool, int, float, int]] = {}
    for place, each in enumerate(results):
        if place in kept or not each.is_unfiled or each.created_us // US_PER_DAY <= best.created_us // US_PER_DAY:
            continue
        related = each.shared >= _SOME * best.shared > 0.0 or each.score >= _NEAR * best.score
        is_same = best.is_unfiled and _is_of_the_same(each, best)
        taken = _replaced_by(each, results, told) if ECHO in each.text else set()
        replaced |= taken
        is_settled = bool(taken) or (is_same and ECHO in each.text)
        is_change = is_settled or (related and speaks_of_change(each.text, words))
        if is_change or (is_same and each.score >= _SCORE * best.score):
            rank = (is_change, each.created_us if is_settled else 0, each.score, place)
            found[each.session or place] = max(rank, found.get(each.session or place, rank))
    added = [place for *_, place in sorted(found.values(), reverse=True)[:_MOST]]
    kept = [place for place in kept if place not in replaced] or kept
    added = [place for place in added if place not in replaced]
    same = [place for place in (*kept, *added) if place in added or _is_of_the_same(results[place], best)]
    same.sort(key=lambda place: -(results[place].created_us // US_PER_DAY))  # within a day by score, as they come
    return [*same, *(place for place in kept if place not in same)]


def _replaced_by(later: Result, results: Sequence[Result], sessions: Collection[str | None]) -> set[int]:
    """Return the positions of what was settled before a later result settles it anew."""
    from lamina_engine.sessions.replacements import Statement

    statement = Statement(later.text)
    return {
        place for place, each in enumerate(results)
        if each.item.type == INSIGHT and each.created_us < later.created_us and each.session is not None
        and (each.session in sessions or ECHO in each.text) and statement.replaces(Statement(each.text))
    }  # fmt: skip


def speaks_of_change(text: str, words: Collection[str]) -> bool:
    """Return True if a sentence speaks of a change, and it or the one before of some words."""
    before = False
    for sentence in _SENTENCE.split(text):
        names = not set(content_words(sentence)).isdisjoint(words)
        if (names or before) and _CHANGE.search(sentence) is not None:
            return True
        before = names
    return False


def _is_of_the_same(each: Result, best: Result) -> bool:
    return each.is_unfiled and each.shared >= _AS_MUCH * best.shared > 0.0

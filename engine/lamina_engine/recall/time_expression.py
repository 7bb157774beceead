"""Time expressions of questions: a half-open window in the caller's zone, with confidence.

The grammar is in `lamina_engine.time`. Here its spans of wall time become moments of a zone, and the phrase with enough
confidence is chosen. A question without a time has no window.
"""

from __future__ import annotations

import operator
import re
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final, SupportsIndex

from msgspec import Struct

from lamina_engine.clock import parse_instant, zone
from lamina_engine.errors import InvalidArgument
from lamina_engine.time import calendar
from lamina_engine.time.cjk import read_cjk_phrases
from lamina_engine.time.relations import TimePhrase, read_phrases

Window = tuple[datetime, datetime]
Now = datetime | str | SupportsIndex
"""The moment of a question: a datetime (naive: in its zone), ISO 8601 text, or microseconds since 1970 (UTC)."""

MIN_CONFIDENCE: Final = 0.5
"""From this confidence on a phrase is taken to mean its window."""
MAX_CHARS: Final = 3_000
"""Of longer texts only the head and the tail are read: a question comes before or after pasted text."""
_HEAD: Final = 1_800
_TAIL: Final = 1_200
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EVENT: Final = re.compile(
    r"(?<![\w-])(before|after|since|until|till)\s+(?P<event>(?:the|our|my|this|that)\s+[^\W\d_][\w-]*(?:\s+(?!and\b|or\b|but\b|we\b|i\b|did\b|was\b|were\b|is\b)[^\W_][\w-]*){0,3})",
    re.IGNORECASE,
)
_EVENT_CONFIDENCE: Final = 0.4


class TimeExpression(Struct, frozen=True):
    """The time expression of a question."""

    window: Window | None
    """Half-open [start, end) in the caller's zone; None without a time, or where only an event is named."""
    confidence: float
    """0 (nothing found) to 1."""
    phrase: str
    """Its words, as written."""
    span: tuple[int, int]
    """Their position, [start, end) in characters."""
    kind: str
    """date, day, week, month, quarter, half, season, year, decade, weekday, weekend, relative, ago, vague, rolling, part,
    daypart, ambiguous, range, since, until, before, after, event or none."""
    event: str | None = None
    """With kind ``event``: the event in place of a date; the first word of the phrase is its bound."""
    about_days: int = 0
    """Days on either side of the window that are meant too: "two months ago" is said of a time and not of a day."""
    bare: bool = False
    """The last word is the name of a month, a weekday or a season of which nothing says that it is a time."""


NOTHING: Final = TimeExpression(None, 0.0, "", (0, 0), "none")


def understand_time(text: str, now: Now, tz: str = "UTC") -> TimeExpression:
    """Return the time expression of a question, also one too unsure to be a filter.

    ``now`` is when it is asked; ``tz`` names the zone whose days are meant, and in which a naive ``now`` is read. "Before"
    begins at ``datetime.min``, what never ends ends at ``datetime.max``. O(length), up to `MAX_CHARS`; a short question takes
    about a tenth of a millisecond.

    Examples
    --------
    >>> start, end = understand_time("what did we decide last Tuesday?", "2026-08-12T14:30:00Z").window
    >>> print(start.date(), end.date())
    2026-08-11 2026-08-12
    """
    if not isinstance(text, str):
        raise InvalidArgument(f"text must be text, not {type(text).__name__}")
    where = zone(tz)
    local = _local_now(now, tz, where)
    if len(text) <= MAX_CHARS:
        return _first(text, 0, local, where) or _event(text)
    cut = text.rfind(" ", 0, _HEAD) if " " in text[:_HEAD] else _HEAD
    tail = max(text.find(" ", len(text) - _TAIL), len(text) - _TAIL)
    found = [_first(text[:cut], 0, local, where), _first(text[tail:], tail, local, where)]
    some = [each for each in found if each is not None]
    return next((each for each in some if each.confidence >= MIN_CONFIDENCE), some[0] if some else _event(text[:cut]))


def _first(text: str, offset: int, now: datetime, where: tzinfo) -> TimeExpression | None:
    """Return the first phrase that is sure enough, else the first at all, else None."""
    unsure: list[TimePhrase] = []
    sure: list[TimePhrase] = []
    for phrases in (read_phrases(text, now), read_cjk_phrases(text, now)):
        for each in phrases:
            (sure if each.confidence >= MIN_CONFIDENCE else unsure).append(each)
            if sure and sure[-1] is each:
                break
    best = min(sure or unsure, key=lambda each: each.start, default=None)
    if best is None:
        return None
    window = calendar.moment(best.span.start, where), calendar.moment(best.span.end, where)
    place = best.start + offset, best.end + offset
    phrase = text[best.start : best.end]
    return TimeExpression(
        window, round(best.confidence, 4), phrase, place, best.kind, about_days=best.about_days, bare=best.bare
    )


def _local_now(now: object, tz: str, where: tzinfo) -> datetime:
    """Return the moment of a question in its zone."""
    try:
        if isinstance(now, datetime | str):
            us = parse_instant(now, tz, what="now")
        elif isinstance(now, bool) or not hasattr(now, "__index__"):
            raise TypeError
        else:
            us = operator.index(now)  # pyright: ignore[reportArgumentType]
        return (_EPOCH + timedelta(microseconds=us)).astimezone(where)
    except (TypeError, OverflowError, ValueError) as error:
        if isinstance(error, InvalidArgument):
            raise
        raise InvalidArgument(
            f"now={now!r} is not a date in the years 1 to 9999; give a datetime, ISO 8601 text, or microseconds since 1970"
        ) from error


def _event(text: str) -> TimeExpression:
    """Return the event that a question names in place of a date (``before the migration``)."""
    match = _EVENT.search(text)
    if match is None:
        return NOTHING
    return TimeExpression(None, _EVENT_CONFIDENCE, match.group(), match.span(), "event", match["event"])

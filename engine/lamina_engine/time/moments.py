"""Moments as people write them: ISO 8601, or words such as ``yesterday``, ``3 hours ago``."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from lamina_engine.clock import EPOCH, US_PER_S, Instant, parse_instant, zone
from lamina_engine.errors import InvalidArgument

_LEAST: Final = 0.45
"""Confidence from which words are read: who gives a date means one, so "next monday" will do."""
_UNITS: Final = {
    "second": 1, "sec": 1, "s": 1, "minute": 60, "min": 60, "m": 60, "hour": 3_600, "hr": 3_600, "h": 3_600,
    "day": 86_400, "d": 86_400, "week": 604_800, "w": 604_800,
}  # fmt: skip
_AHEAD: Final = re.compile(r"in\s+(\d{1,5}|an?)\s*([a-z]+?)s?", re.IGNORECASE)
_AGO: Final = re.compile(r"(\d{1,5}|an?)\s*(seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h)\s+ago", re.IGNORECASE)
_CLOCK: Final = re.compile(r"(.+?)[\s,]+(?:at\s+)?([01]?\d|2[0-3]):([0-5]\d)", re.IGNORECASE)
_ARTICLE: Final = re.compile(r"(?:the|l[ae]|el|il|der|die|das|den|de|o)\s+", re.IGNORECASE)
_MAX_CHARS: Final = 100


def parse_moment(value: Instant, tz: str, now_us: int, *, what: str = "date") -> int:
    """Parse ISO 8601 text, a datetime, seconds, or words into microseconds since 1970.

    Words mean the first moment of the time they name, in ``tz``: ``yesterday`` is its midnight. Hours, minutes and
    "in 3 days" are counted from now.
    """
    try:
        return parse_instant(value, tz, what=what)
    except InvalidArgument as error:
        found = _read_words(value.strip(), tz, now_us) if isinstance(value, str) else None
        if found is None:
            said = str(error).partition("; give ")
            raise InvalidArgument(
                f"{said[0]}; give ISO 8601 ('2026-02-15' or '2026-02-15T09:30:00Z'), or words: 'yesterday', "
                "'last tuesday', '3 hours ago', 'March 2026'"
            ) from error
        return found


def _read_words(text: str, tz: str, now_us: int) -> int | None:
    if not text or len(text) > _MAX_CHARS:
        return None
    if text.casefold() == "now":
        return now_us
    for pattern, sign in ((_AHEAD, 1), (_AGO, -1)):
        match = pattern.fullmatch(text)
        seconds = None if match is None else _UNITS.get(match[2].lower()) or _UNITS.get(match[2].lower().rstrip("s"))
        if match is not None and seconds:
            count = 1 if match[1].lower() in ("a", "an") else int(match[1])
            return now_us + sign * count * seconds * US_PER_S
    match = _CLOCK.fullmatch(text)
    if match is not None:
        minute = _first_minute(match[1], tz, now_us)
        return None if minute is None else _instant(minute + 60 * int(match[2]) + int(match[3]), tz)
    minute = _first_minute(text, tz, now_us)
    return None if minute is None else _instant(minute, tz)


def _first_minute(text: str, tz: str, now_us: int) -> int | None:
    """Return the first minute of the one time phrase that a text consists of, in wall time."""
    from lamina_engine.time.calendar import EARLIEST
    from lamina_engine.time.cjk import read_cjk_phrases  # most moments are numbers or ISO 8601
    from lamina_engine.time.relations import read_phrases

    now = (EPOCH + timedelta(microseconds=now_us)).astimezone(zone(tz))
    bare = text[match.end() :] if (match := _ARTICLE.match(text)) else text
    for read in (read_phrases, read_cjk_phrases):
        for phrase in read(bare, now):
            whole = phrase.start == 0 and phrase.end == len(bare)
            if whole and phrase.confidence >= _LEAST and phrase.span.start > EARLIEST:
                return phrase.span.start
            break
    return None


def _instant(minute: int, tz: str) -> int | None:
    from lamina_engine.time import calendar

    try:
        moment: datetime = calendar.moment(minute, zone(tz)).astimezone(UTC)
    except (OverflowError, ValueError):
        return None
    return (moment - EPOCH) // timedelta(microseconds=1)

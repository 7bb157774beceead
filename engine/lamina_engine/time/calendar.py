"""Calendar arithmetic on spans of local wall time.

A span is half-open and counted in minutes of the wall clock since the day before 0001-01-01, so that neither the year 9999
nor a day without a midnight needs a special case; a zone comes in only when a span becomes two moments.
Dates outside the years 1 to 9999 are None, never an exception.
"""

from __future__ import annotations

import calendar
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Final, NamedTuple

DAY: Final = 1440
"""Minutes of a day on the wall clock."""
EARLIEST: Final = DAY
LATEST: Final = (date.max.toordinal() + 1) * DAY
"""Bounds of the calendar: the start of "before" and the end of "after"."""
_DAYS_OF: Final = {"day": 1, "week": 7, "fortnight": 14}
_MONTHS_OF: Final = {"month": 1, "quarter": 3, "half": 6, "year": 12, "decade": 120}
_HOURS_OF: Final = {"second": 1 / 3600, "minute": 1 / 60, "hour": 1.0}
_SEASONS: Final = {"spring": 3, "summer": 6, "autumn": 9, "winter": 12}


class Span(NamedTuple):
    """A half-open stretch of wall time, in minutes."""

    start: int
    end: int


def span_of_days(first: date, days: int = 1) -> Span | None:
    """Return whole days from a first one."""
    start = first.toordinal() * DAY
    return Span(start, start + days * DAY) if days > 0 and start + days * DAY <= LATEST else None


def day(year: int, month: int, number: int) -> Span | None:
    """Return one day; None when the calendar has no such day."""
    if not 1 <= year <= 9999 or not 1 <= month <= 12 or not 1 <= number <= calendar.monthrange(year, month)[1]:
        return None
    return span_of_days(date(year, month, number))


def months(year: int, month: int, count: int = 1) -> Span | None:
    """Return whole months from a first one; ``month`` may run over the year's ends."""
    first = _month_start(year * 12 + month - 1)
    last = _month_start(year * 12 + month - 1 + count)
    return None if first is None or last is None else Span(first, last)


def season(year: int, name: str) -> Span | None:
    """Return a meteorological season of the northern half; a winter is named by its first year."""
    return months(year, _SEASONS[name], 3)


def unit_at(when: date, unit: str, offset: int = 0) -> Span | None:
    """Return the calendar unit around a day, moved by ``offset`` units; weeks begin on Monday."""
    if unit in _MONTHS_OF:
        size = _MONTHS_OF[unit]
        first = when.year * 12 + when.month - 1
        # decades are those of the spoken language (2020 to 2029), so they count from year 0 like the months here
        first = first - first % size + offset * size
        return months(first // 12, first % 12 + 1, size)
    if unit not in _DAYS_OF and unit != "weekend":
        return None
    if unit == "day":
        return _days_from(when.toordinal() + offset, 1)
    monday = when.toordinal() - when.weekday()
    if unit == "weekend":
        return _days_from(monday + 5 + 7 * offset, 2)
    return _days_from(monday + _DAYS_OF[unit] * offset, _DAYS_OF[unit])


def last_weekend(when: date) -> Span | None:
    """Return the last weekend that began before a day; on a Sunday that is its own."""
    return _days_from(when.toordinal() - ((when.weekday() - 5) % 7 or 7), 2)


def moved(when: date, unit: str, count: int) -> date | None:
    """Return a day moved by calendar units; a day that its month lacks becomes the month's last."""
    if unit in _MONTHS_OF:
        total = when.year * 12 + when.month - 1 + count * _MONTHS_OF[unit]
        year, month = total // 12, total % 12 + 1
        if not 1 <= year <= 9999:
            return None
        return date(year, month, min(when.day, calendar.monthrange(year, month)[1]))
    number = when.toordinal() + count * _DAYS_OF.get(unit, 7)
    return date.fromordinal(number) if 1 <= number <= date.max.toordinal() else None


def moved_hours(now: datetime, unit: str, count: int) -> datetime | None:
    """Return a moment moved by hours, minutes or seconds of real time, in its own zone."""
    try:
        return (now.astimezone(UTC) + timedelta(hours=count * _HOURS_OF[unit])).astimezone(now.tzinfo)
    except (OverflowError, ValueError):
        return None


def is_short(unit: str) -> bool:
    """Return whether a unit is shorter than a day."""
    return unit in _HOURS_OF


def slice_of(span: Span, number: int, unit: str) -> Span | None:
    """Return the n-th unit inside a span (1 first, −1 last); weeks are its seven-day slices."""
    if unit in _DAYS_OF:
        size = _DAYS_OF[unit] * DAY
        start = span.start + (number - 1) * size if number > 0 else span.end - size
        got: Span | None = Span(start, min(start + size, span.end))
    elif unit in _MONTHS_OF:
        first = date.fromordinal(span.start // DAY)
        size = _MONTHS_OF[unit]
        count = (span.end - span.start) // (28 * DAY * size)
        got = months(first.year, first.month + ((number - 1) if number > 0 else count - 1) * size, size)
    else:
        return None
    return got if got and span.start <= got.start < got.end <= span.end else None


def third_of(span: Span, part: str) -> Span:
    """Return the early, middle or late third of a span.

    Four months of a year; days 1–10, 11–20 and 21–end of a month.
    """
    days = (span.end - span.start) // DAY
    if days < 3:
        return span
    if days in (365, 366):
        first, second = (_first_months(span, count) for count in (4, 8))
    else:
        first, second = round(days / 3) * DAY, round(2 * days / 3) * DAY
    if part == "early":
        return Span(span.start, span.start + first)
    if part == "mid":
        return Span(span.start + first, span.start + second)
    return Span(span.start + second, span.end)


def wall_minute(moment: datetime) -> int:
    """Return a local moment on the wall clock, cut to the minute."""
    return moment.toordinal() * DAY + moment.hour * 60 + moment.minute


def moment(minute: int, tz: tzinfo) -> datetime:
    """Return the moment at which a zone's wall clock shows a minute.

    A minute that a change of the clock skips is the moment of the change; one that it repeats is the first of the two.
    The bounds of the calendar stand for "ever before" and "ever after".
    """
    if minute >= LATEST:
        return datetime.max.replace(tzinfo=tz)
    number, rest = divmod(max(minute, EARLIEST), DAY)
    return datetime.combine(date.fromordinal(number), datetime.min.time(), tz) + timedelta(minutes=rest)


def _first_months(span: Span, count: int) -> int:
    """Return how many minutes the first months of a year have."""
    first = date.fromordinal(span.start // DAY)
    got = months(first.year, first.month, count)
    return got.end - got.start if got else 0


def _month_start(total: int) -> int | None:
    year, month = divmod(total, 12)
    if year == 10_000 and month == 0:
        return LATEST
    return date(year, month + 1, 1).toordinal() * DAY if 1 <= year <= 9999 else None


def _days_from(number: int, days: int) -> Span | None:
    return span_of_days(date.fromordinal(number), days) if 1 <= number <= date.max.toordinal() else None

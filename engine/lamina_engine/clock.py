"""Time enters here: the injected clock, and the one reading and writing of ISO 8601.

Instants are int64 microseconds since 1970-01-01T00:00:00Z. Nothing else in the engine reads the wall clock.
"""

from __future__ import annotations

import functools
import time
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Protocol

from lamina_engine.errors import InvalidArgument, describe_value

US_PER_S = 1_000_000
US_PER_DAY = 86_400 * US_PER_S
MISSING_US = -(2**63)
"""The value of a nullable instant that is not known (Arrow columns use null instead)."""
_LONGEST_ZONE = 64
"""Letters of a name, twice those of the longest: each part of one that is not known is looked for as a package."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Instant = str | datetime | date | int | float
"""A moment as callers give it: ISO 8601 text, a datetime, a date, or seconds since 1970 (UTC)."""


class Clock(Protocol):
    """A source of the present moment."""

    def now_us(self) -> int:
        """Return the present as microseconds since 1970 (UTC)."""
        ...


class SystemClock:
    """The machine's clock; the only place in the engine that reads it."""

    def now_us(self) -> int:
        """Return the machine's time in microseconds since 1970 (UTC)."""
        return time.time_ns() // 1000


class FixedClock:
    """A fixed clock that moves on demand; for tests and reproducible builds."""

    def __init__(self, moment: Instant) -> None:
        self._now_us = parse_instant(moment)

    def now_us(self) -> int:
        """Return its moment."""
        return self._now_us

    def advance(self, seconds: float) -> None:
        """Move it by ``seconds`` (may be negative)."""
        self._now_us += round(seconds * US_PER_S)


def zone(name: str) -> tzinfo:
    """Return the time zone of an IANA name."""
    if not isinstance(name, str):
        raise InvalidArgument(f"{describe_value('tz', name)}; give an IANA name such as 'Europe/Berlin'")
    if name.upper() in ("UTC", "Z"):
        return UTC
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError  # 2 ms, and most dates say their zone

    try:
        if len(name) > _LONGEST_ZONE:
            raise ValueError
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise InvalidArgument(
            f"tz={name[: 2 * _LONGEST_ZONE]!r} is not a known time zone; give an IANA name such as 'Europe/Berlin'"
        ) from error


def parse_instant(value: Instant, tz: str = "UTC", *, what: str = "date") -> int:
    """Parse ISO 8601 text, a datetime, a date or seconds into microseconds since 1970."""
    try:
        if isinstance(value, bool):
            raise TypeError
        if isinstance(value, (int, float)):
            # bounds first: timedelta's own overflow would be an OverflowError
            if not -62_135_596_800 <= value <= 253_402_300_799:
                raise ValueError
            return round(value * US_PER_S)
        if isinstance(value, datetime):
            moment = value
        elif isinstance(value, date):
            moment = datetime(value.year, value.month, value.day)
        else:
            moment = datetime.fromisoformat(_trim_nanoseconds(value.strip()))
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=zone(tz))
        return (moment - EPOCH) // timedelta(microseconds=1)
    except InvalidArgument:
        raise
    except (ValueError, TypeError, AttributeError, OverflowError) as error:
        raise InvalidArgument(
            f"{what}={value!r} is not a date; give ISO 8601 ('2026-02-15' or '2026-02-15T09:30:00Z'), a datetime, or seconds since 1970"
        ) from error


def _trim_nanoseconds(text: str) -> str:
    """Cut a fraction of a second to six digits; ``fromisoformat`` refuses more on some versions."""
    dot = text.find(".", 10)
    if dot < 0:
        return text
    end = dot + 1
    while end < len(text) and text[end].isdigit():
        end += 1
    return text[: min(end, dot + 7)] + text[end:]


def utc_datetime(us: int | None) -> datetime | None:
    """Convert microseconds since 1970 to a UTC datetime; None outside the years 1 to 9999."""
    if us is None or us == MISSING_US:
        return None
    try:
        return EPOCH + timedelta(microseconds=us)
    except OverflowError:
        return None


def format_local(us: int, tz: str) -> str:
    """Write an instant in a zone: the day, with hours and minutes unless it is midnight."""
    try:
        moment = (EPOCH + timedelta(microseconds=us)).astimezone(zone(tz))
    except OverflowError:
        return ""
    return str(moment.date()) if moment.hour == moment.minute == 0 else f"{moment.date()} {moment:%H:%M}"


@functools.lru_cache(maxsize=8_192)
def format_instant(us: int | None) -> str | None:
    """Write microseconds since 1970 as ISO 8601 with ``Z``; None stays None.

    Instants outside the years 1 to 9999 cannot be written as ISO 8601 and give None.
    """
    if us is None or us == MISSING_US:
        return None
    try:
        moment = EPOCH + timedelta(microseconds=us)
    except OverflowError:
        return None
    return moment.replace(tzinfo=None).isoformat(timespec="microseconds" if us % US_PER_S else "seconds") + "Z"

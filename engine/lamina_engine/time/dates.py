"""Dates in file names, folders and frontmatter values.

Each date is parsed and checked here; the caller decides which one wins. A date alone is midnight in the given zone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from pathlib import PurePosixPath

from lamina_engine.clock import US_PER_S, parse_instant, zone
from lamina_engine.errors import InvalidArgument

_YEAR = r"(?<!\d)((?:19|20)\d\d)"
_ISO_DAY = re.compile(_YEAR + r"-(\d\d)-(\d\d)(?![\d-])")
_STAMP = re.compile(_YEAR + r"(\d\d)(\d\d)(?:[T_-]?(\d\d)(\d\d)(?:\d\d)?)?(?!\d)")
_DAY = re.compile(_YEAR + r"([-_. ])(\d\d)\2(\d\d)(?!\d)")
_WRITTEN_DAY = re.compile(r"(\d{4})([-_./])(\d\d?)\2(\d\d?)$")
_WEEK = re.compile(_YEAR + r"-?W(\d\d)(?!\d)")
_MONTH = re.compile(_YEAR + r"[-_.](\d\d)(?![\d])(?![-_.]\d)")
_SPLIT_DAY = re.compile(_YEAR + r"[-_./](?:(\d\d)[-_. ]?[^/\d]*)/(\d\d)(?!\d)")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAMED_DAY = re.compile(  # 05-Feb-2017; Fri, 5 February 2017 10:00:00 +0100; February 5th, 2017
    r"(?i:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,?\s+)?(?:(?P<d>\d{1,2})[-. ]\s*(?P<m>[A-Za-z]{3,9})\.?[-, ]\s*|"
    r"(?P<m2>[A-Za-z]{3,9})\.?\s+(?P<d2>\d{1,2})(?:st|nd|rd|th)?,?\s+)(?P<y>\d{4})(?!\d)"
)
_LOGGED = re.compile(r"[A-Za-z]{3} [A-Za-z]{3} +\d{1,2} \d\d:\d\d:\d\d \d{4} [-+]\d{4}$")
"""As git and asctime write it: Fri Mar 20 12:06:58 2026 -0500."""
_COMMENT = re.compile(r"\s+\([^()]*\)$")
_BRACKETS = re.compile(r"^\[\[(.*?)\]\]$")
_MILLISECONDS = 100_000_000_000
"""A number from here on counts milliseconds: as seconds it would lie after the year 5138."""


def date_in_path(source: str, tz: str = "UTC") -> int | None:
    """Return the date that a path names.

    The file's own name is searched first, then its folders from the innermost, then year, month and day spread over
    folders (``2026/02/15.md``, ``2026-02/15.md``), and last a month alone (``2026-02``: its first day). Known are
    ``2026-02-15`` with ``-``, ``_``, ``.`` or a space, ``20260215`` with a time of day after it or without, and the
    week ``2026-W07`` (its Monday). A date that does not exist is none.
    """
    zone(tz)
    path = PurePosixPath(source)
    parts = [path.stem, *reversed(path.parent.parts)]
    for part in parts:
        for moment in _days(part):
            return parse_instant(moment, tz)
    for match in _SPLIT_DAY.finditer("/".join([*path.parent.parts, path.stem])):
        day = _valid(match[1], match[2], match[3])
        if day:
            return parse_instant(day, tz)
    for part in parts:
        for match in _MONTH.finditer(part):
            day = _valid(match[1], match[2], "1")
            if day:
                return parse_instant(day, tz)
    return None


def date_span(stem: str) -> tuple[int, int] | None:
    """Return the position of a full date in a file name without its suffix, or None."""
    for pattern in (_DAY, _STAMP):
        for match in pattern.finditer(stem):
            groups = match.groups()
            if _valid(groups[0], *(groups[2:4] if pattern is _DAY else groups[1:3])):
                return match.span()
    return None


def date_of_title(title: str, tz: str = "UTC") -> int | None:
    """Return the date of a title that begins with one in ISO 8601, or None.

    Examples
    --------
    >>> date_of_title("2026-04-12 mail delay")
    1775952000000000
    """
    zone(tz)
    match = _ISO_DAY.match(title)
    day = _valid(*match.groups()) if match else None
    return parse_instant(day, tz) if day else None


def date_value(value: object, tz: str = "UTC") -> int | None:
    """Read a frontmatter value as a moment."""
    zone(tz)  # an unknown zone is the caller's mistake and must not pass as a value that is no date
    while isinstance(value, list) and len(value) == 1:  # [[2026-02-15]] without quotes is a list in a list
        value = value[0]
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        return None
    if isinstance(value, (int, float)):
        if isinstance(value, float) or not date_span(str(value)):
            return _instant(value / 1000 if value >= _MILLISECONDS else value, tz)
        value = str(value)
    text = _COMMENT.sub("", _BRACKETS.sub(r"\1", value.strip())).strip()
    if text.isdigit() and not date_span(text):
        return None
    exact = _instant(text, tz) if text[:4].isdigit() else None
    if exact is not None:
        return exact
    if _LOGGED.match(text):
        return _sent(text)
    match = _WRITTEN_DAY.match(text)
    day = _valid(match[1], match[3], match[4]) if match else _named_day(text)
    if match is None and day is not None and ":" in text:
        return _sent(text) or parse_instant(day, tz)
    return parse_instant(day, tz) if day else None


def _sent(text: str) -> int | None:
    """Return the moment of a mail's date with its offset, or None."""
    from email.utils import mktime_tz, parsedate_tz  # 15 ms, and seldom needed

    parts = parsedate_tz(text)
    return None if parts is None or parts[9] is None else mktime_tz(parts) * US_PER_S


def _named_day(text: str) -> str | None:
    """Return the day of a date with an English month's name, or None."""
    match = _NAMED_DAY.match(text)
    if match is None:
        return None
    month = (match["m"] or match["m2"])[:3].lower()
    return _valid(match["y"], str(_MONTHS.index(month) + 1), match["d"] or match["d2"]) if month in _MONTHS else None


def _instant(value: str | int | float, tz: str) -> int | None:
    try:
        return parse_instant(value, tz)
    except InvalidArgument:
        return None


def _days(part: str) -> Iterator[str]:
    for match in _DAY.finditer(part):
        day = _valid(match[1], match[3], match[4])
        if day:
            yield day
    for match in _STAMP.finditer(part):
        day = _valid(match[1], match[2], match[3])
        if day and match[4] and int(match[4]) < 24 and int(match[5]) < 60:
            yield f"{day}T{match[4]}:{match[5]}"
        elif day:
            yield day
    for match in _WEEK.finditer(part):
        try:
            yield date.fromisocalendar(int(match[1]), int(match[2]), 1).isoformat()
        except ValueError:
            continue


def _valid(year: str, month: str, day: str) -> str | None:
    try:
        return date(int(year), int(month), int(day)).isoformat()
    except ValueError:
        return None


def written_day(day: date) -> re.Pattern[str]:
    """Return the pattern of a day in texts: in digits, or in words, maybe without ``year``."""
    from lamina_engine.time.lexicon import words_of_month  # builds its words at the first question with a time

    number, months = f"0?{day.day}", "|".join(map(re.escape, words_of_month(day.month)))
    digits = (
        rf"{day.year}(?P<sep>[-/._])0?{day.month}(?P=sep){number}|{day.year}{day.month:02}{day.day:02}"
        rf"|{number}\.\s?0?{day.month}\.\s?{day.year}"
    )
    worded = (
        rf"(?P<worded>{number}(?:st|nd|rd|th|\.)?[\s-]+(?:(?:of|de|di)\s+)?(?:{months})"
        rf"|(?:{months})\.?\s+(?:the\s+)?{number}(?:st|nd|rd|th)?)(?![\w:])(?:(?:\.|,|\s+de)?[\s-]+(?P<year>\d{{4}})(?!\d))?"
    )
    return re.compile(rf"(?<![\w.-])(?:(?:{digits})(?!\.?\d)|{worded})", re.IGNORECASE)

"""Dates written in digits: ISO 8601, days with their year last, quarters, weeks, decades."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from typing import Final, NamedTuple

from lamina_engine.recall.when import calendar
from lamina_engine.recall.when.calendar import Span

PATTERN: Final = re.compile(
    r"(?P<iso>(?P<iy>[0-9]{4})(?P<sep>[-/])(?P<im>[0-9]{1,2})(?P=sep)(?P<id>[0-9]{1,2})(?:[Tt][0-9]{2}:?[0-9]{2}[0-9:.,]*(?:[Zz]|[+-][0-9:]{2,5})?)?)"
    r"|(?P<local>(?P<a>[0-9]{1,2})(?P<mark>[-/.])(?P<b>[0-9]{1,2})(?P=mark)(?P<ly>[0-9]{4}))"
    r"|(?P<ym>(?P<yy>(?:19|20)[0-9]{2})[-/](?P<mm>0[1-9]|1[0-2]))"
    r"|(?P<yq>(?P<qy>[12][0-9]{3})[-/]?(?P<qkind>[QqHh])(?P<qn>[1-4]))"
    r"|(?P<q>(?P<kind>[QqHh])(?P<n>[1-4])(?:[-/'’]?(?P<y>(?:19|20)?[0-9]{2}))?)"
    r"|(?P<week>(?P<wy>[12][0-9]{3})-?[Ww](?P<wn>[0-9]{2}))"
    r"|(?P<decade>['’]?(?P<dy>(?:19|20)[0-9]0)['’]?s)"
    r"|(?P<dmy>(?P<dd>[0-9]{1,2})[-–](?P<dm>[^\W\d_]{3,9})[-–](?P<dyear>[0-9]{4}))"
    r"|(?P<my>(?P<mname>[^\W\d_]{3,9})[-–](?P<myear>[0-9]{4}))"
    r"|(?P<pair>(?P<p1>[0-9]{1,4})[-–—](?P<p2>[0-9]{1,4})(?:st|nd|rd|th)?)"
    r"|(?P<comma>(?P<c1>[0-9]{1,2})(?:st|nd|rd|th)?,(?P<c2>[0-9]{4}))"
    r"|(?P<ordinal>(?P<on>[0-9]{1,2})(?:st|nd|rd|th|er|re|e|º|ª|°|\.))"
    r"|(?P<counted>(?P<cn>[0-9]{1,9})[-]?(?P<cu>[^\W\d_]{1,9}))"
    r"|(?P<clock>[0-9]{1,2}(?::[0-9]{2}){1,2}(?:[AaPp]\.?[Mm]\.?)?)"
    r"|(?P<number>[0-9]{1,12})"
)


class Written(NamedTuple):
    """What digits alone say: a span, what kind of date, and how sure."""

    span: Span
    kind: str
    confidence: float


def _iso(match: re.Match[str]) -> Written | None:
    span = calendar.day(int(match["iy"]), int(match["im"]), int(match["id"]))
    return span and Written(span, "date", 0.98)


def _local(match: re.Match[str]) -> Written | None:
    """Read a date with its year last: dots are day first; slashes and dashes only where one order is possible."""
    a, b, year = int(match["a"]), int(match["b"]), int(match["ly"])
    day_first, month_first = calendar.day(year, b, a), calendar.day(year, a, b)
    if match["mark"] == ".":
        return day_first and Written(day_first, "date", 0.95)
    if day_first and month_first and day_first != month_first:
        return Written(month_first, "ambiguous", 0.4)
    span = day_first or month_first
    return span and Written(span, "date", 0.95)


def _year_month(match: re.Match[str]) -> Written | None:
    span = calendar.months(int(match["yy"]), int(match["mm"]))
    return span and Written(span, "month", 0.8)


def _year_quarter(match: re.Match[str]) -> Written | None:
    return written_quarter(int(match["qy"]), match["qkind"], int(match["qn"]))


def written_quarter(year: int, letter: str, number: int) -> Written | None:
    """Return the quarter (Q) or half (H) of a year."""
    size = 3 if letter in "Qq" else 6
    if number * size > 12:
        return None
    span = calendar.months(year, (number - 1) * size + 1, size)
    return span and Written(span, "quarter" if size == 3 else "half", 0.95)


def _week(match: re.Match[str]) -> Written | None:
    try:
        monday = date.fromisocalendar(int(match["wy"]), int(match["wn"]), 1)
    except ValueError:
        return None
    span = calendar.span_of_days(monday, 7)
    return span and Written(span, "week", 0.95)


def _decade(match: re.Match[str]) -> Written | None:
    span = calendar.months(int(match["dy"]), 1, 120)
    return span and Written(span, "decade", 0.8)


SPANS: Final[dict[str, Callable[[re.Match[str]], Written | None]]] = {
    "iso": _iso,
    "local": _local,
    "ym": _year_month,
    "yq": _year_quarter,
    "week": _week,
    "decade": _decade,
}
"""By the name of the form's group in the pattern of written dates."""

from __future__ import annotations

import pytest

from lamina_engine.clock import format_instant, parse_instant
from lamina_engine.errors import InvalidArgument
from lamina_engine.time.moments import parse_moment

NOW = parse_instant("2026-08-24T10:00:00Z")
"""A Monday."""


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        ("2026-02-15", "2026-02-15T00:00:00Z"),
        ("2026-02-15T09:30:00+02:00", "2026-02-15T07:30:00Z"),
        ("yesterday", "2026-08-23T00:00:00Z"),
        (" Yesterday ", "2026-08-23T00:00:00Z"),
        ("the day before yesterday", "2026-08-22T00:00:00Z"),
        ("last tuesday", "2026-08-18T00:00:00Z"),
        ("last week", "2026-08-17T00:00:00Z"),
        ("next monday", "2026-08-31T00:00:00Z"),
        ("tomorrow", "2026-08-25T00:00:00Z"),
        ("2 weeks ago", "2026-08-10T00:00:00Z"),
        ("March 2026", "2026-03-01T00:00:00Z"),
        ("2026-03", "2026-03-01T00:00:00Z"),
        ("15 march 2026", "2026-03-15T00:00:00Z"),
        ("now", "2026-08-24T10:00:00Z"),
        ("3 hours ago", "2026-08-24T07:00:00Z"),
        ("an hour ago", "2026-08-24T09:00:00Z"),
        ("90 minutes ago", "2026-08-24T08:30:00Z"),
        ("in 3 days", "2026-08-27T10:00:00Z"),
        ("in a week", "2026-08-31T10:00:00Z"),
        ("yesterday 14:05", "2026-08-23T14:05:00Z"),
        ("last friday at 17:00", "2026-08-21T17:00:00Z"),
        ("gestern", "2026-08-23T00:00:00Z"),
        ("la semaine dernière", "2026-08-17T00:00:00Z"),
        ("昨天", "2026-08-23T00:00:00Z"),
    ],
)
def test_words_mean_the_first_moment_of_the_time_they_name(text: str, ref: str) -> None:
    # findings, stranger 20
    assert format_instant(parse_moment(text, "UTC", NOW)) == ref


def test_words_are_read_in_the_zone() -> None:
    assert format_instant(parse_moment("yesterday", "Europe/Berlin", NOW)) == "2026-08-22T22:00:00Z"
    assert format_instant(parse_moment("yesterday 14:00", "Europe/Berlin", NOW)) == "2026-08-23T12:00:00Z"


@pytest.mark.parametrize(
    "text", ["", "soon", "01/02/2026", "yesterday or so", "before monday", "x" * 500, "2026-13-01", "3 days after", "march"]
)  # fmt: skip
def test_what_is_no_date_is_refused_with_both_forms(text: str) -> None:
    with pytest.raises(InvalidArgument, match=r"since=.* is not a date; give ISO 8601 .*'last tuesday'"):
        parse_moment(text, "UTC", NOW, what="since")

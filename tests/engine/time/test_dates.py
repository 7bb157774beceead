from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina_engine.clock import format_instant, parse_instant
from lamina_engine.errors import InvalidArgument
from lamina_engine.time.dates import date_in_path, date_span, date_value


@pytest.mark.parametrize(
    ("source", "ref"),
    [
        ("2026-02-15-db-migration.md", "2026-02-15"),
        ("notes/db 2026_02_15.md", "2026-02-15"),
        ("2026.02.15.txt", "2026-02-15"),
        ("migrations/20260215_add.py", "2026-02-15"),
        ("202602150930 zettel.md", "2026-02-15T09:30"),
        ("20260215093059.md", "2026-02-15T09:30"),
        ("202602159930.md", "2026-02-15"),
        ("2026-02-15/standup.md", "2026-02-15"),
        ("2025-01-01/2026-02-15.md", "2026-02-15"),
        ("daily/2026/02/15.md", "2026-02-15"),
        ("daily/2026-02/15.md", "2026-02-15"),
        ("daily/2026/02-February/15-notes.md", "2026-02-15"),
        ("daily/2026-02/summary.md", "2026-02-01"),
        ("2026-02.md", "2026-02-01"),
        ("2026-W07.md", "2026-02-09"),
        ("2024-02-30 or 2024-02-28.md", "2024-02-28"),
    ],
)
def test_dates_in_paths(source: str, ref: str) -> None:
    assert date_in_path(source) == parse_instant(ref)


@pytest.mark.parametrize(
    "source",
    [
        *(
            "",
            "a.md",
            "2024-02-30.md",
            "2026-13-01.md",
            "20261332.md",
            "12026-02-15.md",
            "2026-02-151.md",
            "2026-13.md",
        ),
        *("1234567890.md", "v2024.md", "2026-W54.md", "2026/99/15.md", "0026-02-15.md"),
    ],
)
def test_paths_without_a_date(source: str) -> None:
    assert date_in_path(source) is None


def test_a_date_is_midnight_in_the_zone() -> None:
    assert format_instant(date_in_path("2026-02-15.md", "Europe/Berlin")) == "2026-02-14T23:00:00Z"


def test_an_unknown_zone_is_refused() -> None:
    with pytest.raises(InvalidArgument):
        date_in_path("x.md", "Nowhere/Land")
    with pytest.raises(InvalidArgument):
        date_value("x", "Nowhere/Land")


@pytest.mark.parametrize(
    ("value", "ref"),
    [
        ("2026-02-15", "2026-02-15"),
        ("2026-02-15 09:30", "2026-02-15T09:30"),
        ("2026-02-15T09:30:00+01:00", "2026-02-15T08:30"),
        ("2026/2/5", "2026-02-05"),
        ("[[2026-02-15]]", "2026-02-15"),
        ([["2026-02-15"]], "2026-02-15"),
        (20260215, "2026-02-15"),
        ("20260215", "2026-02-15"),
        (1771113600, "2026-02-15"),
        (1771113600000, "2026-02-15"),
    ],
)
def test_frontmatter_values(value: object, ref: str) -> None:
    assert date_value(value) == parse_instant(ref)


@pytest.mark.parametrize(
    "value", [None, True, "", "soon", "2024-02-30", "{{date}}", [], ["a", "b"], {}, "12", float("nan"), 10**30]
)
def test_values_that_are_no_date(value: object) -> None:
    assert date_value(value) is None


def test_span_of_a_date_in_a_name() -> None:
    assert date_span("db 2026-02-15 x") == (3, 13)
    assert date_span("2024-02-30") is None


@settings(max_examples=60, deadline=None)
@given(st.dates(min_value=date(1900, 1, 1), max_value=date(2099, 12, 31)))
def test_every_day_is_found(day: date) -> None:
    for name in (f"{day}", f"x {day} y", f"{day:%Y%m%d}", f"{day:%Y_%m_%d}-x"):
        assert date_in_path(f"notes/{name}.md") == parse_instant(str(day))

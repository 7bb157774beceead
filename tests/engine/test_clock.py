from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lamina_engine
from lamina_engine.clock import MISSING_US, FixedClock, SystemClock, format_instant, parse_instant, zone
from lamina_engine.errors import InvalidArgument


@pytest.mark.parametrize(
    ("value", "tz", "ref"),
    [
        ("1970-01-01", "UTC", 0),
        ("1970-01-01T00:00:00Z", "Europe/Berlin", 0),
        ("1970-01-01T01:00:00+01:00", "UTC", 0),
        ("1970-01-01", "Europe/Berlin", -3_600_000_000),
        (" 1970-01-01T00:00:00.123456789Z ", "UTC", 123_456),
        (datetime(1970, 1, 1, 0, 0, 1), "UTC", 1_000_000),
        (datetime(1970, 1, 1, tzinfo=timezone(timedelta(hours=-1))), "UTC", 3_600_000_000),
        (date(1970, 1, 2), "UTC", 86_400_000_000),
        (1.5, "UTC", 1_500_000),
        (-1, "Europe/Berlin", -1_000_000),
    ],
)
def test_moments_that_are_read(value: Any, tz: str, ref: int) -> None:
    assert parse_instant(value, tz) == ref


@pytest.mark.parametrize(
    "value",
    [
        "",
        "yesterday",
        "2024-02-30",
        "10000-01-01",
        True,
        None,
        [],
        float("nan"),
        float("inf"),
        1e300,
        -1e18,
        10**30,
        b"2024",
    ],
)
def test_what_is_no_moment_is_refused_by_name(value: Any) -> None:
    with pytest.raises(InvalidArgument, match="since="):
        parse_instant(value, what="since")


@pytest.mark.parametrize("name", ["Mars/Base", "", "../etc/passwd", "a/" * 9_000, 5, None])
def test_unknown_zones_are_refused(name: Any) -> None:
    with pytest.raises(InvalidArgument, match=r"^tz(=| is None)"):
        zone(name)


@given(st.datetimes(timezones=st.just(UTC)))
def test_writing_and_reading_give_the_same_moment(moment: datetime) -> None:
    us = parse_instant(moment)
    text = format_instant(us)
    assert text is not None
    assert text.endswith("Z")
    assert parse_instant(text, "Asia/Tokyo") == us


@pytest.mark.parametrize("us", [None, MISSING_US, 2**62, -(10**18)])
def test_what_cannot_be_written_is_none(us: int | None) -> None:
    assert format_instant(us) is None


def test_a_fixed_clock_stands_until_it_is_moved() -> None:
    clock = FixedClock("2026-03-01")
    before = clock.now_us()
    assert clock.now_us() == before
    clock.advance(-0.5)
    assert clock.now_us() == before - 500_000
    assert SystemClock().now_us() > before


def test_only_the_system_clock_reads_the_machine_s_clock() -> None:
    engine = Path(lamina_engine.__file__).parent
    reads = re.compile(
        r"\btime\.time(_ns)?\(|\bdatetime\.(now|utcnow|today)\(|\bdate\.today\(|\btime\.localtime\(|\btime\.gmtime\("
    )
    found = {path.relative_to(engine).as_posix() for path in engine.rglob("*.py") if reads.search(path.read_text())}
    assert found == {"clock.py"}

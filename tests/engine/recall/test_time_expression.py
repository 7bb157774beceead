from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_engine.errors import InvalidArgument
from lamina_engine.recall.time_expression import MAX_CHARS, MIN_CONFIDENCE, NOTHING, Now, Window, understand_time

NOW = "2026-08-12T14:30:45"
"""A Wednesday."""
EVER = "0001-01-01"


def time_window(text: str, now: Now, tz: str = "UTC") -> Window | None:
    found = understand_time(text, now, tz)
    return found.window if found.confidence >= MIN_CONFIDENCE else None


def days(text: str, now: str = NOW, tz: str = "UTC") -> str | None:
    """Return a window as its first day and the first day after it."""
    window = time_window(text, now, tz)
    return window and f"{window[0].date()} {window[1].date()}"


# the labelled set


def labelled(data: Path) -> list[tuple[str, str, tuple[datetime, datetime] | None]]:
    """Return phrase, anchor and half-open window; the set's ends are inclusive, a microsecond before ours."""
    path = data / "time-phrases-dev" / "phrases.json"
    if not path.is_file():
        pytest.skip("no labelled phrases beside the project")
    found = []
    for phrase, anchors in json.loads(path.read_text()).items():
        for anchor, label in anchors.items():
            window = None
            if label is not None:
                start, end = map(datetime.fromisoformat, label)
                window = start, end if end == datetime.max else end + timedelta(microseconds=1)
            found.append((phrase, anchor, window))
    return found


def naive(window: tuple[datetime, datetime] | None) -> tuple[datetime, datetime] | None:
    return window and (window[0].replace(tzinfo=None), window[1].replace(tzinfo=None))


def test_the_labelled_phrases_are_understood(data: Path) -> None:
    pairs = labelled(data)
    right, total, false_windows, nothing = Counter[str](), Counter[str](), 0, 0
    for phrase, anchor, ref in pairs:
        got = naive(time_window(phrase, anchor))
        kind = "spaced" if max(map(ord, phrase)) < 0x2E80 else "unspaced"
        total[kind] += 1
        right[kind] += got == ref
        nothing += ref is None
        false_windows += ref is None and got is not None
    assert sum(right.values()) / sum(total.values()) >= 0.95
    assert all(right[kind] / total[kind] >= 0.9 for kind in total)
    assert false_windows / nothing <= 0.02


def test_a_window_found_alone_is_found_inside_a_question(data: Path) -> None:
    for phrase, anchor, ref in labelled(data):
        if ref is None or naive(time_window(phrase, anchor)) != ref or len(phrase) > 80:
            continue
        assert naive(time_window(f"auth {phrase}", anchor)) == ref, phrase
        assert naive(time_window(f"{phrase} ?", anchor)) == ref, phrase


# golden rows of the specification, with this system's windows


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        ("last 3 days", "2026-08-09 2026-08-13"),
        ("since March", "2026-03-01 2026-08-13"),
        ("since March 2025", "2025-03-01 2026-08-13"),
        ("in March 2025", "2025-03-01 2025-04-01"),
        ("today", "2026-08-12 2026-08-13"),
        ("yesterday", "2026-08-11 2026-08-12"),
        ("this week", "2026-08-10 2026-08-17"),
        ("last week", "2026-08-03 2026-08-10"),
        ("this month", "2026-08-01 2026-09-01"),
        ("last month", "2026-07-01 2026-08-01"),
        ("3 days ago", "2026-08-09 2026-08-10"),
        ("2 weeks ago", "2026-07-29 2026-07-30"),
        ("6 months ago", "2026-02-12 2026-02-13"),
        ("how do we configure the pool", None),
    ],
)
def test_rows_of_the_specification(text: str, ref: str | None) -> None:
    assert days(text) == ref


def test_local_days_become_moments_of_the_zone() -> None:
    got = time_window("last 3 days", "2026-08-12T22:30:00Z", "Asia/Tokyo")  # the 13th there
    assert got is not None
    assert [each.astimezone(UTC).isoformat() for each in got] == [
        "2026-08-09T15:00:00+00:00",
        "2026-08-13T15:00:00+00:00",
    ]


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        # written dates
        ("the release on 2023-11-17", "2023-11-17 2023-11-18"),
        ("logs of 2023-11-17T08:00:00Z", "2023-11-17 2023-11-18"),
        ("1 January 2020", "2020-01-01 2020-01-02"),
        ("January 5th", "2026-01-05 2026-01-06"),
        ("Sept. 5, 2025", "2025-09-05 2025-09-06"),
        ("the 5th of May", "2026-05-05 2026-05-06"),
        ("December 5th", "2025-12-05 2025-12-06"),
        ("5/13/2026", "2026-05-13 2026-05-14"),
        ("13/5/2026", "2026-05-13 2026-05-14"),
        ("5/5/2026", "2026-05-05 2026-05-06"),
        ("1.2.2024", "2024-02-01 2024-02-02"),
        ("5-Jan-2024", "2024-01-05 2024-01-06"),
        ("Tuesday, 3 March 2026", "2026-03-03 2026-03-04"),
        ("Mar 2024", "2024-03-01 2024-04-01"),
        ("in 2024", "2024-01-01 2025-01-01"),
        ("the 1990s", "1990-01-01 2000-01-01"),
        # ranges
        ("between March and May 2025", "2025-03-01 2025-06-01"),
        ("between 3 and 5 March 2025", "2025-03-03 2025-03-06"),
        ("from January to March 2026", "2026-01-01 2026-04-01"),
        ("from November to February 2025", "2024-11-01 2025-03-01"),
        ("from Monday to Wednesday", "2026-08-10 2026-08-13"),
        ("Jan 5 - Jan 9, 2026", "2026-01-05 2026-01-10"),
        ("March 3-5, 2025", "2025-03-03 2025-03-06"),
        ("10–15 March 2025", "2025-03-10 2025-03-16"),
        ("2026-01-01..2026-02-01", "2026-01-01 2026-02-02"),
        ("between 2020 and 2022", "2020-01-01 2023-01-01"),
        ("April to June", "2026-04-01 2026-07-01"),
        ("between May 2025 and March 2024", "2024-03-01 2025-06-01"),
        # open ends
        ("since last week", "2026-08-03 2026-08-13"),
        ("since 2024", "2024-01-01 2026-08-13"),
        ("since two days ago", "2026-08-10 2026-08-13"),
        ("until yesterday", f"{EVER} 2026-08-12"),
        ("before March 2025", f"{EVER} 2025-03-01"),
        ("after 2025-01-31", "2025-02-01 2026-08-13"),
        ("after 2027-01-31", "2027-02-01 9999-12-31"),
        # beside now
        ("what did we decide last Tuesday about auth", "2026-08-11 2026-08-12"),
        ("last Wednesday", "2026-08-05 2026-08-06"),
        ("on Wednesday", "2026-08-12 2026-08-13"),
        ("on Friday morning", "2026-08-07 2026-08-08"),
        ("this Friday", "2026-08-14 2026-08-15"),
        ("Tuesday last week", "2026-08-04 2026-08-05"),
        ("last mon", "2026-08-10 2026-08-11"),
        ("last weekend", "2026-08-08 2026-08-10"),
        ("week before last", "2026-07-27 2026-08-03"),
        ("the day before yesterday", "2026-08-10 2026-08-11"),
        ("last March", "2026-03-01 2026-04-01"),
        ("last August", "2025-08-01 2025-09-01"),
        ("last year in March", "2025-03-01 2025-04-01"),
        ("last decade", "2010-01-01 2020-01-01"),
        ("yesterday at 15:30", "2026-08-11 2026-08-12"),
        # counts
        ("past week", "2026-08-05 2026-08-13"),
        ("over the past two months", "2026-06-12 2026-08-13"),
        ("the last few weeks", "2026-07-08 2026-08-13"),
        ("a few days ago", "2026-08-07 2026-08-11"),
        ("a couple of days ago", "2026-08-09 2026-08-12"),
        ("2 hours ago", "2026-08-12 2026-08-13"),
        ("15 hours ago", "2026-08-11 2026-08-12"),
        ("half a year ago", "2026-02-12 2026-02-13"),
        ("3 weeks and 2 days ago", "2026-07-20 2026-07-21"),
        ("0 days ago", "2026-08-12 2026-08-13"),
        ("2-4 days ago", "2026-08-08 2026-08-11"),
        ("from 2 to 4 days ago", "2026-08-08 2026-08-11"),
        ("two years ago in March", "2024-03-01 2024-04-01"),
        ("three days before yesterday", "2026-08-08 2026-08-09"),
        ("a week after May 5", "2026-05-12 2026-05-13"),
        ("this past weekend", "2026-08-08 2026-08-10"),
        ("over the weekend", "2026-08-08 2026-08-10"),
        # parts
        ("Q2 2025", "2025-04-01 2025-07-01"),
        ("2025-Q2", "2025-04-01 2025-07-01"),
        ("Q3 of last year", "2025-07-01 2025-10-01"),
        ("the second quarter of 2025", "2025-04-01 2025-07-01"),
        ("last quarter", "2026-04-01 2026-07-01"),
        ("H1 2025", "2025-01-01 2025-07-01"),
        ("second half of 2025", "2025-07-01 2026-01-01"),
        ("last summer", "2025-06-01 2025-09-01"),
        ("in the summer of 2025", "2025-06-01 2025-09-01"),
        ("winter 2025", "2025-12-01 2026-03-01"),
        ("in the fall", "2025-09-01 2025-12-01"),
        ("early March 2025", "2025-03-01 2025-03-11"),
        ("mid-2024", "2024-05-01 2024-09-01"),
        ("end of last month", "2026-07-22 2026-08-01"),
        ("beginning of the year", "2026-01-01 2026-05-01"),
        ("earlier this week", "2026-08-10 2026-08-13"),
        ("first week of March", "2026-03-01 2026-03-08"),
        ("last day of June 2026", "2026-06-30 2026-07-01"),
        ("the week of March 3", "2026-03-02 2026-03-09"),
        ("week 32 of 2025", "2025-08-04 2025-08-11"),
        ("2026-W05", "2026-01-26 2026-02-02"),
        ("the bill of 09/2025", "2025-09-01 2025-10-01"),
        # the modal verb, the step and the names, where they are months
        ("in may", "2026-05-01 2026-06-01"),
        ("the army may march in May", "2026-05-01 2026-06-01"),
        ("the May report", "2026-05-01 2026-06-01"),
        ("notes of march", "2026-03-01 2026-04-01"),
    ],
)
def test_english(text: str, ref: str) -> None:
    assert days(text) == ref


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        ("was haben wir letzten Montag besprochen", "2026-08-10 2026-08-11"),
        ("am 3. März 2025", "2025-03-03 2025-03-04"),
        ("seit 3 Tagen", "2026-08-09 2026-08-13"),
        ("was war in KW 32", "2026-08-03 2026-08-10"),
        ("Kalenderwoche 32", "2026-08-03 2026-08-10"),
        ("vor März 2025", f"{EVER} 2025-03-01"),
        ("letztes Jahr im März", "2025-03-01 2025-04-01"),
        ("lundi dernier", "2026-08-10 2026-08-11"),
        ("depuis janvier", "2026-01-01 2026-08-13"),
        ("aujourd'hui", "2026-08-12 2026-08-13"),
        ("les 3 derniers jours", "2026-08-09 2026-08-13"),
        ("il y a un mois", "2026-07-12 2026-07-13"),
        ("l'été dernier", "2025-06-01 2025-09-01"),
        ("el verano pasado", "2025-06-01 2025-09-01"),
        ("da marzo", "2026-03-01 2026-08-13"),
        ("los últimos 3 días", "2026-08-09 2026-08-13"),
        ("del 3 al 5 de marzo de 2025", "2025-03-03 2025-03-06"),
        ("due settimane fa", "2026-07-29 2026-07-30"),
        ("semana passada", "2026-08-03 2026-08-10"),
        ("3 dagen geleden", "2026-08-09 2026-08-10"),
        ("неделю назад", "2026-08-05 2026-08-06"),
        ("в прошлом месяце", "2026-07-01 2026-08-01"),
        ("w zeszłym tygodniu", "2026-08-03 2026-08-10"),
        ("förra veckan", "2026-08-03 2026-08-10"),
        ("geçen hafta", "2026-08-03 2026-08-10"),
        ("上周五", "2026-08-07 2026-08-08"),
        ("去年三月", "2025-03-01 2025-04-01"),
        ("2024年3月5日", "2024-03-05 2024-03-06"),
        ("从三月到五月", "2026-03-01 2026-06-01"),
        ("三月以来", "2026-03-01 2026-08-13"),
        ("2025年之前", f"{EVER} 2025-01-01"),
        ("上個月", "2026-07-01 2026-08-01"),
        ("先週", "2026-08-03 2026-08-10"),
        ("2ヶ月前", "2026-06-12 2026-06-13"),
        ("日曜日", "2026-08-09 2026-08-10"),
        ("지난주", "2026-08-03 2026-08-10"),
    ],
)
def test_other_languages(text: str, ref: str) -> None:
    assert days(text) == ref


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "v2024.01.05", "version 1.2.2024.1", "python 3.11", "10.0.0.1", "release 2026.8.1", "/notes/2024-01-05.md",
        "notes/2024-01-05-standup.md", "https://example.com/2024/01/05/post", "CVE-2024-1234", "RFC 2119", "$2024 spent",
        "€2,024", "2024%", "in 2000 tokens", "from 2000 to 3000 tokens", "after 2000 requests", "2048 dims", "limit of 2000",
        "call me at 555-2024", "id 2024-13-45", "2026-02-29", "uuid 550e8400-e29b-41d4-a716-446655440000", "commit 20240105",
        "user@2024-01-05.example.com", "may I ask a question", "she may have been right", "we march on", "they march to Rome",
        "port 8080 on march", "a second opinion", "second thoughts", "the last second", "the last d", "fall back to default",
        "the sat solver", "the cat sat on the mat", "sun and moon", "spring cleaning", "in spring boot 3", "H1 heading",
        "Q4 quantized model", "APR 5%", "since version 3", "a pump of 3 kW", "9/2000 of the rows", "13/2026", "since then", "a week", "for two weeks", "how many tokens per day",
        "every Monday", "Mondays", "plans for the summer", "next steps", "previous decision", "the last commit in main", "sprint 12", "error at 12:30",
        "the third week", "now", "in the morning", "was ist hier passiert", "ask April about it", "june 0000", "十亿年前",
        "上下文", "三个月", "每周一", "日本語のテキスト",
    ],
)  # fmt: skip
def test_no_time_is_meant(text: str) -> None:
    assert time_window(text, NOW) is None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("5/1/2026", "ambiguous"),
        ("next week", "week"),
        ("next Friday", "weekday"),
        ("next 3 days", "rolling"),
        ("下周", "week"),
        ("this morning", "daypart"),
        ("last night", "daypart"),
        ("a few years ago", "vague"),
    ],
)
def test_what_is_understood_but_no_filter(text: str, kind: str) -> None:
    got = understand_time(text, NOW)
    assert got.kind == kind
    assert got.window is not None
    assert got.confidence < MIN_CONFIDENCE
    assert time_window(text, NOW) is None


def test_the_phrase_and_its_place_are_given() -> None:
    text = "what did we decide last Tuesday about auth, and yesterday?"
    got = understand_time(text, NOW)
    assert got.phrase == "last Tuesday"
    assert text[slice(*got.span)] == got.phrase
    assert got.kind == "weekday"
    assert 0 < got.confidence <= 1
    assert understand_time("nothing of the kind", NOW) == NOTHING


def test_a_surer_phrase_goes_before_an_unsure_one() -> None:
    assert understand_time("next week's plan from 2026-08-01", NOW).phrase == "from 2026-08-01"


def test_an_event_is_named_where_no_date_is() -> None:
    got = understand_time("what did we use before the database migration?", NOW)
    assert got.kind == "event"
    assert got.event == "the database migration"
    assert got.phrase == "before the database migration"
    assert got.window is None


def test_a_phrase_at_either_end_of_a_long_text_is_found() -> None:
    filler = "word " * 20_000
    for text in ("yesterday " + filler, filler + "yesterday"):
        got = understand_time(text, NOW)
        assert got.phrase == "yesterday"
        assert text[slice(*got.span)] == "yesterday"
    assert len(filler) > MAX_CHARS


# clocks and zones


def test_days_on_which_the_clock_changes() -> None:
    for now, hours in (("2026-03-29T12:00:00", 23), ("2026-10-25T12:00:00", 25), ("2026-10-26T12:00:00", 24)):
        got = time_window("today", now, "Europe/Berlin")
        assert got is not None
        assert (got[1].astimezone(UTC) - got[0].astimezone(UTC)) == timedelta(hours=hours)


def test_a_day_without_a_midnight_begins_at_the_change() -> None:
    got = time_window("2018-11-04", NOW, "America/Sao_Paulo")  # 00:00 became 01:00
    assert got is not None
    assert got[0].astimezone(UTC) == datetime(2018, 11, 4, 3, tzinfo=UTC)
    assert got[1].astimezone(UTC) == datetime(2018, 11, 5, 2, tzinfo=UTC)


def test_a_day_with_two_midnights_begins_at_the_first() -> None:
    got = time_window("2025-11-02", NOW, "America/Havana")  # 01:00 became 00:00
    assert got is not None
    assert got[0].astimezone(UTC) == datetime(2025, 11, 2, 4, tzinfo=UTC)


def test_hours_are_counted_in_real_time() -> None:
    got = time_window("last 24 hours", "2026-03-29T12:00:00", "Europe/Berlin")
    assert got is not None
    assert got[0] == datetime(2026, 3, 28, 11, tzinfo=ZoneInfo("Europe/Berlin"))


def test_midnight_belongs_to_the_new_day() -> None:
    assert days("today", "2026-01-01T00:00:00") == "2026-01-01 2026-01-02"
    assert days("yesterday", "2026-01-01T00:00:00") == "2025-12-31 2026-01-01"
    assert days("today", "2025-12-31T23:59:59.999999") == "2025-12-31 2026-01-01"
    assert days("today", "2026-01-01T00:30:00Z", "America/New_York") == "2025-12-31 2026-01-01"


def test_the_29th_of_february() -> None:
    assert days("a year ago", "2024-02-29") == "2023-02-28 2023-03-01"
    assert days("a month ago", "2024-03-31") == "2024-02-29 2024-03-01"
    assert days("Feb 29", "2026-08-12") == "2024-02-29 2024-03-01"
    assert days("february 2100", "2026-08-12") == "2100-02-01 2100-03-01"
    assert days("February 29 2100", "2026-08-12") == "2100-02-01 2100-03-01"  # no such day: the month was meant


def test_the_edges_of_the_calendar() -> None:
    assert days("december 0001") == "0001-12-01 0002-01-01"
    assert days("december 9999") == "9999-12-01 9999-12-31"
    assert time_window("yesterday", "0001-01-01T00:00:00") is None
    assert time_window("tomorrow", "9999-12-31T00:00:00") is None
    got = time_window("today", "9999-12-31T12:00:00")
    assert got == (datetime(9999, 12, 31, tzinfo=UTC), datetime.max.replace(tzinfo=UTC))


def test_any_form_of_now_gives_the_same() -> None:
    moment = datetime(2026, 8, 12, 14, 30, tzinfo=UTC)
    us = round(moment.timestamp()) * 1_000_000
    ref = time_window("yesterday", moment)
    for now in (us, "2026-08-12T14:30:00Z", datetime(2026, 8, 12, 14, 30), moment.astimezone(ZoneInfo("Asia/Tokyo"))):
        assert time_window("yesterday", now) == ref


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(InvalidArgument, match="tz='Mars/Olympus'"):
        time_window("today", NOW, "Mars/Olympus")
    wrongs: tuple[Any, ...] = ("soon", None, True, 1.5, 10**30, -(10**30), [], date(2026, 1, 1))
    for wrong in wrongs:
        with pytest.raises(InvalidArgument, match="now"):
            time_window("today", wrong)
    with pytest.raises(InvalidArgument, match="now"):
        time_window("today", "0001-01-01T00:00:00Z", "America/New_York")
    with pytest.raises(InvalidArgument, match="text"):
        time_window(b"today", NOW)  # type: ignore[arg-type]


# any text

WORDS = st.sampled_from(
    ["yesterday", "last", "next", "this", "past", "ago", "since", "until", "before", "after", "between", "from", "to", "and", "of", "the", "in", "on", "a", "few", "couple", "3", "12", "31", "0", "2024", "0000", "9999", "999999999", "days", "week", "months", "years", "weekend", "monday", "sat", "march", "may", "jan", "spring", "quarter", "half", "first", "early", "end", "mid-2024", "Q4", "H1", "2024-02-30", "1.1.0001", "31/12/9999", "9999-12-31", "0001-01-01", "10-15", "2020-2022", ",", ".", "-", "–", "3d", "1mon", "vor", "hace", "il", "y", "a", "fa", "назад", "год", "пару", "上周", "三", "个月前", "年", "前", "到", "最近", "九", "9999年", "十二月", "31日", "后天"]
)  # fmt: skip
NOWS = st.sampled_from(["0001-01-01T00:00:00", "2024-02-29T12:00:00", "9999-12-31T23:59:59.999999", NOW])


@given(st.lists(WORDS, max_size=12).map(" ".join), NOWS)
def test_words_of_time_in_any_order_never_raise(text: str, now: str) -> None:
    got = understand_time(text, now)
    if got.window is not None:
        start, end = got.window
        assert start < end
        assert text[slice(*got.span)] == got.phrase
        assert 0 < got.confidence <= 1


@given(st.text(), NOWS)
def test_no_text_raises(text: str, now: str) -> None:
    got = understand_time(text, now)
    assert got.window is None or got.window[0] < got.window[1]


@given(st.lists(WORDS, max_size=12).map("".join))
def test_joined_words_never_raise(text: str) -> None:
    assert understand_time(text, NOW) == understand_time(text, NOW)


@given(st.integers(0, 10**12), st.sampled_from(["seconds", "hours", "days", "weeks", "months", "years", "decades"]))
def test_absurd_counts_mean_nothing(count: int, unit: str) -> None:
    for text in (f"{count} {unit} ago", f"last {count} {unit}", f"next {count} {unit}", f"{count}年前"):
        got = understand_time(text, NOW)
        assert got.window is None or got.window[0].year <= got.window[1].year


@given(st.dates(date(1, 1, 2), date(9998, 12, 30)))
def test_every_written_day_is_its_own_window(day: date) -> None:
    after = day + timedelta(days=1)
    for text in (day.isoformat(), f"{day.day} {day:%B} {day.year:04}", f"{day.year:04}年{day.month}月{day.day}日"):
        assert days(text) == f"{day} {after}", text


@pytest.mark.parametrize(
    "unit", ["a ", "of the ", "week of ", "march 3 ", "last ", "1-", "(", "三", "上周末", "between 3 and ", "é"]
)
def test_long_texts_are_quick(unit: str) -> None:
    text = (unit * 100_000)[:100_000]
    best = 1.0
    for _ in range(3):
        started = time.process_time()
        understand_time(text, NOW)
        best = min(best, time.process_time() - started)
    assert best < 0.05


def test_reading_time_needs_the_standard_library_and_msgspec_alone() -> None:
    code = (
        "import sys; from lamina_engine.time.relations import read_phrases; "
        "print(any(name.split('.')[0] in ('dateparser', 'dateutil', 'regex', 'pytz', 'pandas') for name in sys.modules))"
    )
    got = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True).stdout
    assert got.strip() == "False"

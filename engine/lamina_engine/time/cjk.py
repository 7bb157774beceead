"""Time phrases in Chinese, Japanese and Korean: one pattern over text without blanks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Final, NamedTuple

from lamina_engine.expressions import late
from lamina_engine.time import calendar
from lamina_engine.time.calendar import DAY, EARLIEST, Span
from lamina_engine.time.phrases import PeriodParser
from lamina_engine.time.relations import TimePhrase, join_periods
from lamina_engine.time.relative import PLANNED, Period
from lamina_engine.time.tokens import quarter_of_year

_PRESENT: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_PLAIN: Final = str.maketrans("週個號後這過兩禮間來從開", "周个号后这过两礼间来从开")
"""Traditional and Japanese characters as their simplified ones, one for one, so that places stay."""
_DIGITS: Final = {**{digit: value for value, digit in enumerate("〇一二三四五六七八九")}, "零": 0, "两": 2}
_TENS: Final = {"十": 10, "百": 100, "千": 1000, "万": 10_000, "亿": 100_000_000}
_COUNT: Final = "(?:[0-9]{1,9}|[一二两三四五六七八九十百千万亿零〇几数半]{1,9})"
_SMALL: Final = "(?:[0-9]{1,2}|[一二三四五六七八九十]{1,3})"
_UNIT: Final = "(?:天|日间|日|个?星期|个?礼拜|周间|周|个月|[ヶかヵカ]月|个?季度|年间|年|个?小时|时间|分钟|分|일|주일|주|개월|달|년|시간|분)"
_WEEK: Final = "(?:周|星期|礼拜)"
_DAYS: Final = {
    "大前天": -3, "前天": -2, "一昨日": -2, "おととい": -2, "그저께": -2, "昨天": -1, "昨日": -1, "きのう": -1,
    "어제": -1, "今天": 0, "今日": 0, "きょう": 0, "오늘": 0, "明天": 1, "明日": 1, "あした": 1, "내일": 1,
    "后天": 2, "明后日": 2, "大后天": 3, "모레": 2,
}  # fmt: skip
_YEARS: Final = {
    "大前年": -3, "前年": -2, "一昨年": -2, "재작년": -2, "去年": -1, "昨年": -1, "작년": -1, "지난해": -1,
    "今年": 0, "올해": 0, "明年": 1, "来年": 1, "내년": 1, "后年": 2,
}  # fmt: skip
_SIDES: Final = {
    "上上": -2, "先々": -2, "上": -1, "先": -1, "지난": -1, "这": 0, "本": 0, "今": 0, "이번": 0, "下": 1, "来": 1, "다음": 1, "下下": 2,
}  # fmt: skip
_WEEKDAYS: Final = {
    **{name: value for value, name in enumerate("一二三四五六日")}, "天": 6, **{name: value for value, name in enumerate("月火水木金土")},
    **{name: value for value, name in enumerate("월화수목금토일")},
}  # fmt: skip
_SEASONS: Final = {"春": "spring", "夏": "summer", "秋": "autumn", "冬": "winter"}


def _any(names: dict[str, int]) -> str:
    return "|".join(sorted(names, key=lambda name: (-len(name), name)))


_YEAR: Final = rf"(?:(?:[0-9]{{4}}|[〇零一二三四五六七八九]{{4}})\s?[年년]|{_any(_YEARS)})"
_FORMS: Final = (
    ("date", rf"(?:(?P<date_y>{_YEAR})的?\s?)?(?P<date_m>{_SMALL})\s?[月월]\s?(?P<date_d>{_SMALL})\s?[日号일]"),
    ("month", rf"(?:(?P<month_y>{_YEAR})[的の]?\s?)?(?P<month_m>{_SMALL})\s?(?:月份?|월)(?![0-9曜])"),
    ("quarter", rf"(?:(?P<quarter_y>{_YEAR})的?)?第?(?P<quarter_n>[一二三四1-4])季度?"),
    ("half", rf"(?:(?P<half_y>{_YEAR})的?)?(?P<half_n>[上下])半[年期]"),
    ("season", rf"(?P<season_y>{_YEAR})[的の]?(?P<season_n>[春夏秋冬])[天季]?"),
    ("ago", rf"(?!(?:1[89]|2[01])[0-9]{{2}}年)(?P<ago_n>{_COUNT})\s?多?(?P<ago_u>{_UNIT})\s?(?:以前|之前|前|전)"),
    ("rolling", rf"(?:最近|过去|近|前|这|直近|この|지난|최근)の?的?\s?(?P<rolling_n>{_COUNT})\s?(?P<rolling_u>{_UNIT})(?!前|后)"),
    ("weekend", rf"(?P<weekend_s>{_any(_SIDES)})个?\s?(?:周末|주말)"),
    ("weekday", rf"(?<!每)(?:(?P<weekday_s>{_any(_SIDES)})个?{_WEEK}|{_WEEK}(?!期))(?P<weekday_n>[一二三四五六日天])(?!个|年|月)"),
    ("曜", rf"(?<!毎)(?:(?P<曜_s>{_any(_SIDES)})\s?[周주][の]?\s?)?(?P<曜_n>[月火水木金土日]曜日?|[월화수목금토일]요일)"),
    ("unit", rf"(?P<unit_s>{_any(_SIDES)})个?\s?(?P<unit_u>周|星期|礼拜|月|季度|年|주|달)(?![期曜份])"),
    ("day", f"(?P<day_n>{_any(_DAYS)})(?!の?ように)"),
    ("year", f"(?P<year_y>{_YEAR})(?!级|度计)"),
)  # fmt: skip
_UNITS: Final = {
    "天": "day", "日": "day", "일": "day", "周": "week", "星": "week", "礼": "week", "주": "week",
    "月": "month", "개": "month", "달": "month", "季": "quarter", "年": "year", "년": "year", "小": "hour",
    "时": "hour", "시": "hour", "分": "minute", "분": "minute",
}  # fmt: skip


_BRIDGES: Final = frozenset("到至~～-–—から")
_SINCE_MARKS: Final = ("以来", "以后", "之后", "以降", "起", "开始", "から", "이후", "부터")
_BEFORE_MARKS: Final = ("之前", "以前", "前", "이전")


class _Match(NamedTuple):
    """A period and its position in the text."""

    period: Period
    start: int
    end: int


_PERIOD: Final = late(rf"(?<![0-9A-Za-z./_-])(?:{'|'.join(f'(?P<{name}>{form})' for name, form in _FORMS)})")


def _read_matches(text: str, now: datetime) -> Iterator[_Match]:
    """Yield the periods that a text names in Chinese, Japanese or Korean, in order; O(length)."""
    if not _PRESENT.search(text):
        return
    reader = _Reader(now)
    for match in _PERIOD.finditer(text.translate(_PLAIN)):
        period = reader.read(match)
        if period is not None:
            yield _Match(period, match.start(), match.end())


class _Reader:
    """Reader of pattern matches at one moment."""

    def __init__(self, now: datetime) -> None:
        self.today = now.date()
        self.periods = PeriodParser("", [], now)
        self._rules: dict[str, Callable[[re.Match[str]], Period | None]] = {
            "date": self._date,
            "month": self._month,
            "quarter": self._quarter,
            "half": self._quarter,
            "season": self._season,
            "ago": self._ago,
            "rolling": self._rolling,
            "weekend": self._weekend,
            "weekday": self._weekday,
            "曜": self._weekday,
            "unit": self._unit,
            "day": self._day,
            "year": self._year,
        }

    def read(self, match: re.Match[str]) -> Period | None:
        return self._rules[next(name for name in self._rules if match[name] is not None)](match)

    def _date(self, match: re.Match[str]) -> Period | None:
        month, number = _number(match["date_m"]), _number(match["date_d"])
        if match["date_y"]:
            span = calendar.day(self._year_of(match["date_y"]), month, number)
            return span and Period(span, "date", 0.97)
        return self.periods.in_latest_year(lambda year: calendar.day(year, month, number), "day", 0.9)

    def _month(self, match: re.Match[str]) -> Period | None:
        month = _number(match["month_m"])
        if match["month_y"]:
            span = calendar.months(self._year_of(match["month_y"]), month) if month <= 12 else None
            return span and Period(span, "month", 0.95)
        if month > 12:
            return None
        return self.periods.in_latest_year(lambda year: calendar.months(year, month), "month", 0.75)

    def _quarter(self, match: re.Match[str]) -> Period | None:
        letter = "q" if match["quarter"] else "h"
        year = match["quarter_y"] or match["half_y"]
        number = _number(match["quarter_n"]) if match["quarter"] else (1 if match["half_n"] == "上" else 2)
        written = quarter_of_year(self._year_of(year) if year else self.today.year, letter, number)
        return written and Period(written.span, written.kind, 0.95 if year else 0.75)

    def _season(self, match: re.Match[str]) -> Period | None:
        span = calendar.season(self._year_of(match["season_y"]), _SEASONS[match["season_n"]])
        return span and Period(span, "season", 0.8)

    def _ago(self, match: re.Match[str]) -> Period | None:
        unit = _unit(match["ago_u"])
        if match["ago_n"] in "几数":
            return self.periods.days_ago(2, 5, unit)
        if match["ago_n"] == "半":
            return self.periods.days_ago(*((6, 6, "month") if unit == "year" else (15, 15, "day")))
        count = _number(match["ago_n"])
        return self.periods.days_ago(count, count, unit)

    def _rolling(self, match: re.Match[str]) -> Period | None:
        unit, count = _unit(match["rolling_u"]), match["rolling_n"]
        if count == "半":
            return self.periods.rolling_window(*((6, "month") if unit == "year" else (15, "day")))
        return self.periods.rolling_window(5 if count in "几数" else _number(count), unit)

    def _weekend(self, match: re.Match[str]) -> Period | None:
        side = _SIDES[match["weekend_s"]]
        span = calendar.last_weekend(self.today) if side == -1 else calendar.unit_at(self.today, "weekend", side)
        return span and Period(span, "weekend", _confidence_of_side(side))

    def _weekday(self, match: re.Match[str]) -> Period | None:
        side = match["weekday_s"] or match["曜_s"]
        weekday = _WEEKDAYS[(match["weekday_n"] or match["曜_n"])[0]]
        if match["曜_n"] == "日曜" or (match["曜_n"] or "").startswith("日"):
            weekday = 6
        if side:
            week = calendar.unit_at(self.today, "week", _SIDES[side])
            span = week and Span(week.start + weekday * DAY, week.start + (weekday + 1) * DAY)
        else:
            span = calendar.unit_at(self.today, "day", -((self.today.weekday() - weekday) % 7))
        return span and Period(span, "weekday", _confidence_of_side(_SIDES[side]) if side else 0.8)

    def _unit(self, match: re.Match[str]) -> Period | None:
        unit = _unit(match["unit_u"])
        span = calendar.unit_at(self.today, unit, _SIDES[match["unit_s"]])
        return span and Period(span, unit, _confidence_of_side(_SIDES[match["unit_s"]]))

    def _day(self, match: re.Match[str]) -> Period | None:
        span = calendar.unit_at(self.today, "day", _DAYS[match["day_n"]])
        return span and Period(span, "relative", 0.95)

    def _year(self, match: re.Match[str]) -> Period | None:
        span = calendar.months(self._year_of(match["year_y"]), 1, 12)
        return span and Period(span, "year", _confidence_of_side(_YEARS.get(match["year_y"], 0)))

    def _year_of(self, text: str) -> int:
        if text in _YEARS:
            return self.today.year + _YEARS[text]
        digits = text[:4]
        return int(digits) if digits.isascii() else int("".join(str(_DIGITS[digit]) for digit in digits))


def _confidence_of_side(side: int) -> float:
    """Return a confidence; that of a plan for what is still to come."""
    return PLANNED if side > 0 else 0.9


def _unit(text: str) -> str:
    name = text.removeprefix("个").lstrip("ヶかヵカ")
    return _UNITS[name[0]]


def _number(text: str) -> int:
    """Return a number written in digits or in characters (``十二``, ``二十三``, ``十亿``)."""
    if text.isascii():
        return int(text)
    total = section = digit = 0
    for letter in text:
        if letter in _DIGITS:
            digit = _DIGITS[letter]
        elif letter in _TENS and _TENS[letter] < 10_000:
            section += (digit or 1) * _TENS[letter]
            digit = 0
        elif letter in _TENS:
            total += (section + digit or 1) * _TENS[letter]
            section = digit = 0
    return total + section + digit


def read_cjk_phrases(text: str, now: datetime) -> Iterator[TimePhrase]:
    """Yield the phrases of a text without blanks, with their marks (``从…到…``, ``…以来``)."""
    previous: _Match | None = None
    for each in _read_matches(text, now):
        joined = previous and _join_across_bridge(text, previous, each)
        if joined is not None and previous is not None:
            yield TimePhrase(joined.span, "range", joined.confidence, previous.start, each.end)
            previous = None
            continue
        if previous is not None:
            yield _apply_mark(text, previous, now)
        previous = each
    if previous is not None:
        yield _apply_mark(text, previous, now)


def _join_across_bridge(text: str, left: _Match, right: _Match) -> Period | None:
    """Return the range of two periods with nothing but a bridge between them."""
    between = text[left.end : right.start].strip() if right.start - left.end <= 3 else ""
    return join_periods(left.period, right.period) if between and set(between) <= _BRIDGES else None


def _apply_mark(text: str, each: _Match, now: datetime) -> TimePhrase:
    """Apply the mark that follows a period: since it, before it."""
    period = each.period
    tomorrow = (now.date().toordinal() + 1) * DAY
    for mark in (*_SINCE_MARKS, *_BEFORE_MARKS):
        if not text.startswith(mark, each.end) or period.kind in ("ago", "rolling", "vague"):
            continue
        since = mark in _SINCE_MARKS
        span = Span(period.span.start, tomorrow) if since else Span(EARLIEST, period.span.start)
        if span.start < span.end:
            kind = "since" if since else "before"
            return TimePhrase(span, kind, period.confidence * 0.9, each.start, each.end + len(mark))
    return TimePhrase(period.span, period.kind, period.confidence, each.start, each.end, period.about_days)

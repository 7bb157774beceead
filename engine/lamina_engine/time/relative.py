"""Periods relative to now: ``3 days ago``, ``last week``, ``le mois dernier``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime
from typing import Any, ClassVar, Final, NamedTuple

from lamina_engine.time import calendar
from lamina_engine.time.calendar import DAY, Span
from lamina_engine.time.lexicon import (
    ALL_LANGUAGES,
    COUNTED_NOUNS,
    FALSE_FRIENDS,
    SIDE_LAST,
    UNIT_ALONE,
    Sense,
    guess_languages,
)
from lamina_engine.time.tokens import Token

OfYear = Callable[[int], Span | None]
_SMALL_WORDS: Final = frozenset(
    {"in", "on", "since", "until", "before", "after", "from", "between", "and", "to", "of", "the", "every", "part"}
)
"""Words that are short and mean something else in other languages: they count in the language of the question only."""
_MAX_DEPTH: Final = 4
"""Nesting of periods: ``end of the first week of last March``; deeper is no sentence."""
_MAX_SKIPPED: Final = 3
"""Most small words between two that belong together; it keeps a text of small words linear."""
_MARKING: Final = ("in", "since", "until", "part", "last", "this", "next", "ordinal")
"""Meanings of words before a name that make it a time; ``from``, ``of`` and ``before`` stand before people too."""
_ON_A_DAY: Final = frozenset({"on", "am", "at"})
_DETERMINERS: Final = frozenset("our my your their vom zum unser unserem mein dein euer".split())  # noqa: SIM905
PLANNED: Final = 0.45
"""Confidence of the future ("next week"): plans were recorded before, so it stays below that of a filter."""


class Period(NamedTuple):
    """A span with its kind; ``of_year`` gives it for another year where the text names none."""

    span: Span
    kind: str
    confidence: float
    of_year: OfYear | None = None
    about_days: int = 0
    """Days on either side that are meant too: ``two months ago`` names a day and means about then."""
    bare: bool = False
    """A month, a weekday or a season of which nothing else says that it is a time: it may be somebody's name."""


Reading = tuple[Period, int] | None
"""A period and the place behind its words."""
Rule = Callable[[Any, int, int], Reading]
"""Reads what begins at a place of a stream, after a cue."""


def with_end(period: Period | None, end: int) -> Reading:
    """Return a reading of a period that may not exist."""
    return None if period is None else (period, end)


class TokenStream:
    """The tokens of one question, at one moment."""

    rules: ClassVar[Mapping[str, tuple[Rule, ...]]] = {}
    """By the category of the word that they begin with."""

    def __init__(self, text: str, tokens: list[Token], now: datetime) -> None:
        self.text = text
        self.tokens = tokens
        self.now = now
        self.today: date = now.date()
        self.languages = guess_languages(token.text for token in tokens)
        self._depth = 0
        self._known: dict[tuple[int, int, int], Reading] = {}

    def sense(self, place: int, category: str) -> Sense | None:
        """Return a meaning of the lexeme at a place, if it has it in the language of the question."""
        if not 0 <= place < len(self.tokens):
            return None
        sense = self.tokens[place].senses.get(category)
        if sense is None or (category in _SMALL_WORDS and not sense.languages & self.languages):
            return None
        return sense

    def skip(self, place: int, *categories: str) -> int:
        """Return the first place from here on, a few words at most, that has none of some meanings."""
        for at in range(place, place + _MAX_SKIPPED):
            if not any(self.sense(at, category) for category in categories):
                return at
        return place + _MAX_SKIPPED

    def read(self, place: int, cue: int = 0) -> Reading:
        """Return the longest period that begins at a place."""
        if place >= len(self.tokens) or self._depth >= _MAX_DEPTH:
            return None
        key = place, cue, self._depth
        if key in self._known:
            return self._known[key]
        best: Reading = None
        self._depth += 1
        for category in self.tokens[place].senses:
            for rule in self.rules.get(category, ()):
                got = rule(self, place, cue)
                if got is not None and (best is None or got[1] > best[1]):
                    best = got
        self._depth -= 1
        self._known[key] = best
        return best

    def month_at(self, place: int) -> int | None:
        """Return the month that a name or its abbreviation means."""
        sense = self.sense(place, "month") or self.sense(place, "abbreviation")
        return int(sense.value) if sense else None

    def has_marker(self, place: int) -> bool:
        """Return True if words before a name mark it as a time: ``in``, ``since``, ``end of the``."""
        for at in range(place - 1, -1, -1):
            marks = any(self.sense(at, word) for word in _MARKING)
            if marks or not (self.sense(at, "the") or self.sense(at, "of")):
                before = self.tokens[at].text
                on = "weekday" in self.tokens[place].senses and before in _ON_A_DAY
                return before != "by" and (on or marks)
        return False

    def is_foreign(self, place: int, sense: Sense, cue: int) -> bool:
        """Return True if a name is a time in other languages alone, and none marks it here."""
        return not sense.languages & self.languages and cue != ALL_LANGUAGES and not self.has_marker(place)

    def is_bare(self, place: int) -> bool:
        """Return True if nothing before a name marks it as a time, nor is there an article."""
        return not self.has_marker(place) and not (
            self.sense(place - 1, "the") or (place > 0 and self.tokens[place - 1].text in _DETERMINERS)
        )

    def is_counted(self, place: int) -> bool:
        """Return whether a number counts something: ``in 2000 tokens`` names no year."""
        return place + 1 < len(self.tokens) and (
            self.tokens[place + 1].text in COUNTED_NOUNS or bool(self.sense(place + 1, "unit"))
        )


_SHORT_WORDS: Final = frozenset({"ay"})
"""Units of two letters that are words: the Turkish month."""
_HOURS: Final = {"morning": (0, 12), "afternoon": (12, 18), "evening": (17, 24), "night": (18, 30)}
"""Hours of a day that its parts mean; a night ends on the next morning."""
_VAGUE: Final = {"couple": (1, 3), "few": (2, 5)}
"""From how many to how many units a vague number means."""
_VAGUE_DAYS: Final = {"day": 1, "week": 7, "fortnight": 14, "month": 30, "quarter": 91, "half": 182, "year": 365}
_ABOUT_DAYS: Final = {"week": 4, "fortnight": 7, "month": 15, "quarter": 45, "half": 61, "year": 91, "decade": 1826}
"""Days around the one that a count of units names: half a unit, and of a year a quarter, for "half a year" is a word too."""
_COARSE: Final = frozenset({"month", "quarter", "half", "year", "decade"})
"""Units that name a single day and mean the days around it."""


class RelativeRules(TokenStream):
    """Rules of counted units, and of units, weekdays, months and seasons beside now."""

    def counts(self, place: int) -> Iterator[tuple[int, int, str, int]]:
        """Yield fewest, most, unit and next position of a count: ``3 days``, ``2-4 weeks``."""
        number, vague = self.sense(place, "number"), self.sense(place, "vague")
        at = place + 1
        unit = self.sense(at, "unit")
        if number is not None and vague is None and unit is not None and unit.languages & number.languages:
            yield int(number.value), int(number.value), str(unit.value), at + 1
        elif number is not None and (self.sense(at, "to") or self.sense(at, "dash")):
            last, counted = self.sense(at + 1, "number"), self.sense(at + 2, "unit")
            if last is not None and counted is not None and int(number.value) < int(last.value):
                yield int(number.value), int(last.value), str(counted.value), at + 3
        elif vague is not None and unit is not None and unit.languages & vague.languages:
            few, many = _VAGUE[str(vague.value)]
            yield few, many, str(unit.value), at + 1

    def _ago(self, place: int, _cue: int) -> Reading:
        """Read ``3 days ago``, ``2 weeks and 3 days ago``."""
        for few, many, unit, end in self.counts(place):
            if self._is_ago(end):
                inside = self.month_in_year(few, end + 1) if unit == "year" and few == many else None
                return inside or with_end(self.days_ago(few, many, unit), end + 1)
            at = self.skip(end, "and", "comma")
            for more, _, smaller, stop in self.counts(at):
                if at > end and few == many and self._is_ago(stop):
                    return with_end(self._both_ago((few, unit), (more, smaller)), stop + 1)
        return None

    def month_in_year(self, years: int, place: int) -> Reading:
        """Read the month of ``last year in March``, ``two years ago in March``."""
        month = self.month_at(self.skip(place, "in", "of"))
        span = calendar.months(self.today.year - years, month) if month else None
        return span and (Period(span, "month", 0.9), self.skip(place, "in", "of") + 1)

    def _is_ago(self, place: int) -> bool:
        """Return whether ``ago`` stands here, in the language of the unit before it."""
        ago, unit = self.sense(place, "ago"), self.sense(place - 1, "unit")
        return ago is not None and unit is not None and bool(ago.languages & unit.languages)

    def _both_ago(self, *steps: tuple[int, str]) -> Period | None:
        when: date | None = self.today
        for count, unit in steps:
            when = None if when is None or calendar.is_short(unit) else calendar.moved(when, unit, -count)
        span = calendar.span_of_days(when) if when else None
        return span and Period(span, "ago", 0.8)

    def _half_ago(self, place: int, _cue: int) -> Reading:
        """Read ``half a year ago``."""
        if self.tokens[place].text != "half":
            return None
        for _few, _many, unit, end in self.counts(place + 1):
            halves = {"year": (6, "month"), "month": (15, "day"), "decade": (5, "year"), "day": (12, "hour")}.get(unit)
            if halves is not None and self._is_ago(end):
                return with_end(self.days_ago(halves[0], halves[0], halves[1]), end + 1)
        return None

    def _ago_before(self, place: int, _cue: int) -> Reading:
        """Read ``hace 5 días``, ``il y a 5 jours``, ``vor 5 Tagen``."""
        before = self.sense(place, "ago_before")
        for few, many, unit, end in self.counts(place + 1):
            if before is not None and before.languages & self.tokens[end - 1].senses["unit"].languages:
                return with_end(self.days_ago(few, many, unit), end)
        return None

    def _unit_ago(self, place: int, _cue: int) -> Reading:
        """Read ``неделю назад``: one unit, without its number."""
        unit, ago = self.sense(place, "unit"), self.sense(place + 1, "ago")
        if unit is None or ago is None or not unit.languages & ago.languages & UNIT_ALONE:
            return None
        return with_end(self.days_ago(1, 1, str(unit.value)), place + 2)

    def days_ago(self, few: int, many: int, unit: str) -> Period | None:
        """Return the day so many units back; a vague number gives all the days it can mean."""
        if few != many:
            size = _VAGUE_DAYS.get(unit, 0)
            first, last = (calendar.moved(self.today, "day", -count * size) for count in (many, few))
            if not size or first is None or last is None:
                return None
            span = Span(first.toordinal() * DAY, (last.toordinal() + 1) * DAY)
            return Period(span, "vague", 0.4 if unit == "year" else 0.6)
        when: date | None
        if calendar.is_short(unit):
            moment = calendar.moved_hours(self.now, unit, -few)
            when = moment.date() if moment else None
        else:
            when = None if unit == "weekend" else calendar.moved(self.today, unit, -few)
        day = calendar.span_of_days(when) if when else None
        return day and Period(day, "ago", 0.65 if unit in _COARSE else 0.85, about_days=_ABOUT_DAYS.get(unit, 0))

    def _rolling(self, place: int, _cue: int) -> Reading:
        """Read ``last 3 days``, ``past week``, ``next two weeks``, ``letzten 3 Tage``."""
        forward = self.sense(place, "next")
        head = forward or self.sense(place, "last") or self.sense(place, "rolling")
        if head is None:
            return None
        for _few, many, unit, end in self.counts(place + 1):
            if head.languages & self.tokens[end - 1].senses["unit"].languages:
                return with_end(self.rolling_window(many if forward is None else -many, unit), end)
        unit_sense = self.sense(place + 1, "unit")
        if self.sense(place, "rolling") and unit_sense is not None and unit_sense.languages & head.languages:
            name = str(unit_sense.value)
            if name == "weekend":
                return with_end(self._last_weekend(), place + 2)
            return with_end(self.rolling_window(1, name), place + 2)
        return None

    def _last_weekend(self) -> Period | None:
        span = calendar.last_weekend(self.today)
        return span and Period(span, "weekend", 0.9)

    def _rolling_after_number(self, place: int, _cue: int) -> Reading:
        """Read ``3 derniers jours``, ``3 last days`` of Romance languages, ``3 días pasados``."""
        number = self.sense(place, "number") or self.sense(place, "vague")
        last, unit = self.sense(place + 1, "last"), self.sense(place + 2, "unit")
        if number is None or last is None or unit is None or not last.languages & unit.languages & SIDE_LAST:
            return None
        many = int(number.value) if self.sense(place, "number") else _VAGUE[str(number.value)][1]
        return with_end(self.rolling_window(many, str(unit.value)), place + 3)

    def rolling_window(self, count: int, unit: str) -> Period | None:
        """Return the span from so many units back to the end of today; forward where negative."""
        if calendar.is_short(unit):
            moment = calendar.moved_hours(self.now, unit, -count) if count > 0 else None
            if moment is None:
                return None
            return Period(Span(calendar.wall_minute(moment), (self.today.toordinal() + 1) * DAY), "rolling", 0.8)
        other = calendar.moved(self.today, unit, -count) if unit != "weekend" and count else None
        if other is None:
            return None
        first, last = sorted((other, self.today))
        span = Span(first.toordinal() * DAY, (last.toordinal() + 1) * DAY)
        return Period(span, "rolling", 0.85 if count > 0 else PLANNED)

    def _relative(self, place: int, _cue: int) -> Reading:
        sense = self.sense(place, "relative")
        # "hier" is here in German and yesterday in French
        if sense is None or (self.tokens[place].text in FALSE_FRIENDS and not sense.languages & self.languages):
            return None
        end = place + 1
        while self.sense(end, "daypart") or self.sense(end, "clock"):
            end += 1
        span = calendar.unit_at(self.today, "day", int(sense.value))
        return span and (Period(span, "relative", 0.95), end)

    def _daypart(self, place: int, _cue: int) -> Reading:
        if self.tokens[place].text != "tonight":
            return None
        return self._hours("evening", 0, place + 1)

    def _hours(self, part: str, offset: int, end: int) -> Reading:
        """Return a part of a day near today.

        Below the confidence of a filter, for records are dated by the day.
        """
        span = calendar.unit_at(self.today, "day", offset)
        first, last = _HOURS[part]
        return span and (
            Period(Span(span.start + first * 60, min(span.start + last * 60, calendar.LATEST)), "daypart", 0.45),
            end,
        )

    def _side_first(self, place: int, _cue: int) -> Reading:
        """Read ``last week``, ``this quarter``, ``next Friday``, ``last March``, ``last summer``."""
        found = self._side_at(place)
        if found is None:
            return None
        side, languages = found
        at = place + 1
        unit = self.sense(at, "unit")
        if unit is not None and unit.languages & languages and self._is_word(at):
            return self._unit_on_side(str(unit.value), side, at + 1)
        for category in ("daypart", "weekday", "weekday_short", "month", "abbreviation", "season"):
            sense = self.sense(at, category)
            if sense is not None and sense.languages & languages:
                return self._name_on_side(category, sense, side, at + 1)
        return None

    def _is_word(self, place: int) -> bool:
        """Return whether a unit is written out: ``last d`` is none, and ``last mon`` a Monday."""
        piece = self.tokens[place]
        long = len(piece.text) > 2 or piece.text in _SHORT_WORDS or not piece.text.isascii()
        return long and "weekday_short" not in piece.senses

    def _side_at(self, place: int) -> tuple[int, int] | None:
        for category, side in (("last", -1), ("this", 0), ("next", 1)):
            sense = self.sense(place, category)
            if sense is not None:
                return side, sense.languages
        return None

    def _unit_on_side(self, unit: str, side: int, end: int) -> Reading:
        if calendar.is_short(unit):
            return with_end(self.rolling_window(1, unit), end) if unit == "hour" and side < 0 else None
        if unit == "weekend" and side < 0:
            span = calendar.last_weekend(self.today)
        else:
            span = calendar.unit_at(self.today, unit, side)
        if span is None:
            return None
        inside = self._weekday_in_week(span, unit, end) or (self.month_in_year(-side, end) if unit == "year" else None)
        if inside is not None:
            return inside
        # "the last day" is more often that of a story than yesterday
        if unit == "day" and side < 0:
            return Period(span, unit, PLANNED), end
        return (Period(span, unit, PLANNED if side > 0 else 0.9), end)

    def _weekday_in_week(self, span: Span, unit: str, place: int) -> Reading:
        """Read the weekday of ``last week Tuesday``."""
        sense = self.sense(place, "weekday") if unit == "week" else None
        if sense is None:
            return None
        start = span.start + int(sense.value) * DAY
        return Period(Span(start, start + DAY), "weekday", 0.9), place + 1

    def _name_on_side(self, category: str, sense: Sense, side: int, end: int) -> Reading:
        if category == "daypart":
            return self._hours(str(sense.value), side, end) if side <= 0 else None
        if category in ("weekday", "weekday_short"):
            return self._weekday_on_side(int(sense.value), side, end)
        of_year = month_of(int(sense.value)) if category in ("month", "abbreviation") else season_of(str(sense.value))
        number = self.sense(end, "nth")
        if number is not None and category != "season":
            month, nth = int(sense.value), int(number.value)
            of_year = day_of(month, nth)
            end += 1
        span = self._span_beside_now(of_year, side)
        kind = "season" if category == "season" else "month"
        sure = PLANNED if side > 0 else 0.75 if kind == "season" else 0.85
        return span and (Period(span, kind, sure), end)

    def _span_beside_now(self, of_year: OfYear, side: int) -> Span | None:
        """Return the last occurrence before now, the one of this year, or the next one."""
        year, now = self.today.year, self.today.toordinal() * DAY
        if side == 0:
            return of_year(year)
        spans = [span for number in range(year - 9, year + 10) if (span := of_year(number))]
        if side < 0:
            return max((span for span in spans if span.end <= now), default=None)
        return min((span for span in spans if span.start > now), default=None)

    def _weekday_on_side(self, weekday: int, side: int, end: int) -> Reading:
        if side == 0:
            offset = weekday - self.today.weekday()
        elif side < 0:
            offset = -((self.today.weekday() - weekday) % 7 or 7)
        else:
            offset = (weekday - self.today.weekday()) % 7 or 7
        span = calendar.unit_at(self.today, "day", offset)
        return span and (Period(span, "weekday", PLANNED if side > 0 else 0.9), end)

    def _unit_then_side(self, place: int, cue: int) -> Reading:
        """Read ``la semana pasada``, ``le mois dernier``, ``week before last``, ``week of March 3``."""
        unit = self.sense(place, "unit")
        if unit is None:
            return None
        name = str(unit.value)
        before_last = self.sense(place + 1, "before_last")
        if before_last is not None and not calendar.is_short(name):
            offset = -2 if name != "weekend" else -1 - (self.today.weekday() == 6)
            span = calendar.unit_at(self.today, name, offset)
            return span and (Period(span, name, 0.85), place + 2)
        side = self._side_at(place + 1)
        # English, German, Dutch and the Slavic languages put the side first ("the week last seen" is no week)
        if side is not None and side[1] & unit.languages & SIDE_LAST:
            return self._unit_on_side(name, side[0], place + 2)
        if name == "weekend" and cue and self.sense(place - 1, "the"):
            return self._unit_on_side(name, -1, place + 1)
        return self._unit_of(name, place)

    def name_then_side(self, category: str, place: int) -> Reading:
        """Read ``lundi dernier``, ``el verano pasado``: a name, then on which side of now it lies."""
        sense, side = self.sense(place, category), self._side_at(place + 1)
        if sense is None or side is None or not side[1] & sense.languages & SIDE_LAST:
            return None
        return self._name_on_side(category, sense, side[0], place + 2)

    def _unit_of(self, name: str, place: int) -> Reading:
        if name not in ("week", "month", "weekend") or not self.sense(place + 1, "of"):
            return None
        got = self.read(self.skip(place + 1, "of", "the"), ALL_LANGUAGES)
        if got is None or got[0].kind not in ("date", "day", "month"):
            return None
        span = calendar.unit_at(date.fromordinal(got[0].span.start // DAY), name)
        return span and (Period(span, name, got[0].confidence - 0.1), got[1])

    def in_latest_year(self, of_year: OfYear, kind: str, confidence: float) -> Period | None:
        """Return the latest occurrence that has begun of a yearly date; 29 February may be rarer."""
        now = self.today.toordinal() * DAY
        for year in range(self.today.year, self.today.year - 9, -1):
            span = of_year(year)
            if span is not None and span.start <= now:
                return Period(span, kind, confidence, of_year)
        return None


def month_of(month: int) -> OfYear:
    """Return a month as a function of the year."""
    return lambda year: calendar.months(year, month)


def season_of(name: str) -> OfYear:
    """Return a season as a function of the year."""
    return lambda year: calendar.season(year, name)


def day_of(month: int, number: int) -> OfYear:
    """Return a day and its month as a function of the year."""
    return lambda year: calendar.day(year, month, number)

"""Grammar of one period: named dates, parts of years, and the rules by first word.

Each rule reads from a position on and returns a `Period` and the position behind it, or None. A word without a rule
(a verb, a number of tokens, a version) is skipped.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import ClassVar

from lamina_engine.time import calendar
from lamina_engine.time.calendar import DAY, Span
from lamina_engine.time.lexicon import ALL_LANGUAGES, AMBIGUOUS_MONTHS, AMBIGUOUS_SEASONS, FIRST_NAMES, NOT_A_SEASON
from lamina_engine.time.relative import (
    PLANNED,
    Period,
    Reading,
    RelativeRules,
    Rule,
    day_of,
    month_of,
    season_of,
    with_end,
)
from lamina_engine.time.tokens import quarter_of_year


class PeriodParser(RelativeRules):
    """Rules of all periods, by the category of the word they begin with."""

    def _written(self, place: int, _cue: int) -> Reading:
        written = self.tokens[place].written
        if written is None:
            return None
        end = place + 1
        if written.kind == "date" and self.sense(end, "clock"):
            end += 1
        return Period(written.span, written.kind, written.confidence), end

    def _day_of_month(self, place: int, _cue: int) -> Reading:
        """Read ``3 March 2025``, ``the 5th of May``, ``10 de julio de 2026``."""
        number = self.sense(place, "nth")
        at = self.skip(place + 1, "of")
        month = self.month_at(at)
        if number is None or month is None:
            return None
        return self._finish_day(int(number.value), month, at + 1)

    def _finish_day(self, number: int, month: int, place: int) -> Reading:
        got = self.year_after(place)
        if got is None:
            return with_end(self.in_latest_year(day_of(month, number), "day", 0.9), place)
        year, end = got
        span = calendar.day(year, month, number)
        if span is not None:
            return Period(span, "date", 0.97), end
        # a day that its month has not: the month was meant
        span = calendar.months(year, month)
        return span and (Period(span, "month", 0.6), end)

    def year_after(self, place: int) -> tuple[int, int] | None:
        """Return a year after an optional comma or ``of``, and the place behind it."""
        at = self.skip(place, "comma", "of", "from", "yearword")
        year = self.sense(at, "year")
        if year is None or at - place > 2 or self.is_counted(at):
            return None
        return int(year.value), at + 1

    def _month(self, place: int, cue: int) -> Reading:
        """Read ``March 2025``, ``March 3rd, 2025``, ``March``."""
        month = self.month_at(place)
        if month is None:
            return None
        number = self.sense(self.skip(place + 1, "the"), "nth")
        if number is not None and 1 <= int(number.value) <= 31:
            at = self.skip(place + 1, "the")
            if not self.sense(at + 1, "unit") and not self.is_counted(at):
                return self._finish_day(int(number.value), month, at + 1)
        got = self.year_after(place + 1)
        if got is not None:
            span = calendar.months(got[0], month)
            return span and (Period(span, "month", 0.95), got[1])
        side = self._side_year(place + 1)
        if side is not None:
            span = calendar.months(side[0], month)
            return span and (Period(span, "month", 0.9), side[1])
        beside = self.name_then_side("month", place)
        if beside is not None:
            return beside
        if not self._means_month(place, cue):
            return None
        sure = 0.8 if cue else PLANNED if self.tokens[place].text in FIRST_NAMES else 0.7
        return self._named(self.in_latest_year(month_of(month), "month", sure), place)

    def _named(self, period: Period | None, place: int) -> Reading:
        """Return the period that a name alone means."""
        return with_end(period and period._replace(bare=self.is_bare(place)), place + 1)

    def _side_year(self, place: int) -> tuple[int, int] | None:
        """Read ``(of) last year`` after a month, a quarter or a season."""
        got = self._side_first(self.skip(place, "of"), 0) or self._unit_then_side(self.skip(place, "of", "the"), 0)
        if got is None or got[0].kind != "year":
            return None
        return date.fromordinal(got[0].span.start // DAY).year, got[1]

    def _means_month(self, place: int, cue: int) -> bool:
        """Return whether a month's name alone is a month: not the modal verb, the step, the planet."""
        piece = self.tokens[place]
        # "0000" behind a month is no year, and the pair means nothing
        if self.sense(place + 1, "year"):
            return False
        month = piece.senses.get("month")
        if self.is_foreign(place, month or piece.senses["abbreviation"], cue):
            return False
        if month is None:
            return bool(cue) and self._ends_phrase(place + 1)
        if piece.text not in AMBIGUOUS_MONTHS or cue & month.languages or self._stands_out(place):
            return True
        return piece.text == "may" and bool(self.sense(place - 1, "the"))

    def _stands_out(self, place: int) -> bool:
        """Return whether a word has a capital that its place in the sentence does not explain."""
        first = self.tokens[place].start
        if not self.text[first : first + 1].isupper():
            return False
        if place == 0 or self.sense(place - 1, "stop"):
            return len(self.tokens) == 1
        before = self.tokens[place - 1].start
        return not self.text[before : before + 1].isupper()

    def _ends_phrase(self, place: int) -> bool:
        return place >= len(self.tokens) or not self.tokens[place].text or not self.sense(place, "number")

    def _year(self, place: int, cue: int) -> Reading:
        """Read ``year 2024``, or ``2024`` after a preposition."""
        named = self.sense(place, "yearword")
        at = place + 1 if named else place
        year = self.sense(at, "year")
        if year is None or not 1 <= int(year.value) <= 9999:
            return None
        if not named and not (cue and self._is_year(at)):
            return None
        span = calendar.months(int(year.value), 1, 12)
        return span and (Period(span, "year", 0.9 if named else 0.8), at + 1)

    def _is_year(self, place: int) -> bool:
        """Return whether a number after a preposition is a year.

        Not far ahead, and nothing counted (also ``2000 to 3000 tokens``).
        """
        year = self.sense(place, "year")
        if year is None or not 1900 <= int(year.value) <= self.today.year + 10 or self.is_counted(place):
            return False
        joined = any(self.sense(place + 1, joint) for joint in ("to", "and", "dash"))
        return not joined or not self.sense(place + 2, "number") or self._is_year(place + 2)

    def _weekday(self, place: int, cue: int) -> Reading:
        """Read ``Tuesday``, ``on Tue``, ``Tuesday, 3 March``, ``Tuesday of last week``."""
        short = self.sense(place, "weekday_short")
        sense = self.sense(place, "weekday") or short
        if sense is None or self.sense(place - 1, "every"):
            return None
        at = self.skip(place + 1, "comma", "the")
        dated = self._written(at, 0) if self.sense(at, "written") else None
        if dated is None and self.sense(at, "nth"):
            dated = self._day_of_month(at, 0)
        if dated is None and self.month_at(at):
            month = self._month(at, 0)
            dated = month if month and month[0].kind in ("date", "day") else None
        if dated is not None:
            return dated
        side = self._side_at(place + 1)
        week = self._side_first(self.skip(place + 1, "of"), 0) if side or self.sense(place + 1, "of") else None
        if week is not None and week[0].kind == "week":
            start = week[0].span.start + int(sense.value) * DAY
            return Period(Span(start, start + DAY), "weekday", 0.9), week[1]
        beside = self.name_then_side("weekday", place)
        if beside is not None:
            return beside
        # an abbreviation is also a verb, a star, a money: "sat" alone is not a day
        if short is not None and (not cue or self.tokens[place].text in ("sat", "sun", "wed", "mon")):
            return None
        if self.is_foreign(place, sense, cue):
            return None
        end = self.skip(place + 1, "daypart")
        span = calendar.unit_at(self.today, "day", -((self.today.weekday() - int(sense.value)) % 7))
        return span and (Period(span, "weekday", 0.8, bare=end == place + 1 and self.is_bare(place)), end)

    def _named_part_of_year(self, place: int, cue: int) -> Reading:
        """Read ``Q2 2025``, ``H1``, ``Q3 of last year``."""
        for kind in ("quarter", "half"):
            sense = self.sense(place, kind)
            if sense is not None:
                got = self._part_of_year(kind, int(sense.value), place + 1)
                # without a year, H1 is a heading and Q4 may be a quantisation
                alone = got is not None and got[1] == place + 1
                return None if alone and not cue and not self._is_quarter(kind, place) else got
        return None

    def _is_quarter(self, kind: str, place: int) -> bool:
        follows = self.tokens[place + 1].text if place + 1 < len(self.tokens) else ""
        return kind == "quarter" and not follows.startswith("quant")

    def _part_of_year(self, kind: str, number: int, place: int) -> Reading:
        size = 3 if kind == "quarter" else 6
        if number * size > 12:
            return None
        got = self.year_after(place) or self._side_year(place)
        if got is not None:
            written = quarter_of_year(got[0], kind[0], number)
            return written and (Period(written.span, kind, 0.95), got[1])

        def of_year(year: int) -> Span | None:
            return calendar.months(year, (number - 1) * size + 1, size)

        # a quarter alone is one of this year, also when it is still to come
        span = of_year(self.today.year)
        return span and (Period(span, kind, 0.75, of_year), place)

    def _numbered_week(self, place: int, _cue: int) -> Reading:
        """Read ``week 32``, ``week 32 of 2025`` and ``KW 32``."""
        unit, number = self.sense(place, "unit"), self.sense(place + 1, "nth")
        is_week = unit.value == "week" if unit is not None else self.sense(place, "weekword") is not None
        if not is_week or number is None or not 1 <= int(number.value) <= 53:
            return None
        got = self.year_after(place + 2)
        year, end = got or (self.today.isocalendar().year, place + 2)
        try:
            monday = date.fromisocalendar(year, int(number.value), 1)
        except ValueError:
            return None
        span = calendar.span_of_days(monday, 7)
        return span and (Period(span, "week", 0.85 if got else 0.6), end)

    def _season(self, place: int, cue: int) -> Reading:
        season = self.sense(place, "season")
        if season is None:
            return None
        name = str(season.value)
        got = self.year_after(place + 1) or self._side_year(place + 1)
        if got is not None:
            span = calendar.season(got[0], name)
            return span and (Period(span, "season", 0.8), got[1])
        beside = self.name_then_side("season", place)
        if beside is not None:
            return beside
        piece = self.tokens[place].text
        follows = self.tokens[place + 1].text if place + 1 < len(self.tokens) else ""
        if (
            not cue & season.languages
            or follows in NOT_A_SEASON
            or (piece in AMBIGUOUS_SEASONS and not self._closes(place))
        ):
            return None
        return self._named(self.in_latest_year(season_of(name), "season", 0.65), place)

    def _closes(self, place: int) -> bool:
        """Return whether nothing that could change a word's meaning follows it."""
        return place + 1 >= len(self.tokens) or not self.tokens[place + 1].text or bool(self.tokens[place + 1].senses)

    def _part(self, place: int, cue: int) -> Reading:
        """Read ``early March``, ``end of 2024``, ``mid last year``, ``earlier this week``."""
        part = self.sense(place, "part")
        if part is None:
            return None
        at = self.skip(place + 1, "of", "the", "in")
        got = self.read(at, cue or part.languages) or (self._current(at) if at > place + 1 else None)
        if got is None or got[0].kind in ("part", "rolling", "ago", "daypart", "clock"):
            return None
        period, end = got
        if part.value == "so_far":
            stop = min(period.span.end, (self.today.toordinal() + 1) * DAY)
            span = Span(period.span.start, stop) if stop > period.span.start else period.span
            return Period(span, "part", period.confidence - 0.05), end
        year = period.of_year
        name = str(part.value)

        def of_year(number: int) -> Span | None:
            span = year(number) if year else None
            return span and calendar.third_of(span, name)

        span = calendar.third_of(period.span, name)
        return Period(span, "part", min(0.7, period.confidence), of_year if year else None), end

    def _current(self, place: int) -> Reading:
        """Read the ``year`` of ``end of the year``."""
        unit = self.sense(place, "unit")
        if unit is None or unit.value not in ("week", "month", "quarter", "year", "decade"):
            return None
        span = calendar.unit_at(self.today, str(unit.value))
        return span and (Period(span, str(unit.value), 0.6), place + 1)

    def _nth(self, place: int, cue: int) -> Reading:
        """Read ``first week of March``, ``second quarter of 2025``, ``last day of last month``."""
        ordinal, unit = self.sense(place, "ordinal"), self.sense(place + 1, "unit")
        if ordinal is None or unit is None or not ordinal.languages & unit.languages:
            return None
        number, name = int(ordinal.value), str(unit.value)
        at = self.skip(place + 2, "of", "in", "the")
        got = self.read(at, ALL_LANGUAGES) if at > place + 2 else None
        if got is not None and got[0].kind in ("month", "year", "quarter", "half", "season"):
            span = calendar.slice_of(got[0].span, number, name)
            if span is not None:
                return Period(span, name, min(0.8, got[0].confidence)), got[1]
        if name in ("quarter", "half") and number > 0:
            return self._part_of_year(name, number, place + 2)
        return None

    # functions, not bound methods: a parser that held its own would wait for the garbage collector
    rules: ClassVar[Mapping[str, tuple[Rule, ...]]] = {
        "written": (_written,),
        "weekday": (_weekday,),
        "weekday_short": (_weekday,),
        "nth": (_day_of_month, _nth),
        "month": (_month,),
        "abbreviation": (_month,),
        "part": (_part,),
        "ordinal": (_nth,),
        "quarter": (_named_part_of_year,),
        "half": (_named_part_of_year,),
        "ago_before": (RelativeRules._ago_before,),
        "number": (RelativeRules._ago, RelativeRules._rolling_after_number),
        "vague": (RelativeRules._ago, RelativeRules._rolling_after_number),
        "rolling": (RelativeRules._rolling,),
        "last": (RelativeRules._rolling, RelativeRules._side_first),
        "this": (RelativeRules._side_first,),
        "next": (RelativeRules._rolling, RelativeRules._side_first),
        "unit": (_numbered_week, RelativeRules._unit_then_side, RelativeRules._unit_ago, RelativeRules._half_ago),
        "season": (_season,),
        "relative": (RelativeRules._relative,),
        "daypart": (RelativeRules._daypart,),
        "yearword": (_year,),
        "weekword": (_numbered_week,),
        "year": (_year,),
    }

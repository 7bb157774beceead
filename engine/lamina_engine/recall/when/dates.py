"""Dates by name: days, months, years and weekdays, and when a month's name is none."""

from __future__ import annotations

from datetime import date

from lamina_engine.recall.when import calendar
from lamina_engine.recall.when.beside import Beside, day_of, month_of
from lamina_engine.recall.when.calendar import DAY, Span
from lamina_engine.recall.when.phrases import NAMES, SHY_MONTHS
from lamina_engine.recall.when.pieces import PLANNED, Period, Reading, with_end


class Dates(Beside):
    """Rules of days, months, years and weekdays."""

    def _written(self, place: int, _cue: int) -> Reading:
        written = self.pieces[place].written
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
        got = self.year_behind(place)
        if got is None:
            return with_end(self.in_latest_year(day_of(month, number), "day", 0.9), place)
        year, end = got
        span = calendar.day(year, month, number)
        if span is not None:
            return Period(span, "date", 0.97), end
        # a day that its month has not: the month was meant
        span = calendar.months(year, month)
        return span and (Period(span, "month", 0.6), end)

    def year_behind(self, place: int) -> tuple[int, int] | None:
        """Return a year after an optional comma or ``of``, and the place behind it."""
        at = self.skip(place, "comma", "of", "from", "yearword")
        year = self.sense(at, "year")
        if year is None or at - place > 2 or self.is_measured(at):
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
            if not self.sense(at + 1, "unit") and not self.is_measured(at):
                return self._finish_day(int(number.value), month, at + 1)
        got = self.year_behind(place + 1)
        if got is not None:
            span = calendar.months(got[0], month)
            return span and (Period(span, "month", 0.95), got[1])
        side = self._side_year(place + 1)
        if side is not None:
            span = calendar.months(side[0], month)
            return span and (Period(span, "month", 0.9), side[1])
        beside = self.side_behind("month", place)
        if beside is not None:
            return beside
        if not self._means_month(place, cue):
            return None
        sure = 0.8 if cue else PLANNED if self.pieces[place].text in NAMES else 0.7
        return with_end(self.in_latest_year(month_of(month), "month", sure), place + 1)

    def _side_year(self, place: int) -> tuple[int, int] | None:
        """Read ``(of) last year`` after a month, a quarter or a season."""
        got = self._beside(self.skip(place, "of"), 0) or self._unit_then_side(self.skip(place, "of", "the"), 0)
        if got is None or got[0].kind != "year":
            return None
        return date.fromordinal(got[0].span.start // DAY).year, got[1]

    def _means_month(self, place: int, cue: int) -> bool:
        """Say whether a month's name alone means the month: not the modal verb, the step, the planet."""
        piece = self.pieces[place]
        # "0000" behind a month is no year, and the pair means nothing
        if self.sense(place + 1, "year"):
            return False
        month = piece.senses.get("month")
        if month is None:
            return bool(cue) and self._ends_phrase(place + 1)
        if piece.text not in SHY_MONTHS or cue & month.languages or self._stands_out(place):
            return True
        return piece.text == "may" and bool(self.sense(place - 1, "the"))

    def _stands_out(self, place: int) -> bool:
        """Say whether a word has a capital that its place in the sentence does not explain."""
        first = self.pieces[place].start
        if not self.text[first : first + 1].isupper():
            return False
        if place == 0 or self.sense(place - 1, "stop"):
            return len(self.pieces) == 1
        before = self.pieces[place - 1].start
        return not self.text[before : before + 1].isupper()

    def _ends_phrase(self, place: int) -> bool:
        return place >= len(self.pieces) or not self.pieces[place].text or not self.sense(place, "number")

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
        """Say whether a number after a preposition is a year: not far ahead, and nothing counted (also ``2000 to 3000 tokens``)."""
        year = self.sense(place, "year")
        if year is None or not 1900 <= int(year.value) <= self.today.year + 10 or self.is_measured(place):
            return False
        joined = any(self.sense(place + 1, joint) for joint in ("to", "and", "dash"))
        return not joined or not self.sense(place + 2, "number") or self._is_year(place + 2)

    def _weekday(self, place: int, cue: int) -> Reading:
        """Read ``Tuesday``, ``on Tue``, ``Tuesday, 3 March``, ``Tuesday of last week``, ``lundi dernier``."""
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
        week = self._beside(self.skip(place + 1, "of"), 0) if side or self.sense(place + 1, "of") else None
        if week is not None and week[0].kind == "week":
            start = week[0].span.start + int(sense.value) * DAY
            return Period(Span(start, start + DAY), "weekday", 0.9), week[1]
        beside = self.side_behind("weekday", place)
        if beside is not None:
            return beside
        # an abbreviation is also a verb, a star, a money: "sat" alone says nothing
        if short is not None and (not cue or self.pieces[place].text in ("sat", "sun", "wed", "mon")):
            return None
        end = self.skip(place + 1, "daypart")
        span = calendar.unit_around(self.today, "day", -((self.today.weekday() - int(sense.value)) % 7))
        return span and (Period(span, "weekday", 0.8, None), end)

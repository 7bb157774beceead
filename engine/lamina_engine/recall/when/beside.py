"""What lies beside now: ``yesterday``, ``last week``, ``this quarter``, ``next Friday``, ``le mois dernier``."""

from __future__ import annotations

from datetime import date
from typing import Final

from lamina_engine.recall.when import calendar
from lamina_engine.recall.when.calendar import DAY, Span
from lamina_engine.recall.when.counted import Counted
from lamina_engine.recall.when.phrases import ALL_LANGUAGES, FALSE_FRIENDS, SIDE_LAST, Sense
from lamina_engine.recall.when.pieces import PLANNED, OfYear, Period, Reading, with_end

_HOURS: Final = {"morning": (0, 12), "afternoon": (12, 18), "evening": (17, 24), "night": (18, 30)}
"""Hours of a day that its parts mean; a night ends on the next morning."""


class Beside(Counted):
    """Rules of units, weekdays, months and seasons beside now."""

    def _relative(self, place: int, _cue: int) -> Reading:
        sense = self.sense(place, "relative")
        # "hier" is here in German and yesterday in French
        if sense is None or (self.pieces[place].text in FALSE_FRIENDS and not sense.languages & self.speech):
            return None
        end = place + 1
        while self.sense(end, "daypart") or self.sense(end, "clock"):
            end += 1
        span = calendar.unit_around(self.today, "day", int(sense.value))
        return span and (Period(span, "relative", 0.95), end)

    def _daypart(self, place: int, _cue: int) -> Reading:
        if self.pieces[place].text != "tonight":
            return None
        return self._hours("evening", 0, place + 1)

    def _hours(self, part: str, offset: int, end: int) -> Reading:
        """Return a part of a day near today: below the confidence of a filter, for records are dated by the day."""
        span = calendar.unit_around(self.today, "day", offset)
        first, last = _HOURS[part]
        return span and (
            Period(Span(span.start + first * 60, min(span.start + last * 60, calendar.LATEST)), "daypart", 0.45),
            end,
        )

    def _beside(self, place: int, _cue: int) -> Reading:
        """Read ``last week``, ``this quarter``, ``next Friday``, ``last March``, ``last summer``."""
        found = self._side_at(place)
        if found is None:
            return None
        side, languages = found
        at = place + 1
        unit = self.sense(at, "unit")
        if unit is not None and unit.languages & languages and self._is_word(at):
            return self._unit_beside(str(unit.value), side, at + 1)
        for category in ("daypart", "weekday", "weekday_short", "month", "abbreviation", "season"):
            sense = self.sense(at, category)
            if sense is not None and sense.languages & languages:
                return self._name_beside(category, sense, side, at + 1)
        return None

    def _is_word(self, place: int) -> bool:
        """Say whether a unit is written out: ``last d`` is none, and ``last mon`` a Monday."""
        piece = self.pieces[place]
        return (len(piece.text) > 2 or not piece.text.isascii()) and "weekday_short" not in piece.senses

    def _side_at(self, place: int) -> tuple[int, int] | None:
        for category, side in (("last", -1), ("this", 0), ("next", 1)):
            sense = self.sense(place, category)
            if sense is not None:
                return side, sense.languages
        return None

    def _unit_beside(self, unit: str, side: int, end: int) -> Reading:
        if calendar.is_short(unit):
            return with_end(self.stretch(1, unit), end) if unit == "hour" and side < 0 else None
        if unit == "weekend" and side < 0:
            span = calendar.last_weekend(self.today)
        else:
            span = calendar.unit_around(self.today, unit, side)
        if span is None:
            return None
        inside = self._day_inside(span, unit, end) or (self.month_inside(-side, end) if unit == "year" else None)
        if inside is not None:
            return inside
        # "the last day" is told of a story more often than of yesterday
        if unit == "day" and side < 0:
            return Period(span, unit, PLANNED), end
        return (Period(span, unit, PLANNED if side > 0 else 0.9), end)

    def _day_inside(self, span: Span, unit: str, place: int) -> Reading:
        """Read the weekday of ``last week Tuesday``."""
        sense = self.sense(place, "weekday") if unit == "week" else None
        if sense is None:
            return None
        start = span.start + int(sense.value) * DAY
        return Period(Span(start, start + DAY), "weekday", 0.9), place + 1

    def _name_beside(self, category: str, sense: Sense, side: int, end: int) -> Reading:
        if category == "daypart":
            return self._hours(str(sense.value), side, end) if side <= 0 else None
        if category in ("weekday", "weekday_short"):
            return self._weekday_beside(int(sense.value), side, end)
        of_year = month_of(int(sense.value)) if category in ("month", "abbreviation") else season_of(str(sense.value))
        number = self.sense(end, "nth")
        if number is not None and category != "season":
            month, nth = int(sense.value), int(number.value)
            of_year = day_of(month, nth)
            end += 1
        span = self._beside_now(of_year, side)
        kind = "season" if category == "season" else "month"
        sure = PLANNED if side > 0 else 0.75 if kind == "season" else 0.85
        return span and (Period(span, kind, sure), end)

    def _beside_now(self, of_year: OfYear, side: int) -> Span | None:
        """Return the last occurrence that is over, the one of this year, or the first still to begin."""
        year, now = self.today.year, self.today.toordinal() * DAY
        if side == 0:
            return of_year(year)
        spans = [span for number in range(year - 9, year + 10) if (span := of_year(number))]
        if side < 0:
            return max((span for span in spans if span.end <= now), default=None)
        return min((span for span in spans if span.start > now), default=None)

    def _weekday_beside(self, weekday: int, side: int, end: int) -> Reading:
        if side == 0:
            offset = weekday - self.today.weekday()
        elif side < 0:
            offset = -((self.today.weekday() - weekday) % 7 or 7)
        else:
            offset = (weekday - self.today.weekday()) % 7 or 7
        span = calendar.unit_around(self.today, "day", offset)
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
            span = calendar.unit_around(self.today, name, offset)
            return span and (Period(span, name, 0.85), place + 2)
        side = self._side_at(place + 1)
        # English, German, Dutch and the Slavic languages put the side first ("the week last seen" is no week)
        if side is not None and side[1] & unit.languages & SIDE_LAST:
            return self._unit_beside(name, side[0], place + 2)
        if name == "weekend" and cue and self.sense(place - 1, "the"):
            return self._unit_beside(name, -1, place + 1)
        return self._unit_of(name, place)

    def side_behind(self, category: str, place: int) -> Reading:
        """Read ``lundi dernier``, ``el verano pasado``: a name, then on which side of now it lies."""
        sense, side = self.sense(place, category), self._side_at(place + 1)
        if sense is None or side is None or not side[1] & sense.languages & SIDE_LAST:
            return None
        return self._name_beside(category, sense, side[0], place + 2)

    def _unit_of(self, name: str, place: int) -> Reading:
        if name not in ("week", "month", "weekend") or not self.sense(place + 1, "of"):
            return None
        got = self.read(self.skip(place + 1, "of", "the"), ALL_LANGUAGES)
        if got is None or got[0].kind not in ("date", "day", "month"):
            return None
        span = calendar.unit_around(date.fromordinal(got[0].span.start // DAY), name)
        return span and (Period(span, name, got[0].confidence - 0.1), got[1])

    def in_latest_year(self, of_year: OfYear, kind: str, confidence: float) -> Period | None:
        """Return the latest occurrence that has begun of what comes every year (or, a 29th of February, every eighth)."""
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

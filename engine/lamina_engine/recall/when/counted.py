"""Counts of units: ``3 days ago``, ``a couple of weeks ago``, ``hace 5 días``, ``last 3 days``, ``past week``."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Final

from lamina_engine.recall.when import calendar
from lamina_engine.recall.when.calendar import DAY, Span
from lamina_engine.recall.when.phrases import SIDE_LAST, UNIT_ALONE
from lamina_engine.recall.when.pieces import PLANNED, Period, Pieces, Reading, with_end

_VAGUE: Final = {"couple": (1, 3), "few": (2, 5)}
"""From how many to how many units a vague number means."""
_VAGUE_DAYS: Final = {"day": 1, "week": 7, "fortnight": 14, "month": 30, "quarter": 91, "half": 182, "year": 365}
_COARSE: Final = frozenset({"month", "quarter", "half", "year", "decade"})
"""Units after which a single day is said, and its surroundings are meant."""


class Counted(Pieces):
    """Rules of counted units."""

    def counts(self, place: int) -> Iterator[tuple[int, int, str, int]]:
        """Give how few and how many units stand here, which, and the place behind: ``3 days``, ``2-4 weeks``."""
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
                inside = self.month_inside(few, end + 1) if unit == "year" and few == many else None
                return inside or with_end(self.back(few, many, unit), end + 1)
            at = self.skip(end, "and", "comma")
            for more, _, smaller, stop in self.counts(at):
                if at > end and few == many and self._is_ago(stop):
                    return with_end(self._back_both((few, unit), (more, smaller)), stop + 1)
        return None

    def month_inside(self, years: int, place: int) -> Reading:
        """Read the month of ``last year in March``, ``two years ago in March``."""
        month = self.month_at(self.skip(place, "in", "of"))
        span = calendar.months(self.today.year - years, month) if month else None
        return span and (Period(span, "month", 0.9), self.skip(place, "in", "of") + 1)

    def _is_ago(self, place: int) -> bool:
        """Say whether ``ago`` stands here, in the language of the unit before it."""
        ago, unit = self.sense(place, "ago"), self.sense(place - 1, "unit")
        return ago is not None and unit is not None and bool(ago.languages & unit.languages)

    def _back_both(self, *steps: tuple[int, str]) -> Period | None:
        when: date | None = self.today
        for count, unit in steps:
            when = None if when is None or calendar.is_short(unit) else calendar.moved(when, unit, -count)
        span = calendar.span_of_days(when) if when else None
        return span and Period(span, "ago", 0.8)

    def _half_ago(self, place: int, _cue: int) -> Reading:
        """Read ``half a year ago``."""
        if self.pieces[place].text != "half":
            return None
        for _few, _many, unit, end in self.counts(place + 1):
            halves = {"year": (6, "month"), "month": (15, "day"), "decade": (5, "year"), "day": (12, "hour")}.get(unit)
            if halves is not None and self._is_ago(end):
                return with_end(self.back(halves[0], halves[0], halves[1]), end + 1)
        return None

    def _ago_before(self, place: int, _cue: int) -> Reading:
        """Read ``hace 5 días``, ``il y a 5 jours``, ``vor 5 Tagen``."""
        before = self.sense(place, "ago_before")
        for few, many, unit, end in self.counts(place + 1):
            if before is not None and before.languages & self.pieces[end - 1].senses["unit"].languages:
                return with_end(self.back(few, many, unit), end)
        return None

    def _unit_ago(self, place: int, _cue: int) -> Reading:
        """Read ``неделю назад``: one unit, without its number."""
        unit, ago = self.sense(place, "unit"), self.sense(place + 1, "ago")
        if unit is None or ago is None or not unit.languages & ago.languages & UNIT_ALONE:
            return None
        return with_end(self.back(1, 1, str(unit.value)), place + 2)

    def back(self, few: int, many: int, unit: str) -> Period | None:
        """Return the day that lies so many units back; a vague number gives all the days it can mean."""
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
        return day and Period(day, "ago", 0.65 if unit in _COARSE else 0.85)

    def _rolling(self, place: int, _cue: int) -> Reading:
        """Read ``last 3 days``, ``past week``, ``next two weeks``, ``letzten 3 Tage``."""
        forward = self.sense(place, "next")
        head = forward or self.sense(place, "last") or self.sense(place, "rolling")
        if head is None:
            return None
        for _few, many, unit, end in self.counts(place + 1):
            if head.languages & self.pieces[end - 1].senses["unit"].languages:
                return with_end(self.stretch(many if forward is None else -many, unit), end)
        unit_sense = self.sense(place + 1, "unit")
        if self.sense(place, "rolling") and unit_sense is not None and unit_sense.languages & head.languages:
            name = str(unit_sense.value)
            if name == "weekend":
                return with_end(self._last_weekend(), place + 2)
            return with_end(self.stretch(1, name), place + 2)
        return None

    def _last_weekend(self) -> Period | None:
        span = calendar.last_weekend(self.today)
        return span and Period(span, "weekend", 0.9)

    def _rolling_after_number(self, place: int, _cue: int) -> Reading:
        """Read ``3 derniers jours``, ``3 last days`` of the Romance languages, and ``3 días pasados``."""
        number = self.sense(place, "number") or self.sense(place, "vague")
        last, unit = self.sense(place + 1, "last"), self.sense(place + 2, "unit")
        if number is None or last is None or unit is None or not last.languages & unit.languages & SIDE_LAST:
            return None
        many = int(number.value) if self.sense(place, "number") else _VAGUE[str(number.value)][1]
        return with_end(self.stretch(many, str(unit.value)), place + 3)

    def stretch(self, count: int, unit: str) -> Period | None:
        """Return the time from so many units back to the end of today (forward from today where negative)."""
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

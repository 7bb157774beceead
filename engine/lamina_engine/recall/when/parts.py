"""Parts of years and of other periods: quarters, halves, numbered weeks, seasons, ``early March``, ``first week of``."""

from __future__ import annotations

from datetime import date

from lamina_engine.recall.when import calendar
from lamina_engine.recall.when.beside import season_of
from lamina_engine.recall.when.calendar import DAY, Span
from lamina_engine.recall.when.dates import Dates
from lamina_engine.recall.when.phrases import ALL_LANGUAGES, NOT_A_SEASON, SHY_SEASONS
from lamina_engine.recall.when.pieces import Period, Reading, with_end
from lamina_engine.recall.when.written import written_quarter


class Parts(Dates):
    """Rules of the parts of a period."""

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
        follows = self.pieces[place + 1].text if place + 1 < len(self.pieces) else ""
        return kind == "quarter" and not follows.startswith("quant")

    def _part_of_year(self, kind: str, number: int, place: int) -> Reading:
        size = 3 if kind == "quarter" else 6
        if number * size > 12:
            return None
        got = self.year_behind(place) or self._side_year(place)
        if got is not None:
            written = written_quarter(got[0], kind[0], number)
            return written and (Period(written.span, kind, 0.95), got[1])

        def of_year(year: int) -> Span | None:
            return calendar.months(year, (number - 1) * size + 1, size)

        # a quarter alone is one of this year, also when it is still to come
        span = of_year(self.today.year)
        return span and (Period(span, kind, 0.75, of_year), place)

    def _numbered_week(self, place: int, _cue: int) -> Reading:
        """Read ``week 32`` and ``week 32 of 2025``."""
        unit, number = self.sense(place, "unit"), self.sense(place + 1, "nth")
        if unit is None or unit.value != "week" or number is None or not 1 <= int(number.value) <= 53:
            return None
        got = self.year_behind(place + 2)
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
        got = self.year_behind(place + 1) or self._side_year(place + 1)
        if got is not None:
            span = calendar.season(got[0], name)
            return span and (Period(span, "season", 0.8), got[1])
        beside = self.side_behind("season", place)
        if beside is not None:
            return beside
        piece = self.pieces[place].text
        follows = self.pieces[place + 1].text if place + 1 < len(self.pieces) else ""
        if not cue & season.languages or follows in NOT_A_SEASON or (piece in SHY_SEASONS and not self._closes(place)):
            return None
        return with_end(self.in_latest_year(season_of(name), "season", 0.65), place + 1)

    def _closes(self, place: int) -> bool:
        """Say whether nothing that could change a word's meaning follows it."""
        return place + 1 >= len(self.pieces) or not self.pieces[place + 1].text or bool(self.pieces[place + 1].senses)

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
        span = calendar.unit_around(self.today, str(unit.value))
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

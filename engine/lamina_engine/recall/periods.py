"""The grammar of one period: from the lexemes of a question to a span of the calendar.

Each rule reads from a place on and gives a `Period` and the place behind it, or None. A rule asks only for what it knows, so
a word that no rule wants (a verb, a number of tokens, a version) says nothing of time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import date, datetime
from typing import Final, NamedTuple

from lamina_engine.recall import calendar
from lamina_engine.recall.calendar import DAY, Span
from lamina_engine.recall.lexemes import Lexeme, written_quarter
from lamina_engine.recall.phrases import (
    ALL_LANGUAGES,
    FALSE_FRIENDS,
    LANGUAGES,
    MEASURED,
    NOT_A_SEASON,
    SHY_MONTHS,
    SHY_SEASONS,
    Sense,
    speech,
)

OfYear = Callable[[int], Span | None]
_VAGUE: Final = {"couple": (1, 3), "few": (2, 5)}
"""From how many to how many units a vague number means."""
_VAGUE_DAYS: Final = {"day": 1, "week": 7, "fortnight": 14, "month": 30, "quarter": 91, "half": 182, "year": 365}
_SMALL_WORDS: Final = frozenset(
    {
        "in",
        "since",
        "until",
        "before",
        "after",
        "from",
        "between",
        "and",
        "to",
        "of",
        "the",
        "every",
        "part",
        "ago_before",
    }
)
"""Words that are short and mean something else in other languages: they count in the language of the question only."""
PLANNED: Final = 0.45
"""How sure "next week" is a filter: what is planned was recorded before, so it stays below the confidence of one."""
_COARSE: Final = frozenset({"month", "quarter", "half", "year", "decade"})
"""Units after which a single day is said, and its surroundings are meant."""
_HOURS: Final = {"morning": (0, 12), "afternoon": (12, 18), "evening": (17, 24), "night": (18, 30)}
"""Hours of a day that its parts mean; a night ends on the next morning."""


class Period(NamedTuple):
    """A span with what it was made from.

    ``of_year`` makes it again for another year where none was said; ``weekday`` says that it may move by weeks.
    """

    span: Span
    kind: str
    confidence: float
    of_year: OfYear | None = None


Reading = tuple[Period, int] | None


class Periods:
    """The rules, on the lexemes of one question, at one moment.

    Parameters
    ----------
    text : str
        The question, in which a capital may tell a month from a verb.
    pieces : list of Lexeme
    now : datetime
        In the caller's zone.
    """

    def __init__(self, text: str, pieces: list[Lexeme], now: datetime) -> None:
        self.text = text
        self.pieces = pieces
        self.now = now
        self.today: date = now.date()
        self.speech = speech(piece.text for piece in pieces)
        self._rules: dict[str, tuple[Callable[[int, int], Reading], ...]] = {
            "written": (self._written,),
            "weekday": (self._weekday,),
            "weekday_short": (self._weekday,),
            "nth": (self._day_of_month, self._nth),
            "month": (self._month,),
            "abbreviation": (self._month,),
            "part": (self._part,),
            "ordinal": (self._nth,),
            "quarter": (self._named_part_of_year,),
            "half": (self._named_part_of_year,),
            "ago_before": (self._ago_before,),
            "number": (self._ago, self._rolling_after_number),
            "vague": (self._ago, self._rolling_after_number),
            "rolling": (self._rolling,),
            "last": (self._rolling, self._beside),
            "this": (self._beside,),
            "next": (self._rolling, self._beside),
            "unit": (self._numbered_week, self._unit_then_side, self._unit_ago),
            "season": (self._season,),
            "relative": (self._relative,),
            "daypart": (self._daypart,),
            "yearword": (self._year,),
            "year": (self._year,),
        }

    def sense(self, place: int, category: str) -> Sense | None:
        """Return a meaning of the lexeme at a place, if it has it in the language of the question."""
        if not 0 <= place < len(self.pieces):
            return None
        sense = self.pieces[place].senses.get(category)
        if sense is None or (category in _SMALL_WORDS and not sense.languages & self.speech):
            return None
        return sense

    def skip(self, place: int, *categories: str) -> int:
        """Return the first place from here on that has none of some meanings."""
        while any(self.sense(place, category) for category in categories):
            place += 1
        return place

    def read(self, place: int, cue: int = 0) -> Reading:
        """Return the longest period that begins at a place.

        Parameters
        ----------
        place : int
        cue : int
            Languages of a preposition before it; 0 without one. Words that mean more than time need a cue.
        """
        best: Reading = None
        if place < len(self.pieces):
            for category in self.pieces[place].senses:
                for rule in self._rules.get(category, ()):
                    got = rule(place, cue)
                    if got is not None and (best is None or got[1] > best[1]):
                        best = got
        return best

    # dates

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
            return _with_end(self.in_latest_year(_day_of(month, number), "day", 0.9), place)
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

    def month_at(self, place: int) -> int | None:
        """Return the month that a name or its abbreviation means."""
        sense = self.sense(place, "month") or self.sense(place, "abbreviation")
        return int(sense.value) if sense else None

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
        if not self._means_month(place, cue):
            return None
        return _with_end(self.in_latest_year(_month_of(month), "month", 0.8 if cue else 0.7), place + 1)

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

    # years and their parts

    def _year(self, place: int, cue: int) -> Reading:
        """Read ``year 2024``, or ``2024`` after a preposition."""
        named = self.sense(place, "yearword")
        at = place + 1 if named else place
        year = self.sense(at, "year")
        if year is None or not 1 <= int(year.value) <= 9999:
            return None
        if not named and (not cue or not 1900 <= int(year.value) <= 2100 or self.is_measured(at)):
            return None
        span = calendar.months(int(year.value), 1, 12)
        return span and (Period(span, "year", 0.9 if named else 0.8), at + 1)

    def is_measured(self, place: int) -> bool:
        """Say whether a number counts something: ``in 2000 tokens`` names no year."""
        return place + 1 < len(self.pieces) and (
            self.pieces[place + 1].text in MEASURED or bool(self.sense(place + 1, "unit"))
        )

    def _named_part_of_year(self, place: int, _cue: int) -> Reading:
        """Read ``Q2 2025``, ``H1``, ``Q3 of last year``."""
        for kind in ("quarter", "half"):
            sense = self.sense(place, kind)
            if sense is not None:
                return self._part_of_year(kind, int(sense.value), place + 1)
        return None

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
        piece = self.pieces[place].text
        follows = self.pieces[place + 1].text if place + 1 < len(self.pieces) else ""
        if not cue & season.languages or follows in NOT_A_SEASON or (piece in SHY_SEASONS and not self._closes(place)):
            return None
        return _with_end(self.in_latest_year(_season_of(name), "season", 0.65), place + 1)

    def _closes(self, place: int) -> bool:
        """Say whether nothing that could change a word's meaning follows it."""
        return place + 1 >= len(self.pieces) or not self.pieces[place + 1].text or bool(self.pieces[place + 1].senses)

    def _part(self, place: int, cue: int) -> Reading:
        """Read ``early March``, ``end of 2024``, ``mid last year``, ``earlier this week``."""
        part = self.sense(place, "part")
        if part is None:
            return None
        at = self.skip(place + 1, "of", "the", "in")
        got = self.read(at, cue or part.languages)
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

    # around now

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
        if unit is not None and unit.languages & languages:
            return self._unit_beside(str(unit.value), side, at + 1)
        for category in ("daypart", "weekday", "weekday_short", "month", "abbreviation", "season"):
            sense = self.sense(at, category)
            if sense is not None and sense.languages & languages:
                return self._name_beside(category, sense, side, at + 1)
        return None

    def _side_at(self, place: int) -> tuple[int, int] | None:
        for category, side in (("last", -1), ("this", 0), ("next", 1)):
            sense = self.sense(place, category)
            if sense is not None:
                return side, sense.languages
        return None

    def _unit_beside(self, unit: str, side: int, end: int) -> Reading:
        if calendar.is_short(unit):
            return _with_end(self.stretch(1, unit), end) if unit == "hour" and side < 0 else None
        if unit == "weekend" and side < 0:
            span = calendar.last_weekend(self.today)
        else:
            span = calendar.unit_around(self.today, unit, side)
        if span is None:
            return None
        inside = self._day_inside(span, unit, end)
        return inside or (Period(span, unit, PLANNED if side > 0 else 0.9), end)

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
        of_year = _month_of(int(sense.value)) if category in ("month", "abbreviation") else _season_of(str(sense.value))
        number = self.sense(end, "nth")
        if number is not None and category != "season":
            month, nth = int(sense.value), int(number.value)
            of_year = _day_of(month, nth)
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

    def _unit_then_side(self, place: int, _cue: int) -> Reading:
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
        if side is not None and side[1] & unit.languages & _SIDE_LAST:
            return self._unit_beside(name, side[0], place + 2)
        return self._unit_of(name, place)

    def _unit_of(self, name: str, place: int) -> Reading:
        if name not in ("week", "month", "weekend") or not self.sense(place + 1, "of"):
            return None
        got = self.read(self.skip(place + 1, "of", "the"), ALL_LANGUAGES)
        if got is None or got[0].kind not in ("date", "day", "month"):
            return None
        span = calendar.unit_around(date.fromordinal(got[0].span.start // DAY), name)
        return span and (Period(span, name, got[0].confidence - 0.1), got[1])

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
        if side is not None and side[1] & sense.languages & _SIDE_LAST:
            return self._weekday_beside(int(sense.value), side[0], place + 2)
        # an abbreviation is also a verb, a star, a money: "sat" alone says nothing
        if short is not None and (not cue or self.pieces[place].text in ("sat", "sun", "wed", "mon")):
            return None
        end = self.skip(place + 1, "daypart")
        span = calendar.unit_around(self.today, "day", -((self.today.weekday() - int(sense.value)) % 7))
        return span and (Period(span, "weekday", 0.8, None), end)

    # counts

    def counts(self, place: int) -> Iterator[tuple[int, int, str, int]]:
        """Give how few and how many units stand here, which, and the place behind: ``3 days``, ``a couple of weeks``."""
        number, vague = self.sense(place, "number"), self.sense(place, "vague")
        at = place + 1
        unit = self.sense(at, "unit")
        if number is not None and vague is None and unit is not None and unit.languages & number.languages:
            yield int(number.value), int(number.value), str(unit.value), at + 1
        elif vague is not None and unit is not None and unit.languages & vague.languages:
            few, many = _VAGUE[str(vague.value)]
            yield few, many, str(unit.value), at + 1

    def _ago(self, place: int, _cue: int) -> Reading:
        """Read ``3 days ago``, ``vor`` and its kin behind the count."""
        for few, many, unit, end in self.counts(place):
            ago = self.sense(end, "ago")
            if ago is not None and ago.languages & self.pieces[end - 1].senses["unit"].languages:
                return _with_end(self.back(few, many, unit), end + 1)
        return None

    def _ago_before(self, place: int, _cue: int) -> Reading:
        """Read ``hace 5 días``, ``il y a 5 jours``, ``vor 5 Tagen``."""
        before = self.sense(place, "ago_before")
        for few, many, unit, end in self.counts(place + 1):
            if before is not None and before.languages & self.pieces[end - 1].senses["unit"].languages:
                return _with_end(self.back(few, many, unit), end)
        return None

    def _unit_ago(self, place: int, _cue: int) -> Reading:
        """Read ``неделю назад``: one unit, without its number."""
        unit, ago = self.sense(place, "unit"), self.sense(place + 1, "ago")
        if unit is None or ago is None or not unit.languages & ago.languages & _UNIT_ALONE:
            return None
        return _with_end(self.back(1, 1, str(unit.value)), place + 2)

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
                return _with_end(self.stretch(many if forward is None else -many, unit), end)
        unit_sense = self.sense(place + 1, "unit")
        if self.sense(place, "rolling") and unit_sense is not None and unit_sense.languages & head.languages:
            name = str(unit_sense.value)
            return _with_end(self.stretch(1, name), place + 2)
        return None

    def _rolling_after_number(self, place: int, _cue: int) -> Reading:
        """Read ``3 derniers jours``, ``3 last days`` of the Romance languages, and ``3 días pasados``."""
        number = self.sense(place, "number") or self.sense(place, "vague")
        last, unit = self.sense(place + 1, "last"), self.sense(place + 2, "unit")
        if number is None or last is None or unit is None or not last.languages & unit.languages & _SIDE_LAST:
            return None
        many = int(number.value) if self.sense(place, "number") else _VAGUE[str(number.value)][1]
        return _with_end(self.stretch(many, str(unit.value)), place + 3)

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

    def in_latest_year(self, of_year: OfYear, kind: str, confidence: float) -> Period | None:
        """Return the latest occurrence that has begun of what comes every year (or, a 29th of February, every eighth)."""
        now = self.today.toordinal() * DAY
        for year in range(self.today.year, self.today.year - 9, -1):
            span = of_year(year)
            if span is not None and span.start <= now:
                return Period(span, kind, confidence, of_year)
        return None


def _with_end(period: Period | None, end: int) -> Reading:
    return None if period is None else (period, end)


def _month_of(month: int) -> OfYear:
    return lambda year: calendar.months(year, month)


def _season_of(name: str) -> OfYear:
    return lambda year: calendar.season(year, name)


def _day_of(month: int, number: int) -> OfYear:
    return lambda year: calendar.day(year, month, number)


def _bits(*names: str) -> int:
    return sum(1 << LANGUAGES.index(name) for name in names)


_SIDE_LAST: Final = _bits("fr", "es", "it", "pt")
"""Languages that say ``week last``."""
_UNIT_ALONE: Final = _bits("ru", "pl")
"""Languages that say ``week ago`` for one week."""

"""Relations of periods (since, until, before, after, between), and all phrases of a text."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import NamedTuple

from lamina_engine.time import calendar
from lamina_engine.time.calendar import DAY, EARLIEST, LATEST, Span
from lamina_engine.time.lexicon import ALL_LANGUAGES, AMBIGUOUS_MONTHS
from lamina_engine.time.phrases import PeriodParser
from lamina_engine.time.relative import Period
from lamina_engine.time.tokens import tokenize


class TimePhrase(NamedTuple):
    """A span of wall time, and the position of its words."""

    span: Span
    kind: str
    confidence: float
    start: int
    end: int
    about_days: int = 0
    bare: bool = False
    """One name that may be somebody's: its last word."""


def read_phrases(text: str, now: datetime) -> Iterator[TimePhrase]:
    """Yield the phrases of a text with blanks between words, in order, without overlap."""
    tokens = tokenize(text)
    relations = _RelationParser(PeriodParser(text, tokens, now))
    place = 0
    while place < len(tokens):
        got = relations.read(place) if tokens[place].senses else None
        if got is None:
            place += 1
            continue
        period, end = got
        where = tokens[place].start, tokens[end - 1].end
        yield TimePhrase(period.span, period.kind, period.confidence, *where, period.about_days, period.bare)
        place = end


class _RelationParser:
    """Parser of periods and their relations: since, until, before, after, between, from … to."""

    def __init__(self, periods: PeriodParser) -> None:
        self.periods = periods

    def read(self, place: int) -> tuple[Period, int] | None:
        """Return the longest phrase that begins at a place."""
        readings = [self._read_range(place), self._read_bound(place), self._offset(place), self._read_plain(place)]
        return max((each for each in readings if each), key=lambda each: each[1], default=None)

    def _read_plain(self, place: int) -> tuple[Period, int] | None:
        """Read a period, after a preposition or without one."""
        bare = self.periods.read(place)
        cue = self._cue(place)
        if not cue:
            return bare
        at = self.periods.skip(place + 1, "the")
        after = self.periods.read(at, cue)
        if after is not None and not self._may_follow(place, at, after[0]):
            after = None
        return max((each for each in (bare, after) if each), key=lambda each: each[1], default=None)

    def _cue(self, place: int) -> int:
        found = (self.periods.sense(place, category) for category in ("in", "from", "of", "on"))
        bits = 0
        for sense in found:
            bits |= sense.languages if sense else 0
        return bits

    def _may_follow(self, place: int, at: int, period: Period) -> bool:
        """Return whether a period fits its preposition: "on March" is a step, "of 2000" a size."""
        if self.periods.sense(place, "in") or self.periods.sense(place, "from"):
            return True
        if period.kind == "year" and not self.periods.sense(at, "yearword"):
            number = self.periods.sense(at, "year")
            known = number is not None and 2000 < int(number.value) <= self.periods.today.year + 1
            return known and bool(self.periods.sense(place, "of"))
        if self.periods.sense(place, "of"):
            return True
        return period.kind != "season" and (
            period.kind != "month" or self.periods.tokens[at].text not in AMBIGUOUS_MONTHS
        )

    def _read_bound(self, place: int) -> tuple[Period, int] | None:
        """Read ``since X``, ``until X``, ``before X``, ``after X``."""
        for relation in ("since", "until", "before", "after"):
            sense = self.periods.sense(place, relation)
            if sense is None:
                continue
            at = self.periods.skip(place + 1, "the", "in")
            got = self.periods.read(at, sense.languages) or (self._count_since(at) if relation == "since" else None)
            if got is not None and got[0].kind != "ambiguous":
                period, end = got
                span = self._bound_span(relation, period.span)
                if span is not None:
                    return Period(span, relation, period.confidence * 0.95, bare=period.bare), end
        return None

    def _offset(self, place: int) -> tuple[Period, int] | None:
        """Read ``three days before yesterday``, ``a week after May 5``."""
        for few, many, unit, end in self.periods.counts(place):
            side = next((sign for name, sign in (("before", -1), ("after", 1)) if self.periods.sense(end, name)), 0)
            got = self.periods.read(self.periods.skip(end + 1, "the"), ALL_LANGUAGES) if side and few == many else None
            if got is None or calendar.is_short(unit):
                return None
            last = got[0].span.end - DAY if side > 0 else got[0].span.start
            day = calendar.moved(_date_of(last).date(), unit, side * few)
            span = calendar.span_of_days(day) if day else None
            return span and (Period(span, "day", 0.8), got[1])
        return None

    def _count_since(self, place: int) -> tuple[Period, int] | None:
        """Read ``seit 3 Tagen``."""
        for _few, many, unit, end in self.periods.counts(place):
            period = self.periods.rolling_window(many, unit)
            return period and (period, end)
        return None

    def _bound_span(self, relation: str, span: Span) -> Span | None:
        tomorrow = (self.periods.today.toordinal() + 1) * DAY
        if relation == "since":
            got = Span(span.start, tomorrow if span.start < tomorrow else LATEST)
        elif relation == "after":
            got = Span(span.end, tomorrow if span.end < tomorrow else LATEST)
        else:
            got = Span(EARLIEST, span.end if relation == "until" else span.start)
        return got if got.start < got.end else None

    def _read_range(self, place: int) -> tuple[Period, int] | None:
        """Read ``between X and Y``, ``from X to Y``, ``X – Y``."""
        head = next((name for name in ("between", "from") if self.periods.sense(place, name)), None)
        joints = ("and", "dash") if head == "between" else ("to", "dash")
        start = self.periods.skip(place + 1, "the") if head else place
        cue = ALL_LANGUAGES if head else 0
        left = self.periods.read(start, cue)
        if left is not None and self._joint(left[1], joints):
            got = self._to(left[0], left[1] + 1, cue)
            if got is not None:
                return got
        return self._from_number(start, joints)

    def _joint(self, place: int, joints: tuple[str, ...]) -> bool:
        return any(self.periods.sense(place, joint) for joint in joints)

    def _to(self, left: Period, place: int, cue: int) -> tuple[Period, int] | None:
        at = self.periods.skip(place, "the", "in")
        right = self.periods.read(at, cue or ALL_LANGUAGES)
        if right is None:
            return self._to_number(left, at)
        joined = join_periods(left, right[0])
        return joined and (joined, right[1])

    def _to_number(self, left: Period, place: int) -> tuple[Period, int] | None:
        """Read the ``5`` of ``March 3 to 5``, and a year behind it."""
        number = self.periods.sense(place, "nth")
        if number is None or left.kind not in ("day", "date"):
            return None
        month = calendar.unit_at(_date_of(left.span.start), "month")
        last = month and calendar.slice_of(month, int(number.value), "day")
        year = self.periods.year_after(place + 1)
        if year is not None and left.of_year is not None:
            first = left.of_year(year[0])
            whole = first and calendar.unit_at(_date_of(first.start), "month")
            last = whole and calendar.slice_of(whole, int(number.value), "day")
            if first is None or last is None or first.start >= last.end:
                return None
            return Period(Span(first.start, last.end), "range", 0.9), year[1]
        if last is None or left.span.start >= last.end:
            return None
        return Period(Span(left.span.start, last.end), "range", left.confidence), place + 1

    def _from_number(self, place: int, joints: tuple[str, ...]) -> tuple[Period, int] | None:
        """Read ``3 to 5 March``."""
        number = self.periods.sense(place, "nth")
        if number is None or not self._joint(place + 1, joints):
            return None
        right = self.periods.read(self.periods.skip(place + 2, "the"), ALL_LANGUAGES)
        if right is None or right[0].kind not in ("day", "date"):
            return None
        month = calendar.unit_at(_date_of(right[0].span.start), "month")
        first = month and calendar.slice_of(month, int(number.value), "day")
        if first is None or first.start >= right[0].span.end:
            return None
        return Period(Span(first.start, right[0].span.end), "range", right[0].confidence), right[1]


def join_periods(left: Period, right: Period) -> Period | None:
    """Return the range between two periods.

    A period without a year or a week takes it from the other.
    """
    if "ambiguous" in (left.kind, right.kind):
        return None
    first, last = left.span, right.span
    if (
        left.of_year is not None
        and right.of_year is None
        and right.kind in ("date", "month", "year", "quarter", "part")
    ):
        year = _date_of(right.span.end - 1).year
        first = _no_later(left, year, last) or first
    elif right.of_year is not None:
        year = _date_of(left.span.start).year
        last = _no_earlier(right, year, first) or last
    elif left.kind == right.kind == "weekday" and last.start < first.start:
        last = Span(last.start + 7 * DAY, last.end + 7 * DAY)
    if last.start < first.start:
        first, last = last, first
    # two dates in one phrase make each other surer
    confidence = max(left.confidence, right.confidence)
    return Period(Span(first.start, max(first.end, last.end)), "range", confidence)


def _no_later(period: Period, year: int, than: Span) -> Span | None:
    spans = [period.of_year(number) for number in (year, year - 1)] if period.of_year else []
    return next((span for span in spans if span and span.start <= than.start), None)


def _no_earlier(period: Period, year: int, than: Span) -> Span | None:
    spans = [period.of_year(number) for number in (year, year + 1)] if period.of_year else []
    return next((span for span in spans if span and span.start >= than.start), None)


def _date_of(minute: int) -> datetime:
    return calendar.moment(minute, UTC)

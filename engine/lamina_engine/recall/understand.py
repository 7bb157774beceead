"""What time a question means: a half-open window in the caller's zone, and how sure that is.

The words are data (`phrases`), cut by `lexemes`, read by `periods` (or `ideographs`), on the arithmetic of `calendar`. Here
periods are put in relation: since, until, before, after, between. A question that means no time has no window.
"""

from __future__ import annotations

import operator
import re
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final, SupportsIndex

from msgspec import Struct

from lamina_engine.clock import parse_instant, zone
from lamina_engine.errors import InvalidArgument
from lamina_engine.recall import calendar
from lamina_engine.recall.calendar import DAY, EARLIEST, LATEST, Span
from lamina_engine.recall.ideographs import Ideographic, ideographic
from lamina_engine.recall.lexemes import lexemes
from lamina_engine.recall.periods import Period, Periods
from lamina_engine.recall.phrases import ALL_LANGUAGES

Window = tuple[datetime, datetime]
Now = datetime | str | SupportsIndex
"""The moment of a question: a datetime (naive: in its zone), ISO 8601 text, or microseconds since 1970 (UTC)."""

MEANT: Final = 0.5
"""From this confidence on a phrase is taken to mean its window."""
MAX_CHARS: Final = 20_000
"""Longer texts are read to here: a question is shorter, and a pasted log must not take seconds."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EVENT: Final = re.compile(
    r"(?<![\w-])(before|after|since|until|till)\s+(?P<event>(?:the|our|my|this|that)\s+[^\W\d_][\w-]*(?:\s+(?!and\b|or\b|but\b|we\b|i\b|did\b|was\b|were\b|is\b)[^\W_][\w-]*){0,3})",
    re.IGNORECASE,
)
_EVENT_CONFIDENCE: Final = 0.4
_BRIDGES: Final = frozenset("到至~～-–—から")
_SINCE_MARKS: Final = ("以来", "以后", "之后", "以降", "起", "开始", "から", "이후", "부터")
_BEFORE_MARKS: Final = ("之前", "以前", "前", "이전")


class Understood(Struct, frozen=True):
    """What a question says of time.

    Parameters
    ----------
    window : tuple of datetime, optional
        Half-open [start, end) in the caller's zone; None where no time is meant, or only an event is named.
    confidence : float
        0 (nothing found) to 1.
    phrase : str
        The words that say it, as written.
    span : tuple of int
        Where they stand, [start, end) in characters.
    kind : str
        ``date, day, week, month, quarter, half, season, year, decade, weekday, weekend, relative, ago, vague, rolling, part,
        daypart, ambiguous, range, since, until, before, after, event`` or ``none``.
    event : str, optional
        With kind ``event``: what is named in place of a date; the first word of the phrase says how it bounds.
    """

    window: Window | None
    confidence: float
    phrase: str
    span: tuple[int, int]
    kind: str
    event: str | None = None


NOTHING: Final = Understood(None, 0.0, "", (0, 0), "none")


class _Found(Struct, frozen=True):
    """A span of wall time and the words that said it."""

    span: Span
    kind: str
    confidence: float
    start: int
    end: int


def time_window(text: str, now: Now, tz: str = "UTC") -> Window | None:
    """Return the time that a question means, or None.

    Parameters
    ----------
    text : str
        A question; the phrase may stand anywhere in it.
    now : datetime, str or int
        When it is asked: a datetime (a naive one is read in ``tz``), ISO 8601 text, or microseconds since 1970 (UTC).
    tz : str
        IANA name of the zone whose days are meant.

    Returns
    -------
    tuple of datetime, optional
        Half-open [start, end), aware, in ``tz``. "Before" begins at ``datetime.min``, what never ends ends at ``datetime.max``.

    Raises
    ------
    InvalidArgument
        When ``text`` is no text, ``now`` no moment or ``tz`` no zone. No text raises.

    Examples
    --------
    >>> start, end = time_window("what did we decide last Tuesday?", "2026-08-12T14:30:00Z")
    >>> print(start.date(), end.date())
    2026-08-11 2026-08-12
    """
    found = understood(text, now, tz)
    return found.window if found.confidence >= MEANT else None


def understood(text: str, now: Now, tz: str = "UTC") -> Understood:
    """Return what a question says of time, also where it is too unsure to be a filter.

    Parameters
    ----------
    text, now, tz
        As in `time_window`.

    Returns
    -------
    Understood
        The first phrase that is sure enough (`MEANT`), else the first at all, else ``NOTHING``.

    Raises
    ------
    InvalidArgument
        As `time_window`.

    Notes
    -----
    O(length), up to `MAX_CHARS`; a short question takes some tens of microseconds.
    """
    if not isinstance(text, str):
        raise InvalidArgument(f"text must be text, not {type(text).__name__}")
    where = zone(tz)
    local = _local_now(now, tz, where)
    asked = text[:MAX_CHARS]
    found = sorted([*_spoken(asked, local), *_ideographic(asked, local)], key=lambda each: (each.start, -each.end))
    best = next((each for each in found if each.confidence >= MEANT), found[0] if found else None)
    if best is None:
        return _event(asked)
    window = calendar.moment(best.span.start, where), calendar.moment(best.span.end, where)
    if window[0] >= window[1]:
        return NOTHING
    return Understood(window, best.confidence, asked[best.start : best.end], (best.start, best.end), best.kind)


def _local_now(now: object, tz: str, where: tzinfo) -> datetime:
    """Return the moment of a question in its zone."""
    try:
        if isinstance(now, datetime | str):
            us = parse_instant(now, tz, what="now")
        elif isinstance(now, bool) or not hasattr(now, "__index__"):
            raise TypeError
        else:
            us = operator.index(now)
        return (_EPOCH + timedelta(microseconds=us)).astimezone(where)
    except (TypeError, OverflowError, ValueError) as error:
        if isinstance(error, InvalidArgument):
            raise
        raise InvalidArgument(
            f"now={now!r} is not a moment of the years 1 to 9999; give a datetime, ISO 8601 text, or microseconds since 1970"
        ) from error


def _event(text: str) -> Understood:
    """Return the event that a question names in place of a date (``before the migration``), for the vault to find."""
    match = _EVENT.search(text)
    if match is None:
        return NOTHING
    return Understood(None, _EVENT_CONFIDENCE, match.group(), match.span(), "event", match["event"])


def _spoken(text: str, now: datetime) -> list[_Found]:
    """Return the phrases of a text whose words stand apart, in order, none over another."""
    pieces = lexemes(text)
    relations = _Relations(Periods(text, pieces, now))
    found = []
    place = 0
    while place < len(pieces):
        got = relations.read(place) if pieces[place].senses else None
        if got is None:
            place += 1
            continue
        period, end = got
        found.append(_Found(period.span, period.kind, period.confidence, pieces[place].start, pieces[end - 1].end))
        place = end
    return found


class _Relations:
    """Periods, and what binds them: since, until, before, after, between, from … to."""

    def __init__(self, periods: Periods) -> None:
        self.periods = periods

    def read(self, place: int) -> tuple[Period, int] | None:
        """Return the longest phrase that begins at a place."""
        readings = [self._range(place), self._bound(place), self._plain(place)]
        return max((each for each in readings if each), key=lambda each: each[1], default=None)

    def _plain(self, place: int) -> tuple[Period, int] | None:
        """Read a period, after a preposition or without one."""
        bare = self.periods.read(place)
        cue = self._cue(place)
        if not cue:
            return bare
        after = self.periods.read(self.periods.skip(place + 1, "the"), cue)
        return max((each for each in (bare, after) if each), key=lambda each: each[1], default=None)

    def _cue(self, place: int) -> int:
        bits = 0
        for category in ("in", "from", "of"):
            sense = self.periods.sense(place, category)
            bits |= sense.languages if sense else 0
        return bits

    def _bound(self, place: int) -> tuple[Period, int] | None:
        """Read ``since X``, ``until X``, ``before X``, ``after X``."""
        for relation in ("since", "until", "before", "after"):
            sense = self.periods.sense(place, relation)
            if sense is None:
                continue
            at = self.periods.skip(place + 1, "the", "in")
            got = self.periods.read(at, sense.languages) or (self._count_since(at) if relation == "since" else None)
            if got is not None and got[0].kind != "ambiguous":
                period, end = got
                span = self._bounded(relation, period.span)
                if span is not None:
                    return Period(span, relation, period.confidence * 0.95), end
        return None

    def _count_since(self, place: int) -> tuple[Period, int] | None:
        """Read ``seit 3 Tagen``."""
        for _few, many, unit, end in self.periods.counts(place):
            period = self.periods.stretch(many, unit)
            return period and (period, end)
        return None

    def _bounded(self, relation: str, span: Span) -> Span | None:
        tomorrow = (self.periods.today.toordinal() + 1) * DAY
        if relation == "since":
            got = Span(span.start, tomorrow if span.start < tomorrow else LATEST)
        elif relation == "after":
            got = Span(span.end, tomorrow if span.end < tomorrow else LATEST)
        else:
            got = Span(EARLIEST, span.end if relation == "until" else span.start)
        return got if got.start < got.end else None

    def _range(self, place: int) -> tuple[Period, int] | None:
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
        joined = _joined(left, right[0])
        return joined and (joined, right[1])

    def _to_number(self, left: Period, place: int) -> tuple[Period, int] | None:
        """Read the ``5`` of ``March 3 to 5``, and a year behind it."""
        number = self.periods.sense(place, "nth")
        if number is None or left.kind not in ("day", "date"):
            return None
        month = calendar.unit_around(_date_of(left.span.start), "month")
        last = month and calendar.slice_of(month, int(number.value), "day")
        year = self.periods.year_behind(place + 1)
        if year is not None and left.of_year is not None:
            first = left.of_year(year[0])
            whole = first and calendar.unit_around(_date_of(first.start), "month")
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
        month = calendar.unit_around(_date_of(right[0].span.start), "month")
        first = month and calendar.slice_of(month, int(number.value), "day")
        if first is None or first.start >= right[0].span.end:
            return None
        return Period(Span(first.start, right[0].span.end), "range", right[0].confidence), right[1]


def _joined(left: Period, right: Period) -> Period | None:
    """Return the range between two periods; the one that names no year or week takes it from the other."""
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
    confidence = min(left.confidence, right.confidence)
    return Period(Span(first.start, max(first.end, last.end)), "range", confidence)


def _no_later(period: Period, year: int, than: Span) -> Span | None:
    spans = [period.of_year(number) for number in (year, year - 1)] if period.of_year else []
    return next((span for span in spans if span and span.start <= than.start), None)


def _no_earlier(period: Period, year: int, than: Span) -> Span | None:
    spans = [period.of_year(number) for number in (year, year + 1)] if period.of_year else []
    return next((span for span in spans if span and span.start >= than.start), None)


def _date_of(minute: int) -> datetime:
    return calendar.moment(minute, UTC)


def _ideographic(text: str, now: datetime) -> list[_Found]:
    """Return the phrases of a text without blanks, with what stands around them (``从…到…``, ``…以来``)."""
    found: list[_Found] = []
    previous: Ideographic | None = None
    for each in ideographic(text, now):
        if previous is not None and found and 0 < each.start - previous.end <= 2:
            bridge = text[previous.end : each.start].strip()
            joined = _joined(previous.period, each.period) if bridge and set(bridge) <= _BRIDGES else None
            if joined is not None:
                found[-1] = _Found(joined.span, "range", joined.confidence, found[-1].start, each.end)
                previous = None
                continue
        found.append(_marked(text, each, now))
        previous = each
    return found


def _marked(text: str, each: Ideographic, now: datetime) -> _Found:
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
            return _Found(span, kind, period.confidence * 0.9, each.start, each.end + len(mark))
    return _Found(period.span, period.kind, period.confidence, each.start, each.end)

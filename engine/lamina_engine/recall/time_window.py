"""Time window of a recall: chunks inside it are preferred, or the only ones returned.

A score is multiplied by 1 − weight · confidence · (1 − closeness): closeness is 1 inside the window and falls to 0 within some
days on either side, because people write down on Friday what happened on Monday. A question without a time is scored
as without this module.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import date, datetime, timedelta
from itertools import product
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from lamina_engine.clock import MISSING_US, US_PER_DAY, US_PER_S, format_instant, format_local, parse_instant, zone
from lamina_engine.errors import InvalidArgument
from lamina_engine.index.analysis import query_analyzer, term_hash
from lamina_engine.index.scoring import Bm25
from lamina_engine.index.state import ACTIVE
from lamina_engine.index.view import View
from lamina_engine.recall.filters import select_rows
from lamina_engine.recall.lanes import PreferredRows, Selection, Words
from lamina_engine.time.lexicon import may_mention_time
from lamina_kernels.candidates import EARLIEST_US, LATEST_US
from lamina_kernels.layouts import BOOL, F64, I64, U32

if TYPE_CHECKING:
    from lamina_engine.profiles import TimePreference
    from lamina_engine.recall.request import Request
    from lamina_engine.recall.time_expression import TimeExpression

MODES: Final = ("prefer", "filter", "off")
_REQUESTED_WEIGHT: Final = 0.1
"""Weight where the caller wants a preference and the profile has none."""
_SURE: Final = 0.8
"""Confidence of a time that bounds what somebody wrote: a date, a month, a week, and nothing vague."""
_NAMED_DAYS: Final = ("date", "day")
_ONE_DAY: Final = timedelta(days=1, hours=1)
"""The longest day: that on which the clock is set back."""
_HALF_A_YEAR_US: Final = 183 * US_PER_DAY
_MOST_READ: Final = 1_000
"""Chunks with the words of a day that are read for it, those dated nearest to it: "may" and "3" stand in very many."""
_WORD: Final = re.compile(r"\w")
_ASKS_WHEN: Final = re.compile(r"\W*(?:when|wann|quand|cuándo|quando|wanneer)\b", re.IGNORECASE)
_UNDATED_DAYS: Final = 1e9
"""Days outside of every window for a chunk without a date."""


class TimeWindow(Struct, frozen=True):
    """Time window applied to a recall."""

    start_us: int
    end_us: int
    """Half-open, us UTC."""
    confidence: float
    phrase: str
    event: str | None
    """Id of the event's chunk, where the question names an event instead of a date."""
    weight: float
    """Share of the score lost by a row far outside."""
    before_days: float
    after_days: float
    """Days over which the preference fades."""
    strict: bool
    """Return only rows inside, if there are enough."""
    alone: bool = False
    """The question holds only the time, so every chunk in the window matches it, and by default nothing else does."""
    topic: str | None = None
    """Of a question for what somebody wrote then: the rest of it says no more."""
    naming: tuple[int, ...] = ()
    """Rows that a window of one day holds because they name it, whatever they are dated; ascending."""

    def inside(self, view: View) -> BOOL:
        """Return the rows that a strict window holds, bool (rows,)."""
        found: BOOL = (view.created_us >= self.start_us) & (view.created_us < self.end_us)
        found[list(self.naming)] = True
        return found

    def trace(self, tz: str) -> dict[str, Any]:
        """Return the window as shown by ``Hits.explain``."""
        return {
            "phrase": self.phrase, "since": _format_bound(self.start_us), "until": _format_bound(self.end_us),
            "confidence": self.confidence, "event": self.event, "filter": self.strict,
            "read_as": _name_window(self.start_us, self.end_us, tz),
        }  # fmt: skip


def check_mode(mode: object) -> str | None:
    """Validate a caller's time mode; None stays None."""
    if mode is not None and mode not in MODES:
        raise InvalidArgument(f"time={mode!r} must be one of {', '.join(MODES)}, or None to go by the profile")
    return mode if isinstance(mode, str) else None


def find_window(view: View, request: Request) -> TimeWindow | None:
    """Return the time window of a question under its profile, or None. O(length)."""
    # a caller's window (since, until) takes precedence: the text is not read then
    settings = request.profile.time
    mode = request.time or ("prefer" if settings.weight > 0.0 else None)
    windowed = request.since_us is not None or request.until_us is not None
    if mode == "off" or windowed or not view.rows or not may_mention_time(request.text):
        return None
    from lamina_engine.recall.time_expression import understand_time

    found = understand_time(request.text, request.now_us, request.tz)
    if found.event is not None:
        return window_of_event(view, request, found, mode) if mode else None
    if found.window is None or found.confidence < settings.least_confidence:
        return None
    start, end = (_microseconds(moment) for moment in found.window)
    # "two months ago" names a day by its grammar, and nobody counts the days to it
    start, end = start - found.about_days * US_PER_DAY, end + found.about_days * US_PER_DAY
    sure = True
    if found.bare:
        from lamina_engine.recall.namesakes import Namesake, find_namesake  # few questions name a month alone

        is_empty = not ((view.created_us >= start) & (view.created_us < end)).any()
        namesake = find_namesake(view, request.text, found, request.now_us, is_empty=is_empty)
        if namesake is Namesake.SURE:
            return None
        sure = namesake is Namesake.NONE
    alone = sure and _is_only_time(view, request, found.phrase, start, end)
    if not alone:
        if mode is None:
            return None
        window = make_window(settings, start, end, found.confidence, found.phrase, mode)
        if not sure or found.confidence < _SURE or not {"lexical", "vector"} <= set(request.lanes):
            return window
        from lamina_engine.time.fillers import written_topic

        topic = written_topic(request.text.replace(found.phrase, " ", 1))
        return window if topic is None else replace(window, topic=topic, strict=request.time != "prefer")
    window = make_window(settings, start, end, found.confidence, found.phrase, mode or "filter")
    window = replace(window, alone=True, strict=request.time != "prefer")
    if not window.strict or found.kind not in _NAMED_DAYS or found.window[1] - found.window[0] > _ONE_DAY:
        return window
    naming = rows_naming(view, found.window[0].date())
    # what speaks of the day is no worse than what is dated by it
    return replace(window, naming=naming, weight=0.0) if naming else window


def make_window(
    settings: TimePreference,
    start_us: int,
    end_us: int,
    confidence: float,
    phrase: str,
    mode: str,
    event: str | None = None,
) -> TimeWindow:
    """Return a window with the weight and fading of a profile."""
    sure = settings.filter_confidence is not None and confidence >= settings.filter_confidence
    return TimeWindow(
        start_us, end_us, confidence, phrase, event, (settings.weight or _REQUESTED_WEIGHT) * confidence, settings.before_days,
        settings.after_days, strict=mode == "filter" or sure,
    )  # fmt: skip


def _is_only_time(view: View, request: Request, phrase: str, start_us: int, end_us: int) -> bool:
    """Return True for a question of a time phrase and words that name no topic."""
    # who asks for words alone, or meaning alone, wants what matches: "February" may be a word like any other
    if not {"lexical", "vector"} <= set(request.lanes):
        return False
    from lamina_engine.time.fillers import names_no_topic  # few questions name a time

    rest = request.text.replace(phrase, " ", 1)
    if _ASKS_WHEN.match(rest) or not names_no_topic(rest):
        return False  # "when does week 44 start" asks about the week, and when it was written is no answer
    if _WORD.search(rest):
        return True
    within = (view.created_us >= start_us) & (view.created_us < end_us)
    return request.profile.vector_share != 0.0 and bool(within.any())


class WindowCandidates(PreferredRows):
    """Rows in or near a window, added to every lane."""

    def __init__(self, view: View, selection: Selection, window: TimeWindow, *, enough: int) -> None:
        if window.strict:
            super().__init__(window.inside(view), selection, enough)
            return
        first = max(window.start_us - round(window.before_days * US_PER_DAY), EARLIEST_US)
        stop = min(window.end_us + round(window.after_days * US_PER_DAY), LATEST_US)
        created = view.created_us
        super().__init__((created >= first) & (created < stop), selection, enough)


def outside_days(created_us: I64, window: TimeWindow) -> F64:
    """Return days before (below 0) or after a window, 0 inside, float64 (n,)."""
    created = created_us.astype(np.float64)
    before = np.minimum((created - window.start_us) / US_PER_DAY, 0.0)
    # the window is half-open: its end is the first moment outside, however near
    after = np.maximum((created - window.end_us + 1.0) / US_PER_DAY, 0.0)
    return np.where(created_us == MISSING_US, _UNDATED_DAYS, before + after)


def time_factor(days: F64, weight: float, before_days: float, after_days: float) -> F64:
    """Return 1 − weight · (1 − closeness); closeness = max(0, 1 − days outside / fading days)."""
    room = np.where(days < 0.0, before_days, after_days)
    away = np.divide(np.abs(days), room, out=np.where(days == 0.0, 0.0, np.inf), where=room > 0.0)
    return 1.0 - weight * np.minimum(away, 1.0)


def time_term(window: TimeWindow, created_us: int | None) -> dict[str, float]:
    """Return the explanation term ``time`` of a hit."""
    created = np.array([MISSING_US if created_us is None else created_us], np.int64)
    return {
        "weight": window.weight, "before_days": window.before_days, "after_days": window.after_days,
        "outside_days": float(outside_days(created, window)[0]),
    }  # fmt: skip


def recompute_factor(terms: Mapping[str, Any]) -> float:
    """Recompute the factor of a hit from its term ``time``."""
    days = np.array([float(terms["outside_days"])])
    found = time_factor(days, float(terms["weight"]), float(terms["before_days"]), float(terms["after_days"]))
    return float(found[0])


def rows_naming(view: View, day: date) -> tuple[int, ...]:
    """Return the rows whose title, text or fields name a day.

    One without its year is the nearest to their own date.
    """
    from lamina_engine.time.dates import written_day
    from lamina_engine.time.lexicon import words_of_month

    def hashes(words: Iterable[str]) -> U32:
        return np.array(sorted({term_hash(word) for word in words}), np.uint32)

    stems = [term.stem for term in query_analyzer().query(" ".join(words_of_month(day.month)), view.languages)]
    numbers = {str(day.day), f"{day.day:02}"}, {str(day.month), f"{day.month:02}"}
    months, days = (np.concatenate(view.rows_with_each(hashes(words))) for words in (stems, numbers[0]))
    both = np.zeros(view.rows, np.bool_)
    both[months] = True
    found = [days[both[days]], view.rows_with_all(hashes([f"{day:%Y%m%d}"])), _rows_with_field(view, day)]
    found += [view.rows_with_all(hashes((str(day.year), *parts))) for parts in product(*numbers)]
    rows = np.array(sorted(set(np.concatenate(found).tolist())), np.int64)  # np.unique would import numpy.ma
    rows = rows[view.state.status[rows] == ACTIVE]
    noon = parse_instant(day) + US_PER_DAY // 2
    distance = np.abs(view.created_us[rows].astype(np.float64) - noon)
    nearest = np.sort(np.argsort(distance, kind="stable")[:_MOST_READ])
    rows, near = rows[nearest], distance[nearest] < _HALF_A_YEAR_US
    records = view.snapshot.records("chunks", rows, ("title", "text", "metadata"))
    contents = ["\n".join(filter(None, record.values())) for record in records]
    pattern = written_day(day)
    return tuple(
        row
        for row, content, is_near in zip(rows.tolist(), contents, near.tolist(), strict=True)
        if any(
            match["worded"] is None or match["year"] == str(day.year) or (match["year"] is None and is_near)
            for match in pattern.finditer(content)
        )
    )


def _rows_with_field(view: View, day: date) -> I64:
    """Return the rows with a field of that day in their frontmatter."""
    import pyarrow.compute as pc

    found = [np.empty(0, np.int64)]
    for segment in view.snapshot.segments("chunks"):
        named = pc.fill_null(pc.match_substring(segment.column("metadata"), day.isoformat()), False)
        found.append(np.flatnonzero(named.to_numpy(zero_copy_only=False)) + segment.start)
    rows = np.concatenate(found)
    return rows[rows < view.rows]


def require_window(view: View, selection: Selection, window: TimeWindow) -> Selection:
    """Return the selected rows that a strict window holds."""
    inside = window.inside(view)
    live = inside if selection.live is None else inside & selection.live
    return replace(selection, live=live, count=int(np.count_nonzero(live)), must_is_all=False)


def _microseconds(moment: datetime) -> int:
    return min(max(parse_instant(moment), EARLIEST_US), LATEST_US)


def _name_window(start_us: int, end_us: int, tz: str) -> str:
    """Return a window in words and wall time of a zone: ``2026-07-01 to 2026-08-01``."""
    since, until = (None if _format_bound(us) is None else format_local(us, tz) for us in (start_us, end_us))
    if since is None or until is None:
        return f"from {since} on" if since else f"before {until}" if until else "any time"
    return f"{since} to {until}"


def _format_bound(us: int) -> str | None:
    return None if us <= EARLIEST_US or us >= LATEST_US else format_instant(us)


CONFIDENCE: Final = 0.6
"""Confidence of an event's day: less than a date, enough to be preferred."""
_CANDIDATES: Final = 20
_SINCE: Final = ("since", "after")


def window_of_event(view: View, request: Request, found: TimeExpression, mode: str) -> TimeWindow | None:
    """Return the window before or after an event that a question names.

    The event is the best dated chunk by BM25 that holds every word of its name and passes the request's filter; without
    one there is no window.
    """
    profile = request.profile
    selection = select_rows(view, request.where, None, None, invalidated=profile.invalidated > 0.0)
    words = Words(view, query_analyzer().query(str(found.event), view.languages), Bm25(header=profile.lexical.header))
    rows = words.lane(selection, _CANDIDATES).rows
    if not len(rows):
        return None
    complete = [len(parts) == len(words.query.terms) for parts in words.contributions(rows)]
    dated = np.flatnonzero(np.array(complete, np.bool_) & (view.created_us[rows] != MISSING_US))
    if not len(dated):
        return None
    row = int(rows[dated[0]])
    day_us, next_us = _day(int(view.created_us[row]), request.tz)
    after = found.phrase.split()[0].lower() in _SINCE
    start, end = (day_us, request.now_us + US_PER_DAY) if after else (EARLIEST_US, day_us)
    if after and found.phrase.lower().startswith("after"):
        start = next_us
    if start >= end:
        return None
    name = str(view.snapshot.values("chunks", "id", np.array([row], np.int64))[0])
    return make_window(profile.time, start, end, CONFIDENCE, found.phrase, mode, event=name)


def _day(us: int, tz: str) -> tuple[int, int]:
    """Return the starts of a moment's day and of the next day in a zone."""
    try:
        local = datetime.fromtimestamp(us / US_PER_S, zone(tz)).replace(hour=0, minute=0, second=0, microsecond=0)
        return parse_instant(local), parse_instant(local + timedelta(days=1))
    except (OverflowError, ValueError, OSError):
        return us, us + 1

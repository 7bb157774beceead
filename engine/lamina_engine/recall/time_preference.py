"""The time that a question means, as part of a recall: what lies in its window is preferred, or alone returned.

A score is multiplied by 1 − weight · confidence · (1 − closeness): closeness is 1 inside the window and falls to 0 within some
days on either side, because people write down on Friday what happened on Monday. A question that means no time is scored
as if this module were not there.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from msgspec import Struct

from lamina_engine.clock import MISSING_US, US_PER_DAY, format_instant
from lamina_engine.errors import InvalidArgument
from lamina_engine.index.view import View
from lamina_engine.recall.fuse import Lane, ranked
from lamina_engine.recall.lanes import Selection
from lamina_engine.recall.when.prefilter import may_speak_of_time
from lamina_kernels.layouts import F64, I64

if TYPE_CHECKING:
    from lamina_engine.profiles import TimeMeant
    from lamina_engine.recall.request import Request

MODES: Final = ("prefer", "filter", "off")
EARLIEST_US: Final = -62_135_596_800_000_000  # year 1
LATEST_US: Final = 253_402_300_800_000_000  # year 10000
_ASKED: Final = 0.1
"""Weight where the caller asks for a preference that the profile has not."""
_UNDATED_DAYS: Final = 1e9
"""How far outside of every window a chunk without a date lies."""


class Meant(Struct, frozen=True):
    """A window that a recall goes by."""

    start_us: int
    end_us: int
    """Half-open, us UTC."""
    confidence: float
    phrase: str
    event: str | None
    """Id of the chunk that is the event, where one was named in place of a date."""
    weight: float
    """What lies far outside loses so much of its score."""
    before_days: float
    after_days: float
    """Days on which the preference fades."""
    strict: bool
    """Only what lies inside is returned, where that is enough."""

    def trace(self) -> dict[str, Any]:
        """Return what a recall's record says of it."""
        return {
            "phrase": self.phrase, "since": _shown(self.start_us), "until": _shown(self.end_us),
            "confidence": self.confidence, "event": self.event, "filter": self.strict,
        }  # fmt: skip


def check_mode(mode: object) -> str | None:
    """Return what a caller said of time; None stays None.

    Raises
    ------
    InvalidArgument
        When it is not one of `MODES`.
    """
    if mode is not None and mode not in MODES:
        raise InvalidArgument(f"time={mode!r} must be one of {', '.join(MODES)}, or None to go by the profile")
    return mode if isinstance(mode, str) else None


def time_meant(view: View, request: Request) -> Meant | None:
    """Return the time that a question means and its profile heeds; None where nothing is to be changed.

    A window that the caller gave (``since``, ``until``) stands for itself: the words are not read then.

    Notes
    -----
    A question without a word of time costs a look at its words. O(length).
    """
    settings = request.profile.time
    mode = request.time or ("prefer" if settings.weight > 0.0 else "off")
    windowed = request.since_us is not None or request.until_us is not None
    if mode == "off" or windowed or not view.rows or not may_speak_of_time(request.text):
        return None
    from lamina_engine.recall.understand import understood

    found = understood(request.text, request.now_us, request.tz)
    if found.event is not None:
        from lamina_engine.recall.events import around_event

        return around_event(view, request, found, mode)
    if found.window is None or found.confidence < settings.least_confidence:
        return None
    start, end = (_microseconds(moment) for moment in found.window)
    return meant(settings, start, end, found.confidence, found.phrase, mode)


def meant(
    settings: TimeMeant, start_us: int, end_us: int, confidence: float, phrase: str, mode: str, event: str | None = None
) -> Meant:
    """Return a window with what a profile makes of it."""
    sure = settings.filter_confidence is not None and confidence >= settings.filter_confidence
    return Meant(
        start_us, end_us, confidence, phrase, event, (settings.weight or _ASKED) * confidence, settings.before_days,
        settings.after_days, strict=mode == "filter" or sure,
    )  # fmt: skip


class Near:
    """The rows in or near a window: lanes look there too, so that what is preferred is among the candidates.

    Parameters
    ----------
    view : View
    selection : Selection
        What the request may return.
    window : Meant
    enough : int
        A lane that has found so many of these rows already is not asked again: wide windows cost nothing.
    """

    def __init__(self, view: View, selection: Selection, window: Meant, *, enough: int) -> None:
        before, after = (0.0, 0.0) if window.strict else (window.before_days, window.after_days)
        first = max(window.start_us - round(before * US_PER_DAY), EARLIEST_US)
        stop = min(window.end_us + round(after * US_PER_DAY), LATEST_US)
        created = view.created_us
        self._live = (created >= first) & (created < stop)
        self._selection, self._enough = selection, enough

    def completed(self, lane: Lane, again: Callable[[Selection], Lane]) -> Lane:
        """Return what a lane found, and what it finds among these rows, ranked; a row has the same score in both."""
        if np.count_nonzero(self._live[lane.rows]) >= self._enough:
            return lane
        other = again(self._rows)
        new = ~np.isin(other.rows, lane.rows)
        if not new.any():
            return lane
        rows = np.concatenate([lane.rows, other.rows[new]])
        return ranked(rows, np.concatenate([lane.scores, other.scores[new]]), len(rows))

    @functools.cached_property
    def _rows(self) -> Selection:
        allowed = self._selection
        live = self._live if allowed.live is None else self._live & allowed.live
        return Selection(live, int(np.count_nonzero(live)), allowed.must, must_is_all=False)


def timely(view: View, window: Meant | None, rows: I64, score: F64) -> F64:
    """Return scores, float64 (n,), with those outside a window lowered; the same array without a window."""
    if window is None:
        return score
    days = outside_days(view.created_us[rows], window)
    return score * factor_of(days, window.weight, window.before_days, window.after_days)


def inside(view: View, window: Meant, rows: I64, order: list[int], k: int) -> list[int]:
    """Return the positions whose rows lie in a window that is a filter, where these are k at least; else all."""
    days = outside_days(view.created_us[rows], window)
    kept = [position for position in order if days[position] == 0.0]
    return kept if len(kept) >= k else order


def outside_days(created_us: I64, window: Meant) -> F64:
    """Return days before (below 0) or after a window, 0 inside, float64 (n,)."""
    created = created_us.astype(np.float64)
    before = np.minimum((created - window.start_us) / US_PER_DAY, 0.0)
    # the window is half-open: its end is the first moment outside, however near
    after = np.maximum((created - window.end_us + 1.0) / US_PER_DAY, 0.0)
    return np.where(created_us == MISSING_US, _UNDATED_DAYS, before + after)


def factor_of(days: F64, weight: float, before_days: float, after_days: float) -> F64:
    """Return 1 − weight · (1 − closeness), closeness = max(0, 1 − days outside / days of fading)."""
    room = np.where(days < 0.0, before_days, after_days)
    away = np.divide(np.abs(days), room, out=np.where(days == 0.0, 0.0, np.inf), where=room > 0.0)
    return 1.0 - weight * np.minimum(away, 1.0)


def term_of(window: Meant, created_us: int | None) -> dict[str, float]:
    """Return the term ``time`` of a hit; `recomputed` gives its factor again."""
    created = np.array([MISSING_US if created_us is None else created_us], np.int64)
    return {
        "weight": window.weight, "before_days": window.before_days, "after_days": window.after_days,
        "outside_days": float(outside_days(created, window)[0]),
    }  # fmt: skip


def recomputed(terms: Mapping[str, Any]) -> float:
    """Return the factor of a hit from its term ``time``."""
    days = np.array([float(terms["outside_days"])])
    found = factor_of(days, float(terms["weight"]), float(terms["before_days"]), float(terms["after_days"]))
    return float(found[0])


def _microseconds(moment: datetime) -> int:
    from lamina_engine.clock import parse_instant

    return min(max(parse_instant(moment), EARLIEST_US), LATEST_US)


def _shown(us: int) -> str | None:
    return None if us <= EARLIEST_US or us >= LATEST_US else format_instant(us)

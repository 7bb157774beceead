"""An event that a question names in place of a date (``before the migration``), found in the vault."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

import numpy as np

from lamina_engine.clock import MISSING_US, US_PER_DAY, US_PER_S, parse_instant, zone
from lamina_engine.index.analysis import Analyzer
from lamina_engine.index.scoring import Bm25
from lamina_engine.index.view import View
from lamina_engine.recall.lanes import Words
from lamina_engine.recall.select import select
from lamina_engine.recall.time_preference import EARLIEST_US, Meant, meant

if TYPE_CHECKING:
    from lamina_engine.recall.request import Request
    from lamina_engine.recall.understand import Understood

CONFIDENCE: Final = 0.6
"""How sure a found event's day is: less than a date, enough to be preferred."""
_CANDIDATES: Final = 20
_SINCE: Final = ("since", "after")


def around_event(view: View, request: Request, found: Understood, mode: str) -> Meant | None:
    """Return the time before or after an event, as a question's words bound it.

    The event is the dated chunk that holds every word of its name, the best by BM25 among those that the request may
    return; where words are missing, or no chunk has a date, no time is meant.

    Parameters
    ----------
    view : View
    request : Request
    found : Understood
        Of kind ``event``.
    mode : str
        ``prefer`` or ``filter``.
    """
    profile = request.profile
    selection = select(view, request.where, None, None, invalidated=profile.invalidated > 0.0)
    words = Words(view, Analyzer().query(str(found.event)), Bm25(header=profile.lexical.header))
    rows = words.lane(selection, _CANDIDATES).rows
    if not len(rows):
        return None
    whole = [len(parts) == len(words.query.terms) for parts in words.contributions(rows)]
    known = np.flatnonzero(np.array(whole, np.bool_) & (view.created_us[rows] != MISSING_US))
    if not len(known):
        return None
    row = int(rows[known[0]])
    day_us, next_us = _day(int(view.created_us[row]), request.tz)
    after = found.phrase.split()[0].lower() in _SINCE
    start, end = (day_us, request.now_us + US_PER_DAY) if after else (EARLIEST_US, day_us)
    if after and found.phrase.lower().startswith("after"):
        start = next_us
    if start >= end:
        return None
    name = str(view.snapshot.values("chunks", "id", np.array([row], np.int64))[0])
    return meant(profile.time, start, end, CONFIDENCE, found.phrase, mode, event=name)


def _day(us: int, tz: str) -> tuple[int, int]:
    """Return the first moments of a moment's day and of the next one, in a zone."""
    try:
        local = datetime.fromtimestamp(us / US_PER_S, zone(tz)).replace(hour=0, minute=0, second=0, microsecond=0)
        return parse_instant(local), parse_instant(local + timedelta(days=1))
    except (OverflowError, ValueError, OSError):
        return us, us + 1

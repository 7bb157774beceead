"""What happened, asked for by session or by time: sessions listed, and one of them, or a span of days, told again."""

from __future__ import annotations

import math
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from lamina_engine.clock import US_PER_DAY, Instant, parse_instant
from lamina_engine.errors import InvalidArgument
from lamina_engine.index.view import View
from lamina_engine.recall.reconstructing import KEEPS, MODES, Keep, Mode, Told, reconstruct
from lamina_engine.recall.sessions import (
    Session,
    SessionNotFound,
    check_limit,
    find_sessions,
    previous_session,
    session_of,
)

if TYPE_CHECKING:
    from lamina_engine.memory import Memory

MAX_BUDGET: Final = 10_000_000
_MAX_DAYS: Final = 36_525


class Retold(Struct, frozen=True):
    """What was told, of which sessions."""

    told: Told
    sessions: list[Session]
    """Newest first."""
    since_us: int | None
    until_us: int | None
    view: View


def list_sessions(
    memory: Memory,
    *,
    project: str | None = None,
    agent: str | None = None,
    since: Instant | None = None,
    until: Instant | None = None,
    days: float | None = None,
    limit: int = 30,
    now: Instant | None = None,
    tz: str | None = None,
) -> list[Session]:
    """Return sessions, the newest first; see ``Vault.sessions``.

    Raises
    ------
    InvalidArgument
    """
    since_us, until_us = _span(memory, since, until, days, now, tz)
    view = memory.view()
    found = find_sessions(view, project=project, agent=agent, since_us=since_us, until_us=until_us)
    return list(islice(found, check_limit(limit)))


def retell(
    memory: Memory,
    session: str | None = None,
    *,
    since: Instant | None = None,
    until: Instant | None = None,
    days: float | None = None,
    previous: bool = False,
    project: str | None = None,
    agent: str | None = None,
    mode: Mode = "timeline",
    keep: Keep = "newest",
    token_budget: int = 4_000,
    as_of: Instant | None = None,
    now: Instant | None = None,
    tz: str | None = None,
) -> Retold:
    """Tell a session or a span of days again; see ``Vault.reconstruct``.

    Raises
    ------
    InvalidArgument, SessionNotFound
    """
    _check(session, since, until, days, previous, mode, keep, token_budget)
    since_us, until_us = _span(memory, since, until, days, now, tz)
    view = memory.view()
    if as_of is not None:
        view = View(view.snapshot, view.tables, as_of_us=parse_instant(as_of, tz or memory.config.tz, what="as_of"))
    chosen: dict[str, Any] = {"project": project, "agent": agent, "since_us": since_us, "until_us": until_us}
    if previous:
        before = previous_session(view, session, project)
        if before is None:
            said = f"session {session!r}" if session is not None else "the present"
            raise SessionNotFound(f"no session came before {said}; `lamina sessions` lists them")
        found = [session_of(view, before.session, **chosen)]
    elif session is not None:
        found = [session_of(view, session, **chosen)]
    else:
        found = list(find_sessions(view, **chosen))
    return Retold(reconstruct(view, found, mode, token_budget, keep), found, since_us, until_us, view)


def _check(
    session: object, since: object, until: object, days: object, previous: object, mode: object, keep: object,
    budget: object,
) -> None:  # fmt: skip
    if session is None and since is None and until is None and days is None and not previous:
        raise InvalidArgument("say what to reconstruct: a session, since or until, days, or previous=True")
    if session is not None and (not isinstance(session, str) or not session):
        raise InvalidArgument(f"session={session!r} must be the name of a session; `lamina sessions` lists them")
    if mode not in MODES:
        raise InvalidArgument(f"mode={mode!r} must be one of {', '.join(MODES)}")
    if keep not in KEEPS:
        raise InvalidArgument(f"keep={keep!r} must be one of {', '.join(KEEPS)}")
    if isinstance(budget, bool) or not isinstance(budget, int) or not 1 <= budget <= MAX_BUDGET:
        raise InvalidArgument(f"token_budget={budget!r} must be a whole number of tokens from 1 to {MAX_BUDGET}")


def _span(
    memory: Memory,
    since: Instant | None,
    until: Instant | None,
    days: float | None,
    now: Instant | None,
    tz: str | None,
) -> tuple[int | None, int | None]:
    """Return a half-open span, us UTC; ``days`` are counted back from now."""
    zone = tz or memory.config.tz
    since_us = None if since is None else parse_instant(since, zone, what="since")
    until_us = None if until is None else parse_instant(until, zone, what="until")
    if days is not None:
        if since is not None or until is not None:
            raise InvalidArgument("days is counted back from now; give it alone, or since and until")
        if isinstance(days, bool) or not isinstance(days, int | float) or not (0 < days <= _MAX_DAYS):
            raise InvalidArgument(f"days={days!r} must be a number above 0, at most {_MAX_DAYS}")
        end = memory.clock.now_us() if now is None else parse_instant(now, zone, what="now")
        since_us = math.floor(end - days * US_PER_DAY)
        until_us = end + 1
    if since_us is not None and until_us is not None and since_us >= until_us:
        raise InvalidArgument(f"since={since!r} is not before until={until!r}; the window is half-open")
    return since_us, until_us

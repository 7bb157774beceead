"""What happened, asked for by session or by time: sessions listed, and one of them, or a span of days, told again."""

from __future__ import annotations

import math
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from lamina_engine.clock import US_PER_DAY, Instant, parse_instant
from lamina_engine.errors import InvalidArgument, SessionNotFound
from lamina_engine.index.view import View
from lamina_engine.recall.reconstructing import KEEPS, MODES, Keep, Mode, Told, reconstruct
from lamina_engine.recall.sessions import Session, check_limit, find_sessions, previous_session, session_of

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


class Span(Struct, frozen=True):
    """A time as it is asked for: from, until, or so many days back from now; see ``Vault.reconstruct``."""

    since: Instant | None
    until: Instant | None
    days: float | None
    now: Instant | None
    tz: str | None

    def bounds(self, memory: Memory) -> tuple[int | None, int | None]:
        """Return it half-open, us UTC.

        Raises
        ------
        InvalidArgument
        """
        zone = self.tz or memory.config.tz
        since_us = None if self.since is None else parse_instant(self.since, zone, what="since")
        until_us = None if self.until is None else parse_instant(self.until, zone, what="until")
        if self.days is not None:
            if self.since is not None or self.until is not None:
                raise InvalidArgument("days is counted back from now; give it alone, or since and until")
            if (
                isinstance(self.days, bool)
                or not isinstance(self.days, int | float)
                or not (0 < self.days <= _MAX_DAYS)
            ):
                raise InvalidArgument(f"days={self.days!r} must be a number above 0, at most {_MAX_DAYS}")
            end = memory.clock.now_us() if self.now is None else parse_instant(self.now, zone, what="now")
            since_us, until_us = math.floor(end - self.days * US_PER_DAY), end + 1
        if since_us is not None and until_us is not None and since_us >= until_us:
            raise InvalidArgument(f"since={self.since!r} is not before until={self.until!r}; the window is half-open")
        return since_us, until_us


class Telling(Struct, frozen=True):
    """How a reconstruction is told; see ``Vault.reconstruct``."""

    mode: Mode
    keep: Keep
    token_budget: int


def list_sessions(memory: Memory, span: Span, limit: int, **chosen: str | None) -> list[Session]:
    """Return sessions, the newest first; see ``Vault.sessions``, which has the defaults.

    Parameters
    ----------
    memory : Memory
    span : Span
    limit : int
    **chosen
        ``project``, ``agent``.

    Raises
    ------
    InvalidArgument
    """
    since_us, until_us = span.bounds(memory)
    found = find_sessions(memory.view(), since_us=since_us, until_us=until_us, **chosen)
    return list(islice(found, check_limit(limit)))


def retell(
    memory: Memory,
    session: str | None,
    span: Span,
    telling: Telling,
    *,
    previous: bool,
    as_of: Instant | None,
    project: str | None,
    agent: str | None,
) -> Retold:
    """Tell a session or a span of days again; see ``Vault.reconstruct``, which has the defaults.

    Raises
    ------
    InvalidArgument, SessionNotFound
    """
    _check(session, span, telling, previous=previous)
    since_us, until_us = span.bounds(memory)
    view = memory.view()
    if as_of is not None:
        moment_us = parse_instant(as_of, span.tz or memory.config.tz, what="as_of")
        view = View(view.snapshot, view.tables, as_of_us=moment_us)
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
    told = reconstruct(view, found, telling.mode, telling.token_budget, telling.keep)
    return Retold(told, found, since_us, until_us, view)


def _check(session: object, span: Span, telling: Telling, *, previous: object) -> None:
    if session is None and span.since is None and span.until is None and span.days is None and not previous:
        raise InvalidArgument("say what to reconstruct: a session, since or until, days, or the previous one")
    if session is not None and (not isinstance(session, str) or not session):
        raise InvalidArgument(f"session={session!r} must be the name of a session; `lamina sessions` lists them")
    mode, keep, budget = telling.mode, telling.keep, telling.token_budget
    if mode not in MODES:
        raise InvalidArgument(f"mode={mode!r} must be one of {', '.join(MODES)}")
    if keep not in KEEPS:
        raise InvalidArgument(f"keep={keep!r} must be one of {', '.join(KEEPS)}")
    if isinstance(budget, bool) or not isinstance(budget, int) or not 1 <= budget <= MAX_BUDGET:
        raise InvalidArgument(f"token_budget={budget!r} must be a whole number of tokens from 1 to {MAX_BUDGET}")

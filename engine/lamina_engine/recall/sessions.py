"""Sessions of a vault: their time, agents and summary, and the one before another."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from msgspec import Struct

from lamina_engine.arguments import text_of, whole_of
from lamina_engine.chunks.handoffs import HANDOFFS, INSIGHT, is_derived
from lamina_engine.chunks.identities import list_some
from lamina_engine.chunks.reading import chunks_at
from lamina_engine.clock import MISSING_US, US_PER_DAY, Instant, parse_instant
from lamina_engine.errors import AmbiguousId, InvalidArgument, SessionNotFound
from lamina_engine.index.row_columns import NO_VALUE
from lamina_engine.results import Chunk, Session
from lamina_engine.stored_json import read_json
from lamina_kernels.layouts import I64

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory
    from lamina_kernels.layouts import BOOL

SUMMARY: Final = "session_summary"
"""Type of a chunk that sums a session up."""
MAX_LIMIT: Final = 100_000
_MAX_DAYS: Final = 36_525
_FEWEST: Final = 4
"""Characters of a beginning that stands for a session's name, as of a short id."""
_FAR: Final = np.iinfo(np.int64).max


class SessionRows(Struct, frozen=True):
    """A session and its rows in order of time: by date, then ordinal, then row."""

    info: Session
    rows: I64


class TimeRange(Struct, frozen=True):
    """A range of time: from, until, or so many days back from now."""

    since: Instant | None
    until: Instant | None
    days: float | None
    now: Instant | None
    tz: str | None

    def bounds(self, memory: Memory) -> tuple[int | None, int | None]:
        """Return it half-open, us UTC."""
        zone = self.tz or memory.config.tz
        from lamina_engine.time.moments import parse_moment

        present = memory.clock.now_us() if self.now is None else memory.moment(self.now, "now", zone)
        since_us = None if self.since is None else parse_moment(self.since, zone, present, what="since")
        until_us = None if self.until is None else parse_moment(self.until, zone, present, what="until")
        if self.days is not None:
            if self.since is not None or self.until is not None:
                raise InvalidArgument("days is counted back from now; give it alone, or since and until")
            if (
                isinstance(self.days, bool)
                or not isinstance(self.days, int | float)
                or not (0 < self.days <= _MAX_DAYS)
            ):
                raise InvalidArgument(f"days={self.days!r} must be a number above 0, at most {_MAX_DAYS}")
            since_us, until_us = math.floor(present - self.days * US_PER_DAY), present + 1
        if since_us is not None and until_us is not None and since_us >= until_us:
            raise InvalidArgument(f"since={self.since!r} is not before until={self.until!r}; the window is half-open")
        return since_us, until_us


def find_sessions(
    view: View,
    *,
    session: str | None = None,
    project: str | None = None,
    agent: str | None = None,
    since_us: int | None = None,
    until_us: int | None = None,
) -> Iterator[SessionRows]:
    """Yield sessions with chunks that are asked for, the newest first; equals by name.

    O(rows), and some reads for each session that is taken.
    """
    for name, value in (("session", session), ("project", project), ("agent", agent)):
        text_of(value, name)
    kept = _filter_rows(view, session, project, agent, since_us, until_us)
    rows = np.flatnonzero(kept)
    rows = rows[~is_derived(view, rows)]  # it tells of the session, and is none of it
    codes = view.categories.gather(view.snapshot, "session", rows)
    created = view.created_us[rows]
    undated = created == MISSING_US
    moments = np.where(undated, _FAR, created)
    ordinals = view.snapshot.numbers("chunks", "ordinal", rows)
    order = np.lexsort((rows, ordinals, moments, codes))
    rows, codes, created = rows[order], codes[order], created[order]
    bounds = np.flatnonzero(np.diff(codes, prepend=-1, append=-1)) if len(codes) else np.zeros(1, np.int64)
    spans = list(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))
    values = view.categories.value
    starts = [(_first_moment(created[begin:end]), str(values("session", int(codes[begin])))) for begin, end in spans]
    newest = sorted(range(len(spans)), key=lambda i: (starts[i][0] is None, -(starts[i][0] or 0), starts[i][1]))
    for i in newest:
        yield _describe_session(view, starts[i][1], rows[slice(*spans[i])])


def list_sessions(
    memory: Memory, window: TimeRange, limit: int | None, *, project: str | None, agent: str | None
) -> list[Session]:
    """Return sessions, the newest first; see ``Vault.sessions``, which has the defaults."""
    since_us, until_us = window.bounds(memory)
    found = find_sessions(memory.view(), since_us=since_us, until_us=until_us, project=project, agent=agent)
    return [session.info for session in islice(found, check_limit(limit))]


def session_of(
    view: View,
    name: str,
    *,
    project: str | None = None,
    agent: str | None = None,
    since_us: int | None = None,
    until_us: int | None = None,
) -> SessionRows:
    """Return one session, by its name or a beginning that no other has."""
    scope: dict[str, Any] = {"project": project, "agent": agent, "since_us": since_us, "until_us": until_us}
    found = next(find_sessions(view, session=name, **scope), None)
    if found is None and (full := _full_name(view, name, **scope)) is not None:
        found = next(find_sessions(view, session=full, **scope), None)
    if found is None:
        raise SessionNotFound(
            f"no chunk asked for is of the session {name!r}; `lamina sessions` lists them, and a beginning of a name needs "
            f"{_FEWEST} characters or more"
        )
    return found


def _full_name(view: View, beginning: str, **scope: Any) -> str | None:
    """Return the name of the one session that begins so; None where none does."""
    if len(beginning) < _FEWEST:
        return None
    table = view.categories
    kept = _filter_rows(view, None, **scope)
    codes = np.unique(table.column(view.snapshot, "session")[: view.rows][kept]).tolist()
    fitting = sorted(
        name for name in (str(table.value("session", code)) for code in codes) if name.startswith(beginning)
    )
    if len(fitting) > 1:
        raise AmbiguousId(
            f"session={beginning!r} fits {len(fitting)} sessions ({list_some(fitting)}); give more of the name"
        )
    return fitting[0] if fitting else None


def previous_session(view: View, name: str | None, project: str | None) -> SessionRows | None:
    """Return the last session that began before another of its project; None for the first.

    Without ``name``, or where the vault has not read it yet, the newest session is returned.
    """
    known = next(find_sessions(view, session=name), None) if name is not None else None
    before_us = None if known is None else known.info.started_at_us
    if known is not None and project is None:
        project = known.info.project
    for session in find_sessions(view, project=project):
        started_us = session.info.started_at_us
        is_earlier = before_us is None or (started_us is not None and started_us < before_us)
        if session.info.session != name and is_earlier:
            return session
    return None


def find_handoff(memory: Memory, session: str | None, project: str | None) -> list[Chunk]:
    """Return the handoff of a session, then its insights; see ``Vault.sessions``."""
    view = memory.view()
    if session is None:
        newest = next(find_sessions(view, project=project), None)
        if newest is None:
            raise SessionNotFound("no session has been read yet; `lamina ingest` reads transcripts")
        session = newest.info.session
    else:
        text_of(session, "session")
        session = session_of(view, session, project=project).info.session
    rows = handoff_rows(view, session, project, (*HANDOFFS, INSIGHT))
    return chunks_at(view, rows) if len(rows) else []


def handoff_rows(view: View, session: str, project: str | None, types: Sequence[str] = HANDOFFS) -> I64:
    """Return the rows of what sums a session up, in the order of the types."""
    table = view.categories
    rows = np.flatnonzero(_filter_rows(view, session, project, None, None, None))
    kinds = table.gather(view.snapshot, "type", rows)
    return np.concatenate([rows[kinds == table.code("type", name)] for name in types])


def check_limit(limit: int | None) -> int | None:
    """Return a limit that is None, or a whole number of at least 1."""
    return None if limit is None else whole_of(limit, "limit", 1, MAX_LIMIT, instead=", or None for all")


def _filter_rows(
    view: View, session: str | None, project: str | None, agent: str | None, since_us: int | None, until_us: int | None
) -> BOOL:
    table, snapshot = view.categories, view.snapshot
    sessions = table.column(snapshot, "session")[: view.rows]  # first: it reads the names
    kept: BOOL = view.state.active()
    kept &= sessions != NO_VALUE if session is None else sessions == table.code("session", session)
    if project is not None:
        projects = table.column(snapshot, "project")[: view.rows]
        kept &= projects == table.code("project", project)
    if agent is not None:
        agents = table.column(snapshot, "agent")[: view.rows]
        kept &= np.isin(agents, agent_codes(view, agent))
    if since_us is not None or until_us is not None:
        created = view.created_us
        kept &= created != MISSING_US
        kept &= (created >= (MISSING_US if since_us is None else since_us)) & (
            created < (_FAR if until_us is None else until_us)
        )
    return kept


def agent_codes(view: View, agent: str) -> list[int]:
    """Return the codes of agents of a name: a sub-agent ``main/name`` also goes by ``name``."""
    view.categories.column(view.snapshot, "agent")  # it reads the names
    names = view.categories.values("agent")
    return [code for code, name in enumerate(names) if agent in (name, name.rpartition("/")[2])]


def _first_moment(created: I64) -> int | None:
    return None if created[0] == MISSING_US else int(created[0])


def _describe_session(view: View, name: str, rows: I64) -> SessionRows:
    created = view.created_us[rows]
    dated = created[created != MISSING_US]
    gather, value = view.categories.gather, view.categories.value
    projects = [code for code in gather(view.snapshot, "project", rows).tolist() if code != NO_VALUE]
    agents = dict.fromkeys(code for code in gather(view.snapshot, "agent", rows).tolist() if code != NO_VALUE)
    types = gather(view.snapshot, "type", rows)
    sums = rows[types == view.categories.code("type", SUMMARY)]
    summary = str(view.snapshot.values("chunks", "text", sums[-1:])[0]) if sums.size else None
    ended = _recorded_end(view, int(rows[-1]))
    info = Session(
        name,
        value("project", projects[0]) if projects else None,
        tuple(str(value("agent", code)) for code in agents),
        len(rows),
        int(dated.min()) if dated.size else None,
        max(int(dated.max()), ended or MISSING_US) if dated.size else ended,
        summary,
    )
    return SessionRows(info, rows)


def _recorded_end(view: View, row: int) -> int | None:
    """Return the end of a chunk by its own record, us UTC; None without a readable one."""
    text = view.snapshot.values("chunks", "metadata", np.array([row]))[0]
    end = read_json(text).get("ended_at") if text else None
    if not isinstance(end, str):
        return None
    try:
        return parse_instant(end)
    except InvalidArgument:
        return None

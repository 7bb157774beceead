"""The sessions of a vault: when each was, who took part, what it said of itself; and which one came before another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np
from msgspec import Struct

from lamina_engine.clock import MISSING_US, parse_instant
from lamina_engine.errors import InvalidArgument, SessionNotFound
from lamina_engine.index.categories import NO_VALUE
from lamina_kernels.layouts import I64

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_kernels.layouts import BOOL

SUMMARY: Final = "session_summary"
"""Type of a chunk that sums a session up."""
MAX_LIMIT: Final = 100_000
_FAR: Final = np.iinfo(np.int64).max


class Session(Struct, frozen=True):
    """One session. Instants are us UTC."""

    session: str
    project: str | None
    """Of its first chunk that has one."""
    agents: tuple[str, ...]
    chunks: int
    started_us: int | None
    ended_us: int | None
    """When its last chunk ended, where its record says so; else when it began."""
    summary: str | None
    """Text of its newest summary; None where nobody summed it up."""
    rows: I64
    """Its chunks in the order of time: by date, then place, then row."""


def find_sessions(
    view: View,
    *,
    session: str | None = None,
    project: str | None = None,
    agent: str | None = None,
    since_us: int | None = None,
    until_us: int | None = None,
) -> Iterator[Session]:
    """Yield sessions with chunks that are asked for, the newest first; equals by name.

    Parameters
    ----------
    view : View
    session, project, agent : str, optional
        Only chunks of these; an agent is known by its whole name, or by what follows the last "/".
    since_us, until_us : int, optional
        Only chunks with since <= created_at < until.

    Notes
    -----
    O(rows), and some reads for each session that is taken.
    """
    for name, value in (("session", session), ("project", project), ("agent", agent)):
        if value is not None and not isinstance(value, str):
            raise InvalidArgument(f"{name}={value!r} is a {type(value).__name__}; give text, or None for all")
    kept = _chosen(view, session, project, agent, since_us, until_us)
    rows = np.flatnonzero(kept)
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
    starts = [(_first(created[begin:end]), str(values("session", int(codes[begin])))) for begin, end in spans]
    newest = sorted(range(len(spans)), key=lambda i: (starts[i][0] is None, -(starts[i][0] or 0), starts[i][1]))
    for i in newest:
        yield _described(view, starts[i][1], rows[slice(*spans[i])])


def session_of(view: View, name: str, **chosen: Any) -> Session:
    """Return one session.

    Raises
    ------
    SessionNotFound
    """
    found = next(find_sessions(view, session=name, **chosen), None)
    if found is None:
        raise SessionNotFound(f"no chunk asked for is of the session {name!r}; `lamina sessions` lists them")
    return found


def previous_session(view: View, name: str | None, project: str | None, before_us: int | None = None) -> Session | None:
    """Return the last session that began before another of its project; None where it is the first.

    Parameters
    ----------
    name : str, optional
        The other; without one, or where the vault has not read it yet, the newest session is meant.
    project : str, optional
        Which project; that of ``name`` unless given.
    before_us : int, optional
        Only sessions that began before this moment.
    """
    known = next(find_sessions(view, session=name), None) if name is not None else None
    if known is not None:
        project = project if project is not None else known.project
        before_us = known.started_us if before_us is None else before_us
    for session in find_sessions(view, project=project):
        earlier = before_us is None or (session.started_us is not None and session.started_us < before_us)
        if session.session != name and earlier:
            return session
    return None


def check_limit(limit: int) -> int:
    """Return a limit that is a whole number of at least 1.

    Raises
    ------
    InvalidArgument
    """
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_LIMIT:
        raise InvalidArgument(f"limit={limit!r} must be a whole number from 1 to {MAX_LIMIT}")
    return limit


def _chosen(
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


def _first(created: I64) -> int | None:
    return None if created[0] == MISSING_US else int(created[0])


def _described(view: View, name: str, rows: I64) -> Session:
    created = view.created_us[rows]
    dated = created[created != MISSING_US]
    gather, value = view.categories.gather, view.categories.value
    projects = [code for code in gather(view.snapshot, "project", rows).tolist() if code != NO_VALUE]
    agents = dict.fromkeys(code for code in gather(view.snapshot, "agent", rows).tolist() if code != NO_VALUE)
    types = gather(view.snapshot, "type", rows)
    sums = rows[types == view.categories.code("type", SUMMARY)]
    summary = str(view.snapshot.values("chunks", "text", sums[-1:])[0]) if sums.size else None
    ended = _said_end(view, int(rows[-1]))
    return Session(
        name,
        value("project", projects[0]) if projects else None,
        tuple(str(value("agent", code)) for code in agents),
        len(rows),
        int(dated.min()) if dated.size else None,
        max(int(dated.max()), ended or MISSING_US) if dated.size else ended,
        summary,
        rows,
    )


def _said_end(view: View, row: int) -> int | None:
    """Return when a chunk ended by its own record, us UTC; None where it says nothing that can be read."""
    text = view.snapshot.values("chunks", "metadata", np.array([row]))[0]
    said = msgspec.json.decode(text).get("ended_at") if text else None
    if not isinstance(said, str):
        return None
    try:
        return parse_instant(said)
    except InvalidArgument:
        return None

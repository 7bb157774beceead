"""Links of sessions: what came next, one chunk to one; and what led to an agent that was called, and what it led to.

All of it follows from the chunks log. A thread is what one agent of one session wrote, in the order of its ordinals.

- ``within-session``: each chunk of a thread to the next, unless a topic ends between them.
- ``cross-session``: the last chunk of a session's own thread to the first of the next session of its project.
- ``brief``, ``debrief``: the last chunk of the turn that called an agent to that agent's first chunk; its last chunk to
  the first one of the turn that speaks of it, else of the turn after the one that called it.
- ``team``: the same for members of a team, and messages between them.

Never all pairs: a turn of many chunks gives no more links than it has borders.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from lamina_engine.graph.calls import calls_of, messages_of
from lamina_engine.graph.log import Draft, Stand, Written, sync_starts
from lamina_engine.graph.threads import Thread, ends_of, threads_of

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory

NEXT: Final = "next"
BRIEF: Final = "brief"
DEBRIEF: Final = "debrief"
CHAIN_RELATIONS: Final = (NEXT, BRIEF, DEBRIEF)
"""What a chain follows, from source to target onward."""
WITHIN, CROSS, TEAM = "within-session", "cross-session", "team"
ORIGINS: Final = (WITHIN, CROSS, BRIEF, DEBRIEF, TEAM)
BRIEF_WEIGHT: Final = 0.9
DEBRIEF_WEIGHT: Final = 0.7
TEAM_WEIGHT: Final = 0.9
PEER_WEIGHT: Final = 0.85


def build(memory: Memory, sessions: Collection[str] | None = None) -> Written:
    """Make the links of sessions what their chunks say; a second run changes nothing.

    Parameters
    ----------
    memory : Memory
    sessions : collection of str, optional
        Only these, and what leads from one session to the next; all of them unless given.

    Raises
    ------
    VaultReadOnly, VaultLocked, OSError

    Notes
    -----
    O(chunks of the sessions), and some nanoseconds for every row of the log.
    """
    view = memory.view()
    everything = threads_of(view)
    chosen = [thread for thread in everything if sessions is None or thread.session in sessions]
    if not everything:
        return Written()
    return sync_starts(memory, stands(view, everything, chosen))


def stands(view: View, everything: Collection[Thread], chosen: Collection[Thread]) -> list[Stand]:
    """Return what each origin stands by, for some threads (and for every step from one session to the next)."""
    drafts: dict[str, list[Draft]] = {origin: [] for origin in ORIGINS}
    for thread in chosen:
        thread.read(view)
        drafts[WITHIN] += _within(thread)
    by_session: dict[str, list[Thread]] = {}
    for thread in chosen:
        by_session.setdefault(thread.session, []).append(thread)
    for threads in by_session.values():
        for origin, draft in _calls(threads):
            drafts[origin].append(draft)
    steps, ends = _across(view, everything)
    starts = frozenset(name for thread in chosen for name in thread.all_ids(view))
    return [
        Stand(WITHIN, (NEXT,), drafts[WITHIN], starts),
        Stand(CROSS, (NEXT,), steps, starts | ends),
        Stand(BRIEF, (BRIEF,), drafts[BRIEF], starts),
        Stand(DEBRIEF, (DEBRIEF,), drafts[DEBRIEF], starts),
        Stand(TEAM, CHAIN_RELATIONS, drafts[TEAM], starts),
    ]


def _within(thread: Thread) -> Iterator[Draft]:
    for before, after in pairwise(thread.chunks):
        if after.facts.shift is None:
            yield Draft(before.id, after.id, NEXT, 1.0, None, after.created_us)


def _across(view: View, everything: Iterable[Thread]) -> tuple[list[Draft], frozenset[str]]:
    """Return the step from each session to the next of its project, and the chunks that any such step may start at.

    Sessions are ordered by when they began, equal ones by name.
    """
    projects: dict[str, list[Thread]] = {}
    for thread in everything:
        if not thread.called and thread.project is not None:
            projects.setdefault(thread.project, []).append(thread)
    steps: list[Draft] = []
    starts: list[str] = []
    for threads in projects.values():
        threads.sort(key=lambda thread: (thread.created_us is None, thread.created_us, thread.session, thread.agent))
        ends = ends_of(view, threads)
        starts += [last for _, last in ends]
        for (_, last), (first, _), after in zip(ends, ends[1:], threads[1:], strict=False):
            steps.append(Draft(last, first, NEXT, 1.0, None, after.created_us))
    return steps, frozenset(starts)


def _calls(threads: list[Thread]) -> Iterator[tuple[str, Draft]]:
    """Yield what led to the agents of a session that were called, and what they led to; see `calls_of`."""
    seen: set[tuple[str, str, str, str]] = set()

    def once(origin: str, draft: Draft) -> Iterator[tuple[str, Draft]]:
        key = (origin, draft.source, draft.target, draft.relation)
        if draft.source != draft.target and key not in seen:
            seen.add(key)
            yield origin, draft

    for call in calls_of(threads):
        out, back = (BRIEF_WEIGHT, DEBRIEF_WEIGHT) if not call.team else (TEAM_WEIGHT, TEAM_WEIGHT)
        first, last = call.child.chunks[0], call.child.chunks[-1]
        draft = Draft(call.caller.id, first.id, BRIEF, out, None, first.created_us)
        yield from once(TEAM if call.team else BRIEF, draft)
        if call.heir is not None:
            draft = Draft(last.id, call.heir.id, DEBRIEF, back, None, call.heir.created_us)
            yield from once(TEAM if call.team else DEBRIEF, draft)
    for message in messages_of(threads):
        relation, weight = (DEBRIEF, TEAM_WEIGHT) if message.to_lead else (NEXT, PEER_WEIGHT)
        ends = message.sender.id, message.receiver.id
        yield from once(TEAM, Draft(*ends, relation, weight, None, message.receiver.created_us))

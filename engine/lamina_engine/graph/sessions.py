"""Session links: `next` within and between sessions, `brief` and `debrief` of called agents."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec
import numpy as np

from lamina_engine.clock import MISSING_US
from lamina_engine.graph.log import ClaimSet, Draft, LinkCounts, sync_starts
from lamina_engine.graph.steps import LEAST, LOOK_BACK, Pages, find_step, likeness_weight, pause_weight
from lamina_engine.index.state import ACTIVE

if TYPE_CHECKING:
    from lamina_engine.index.view import View
    from lamina_engine.memory import Memory
    from lamina_kernels.layouts import BOOL, I64

TYPE: Final = "conversation"


class ThreadFacts(msgspec.Struct, frozen=True, gc=False):
    """Link-relevant metadata of a session's chunk; turns are numbered from 0 in a thread."""

    turns: tuple[int, int] = (-1, -1)
    started_at: str | None = None
    ended_at: str | None = None
    shift: str | None = None
    """Why the chunk begins a topic, None where it goes on with that of the chunk before."""
    agent_id: str | None = None
    parent_tool_use_id: str | None = None
    prompt: str | None = None
    """Digest of the prompt that the thread began with."""
    team: str | None = None
    name: str | None = None
    spawns: tuple[dict[str, Any], ...] = ()
    """Agents that were called: ``id`` of the call, ``turn``, ``at``, ``prompt``, ``name``, ``team``."""
    agents: dict[str, str] = {}
    """By the id of a call, the agent that it gave."""
    mentions: tuple[tuple[int, str], ...] = ()
    returned: tuple[tuple[int, str, str | None], ...] = ()
    sent: tuple[tuple[int, str, str | None], ...] = ()
    received: tuple[tuple[int, str, str | None], ...] = ()


_DECODER: Final = msgspec.json.Decoder(ThreadFacts)
_NO_FACTS: Final = ThreadFacts()


class ThreadChunk(msgspec.Struct, frozen=True, gc=False):
    """A chunk of a thread."""

    id: str
    created_us: int | None
    facts: ThreadFacts


@dataclass(slots=True)
class Thread:
    """A thread; its chunks are there once it has been `read`."""

    session: str
    agent: str
    project: str | None
    rows: I64
    """Its active rows, in order."""
    every_row: I64
    """All its rows that the log has."""
    created_us: int | None
    """When it began."""
    chunks: list[ThreadChunk] = field(default_factory=list)

    @property
    def called(self) -> bool:
        """True if another agent called this one."""
        return "/" in self.agent

    def read(self, view: View) -> None:
        """Read its chunks. O(its chunks)."""
        if self.chunks:
            return
        names = view.snapshot.values("chunks", "id", self.rows)
        told = view.snapshot.values("chunks", "metadata", self.rows)
        created = view.created_us[self.rows].tolist()
        self.chunks = [
            ThreadChunk(name, None if us == MISSING_US else us, _decode_facts(text))
            for name, us, text in zip(names, created, told, strict=True)
        ]

    def all_ids(self, view: View) -> list[str]:
        """Return all ids the thread has or had: links of removed chunks are withdrawn by them."""
        if len(self.every_row) == len(self.chunks):
            return [chunk.id for chunk in self.chunks]
        return list(dict.fromkeys(view.snapshot.values("chunks", "id", self.every_row)))


def _decode_facts(text: str | None) -> ThreadFacts:
    if not text:
        return _NO_FACTS
    try:
        return _DECODER.decode(text)
    except (msgspec.DecodeError, RecursionError):  # somebody else's metadata
        return _NO_FACTS


def ends_of(view: View, threads: Sequence[Thread]) -> list[tuple[str, str]]:
    """Return the ids of the first and the last chunk of each thread."""
    rows = np.array([row for thread in threads for row in (thread.rows[0], thread.rows[-1])], np.int64)
    names = [str(name) for name in view.snapshot.values("chunks", "id", rows)]
    return list(zip(names[::2], names[1::2], strict=True))


def is_session_chunk(view: View, rows: I64) -> BOOL:
    """Return bool for some rows: whether each is a chunk of a thread, whatever its state."""
    categories, snapshot = view.categories, view.snapshot
    code = categories.column(snapshot, "type")  # read first: codes are known once their column has been read
    kind: BOOL = np.equal(code[rows], categories.code("type", TYPE))
    if not kind.any():
        return np.zeros(len(rows), np.bool_)
    kind &= categories.gather(snapshot, "session", rows) >= 0
    kind &= categories.gather(snapshot, "agent", rows) >= 0
    found = np.flatnonzero(kind)
    kind[found] = snapshot.numbers("chunks", "ordinal", rows[found]) >= 0
    return kind


def threads_of(view: View) -> list[Thread]:
    """Return all threads that have an active chunk. O(rows log rows), all of it in NumPy."""
    rows = np.arange(view.rows, dtype=np.int64)
    rows = rows[is_session_chunk(view, rows)]
    if not len(rows):
        return []
    categories, snapshot = view.categories, view.snapshot
    sessions, agents = (categories.gather(snapshot, name, rows) for name in ("session", "agent"))
    ordinals = snapshot.numbers("chunks", "ordinal", rows)
    order = np.lexsort((rows, ordinals, agents, sessions))
    rows, sessions, agents = rows[order], sessions[order], agents[order]
    new = np.flatnonzero((np.diff(sessions, prepend=-1) != 0) | (np.diff(agents, prepend=-1) != 0))
    stops = [*new[1:].tolist(), len(rows)]
    active = view.state.status[rows] == ACTIVE
    projects = categories.gather(snapshot, "project", rows)
    created = view.created_us[rows]
    threads: list[Thread] = []
    for start, stop in zip(new.tolist(), stops, strict=True):
        alive = np.flatnonzero(active[start:stop]) + start
        if not len(alive):
            continue
        first = int(alive[0])
        dated = created[alive][created[alive] != MISSING_US]
        threads.append(
            Thread(
                str(categories.value("session", int(sessions[first]))),
                str(categories.value("agent", int(agents[first]))),
                categories.value("project", int(projects[first])),
                rows[alive],
                rows[start:stop],
                int(dated[0]) if len(dated) else None,
            )
        )
    return threads


WINDOW_US: Final = 10 * 1_000_000
"""By how much the clocks of two files may differ: an agent seems to begin before it was called, a message to arrive
before it was sent."""


class Call(NamedTuple):
    """An agent that was called."""

    child: Thread
    caller: ThreadChunk
    """The last chunk of the turn that called it."""
    heir: ThreadChunk | None
    """The first chunk of the turn that takes its work up; None where no turn has yet."""
    team: bool


@dataclass(slots=True)
class _Spawn:
    thread: Thread
    turn: int
    at_us: int | None
    until_us: int | None
    id: str | None
    agent: str | None
    prompt: str | None
    name: str | None
    team: str | None
    taken: bool = False


def calls_of(threads: list[Thread]) -> Iterator[Call]:
    """Yield the calls of a session by the start of the called agents."""
    spawns = sorted(_spawns(threads), key=lambda spawn: (spawn.at_us is None, spawn.at_us or 0))
    children = sorted(
        (thread for thread in threads if thread.called),
        key=lambda thread: (thread.created_us is None, thread.created_us or 0, thread.agent),
    )
    found: dict[int, _Spawn] = {}
    for match in (_is_named, _has_prompt, _is_member, _is_in_time):
        for i, child in enumerate(children):
            if i not in found:
                spawn = next((s for s in spawns if not s.taken and s.thread is not child and match(s, child)), None)
                if spawn is not None:
                    spawn.taken = True
                    found[i] = spawn
    for i in sorted(found):
        yield from _calls_of_child(children[i], found[i])


def _calls_of_child(child: Thread, spawn: _Spawn) -> Iterator[Call]:
    caller = _last_of_turn(spawn.thread, spawn.turn)
    if caller is None:
        return
    agent = child.chunks[0].facts.agent_id
    told = (
        turn
        for chunk in spawn.thread.chunks
        for turn, name in chunk.facts.mentions
        if turn > spawn.turn and agent is not None and name == agent
    )
    heir = _first_of_turn(spawn.thread, min(told, default=spawn.turn + 1))
    yield Call(child, caller, heir, spawn.team is not None)


def _spawns(threads: Iterable[Thread]) -> Iterator[_Spawn]:
    for thread in threads:
        agents: dict[str, str] = {}
        returned: dict[str, int | None] = {}
        for chunk in thread.chunks:
            agents |= chunk.facts.agents
            returned |= {ref: instant_us(at) for _, ref, at in chunk.facts.returned}
        for chunk in thread.chunks:
            for told in chunk.facts.spawns:
                ref = _text_field(told, "id")
                yield _Spawn(
                    thread, int(told.get("turn", -1)), instant_us(_text_field(told, "at")),
                    returned.get(ref) if ref is not None else None, ref, agents.get(ref) if ref is not None else None,
                    _text_field(told, "prompt"), _text_field(told, "name"), _text_field(told, "team"),
                )  # fmt: skip


def _is_named(spawn: _Spawn, child: Thread) -> bool:
    facts = child.chunks[0].facts
    by_call = facts.parent_tool_use_id is not None and facts.parent_tool_use_id == spawn.id
    return by_call or (spawn.agent is not None and spawn.agent == facts.agent_id)


def _has_prompt(spawn: _Spawn, child: Thread) -> bool:
    prompt = child.chunks[0].facts.prompt
    return prompt is not None and spawn.agent is None and spawn.prompt == prompt and _overlap(spawn, child)


def _is_member(spawn: _Spawn, child: Thread) -> bool:
    facts = child.chunks[0].facts
    return spawn.team is not None and spawn.team == facts.team and spawn.name is not None and spawn.name == facts.name


def _is_in_time(spawn: _Spawn, child: Thread) -> bool:
    return spawn.agent is None and spawn.at_us is not None and child.created_us is not None and _overlap(spawn, child)


def _overlap(spawn: _Spawn, child: Thread) -> bool:
    """Return True if an agent's time fits a call; a missing time always fits."""
    begun = child.created_us
    if begun is None or spawn.at_us is None:
        return True
    return spawn.at_us - WINDOW_US <= begun and (spawn.until_us is None or begun <= spawn.until_us + WINDOW_US)


class Message(NamedTuple):
    """A message between members of a team."""

    sender: ThreadChunk
    receiver: ThreadChunk
    to_lead: bool
    """Whether it went to the one who called the others: a report."""


def messages_of(threads: list[Thread]) -> Iterator[Message]:
    """Yield the messages between members of a team.

    The one who received it names its sender; of that one's messages to them the last before it counts, or the first
    one within ten seconds after it.
    """
    by_name = {thread.chunks[0].facts.name: thread for thread in threads if thread.chunks[0].facts.name is not None}
    leads = [thread for thread in threads if not thread.called]
    for thread in threads:
        own = thread.chunks[0].facts.name
        for chunk in thread.chunks:
            for turn, sender, at in chunk.facts.received:
                source = by_name.get(sender) or (leads[0] if sender == "team-lead" and leads else None)
                receiver = _first_of_turn(thread, turn)
                if source is None or source is thread or receiver is None:
                    continue
                sent = _last_sent_before(source, own if thread.called else None, instant_us(at))
                if sent is not None:
                    yield Message(sent, receiver, not thread.called)


def _last_sent_before(source: Thread, to: str | None, at_us: int | None) -> ThreadChunk | None:
    """Return the chunk of a thread that sent the message which arrived at some time."""
    names = {"team-lead", "lead"} if to is None else {to}
    best: tuple[int, ThreadChunk] | None = None
    for chunk in source.chunks:
        for _, name, at in chunk.facts.sent:
            us = instant_us(at)
            if name not in names and name != "*":
                continue
            if at_us is None or us is None or us <= at_us + WINDOW_US:
                best = (us or 0, chunk) if best is None or (us or 0) >= best[0] else best
    return None if best is None else best[1]


def _last_of_turn(thread: Thread, turn: int) -> ThreadChunk | None:
    found = None
    for chunk in thread.chunks:
        first, last = chunk.facts.turns
        if first <= turn <= last:
            found = chunk
    return found


def _first_of_turn(thread: Thread, turn: int) -> ThreadChunk | None:
    return next((c for c in thread.chunks if c.facts.turns[0] <= turn <= c.facts.turns[1]), None)


def instant_us(text: str | None) -> int | None:
    """Return us UTC of an instant as session metadata has it; None for none."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return None if moment.tzinfo is None else round(moment.timestamp() * 1e6)


def _text_field(told: dict[str, Any], key: str) -> str | None:
    value = told.get(key)
    return value if isinstance(value, str) else None


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


def build(memory: Memory, sessions: Collection[str] | None = None) -> LinkCounts:
    """Sync the links of sessions with their chunks; a second run changes nothing.

    O(chunks of the sessions), and some nanoseconds for every row of the log.
    """
    view = memory.view()
    everything = threads_of(view)
    chosen = [thread for thread in everything if sessions is None or thread.session in sessions]
    if not everything:
        return LinkCounts()
    return sync_starts(memory, claim_sets(view, everything, chosen))


def claim_sets(view: View, everything: Collection[Thread], chosen: Collection[Thread]) -> list[ClaimSet]:
    """Return each origin's claims for some threads and for steps that these may change."""
    drafts: dict[str, list[Draft]] = {origin: [] for origin in ORIGINS}
    pages = Pages(view)
    for thread in chosen:
        thread.read(view)
        drafts[WITHIN] += _within_session_drafts(thread, pages)
    by_session: dict[str, list[Thread]] = {}
    for thread in chosen:
        by_session.setdefault(thread.session, []).append(thread)
    for threads in by_session.values():
        for origin, draft in _call_drafts(threads):
            drafts[origin].append(draft)
    steps, ends = _cross_session_drafts(view, everything, chosen, pages)
    starts = frozenset(name for thread in chosen for name in thread.all_ids(view))
    return [
        ClaimSet(WITHIN, (NEXT,), drafts[WITHIN], starts),
        ClaimSet(CROSS, (NEXT,), steps, starts | ends),
        ClaimSet(BRIEF, (BRIEF,), drafts[BRIEF], starts),
        ClaimSet(DEBRIEF, (DEBRIEF,), drafts[DEBRIEF], starts),
        ClaimSet(TEAM, CHAIN_RELATIONS, drafts[TEAM], starts),
    ]


def _within_session_drafts(thread: Thread, pages: Pages) -> Iterator[Draft]:
    """Yield the steps of a thread; what follows an aside may go on with what stood before that."""
    chunks = thread.chunks
    borders = [0, *(n for n, chunk in enumerate(chunks) if n and chunk.facts.shift is not None), len(chunks)]
    for run, (start, stop) in enumerate(pairwise(borders)):
        for before, after in pairwise(chunks[start:stop]):
            yield Draft(before.id, after.id, NEXT, 1.0, None, after.created_us)
        if not start:
            continue
        first, last = chunks[start], start - 1
        weight = pause_weight(_pause_us(chunks[last], first)) if first.facts.shift == "gap" else 0.0
        aside = borders[run - 1]
        if weight < LEAST or chunks[aside].facts.shift == "phrase":
            head = pages.head(thread.rows[start:stop])
            alike = likeness_weight(pages.tail(thread.rows[aside:start]), head)
            weight = max(weight, alike)
            if chunks[aside].facts.shift == "phrase":
                resumed = likeness_weight(pages.tail(thread.rows[borders[max(run - 2, 0)] : aside]), head)
                if resumed >= LEAST and resumed > alike:
                    last, weight = aside - 1, resumed
        if weight >= LEAST:
            yield Draft(chunks[last].id, first.id, NEXT, weight, None, first.created_us)


def _pause_us(before: ThreadChunk, after: ThreadChunk) -> float:
    end = instant_us(before.facts.ended_at) or before.created_us
    start = instant_us(after.facts.started_at) or after.created_us
    return inf if end is None or start is None else start - end


def _cross_session_drafts(
    view: View, everything: Iterable[Thread], chosen: Collection[Thread], pages: Pages
) -> tuple[list[Draft], frozenset[str]]:
    """Return steps between sessions that chosen ones may change, and where such may begin.

    Sessions are ordered by their beginning, equal ones by name.
    """
    projects: dict[str, list[Thread]] = {}
    for thread in everything:
        if not thread.called and thread.project is not None:
            projects.setdefault(thread.project, []).append(thread)
    touched = {id(thread) for thread in chosen}
    steps: list[Draft] = []
    starts: set[str] = set()
    for threads in projects.values():
        if touched.isdisjoint(map(id, threads)):
            continue
        threads.sort(key=lambda thread: (thread.created_us is None, thread.created_us, thread.session, thread.agent))
        places = [place for place, thread in enumerate(threads) if id(thread) in touched]
        near = {n for place in places for n in range(place - LOOK_BACK, place + LOOK_BACK) if 0 <= n < len(threads)}
        ends = {n: ends_of(view, [threads[n]])[0] for n in near}
        starts.update(name for n in near for name in threads[n].all_ids(view))
        for after in sorted({n + k for n in near for k in range(1, LOOK_BACK + 1) if n + k < len(threads)}):
            head = pages.head(threads[after].rows)
            found = find_step(after, head, lambda n, threads=threads: pages.tail(threads[n].rows))  # type: ignore[misc]
            if found is not None and found.before in near:
                first = ends_of(view, [threads[after]])[0][0]
                created = threads[after].created_us
                steps.append(Draft(ends[found.before][1], first, NEXT, found.weight, None, created))
    return steps, frozenset(starts)


def _call_drafts(threads: list[Thread]) -> Iterator[tuple[str, Draft]]:
    """Yield brief and debrief links of a session's called agents; see `calls_of`."""
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

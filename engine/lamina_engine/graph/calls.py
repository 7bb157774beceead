"""Which call of which turn gave which agent, and where its work was taken up; and messages between members of a team.

Several agents are often called at once. Each is told from the others by the id of its call, where its file or the
caller's says it; else by the prompt that it was given; else by time: calls in their order to agents in theirs, where
the call came no later than the agent began and had not returned before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

from lamina_engine.graph.threads import Thread, ThreadChunk

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
    """Yield the calls of a session, by when the agents began; an agent that nothing is known of was not called."""
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
        yield from _call(children[i], found[i])


def _call(child: Thread, spawn: _Spawn) -> Iterator[Call]:
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
                ref = _text(told, "id")
                yield _Spawn(
                    thread, int(told.get("turn", -1)), instant_us(_text(told, "at")),
                    returned.get(ref) if ref is not None else None, ref, agents.get(ref) if ref is not None else None,
                    _text(told, "prompt"), _text(told, "name"), _text(told, "team"),
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
    """Whether an agent can be the one of a call by its times; what has no time can always be."""
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
                sent = _sent(source, own if thread.called else None, instant_us(at))
                if sent is not None:
                    yield Message(sent, receiver, not thread.called)


def _sent(source: Thread, to: str | None, at_us: int | None) -> ThreadChunk | None:
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


def _text(told: dict[str, Any], key: str) -> str | None:
    value = told.get(key)
    return value if isinstance(value, str) else None

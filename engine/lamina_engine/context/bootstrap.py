"""Bootstrap of a session: what an agent should know before its first prompt.

In this order: what is pinned; the last handoff, or the last session where it is newer or there is none; the work in hand, and what
sessions before the last one left open; decisions and insights, each with what it took back; what changed since. Over a vault that
has none of these, an overview of what it holds.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import msgspec

from lamina_engine.arguments import text_of, whole_of
from lamina_engine.chunks.handoffs import HANDOFFS
from lamina_engine.clock import US_PER_DAY, US_PER_S, Instant
from lamina_engine.context.budget import BOOTSTRAP_SHARES, BlockFill
from lamina_engine.context.changes import git_changes, recorded_changes, tracked_work
from lamina_engine.context.journal import RESETS, read_state, record_turn
from lamina_engine.context.leftovers import find_leftovers
from lamina_engine.context.memories import (
    active_task,
    day_text,
    item_of_chunk,
    newest_chunks,
    shorten_item,
    types_ending,
)
from lamina_engine.context.overview import vault_overview
from lamina_engine.context.rendering import ContextBlock, Item, age_text, render_item
from lamina_engine.context.scope import find_scope
from lamina_engine.context.tokens import count_tokens
from lamina_engine.errors import InvalidArgument, SessionNotFound
from lamina_engine.recall.pipeline import list_chunks, recall
from lamina_engine.recall.reconstruction import ReconstructionOptions, reconstruct
from lamina_engine.recall.sessions import TimeRange, previous_session

if TYPE_CHECKING:
    from pathlib import Path

    from lamina_engine.memory import Memory
    from lamina_engine.results import Chunk, Session

logger = logging.getLogger(__name__)

TRIGGERS: Final = ("startup", "resume", "compact", "clear")
PARTS: Final = ("pinned", "handoff", "session", "task", "insights", "changes", "overview")
_LASTING: Final = ("decision", "insight", "guideline", "lesson", "preference", "rule", "convention")
"""Last words of the types of what stays true from session to session: ``architecture_decision`` ends in the first."""
_INSIGHTS: Final = 12
_TASKS: Final = 3
_PINNED: Final = 20
_MOST_CHUNKS: Final = 50
_MOST_STATEMENTS: Final = 200
"""Newest decisions, insights and rules among which replaced ones are looked for."""
_STATEMENT_CHARS: Final = 1_000
"""A longer text is more than a statement, and neither replaces one nor is replaced."""
_REPLACED: Final = 2
_LONGEST: Final = 160
"""Tokens of one insight or task: it is cut, so that there is room for several."""
_LONGEST_CHANGE: Final = 60
_SESSION_TOKENS: Final = 700


def bootstrap(
    memory: Memory,
    session: str | None = None,
    *,
    budget: int | None = None,
    project: str | None = None,
    agent: str | None = None,
    repo: Path | None = None,
    now: Instant | None = None,
    trigger: str = "startup",
) -> ContextBlock:
    """Return what an agent should know when a session begins; see ``Vault.bootstrap``."""
    settings = memory.settings.injection
    most = whole_of(settings.bootstrap_token_budget if budget is None else budget, "budget", of=" of tokens")
    text_of(session, "session")
    if trigger not in TRIGGERS:
        raise InvalidArgument(f"trigger={trigger!r} must be one of {', '.join(TRIGGERS)}")
    now_us = memory.clock.now_us() if now is None else memory.moment(now, "now")
    if not settings.enabled:
        return ContextBlock()
    try:
        start = _Bootstrap(memory, now_us, session, project, agent, repo)
        seen = set() if trigger in RESETS else read_state(memory, session).shown
        block = start.block(most, seen)
        record_turn(
            memory, block, settings, tier="bootstrap", session=session, project=project, trigger=trigger,
            considered=start.considered, collections=start.collections,
        )  # fmt: skip
    except Exception as error:  # whatever it is: a session begins without memories
        logger.warning("%s: no context for this session: %r", memory.root, error)
        return ContextBlock(mode="failed")
    if not start.considered:
        logger.warning("%s: no context for this session: nothing of %s", memory.root, ", ".join(PARTS))
    return block


class _Bootstrap:
    """The parts of one bootstrap, each read on its own, so that a failing one leaves the others."""

    def __init__(
        self,
        memory: Memory,
        now_us: int,
        session: str | None,
        project: str | None,
        agent: str | None,
        repo: Path | None,
    ) -> None:
        self._memory, self._now_us, self._name, self._repo = memory, now_us, session, repo
        self._scope = find_scope(memory.view(), project, repo, session, memory.root)
        self._handoff: list[Chunk] = []
        self._session: Session | None = None
        parts: dict[str, list[Item]] = {"pinned": self._safely("pinned", self._pinned)}
        parts["handoff"] = self._safely("handoff", lambda: self._last_handoff(agent))
        parts["session"] = self._safely("session", self._last_session)
        parts["task"] = self._safely("task", lambda: self._work(agent))
        parts["insights"] = self._safely("insights", self._insights)
        parts["changes"] = self._safely("changes", self._changes)
        if not any(items and items[0].collection != "git" for part, items in parts.items() if part != "pinned"):
            parts["overview"] = self._safely("overview", lambda: vault_overview(memory, self._scope, now_us))
        self.parts = parts

    @property
    def considered(self) -> int:
        """Number of items to choose from."""
        return sum(map(len, self.parts.values()))

    @property
    def collections(self) -> list[str]:
        """Collections of these items."""
        return [item.collection for items in self.parts.values() for item in items if item.collection]

    def block(self, budget: int, seen: set[str]) -> ContextBlock:
        """Fill each part with what is left, but for what the parts after it need of their shares."""
        fill = BlockFill("bootstrap", budget, seen)
        needed = {
            part: min(
                sum(count_tokens(render_item(item)) for item in items), int(budget * BOOTSTRAP_SHARES.get(part, 0))
            )
            for part, items in self.parts.items()
        }
        for part, items in self.parts.items():
            needed[part] = 0
            allowed = fill.left - sum(needed.values())
            if part in ("handoff", "session"):
                fill.take_cut(items, allowed)
            else:
                fill.take(items, allowed)
        text, tokens = fill.finish(PARTS)
        return ContextBlock(text, tokens, tuple(fill.items), fill.tokens, budget, mode="full")

    def _safely(self, part: str, find: Callable[[], list[Item]]) -> list[Item]:
        try:
            return find()
        except Exception as error:  # git may be missing, an index damaged: the other parts are still worth having
            logger.warning("%s: the part %s of the context is left out: %r", self._memory.root, part, error)
            return []

    def _pinned(self) -> list[Item]:
        found = list_chunks(self._memory, self._scope.filter({"pinned": True}), _PINNED, now_us=self._now_us)
        return [self._item(chunk, "pinned") for chunk in found]

    def _last_handoff(self, agent: str | None) -> list[Item]:
        """Return the newest handoff by its date, with the other chunks of its source in their order."""
        found = newest_chunks(self._memory, list(HANDOFFS), 1, self._scope, agent=agent)
        if found and found[0].source and found[0].ordinal >= 0:
            where: dict[str, Any] = {"type": found[0].type, "source": found[0].source}
            chunks = list_chunks(self._memory, where, _MOST_CHUNKS, now_us=self._now_us)
            found = sorted(chunks, key=lambda chunk: chunk.ordinal)
        self._handoff = found
        return [self._item(chunk, "handoff") for chunk in found]

    def _last_session(self) -> list[Item]:
        """Return the briefing of the last session, unless a handoff was written in it or after it."""
        before = previous_session(self._memory.view(), self._name, self._scope.project)
        if before is None:
            return []
        self._session = info = before.info
        written = self._handoff_us()
        if written is not None and (info.started_at_us is None or written >= info.started_at_us):
            return []
        options = ReconstructionOptions("briefing", "newest", _SESSION_TOKENS)
        try:
            told = reconstruct(
                self._memory, info.session, TimeRange(None, None, None, None, None), options,
                previous=False, as_of=None, project=None, agent=None,
            )  # fmt: skip
        except SessionNotFound:
            return []
        ended = self._session_us()
        age = age_text(None if ended is None else max(self._now_us - ended, 0) / US_PER_S)
        return [
            Item(
                "session", f"session:{info.session}", told.text.strip("\n"), "session_briefing", "discussions",
                f"session {info.session}", day_text(ended, self._memory.config.tz), age, "fresh",
            )
        ]  # fmt: skip

    def _work(self, agent: str | None) -> list[Item]:
        """Return the active task, issues in progress, and points left open before."""
        task = active_task(self._memory, self._scope)
        found = [task] if task is not None else []
        found += tracked_work(self._memory, self._now_us, self._scope)[:_TASKS]
        items = [self._item(chunk, "task") for chunk in found]
        items += find_leftovers(self._memory, self._handoff, self._scope, self._now_us, agent)
        return self._short(items)

    def _insights(self) -> list[Item]:
        """Return decisions, insights and rules, one a source: nearest to the handoff, newest."""
        types = types_ending(self._memory, _LASTING)
        if not types:
            return []
        found: list[tuple[Chunk, float | None]] = []
        if self._handoff:
            about = f"{self._handoff[0].title or ''}\n{self._handoff[0].text}"
            where = self._scope.filter({"type": {"in": types}})
            hits = recall(
                self._memory, about, profile="temporal", k=_MOST_CHUNKS, where=where, now=self._now_us / 1e6, time="off"
            ).hits
            found = [(hit, hit.score) for hit in hits]
        lasting = newest_chunks(self._memory, types, _MOST_STATEMENTS, self._scope)
        newest = sorted(lasting[:_MOST_CHUNKS], key=lambda chunk: chunk.ordinal)
        newest.sort(key=lambda chunk: ((chunk.created_at_us or 0) // US_PER_DAY, chunk.source or ""), reverse=True)
        found += [(chunk, None) for chunk in newest]
        successors = _find_successors(lasting)
        chosen: dict[str, tuple[Chunk, float | None]] = {}
        for chunk, score in found:
            while chunk.id in successors:
                chunk = successors[chunk.id]
            # an insight of a session is one of its own, a record in a file has several chunks
            chosen.setdefault(chunk.id if chunk.session or not chunk.source else chunk.source, (chunk, score))
        fresh = [each for each in chosen.values() if not self._stands_in_handoff(each[0])]
        ordered = sorted(fresh, key=lambda each: self._is_of_handoff(each[0]) and "failure" in each[0].metadata)
        replaced: dict[str, list[Chunk]] = {}
        for chunk in lasting:
            if chunk.id in successors:
                replaced.setdefault(successors[chunk.id].id, []).append(chunk)
        items = [
            self._without_repeats(
                _with_replaced(
                    self._item(chunk, "insights", score), replaced.get(chunk.id, []), self._memory.config.tz
                ),
                chunk,
            )
            for chunk, score in ordered[:_INSIGHTS]
        ]
        return self._short(items)

    def _item(self, chunk: Chunk, part: str, score: float | None = None) -> Item:
        return item_of_chunk(chunk, part, self._now_us, self._memory.config.tz, score)

    def _stands_in_handoff(self, chunk: Chunk) -> bool:
        """Return whether the handoff says, as decided or failed, what was derived with it."""
        title = (chunk.title or "").rstrip(" …")
        return (
            bool(title) and self._is_of_handoff(chunk) and title in self._handoff[0].text.partition("\n## Decided")[2]
        )

    def _is_of_handoff(self, chunk: Chunk) -> bool:
        return bool(self._handoff) and chunk.session is not None and chunk.session == self._handoff[0].session

    def _without_repeats(self, item: Item, chunk: Chunk) -> Item:
        """Return an insight of the handoff's session without what the handoff or its own text says."""
        if not self._is_of_handoff(chunk):
            return item
        title = "" if item.title.rstrip(" …") in item.text else item.title
        source = "" if chunk.source == self._handoff[0].source else item.source
        return msgspec.structs.replace(item, title=title, source=source)

    def _changes(self) -> list[Item]:
        """Return changes since the handoff or the last session; the newest where neither is known."""
        moments = [moment for moment in (self._handoff_us(), self._session_us()) if moment is not None]
        since = max(moments, default=None)
        recorded = self._short(recorded_changes(self._memory, since, self._now_us, self._scope), _LONGEST_CHANGE)
        return recorded + (git_changes(self._memory, self._repo, since, self._now_us, recorded) if self._repo else [])

    def _handoff_us(self) -> int | None:
        return max((chunk.created_at_us for chunk in self._handoff if chunk.created_at_us is not None), default=None)

    def _session_us(self) -> int | None:
        session = self._session
        return (
            None
            if session is None
            else session.ended_at_us
            if session.ended_at_us is not None
            else session.started_at_us
        )

    def _short(self, items: list[Item], most: int = _LONGEST) -> list[Item]:
        """Return items of at most so many tokens of text each."""
        shortened = (shorten_item(item, lambda each: count_tokens(each.text) <= most) for item in items)
        return [item for item in shortened if item is not None]


def _find_successors(chunks: list[Chunk]) -> dict[str, Chunk]:
    """Return, by the ids of replaced statements, those of their projects that replace them."""
    if len(chunks) < 2:
        return {}
    from lamina_engine.sessions.replacements import find_replaced

    projects: dict[str | None, list[Chunk]] = {}
    for chunk in sorted(chunks, key=lambda chunk: (chunk.created_at_us or 0, chunk.ordinal)):
        if len(chunk.text) <= _STATEMENT_CHARS and "failure" not in chunk.metadata:
            projects.setdefault(chunk.project, []).append(chunk)
    return {
        each[older].id: each[later]
        for each in projects.values()
        for older, later in find_replaced([chunk.text for chunk in each]).items()
        if each[older].created_at_us != each[later].created_at_us
    }


def _with_replaced(item: Item, chunks: list[Chunk], tz: str) -> Item:
    """Return a statement with those that it took the place of."""
    from lamina_engine.sessions.replacements import Statement

    told = [(day_text(chunk.created_at_us, tz), Statement(chunk.text).told) for chunk in chunks[:_REPLACED]]
    lines = [
        f"It takes back what was settled {f'on {day}' if day else 'before'}: {text}"
        for day, text in told
        if text not in item.text
    ]
    return msgspec.structs.replace(item, text="\n".join([item.text, *lines]))

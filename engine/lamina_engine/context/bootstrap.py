"""At the start of a session: where the last one stopped, what has been learned, and what has changed since."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from lamina_engine.clock import Instant, parse_instant
from lamina_engine.context.block import ContextBlock
from lamina_engine.context.budgets import BOOTSTRAP_SHARES
from lamina_engine.context.changes import git_changes, recorded_changes
from lamina_engine.context.fill import Fill
from lamina_engine.context.memories import item_of_chunk, newest, scoped
from lamina_engine.context.rendering import Item
from lamina_engine.context.session import RESETS, record_turn, state_of
from lamina_engine.context.tokens import counter
from lamina_engine.errors import InvalidArgument
from lamina_engine.recall.pipeline import listed, recall

if TYPE_CHECKING:
    from pathlib import Path

    from lamina_engine.memory import Memory
    from lamina_engine.results import Chunk

logger = logging.getLogger(__name__)

TRIGGERS: Final = ("startup", "resume", "compact", "clear")
PARTS: Final = ("handoff", "insights", "changes", "recent")
_HANDOFF: Final = "agent_handoff"
_INSIGHT: Final = "agent_insight"
_INSIGHTS: Final = 10
_DECISIONS: Final = 5
_MOST_CHUNKS: Final = 50


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
    """Return what an agent should know when a session begins; see ``Vault.bootstrap``.

    Raises
    ------
    InvalidArgument
        For arguments that cannot be used. Whatever else goes wrong is logged, and the block is empty.
    """
    settings = memory.settings.injection
    most = settings.bootstrap_token_budget if budget is None else budget
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise InvalidArgument(f"budget={budget!r} must be a whole number of tokens from 1 up")
    if session is not None and (not isinstance(session, str) or not session.strip()):
        raise InvalidArgument(f"session={session!r} must be the session's name, text that is not empty, or None")
    if trigger not in TRIGGERS:
        raise InvalidArgument(f"trigger={trigger!r} must be one of {', '.join(TRIGGERS)}")
    now_us = memory.clock.now_us() if now is None else parse_instant(now, memory.config.tz, what="now")
    if not settings.enabled:
        return ContextBlock()
    try:
        if not memory.view().rows:
            logger.info("%s: no context for this session: the vault is empty", memory.root)
        start = _Start(memory, now_us, project, agent, repo)
        seen = set() if trigger in RESETS else state_of(memory, session).shown
        block = start.block(most, seen)
        record_turn(
            memory, block, settings, tier="bootstrap", session=session, project=project, trigger=trigger,
            considered=start.considered, collections=start.collections,
        )  # fmt: skip
    except Exception as error:  # whatever it is: a session begins without memories
        logger.warning("%s: no context for this session: %r", memory.root, error)
        return ContextBlock(mode="failed")
    return block


class _Start:
    """One start of a session: its parts, each found on its own, so that one that fails leaves the others."""

    def __init__(self, memory: Memory, now_us: int, project: str | None, agent: str | None, repo: Path | None) -> None:
        self._memory, self._now_us, self._project, self._repo = memory, now_us, project, repo
        self._handoff: list[Chunk] = []
        self.parts: dict[str, list[Item]] = {
            "handoff": self._safely("handoff", lambda: self._last_handoff(agent)),
            "insights": self._safely("insights", self._insights),
            "changes": self._safely("changes", self._changes),
            "recent": self._safely("recent", self._decisions),
        }

    @property
    def considered(self) -> int:
        """How many items there were to choose from."""
        return sum(map(len, self.parts.values()))

    @property
    def collections(self) -> list[str]:
        """Where they are from."""
        return [item.collection for items in self.parts.values() for item in items]

    def block(self, budget: int, seen: set[str]) -> ContextBlock:
        """Fill the parts, each up to its share and what the ones before it left; then what is left of all, in order."""
        counts = counter()
        fill = Fill("bootstrap", budget, counts, seen)
        spare = 0
        for part, share in BOOTSTRAP_SHARES.items():
            allowed = int(budget * share) + spare
            spare = allowed - fill.take(self.parts[part], allowed)
        for part in PARTS:
            fill.take(self.parts[part])
        text, tokens = fill.finish(PARTS)
        return ContextBlock(text, tokens, tuple(fill.items), fill.tokens, budget, counts.name, "full")

    def _safely(self, part: str, find: Callable[[], list[Item]]) -> list[Item]:
        try:
            return find()
        except Exception as error:  # git may be missing, an index damaged: the other parts are still worth having
            logger.warning("%s: the part %s of the context is left out: %r", self._memory.root, part, error)
            return []

    def _last_handoff(self, agent: str | None) -> list[Item]:
        """Return the newest handoff by its date, with the other chunks of its source in their order."""
        found = newest(self._memory, _HANDOFF, 1, project=self._project, agent=agent)
        if found and found[0].source and found[0].ordinal >= 0:
            where: dict[str, Any] = {"type": _HANDOFF, "source": found[0].source}
            found = sorted(
                listed(self._memory, where, _MOST_CHUNKS, now_us=self._now_us), key=lambda chunk: chunk.ordinal
            )
        self._handoff = found
        return [item_of_chunk(chunk, "handoff", self._now_us) for chunk in found]

    def _insights(self) -> list[Item]:
        """Return insights by age, and by nearness to the handoff where there is one; pinned ones first."""
        everything = newest(self._memory, _INSIGHT, _MOST_CHUNKS, project=self._project)
        pinned = [item_of_chunk(chunk, "insights", self._now_us) for chunk in everything if chunk.pinned]
        if not self._handoff:
            return pinned + [item_of_chunk(chunk, "insights", self._now_us) for chunk in everything if not chunk.pinned]
        about = f"{self._handoff[0].title or ''}\n{self._handoff[0].text}"
        where = scoped({"type": _INSIGHT}, self._project)
        found = recall(
            self._memory, about, profile="temporal", k=_INSIGHTS, where=where, now=self._now_us / 1e6, time="off"
        ).hits
        return pinned + [item_of_chunk(each, "insights", self._now_us, each.score) for each in found]

    def _changes(self) -> list[Item]:
        """Return what happened after the handoff was written; nothing where there is none: no session to go on from."""
        since = max((chunk.created_at_us for chunk in self._handoff if chunk.created_at_us is not None), default=None)
        if since is None:
            return []
        told = recorded_changes(self._memory, since, self._now_us, self._project)
        return told + (git_changes(self._memory, self._repo, since, self._now_us, told) if self._repo else [])

    def _decisions(self) -> list[Item]:
        found = newest(self._memory, "decision", _DECISIONS, project=self._project)
        return [item_of_chunk(chunk, "recent", self._now_us) for chunk in found]

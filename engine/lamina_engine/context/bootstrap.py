"""Bootstrap of a session: the last handoff, insights, changes since, and decisions."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from lamina_engine.clock import US_PER_S, Instant, format_instant, parse_instant
from lamina_engine.context.budget import BOOTSTRAP_SHARES, BlockFill, find_counter
from lamina_engine.context.journal import RESETS, read_state, record_turn
from lamina_engine.context.memories import item_of_chunk, newest_chunks, scope_filter
from lamina_engine.context.rendering import ContextBlock, Item, age_text
from lamina_engine.errors import InvalidArgument
from lamina_engine.recall.pipeline import list_chunks, recall

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
    """Return what an agent should know when a session begins; see ``Vault.bootstrap``."""
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
        start = _Bootstrap(memory, now_us, project, agent, repo)
        seen = set() if trigger in RESETS else read_state(memory, session).shown
        block = start.block(most, seen)
        record_turn(
            memory, block, settings, tier="bootstrap", session=session, project=project, trigger=trigger,
            considered=start.considered, collections=start.collections,
        )  # fmt: skip
    except Exception as error:  # whatever it is: a session begins without memories
        logger.warning("%s: no context for this session: %r", memory.root, error)
        return ContextBlock(mode="failed")
    return block


class _Bootstrap:
    """The parts of one bootstrap, each read on its own, so that a failing one leaves the others."""

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
        """Number of items to choose from."""
        return sum(map(len, self.parts.values()))

    @property
    def collections(self) -> list[str]:
        """Collections of these items."""
        return [item.collection for items in self.parts.values() for item in items]

    def block(self, budget: int, seen: set[str]) -> ContextBlock:
        """Fill each part up to its share and what earlier ones left, then all parts with the rest."""
        counts = find_counter()
        fill = BlockFill("bootstrap", budget, counts, seen)
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
        found = newest_chunks(self._memory, _HANDOFF, 1, project=self._project, agent=agent)
        if found and found[0].source and found[0].ordinal >= 0:
            where: dict[str, Any] = {"type": _HANDOFF, "source": found[0].source}
            found = sorted(
                list_chunks(self._memory, where, _MOST_CHUNKS, now_us=self._now_us), key=lambda chunk: chunk.ordinal
            )
        self._handoff = found
        return [item_of_chunk(chunk, "handoff", self._now_us) for chunk in found]

    def _insights(self) -> list[Item]:
        """Return insights, pinned ones first, by nearness to the handoff, else by age."""
        everything = newest_chunks(self._memory, _INSIGHT, _MOST_CHUNKS, project=self._project)
        pinned = [item_of_chunk(chunk, "insights", self._now_us) for chunk in everything if chunk.pinned]
        if not self._handoff:
            return pinned + [item_of_chunk(chunk, "insights", self._now_us) for chunk in everything if not chunk.pinned]
        about = f"{self._handoff[0].title or ''}\n{self._handoff[0].text}"
        where = scope_filter({"type": _INSIGHT}, self._project)
        found = recall(
            self._memory, about, profile="temporal", k=_INSIGHTS, where=where, now=self._now_us / 1e6, time="off"
        ).hits
        return pinned + [item_of_chunk(each, "insights", self._now_us, each.score) for each in found]

    def _changes(self) -> list[Item]:
        """Return changes since the handoff; nothing without one, for no session goes on."""
        since = max((chunk.created_at_us for chunk in self._handoff if chunk.created_at_us is not None), default=None)
        if since is None:
            return []
        recorded = recorded_changes(self._memory, since, self._now_us, self._project)
        return recorded + (git_changes(self._memory, self._repo, since, self._now_us, recorded) if self._repo else [])

    def _decisions(self) -> list[Item]:
        found = newest_chunks(self._memory, "decision", _DECISIONS, project=self._project)
        return [item_of_chunk(chunk, "recent", self._now_us) for chunk in found]


MAX_CHANGES: Final = 10
"""Of each: what is in the vault, and what is in git."""
_DATE_FIELD: Final = {"github_pr": "merged_at", "github_issue": "opened_at", "jira_issue": "opened_at"}
_READ: Final = 50
_FIELDS: Final = "%H%x1f%ct%x1f%P%x1f%s%x1e"
_NUMBER: Final = re.compile(r"#(\d+)")


def recorded_changes(memory: Memory, since_us: int, now_us: int, project: str | None) -> list[Item]:
    """Return the merged requests and the new issues since a moment, newest first."""
    found: list[tuple[int, Item]] = []
    for type_, name in _DATE_FIELD.items():
        for chunk in newest_chunks(memory, type_, _READ, project=project):
            at = _moment(chunk.metadata.get(name))
            if at is not None and since_us < at <= now_us:
                found.append((at, item_of_chunk(chunk, "changes", now_us)))
    found.sort(key=lambda pair: (-pair[0], pair[1].id))
    return [item for _, item in found[:MAX_CHANGES]]


def git_changes(memory: Memory, repo: Path, since_us: int, now_us: int, known: list[Item]) -> list[Item]:
    """Return the commits and merges of a work tree since a moment, newest first.

    A merge that names the number of a request in ``known`` is left out. A folder outside of git has no commits.
    """
    from lamina_engine.ingest.git import find_repository

    repository = find_repository(repo)
    if repository is None or repository.head is None:
        return []
    out = repository.git(
        "log", f"--since={since_us // US_PER_S + 1}", f"--max-count={_READ}", f"--format={_FIELDS}", "--no-show-signature",
        repository.head, "--",
    )  # fmt: skip
    numbers = {number for item in known for number in _NUMBER.findall(item.title)}
    found = []
    for line in out.decode("utf-8", "replace").split("\x1e"):
        commit, _, rest = line.strip("\n").partition("\x1f")
        seconds, _, rest = rest.partition("\x1f")
        parents, _, subject = rest.partition("\x1f")
        if not (commit and seconds.isdigit() and subject.strip()):
            continue
        at = int(seconds) * US_PER_S
        if since_us < at <= now_us and numbers.isdisjoint(_NUMBER.findall(subject)):
            kind = "git_merge" if " " in parents else "git_commit"
            found.append(_commit_item(memory, commit, at, kind, subject, repository.root.name, now_us))
    return found[:MAX_CHANGES]


def _commit_item(memory: Memory, commit: str, at: int, kind: str, subject: str, source: str, now_us: int) -> Item:
    return Item(
        part="changes", id=f"git:{commit[:12]}", text=memory.redact(subject.strip()), type=kind, collection="git",
        source=source, date=(format_instant(at) or "")[:10], age=age_text((now_us - at) / US_PER_S), freshness="fresh",
    )  # fmt: skip


def _moment(value: Any) -> int | None:
    try:
        return parse_instant(value) if isinstance(value, str) and value else None
    except InvalidArgument:
        return None

"""Events and threads of sessions: the model that the readers of all formats produce."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal, NamedTuple

import msgspec

from lamina_engine.clock import zone
from lamina_engine.sessions.streams import decode_object
from lamina_engine.sessions.tooltext import text_of

Kind = Literal["user", "said", "thought", "tool", "result", "summary", "touch"]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


class Event(msgspec.Struct, gc=False):  # what a reader made of JSON has no cycles
    """One thing that happened in a session."""

    kind: Kind
    """``user`` begins a turn; ``touch`` has no text, only a time or facts."""
    text: str
    """As written; nothing of it is stored before it is redacted."""
    at: str | None = None
    """ISO 8601 as written, None where it is missing or no date."""
    at_us: int | None = None
    """The same, us UTC."""
    name: str | None = None
    """Of a tool."""
    ref: str | None = None
    """Id of a tool's use."""
    arguments: Any = None
    """Arguments of a tool."""
    facts: dict[str, Any] | None = None
    """More about it: ``file``, ``spawn``, ``agents``, ``mentions``, ``sent``, ``received``, ``model``, ``branch``."""


_TOLD: Final = re.compile(
    r"\s*(?:<lamina-context\b[^>]*>.*?</lamina-context>|&lt;lamina-context\b.*?&lt;/lamina-context&gt;)\s*", re.DOTALL
)
_EMPTY: Final = re.compile(r"<hook_context>\s*</hook_context>\s*")
"""Left of what Gemini CLI adds to a prompt, in which it escapes it once more."""


def drop_context(events: Sequence[Event]) -> None:
    """Take out the context blocks that a vault has told an agent: it would learn from itself."""
    for event in events:
        if "lamina-context" in event.text:
            event.text = _EMPTY.sub("", _TOLD.sub("\n", event.text)).strip()


class Thread(msgspec.Struct):
    """A line of talk of a main agent or of a sub-agent, to which the next events belong."""

    session: str
    agent: str
    """The program that wrote it; with ``/`` and a name or id for an agent that another one called."""
    project: str | None = None
    title: str | None = None
    facts: dict[str, Any] = {}
    """Facts of all of it: ``format``, ``cwd``, ``agent_id``, ``parent_tool_use_id``, ``team``, ``name``."""


class TranscriptReader:
    """Reader of one transcript, unit by unit: a line, or a conversation of an export."""

    @property
    def is_dead_end(self) -> bool:
        """True for a sub-agent that never answered: nothing of it is kept."""
        return False

    def feed(self, data: bytes) -> Sequence[Thread | Event]:
        """Return the thread and the events that a unit completes; ValueError for an unreadable one."""
        return self._read(decode_object(data)) if data else ()

    def _read(self, row: dict[str, Any]) -> Sequence[Thread | Event]:
        """Return the thread and the events of an object, of a reader without a `feed` of its own."""
        raise NotImplementedError

    def finish(self) -> Sequence[Thread | Event]:
        """Return the events left at the end of the file."""
        return ()


class Times:
    """Reads instants as transcripts have them."""

    def __init__(self, tz: str) -> None:
        self._zone = zone(tz)

    def read(self, value: object) -> tuple[str | None, int | None]:
        """Return an instant as ISO 8601 in its own zone, and in us UTC; None twice for other values."""
        if type(value) is not str:
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                return None, None
            return _from_seconds(float(value))
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return None, None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=self._zone)
            value = moment.isoformat()
        try:
            since = moment - _EPOCH  # its parts, because a division of two spans costs half of reading the instant
            return value, (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
        except OverflowError:
            return None, None

    def read_milliseconds(self, value: object) -> tuple[str | None, int | None]:
        """Return what `read` does of an instant in milliseconds since 1970."""
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return self.read(float(value) / 1_000 if is_number else None)  # type: ignore[arg-type]


def _from_seconds(seconds: float) -> tuple[str | None, int | None]:
    if not 0 < seconds < 253_402_300_799:  # NaN fails it too
        return None, None
    moment = _EPOCH + timedelta(microseconds=round(seconds * 1e6))
    return moment.replace(tzinfo=None).isoformat() + "Z", (moment - _EPOCH) // _MICROSECOND


_UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_WORKTREE: Final = re.compile(r"/(?:\.[\w-]+/)?\.?worktrees/")
_CALLED: Final = "subagents"
_PREFIX: Final = "agent-"


class FileName(NamedTuple):
    """Facts of a file's path."""

    stem: str
    session: str | None
    """Id of the session, where name or folder is a UUID."""
    agent: str | None
    """Id of the agent, where the file is that of one that was called."""


def parse_file_name(path: str) -> FileName:
    """Parse a path with ``/``; only the nearest folders count."""
    *folders, last = path.split("/")
    stem = last.rpartition(".")[0] or last
    called = _CALLED in folders[-2:]
    agent = stem.removeprefix(_PREFIX) if called or stem.startswith(_PREFIX) else None
    if agent is None:
        return FileName(stem, _uuid(stem), None)
    above = folders[: folders.index(_CALLED)] if called else []
    return FileName(stem, _uuid(above[-1]) if above else None, agent or stem)


def _uuid(name: str) -> str | None:
    return name if _UUID.fullmatch(name) else None


def project_of_folder(folder: str | None) -> str | None:
    """Return the last part of a working folder; a worktree belongs to its repository."""
    if not folder:
        return None
    path = folder.replace("\\", "/").rstrip("/")
    if len(path) > 1 and path[1] == ":":
        path = path[2:]
    found = _WORKTREE.search(f"{path}/")
    if found is not None and found.start() > 0:
        path = path[: found.start()]
    return path.rpartition("/")[2] or None


_MENTION: Final = re.compile(r"(?:agentId:?\s*|\bagent-|<task-id>|<agent-id>)([0-9A-Za-z][0-9A-Za-z_-]{3,63})")


def spawn_facts(ref: str | None, at: str | None, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the facts of a sub-agent's call: id, moment, digest of its prompt, name, team."""
    prompt = text_of(arguments.get("prompt")) or text_of(arguments.get("message"))
    found = {
        "id": ref,
        "at": at,
        "prompt": prompt_digest(prompt) if prompt is not None else None,
        "name": text_of(arguments.get("name")),
        "team": text_of(arguments.get("team_name")),
    }
    return {key: value for key, value in found.items() if value is not None}


def agent_mentions(text: str) -> list[str]:
    """Return the ids of agents that a text names, in order."""
    if "agent" not in text and "<task-id>" not in text:
        return []
    return list(dict.fromkeys(_MENTION.findall(text)))[:20]


def prompt_digest(prompt: str) -> str:
    """Return a digest by which equal prompts are matched: 16 hex digits."""
    return hashlib.blake2b(prompt.strip().encode("utf-8", "replace"), digest_size=8).hexdigest()

"""What the readers of all formats give: events of a session, in their order."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal

import msgspec

from lamina_engine.clock import zone

Kind = Literal["user", "said", "thought", "tool", "result", "summary", "touch"]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)


class Event(msgspec.Struct, gc=False):  # what a reader made of JSON has no cycles
    """One thing that happened in a session."""

    kind: Kind
    """``user`` begins a turn; ``touch`` has no text: it tells a time, or something about the turn."""
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
    """What a tool was given."""
    facts: dict[str, Any] | None = None
    """More about it: ``file``, ``spawn``, ``agents``, ``mentions``, ``sent``, ``received``, ``model``, ``branch``."""


class Thread(msgspec.Struct):
    """Whose events follow: one line of talk, of a main agent or of one that it called."""

    session: str
    agent: str
    """The program that wrote it; with ``/`` and a name or id for an agent that another one called."""
    project: str | None = None
    title: str | None = None
    facts: dict[str, Any] = {}
    """What is true of all of it: ``format``, ``cwd``, ``agent_id``, ``parent_tool_use_id``, ``team``, ``name``."""

    @property
    def called(self) -> bool:
        """Whether another agent called this one."""
        return "/" in self.agent


class Times:
    """Reads instants as transcripts have them.

    Parameters
    ----------
    tz : str
        Zone of instants that name none.
    """

    def __init__(self, tz: str) -> None:
        self._zone = zone(tz)

    def read(self, value: object) -> tuple[str | None, int | None]:
        """Return an instant as ISO 8601 in the zone it was written in, and in us UTC; None twice for anything else."""
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


def _from_seconds(seconds: float) -> tuple[str | None, int | None]:
    if not 0 < seconds < 253_402_300_799:  # NaN fails it too
        return None, None
    moment = _EPOCH + timedelta(microseconds=round(seconds * 1e6))
    return moment.replace(tzinfo=None).isoformat() + "Z", (moment - _EPOCH) // _MICROSECOND

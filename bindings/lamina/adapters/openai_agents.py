"""OpenAI Agents: a session in a vault, whose turns recall finds."""

from __future__ import annotations

import asyncio
import uuid
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from lamina import InvalidArgument, MissingExtra, Vault
from lamina.adapters.storage import delete_chunks, open_storage, plain_json

try:
    from agents.memory import SessionABC, SessionSettings
    from agents.memory.session_settings import resolve_session_limit
except ImportError as _error:
    raise MissingExtra("the session needs openai-agents", "openai-agents") from _error

if TYPE_CHECKING:
    from agents.items import TResponseInputItem

    from lamina import Chunk
    from lamina.options import PathLike

_COLLECTION: Final = "openai-agents"


class LaminaSession(SessionABC):
    """Session of the OpenAI Agents SDK in a vault.

    Each item is a chunk of the session, in order; what users, agents and tools said is found by `Vault.recall`. Secrets
    are masked, as everywhere in a vault; popped and cleared items are erased from the disk.

    Parameters
    ----------
    session_id : str
        Name of the session.
    vault : Vault or path
        An open vault, or the folder of one; it is made where there is none.
    project : str, optional
        Project of the chunks.
    session_settings : SessionSettings, optional
        Default limit of `get_items`.

    Examples
    --------
    >>> session = LaminaSession("support-42", "agent/.lamina")  # doctest: +SKIP
    >>> await Runner.run(agent, "What did we decide?", session=session)  # doctest: +SKIP
    """

    def __init__(
        self,
        session_id: str,
        vault: Vault | PathLike,
        *,
        project: str | None = None,
        session_settings: SessionSettings | None = None,
    ) -> None:
        if not isinstance(session_id, str) or not session_id:
            raise InvalidArgument(f"session_id={session_id!r} must be the name of a session")
        self.session_id = session_id
        self.session_settings: SessionSettings | None = session_settings or SessionSettings()
        self._vault, self._project = open_storage(vault, None, None), project

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the items in order; with a limit the newest of them, all where it is negative."""
        most = resolve_session_limit(limit, self.session_settings)
        chunks = await asyncio.to_thread(self._chunks)
        chosen = chunks if most is None or most < 0 else chunks[len(chunks) - min(most, len(chunks)) :]
        return [_item(chunk) for chunk in chosen]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Append items in one commit.

        Raises
        ------
        InvalidArgument
            When an item is no JSON object; nothing is written.
        VaultReadOnly, VaultLocked, OSError
        """
        if items:
            await asyncio.to_thread(self._vault.add, [self._record(cast("Any", item)) for item in items])

    async def pop_item(self) -> TResponseInputItem | None:
        """Erase and return the newest item; None in an empty session."""
        chunks = await asyncio.to_thread(self._chunks)
        if not chunks:
            return None
        await asyncio.to_thread(delete_chunks, self._vault, [chunks[-1].id], self._where)
        return _item(chunks[-1])

    async def clear_session(self) -> None:
        """Erase all items of the session."""
        chunks = await asyncio.to_thread(self._chunks)
        await asyncio.to_thread(delete_chunks, self._vault, [chunk.id for chunk in chunks], self._where)

    @property
    def _where(self) -> dict[str, object]:
        return {"collection": _COLLECTION, "session": self.session_id}

    def _chunks(self) -> list[Chunk]:
        return sorted(self._vault.list(self._where, None), key=lambda chunk: chunk.row)

    def _record(self, item: Any) -> dict[str, object]:
        value = plain_json(item, "an item")
        if not isinstance(value, dict):
            raise InvalidArgument(f"an item is a {type(value).__name__}; give an object; nothing was written")
        return {
            "id": f"oa{uuid.uuid4().hex}",  # equal turns are turns of their own
            "text": _text(value) or msgspec.json.encode(value).decode(),
            "type": "conversation",
            "collection": _COLLECTION,
            "project": self._project,
            "session": self.session_id,
            "metadata": {"item": value},
        }


def _item(chunk: Chunk) -> TResponseInputItem:
    return cast("TResponseInputItem", chunk.metadata["item"])


def _text(item: dict[str, Any]) -> str:
    """Return the words of an item: of a message, of a tool's call or of its result."""
    parts = []
    for name in ("content", "output", "summary"):
        given = item.get(name)
        for part in given if isinstance(given, list) else [given]:
            said = part.get("text") or part.get("refusal") if isinstance(part, dict) else part
            parts += [said] if isinstance(said, str) else []
    if isinstance(item.get("name"), str) and isinstance(item.get("arguments"), str):
        parts.append(f"{item['name']}({item['arguments']})")
    role = item.get("role")
    text = "\n".join(parts).strip()
    return f"{role.capitalize()}: {text}" if text and isinstance(role, str) else text

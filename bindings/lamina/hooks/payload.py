"""The payload of an event: one JSON object on standard input, read leniently."""

from __future__ import annotations

import json

MOST_BYTES = 4_000_000


class Payload:
    """Fields of an event under any agent's names; one of a wrong type is as good as missing."""

    def __init__(self, content: bytes) -> None:
        found: object = None
        if len(content) <= MOST_BYTES:
            try:
                found = json.loads(content.decode("utf-8", "replace"))
            except (ValueError, RecursionError):
                found = None
        self.is_whole = isinstance(found, dict)
        """False for what is no JSON object, or is too long."""
        self._fields: dict[str, object] = found if isinstance(found, dict) else {}

    def text(self, *names: str) -> str:
        """Return the first of these fields that is a text; empty if none is."""
        for name in names:
            value = self._fields.get(name)
            if isinstance(value, str) and value:
                return value
        return ""

    @property
    def event(self) -> str:
        """The agent's own name of the event."""
        return self.text("hook_event_name", "hookEventName")

    @property
    def session(self) -> str:
        """Id of the session."""
        return self.text("session_id", "sessionId", "conversation_id", "conversationId", "sessionID")

    @property
    def folder(self) -> str:
        """Working folder of the agent."""
        roots = self._fields.get("workspace_roots")
        first = roots[0] if isinstance(roots, list) and roots and isinstance(roots[0], str) else ""
        return self.text("cwd") or first

    @property
    def prompt(self) -> str:
        """The user's message, without what a hook has told: Gemini CLI puts that in front."""
        text = self.text("prompt")
        if text.startswith("<hook_context>"):
            told, end, asked = text.partition("</hook_context>")
            return asked.lstrip() if end else told
        return text

    @property
    def transcript(self) -> str:
        """Path of the session's transcript; at the end of a sub-agent, of its own."""
        return self.text("agent_transcript_path", "transcript_path", "transcriptPath")

    @property
    def messages(self) -> list[object]:
        """Messages of the session, from an agent that keeps no transcript file."""
        found = self._fields.get("messages")
        return found if isinstance(found, list) else []

    @property
    def source(self) -> str:
        """Reason of a start, or author of a prompt."""
        return self.text("source", "trigger")

    @property
    def is_subagent(self) -> bool:
        """True where an agent of an agent speaks."""
        return bool(self.text("agent_id", "agentId") or self.parent)

    @property
    def parent(self) -> str:
        """Id of the session that called this one, where called ones have sessions of their own."""
        return self.text("parentID")

    @property
    def file_read(self) -> str:
        """Path of the file that a tool reads; empty for other tools."""
        if self.text("tool_name", "toolName") not in ("Read", "view", "read_file", "read"):
            return ""
        given = self._fields.get("tool_input") or self._fields.get("toolArgs")
        path = (given.get("file_path") or given.get("path")) if isinstance(given, dict) else None
        return path if isinstance(path, str) else ""

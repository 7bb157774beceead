"""How talk speaks of agents that it called: what a call says of one, and the ids that texts name."""

from __future__ import annotations

import hashlib
import re
from typing import Any, Final

from lamina_engine.ingest.sessions.tooltext import text_of

_MENTION: Final = re.compile(r"(?:agentId:?\s*|\bagent-|<task-id>|<agent-id>)([0-9A-Za-z][0-9A-Za-z_-]{3,63})")


def spawn_of(ref: str | None, at: str | None, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return what is known of an agent when it is called: the id of the call, when, its prompt's digest, its name."""
    prompt = text_of(arguments.get("prompt")) or text_of(arguments.get("message"))
    found = {
        "id": ref,
        "at": at,
        "prompt": digest_of(prompt) if prompt is not None else None,
        "name": text_of(arguments.get("name")),
        "team": text_of(arguments.get("team_name")),
    }
    return {key: value for key, value in found.items() if value is not None}


def mentioned(text: str) -> list[str]:
    """Return the ids of agents that a text names, in order."""
    if "agent" not in text and "<task-id>" not in text:
        return []
    return list(dict.fromkeys(_MENTION.findall(text)))[:20]


def digest_of(prompt: str) -> str:
    """Return what tells a prompt from others: 16 hex digits."""
    return hashlib.blake2b(prompt.strip().encode("utf-8", "replace"), digest_size=8).hexdigest()

"""Messages that an agent without transcript files hands over, written as a transcript.

Secrets are masked before anything is on disk; the file lies in the queue until it is captured.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import lamina
from lamina.hooks.queue import Queue, key_of


def write_transcript(queue: Queue, session: str, folder: str, messages: list[object]) -> str:
    """Write a session's messages as a transcript into the queue's folder; return its path."""
    redactor = lamina.Redactor()
    os.makedirs(queue.folder, mode=0o700, exist_ok=True)
    path = os.path.join(queue.folder, f"{key_of(session)}.jsonl")
    aside = f"{path}.{os.getpid()}.tmp"
    descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0), 0o600)
    with open(descriptor, "w", encoding="utf-8", errors="replace") as out:
        out.writelines(
            json.dumps(line, ensure_ascii=False) + "\n"
            for line in _lines(session, folder, messages, lambda text: redactor.clean(text)[0])
        )
    os.replace(aside, path)
    return path


def _lines(session: str, folder: str, messages: list[object], clean: Any) -> Iterator[dict[str, object]]:
    """Yield messages as Claude Code writes them, which `lamina ingest` reads."""
    before: str | None = None
    for number, message in enumerate(messages):
        info = message.get("info") if isinstance(message, dict) else None
        parts = message.get("parts") if isinstance(message, dict) else None
        if not isinstance(info, dict) or not isinstance(parts, list) or info.get("role") not in ("user", "assistant"):
            continue
        name = str(info.get("id") or number)
        known = [part for part in parts if isinstance(part, dict)]
        said = [block for part in known for block in _blocks(part, clean)]
        results = [block for part in known for block in _results(part, clean)]
        for role, uuid, content in ((str(info["role"]), name, said), ("user", f"{name}-results", results)):
            if content:
                yield {
                    "type": role, "uuid": uuid, "parentUuid": before, "sessionId": session, "cwd": folder,
                    "timestamp": _moment(info.get("time")), "message": {"role": role, "content": content},
                }  # fmt: skip
                before = uuid


def _blocks(part: dict[str, Any], clean: Any) -> Iterator[dict[str, object]]:
    if part.get("type") == "text" and isinstance(part.get("text"), str) and not part.get("synthetic"):
        yield {"type": "text", "text": clean(part["text"])}
    elif part.get("type") == "tool":
        state = part.get("state")
        given = state.get("input") if isinstance(state, dict) else None
        told = (
            {name: clean(value) if isinstance(value, str) else value for name, value in given.items()}
            if isinstance(given, dict)
            else {}
        )
        yield {"type": "tool_use", "id": str(part.get("callID")), "name": str(part.get("tool")), "input": told}


def _results(part: dict[str, Any], clean: Any) -> Iterator[dict[str, object]]:
    state = part.get("state")
    output = state.get("output") if part.get("type") == "tool" and isinstance(state, dict) else None
    if isinstance(output, str):
        yield {"type": "tool_result", "tool_use_id": str(part.get("callID")), "content": clean(output)}


def _moment(time: object) -> str | None:
    created = time.get("created") if isinstance(time, dict) else None
    if not isinstance(created, int | float) or not 0 < created < 253_402_300_799_000:
        return None
    return datetime.fromtimestamp(created / 1_000, UTC).isoformat()

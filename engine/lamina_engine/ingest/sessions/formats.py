"""Which format a file of sessions has, by its first bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from lamina_engine.ingest.sessions import claude_code, codex, plainlog
from lamina_engine.ingest.sessions.lines import decode

HEAD_BYTES: Final = 1 << 18
"""Bytes that are looked at."""
CHATS: Final = "chats"

_LOOKED_AT: Final = 50
_CODEX: Final = frozenset({"session_meta", "response_item", "event_msg", "turn_context"})
_NOISE: Final = frozenset({"system", "progress", "queue-operation", "attachment"})


def format_of(path: Path, suffix: str) -> str | None:
    """Return the format of a file by its beginning, None where it is no file of sessions; see `detect`.

    Raises
    ------
    OSError
    """
    with path.open("rb") as file:
        return detect(file.read(HEAD_BYTES), suffix)


def detect(head: bytes, suffix: str) -> str | None:
    """Return the format of a file, None where it is none that is known.

    Parameters
    ----------
    head : bytes
        Its first `HEAD_BYTES`, or all of it.
    suffix : str
        Of its name, lower case, without the dot.

    Returns
    -------
    {"claude-code", "codex", "chats", "log"} or None
        Of the first line that says it unmistakably; records in JSON lines say nothing.
    """
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if suffix in ("jsonl", "ndjson"):
        return _of_lines(start)
    if suffix == "json":
        chat = b'"chat_messages"' in start or (b'"mapping"' in start and b'"author"' in start)
        return CHATS if chat and start[:1] in (b"[", b"{") else None
    return _of_lines(start) if start[:1] == b"{" else _of_talk(start)


def _of_lines(start: bytes) -> str | None:
    for line in start.split(b"\n", _LOOKED_AT)[:_LOOKED_AT]:
        if line.strip():
            try:
                row = decode(line)
            except ValueError:
                continue
            if isinstance(row, dict) and (found := _of_row(row)) is not None:
                return found
    return None


def _of_row(row: dict[str, Any]) -> str | None:
    kind = row.get("type")
    if kind is not None and not isinstance(kind, str):
        return None
    if kind in ("user", "assistant") and ("sessionId" in row or "parentUuid" in row) and "message" in row:
        return claude_code.NAME
    if kind == "summary" and "leafUuid" in row:
        return claude_code.NAME
    if (kind == "file-history-snapshot" and "snapshot" in row) or (kind in _NOISE and "sessionId" in row):
        return claude_code.NAME
    if kind in _CODEX and isinstance(row.get("payload"), dict):
        return codex.NAME
    old = kind is None and isinstance(row.get("id"), str) and isinstance(row.get("timestamp"), str)
    return codex.NAME if old and "instructions" in row and "text" not in row else None


def _of_talk(start: bytes) -> str | None:
    """A log begins with a speaker (or a heading), and both sides speak."""
    sides: set[str] = set()
    for number, line in enumerate(start.split(b"\n", 400)[:400]):
        text = line.decode("utf-8", "replace")
        found = plainlog.SPEAKER.match(text)
        if found is None:
            if number == 0 and text.strip() and not text.startswith("#"):
                return None
            continue
        sides.add("user" if found["user"] else "said" if found["said"] else "other")
        if sides >= {"user", "said"}:
            return plainlog.NAME
    return None

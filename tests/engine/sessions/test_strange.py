"""Lines whose parts are anything at all: told or passed over, and never the end of the run."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_engine.redact.redactor import Redactor
from lamina_engine.sessions.reading import TranscriptFile, detect
from tests.engine.sessions.transcripts import SMALL

REDACTOR = Redactor()
KEYS = st.sampled_from(
    ["type", "message", "content", "role", "text", "timestamp", "sessionId", "tool_use_id", "id", "name", "input",
     "payload", "summary", "output", "call_id", "arguments", "cwd", "agentId", "toolUseResult", "parentToolUseID", "data",
     "chat_messages", "mapping", "author", "parts", "parent", "children", "current_node", "sender", "attachments", "files",
     "thoughts", "metadata", "create_time", "command", "file_path", "prompt", "source", "subagent", "thread_spawn", "git"]
)  # fmt: skip
WORDS = st.sampled_from(
    ["user", "assistant", "tool_use", "tool_result", "thinking", "text", "summary", "progress", "response_item", "message",
     "session_meta", "function_call", "function_call_output", "reasoning", "turn_context", "compacted", "human", "a", "",
     "2026-01-15T10:00:00Z", "9999-12-31T23:59:59-12:00", "Task", "Bash", "<command-name>", "agentId: abcd", "\ud83d"]
)  # fmt: skip
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=14,
)


@pytest.mark.parametrize("format", ["claude-code", "codex", "chats", "log"])
@given(st.lists(st.dictionaries(KEYS, VALUES, max_size=7), max_size=4), st.binary(max_size=8))
def test_nothing_in_a_file_ends_the_run(format: str, rows: list[dict[str, Any]], rest: bytes) -> None:
    lines = [json.dumps(row).encode() for row in rows]
    data = b"[" + b",".join(lines) + b"]" if format == "chats" else b"\n".join([*lines, rest])
    for suffix in ("jsonl", "json", "log"):
        detect(data, suffix)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.jsonl"
        path.write_bytes(data)
        file = TranscriptFile(path, "x.jsonl", format, redactor=REDACTOR, options=SMALL, tz="UTC")
        for cut in file.chunks():
            assert 0 < len(cut.text) <= SMALL.limits.max_chars
            json.dumps(cut.facts)
            cut.text.encode()
        assert file.size == len(data)

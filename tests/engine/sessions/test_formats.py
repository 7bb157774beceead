from __future__ import annotations

import json

import pytest

from lamina_engine.sessions.reading import detect


@pytest.mark.parametrize(
    ("row", "found"),
    [
        ({"type": "user", "sessionId": "s", "message": {}}, "claude-code"),
        ({"type": "assistant", "parentUuid": None, "message": {}}, "claude-code"),
        ({"type": "summary", "summary": "x", "leafUuid": "y"}, "claude-code"),
        ({"type": "file-history-snapshot", "snapshot": {}}, "claude-code"),
        ({"type": "session_meta", "payload": {"id": "x"}}, "codex"),
        ({"id": "x", "timestamp": "2025", "instructions": None}, "codex"),
        ({"text": "a record", "type": "user"}, None),
        ({"text": "a record", "id": "1", "timestamp": "2025", "instructions": "x"}, None),
        ({"type": "summary", "text": "x"}, None),
        ({"role": "user", "content": "x"}, None),
        ({"type": "system", "content": "x"}, None),
    ],
)
def test_json_lines_that_say_so_unmistakably(row: dict[str, object], found: str | None) -> None:
    line = json.dumps(row).encode()
    assert detect(line, "jsonl") == found
    assert detect(b"\xef\xbb\xbf\n{broken\n42\n" + line + b"\n", "jsonl") == found


@pytest.mark.parametrize(
    ("text", "suffix", "found"),
    [
        (b'[{"uuid": "c", "chat_messages": []}]', "json", "chats"),
        (b'[{"mapping": {"a": {"message": {"author": {}}}}}]', "json", "chats"),
        (b'{"mapping": 1}', "json", None),
        (b'"chat_messages"', "json", None),
        (b"User: a\nAssistant: b", "log", "log"),
        (b"# A talk\n\nUser: a\nAssistant: b", "md", "log"),
        (b"Notes first\nUser: a\nAssistant: b", "md", None),
        (b"", "jsonl", None),
        (b"", "txt", None),
        (b'{"type": "user", "sessionId": "s", "message": {}}', "txt", "claude-code"),
    ],
)
def test_other_files(text: bytes, suffix: str, found: str | None) -> None:
    assert detect(text, suffix) == found

"""Names that files of one run share are searched once; those with secrets are told of each file."""

from __future__ import annotations

import io
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_engine.redact.redactor import Redactor
from lamina_engine.sessions import streams
from lamina_engine.sessions.events import Event, Thread
from lamina_engine.sessions.reading import HEAD_BYTES, EventMasker, TranscriptFile, detect, format_of
from lamina_engine.sessions.streams import MAX_LINE_BYTES
from tests.conftest import MEMORY
from tests.engine.sessions.transcripts import SMALL, says, user, write

TOKEN = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"

LONG = "iVBORw0K" * (HEAD_BYTES // 8 + 1)


def form(data: bytes, suffix: str) -> str | None:
    return detect(io.BytesIO(data), suffix)


def events() -> list[Event]:
    return [
        Event("tool", "", name="Bash", arguments={"command": "ls"}, facts={"file": f"/src/{TOKEN}.py", "branch": ""})
    ]


@pytest.mark.parametrize("policy", ["mask", "skip", "allow"])
def test_each_file_tells_what_it_holds_whatever_others_held(policy: str) -> None:
    redactor = Redactor(policy)  # type: ignore[arg-type]
    harmless: dict[str, str] = {}
    told = []
    for shared in (None, harmless, harmless):
        masking, found = EventMasker(redactor, thinking=False, harmless=shared), events()
        masking.mask_events(found)
        thread = masking.mask_thread(Thread("s1", f"codex/{TOKEN}", title=" \r\n "))
        told.append((found, thread, masking.found, masking.kinds))
    ref, *got = told
    assert got == [ref, ref]
    assert ref[2] == 2
    assert (TOKEN in str(ref[:2])) == (policy == "allow")


def test_only_names_without_secrets_are_shared() -> None:
    harmless: dict[str, str] = {}
    EventMasker(Redactor(), thinking=False, harmless=harmless).mask_events(events())
    assert harmless == {"file": "file", "branch": "branch", "": "", "Bash": "Bash"}


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
    assert form(line, "jsonl") == found
    assert form(b"\xef\xbb\xbf\n{broken\n42\n" + line + b"\n", "jsonl") == found
    # an image or a log that somebody pasted may come first, in the line itself or before it
    assert form(json.dumps({"pasted": LONG, **row}).encode(), "jsonl") == found
    assert form(json.dumps(LONG).encode() + b"\n" + line, "ndjson") == found


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
    assert form(text, suffix) == found


@pytest.mark.parametrize("block", [1 << 20, 1 << 10])
@pytest.mark.parametrize(
    ("document", "found"),
    [
        ([{"name": LONG, "chat_messages": []}], "chats"),
        ([{"title": LONG, "mapping": {"a": {"id": LONG, "message": {"author": {}}}}}], "chats"),
        ({"sessionId": "s", "summary": LONG, "projectHash": "p", "messages": []}, "gemini"),
        ({"info": {"diffs": [{"before": LONG, "after": LONG}]}, "messages": [{"info": {}, "parts": []}]}, "opencode"),
        ({"initial": LONG, "requests": [], "responderUsername": "x"}, "vscode"),
        ({"info": LONG, "messages": []}, None),
    ],
)
def test_documents_are_known_whatever_long_texts_they_begin_with(
    document: object, found: str | None, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "_ELEMENTS_BYTES", block)
    assert form(json.dumps(document).encode(), "json") == found


@given(st.text(alphabet='ab"\\{}[]:,', max_size=40), st.integers(1, 9))
def test_long_texts_are_left_out_wherever_blocks_end(text: str, block: int) -> None:
    document = json.dumps({"a": text, "b": [text, LONG[:30] + text, 1]}).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "_ELEMENTS_BYTES", block)
        patch.setattr(streams, "_SHORT_TEXT", len(json.dumps(text)) + 1)
        short = b"".join(streams.short_texts(io.BytesIO(document)))
    assert short == document.replace(json.dumps(LONG[:30] + text).encode(), b"")


def test_a_log_is_known_however_much_its_first_turn_holds() -> None:
    pasted = b"User: why?\n" + b"a line of a log\n" * 40_000 + b"Assistant: the disk is full\n"
    assert form(pasted, "log") == "log"
    assert form(b"# Notes\n" + pasted.partition(b"\n")[2], "md") is None


def test_a_line_that_is_too_long_is_told_and_the_others_are_read(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    rest = [user(0, "What is in the picture?"), says(5, "A harbour, and a ferry that leaves it.")]
    with write(path, []).open("wb") as out:
        out.write(b'{"type": "user", "sessionId": "s1", "message": "' + b"A" * MAX_LINE_BYTES + b'"}\n')
        out.writelines(json.dumps(line).encode() + b"\n" for line in rest)
    format = format_of(path, "jsonl")
    assert format == "claude-code"
    file = TranscriptFile(path, "s.jsonl", format, redactor=REDACTOR, options=SMALL, tz="UTC")
    assert "ferry" in " ".join(chunk.text for chunk in file.chunks())
    assert [problem.message for problem in file.problems] == ["line 1: it is longer than 64 MiB; skipped"]


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
        form(data, suffix)
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        path = Path(folder) / "x.jsonl"
        path.write_bytes(data)
        file = TranscriptFile(path, "x.jsonl", format, redactor=REDACTOR, options=SMALL, tz="UTC")
        for cut in file.chunks():
            assert 0 < len(cut.text) <= SMALL.limits.max_chars
            json.dumps(cut.facts)
            cut.text.encode()
        assert file.size == len(data)

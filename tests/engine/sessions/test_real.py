"""Files that the programs wrote themselves, and what is read of them.

Claude Code 2.1.330, Codex 0.169.0, Gemini CLI 0.61.0, Copilot CLI 1.0.102 and OpenCode 1.18.33, talking to a scripted
model; names of folders are changed, and long texts cut. Cursor and VS Code do not run here: their files are written from
what others have published of the formats.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from lamina_engine.memory import Memory
from lamina_engine.sessions.codex import CodexReader
from lamina_engine.sessions.copilot import CopilotReader
from lamina_engine.sessions.events import Event, Times, parse_file_name
from lamina_engine.sessions.gemini import GeminiReader
from lamina_engine.sessions.opencode import OpenCodeReader
from tests.engine.sessions.transcripts import ingest, links, records, texts, write

REAL = Path(__file__).parent / "real"
LAST = "[Assistant]\nThe test fails because the folder nothing-here is missing."
HELPED = "[User]\nLook at the README and say what the shop sells to its customers.\n\n[Assistant]\nI have heard it."


@pytest.mark.parametrize(
    ("program", "session", "agents", "shell"),
    [
        ("codex", "01a205d6-eb90-70a1-b1e6-5261c568cd3e", {"codex"}, "exec_command"),
        ("gemini", "9ebb97bc-dc9b-4748-8d14-d0a15d2261e3", {"gemini", "gemini/b273bd3e-5bd1-4389-877a-9d7e824e4bcf"}, "run_shell_command"),
        ("copilot", "5399e2b1-84f1-4c7a-8cb9-fc391ffa0c16", {"copilot", "copilot/96d3f89c-d723-452d-a1d8-c2b857cac52a"}, "bash"),
        ("opencode", "ses_dfa27ccccffe7Bh2o23YONFYLo", {"opencode"}, "bash"),
    ],
)  # fmt: skip
def test_a_session_with_a_command_that_fails_and_a_helper(
    program: str, session: str, agents: set[str], shell: str, memory: Memory
) -> None:
    report = ingest(memory, REAL / program)
    assert report.problems == []
    found = [row for row in records(memory) if row["type"] == "conversation"]
    assert {row["session"] for row in found} == {session}
    assert {row["agent"] for row in found} == agents
    assert {row["project"] for row in found} == {"shop"}
    (main,) = [row["text"] for row in found if row["agent"] == program]
    assert main.startswith(("[User]\nrun it and let a helper look\n", '[User]\n"run it and let a helper look"\n'))
    assert f"[Tool:{shell}]\nls nothing-here\n\n[Result:{shell}]\n" in main
    assert "cannot access 'nothing-here'" in main
    assert main.endswith(LAST)
    assert "lamina-context" not in main
    if program == "copilot":
        assert HELPED in texts(memory)


def test_claude_code_names_its_project_and_tells_its_helpers_apart(memory: Memory) -> None:
    report = ingest(memory, REAL / "claude-code")
    assert report.problems == []
    found = [row for row in records(memory) if row["type"] == "conversation"]
    assert {row["project"] for row in found} == {"shop"}  # its first lines name no folder
    assert {row["agent"] for row in found} == {"claude-code", "claude-code/a4ebc4f9abe802a03"}
    assert HELPED in texts(memory)
    assert any(
        text.startswith("[User]\nlook into the checkout with a helper\n\n[Tool:Agent]") for text in texts(memory)
    )
    assert links(memory)


@pytest.mark.parametrize(
    ("reader", "file"),
    [
        (CodexReader, "codex/rollout-2026-11-23T00-38-20-01a205d6-eb90-70a1-b1e6-5261c568cd3e.jsonl"),
        (CopilotReader, "copilot/5399e2b1-84f1-4c7a-8cb9-fc391ffa0c16/events.jsonl"),
        (partial(GeminiReader, folder="chats"), "gemini/shop/chats/session-2026-11-23T00-38-9ebb97bc.jsonl"),
        (OpenCodeReader, "opencode/session.json"),
    ],
)
def test_a_command_that_failed_is_known_as_such(reader: Any, file: str) -> None:
    opened = reader(name=parse_file_name(file), times=Times("UTC"))
    content = (REAL / file).read_bytes()
    found = [
        item for data in ([content] if file.endswith(".json") else content.splitlines()) for item in opened.feed(data)
    ]
    found += opened.finish()
    (result,) = [
        item for item in found if isinstance(item, Event) and item.kind == "result" and "cannot access" in item.text
    ]
    assert result.facts is not None
    assert result.facts["failed"] is True
    assert "No such file or directory" in result.facts["error"]


def test_a_gemini_chat_that_was_taken_back_and_an_old_one_in_one_object(memory: Memory, tmp_path: Path) -> None:
    head: dict[str, Any] = {
        "sessionId": "s-1",
        "projectHash": "f" * 64,
        "startTime": "2026-01-15T10:00:00Z",
        "kind": "main",
    }
    messages: list[dict[str, Any]] = [
        {"id": "1", "timestamp": "2026-01-15T10:00:01Z", "type": "user", "content": [{"text": "which port?"}]},
        {"id": "2", "timestamp": "2026-01-15T10:00:02Z", "type": "gemini", "content": "Port 80."},
        {"id": "2", "timestamp": "2026-01-15T10:00:02Z", "type": "gemini", "content": "Port 8080."},
        {"id": "3", "timestamp": "2026-01-15T10:00:03Z", "type": "user", "content": [{"text": "a slip"}]},
        {"$rewindTo": "3"},
        {
            "$set": {
                "messages": [
                    {"id": "4", "timestamp": "2026-01-15T10:00:05Z", "type": "user", "content": "and the host?"}
                ]
            }
        },
        {"nothing": "known"},
    ]
    chats = tmp_path / "tmp" / "mailer" / "chats"
    chats.mkdir(parents=True)
    report = ingest(memory, write(chats / "session-1.jsonl", [head, *messages]))
    assert texts(memory) == ["[User]\nwhich port?\n\n[Assistant]\nPort 8080.", "[User]\nand the host?"]
    assert {row["project"] for row in records(memory)} == {"mailer"}
    assert [problem.message for problem in report.problems] == ["line 8: it is no message of a chat; skipped"]
    old = tmp_path / "old.json"
    old.write_text(json.dumps({**head, "sessionId": "s-2", "messages": [messages[0], messages[1]]}))
    ingest(memory, old)
    assert texts(memory)[-1] == "[User]\nwhich port?\n\n[Assistant]\nPort 80."


def test_cursor_has_no_dates_and_wraps_what_was_asked(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "8f31c2d4-0b7e-4c55-9a53-2f1de6a0b1c7.jsonl"
    rows: list[dict[str, Any]] = [
        {"role": "user", "message": {"content": [{"type": "text", "text": "<user_query>\nwhich port?\n</user_query>"}]}},
        {"role": "assistant", "message": {"content": [
            {"type": "text", "text": "I look."}, {"type": "tool_use", "name": "Shell", "input": {"command": "ls"}},
        ]}},
        {"role": "user", "message": {"content": [{"type": "tool_result", "content": "port.txt"}]}},
        {"role": "assistant", "message": {"content": [{"type": "text", "text": "Port 8080."}]}},
        {"type": "turn_ended"},
    ]  # fmt: skip
    report = ingest(memory, write(path, rows))
    assert report.problems == []
    (row,) = records(memory)
    assert (row["session"], row["agent"]) == ("8f31c2d4-0b7e-4c55-9a53-2f1de6a0b1c7", "cursor")
    assert row["text"] == (
        "[User]\nwhich port?\n\n[Assistant]\nI look.\n\n[Tool:Shell]\nls\n\n[Result:Shell]\nport.txt\n\n[Assistant]\nPort 8080."
    )
    assert row["created_at"] is not None  # the file's


REQUEST: dict[str, Any] = {
    "requestId": "r1", "timestamp": 1768471200000, "message": {"text": "which port?", "parts": []}, "modelId": "gpt-5",
    "response": [
        {"kind": "thinking", "value": "hm"}, {"value": "I look."},
        {"kind": "toolInvocationSerialized", "toolId": "run_in_terminal", "toolCallId": "t1",
         "toolSpecificData": {"kind": "terminal", "commandLine": {"original": "ls"}}},
        {"value": "Port "}, {"value": "8080, in "}, {"kind": "inlineReference", "inlineReference": {"path": "/a/port.txt"}},
    ],
}  # fmt: skip
CHAT = (
    "[User]\nwhich port?\n\n[Assistant]\nI look.\n\n[Tool:run_in_terminal]\nls\n\n[Assistant]\nPort 8080, in `port.txt`"
)


def test_vs_code_keeps_a_chat_as_an_object_or_as_a_journal(memory: Memory, tmp_path: Path) -> None:
    whole = tmp_path / "a.json"
    whole.write_text(json.dumps({"version": 3, "responderUsername": "x", "sessionId": "s-1", "requests": [REQUEST]}))
    journal: list[dict[str, Any]] = [
        {"kind": 0, "v": {"version": 3, "sessionId": "s-2", "requests": []}},
        {"kind": 2, "k": ["requests"], "v": [{**REQUEST, "response": []}]},
        {"kind": 2, "k": ["requests", 0, "response"], "v": [*REQUEST["response"][:1], {"value": "taken back"}]},
        {"kind": 2, "k": ["requests", 0, "response"], "v": REQUEST["response"][1:], "i": 1},
        {"kind": 1, "k": ["customTitle"], "v": "Ports"},
        {"kind": 1, "k": ["requests", 9, "modelId"], "v": "x"},
    ]
    ingest(memory, whole)
    report = ingest(memory, write(tmp_path / "b.jsonl", journal))
    assert texts(memory) == [CHAT, CHAT]
    assert [row["session"] for row in records(memory)] == ["s-1", "s-2"]
    assert [problem.message for problem in report.problems] == [
        "line 6: the place that it changes is not there; skipped"
    ]


def test_an_agent_in_vs_code_writes_what_copilot_writes(memory: Memory, tmp_path: Path) -> None:
    start = {"sessionId": "s-1", "version": 1, "producer": "copilot-agent", "vscodeVersion": "1.130.0"}
    call = {"toolCallId": "t", "name": "run_in_terminal", "arguments": '{"command": "ls"}', "type": "function"}
    rows = [
        {"type": kind, "data": data, "id": str(number), "timestamp": f"2026-01-15T10:00:0{number}.000Z", "parentId": None}
        for number, (kind, data) in enumerate([
            ("session.start", start), ("user.message", {"content": "which port?", "attachments": []}),
            ("assistant.message", {"messageId": "m", "content": "I look.", "toolRequests": [call]}),
            ("tool.execution_start", {"toolCallId": "t", "toolName": "run_in_terminal", "arguments": {"command": "ls"}}),
            ("tool.execution_complete", {"toolCallId": "t", "success": True, "result": {"content": "port.txt"}}),
        ])
    ]  # fmt: skip
    ingest(memory, write(tmp_path / "s-1.jsonl", rows))
    (row,) = records(memory)
    assert (row["session"], row["agent"]) == ("s-1", "vscode")
    assert row["text"].endswith("[Tool:run_in_terminal]\nls\n\n[Result:run_in_terminal]\nport.txt")


def test_what_is_no_session_is_named(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text('{"theme": "dark"}')
    (tmp_path / "other.jsonl").write_text('{"event": "click"}\n')
    (tmp_path / "agent-1.meta.json").write_text('{"agentType": "general-purpose"}')  # beside a file of Claude Code's
    report = ingest(memory, tmp_path)
    assert sorted(problem.source for problem in report.problems) == ["other.jsonl", "settings.json"]

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lamina_engine.memory import Memory
from tests.engine.sessions.transcripts import Line, at, ingest, links, records, texts, write

UUID = "0b1c2d3e-1111-4222-8333-444455556666"


def item(seconds: float, **payload: Any) -> Line:
    return {"timestamp": at(seconds), "type": "response_item", "payload": payload}


def message(seconds: float, role: str, *parts: str) -> Line:
    kind = "output_text" if role == "assistant" else "input_text"
    return item(seconds, type="message", role=role, content=[{"type": kind, "text": part} for part in parts])


def meta(**more: Any) -> Line:
    payload = {"id": UUID, "cwd": "/home/me/code/shop", "git": {"branch": "dev"}, **more}
    return {"timestamp": at(0), "type": "session_meta", "payload": payload}


def test_a_rollout(memory: Memory, tmp_path: Path) -> None:
    lines: list[Line] = [
        meta(),
        message(1, "user", "<environment_context>\n<cwd>/x</cwd>\n</environment_context>"),
        message(1, "developer", "be nice"),
        {"timestamp": at(1), "type": "turn_context", "payload": {"model": "gpt-5-codex"}},
        message(2, "user", "list the files"),
        {"timestamp": at(2), "type": "event_msg", "payload": {"type": "user_message", "message": "list the files"}},
        item(3, type="reasoning", summary=[{"type": "summary_text", "text": "thinking"}]),
        item(4, type="function_call", name="shell", arguments='{"command": ["bash", "-lc", "ls"]}', call_id="c1"),
        item(5, type="function_call_output", call_id="c1", output=json.dumps({"output": "a.py", "metadata": {}})),
        message(6, "assistant", "There is one."),
        item(7, type="custom_tool_call", name="apply_patch", input="*** Begin Patch", call_id="c2"),
        item(8, type="custom_tool_call_output", call_id="c2", output="Success"),
        {"timestamp": at(9), "type": "compacted", "payload": {"message": "We listed files."}},
        '{"timestamp": "x", "type": "response_item", "payload": 3}',
    ]  # fmt: skip
    report = ingest(memory, write(tmp_path / f"rollout-2026-01-15T10-00-00-{UUID}.jsonl", lines))
    assert texts(memory) == [
        "[User]\nlist the files\n\n[Tool:shell]\nbash -lc ls\n\n[Result:shell]\na.py\n\n[Assistant]\nThere is one.\n\n"
        "[Tool:apply_patch]\n*** Begin Patch\n\n[Result:apply_patch]\nSuccess"
    ]
    first, summary = records(memory)
    assert (first["session"], first["agent"], first["project"]) == (UUID, "codex", "shop")
    assert (first["facts"]["model"], first["facts"]["branch"]) == ("gpt-5-codex", "dev")
    assert (summary["type"], summary["text"]) == ("session_summary", "We listed files.")
    assert [problem.message for problem in report.problems] == [
        "line 14: its payload must be an object, not int; skipped"
    ]


def test_an_older_rollout_is_not_wrapped(memory: Memory, tmp_path: Path) -> None:
    lines: list[Line] = [
        {"id": UUID, "timestamp": at(0), "instructions": None, "git": {}},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "hi"}]},
    ]
    assert ingest(memory, write(tmp_path / "rollout.jsonl", lines)).problems == []
    assert texts(memory) == ["[User]\nhello\n\n[Assistant]\nhi"]


def test_an_agent_that_a_rollout_spawned(memory: Memory, tmp_path: Path) -> None:
    child = "11111111-1111-4222-8333-444455556666"
    caller: list[Line] = [
        meta(), message(1, "user", "look into it"),
        item(2, type="function_call", name="spawn_agent", arguments='{"message": "look"}', call_id="c1"),
        item(3, type="function_call_output", call_id="c1", output=json.dumps({"agent_id": child})),
        message(90, "user", "and now?"),
    ]  # fmt: skip
    source = {"subagent": {"thread_spawn": {"parent_thread_id": UUID, "depth": 1}}}
    called: list[Line] = [meta(id=child, source=source), message(4, "user", "look"), message(5, "assistant", "done")]
    write(tmp_path / "a.jsonl", caller)
    write(tmp_path / "b.jsonl", called)
    ingest(memory, tmp_path)
    by_agent = {record["agent"] for record in records(memory)}
    assert by_agent == {"codex", f"codex/{child}"}
    assert {origin for *_, origin, _ in links(memory)} == {"within-session", "brief", "debrief"}

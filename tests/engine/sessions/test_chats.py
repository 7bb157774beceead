from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lamina_engine.clock import parse_instant
from lamina_engine.memory import Memory
from tests.engine.sessions.transcripts import at, ingest, links, records, texts


def claude(identity: str, *talk: tuple[str, str], name: str = "Reading files") -> dict[str, Any]:
    messages = [
        {"uuid": f"m{i}", "sender": sender, "text": text, "content": [{"type": "text", "text": text}],
         "created_at": at(i), "attachments": [], "files": []}
        for i, (sender, text) in enumerate(talk)
    ]  # fmt: skip
    return {"uuid": identity, "name": name, "created_at": at(0), "chat_messages": messages}


def test_conversations_of_claude(memory: Memory, tmp_path: Path) -> None:
    second = claude("c2", ("human", "an attachment"), name="")
    second["chat_messages"][0]["attachments"] = [{"file_name": "a.txt", "extracted_content": "inside"}]
    second["chat_messages"].append(
        {"sender": "assistant", "created_at": at(9), "content": [
            {"type": "thinking", "thinking": "hm"}, {"type": "tool_use", "id": "t", "name": "web_search", "input": {"query": "q"}},
            {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "r"}]},
            {"type": "text", "text": "found"}]}
    )  # fmt: skip
    chat = [claude("c1", ("human", "hello"), ("assistant", "hi"), ("human", "more")), second, {"neither": 1}]
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps(chat))
    report = ingest(memory, path)
    assert [problem.message for problem in report.problems] == [
        "conversation 3: it has neither chat_messages nor mapping; skipped"
    ]
    assert texts(memory) == [
        "[User]\nhello\n\n[Assistant]\nhi", "[User]\nmore",
        "[User]\nan attachment\n\n[Attachment: a.txt]\ninside\n\n[Tool:web_search]\nq\n\n[Result:web_search]\nr\n\n[Assistant]\nfound",
    ]  # fmt: skip
    first = records(memory, "title", "session", "agent", "created_at", "ordinal")[0]
    assert first["title"] == "Reading files"
    assert (first["session"], first["agent"], first["created_at"]) == ("c1", "claude.ai", parse_instant(at(0)))
    assert len(links(memory)) == 1  # within c1; chats name no project, so none leads to another


def test_conversations_of_chatgpt_take_the_branch_that_was_kept(memory: Memory, tmp_path: Path) -> None:
    def node(name: str, parent: str | None, role: str, parts: list[Any], **more: Any) -> tuple[str, dict[str, Any]]:
        message = {"author": {"role": role}, "create_time": 1_768_471_200.5 + len(name), "recipient": "all",
                   "content": {"content_type": "text", "parts": parts}, "metadata": {"model_slug": "gpt-5"}} | more  # fmt: skip
        return name, {"id": name, "parent": parent, "children": [], "message": message}

    nodes = dict([
        ("root", {"id": "root", "parent": None, "children": ["s"], "message": None}),
        node("s", "root", "system", [""]),
        node("u", "s", "user", ["which is it?", {"content_type": "image_asset_pointer"}]),
        node("old", "u", "assistant", ["dropped"]),
        node("new", "u", "assistant", ["kept"]),
        node("call", "new", "assistant", [], recipient="python", content={"content_type": "code", "text": "1+1"}),
        node("tool", "call", "tool", ["2"], author={"role": "tool", "name": "python"}),
        node("hidden", "tool", "user", ["x"], metadata={"is_visually_hidden_from_conversation": True}),
    ])  # fmt: skip
    chat = {"title": "A choice", "conversation_id": "g1", "mapping": nodes, "current_node": "hidden"}
    (tmp_path / "conversations.json").write_text(json.dumps([chat]))
    assert ingest(memory, tmp_path).problems == []
    assert texts(memory) == [
        "[User]\nwhich is it?\n\n[Image]\n\n[Assistant]\nkept\n\n[Tool:python]\n1+1\n\n[Result:python]\n2"
    ]
    (record,) = records(memory)
    assert (record["session"], record["agent"]) == ("g1", "chatgpt")
    assert record["facts"]["started_at"] == "2026-01-15T10:00:01.500000Z"


def test_an_export_that_breaks_off_gives_what_is_whole(memory: Memory, tmp_path: Path) -> None:
    text = json.dumps([claude("c1", ("human", "hello"), ("assistant", "hi")), claude("c2", ("human", "lost"))])
    (tmp_path / "conversations.json").write_text(text[:-30])
    report = ingest(memory, tmp_path)
    assert [problem.code for problem in report.problems] == ["incomplete"]
    assert texts(memory) == ["[User]\nhello\n\n[Assistant]\nhi"]


def test_a_new_export_of_the_same_talk_changes_nothing_but_what_is_new(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([claude("c1", ("human", "hello"), ("assistant", "hi"))]))
    ingest(memory, path)
    (before,) = records(memory)
    path.write_text(json.dumps([claude("c0", ("human", "new"), ("assistant", "x")),
                                claude("c1", ("human", "hello"), ("assistant", "hi"), ("human", "again"))]))  # fmt: skip
    report = ingest(memory, path)
    assert (report.updated, report.chunks) == (1, 2)
    assert before["id"] in {record["id"] for record in records(memory)}

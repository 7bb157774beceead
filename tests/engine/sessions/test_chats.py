from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lamina_engine.clock import parse_instant
from lamina_engine.ingest.pipeline import ingest as ingest_all
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


def chatgpt(title: str, question: str, answer: str) -> dict[str, Any]:
    def message(role: str, text: str) -> dict[str, Any]:
        return {
            "author": {"role": role},
            "create_time": 1_768_471_200.5,
            "content": {"content_type": "text", "parts": [text]},
        }

    mapping = {
        "r": {"id": "r", "message": None, "parent": None, "children": ["u"]},
        "u": {"id": "u", "message": message("user", question), "parent": "r", "children": ["a"]},
        "a": {"id": "a", "message": message("assistant", answer), "parent": "u", "children": []},
    }
    return {"title": title, "create_time": 1_768_471_200.5, "mapping": mapping, "current_node": "a"}


def test_an_export_of_chats_in_a_folder_of_notes_is_read_as_chats(memory: Memory, tmp_path: Path) -> None:
    # it was read as source code: lines of JSON in place of what was said
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "bike.md").write_text("# Bike\n\nThe chain is a KMC X11.\n")
    (notes / "conversations.json").write_text(
        json.dumps([chatgpt("Bike repair", "how often to oil it?", "Every 200 km.")])
    )
    (notes / "claude-export.json").write_text(
        json.dumps([claude("c1", ("human", "Wie alt wird ein Siphon?"), ("assistant", "20 Jahre."))])
    )
    report = ingest_all(memory, [str(notes)])
    assert (report.added, report.problems) == (3, [])
    found = {record["type"]: record["agent"] for record in records(memory, "type", "agent")}
    assert found == {"note": None, "conversation": found["conversation"]}
    assert sorted(record["text"] for record in records(memory, "type", "text")) == [
        "# Bike\n\nThe chain is a KMC X11.\n", "[User]\nWie alt wird ein Siphon?\n\n[Assistant]\n20 Jahre.",
        "[User]\nhow often to oil it?\n\n[Assistant]\nEvery 200 km.",
    ]  # fmt: skip
    again = ingest_all(memory, [str(notes)])
    assert (again.added, again.updated, again.unchanged) == (0, 0, 3)


@pytest.mark.parametrize(
    "document",
    [
        {"mapping": {"properties": {"author": {"type": "keyword"}, "title": {"type": "text"}}}},  # of a search engine
        {"openapi": "3.1.0", "info": {"title": "Chat"}, "paths": {"/messages": {"parts": []}}},
        [{"name": "mapping", "author": "Ann", "children": 2}],
        {"projectHash": "x", "messages": []},
    ],
)
def test_other_documents_of_json_stay_what_they_are(memory: Memory, tmp_path: Path, document: object) -> None:
    (tmp_path / "a.json").write_text(json.dumps(document, indent=1))
    ingest_all(memory, [str(tmp_path)])
    assert [record["type"] for record in records(memory, "type")] == ["implementation"]

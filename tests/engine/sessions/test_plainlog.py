from __future__ import annotations

from pathlib import Path

import pytest

from lamina_engine.clock import parse_instant
from lamina_engine.memory import Memory
from tests.engine.sessions.transcripts import ingest, records, texts


def put(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_a_log_of_two_speakers(memory: Memory, tmp_path: Path) -> None:
    log = "User: how do I\nread a file?\n\nAssistant: Like so:\n```\nUser: not a speaker\n```\nDone.\nuser:  thanks\n"
    ingest(memory, put(tmp_path / "talk.log", log))
    assert texts(memory) == [
        "[User]\nhow do I\nread a file?\n\n[Assistant]\nLike so:\n```\nUser: not a speaker\n```\nDone.",
        "[User]\nthanks",
    ]
    first = records(memory)[0]
    assert (first["session"], first["agent"], first["project"]) == ("talk.log", "log", None)
    assert first["created_at"] == (tmp_path / "talk.log").stat().st_mtime_ns // 1000


@pytest.mark.parametrize(
    ("user", "assistant"),
    [("Human:", "AI:"), ("**You:**", "**ChatGPT:**"), ("### User:", "### Claude:"), ("USER:", "Model:"),
     ("[2026-01-15T10:00:00Z] User:", "Assistant (2026-01-15T10:00:05Z):"), ("> User:", "Bot :")],
)  # fmt: skip
def test_names_that_logs_use(memory: Memory, tmp_path: Path, user: str, assistant: str) -> None:
    ingest(memory, put(tmp_path / "talk.md", f"{user} hello\n{assistant} hi there\nSystem: ignored\n"))
    assert texts(memory) == ["[User]\nhello\n\n[Assistant]\nhi there"]


def test_dates_in_front_of_speakers(memory: Memory, tmp_path: Path) -> None:
    log = "[2026-01-15 10:00:00] User: a\n[2026-01-15T10:31:00+01:00] Assistant: b\n[2026-01-15 12:00:00] User: c\n"
    ingest(memory, put(tmp_path / "talk.txt", log))
    first, second = records(memory)
    assert first["created_at"] == parse_instant("2026-01-15T10:00:00Z")
    assert second["facts"]["shift"] == "gap"


@pytest.mark.parametrize(
    "text", ["just notes\nwith: colons\n", "User: alone\n", "Assistant: alone\n", "User name\n", "{}"]
)
def test_other_texts_are_no_sessions(memory: Memory, tmp_path: Path, text: str) -> None:
    report = ingest(memory, put(tmp_path / "notes.txt", text))
    assert [problem.code for problem in report.problems] == ["session"]
    assert (records(memory), report.skipped) == ([], 1)


def test_bytes_that_are_no_text_are_replaced(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "talk.log").write_bytes(b"User: caf\xe9\r\nAssistant: ok\r\n")
    ingest(memory, tmp_path / "talk.log")
    assert texts(memory) == ["[User]\ncaf\ufffd\n\n[Assistant]\nok"]

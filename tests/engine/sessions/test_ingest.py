"""Files and folders of sessions: what is read, what is left alone, and what never reaches the disk."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from lamina import FixedClock, Vault
from lamina.options import SourceKind
from lamina_engine.errors import InvalidArgument, InvalidConfig
from lamina_engine.ingest import pipeline
from lamina_engine.memory import Memory
from lamina_engine.redact.redactor import Redactor
from lamina_engine.sessions.cutting import SessionLimits, estimate_tokens
from lamina_engine.sessions.reading import SessionOptions
from tests.conftest import NOW
from tests.engine.sessions.transcripts import (
    APART,
    SMALL,
    gets,
    ingest,
    links,
    records,
    says,
    state,
    steps,
    texts,
    user,
    uses,
    write,
)

TOKEN = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
KEY = "AKIA" + "IOSFODNN7EXAMPLQ"


def age(path: Path, seconds: int = 100) -> None:
    """Make a file old enough for its time to be trusted."""
    os.utime(path, (1_700_000_000 + seconds, 1_700_000_000 + seconds))


def test_real_sessions_are_read_whole_and_problems_have_lines(memory: Memory, data: Path) -> None:
    folder = data / "sessions"
    report = ingest(memory, folder, SessionOptions())
    assert (report.added, report.skipped) == (3, 0)
    assert [(p.source, p.message.split(":")[0]) for p in report.problems] == [
        ("claude-code-log-edge_cases.jsonl", f"line {n}") for n in (10, 11, 13, 14, 15, 16)
    ]
    kinds = [record["type"] for record in records(memory)]
    assert (kinds.count("conversation"), kinds.count("session_summary")) == (13, 2)
    cut = [record for record in records(memory) if record["type"] in ("conversation", "session_summary")]
    assert all(record["facts"]["tokens"] <= 4_096 for record in cut)


def test_sessions_of_a_folder_that_is_left_out_stay_out(memory: Memory, tmp_path: Path) -> None:
    secret, shop = tmp_path / "clients" / "mayer", tmp_path / "shop"
    for folder in (secret, shop):
        folder.mkdir(parents=True)

    def day(name: str, folder: Path, first: int = 0) -> Path:
        held = {"cwd": str(folder)}
        lines = user(first, f"who pays for {name}?", **held), says(first + 1, f"{name} is paid by Mayer.", **held)
        return write(tmp_path / "projects" / f"{name}.jsonl", lines)

    early, _ = day("early", secret), day("open", shop)
    assert ingest(memory, early.parent).added == 2
    (tmp_path / "clients" / ".laminaignore").write_text("mayer/\n")
    before = records(memory)
    late = day("late", secret, 40)
    with early.open("a") as out:
        out.write(late.read_text())
    report = ingest(memory, early.parent)
    assert {(problem.source, problem.code) for problem in report.problems} == {
        ("early.jsonl", "ignored"),
        ("late.jsonl", "ignored"),
    }
    assert (report.added, report.skipped, report.unchanged) == (0, 2, 1)
    assert records(memory) == before
    (tmp_path / "clients" / ".laminaignore").unlink()
    assert ingest(memory, early.parent).updated == 1
    assert any("late is paid" in record["text"] for record in records(memory))


@pytest.mark.parametrize("most", [16, 40, 200])
def test_no_chunk_of_real_sessions_is_over_the_limit(memory: Memory, data: Path, most: int) -> None:
    ingest(memory, data / "sessions", SessionOptions(SessionLimits(max_tokens=most, min_tokens=8)))
    found = [record for record in records(memory) if record["type"] in ("conversation", "session_summary")]
    assert len(found) > 15
    assert max(estimate_tokens(len(record["text"])) for record in found) <= most


def test_no_secret_survives_anywhere_in_the_vault(memory: Memory, data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    shutil.copytree(data / "sessions", folder)
    password = "Tr0ub4dor&3-horse-9"
    spots = [
        user(0, f"use {TOKEN} please", cwd=f"/home/{KEY}/shop", slug=TOKEN, gitBranch=TOKEN),
        uses(1, "t1", "Bash", command=f"curl -H 'Authorization: Bearer {TOKEN}' x"),
        gets(2, "t1", "x" * (500 - 12) + f" {TOKEN} and more"),  # the cut goes through it
        uses(3, "t2", "Login", password=password, note="x " * 60 + TOKEN),
        uses(4, "t3", "Read", file_path=f"/tmp/{TOKEN}/a.py"),
        gets(5, "t3", [{"type": "text", "text": f"aws_access_key_id = {KEY}"}]),
        says(6, [{"type": "thinking", "thinking": TOKEN}, {"type": "text", "text": f"done with {KEY}"}], model=TOKEN),
        {"type": "summary", "summary": f"used {TOKEN}", "leafUuid": "x"},
        user(9, f"{TOKEN}" + " word" * 30),
    ]
    write(folder / f"s1-{TOKEN}.jsonl", spots)
    shown = SessionOptions(SessionLimits(max_tokens=40, min_tokens=8), thinking=True)
    report = ingest(memory, folder, shown)
    assert report.redactions >= 10
    stored = b"".join(p.read_bytes() for p in (memory.root / "log" / "chunks").rglob("*") if p.is_file())
    assert b"[redacted:github-token]" in stored
    for path in memory.root.rglob("*"):
        content = path.read_bytes() if path.is_file() else b""
        for secret in (KEY, password) if "sources" in str(path) else (TOKEN, TOKEN[:30], KEY, password):
            assert secret.encode() not in content, path


def test_a_policy_to_skip_leaves_the_file_out(tmp_path: Path) -> None:
    opened = Memory(tmp_path / "v", create=True, clock=FixedClock(NOW), embedder="none", redactor=Redactor("skip"))
    write(tmp_path / "f" / "a.jsonl", [user(0, f"use {TOKEN}")])
    write(tmp_path / "f" / "b.jsonl", [user(0, "nothing to hide", sessionId="s2")])
    report = ingest(opened, tmp_path / "f")
    assert [(p.source, p.code) for p in report.problems] == [("a.jsonl", "redacted_skip")]
    assert texts(opened) == ["[User]\nnothing to hide"]
    opened.close()


def test_an_unchanged_file_is_not_opened(memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    age(write(tmp_path / "f" / "s1.jsonl", [user(0, "one")]))
    age(write(tmp_path / "f" / "s2.jsonl", [user(9, "two", sessionId="s2")]))
    ingest(memory, tmp_path / "f")

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("an unchanged file was opened")

    monkeypatch.setattr(Path, "open", refuse)
    before = memory.view().snapshot.version
    assert ingest(memory, tmp_path / "f").unchanged == 2
    assert memory.view().snapshot.version == before


def test_ids_are_stable_when_a_session_is_read_again_and_when_it_grows(memory: Memory, tmp_path: Path) -> None:
    lines = [user(0, "one"), says(1, "first"), user(60, "two")]
    path = write(tmp_path / "s1.jsonl", lines)
    ingest(memory, path)
    before = {record["id"]: record["text"] for record in records(memory)}
    assert ingest(memory, path).chunks == 0
    write(path, [*lines, says(61, "second"), user(120, "three")])
    report = ingest(memory, path)
    after = {record["id"]: record["text"] for record in records(memory)}
    assert (report.updated, report.chunks) == (1, 2)
    assert set(before) < set(after)
    assert [text for name, text in after.items() if before.get(name) != text] == [
        "[User]\ntwo\n\n[Assistant]\nsecond", "[User]\nthree",
    ]  # fmt: skip


def test_a_session_that_grew_is_as_if_read_once(memory: Memory, tmp_path: Path) -> None:
    lines = [user(0, "one"), says(1, "first"), user(60, "two"), says(61, "second"), user(120, "three")]
    path = write(tmp_path / "f" / "s1.jsonl", lines[:3])
    ingest(memory, path.parent)
    write(path, lines)
    ingest(memory, path.parent)
    other = Memory(tmp_path / "other", create=True, clock=FixedClock(NOW), embedder="none")
    ingest(other, path.parent)
    assert state(memory) == state(other)
    assert steps(memory) == [("one", "two"), ("two", "three")]
    other.close()


def test_a_file_that_shrank_loses_what_it_no_longer_has(memory: Memory, tmp_path: Path) -> None:
    path = write(tmp_path / "s1.jsonl", [user(0, "one"), user(60, "two"), user(120, "three")])
    ingest(memory, path)
    write(path, [user(0, "one")])
    ingest(memory, path)
    assert texts(memory) == ["[User]\none"]
    assert links(memory) == set()


def test_a_session_is_remembered_when_its_file_is_tidied_away(memory: Memory, tmp_path: Path) -> None:
    path = write(tmp_path / "f" / "s1.jsonl", [user(0, "one")])
    write(tmp_path / "f" / "s2.jsonl", [user(9, "two", sessionId="s2")])
    ingest(memory, tmp_path / "f")
    path.unlink()
    report = ingest(memory, tmp_path / "f")
    assert (report.removed, len(records(memory))) == (0, 2)
    pipeline.ingest(memory, [str(tmp_path / "f")])
    assert len(records(memory)) == 2


def test_a_session_keeps_its_ids_when_its_file_moves(memory: Memory, tmp_path: Path) -> None:
    path = write(tmp_path / "f" / "s1.jsonl", [user(0, "one"), user(60, "two")])
    ingest(memory, tmp_path / "f")
    before = [record["id"] for record in records(memory)]
    (tmp_path / "f" / "old").mkdir()
    path.rename(tmp_path / "f" / "old" / "s1.jsonl")
    report = ingest(memory, tmp_path / "f")
    assert (report.moved, report.added) == (1, 0)
    assert [record["id"] for record in records(memory)] == before
    assert {record["source"] for record in records(memory, "source")} == {"old/s1.jsonl"}


def test_a_copy_does_not_take_chunks_away(memory: Memory, tmp_path: Path) -> None:
    lines = [user(0, "one"), user(60, "two")]
    write(tmp_path / "f" / "a.jsonl", lines)
    write(tmp_path / "f" / "b.jsonl", [*lines, user(120, "three")])
    ingest(memory, tmp_path / "f")
    first = state(memory)
    assert len(records(memory)) == 5
    assert len({record["session"] for record in records(memory)}) == 2
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / "f" / name).touch()
        ingest(memory, tmp_path / "f")
    assert state(memory) == first


def test_an_interrupted_run_is_taken_up(memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "f" / "s1.jsonl", [user(0, "one"), user(60, "two")])
    with monkeypatch.context() as patch:
        patch.setattr("lamina_engine.graph.sessions.build", lambda *_: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            ingest(memory, tmp_path / "f")
    report = ingest(memory, tmp_path / "f")
    assert (report.added, report.chunks, report.links) == (1, 0, 1)


def test_sessions_in_a_folder_of_notes_are_recognised(memory: Memory, tmp_path: Path) -> None:
    write(tmp_path / "f" / "s1.jsonl", [user(0, "one " * 80), user(60, "two " * 80)])
    write(tmp_path / "f" / "records.jsonl", [{"text": "a record", "type": "decision"}])
    (tmp_path / "f" / "note.md").write_text("# A note\n\nUser: not a session\n")
    report = pipeline.ingest(memory, [str(tmp_path / "f")], type_="decision")
    assert (report.added, report.problems) == (3, [])
    kinds = sorted(record["type"] for record in records(memory))
    assert kinds == ["conversation", "conversation", "decision", "decision"]
    assert len(links(memory, "within-session")) == 1
    again = pipeline.ingest(memory, [str(tmp_path / "f")], type_="decision")
    assert (again.unchanged, again.chunks) == (3, 0)


def test_other_kinds_leave_sessions_alone(memory: Memory, tmp_path: Path) -> None:
    write(tmp_path / "f" / "s1.jsonl", [user(0, "one")])
    (tmp_path / "f" / "note.md").write_text("# A note\n")
    pipeline.ingest(memory, [str(tmp_path / "f")], kind="sessions")
    (tmp_path / "f" / "s1.jsonl").unlink()
    report = pipeline.ingest(memory, [str(tmp_path / "f")], kind="markdown")
    assert report.removed == 0
    assert texts(memory) == ["[User]\none"]


def test_what_the_caller_says_goes_before_what_the_session_says(memory: Memory, tmp_path: Path) -> None:
    path = write(tmp_path / "s1.jsonl", [user(0, "one")])
    ingest(memory, path, project="other", collection="talk")
    (record,) = records(memory, "project", "collection")
    assert (record["project"], record["collection"]) == ("other", "talk")
    with pytest.raises(InvalidArgument, match="conversation"):
        ingest(memory, path, type="note")
    with pytest.raises(InvalidArgument, match="standard input"):
        pipeline.ingest(memory, ["-"], kind="sessions")


def test_an_agent_that_never_answered_gives_nothing(memory: Memory, tmp_path: Path) -> None:
    prompt = user(5, "look", isSidechain=True, agentId="a1")
    caller = [user(0, "go"), uses(4, "t1", "Task", prompt="look"), user(90, "next")]
    path = write(tmp_path / "f" / "s1" / "subagents" / "agent-a1.jsonl", [prompt])
    write(tmp_path / "f" / "s1.jsonl", caller)
    report = ingest(memory, tmp_path / "f")
    assert (report.added, report.skipped, report.problems) == (1, 0, [])
    assert {origin for *_, origin, _ in links(memory)} == {"within-session"}
    write(path, [prompt, says(6, "found it", isSidechain=True, agentId="a1")])
    ingest(memory, tmp_path / "f")
    assert {origin for *_, origin, _ in links(memory)} == {"within-session", "brief", "debrief"}


def test_files_that_are_no_sessions(memory: Memory, tmp_path: Path) -> None:
    folder = tmp_path / "f"
    write(folder / "records.jsonl", [{"text": "a record"}])
    write(folder / "empty.jsonl", [])
    write(folder / "settings.json", ["{}"])
    (folder / "a.py").write_text("x")
    report = ingest(memory, folder)
    assert sorted((p.source, p.code) for p in report.problems) == [
        ("empty.jsonl", "session"),
        ("records.jsonl", "session"),
        ("settings.json", "session"),
    ]
    assert report.chunks == 0


def test_a_large_file_is_read_in_little_memory(tmp_path: Path) -> None:
    import tracemalloc

    from lamina_engine.sessions.reading import TranscriptFile

    line = write(tmp_path / "s1.jsonl", [user(0, "word " * 400)]).read_bytes()
    peaks = []
    for copies in (800, 3_200):
        (tmp_path / "s1.jsonl").write_bytes(line * copies)
        file = TranscriptFile(
            tmp_path / "s1.jsonl", "s1.jsonl", "claude-code", redactor=Redactor(), options=APART, tz="UTC"
        )
        next(file.chunks())  # what is loaded once is loaded
        tracemalloc.start()
        assert sum(1 for _ in file.chunks()) == copies
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.3 * peaks[0]
    assert peaks[1] < 8 * 2**20


def test_a_chunk_is_bounded_whatever_the_turn(memory: Memory, tmp_path: Path) -> None:
    answers = [says(i, [{"type": "text", "text": f"step {i} " + "word " * 20}]) for i in range(1, 30)]
    ingest(memory, write(tmp_path / "s1.jsonl", [user(0, "go"), *answers]), SMALL)
    found = records(memory)
    assert max(len(record["text"]) for record in found) <= 140
    assert [record["facts"].get("piece", 0) for record in found] == list(range(len(found)))
    assert len(links(memory, "within-session")) == len(found) - 1


def test_the_vault_s_own_settings_are_followed(tmp_path: Path) -> None:
    thought = says(1, [{"type": "thinking", "thinking": "perhaps"}, {"type": "text", "text": "word " * 60}])
    path = write(tmp_path / "s1.jsonl", [user(0, "one"), thought])
    opened = Memory(tmp_path / "v", create=True, clock=FixedClock(NOW), embedder="none")
    pipeline.ingest(opened, [str(path)], kind="sessions")
    assert len(records(opened)) == 1
    opened.close()
    toml = tmp_path / "v" / "vault.toml"
    toml.write_text("[sessions]\nthinking = true\nmax_tokens = 40\nmin_tokens = 8\n")
    opened = Memory(tmp_path / "v", clock=FixedClock(NOW), embedder="none")
    report = pipeline.ingest(opened, [str(path)], kind="sessions")  # other settings: the file is read again
    assert report.updated == 1
    found = records(opened)
    assert max(record["facts"]["tokens"] for record in found) <= 40
    assert any(record["facts"].get("thinking") == "perhaps" for record in found)
    opened.close()
    toml.write_text("[sessions]\nmax_tokens = 3\n")
    opened = Memory(tmp_path / "v", clock=FixedClock(NOW), embedder="none")
    with pytest.raises(InvalidConfig, match=r"\[sessions\]: max_tokens=3"):
        pipeline.ingest(opened, [str(path)], kind="sessions")
    opened.close()


@pytest.mark.parametrize("kind", ["sessions", "auto"])
def test_a_session_that_begins_with_a_screenshot_is_read(
    lexical_vault: Vault, tmp_path: Path, kind: SourceKind
) -> None:
    data = "iVBORw0KGgo" * 30_000
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
    asked = user(0, [{"type": "text", "text": "Why is the menu misaligned?"}, picture])
    write(tmp_path / "s" / "a.jsonl", [asked, says(60, "The grid has a gap of its own.")])
    report = lexical_vault.ingest(tmp_path / "s", kind=kind)
    assert (report.added, report.problems) == (1, [])
    assert "misaligned" in lexical_vault.list(where={"type": "conversation"})[0].text

"""Captures: exactly once by session, whatever is killed when."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import lamina
from lamina.hooks.queue import Queue, key_of
from lamina.install.agents import AGENTS
from lamina.install.doctor import examine
from tests.bindings.hooks.agents import PATIENT, hook, queued, until
from tests.engine.judging.chatserver import serving

SESSION = "8f31c2d4-0b7e-4c55-9a53-2f1de6a0b1c7"
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"


def turns(count: int, start: int = 0) -> str:
    """Return a transcript as Claude Code writes it."""
    lines: list[dict[str, Any]] = []
    for i in range(start, start + count):
        common = {
            "sessionId": SESSION,
            "cwd": "/home/ada/shop",
            "version": "2.1.240",
            "isSidechain": False,
            "userType": "external",
        }
        at = f"2026-11-22T{8 + i // 60:02}:{i % 60:02}"
        asked = {"role": "user", "content": f"Question {i}: how does part {i} of the checkout round totals?"}
        lines.append(
            {
                **common,
                "type": "user",
                "uuid": f"u{i}",
                "parentUuid": f"a{i - 1}" if i else None,
                "timestamp": f"{at}:00.000Z",
                "message": asked,
            }
        )
        said = {
            "role": "assistant",
            "model": "claude",
            "content": [{"type": "text", "text": f"Part {i} rounds half to even, decided in review {i}."}],
        }
        lines.append(
            {
                **common,
                "type": "assistant",
                "uuid": f"a{i}",
                "parentUuid": f"u{i}",
                "timestamp": f"{at}:30.000Z",
                "message": said,
            }
        )
    return "".join(json.dumps(line) + "\n" for line in lines)


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    path = tmp_path / "projects" / "-home-ada-shop" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text(turns(12))
    return path


def event(project: Path, transcript: Path | None, name: str = "session-end", session: str = SESSION) -> None:
    payload: dict[str, Any] = {"session_id": session, "cwd": str(project)}
    payload |= {"transcript_path": str(transcript)} if transcript else {}
    got = hook(name, payload, PATIENT)
    assert (got.code, got.out, got.err) == (0, b"{}\n", "")


def chunks(vault: Path) -> list[tuple[str, str]]:
    with lamina.open(vault, mode="r") as opened:
        return sorted((chunk.id, chunk.text) for chunk in opened.list({"session": SESSION}, 10_000))


def captured(project: Path) -> list[tuple[str, str]]:
    vault = project / ".lamina"
    until(lambda: not queued(vault))
    return chunks(vault)


def read_once(tmp_path: Path, transcript: Path) -> list[tuple[str, str]]:
    with lamina.open(tmp_path / "once", create=True) as vault:
        vault.ingest(transcript, kind="sessions")
    return chunks(tmp_path / "once")


def test_a_session_is_captured_at_its_end(project: Path, transcript: Path, tmp_path: Path) -> None:
    began = time.monotonic()
    event(project, transcript)
    assert time.monotonic() - began < 5
    assert captured(project) == read_once(tmp_path, transcript)
    log = [json.loads(line) for line in (project / ".lamina" / "queue" / "capture.log").read_text().splitlines()]
    assert [(line["session"], line["agent"], line["problems"]) for line in log] == [(SESSION, "claude-code", 0)]
    assert "rounds" not in json.dumps(log)  # ids, counts and times, and no text


def test_events_of_a_session_capture_it_once(project: Path, transcript: Path, tmp_path: Path) -> None:
    whole = transcript.read_text()
    transcript.write_text(turns(4))
    event(project, transcript, "pre-compact")
    with transcript.open("a") as out:
        out.write(turns(8, start=4))
    for name in ("stop", "session-end", "session-end"):
        event(project, transcript, name)
    assert transcript.read_text() == whole
    assert captured(project) == read_once(tmp_path, transcript)


def test_an_end_that_does_not_name_the_transcript(project: Path, transcript: Path, tmp_path: Path) -> None:
    hook("session-start", {"session_id": SESSION, "cwd": str(project), "transcript_path": str(transcript)}, PATIENT)
    event(project, None)
    assert captured(project) == read_once(tmp_path, transcript)
    event(project, None, session="unknown")
    assert queued(project / ".lamina") == []


def test_stops_are_captured_at_most_once_a_minute_and_none_is_lost(project: Path, transcript: Path) -> None:
    event(project, transcript, "stop")
    before = len(captured(project))
    with transcript.open("a") as out:
        out.write(turns(8, start=12))
    event(project, transcript, "stop")
    time.sleep(1)
    assert len(queued(project / ".lamina")) == 1  # asked for, and nobody works on it yet
    hook("session-start", {"session_id": "next", "cwd": str(project)}, PATIENT)
    assert len(captured(project)) > before


def test_a_session_whose_agent_was_killed_is_captured_at_the_next_start(
    project: Path, transcript: Path, tmp_path: Path
) -> None:
    hook("session-start", {"session_id": SESSION, "cwd": str(project), "transcript_path": str(transcript)}, PATIENT)
    time.sleep(0.5)
    assert chunks(project / ".lamina") == []  # it is going on
    hook("session-start", {"session_id": "next", "cwd": str(project)}, PATIENT)
    assert captured(project) == read_once(tmp_path, transcript)
    log = project / ".lamina" / "queue" / "capture.log"
    hook("session-start", {"session_id": "third", "cwd": str(project)}, PATIENT)
    time.sleep(0.5)
    assert len(log.read_text().splitlines()) == 1  # nothing has grown
    with transcript.open("a") as out:
        out.write(turns(4, start=12))  # written late
    hook("session-start", {"session_id": "fourth", "cwd": str(project)}, PATIENT)
    until(lambda: len(log.read_text().splitlines()) == 2)
    assert "Part 15" in json.dumps(captured(project))


def test_secrets_are_masked_before_anything_is_written(project: Path, transcript: Path) -> None:
    transcript.write_text(turns(3).replace("Question 1:", f"My token is {SECRET}."))
    event(project, transcript)
    assert "Question 2" in json.dumps(captured(project))
    for path in (project / ".lamina").rglob("*"):
        assert path.is_dir() or SECRET.encode() not in path.read_bytes()


def test_private_sessions_and_ignored_folders_are_left_out(project: Path, transcript: Path) -> None:
    payload = {"session_id": SESSION, "cwd": str(project), "prompt": "#private"}
    assert hook("prompt", payload, PATIENT).out == b"{}\n"
    event(project, transcript)
    assert captured(project) == []
    (project / "secret").mkdir()
    (project / ".laminaignore").write_text("secret/\n")
    other = transcript.with_name("other.jsonl")
    shutil.copy(transcript, other)
    event(project / "secret", other, session="other")
    assert queued(project / ".lamina") == []


def test_a_session_whose_lines_name_no_folder_belongs_to_the_workspace(project: Path, tmp_path: Path) -> None:
    """Cursor, Gemini CLI in folders named by digests, and VS Code write no folder; the event has it."""
    told = {
        "role": "assistant",
        "message": {"content": [{"type": "text", "text": "We chose Noto Serif: it has umlauts."}]},
    }
    asked = {"role": "user", "message": {"content": [{"type": "text", "text": "which font for the receipts?"}]}}
    cursor = tmp_path / "agent-transcripts" / "c1.jsonl"
    gemini = tmp_path / ("0f" * 32) / "chats" / "session-g1.jsonl"
    for path in (cursor, gemini):
        path.parent.mkdir(parents=True)
    cursor.write_text("".join(f"{json.dumps(line)}\n" for line in (asked, told)))
    head = {"sessionId": "g1", "projectHash": "0f" * 32, "startTime": "2026-11-22T08:00:00Z"}
    said = [
        {"id": f"m{i}", "type": kind, "content": f"Part {i} is set in Fira."}
        for i, kind in enumerate(("user", "gemini"))
    ]
    gemini.write_text("".join(f"{json.dumps(line)}\n" for line in (head, *said)))
    events = {"cursor": {"workspace_roots": [str(project)], "transcript_path": str(cursor)}}
    events["gemini"] = {"cwd": str(project), "transcript_path": str(gemini)}
    for agent, fields in events.items():
        payload = {"session_id": f"{agent[0]}1", **fields}
        assert hook("session-end", payload, PATIENT, f"--agent={agent}").err == ""
    vault = project / ".lamina"
    until(lambda: not queued(vault))
    with cursor.open("a") as out:  # the next one to read the file knows nothing of the event
        out.write(json.dumps(asked | {"message": {"content": "and which size do the receipts have?"}}) + "\n")
    with lamina.open(vault) as opened:
        assert opened.ingest(cursor, kind="sessions").updated == 1
        sessions = {item.session: item for item in opened.sessions(limit=None)}
        assert {name: item.project for name, item in sessions.items()} == {"c1": "shop", "g1": "shop"}
        assert {chunk.project for chunk in opened.list({"session": "c1"}, 100)} == {"shop"}


def test_a_mark_of_privacy_drops_what_was_asked_for(tmp_path: Path) -> None:
    queue = Queue(str(tmp_path))
    queue.ask("s", "/x.jsonl", "codex")
    queue.keep_private("s")
    assert (queue.waits(), queue.is_private("s"), queue.is_private("t")) == ([], True, False)


def test_two_hooks_may_make_the_queue_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make = os.mkdir

    def lose(path: str, mode: int) -> None:
        make(path, mode)
        make(path, mode)

    monkeypatch.setattr(os, "mkdir", lose)
    queue = Queue(str(tmp_path))
    queue.ask("s", "/x.jsonl", "codex")
    assert queue.waits() == [key_of("s")]


def test_what_is_taken_stays_until_it_is_done(tmp_path: Path) -> None:
    queue = Queue(str(tmp_path))
    queue.ask("s", "/x.jsonl", "codex", "/home/ada/shop")
    assert queue.waits() == [key_of("s")]
    asked = {"session": "s", "transcript": "/x.jsonl", "agent": "codex", "folder": "/home/ada/shop"}
    assert queue.take(key_of("s")) == asked
    assert queue.take(key_of("s")) == asked  # its worker was killed
    queue.done(key_of("s"))
    assert queue.take(key_of("s")) is None
    (tmp_path / "queue" / "torn.taken").write_text('{"session": ')
    assert queue.take("torn") is None
    assert queue.waits() == []


def test_a_transcript_that_is_gone_is_given_up(project: Path, transcript: Path) -> None:
    transcript.unlink()
    event(project, transcript)
    assert captured(project) == []


def kill_at_moments(project: Path, transcript: Path, moments: int) -> None:
    """Kill workers at random moments; each leaves what it was asked for, or has done it."""
    vault = project / ".lamina"
    chance = random.Random(7)
    Queue(str(vault)).ask(SESSION, str(transcript), "claude-code")
    longest = 1.5
    for _ in range(moments):
        if not queued(vault):
            with transcript.open("a") as out:
                out.write(turns(1, start=len(transcript.read_text().splitlines()) // 2))
            Queue(str(vault)).ask(SESSION, str(transcript), "claude-code")
        worker = subprocess.Popen([sys.executable, "-m", "lamina.hooks.capture", str(vault)], start_new_session=True)
        try:
            worker.wait(chance.uniform(0.05, longest))
        except subprocess.TimeoutExpired:
            os.killpg(worker.pid, signal.SIGKILL)
            worker.wait()


def check_killed(project: Path, transcript: Path, tmp_path: Path, moments: int) -> None:
    kill_at_moments(project, transcript, moments)
    event(project, transcript)
    got = captured(project)
    with lamina.open(project / ".lamina", mode="r") as vault:
        assert vault.verify(deep=True).ok
        links = sorted((link.source, link.target, link.relation) for id_, _ in got for link in vault.links(id_))
    assert got == read_once(tmp_path, transcript)
    with lamina.open(tmp_path / "once", mode="r") as once:
        assert links == sorted((link.source, link.target, link.relation) for id_, _ in got for link in once.links(id_))


def test_a_worker_killed_at_a_few_moments(project: Path, transcript: Path, tmp_path: Path) -> None:
    check_killed(project, transcript, tmp_path, 5)


@pytest.mark.slow
def test_a_worker_killed_at_a_hundred_moments(project: Path, transcript: Path, tmp_path: Path) -> None:
    check_killed(project, transcript, tmp_path, 100)


def test_several_workers_share_a_queue(project: Path, transcript: Path, tmp_path: Path) -> None:
    vault = project / ".lamina"
    others = []
    for i in range(3):
        other = transcript.with_name(f"s{i}.jsonl")
        other.write_text(turns(3).replace(SESSION, f"s{i}"))
        others.append(other)
    for i, other in enumerate([*others, *others]):
        event(project, other, session=f"s{i % 3}")
    event(project, transcript)
    assert captured(project) == read_once(tmp_path, transcript)
    with lamina.open(vault, mode="r") as opened:
        assert {session.session for session in opened.sessions()} == {SESSION, "s0", "s1", "s2"}


def test_an_agent_that_keeps_no_transcript_hands_its_messages_over(project: Path) -> None:
    block = '<lamina-context tier="turn">\nMemories.\n<memory id="x">\nold news\n</memory>\n</lamina-context>\n'
    messages = [
        {"info": {"id": "m1", "role": "user", "time": {"created": 1_795_340_000_000}}, "parts": [
            {"type": "text", "text": f"Rotate the key {SECRET} of the mailer.\n\n{block}"}, {"type": "file", "url": "x"}]},
        {"info": {"id": "m2", "role": "assistant", "time": {"created": 1_795_340_060_000}}, "parts": [
            {"type": "text", "text": "Rotated; the mailer reads it from the environment now."},
            {"type": "tool", "callID": "c1", "tool": "bash", "state": {"input": {"command": f"echo {SECRET}"}, "output": SECRET}}]},
        {"info": {"role": "system"}, "parts": []}, "nonsense", {"info": {"role": "user"}, "parts": [1, {"type": "text"}]},
    ]  # fmt: skip
    payload = {"sessionID": SESSION, "cwd": str(project), "messages": messages}
    for _ in range(2):
        got = hook("stop", payload, "--agent=opencode", PATIENT)
        assert (got.code, got.out, got.err) == (0, b"{}\n", "")
    hook("session-start", {"sessionID": "next", "cwd": str(project)}, "--agent=opencode", PATIENT)
    text = json.dumps(captured(project))
    assert "reads it from the environment" in text
    assert "Rotate the key" in text
    assert "old news" not in text  # what was told is not learned again
    until(lambda: not list((project / ".lamina" / "queue").glob("*.jsonl")))
    for path in (project / ".lamina").rglob("*"):
        assert path.is_dir() or SECRET.encode() not in path.read_bytes()


OBSERVED = (
    "<observation><type>decision</type><title>Parts round half to even</title><narrative>Decided in review.</narrative>"
    "<facts><fact>Every part rounds half to even</fact></facts></observation> []"
)


def observations(vault: Path) -> list[str]:
    with lamina.open(vault, mode="r") as opened:
        return [chunk.title or "" for chunk in opened.list({"session": SESSION, "collection": "observations"})]


def judging(vault: Path) -> Any:
    with lamina.open(vault, mode="r") as opened:
        return opened.stats()["judging"]


def test_observations_are_made_in_the_background_once_a_model_answers(
    project: Path, transcript: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # without a model, or while it is away, the questions wait in the vault; a capture never fails for it
    vault = project / ".lamina"
    monkeypatch.setenv("LAMINA_JUDGE_MODEL", "tiny")
    monkeypatch.setenv("LAMINA_JUDGE_URL", "http://127.0.0.1:9/v1")
    event(project, transcript)
    assert len(captured(project)) > 1
    until(lambda: judging(vault) is not None)
    assert judging(vault)["left"] > 0
    assert "127.0.0.1:9" in judging(vault)["stopped"]
    told = [finding.line() for finding in examine([AGENTS["codex"]], str(vault)) if finding.about == "model"]
    assert len(told) == 1
    assert "question waits for it: http://127.0.0.1:9" in told[0]
    with serving() as server:
        server.otherwise = OBSERVED
        server.delay_s = 1.0
        monkeypatch.setenv("LAMINA_JUDGE_URL", server.url)
        os.utime(vault / "queue" / "judging.state", (0, 0))  # a while ago
        began = time.monotonic()
        hook("session-start", {"session_id": "next", "cwd": str(project)}, PATIENT)  # nothing new was said
        assert not server.requests or time.monotonic() - began < 30  # no hook waits for a model
        until(lambda: judging(vault)["left"] == 0, 120)
        server.delay_s = 0.0
        assert observations(vault) == ["Parts round half to even"]
        shown = [question for question in server.questions() if "Question 0" in question and '"note"' not in question]
        event(project, transcript)
        captured(project)
        time.sleep(1.0)
        again = [question for question in server.questions() if "Question 0" in question and '"note"' not in question]
        assert again == shown
        assert observations(vault) == ["Parts round half to even"]


def test_a_private_session_is_shown_to_no_model(
    project: Path, transcript: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    event(project, transcript, "pre-compact")
    assert captured(project)
    hook("prompt", {"session_id": SESSION, "cwd": str(project), "prompt": "this is #private"}, PATIENT)
    other = transcript.with_name("other.jsonl")
    other.write_text(turns(3).replace(SESSION, "other").replace("rounds", "adds"))
    with serving() as server:
        server.otherwise = "<nothing/> []"
        monkeypatch.setenv("LAMINA_JUDGE_MODEL", "tiny")
        monkeypatch.setenv("LAMINA_JUDGE_URL", server.url)
        event(project, other, session="other")
        until(lambda: judging(project / ".lamina") is not None)
        said = "".join(server.questions())
    assert "Part 1 adds" in said
    assert "Part 1 rounds" not in said


def test_workers_at_once_ask_once(project: Path, transcript: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as server:
        server.otherwise, server.delay_s = OBSERVED, 0.3
        monkeypatch.setenv("LAMINA_JUDGE_MODEL", "tiny")
        monkeypatch.setenv("LAMINA_JUDGE_URL", server.url)
        for i in range(3):
            other = transcript.with_name(f"s{i}.jsonl")
            other.write_text(turns(3).replace(SESSION, f"s{i}").replace("checkout", f"shop {i}"))
            event(project, other, session=f"s{i}")
        captured(project)
        until(lambda: judging(project / ".lamina") is not None and judging(project / ".lamina")["left"] == 0)
        time.sleep(1.0)
        excerpts = [question for question in server.questions() if question.startswith("[User]")]
    assert len(excerpts) == len(set(excerpts)) == 3

"""Sessions through the public surface: Python and the command line."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from pathlib import Path

import pytest

import lamina
from lamina.cli import main
from lamina_engine.ingest.watch import follow
from tests.engine.sessions.transcripts import says, user, write


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    talk = "we chose the write-ahead log because readers must never wait " * 6
    write(tmp_path / "f" / "s1.jsonl", [user(0, talk), says(9, talk), user(60, "and the tests? " * 20), "{broken"])
    return tmp_path / "f"


def test_ingest_and_recall(lexical_vault: lamina.Vault, folder: Path) -> None:
    report = lexical_vault.ingest(folder, kind="sessions")
    assert (report.added, report.chunks, report.links) == (1, 4, 1)  # two derived ones among them
    assert [problem.code for problem in report.problems] == ["record"]
    (first, *_) = lexical_vault.recall("write-ahead log", where={"collection": "discussions"})
    assert (first.type, first.session, first.project) == ("conversation", "s1", "shop")
    assert first.terms["half_life_days"] == 21  # that of discussions
    assert lexical_vault.get(first.id).agent == "claude-code"
    (link,) = lexical_vault.links(first.id)
    assert (link.relation, link.origin) == ("next", "within-session")
    assert lexical_vault.ingest(folder).unchanged == 1
    assert not lexical_vault.verify().problems


def test_the_command_line(
    tmp_path: Path, folder: Path, lexical_vault: lamina.Vault, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["ingest", str(folder), "--vault", str(lexical_vault.path), "--kind", "sessions", "--json"]
    assert main(arguments) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["added"], document["chunks"]) == (1, 4)
    assert document["problems"][0]["message"].startswith("line 4: ")


def test_a_growing_folder_is_followed(lexical_vault: lamina.Vault, folder: Path) -> None:
    root = str(folder.resolve())
    talk = "the readers wait again " * 20

    def steps() -> Iterator[Collection[str]]:
        yield {root}
        with (folder / "s1.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(says(70, "they pass " * 30)) + "\n")
        yield {root}
        yield {root}
        write(folder / "s2.jsonl", [user(90_000, talk, sessionId="s2"), says(90_009, talk, sessionId="s2")])
        yield {root}

    got = list(follow(lexical_vault._memory, [root], kind="sessions", changes=steps()))
    # with the handoff, which changes as the session grows, and an insight; the second session has nothing to hand over
    assert [(report.added, report.updated, report.chunks, report.links) for report in got] == [
        (1, 0, 4, 1), (0, 1, 2, 0), (1, 0, 1, 1),
    ]  # fmt: skip
    story = lexical_vault.chain("readers wait again")
    assert (story.mode, [chunk.session for chunk in story.chunks]) == ("chain", ["s1", "s1", "s2"])


def test_forgetting_a_session_leaves_nothing_of_it(lexical_vault: lamina.Vault, folder: Path) -> None:
    lexical_vault.ingest(folder, kind="sessions")
    lexical_vault.forget(where={"session": "s1"}, dry_run=False)
    assert len(lexical_vault.recall("write-ahead log")) == 0
    assert all(b"write-ahead" not in path.read_bytes() for path in lexical_vault.path.rglob("*") if path.is_file())


def test_sessions_survive_an_export_and_an_import(lexical_vault: lamina.Vault, folder: Path, tmp_path: Path) -> None:
    lexical_vault.ingest(folder, kind="sessions")
    lexical_vault.export(tmp_path / "out.jsonl")
    with lamina.open(tmp_path / "other", create=True, embedder="none") as other:
        other.import_(tmp_path / "out.jsonl")
        assert {hit.session for hit in other.recall("write-ahead log")} == {"s1"}


def test_a_beginning_stands_for_the_one_session_that_has_it(lexical_vault: lamina.Vault) -> None:
    for name in ("22220000-aaaa", "22221111-bbbb", "3333"):
        lexical_vault.add(f"a turn of {name}", session=name, type="conversation")
        lexical_vault.add(f"what {name} leaves", session=name, type="agent_handoff")
    sessions = lexical_vault.sessions
    assert [chunk.session for chunk in sessions.handoff("22221")] == ["22221111-bbbb"]
    assert sessions.reconstruct("22220").text == sessions.reconstruct("22220000-aaaa").text
    with pytest.raises(lamina.AmbiguousId, match=r"fits 2 sessions \(22220000-aaaa, 22221111-bbbb\); give more"):
        sessions.handoff("2222")
    lexical_vault.add("a turn", session="2222")
    assert sessions.handoff("2222") == [], "a whole name goes before beginnings"
    for unknown in ("333", "4444"):
        with pytest.raises(lamina.SessionNotFound):
            sessions.handoff(unknown)


@pytest.mark.parametrize("name", ["project", "agent"])
def test_an_empty_name_is_no_filter(lexical_vault: lamina.Vault, name: str) -> None:
    with pytest.raises(lamina.InvalidArgument, match=f"{name}='' is empty"):
        lexical_vault.sessions(**{name: ""})  # type: ignore[arg-type]

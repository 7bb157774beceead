"""Claude Code's lines, read through a vault: what becomes a turn, what becomes text, and what is passed over."""

from __future__ import annotations

from pathlib import Path

import pytest

from lamina_engine.clock import parse_instant
from lamina_engine.memory import Memory
from lamina_engine.sessions.cutting import SessionLimits
from lamina_engine.sessions.reading import SessionOptions
from tests.engine.sessions.transcripts import (
    Line,
    at,
    gets,
    ingest,
    links,
    records,
    says,
    state,
    texts,
    user,
    uses,
    write,
)
from tests.engine.sessions.workday import ClaudeCodeDay


def read(memory: Memory, tmp_path: Path, *lines: Line) -> list[str]:
    """The texts of turns that lines give."""
    ingest(memory, write(tmp_path / "s1.jsonl", lines))
    return texts(memory)


def test_a_turn_has_what_was_said_and_done_in_its_order(memory: Memory, tmp_path: Path) -> None:
    got = read(
        memory, tmp_path, user(0, "why is it slow?"), says(1, [{"type": "text", "text": "I look."}]),
        uses(2, "t1", "Bash", command="time make", description="measure"), gets(3, "t1", "9 s"),
        says(4, [{"type": "text", "text": "The disk."}]), user(60, "thanks"),
    )  # fmt: skip
    ref = "[User]\nwhy is it slow?\n\n[Assistant]\nI look.\n\n[Tool:Bash]\ntime make\n\n[Result:Bash]\n9 s\n\n"
    assert got == [f"{ref}[Assistant]\nThe disk.", "[User]\nthanks"]


def test_bad_lines_are_skipped_and_counted_by_number(memory: Memory, tmp_path: Path) -> None:
    wrong: list[Line] = [
        '{"type": "user", "mess', '"text"', "42", "[1]", '{"silly": "this"}', "\x00", '{"type": 3}',
        {"type": "user", "sessionId": "s1", "message": "no object"},
        {"type": "user", "sessionId": "s1", "message": {"contenst": []}},
    ]  # fmt: skip
    report = ingest(memory, write(tmp_path / "s1.jsonl", [user(0, "first"), *wrong, "", user(9, "last")]))
    assert [problem.message.split(":")[0] for problem in report.problems] == [f"line {n}" for n in range(2, 11)]
    assert {problem.code for problem in report.problems} == {"record"}
    assert texts(memory) == ["[User]\nfirst", "[User]\nlast"]


def test_a_line_that_is_not_complete_is_told_and_read_later(memory: Memory, tmp_path: Path) -> None:
    path = write(tmp_path / "s1.jsonl", [user(0, "first"), user(9, "last é")])
    whole = path.read_bytes()
    path.write_bytes(whole[:-6])
    report = ingest(memory, path)
    assert [(problem.code, problem.message[:22]) for problem in report.problems] == [
        ("incomplete", "line 2 is incomplete; ")
    ]
    path.write_bytes(whole[:-1])  # complete, and without a newline
    assert ingest(memory, path).problems == []
    assert texts(memory) == ["[User]\nfirst", "[User]\nlast é"]


def test_a_sidechain_is_a_thread_of_its_own(memory: Memory, tmp_path: Path) -> None:
    side = user(1, "inner", isSidechain=True), says(2, "inner answer", isSidechain=True)
    assert read(memory, tmp_path, user(0, "outer"), *side, says(3, "done")) == [
        "[User]\nouter\n\n[Assistant]\ndone", "[User]\ninner\n\n[Assistant]\ninner answer",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "prompt",
    ["# fix the bug in parser.py please", "#42 is still broken, can you look at it?", "#include <stdio.h>", "> quoted",
     "| a | b |\n|---|---|", "---", "...", "```\ncode\n```", "    indented", "\u2028", "😀"],
)  # fmt: skip
def test_a_prompt_without_a_sentence_is_a_turn(
    memory: Memory, tmp_path: Path, prompt: str
) -> None:  # a stranger's trial
    assert len(read(memory, tmp_path, user(0, prompt), says(1, "It is mended."))) == 1


def test_nothing_is_kept_of_a_session_from_its_private_mark_on(memory: Memory, tmp_path: Path) -> None:
    side = user(4, "inner salary", isSidechain=True), says(5, "inner answer", isSidechain=True)
    day = user(0, "hello there"), says(1, "hello"), user(2, "my salary is 5000 #private"), says(3, "noted"), *side
    assert read(memory, tmp_path, *day, user(6, "and the salary of Ann"), says(7, "secret")) == [
        "[User]\nhello there\n\n[Assistant]\nhello"
    ]


def test_results_alone_stay_in_the_turn(memory: Memory, tmp_path: Path) -> None:
    got = read(memory, tmp_path, user(0, "go"), uses(1, "t1", command="ls"), gets(2, "t1", "a b"), says(3, "two files"))
    assert len(got) == 1


def test_an_interruption_begins_no_turn(memory: Memory, tmp_path: Path) -> None:
    mark = "[Request interrupted by user for tool use]"
    got = read(
        memory, tmp_path, user(0, "go"), user(1, mark), user(2, [{"type": "text", "text": mark}]), says(3, "ok"),
    )  # fmt: skip
    assert got == ["[User]\ngo\n\n[Assistant]\nok"]


def test_an_assistant_s_plain_text_is_kept(memory: Memory, tmp_path: Path) -> None:
    assert read(memory, tmp_path, user(0, "go"), says(1, "plain")) == ["[User]\ngo\n\n[Assistant]\nplain"]


def test_results_in_a_list_are_text(memory: Memory, tmp_path: Path) -> None:
    content = [
        {"type": "text", "text": "one"},
        {"type": "image", "source": {"data": "AAAA"}},
        "two",
        {"type": "x", "n": 1},
    ]
    got = read(memory, tmp_path, user(0, "go"), uses(1, "t1", command="ls"), gets(2, "t1", content))
    assert got[0].endswith('[Result:Bash]\none\n[Image]\ntwo\n{"type":"x","n":1}')
    assert "object Object" not in got[0]


def test_a_result_is_cut_to_size_with_a_mark_and_its_fence_closed(memory: Memory, tmp_path: Path) -> None:
    long = "```\n" + "line of output\n" * 100 + "```"
    got = read(memory, tmp_path, user(0, "go"), uses(1, "t1", command="ls"), gets(2, "t1", long), says(3, "done"))
    result = got[0].split("[Result:Bash]\n")[1].split("\n\n[Assistant]")[0]
    assert result.endswith(f"\n```\n[... cut, {len(long):,} characters in all]")
    assert len(result) < 560
    assert result.count("```") == 2


@pytest.mark.parametrize("length", [500, 501])
def test_a_result_of_five_hundred_characters_is_whole(memory: Memory, tmp_path: Path, length: int) -> None:
    got = read(memory, tmp_path, user(0, "go"), uses(1, "t1", command="ls"), gets(2, "t1", "x" * length))
    assert ("[... cut, 501 characters" in got[0]) == (length > 500)


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ({"command": "ls", "file_path": "/a"}, "ls"), ({"pattern": "*.py", "path": "/x"}, "*.py"),
        ({"file_path": "/a.py", "query": "q"}, "/a.py"), ({"query": "q", "url": "u"}, "q"), ({"url": "u"}, "u"),
        ({"todos": [1]}, '{"todos":[1]}'), ({}, ""),
    ],
)  # fmt: skip
def test_a_tool_shows_what_tells_most(memory: Memory, tmp_path: Path, arguments: dict[str, object], shown: str) -> None:
    line = says(1, [{"type": "tool_use", "id": "t", "name": "Do", "input": arguments}])
    assert read(memory, tmp_path, user(0, "go"), line) == [f"[User]\ngo\n\n[Tool:Do]\n{shown}".rstrip()]


def test_arguments_as_json_are_cut_to_two_hundred_characters(memory: Memory, tmp_path: Path) -> None:
    got = read(memory, tmp_path, user(0, "go"), uses(1, "t", "Todo", items=["x" * 400]))
    shown = got[0].split("[Tool:Todo]\n")[1]
    assert shown.split("\n") == [f'{{"items":["{"x" * 189}', "[... cut, 414 characters in all]"]


def test_thinking_is_left_out_of_the_text_and_kept_beside_it_where_asked_for(memory: Memory, tmp_path: Path) -> None:
    thought = says(1, [{"type": "thinking", "thinking": "perhaps the disk"}])
    path = write(tmp_path / "s1.jsonl", [user(0, "go"), thought, says(2, "done")])
    ingest(memory, path)
    (before,) = records(memory, "id", "version", "text", "metadata", "ordinal")
    assert "disk" not in before["text"] + before["metadata"]
    ingest(memory, path, SessionOptions(SessionLimits(min_tokens=0), thinking=True))
    (after,) = records(memory, "id", "version", "text", "metadata", "ordinal")
    assert after["facts"]["thinking"] == "perhaps the disk"
    assert (after["id"], after["version"], after["text"]) == (before["id"], before["version"], before["text"])


def test_summaries_and_compactions_are_chunks_of_their_own(memory: Memory, tmp_path: Path) -> None:
    compact = user(5, "This session is continued: we fixed the cache.", isCompactSummary=True)
    boundary = {"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted", "sessionId": "s1"}
    lines: list[Line] = [
        {"type": "summary", "summary": "Cache work", "leafUuid": "x"}, user(0, "go"), boundary, compact, user(6, "next"),
    ]  # fmt: skip
    assert read(memory, tmp_path, *lines) == ["[User]\ngo", "[User]\nnext"]
    found = [record for record in records(memory) if record["type"] == "session_summary"]
    assert [record["text"] for record in found] == ["Cache work", "This session is continued: we fixed the cache."]
    assert [record["created_at"] for record in found] == [None, parse_instant(at(5))]


def test_what_the_program_says_itself_is_passed_over(memory: Memory, tmp_path: Path) -> None:
    caveat = "Caveat: The messages below were generated by the user while running local commands. DO NOT respond"
    got = read(
        memory, tmp_path, user(0, "go"), user(1, caveat), user(2, "meta", isMeta=True),
        {"type": "file-history-snapshot", "snapshot": {}}, {"type": "queue-operation", "sessionId": "s1"},
        user(3, "<command-name>/review</command-name><command-args>--fast</command-args>"),
        user(4, "<local-command-stdout>all good</local-command-stdout>"),
    )  # fmt: skip
    assert got == ["[User]\ngo", "[User]\n/review --fast\n\n[Result:command]\nall good"]


def test_images_are_marks(memory: Memory, tmp_path: Path) -> None:
    content = [{"type": "image", "source": {"data": "A" * 9}}, {"type": "text", "text": "what is this?"}]
    assert read(memory, tmp_path, user(0, content)) == ["[User]\n[Image]\n\nwhat is this?"]


def test_what_a_chunk_knows(memory: Memory, tmp_path: Path) -> None:
    lines = [
        user(0, "go", gitBranch="main", slug="happy-fox"),
        says(1, [{"type": "tool_use", "id": "t", "name": "Edit", "input": {"file_path": "/src/a.py"}}]),
        gets(7, "t", "ok"), user(100, "btw ```x```"),
    ]  # fmt: skip
    read(memory, tmp_path, *lines)
    first, second = records(memory)
    assert (first["session"], first["agent"], first["project"], first["type"]) == (
        "s1",
        "claude-code",
        "shop",
        "conversation",
    )
    assert first["created_at"] == parse_instant(at(0))
    assert first["facts"] == {
        "format": "claude-code", "cwd": "/home/me/code/shop", "slug": "happy-fox", "turns": [0, 0],
        "tokens": -(-len(first["text"]) // 3.5), "started_at": at(0), "ended_at": at(7), "tools": ["Edit"],
        "files": ["/src/a.py"], "branch": "main",
    }  # fmt: skip
    assert second["facts"]["shift"] == "phrase"


def test_zones_are_kept(memory: Memory, tmp_path: Path) -> None:
    read(memory, tmp_path, user(0, "go", timestamp="2026-01-15T12:00:00.5+02:00"), user(1, "x", timestamp="yesterday"))
    first, second = records(memory)
    assert first["facts"]["started_at"] == "2026-01-15T12:00:00.5+02:00"
    assert first["created_at"] == parse_instant("2026-01-15T10:00:00.5Z")
    assert (second["created_at"], "started_at" in second["facts"]) == (None, False)


def test_what_was_typed_while_the_agent_worked_is_a_turn(memory: Memory, tmp_path: Path) -> None:
    def queued(seconds: float, **attachment: object) -> Line:
        told = {"type": "queued_command", **attachment}
        return {"type": "attachment", "timestamp": at(seconds), "sessionId": "s1", "attachment": told}

    got = read(
        memory, tmp_path, user(0, "go"), queued(5, prompt="and the docs", commandMode="prompt", origin={"kind": "human"}),
        queued(6, prompt="not typed", commandMode="prompt", origin={"kind": "hook"}), queued(7, prompt="x", isMeta=True),
        queued(8, prompt=[{"type": "text", "text": "in blocks"}]), queued(9, prompt=3), says(10, "done"),
    )  # fmt: skip
    assert got == ["[User]\ngo", "[User]\nand the docs", "[User]\nin blocks\n\n[Assistant]\ndone"]


def test_a_notification_says_which_call_gave_which_agent(memory: Memory, tmp_path: Path) -> None:
    told = "<task-notification>\n<task-id>a1b2</task-id>\n<tool-use-id>t1</tool-use-id>\n</task-notification>"
    read(memory, tmp_path, user(0, "go"), uses(1, "t1", "Agent", prompt="look"), user(9, told))
    _, last = records(memory)
    assert (last["facts"]["agents"], last["facts"]["mentions"]) == ({"t1": "a1b2"}, [[1, "a1b2"]])


def test_agents_within_the_session_s_own_file_are_read(memory: Memory, tmp_path: Path) -> None:
    # findings, seeds-b 003 #24: lines with isSidechain were dropped without a word
    written = ClaudeCodeDay("0b6c1c5e-70cf-4d0c-9f34-6a2f4d8f3c11", "/home/me/code/shop", "2026-01-15T10:00:00Z")
    written.ask("why is the bundle so large?")
    written.say("I'll have an agent measure it.")
    steps = [("npx source-map-explorer dist/app.js", "moment 232 kB, lodash 71 kB")]
    written.agent(
        "Measure", "Measure the bundle by package.", steps, "moment.js alone makes 232 kB of it.", inline=True
    )
    written.say("moment.js is the largest part.")
    written.ask("replace moment.js with date-fns then")
    written.say("Replaced in nine files.")
    ingest(memory, written.write(tmp_path / "sessions"))
    found = [record for record in records(memory) if record["type"] == "conversation"]
    agents = {record["agent"] for record in found}
    assert len(agents) == 2
    (agent,) = agents - {"claude-code"}
    (told,) = [record for record in found if record["agent"] == agent]
    assert told["session"] == written.session
    assert "Measure the bundle by package." in told["text"]
    assert "moment.js alone makes 232 kB" in told["text"]
    assert [origin for *_, origin, _ in sorted(links(memory, "brief", "debrief"))] == ["brief", "debrief"]


def test_agents_that_worked_at_the_same_time_are_told_apart(memory: Memory, tmp_path: Path) -> None:
    def side(seconds: float, role: str, name: str, before: str | None, text: str) -> Line:
        make = user if role == "user" else says
        return make(seconds, text, isSidechain=True, uuid=name, parentUuid=before)

    lines = [
        user(0, "look at both"),
        uses(1, "t1", "Task", prompt="look at the left one", description="left"),
        uses(2, "t2", "Task", prompt="look at the right one", description="right"),
        side(3, "user", "left-001", None, "look at the left one"),
        side(4, "user", "right-01", None, "look at the right one"),
        side(5, "assistant", "right-02", "right-01", "the right one is red"),
        side(6, "assistant", "left-002", "left-001", "the left one is blue"),
        side(7, "user", "warm-001", None, "Warmup"),
        gets(8, "t1", "blue"), gets(9, "t2", "red"),
        user(10, "thanks"),
    ]  # fmt: skip
    path = write(tmp_path / "s1.jsonl", lines)
    ingest(memory, path)
    by_agent = {record["agent"]: record["text"] for record in records(memory) if "/" in record["agent"]}
    assert sorted(by_agent) == ["claude-code/left-001", "claude-code/right-01"]
    assert "the left one is blue" in by_agent["claude-code/left-001"]
    assert "red" not in by_agent["claude-code/left-001"]
    whole = state(memory)
    for count in (4, 6, 8, len(lines)):
        write(path, lines[:count])
        ingest(memory, path)
    assert state(memory) == whole

"""Links between chunks of sessions: one to one, never all pairs, none twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lamina_engine.chunks.lifecycle import invalidate
from lamina_engine.graph import sequence, sessions
from lamina_engine.graph.registry import relation_of
from lamina_engine.ingest import pipeline
from lamina_engine.memory import Memory
from lamina_engine.sessions.cutting import SessionLimits
from lamina_engine.sessions.reading import SessionOptions
from tests.engine.graph.filling import fill
from tests.engine.sessions.transcripts import (
    Line,
    gets,
    ingest,
    links,
    records,
    says,
    steps,
    user,
    uses,
    write,
)


def agent(name: str, *lines: Line, **more: Any) -> list[Line]:
    """Lines of an agent that was called."""
    told = {"isSidechain": True, "agentId": name, **more}
    return [{**line, **told} if isinstance(line, dict) else line for line in lines]


def test_turns_follow_each_other_one_to_one(memory: Memory, tmp_path: Path) -> None:
    ingest(memory, write(tmp_path / "s1.jsonl", [user(60 * i, f"turn {i}") for i in range(5)]))
    assert steps(memory) == [(f"turn {i}", f"turn {i + 1}") for i in range(4)]
    assert {link[2:] for link in links(memory)} == {("next", "within-session", 1.0)}


def test_a_turn_in_three_pieces_gives_two_links_and_one_onward(memory: Memory, tmp_path: Path) -> None:
    long = "\n\n".join(f"paragraph {i} " + "word " * 20 for i in range(4))
    lines = [user(0, "go"), says(1, [{"type": "text", "text": long}]), user(60, "next")]
    ingest(memory, write(tmp_path / "s1.jsonl", lines), SessionOptions(SessionLimits(70, 0)))
    found = records(memory)
    assert [record["facts"]["turns"] for record in found] == [[0, 0], [0, 0], [0, 0], [1, 1]]
    assert len(links(memory)) == 3


def test_turns_packed_into_one_chunk_give_none(memory: Memory, tmp_path: Path) -> None:
    ingest(memory, write(tmp_path / "s1.jsonl", [user(60 * i, f"turn {i}") for i in range(5)]), SessionOptions())
    (record,) = records(memory)
    assert record["facts"]["turns"] == [0, 4]
    assert links(memory) == set()


def test_a_pause_weakens_a_step_and_by_the_way_breaks_it_and_both_break_the_chunk(
    memory: Memory, tmp_path: Path
) -> None:
    lines = [user(0, "one"), user(1800, "two"), user(3601, "three"), user(3700, "btw four"), user(3800, "ok so five")]
    ingest(memory, write(tmp_path / "s1.jsonl", lines))
    # findings, seeds-b 003 #3: a pause of 31 minutes cut the chain
    assert steps(memory) == [("btw four", "ok so five"), ("one", "two"), ("two", "three")]
    assert sorted(link[-1] for link in links(memory)) == [1.0, 1.0, 1.0]
    ingest(
        memory,
        write(tmp_path / "s2.jsonl", [line | {"sessionId": "s2"} for line in lines if isinstance(line, dict)]),
        SessionOptions(),
    )
    packed = [record["text"].count("[User]") for record in records(memory) if record["session"] == "s2"]
    assert packed == [2, 1, 2]


def test_a_turn_ends_with_its_last_reply(memory: Memory, tmp_path: Path) -> None:
    lines = [user(0, "one"), says(2400, "a reply after forty minutes"), user(2500, "two")]
    ingest(memory, write(tmp_path / "s1.jsonl", lines))
    assert steps(memory) == [("one", "two")]


def test_a_second_run_adds_nothing(memory: Memory, tmp_path: Path) -> None:
    write(tmp_path / "f" / "s1.jsonl", [user(0, "one"), user(60, "the flange of the pump leaks")])
    write(tmp_path / "f" / "s2.jsonl", [user(9_000, "that flange again", sessionId="s2")])
    ingest(memory, tmp_path / "f")
    rows = memory.view().snapshot.rows("links")
    for _ in range(2):
        assert sessions.build(memory).unchanged == 2
        written = sequence.build(memory)
        assert (written.added, written.withdrawn) == (0, 0)
    assert memory.view().snapshot.rows("links") == rows


def test_the_last_chunk_of_a_session_leads_to_the_first_of_the_next_of_its_project_that_goes_on(
    memory: Memory, tmp_path: Path
) -> None:
    def session(name: str, start: float, project: str = "shop", matter: str = "flange leaks") -> None:
        texts = [f"{name}{i}\nthe {matter}" for i in (0, 60)]
        lines = [
            user(start + i, text, sessionId=name, cwd=f"/code/{project}")
            for i, text in zip((0, 60), texts, strict=True)
        ]
        write(tmp_path / "f" / f"{name}.jsonl", lines)

    session("a", 0)
    session("c", 20_000)
    session("x", 10_000, project="other")
    ingest(memory, tmp_path / "f")
    assert steps(memory, "cross-session") == [("a60", "c0")]
    session("b", 10_000)  # it came between them
    ingest(memory, tmp_path / "f")
    assert steps(memory, "cross-session") == [("a60", "b0"), ("b60", "c0")]
    assert len(steps(memory, "within-session")) == 4
    session("d", 30_000, matter="poster needs a headline")  # findings, seeds-b 003 #3: a step into another matter
    session("e", 40_000, matter="flange leaks still")
    ingest(memory, tmp_path / "f")
    assert steps(memory, "cross-session") == [("a60", "b0"), ("b60", "c0"), ("c60", "e0")]


def test_a_session_that_grows_takes_the_step_to_the_next_one_along(memory: Memory, tmp_path: Path) -> None:
    lines = [user(0, "one\nthe flange leaks", sessionId="a"), user(60, "two\na flange", sessionId="a")]
    write(tmp_path / "f" / "a.jsonl", lines[:1])
    write(tmp_path / "f" / "b.jsonl", [user(9_000, "three\nthe flange", sessionId="b")])
    ingest(memory, tmp_path / "f")
    assert steps(memory) == [("one", "three")]
    write(tmp_path / "f" / "a.jsonl", lines)
    ingest(memory, tmp_path / "f")
    assert steps(memory) == [("one", "two"), ("two", "three")]


def test_what_led_to_an_agent_and_what_it_led_to(memory: Memory, tmp_path: Path) -> None:
    caller = [
        user(0, "before"), user(60, "go"), uses(61, "t1", "Task", prompt="look into it"),
        gets(90, "t1", "found", toolUseResult={"agentId": "a1"}), says(91, "done"), user(120, "after"), user(180, "later"),
    ]  # fmt: skip
    called = agent("a1", user(62, "look into it"), says(63, "hm"), user(70, "more"), says(71, "found"))
    write(tmp_path / "f" / "s1.jsonl", caller)
    write(tmp_path / "f" / "s1" / "subagents" / "agent-a1.jsonl", called)
    ingest(memory, tmp_path / "f")
    assert steps(memory, "brief") == [("go", "look into it")]
    assert steps(memory, "debrief") == [("more", "after")]
    assert {link[2:] for link in links(memory, "brief", "debrief")} == {
        ("brief", "brief", 0.9), ("debrief", "debrief", 0.7),
    }  # fmt: skip
    assert steps(memory, "cross-session") == []


def test_work_is_taken_up_by_the_turn_that_speaks_of_the_agent(memory: Memory, tmp_path: Path) -> None:
    caller = [
        user(0, "go"), uses(1, "t1", "Task", prompt="look"), gets(2, "t1", "agentId: a1b2c3-d4 runs in the background"),
        user(60, "something else"), user(120, "<task-id>a1b2c3-d4</task-id> is done"), user(180, "end"),
    ]  # fmt: skip
    write(tmp_path / "f" / "s1.jsonl", caller)
    write(tmp_path / "f" / "agent-a1b2c3-d4.jsonl", agent("a1b2c3-d4", user(2, "look"), says(50, "found")))
    ingest(memory, tmp_path / "f")
    assert steps(memory, "brief") == [("go", "look")]
    assert steps(memory, "debrief") == [("look", "<task-id>a1b2c3-d4</task-id> is done")]


def test_the_brief_comes_from_the_last_piece_of_the_turn(memory: Memory, tmp_path: Path) -> None:
    caller = [user(0, "go"), uses(1, "t1", "Task", prompt="look"), says(2, "word " * 60), user(60, "after")]
    write(tmp_path / "f" / "s1.jsonl", caller)
    write(tmp_path / "f" / "agent-a1.jsonl", agent("a1", user(2, "look"), says(3, "found")))
    ingest(memory, tmp_path / "f", SessionOptions(SessionLimits(40, 0)))
    pieces = [r for r in records(memory) if r["agent"] == "claude-code" and r["facts"]["turns"] == [0, 0]]
    assert len(pieces) > 2
    ((source, *_),) = links(memory, "brief")
    assert source == pieces[-1]["id"]


def test_several_agents_at_once_are_told_apart_by_their_calls(memory: Memory, tmp_path: Path) -> None:
    progress = [
        {"type": "progress", "timestamp": "2026-01-15T10:00:05Z", "sessionId": "s1", "parentToolUseID": ref,
         "data": {"type": "agent_progress", "agentId": name}}
        for ref, name in (("t1", "bbbb"), ("t2", "aaaa"))
    ]  # fmt: skip
    caller: list[Line] = [
        user(0, "go one"), uses(1, "t1", "Task", prompt="p"), user(2, "go two"), uses(3, "t2", "Task", prompt="p"),
        *progress, user(200, "after"),
    ]  # fmt: skip
    write(tmp_path / "f" / "s1.jsonl", caller)
    for name, start in (("aaaa", 4), ("bbbb", 5)):  # the other way round in time
        lines = agent(name, user(start, f"work of {name}"), says(90, "x"))
        write(tmp_path / "f" / "s1" / "subagents" / f"agent-{name}.jsonl", lines)
    ingest(memory, tmp_path / "f")
    assert steps(memory, "brief") == [("go one", "work of bbbb"), ("go two", "work of aaaa")]


def test_an_agent_s_file_may_name_the_call_itself(memory: Memory, tmp_path: Path) -> None:
    write(tmp_path / "f" / "s1.jsonl", [
        user(0, "go one"), uses(1, "t1", "Task", prompt="p"), user(2, "go two"), uses(3, "t2", "Task", prompt="p"),
    ])  # fmt: skip
    lines = agent("a1", user(4, "p"), says(5, "x"), parentToolUseID="t2")
    write(tmp_path / "f" / "s1" / "subagents" / "agent-a1.jsonl", lines)
    ingest(memory, tmp_path / "f")
    assert steps(memory, "brief") == [("go two", "p")]


def test_agents_at_once_without_ids_are_told_apart_by_prompts_and_times(memory: Memory, tmp_path: Path) -> None:
    write(tmp_path / "f" / "s1.jsonl", [
        user(0, "one"), uses(1, "t1", "Task", prompt="first"), user(2, "two"), uses(3, "t2", "Task", prompt="second"),
        user(4, "three"), uses(5, "t3", "Task", prompt="rewritten"), user(200, "four"),
        uses(201, "t4", "Task", prompt="also rewritten"), user(900, "end"),
    ])  # fmt: skip
    for name, start, prompt in (("a1", 6, "second"), ("a2", 7, "first"), ("a3", 8, "other"), ("a4", 202, "another")):
        lines = agent(name, user(start, prompt), says(start + 50, "x"))
        write(tmp_path / "f" / "s1" / "subagents" / f"agent-{name}.jsonl", lines)
    ingest(memory, tmp_path / "f")
    assert steps(memory, "brief") == [("four", "another"), ("one", "first"), ("three", "other"), ("two", "second")]


def test_a_member_s_prompt_comes_as_a_message(memory: Memory, tmp_path: Path) -> None:
    write(tmp_path / "f" / "s1.jsonl", [
        user(0, "one"), uses(1, "t1", "Agent", prompt="repro it"), user(2, "two"), uses(3, "t2", "Agent", prompt="other"),
    ])  # fmt: skip
    told = user(4, '<teammate-message teammate_id="team-lead">\nrepro it\n</teammate-message>')
    write(tmp_path / "f" / "s1" / "subagents" / "agent-x1234.jsonl", agent("x1234", told, says(9, "done")))
    ingest(memory, tmp_path / "f")
    assert [source for source, _ in steps(memory, "brief")] == ["one"]


def test_an_agent_that_nobody_called_has_no_brief(memory: Memory, tmp_path: Path) -> None:
    write(tmp_path / "f" / "s1.jsonl", [user(0, "one"), uses(500, "t1", "Task", prompt="p")])
    write(tmp_path / "f" / "agent-a1.jsonl", agent("a1", user(10, "earlier than any call"), says(20, "x")))
    ingest(memory, tmp_path / "f")
    assert links(memory, "brief", "debrief") == set()


def test_an_agent_calls_another(memory: Memory, tmp_path: Path) -> None:
    write(tmp_path / "f" / "s1.jsonl", [user(0, "one"), uses(1, "t1", "Task", prompt="outer"), user(90, "end")])
    outer = agent("a1", user(2, "outer"), uses(3, "t2", "Task", prompt="inner"), user(50, "and so"))
    write(tmp_path / "f" / "s1" / "subagents" / "agent-a1.jsonl", outer)
    inner = agent("a2", user(4, "inner"), says(5, "x"))
    write(tmp_path / "f" / "s1" / "subagents" / "agent-a2.jsonl", inner)
    ingest(memory, tmp_path / "f")
    assert steps(memory, "brief") == [("one", "outer"), ("outer", "inner")]
    assert steps(memory, "debrief") == [("and so", "end"), ("inner", "and so")]


def test_a_team(memory: Memory, tmp_path: Path) -> None:
    lead = [
        user(0, "form a team", teamName="web", agentName="team-lead"),
        says(1, [_spawn("t1", "ann"), _spawn("t2", "bob")]),
        user(300, '<teammate-message teammate_id="ann">all done</teammate-message>'),
    ]  # fmt: skip
    write(tmp_path / "f" / "s1.jsonl", lead)
    ann = [
        user(5, "work of ann"), user(60, "ann writes"),
        uses(61, "m1", "SendMessage", recipient="bob", content="take the css"),
    ]  # fmt: skip
    bob = [
        user(6, "work of bob"),
        user(62, '<teammate-message teammate_id="ann">take the css</teammate-message>'),
        says(63, "ok"),
    ]
    for name, lines in (("ann", ann), ("bob", bob)):
        told = agent(f"{name}1234", *lines, teamName="web", agentName=name)
        write(tmp_path / "f" / "s1" / "subagents" / f"agent-{name}1234.jsonl", told)
    ingest(memory, tmp_path / "f")
    assert {record["agent"] for record in records(memory)} == {"claude-code", "claude-code/ann", "claude-code/bob"}
    names = {record["id"]: f"{record['agent'][12:]}:{record['ordinal']}" for record in records(memory)}
    got = {(names[s], names[t], relation, weight) for s, t, relation, _, weight in links(memory, "team")}
    assert got == {
        (":0", "ann:0", "brief", 0.9), (":0", "bob:0", "brief", 0.9), ("ann:1", ":1", "debrief", 0.9),
        ("bob:1", ":1", "debrief", 0.9), ("ann:1", "bob:1", "next", 0.85),
    }  # fmt: skip


def test_a_report_to_the_lead_comes_from_the_chunk_that_sent_it(memory: Memory, tmp_path: Path) -> None:
    lead = [
        user(0, "form a team", teamName="web", agentName="team-lead"), says(1, [_spawn("t1", "ann")]),
        user(20, "wait"), user(70, '<teammate-message teammate_id="ann">half done</teammate-message>'),
    ]  # fmt: skip
    ann = [
        user(5, "work"), user(60, "report"), uses(69, "m1", "SendMessage", recipient="team-lead", content="half done"),
        user(99, "go on"),
    ]  # fmt: skip
    write(tmp_path / "f" / "s1.jsonl", lead)
    write(tmp_path / "f" / "agent-ann1.jsonl", agent("ann1", *ann, teamName="web", agentName="ann"))
    ingest(memory, tmp_path / "f")
    assert ("report", '<teammate-message teammate_id="ann">half done</teammate-message>') in steps(memory, "team")


def _spawn(ref: str, name: str) -> dict[str, Any]:
    arguments = {"prompt": f"prompt of {name}", "name": name, "team_name": "web"}
    return {"type": "tool_use", "id": ref, "name": "Task", "input": arguments}


def test_where_a_chunk_went_its_neighbours_are_joined(memory: Memory, tmp_path: Path) -> None:
    ingest(memory, write(tmp_path / "s1.jsonl", [user(60 * i, f"turn {i}") for i in range(3)]))
    middle = next(record["id"] for record in records(memory) if record["ordinal"] == 1)
    invalidate(memory, middle, "wrong")
    sessions.build(memory)
    first, last = (record["id"] for record in records(memory))
    assert {link[:2] for link in links(memory)} == {(first, last)}


def test_records_and_documents_are_no_sessions(memory: Memory, tmp_path: Path) -> None:
    fill(memory, ["r1", "r2"], types=["conversation"] * 2, sessions=["s"] * 2, agents=["claude-code"] * 2)
    (tmp_path / "talk").mkdir()
    (tmp_path / "talk" / "conversation.md").write_text("# A\n\n" + "text\n\n" * 900)
    pipeline.ingest(memory, [str(tmp_path / "talk")])
    assert links(memory) == set()
    assert steps(memory, "sequence")


def test_the_relations_are_known() -> None:
    for name in sessions.CHAIN_RELATIONS:
        relation = relation_of(name)
        assert (relation.walk_out, relation.walk_in) == (True, True)


def test_an_aside_is_left_out_where_the_matter_before_it_goes_on(memory: Memory, tmp_path: Path) -> None:
    lines = [
        user(0, "one\nthe coolant flange leaks"), user(60, "two\na gasket for the flange"),
        user(120, "by the way\nrename the logo"), user(180, "aside\nand its icon"), user(3_000, "three\nthe flange gasket fits"),
    ]  # fmt: skip
    ingest(memory, write(tmp_path / "s1.jsonl", lines))
    assert steps(memory, "within-session") == [("by the way", "aside"), ("one", "two"), ("two", "three")]

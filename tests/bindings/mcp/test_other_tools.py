"""Tools by the names of the source systems: their published examples run as written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import lamina
from lamina.mcp.access import VaultAccess
from lamina.mcp.answers import NOTE
from tests.bindings.mcp.conftest import Call, caller


def test_the_example_of_the_causal_system_runs_as_written(tmp_path: Path, clock: lamina.FixedClock) -> None:
    with lamina.open(tmp_path / "v", create=True, clock=clock) as vault:
        locks, move = vault.add([
            {"text": "SQLite locked under four writers.", "created_at": "2026-02-01"},
            {"text": "We switched to PostgreSQL because of the locks.", "created_at": "2026-02-03"},
        ])  # fmt: skip
        vault.link(locks, move, "causal", 0.9, "locks made us switch")
    call = caller(VaultAccess(tmp_path / "v", clock=clock))
    found = call("intent_search", query="why did we switch to PostgreSQL")
    assert found.data["intent"] == "why"
    docid = next(row["docid"] for row in found.data["results"] if row["snippet"].startswith("We switched"))
    assert docid == f"#{move[:8]}"
    links = call("find_causal_links", docid=docid, direction="both", depth=5).data
    assert links["source"]["docid"] == docid
    assert [(link["docid"], link["depth"], link["confidence"], link["reasoning"]) for link in links["links"]] == [
        (f"#{locks[:8]}", 1, 90, "locks made us switch")
    ]


def test_a_document_may_be_named_by_its_path(call: Call) -> None:
    # findings, seeds-a 001 34
    assert call("find_causal_links", docid="adr/7.md").data["source"]["docid"] == "db"
    assert call("memory_get", ids=["adr/7.md"]).data["items"][0]["id"] == "db"
    assert call("find_causal_links", docid="adr/8.md").failed


def test_causal_links_in_one_direction(call: Call) -> None:
    causes = call("find_causal_links", docid="pool", direction="caused_by").data["links"]
    assert [(link["docid"], link["depth"]) for link in causes] == [("db", 1), ("outage", 2)]
    assert call("find_causal_links", docid="pool", direction="causes").data["links"] == []
    assert [link["docid"] for link in call("find_causal_links", docid="pool", depth=1).data["links"]] == ["db"]


def test_kg_query_by_name_id_and_part_of_a_name(call: Call, access: VaultAccess) -> None:
    with access.write() as vault:
        vault.facts.add("Keystone", "runs_on", "Debian 12", valid_from="2025-01-01", valid_to="2026-01-01")
    found = call("kg_query", entity="Keystone").data
    assert {(fact["predicate"], fact["object"], fact["current"]) for fact in found["facts"]} == {
        ("port", "3055", True), ("owner", "Ann", True), ("runs_on", "Debian 12", False),
    }  # fmt: skip
    assert found["stats"] == {"total": 3, "current": 2, "expired": 1, "predicates": ["owner", "port", "runs_on"]}
    assert call("kg_query", entity=found["entity"]).data["facts"] == found["facts"]
    assert call("kg_query", entity="keyst").data["entity"] == found["entity"]  # findings, seeds-a 001 49
    then = call("kg_query", entity="Keystone", as_of="2025-06-01").data
    assert any(fact["current"] and fact["predicate"] == "runs_on" for fact in then["facts"])
    missing = call("kg_query", entity="Nobody")
    assert not missing.failed
    assert missing.data["facts"] == []


def test_neighbours_in_time_and_meaning(call: Call) -> None:
    found = call("timeline", docid="db", before=1, after=5).data
    assert ([step["id"] for step in found["before"]], [step["id"] for step in found["after"]]) == (["outage"], ["pool"])
    assert found["total"] == 4
    similar = call("find_similar", file="db", limit=2).data
    assert len(similar["similar"]) == 2
    assert similar["reference"]["id"] == "db"


def test_builds_give_new_links_and_standing_totals(call: Call) -> None:
    first = call("build_graphs").data
    assert (first["temporal"], first["temporalTotal"]) == (3, 3)
    again = call("build_graphs", graph_types=["temporal"]).data
    assert again == {"temporal": 0, "temporalTotal": 3}


def test_beads_are_read_from_a_project(call: Call, tmp_path: Path) -> None:
    # findings, seeds-a 001 15
    assert "No Beads tracker" in call("beads_sync", project_path=str(tmp_path)).text
    (tmp_path / ".beads").mkdir()
    issues = [
        {"id": f"bd-{n}", "title": f"Issue {n}", "status": "open", "created_at": "2026-02-01T00:00:00Z"} for n in (1, 2)
    ]
    issues[0]["dependencies"] = [{"issue_id": "bd-1", "depends_on_id": "bd-2", "type": "blocks"}]  # type: ignore[assignment]
    export = tmp_path / ".beads" / "issues.jsonl"
    export.write_text("".join(json.dumps(issue) + "\n" for issue in issues))
    assert call("beads_sync", project_path=str(tmp_path)).data == {
        "synced": 2,
        "created": 2,
        "new_ids": ["bd-1", "bd-2"],
    }
    assert call("beads_sync", project_path=str(tmp_path)).data == {"synced": 2, "created": 0, "new_ids": []}
    assert call("find_causal_links", docid="bd-1").data["links"]
    export.rename(tmp_path / "elsewhere.jsonl")
    export.symlink_to(tmp_path / "elsewhere.jsonl")
    assert call("beads_sync", project_path=str(tmp_path)).failed


def test_freshness_and_refresh(call: Call) -> None:
    report = call("freshness_report")
    assert sum(report.data["counts"].values()) == 4
    assert report.data["items"]
    assert {item["tier"] for item in call("freshness_report", tier="expired").data["items"]} <= {"expired"}
    call("memory_update", ids=["db"], action="review", reason="port moved")
    refreshed = call("memory_refresh", filter="needs_review")
    assert not refreshed.failed
    assert refreshed.data["counts"]
    assert "give id or collection" in call("memory_refresh").text


def test_context_for_a_session_and_a_turn_is_a_hook_s_answer(call: Call) -> None:
    block = call("context_bootstrap", session="s1", budget=400)
    assert block.text.startswith("<lamina-context")
    assert block.data["tokens"] <= 400
    turn = json.loads(call("context_turn", prompt="why did SQLite lock under four writers?", session="s2").text)
    assert turn["hookSpecificOutput"]["hookEventName"] == "UserPromptSubmit"
    assert "SQLite locked" in turn["hookSpecificOutput"]["additionalContext"]
    assert json.loads(call("context_turn", prompt="/help", session="s2").text) == {}


@pytest.fixture
def told(access: VaultAccess) -> list[str]:
    """A session of three steps in the project api."""
    with access.write() as vault:
        ids = vault.add([
            {"text": f"Deploy {n}: {what}", "session": "s1", "project": "api", "agent": "ann", "created_at": f"2026-02-2{n}T10:00:00Z"}
            for n, what in enumerate(["the build failed", "the cache was stale", "we cleared it and it passed"])
        ])  # fmt: skip
        vault.link(ids[0], ids[1], "next")
        vault.link(ids[1], ids[2], "next")
    return ids


def test_stories_backward_and_forward(call: Call, told: list[str]) -> None:
    back = call("chain", id=told[2])
    assert [item["id"] for item in back.data["items"]] == told
    assert back.data["mode"] == "chain"
    ahead = call("predict", context="the build failed", project="api")
    assert "Potentially relevant context (" in ahead.text
    assert told[2] in {item["id"] for item in ahead.data["items"]}
    alone = call("recall", query="rye sourdough", project="kitchen")
    assert "this is a search]" in alone.text
    assert [item["id"] for item in alone.data["items"]] == ["bread"]
    assert [item["id"] for item in call("search", query="rye sourdough", project="kitchen").data["items"]] == ["bread"]


def test_projects_sessions_and_their_reconstruction(call: Call, told: list[str]) -> None:
    assert [row["project"] for row in call("list-projects").data["projects"]] == ["api", "kitchen"]
    (session,) = call("list-sessions", **{"project": "api", "from": "2026-02-01"}).data["sessions"]
    assert (session["session"], session["chunks"]) == ("s1", 3)
    for given in ({}, {"session_id": "s1"}, {"previous_session": True}, {"days_back": 30}):
        found = call("reconstruct", project="api", **given)
        assert set(told) <= set(found.data["ids"])
        assert "  Deploy 2: we cleared it" in found.text
    assert "Nothing to reconstruct" in call("reconstruct", project="api", session_id="s9").text
    assert call("stats").data["chunks"] == 7
    assert call("topics").data["topics"] == []
    assert "no capture has run" in call("hook-status").text.lower()
    assert "memory" in call("repomap").text
    assert call("repomap").failed


def test_a_capture_that_ran_is_seen(call: Call, folder: Path) -> None:
    (folder / "queue").mkdir(exist_ok=True)
    (folder / "queue" / "capture.log").write_text(
        '{"at": "2026-03-01T10:00:00Z", "session": "s1", "chunks": 3}\nnot json\n'
    )
    assert call("hook-status").data["runs"] == [{"at": "2026-03-01T10:00:00Z", "session": "s1", "chunks": 3}]


def test_kg_ask_and_traverse(call: Call) -> None:
    assert call("kg_ask", question="who owns Keystone?").data["answers"][0]["object"] == "Ann"
    walked = call("traverse", id="pool", intent="why", depth=2).data["steps"]
    assert {step["id"] for step in walked} >= {"pool", "db"}


def test_forgetting_takes_two_calls_and_the_word_of_the_first(call: Call) -> None:
    planned = call("forget", project="kitchen")
    assert (planned.data["chunks"], planned.data["dry_run"]) == (1, True)
    assert call("forget", project="kitchen", dry_run=False).failed
    wrong = call("forget", project="kitchen", dry_run=False, confirm="00000000")
    assert wrong.failed
    other = call("forget", project="api", dry_run=False, confirm=planned.data["confirm"])
    assert other.failed  # a word is for one filter
    planned = call("forget", project="kitchen")
    done = call("forget", project="kitchen", dry_run=False, confirm=planned.data["confirm"])
    assert (done.data["chunks"], done.data["dry_run"]) == (1, False)
    assert call("memory_get", ids=["bread"]).data["missing"] == ["bread"]
    assert call("forget", project="kitchen", dry_run=False, confirm=planned.data["confirm"]).data["chunks"] == 0


def test_a_word_is_for_one_version_and_five_minutes(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    word = call("memory_forget", ids=["bread"]).data["confirm"]
    call("memory_add", text="Something new.")
    assert call("memory_forget", ids=["bread"], confirm=word).failed
    word = call("memory_forget", ids=["bread"]).data["confirm"]
    monkeypatch.setattr("lamina.mcp.confirmations.time.monotonic", lambda: 1e12)
    assert call("memory_forget", ids=["bread"], confirm=word).failed
    word = call("memory_forget", ids=["bread"]).data["confirm"]
    assert call("memory_forget", ids=["bread"], confirm=word).data["chunks"] == 1


def test_forget_by_likeness_and_dates(call: Call) -> None:
    like = call("forget", project="api", query="SQLite locked under four writers", threshold=0.5).data
    assert "outage" in like["ids"]
    assert "pool" not in like["ids"]
    assert set(call("forget", project="api", after="2026-02-12", before="2026-02-18").data["ids"]) == {"db"}
    assert call("forget", project="api", session_id="none").data["chunks"] == 0


def test_a_server_for_reading_answers_what_reads_of_them(folder: Path, clock: lamina.FixedClock) -> None:
    call = caller(VaultAccess(folder, read_only=True, clock=clock))
    for tool in (
        "build_graphs",
        "beads_sync",
        "freshness_report",
        "memory_refresh",
        "forget",
        "memory_forget",
        "memory_invalidate",
    ):
        assert "--read-only" in call(tool, project="api", reason="x").text
    assert call("intent_search", query="why PostgreSQL").text.startswith(NOTE)


def test_memory_invalidate(call: Call) -> None:
    assert call("memory_invalidate", id="db", reason="moved").data["changed"] == ["db"]

from __future__ import annotations

import logging
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

import lamina
from lamina import FixedClock, InvalidArgument, Vault
from lamina_engine.context import bootstrap as room
from lamina_engine.context.tokens import count_tokens
from tests.engine.context.blocks import parse

NOW = "2026-03-01T12:00:00Z"


def said(tokens: int, word: str) -> str:
    """Return a text of so many tokens."""
    return " ".join([word] * (tokens // (count_tokens(f"a {word}") - count_tokens("a"))))


def parts(vault: Vault, *arguments: Any, **options: Any) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for item in vault.bootstrap(*arguments, **options).items:
        found.setdefault(item.part, []).append(item.id)
    return found


@pytest.fixture
def worked(lexical_vault: Vault) -> Vault:
    """A vault after a session: a handoff, insights, and what happened since."""
    lexical_vault.add(
        [
            {"id": "old-handoff", "text": "handoff about the cache index cache index", "type": "agent_handoff", "created_at": "2026-01-01"},
            {"id": "handoff", "text": "handoff: roses", "type": "agent_handoff", "created_at": "2026-02-20", "agent": "ada"},
            {"id": "insight", "text": "flush before rename, and roses", "type": "agent_insight", "created_at": "2026-02-01"},
            {"id": "decided", "text": "one writer at a time", "type": "decision", "created_at": "2026-01-15"},
            {"id": "merged", "text": "#12 faster cache", "title": "#12 faster cache", "type": "github_pr", "created_at": "2026-02-22", "metadata": {"merged_at": "2026-02-22T10:00:00Z", "number": 12}},
            {"id": "before", "text": "#11 older", "type": "github_pr", "created_at": "2026-02-10", "metadata": {"merged_at": "2026-02-10T10:00:00Z"}},
            {"id": "open-pr", "text": "#13 open", "type": "github_pr", "created_at": "2026-02-23", "metadata": {"merged_at": None}},
            {"id": "new-issue", "text": "crash on start", "type": "jira_issue", "created_at": "2026-02-24", "metadata": {"opened_at": "2026-02-24T10:00:00Z"}},
        ]
    )  # fmt: skip
    return lexical_vault


def test_the_newest_handoff_then_insights_then_what_changed_since(worked: Vault) -> None:
    assert parts(worked) == {
        "handoff": ["handoff"], "insights": ["insight", "decided"], "changes": ["new-issue", "merged"],
    }  # fmt: skip
    block = worked.bootstrap()
    assert parse(block.text) == list(block.items)
    assert list(block.components) == ["handoff", "insights", "changes"]
    assert block.tokens == count_tokens(block.text)


def test_without_a_handoff_or_a_session_the_newest_changes_are_told(lexical_vault: Vault) -> None:
    """Findings, seeds-b gap 3: a vault of a tracker's export told nothing."""
    lexical_vault.add(
        [
            {"id": name, "text": name, "type": "github_pr", "created_at": day, "metadata": {"merged_at": f"{day}T10:00:00Z"}}
            for name, day in (("#12", "2026-02-22"), ("#11", "2026-02-20"), ("#10", "2024-02-20"))
        ]
    )  # fmt: skip
    assert parts(lexical_vault) == {"changes": ["#12", "#11", "#10"]}


@pytest.mark.parametrize("type_", ["handoff", "agent_handoff"])
def test_a_handoff_of_either_spelling_is_told(lexical_vault: Vault, type_: str) -> None:
    """Findings, stranger 2 and seeds-b gap 3."""
    lexical_vault.add({"id": "h", "text": "Next: the retries.", "type": type_, "created_at": "2026-02-20"})
    assert parts(lexical_vault) == {"handoff": ["h"]}


@pytest.mark.parametrize(
    "type_", ["decision", "architecture_decision", "agent_insight", "insight", "guideline", "rule", "lesson"]
)
def test_decisions_and_insights_of_every_type_are_told(lexical_vault: Vault, type_: str) -> None:
    lexical_vault.add({"id": "d", "text": "We chose Valkey over Redis.", "type": type_, "created_at": "2026-02-20"})
    assert parts(lexical_vault) == {"insights": ["d"]}


def test_what_is_pinned_comes_first(worked: Vault) -> None:
    worked.add({"id": "never", "text": "Never deploy on Fridays.", "created_at": "2025-02-20"})
    worked.pin("never")
    block = worked.bootstrap()
    assert [item.part for item in block.items[:2]] == ["pinned", "handoff"]
    assert block.items[0].id == "never"


def test_one_decision_is_told_once_though_it_has_five_chunks(lexical_vault: Vault, tmp_path: Path) -> None:
    """Findings, stranger 2: five chunks of one record, and not five decisions."""
    folder = tmp_path / "docs" / "decisions"
    folder.mkdir(parents=True)
    for number in range(3):
        sections = "\n\n".join(f"## Section {n}\n\n{said(200, f'word{n}{number}')}" for n in range(5))
        (folder / f"000{number}-choice.md").write_text(f"# Choice {number}\n\n{sections}\n")
    lexical_vault.ingest(tmp_path / "docs")
    items = [item for item in lexical_vault.bootstrap().items if item.part == "insights"]
    assert sorted(item.source for item in items) == [f"decisions/000{number}-choice.md" for number in range(3)]
    assert {item.title for item in items} == {"Choice 0", "Choice 1", "Choice 2"}


def test_the_last_session_stands_in_for_a_handoff(lexical_vault: Vault) -> None:
    """Findings, seeds-b gap 3: the last session is known, with its times and its last turn."""
    lexical_vault.add(
        [
            {"text": "[User] Why does the nightly job fail?", "session": "s1", "created_at": "2026-02-10T10:00:00Z"},
            {
                "text": "[Assistant] The disk was full of core dumps.",
                "session": "s1",
                "created_at": "2026-02-10T10:05:00Z",
            },
            {"text": "[User] Rename the tables.", "session": "s0", "created_at": "2026-01-10T10:00:00Z"},
        ]
    )
    (item,) = [item for item in lexical_vault.bootstrap("s2").items if item.part == "session"]
    assert item.id == "session:s1"
    assert "core dumps" in item.text
    assert "Rename" not in item.text
    lexical_vault.add(
        {"id": "h", "text": "Next: the core dumps.", "type": "handoff", "created_at": "2026-02-10T10:06:00Z"}
    )
    assert list(parts(lexical_vault, "s3")) == ["handoff"]
    lexical_vault.add({"text": "[User] And now?", "session": "later", "created_at": "2026-02-12T10:00:00Z"})
    assert list(parts(lexical_vault, "s4")) == ["handoff", "session"]  # a session after the handoff is told, too


def test_changes_since_the_last_session(lexical_vault: Vault) -> None:
    lexical_vault.add(
        [
            {"text": "[User] hi", "session": "s1", "created_at": "2026-02-10T10:00:00Z"},
            {"id": "new", "text": "#2 new", "type": "github_pr", "created_at": "2026-02-11", "metadata": {"merged_at": "2026-02-11T10:00:00Z"}},
            {"id": "old", "text": "#1 old", "type": "github_pr", "created_at": "2026-02-09", "metadata": {"merged_at": "2026-02-09T10:00:00Z"}},
        ]
    )  # fmt: skip
    assert parts(lexical_vault, "s2")["changes"] == ["new"]


def test_the_work_in_hand_is_of_this_project(lexical_vault: Vault, tmp_path: Path) -> None:
    """Findings, seeds-b gap 9: without a project it was the newest task of any."""
    lexical_vault.add(
        [
            {
                "id": "pay",
                "text": "Add the price column.",
                "type": "agent_task",
                "project": "payments",
                "created_at": "2026-02-20",
            },
            {
                "id": "gate",
                "text": "Rate limits.",
                "type": "agent_task",
                "project": "gateway",
                "created_at": "2026-02-22",
            },
            {"text": "[User] hi", "project": "payments", "session": "s1", "created_at": "2026-02-10T10:00:00Z"},
        ]
    )
    folder = tmp_path / "payments" / "src"
    folder.mkdir(parents=True)
    assert parts(lexical_vault, project="payments")["task"] == ["pay"]
    assert parts(lexical_vault, repo=folder)["task"] == ["pay"]
    assert parts(lexical_vault, "s1")["task"] == ["pay"]
    assert "task" not in parts(lexical_vault)


def test_issues_in_progress_are_the_work_in_hand(lexical_vault: Vault) -> None:
    lexical_vault.add(
        [
            {"id": f"bd-{n}", "text": f"Issue {n}", "type": "task", "collection": "beads", "created_at": f"2026-02-0{n}", "metadata": {"status": status, "updated_at": f"2026-02-1{n}T00:00:00Z"}}
            for n, status in ((1, "in_progress"), (2, "closed"), (3, "open"))
        ]
    )  # fmt: skip
    found = parts(lexical_vault)
    assert found["task"] == ["bd-1"]
    assert found["changes"] == ["bd-3", "bd-2"]


def test_a_vault_of_plain_notes_tells_what_it_holds(lexical_vault: Vault, tmp_path: Path) -> None:
    """Findings, stranger 2: bootstrap was empty over notes."""
    folder = tmp_path / "notes"
    for n in range(12):
        (folder / f"topic{n % 3}").mkdir(parents=True, exist_ok=True)
        (folder / f"topic{n % 3}" / f"note{n}.md").write_text(
            f"---\ndate: 2026-01-{n + 1:02}\n---\n# Note {n}\n\nText {n}.\n"
        )
    lexical_vault.ingest(folder)
    (item,) = lexical_vault.bootstrap("s").items
    lines = item.text.splitlines()
    assert (item.part, item.id, item.source) == ("overview", "vault:overview", "vault")
    assert lines[0] == "12 sources, 12 chunks, from 2026-01-01 to 2026-01-12"
    assert lines[1] == "Folders: topic0 4, topic1 4, topic2 4"
    assert lines[3].startswith("- 2026-01-12 Note 11 (topic2/note11.md) ")
    assert lexical_vault.get(lines[3].rpartition(" ")[2]).title == "Note 11"
    assert lexical_vault.bootstrap("s").items == ()  # once a session
    (tmp_path / "vault" / "vault.toml").write_text('name = "team"\n')
    with lamina.open(tmp_path / "vault", mode="r") as named:
        assert named.bootstrap("t").items[0].source == "team"


def test_a_handoff_of_another_agent_is_not_mine(worked: Vault) -> None:
    assert parts(worked, agent="ada")["handoff"] == ["handoff"]
    assert "handoff" not in parts(worked, agent="grace")


def test_parts_leave_to_later_ones_what_these_need(lexical_vault: Vault) -> None:
    records: list[dict[str, Any]] = [
        {"id": "h", "text": said(3000, "handoff"), "type": "agent_handoff", "created_at": "2026-02-20"}
    ]
    records += [
        {"id": f"i{n}", "text": said(250, f"insight{n} handoff"), "type": "agent_insight", "created_at": "2026-02-01"}
        for n in range(6)
    ]
    records += [
        {"id": f"c{n}", "text": said(250, f"change{n}"), "type": "github_issue", "created_at": "2026-02-22", "metadata": {"opened_at": "2026-02-22"}}
        for n in range(6)
    ]  # fmt: skip
    lexical_vault.add(records)
    block = lexical_vault.bootstrap()
    assert block.tokens <= 2500
    assert block.components["handoff"] >= 800
    assert block.components["insights"] >= 350
    assert block.components["changes"] >= 500
    kinds = [item.part for item in block.items]
    assert (kinds.count("handoff"), kinds.count("insights"), kinds.count("changes")) == (1, 2, 6)


def test_what_a_part_leaves_goes_to_the_next(worked: Vault) -> None:
    worked.add(
        [
            {"id": f"i{n}", "text": said(300, f"roses{n} roses"), "type": "agent_insight", "created_at": "2026-02-02"}
            for n in range(9)
        ]
    )
    assert len(parts(worked)["insights"]) >= 6  # 600 would hold two of these and the short one


def test_a_handoff_of_a_page_is_told_beside_ten_insights(lexical_vault: Vault) -> None:
    """Findings, seeds-b gap 4: it was dropped, with 2,339 tokens of insights and requests in its place."""
    sections = [
        f"## Part {n}\n\n" + f"The migration of table {n} waits for the lock that the report job holds until six. " * 7
        for n in range(9)
    ]
    page = "# Handoff\n\n" + "\n\n".join(sections)
    assert len(page) >= 5_000
    records: list[dict[str, Any]] = [{"id": "h", "text": page, "type": "agent_handoff", "created_at": "2026-02-20"}]
    records += [
        {"id": f"i{n}", "text": f"Insight {n}: " + "Locks of report jobs are held until six in the morning. " * 12, "type": "agent_insight", "created_at": "2026-02-01"}
        for n in range(10)
    ]  # fmt: skip
    records += [
        {"id": f"c{n}", "text": "Merged. " * 90, "type": "github_pr", "created_at": "2026-02-22", "metadata": {"merged_at": "2026-02-22T10:00:00Z"}}
        for n in range(10)
    ]  # fmt: skip
    lexical_vault.add(records)
    block = lexical_vault.bootstrap()
    told = block.items[0]
    assert (told.part, told.id) == ("handoff", "h")
    kept, _, note = told.text.rpartition("\n")
    assert page.startswith(kept)
    assert page[len(kept) :].lstrip().startswith("## Part")  # cut where a heading begins
    assert len(kept) > 2_500
    assert note.endswith("lamina get h]")
    assert {item.part for item in block.items} == {"handoff", "insights", "changes"}
    assert block.tokens <= 2_500
    alone = lexical_vault.bootstrap(budget=5_000)
    assert alone.items[0].text.strip() == page.strip()


def test_no_memory_ends_on_empty_lines(lexical_vault: Vault) -> None:
    lexical_vault.add(
        {"id": "h", "text": "\nThe pool was raised.\n\n\n", "type": "agent_handoff", "created_at": "2026-02-20"}
    )
    assert ">\nThe pool was raised.\n</memory>\n" in lexical_vault.bootstrap().text


@pytest.mark.parametrize("budget", [1, 20, 50, 100, 300])
def test_a_small_budget_is_kept_and_the_handoff_comes_first(lexical_vault: Vault, budget: int) -> None:
    lexical_vault.add({"id": "h", "text": said(3000, "handoff"), "type": "agent_handoff", "created_at": "2026-02-20"})
    lexical_vault.add({"id": "i", "text": "short", "type": "agent_insight", "created_at": "2026-02-20"})
    block = lexical_vault.bootstrap(budget=budget)
    assert block.tokens <= budget
    if budget == 300:
        assert block.items[0].id == "h"


def test_an_empty_block_says_what_was_searched(lexical_vault: Vault, caplog: pytest.LogCaptureFixture) -> None:
    """Findings, seeds-b gap 3 and stranger 2: no output, rc 0, no word why."""
    with caplog.at_level(logging.WARNING):
        assert lexical_vault.bootstrap("s").text == ""
    (record,) = caplog.records
    assert "pinned, handoff, session, task, insights, changes, overview" in record.getMessage()


def test_the_budget_is_a_setting(worked: Vault) -> None:
    with lamina.open(
        worked.path, clock=FixedClock(NOW), embedder="none", settings={"BOOTSTRAP_TOKEN_BUDGET": 600}
    ) as vault:
        assert vault.bootstrap().budget == 600
        assert vault.bootstrap(budget=900).budget == 900


def test_a_part_that_fails_leaves_the_others(
    worked: Vault, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: Any) -> None:
        raise OSError("no such disk")

    monkeypatch.setattr(room, "recorded_changes", broken)
    with caplog.at_level(logging.WARNING):
        assert set(parts(worked)) == {"handoff", "insights"}
    assert "the part changes" in caplog.text


def test_a_session_is_not_told_again_but_after_compaction(worked: Vault) -> None:
    first = parts(worked, "s")
    assert parts(worked, "s") == {}
    assert parts(worked, "s", trigger="resume") == {}
    assert parts(worked, "s", trigger="compact") == first
    assert parts(worked) == first


@pytest.mark.parametrize(
    ("options", "says"),
    [({"budget": 0}, "budget=0"), ({"session": " "}, "session="), ({"trigger": "boot"}, "trigger=")],
)
def test_arguments_that_cannot_be_used(worked: Vault, options: dict[str, Any], says: str) -> None:
    with pytest.raises(InvalidArgument, match=says):
        worked.bootstrap(**options)


def git(folder: Path, *arguments: str, date: str = "2026-02-25T10:00:00Z") -> None:
    names = {f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    dates = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
    subprocess.run(
        ["git", "-C", str(folder), *arguments], check=True, capture_output=True, env={**os.environ, **names, **dates}
    )


def test_commits_and_merges_since_the_handoff(worked: Vault, tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    repo.mkdir()
    git(repo, "init", "-q", "-b", "main")
    git(repo, "commit", "-q", "--allow-empty", "-m", "before the handoff", date="2026-02-01T10:00:00Z")
    git(repo, "checkout", "-q", "-b", "side")
    git(repo, "commit", "-q", "--allow-empty", "-m", "token ghp_abcdefghijklmnopqrstuvwxyz0123456789 </memory>")
    git(repo, "checkout", "-q", "main")
    git(repo, "merge", "-q", "--no-ff", "side", "-m", "Merge branch side", date="2026-02-26T10:00:00Z")
    git(repo, "commit", "-q", "--allow-empty", "-m", "Merge pull request #12 from cache", date="2026-02-26T11:00:00Z")
    items = [item for item in worked.bootstrap(repo=repo).items if item.id.startswith("git:")]
    assert [(item.type, item.date) for item in items] == [("git_merge", "2026-02-26"), ("git_commit", "2026-02-25")]
    assert items[0].text == "Merge branch side"  # the request itself is told: #12
    assert "ghp_abc" not in worked.bootstrap(repo=repo).text
    assert items[0].source == "repo"
    assert [item for item in worked.bootstrap(repo=tmp_path / "nowhere").items if item.id.startswith("git:")] == []


def test_what_is_snoozed_is_not_told(worked: Vault) -> None:
    assert parts(worked)["handoff"] == ["handoff"]
    for name in ("handoff", "insight", "merged", "new-issue"):
        worked.snooze(name, "2026-07-01")
    told = parts(worked, "another")
    assert told["handoff"] == ["old-handoff"]
    assert not {"handoff", "insight", "merged", "new-issue"} & {name for names in told.values() for name in names}

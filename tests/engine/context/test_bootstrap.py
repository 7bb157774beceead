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
from lamina_engine.context.budget import find_counter
from lamina_engine.context.rendering import parse
from lamina_engine.recall.pack import count_tokens

NOW = "2026-03-01T12:00:00Z"


def said(tokens: int, word: str) -> str:
    """Return a text of about so many tokens."""
    return f"{word} " * (4 * tokens // (len(word) + 1))


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
        "handoff": ["handoff"], "insights": ["insight"], "changes": ["new-issue", "merged"], "recent": ["decided"],
    }  # fmt: skip
    block = worked.bootstrap()
    assert parse(block.text) == list(block.items)
    assert list(block.components) == ["handoff", "insights", "changes", "recent"]
    assert block.tokens == find_counter().count(block.text)


def test_without_a_handoff_nothing_is_called_a_change(lexical_vault: Vault) -> None:
    lexical_vault.add(
        {
            "text": "#12",
            "type": "github_pr",
            "created_at": "2026-02-22",
            "metadata": {"merged_at": "2026-02-22T10:00:00Z"},
        }
    )
    assert parts(lexical_vault) == {}


def test_a_handoff_of_another_agent_is_not_mine(worked: Vault) -> None:
    assert parts(worked, agent="ada")["handoff"] == ["handoff"]
    assert "handoff" not in parts(worked, agent="grace")


def test_parts_keep_to_their_shares_when_all_are_long(lexical_vault: Vault) -> None:
    records: list[dict[str, Any]] = [
        {"id": "h", "text": said(700, "handoff"), "type": "agent_handoff", "created_at": "2026-02-20"}
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
    assert block.components["handoff"] <= 800
    kinds = [item.part for item in block.items]
    counts = (kinds.count("handoff"), kinds.count("insights"), kinds.count("changes"))
    assert counts == (
        1,
        4,
        2,
    )  # two each by their shares; what is left of 500 shared and the rest holds two more insights


def test_what_a_part_leaves_goes_to_the_next(worked: Vault) -> None:
    worked.add(
        [
            {"id": f"i{n}", "text": said(300, f"roses{n} roses"), "type": "agent_insight", "created_at": "2026-02-02"}
            for n in range(9)
        ]
    )
    assert len(parts(worked)["insights"]) >= 4  # 600 would hold one of these and the short one


def test_an_item_that_does_not_fit_is_left_out_whole(lexical_vault: Vault) -> None:
    lexical_vault.add({"id": "h", "text": said(3000, "handoff"), "type": "agent_handoff", "created_at": "2026-02-20"})
    lexical_vault.add({"id": "i", "text": "short", "type": "agent_insight", "created_at": "2026-02-20"})
    block = lexical_vault.bootstrap()
    assert "h" not in [item.id for item in block.items]
    for budget in (1, 20, 50, 100):
        assert lexical_vault.bootstrap(budget=budget).tokens <= budget


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
        assert set(parts(worked)) == {"handoff", "insights", "recent"}
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


def test_tokens_of_said() -> None:
    assert 690 <= count_tokens(said(700, "handoff")) <= 700


def test_what_is_snoozed_is_not_told(worked: Vault) -> None:
    assert parts(worked)["handoff"] == ["handoff"]
    for name in ("handoff", "insight", "merged", "new-issue"):
        worked.snooze(name, "2026-07-01")
    told = parts(worked, "another")
    assert told["handoff"] == ["old-handoff"]
    assert not {"handoff", "insight", "merged", "new-issue"} & {name for names in told.values() for name in names}

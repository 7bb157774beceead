from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lamina import FixedClock, Vault
from tests.engine.freshness.repositories import Git


def request(vault: Vault, number: int = 7, **metadata: Any) -> str:
    facts = {"number": number, "files": ["a.md"], "merged_at": "2026-03-02T00:00:00Z"} | metadata
    return vault.add(f"request {number}", type="github_pr", collection="github", metadata=facts)[0]


def flagged(vault: Vault) -> dict[str | None, str]:
    return {
        item.source: item.reason for item in vault.freshness(where={"type": {"ne": "github_pr"}}).items if item.manual
    }


@pytest.fixture
def stored(lexical_vault: Vault, git: Git) -> Vault:
    lexical_vault.ingest(git.root)
    return lexical_vault


def test_a_merged_request_asks_for_a_review_and_no_scan_takes_that_back(stored: Vault, clock: FixedClock) -> None:
    """The defect of a flag that the next scan overwrites."""
    request(stored)
    for _ in range(3):
        assert flagged(stored) == {"a.md": "merged request #7 touches a.md"}
    assert [chunk.source for chunk in stored.list({"needs_review": True})] == ["a.md"]
    clock.advance(3 * 86_400)
    assert stored.refresh(needs_review=True, dry_run=False).counts["unchanged"] == 1
    assert flagged(stored) == {}


@pytest.mark.parametrize(
    "metadata",
    [
        {"merged_at": None}, {"merged_at": ""}, {"merged_at": "soon"}, {"files": ["b/a.md"]}, {"files": "a.md"}, {"files": []},
        {"merged_at": "2026-02-01T00:00:00Z"},
    ],
)  # fmt: skip
def test_what_was_not_merged_since_or_touches_other_files_asks_nothing(stored: Vault, metadata: dict[str, Any]) -> None:
    request(stored, **metadata)
    assert flagged(stored) == {}


def test_when_it_was_merged_counts_and_not_when_it_was_ingested(stored: Vault, clock: FixedClock) -> None:
    clock.advance(100 * 86_400)
    request(stored, merged_at="2026-02-28T00:00:00Z")
    assert flagged(stored) == {}


def test_files_may_be_told_as_github_tells_them(stored: Vault) -> None:
    request(stored, files=[{"path": "a.md", "additions": 3}, {"path": "c.md"}])
    assert list(flagged(stored)) == ["a.md"]


def test_the_same_path_of_another_repository_is_another_file(stored: Vault, git: Git) -> None:
    git("remote", "add", "origin", "git@github.com:Owner/here.git")
    request(stored, 1, url="https://github.com/owner/elsewhere/pull/1")
    request(stored, 2, repository="owner/elsewhere")
    assert flagged(stored) == {}
    request(stored, 3, url="https://github.com/owner/here/pull/3")
    assert flagged(stored) == {"a.md": "merged request #3 touches a.md"}


def test_projects_tell_requests_apart_where_nothing_else_does(lexical_vault: Vault, git: Git) -> None:
    lexical_vault.ingest(git.root, project="api")
    facts = {"number": 1, "files": ["a.md"], "merged_at": "2026-03-02T00:00:00Z"}
    lexical_vault.add("request", type="github_pr", project="web", metadata=facts)
    assert flagged(lexical_vault) == {}
    lexical_vault.add("request", type="github_pr", project="api", metadata=facts)
    assert list(flagged(lexical_vault)) == ["a.md"]


def test_requests_as_the_command_line_of_github_prints_them(stored: Vault, tmp_path: Path) -> None:
    shared = {"title": "Cut a short", "body": "It was long.", "createdAt": "2026-02-01T00:00:00Z"}
    requests = [
        shared | {"number": 12, "state": "MERGED", "mergedAt": "2026-03-05T00:00:00Z", "files": [{"path": "a.md"}],
                  "url": "https://github.com/owner/app/pull/12"},
        shared | {"number": 13, "state": "OPEN", "mergedAt": None, "files": [{"path": "b.md"}],
                  "url": "https://github.com/owner/app/pull/13"},
    ]  # fmt: skip
    (tmp_path / "prs.json").write_text(json.dumps(requests))
    stored.ingest(tmp_path / "prs.json", kind="github")
    assert flagged(stored) == {"a.md": "merged request #12 touches a.md"}

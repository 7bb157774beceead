""""""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lamina import IngestError, InvalidArgument, Vault
from lamina_engine.clock import format_instant

MERGED = {
    "number": 12, "title": "Faster cache", "body": "Reads take a third.\r\nSee #3.", "state": "MERGED",
    "createdAt": "2025-01-10T08:00:00Z", "mergedAt": "2025-01-12T09:00:00Z", "closedAt": "2025-01-12T09:00:00Z",
    "updatedAt": "2026-02-01T00:00:00Z", "author": {"login": "ada"}, "labels": [{"name": "perf"}],
    "files": [{"path": "src/cache.py", "additions": 3}, {"path": "docs/käse.md"}], "headRefName": "cache",
    "url": "https://github.com/acme/api/pull/12",
}  # fmt: skip
ISSUE = {
    "number": 3, "title": "Reads are slow", "body": "", "state": "OPEN", "createdAt": "2024-12-24T08:00:00Z", "closedAt": None,
    "author": {"login": "bob"}, "labels": [], "url": "https://github.com/acme/api/issues/3",
    "comments": [{"id": "IC_1", "author": {"login": "eve"}, "body": "Here too.", "createdAt": "2024-12-25T08:00:00Z"}],
}  # fmt: skip


def ingest(vault: Vault, tmp_path: Path, value: Any, kind: Any = "github") -> Any:
    path = tmp_path / "export.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return vault.ingest(path, kind=kind)


def test_a_merged_request_keeps_its_number_files_and_the_day_it_was_merged(
    lexical_vault: Vault, tmp_path: Path
) -> None:
    report = ingest(lexical_vault, tmp_path, [MERGED])
    assert (report.added, report.problems) == (1, [])
    got = lexical_vault.get("github:acme/api#12")
    assert (got.type, got.collection, got.project, got.agent) == ("github_pr", "github", "api", "ada")
    assert (got.title, got.text) == ("#12 Faster cache", "Reads take a third.\nSee #3.")
    assert format_instant(got.created_at_us) == "2025-01-12T09:00:00Z"
    assert got.metadata["merged_at"] == "2025-01-12T09:00:00Z"
    assert got.metadata["files"] == ["src/cache.py", "docs/käse.md"]
    assert (got.metadata["number"], got.metadata["repository"], got.metadata["state"]) == (12, "acme/api", "merged")
    assert (got.tags, got.success, got.source) == (("perf",), True, "https://github.com/acme/api/pull/12")


def test_dates_are_those_of_events_and_not_of_the_export(lexical_vault: Vault, tmp_path: Path) -> None:
    """Counting from the day of the sync made year-old issues look new."""
    ingest(lexical_vault, tmp_path, [{**ISSUE, "updatedAt": "2026-02-28T00:00:00Z"}])
    got = lexical_vault.get("github:acme/api#3")
    assert format_instant(got.created_at_us) == "2024-12-24T08:00:00Z"
    (hit, *_) = lexical_vault.recall("reads slow", profile="temporal", where={"type": "github_issue"})
    assert hit.terms["half_life_days"] == 30
    assert hit.terms["age_days"] > 400


def test_an_issue_without_a_body_is_its_title_and_comments_are_chunks(lexical_vault: Vault, tmp_path: Path) -> None:
    ingest(lexical_vault, tmp_path, [ISSUE])
    assert lexical_vault.get("github:acme/api#3").text == "Reads are slow"
    comment = lexical_vault.get("github:acme/api#3/IC_1")
    assert (comment.type, comment.text, comment.agent, comment.metadata) == (
        "github_issue_comment", "Here too.", "eve", {"on": "github:acme/api#3"},
    )  # fmt: skip


def test_a_later_export_updates(lexical_vault: Vault, tmp_path: Path) -> None:
    open_ = {**MERGED, "state": "OPEN", "mergedAt": None, "closedAt": None}
    ingest(lexical_vault, tmp_path, [open_, ISSUE])
    assert lexical_vault.get("github:acme/api#12").success is None
    again = ingest(lexical_vault, tmp_path, [open_, ISSUE])
    assert (again.added, again.updated, again.unchanged) == (0, 0, 3)
    later = ingest(
        lexical_vault,
        tmp_path,
        [MERGED, {**ISSUE, "state": "CLOSED", "closedAt": "2025-02-01T00:00:00Z", "stateReason": "NOT_PLANNED"}],
    )
    assert (later.added, later.updated, later.unchanged) == (0, 2, 1)
    assert lexical_vault.get("github:acme/api#12").metadata["state"] == "merged"
    assert lexical_vault.get("github:acme/api#3").success is False
    assert len(lexical_vault.history("github:acme/api#12")) >= 2


def test_the_fields_of_the_rest_interface_and_json_lines_are_read(lexical_vault: Vault, tmp_path: Path) -> None:
    rest = {
        "number": 7, "title": "Old style", "body": None, "state": "closed", "created_at": "2025-01-01T00:00:00Z", "merged_at": None,
        "closed_at": "2025-01-02T00:00:00Z", "user": {"login": "ada"}, "html_url": "https://github.com/acme/web/pull/7", "url": "https://api.github.com/x",
    }  # fmt: skip
    ingest(lexical_vault, tmp_path, "\n".join(json.dumps(each) for each in (rest, ISSUE)))
    got = lexical_vault.get("github:acme/web#7")
    assert (got.type, got.success, got.metadata["state"]) == ("github_pr", False, "closed")
    assert lexical_vault.get("github:acme/api#3").type == "github_issue"


def test_a_record_that_cannot_be_used_is_reported_and_costs_no_other(lexical_vault: Vault, tmp_path: Path) -> None:
    broken: list[Any] = [3, {"title": "x"}, {"number": 1}, {**MERGED, "mergedAt": "soon"}, {**ISSUE, "comments": [3]}]
    report = ingest(lexical_vault, tmp_path, [*broken, MERGED])
    assert (report.added, len(report.problems)) == (1, 5)
    assert "record 4" in report.problems[3].message
    assert "soon" in report.problems[3].message


def test_secrets_are_masked_everywhere(lexical_vault: Vault, tmp_path: Path) -> None:
    secret = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
    ingest(
        lexical_vault,
        tmp_path,
        [{**MERGED, "title": f"t {secret}", "body": secret, "headRefName": secret, "labels": [{"name": secret}]}],
    )
    assert all(secret.encode() not in path.read_bytes() for path in lexical_vault.path.rglob("*") if path.is_file())


def test_what_is_no_export_is_refused(lexical_vault: Vault, tmp_path: Path) -> None:
    with pytest.raises(IngestError, match="gh pr list"):
        ingest(lexical_vault, tmp_path, "no json")
    with pytest.raises(IngestError, match="cannot be read"):
        lexical_vault.ingest(tmp_path / "nowhere.json", kind="github")
    with pytest.raises(InvalidArgument, match="recover"):
        lexical_vault.ingest(tmp_path / "export.json", kind="github", recover=True)
    assert ingest(lexical_vault, tmp_path, []).added == 0


# Jira


JIRA = {
    "key": "API-4", "self": "https://jira.example/rest/api/2/issue/4",
    "fields": {
        "summary": "Crash on start", "created": "2025-03-01T10:00:00.000+0200", "updated": "2026-01-01T00:00:00.000+0000", "resolutiondate": None,
        "description": {"type": "doc", "content": [
            {"type": "paragraph", "content": [{"type": "text", "text": "It "}, {"type": "text", "text": "crashes."}]},
            {"type": "paragraph", "content": [{"type": "text", "text": "Always."}]},
        ]},
        "status": {"name": "Open"}, "issuetype": {"name": "Bug"}, "labels": ["start"], "reporter": {"displayName": "Ada"}, "project": {"key": "API"},
        "comment": {"comments": [{"id": "9", "author": {"displayName": "Bob"}, "body": "Same.", "created": "2025-03-02T10:00:00.000+0000"}]},
    },
}  # fmt: skip


def test_an_issue_of_jira(lexical_vault: Vault, tmp_path: Path) -> None:
    report = ingest(lexical_vault, tmp_path, {"issues": [JIRA, {"key": "API-5"}]}, kind="jira")
    assert (report.added, len(report.problems)) == (2, 1)
    got = lexical_vault.get("jira:API-4")
    assert (got.type, got.collection, got.project, got.agent, got.tags) == (
        "jira_issue",
        "jira-data",
        "API",
        "Ada",
        ("start",),
    )
    assert (got.title, got.text) == ("API-4 Crash on start", "It crashes.\nAlways.")
    assert format_instant(got.created_at_us) == got.metadata["opened_at"] == "2025-03-01T08:00:00Z"
    assert lexical_vault.get("jira:API-4/9").type == "jira_comment"


def test_a_resolved_issue_of_jira_updates(lexical_vault: Vault, tmp_path: Path) -> None:
    ingest(lexical_vault, tmp_path, [JIRA], kind="jira")
    fields = {**JIRA["fields"], "resolutiondate": "2025-04-01T00:00:00.000+0000", "description": "plain words"}  # type: ignore[dict-item]
    report = ingest(lexical_vault, tmp_path, [{**JIRA, "fields": fields}], kind="jira")
    assert (report.added, report.updated, report.unchanged) == (0, 1, 1)
    got = lexical_vault.get("jira:API-4")
    assert (got.success, got.text, format_instant(got.created_at_us)) == (True, "plain words", "2025-04-01T00:00:00Z")

"""Exports that are known by their content, without a kind."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, get_args

import pytest

import lamina
from lamina.options import SourceKind
from lamina_engine.ingest.pipeline import ALL_KINDS
from lamina_engine.ingest.recognition import kind_of_records

RUN = {
    "databaseId": 5, "workflowName": "CI", "displayTitle": "fix tests", "conclusion": "failure", "headBranch": "main",
    "createdAt": "2026-03-01T10:00:00Z", "url": "https://github.com/o/r/actions/runs/5",
}  # fmt: skip
REVIEW = {
    "id": "R1",
    "author": {"login": "ada"},
    "state": "APPROVED",
    "body": "lgtm",
    "submittedAt": "2026-03-02T09:00:00Z",
}
REQUEST = {
    "number": 4, "title": "Fix", "state": "MERGED", "createdAt": "2026-03-01T10:00:00Z", "mergedAt": "2026-03-02T10:00:00Z",
    "body": "fixes", "url": "https://github.com/o/r/pull/4", "reviews": [REVIEW],
}  # fmt: skip
COMMIT = {
    "sha": "d" * 40,
    "commit": {"message": "Do it\n\nbecause", "author": {"name": "Ada", "date": "2026-01-01T00:00:00Z"}},
}
RELEASE = {"tagName": "v1", "name": "One", "publishedAt": "2026-01-01T00:00:00Z"}
ISSUE = {"id": "bd-1", "title": "Fix it", "status": "open", "issue_type": "bug", "created_at": "2026-01-01T00:00:00Z"}
TASKS = {
    "nodes": {"t1": {"task_id": "t1", "title": "Build", "timestamp": 1763000000.0, "description": "x"}},
    "edges": [],
}
JIRA = {"issues": [{"key": "AB-1", "fields": {"summary": "Broken"}}]}
REST_REVIEW = {
    "id": 9, "user": {"login": "bo"}, "state": "CHANGES_REQUESTED", "body": "", "submitted_at": "2026-03-02T09:00:00Z",
    "pull_request_url": "https://api.github.com/repos/o/r/pulls/4", "html_url": "https://github.com/o/r/pull/4#r9",
}  # fmt: skip


@pytest.mark.parametrize(
    ("value", "ref"),
    [
        ([RUN], "github"), ({"workflow_runs": [RUN]}, "github"), ([REQUEST], "github"), ([COMMIT], "github"), ([RELEASE], "github"),
        ([REST_REVIEW], "github"), (JIRA, "jira"), (JIRA["issues"], "jira"), ([ISSUE], "beads"), (TASKS, "tasks"),
        ({}, None), ([], None), ([1], None), ({"nodes": {}, "edges": []}, None), ({"a": 1}, None), ([{"title": "x"}], None),
        ({"nodes": {"a": {"title": "x"}}, "edges": []}, None), ([ISSUE, {"a": 1}], None), ([{**ISSUE, "text": "mine"}], None), ({"issues": [1]}, None),
    ],
)  # fmt: skip
def test_kinds_of_records(value: Any, ref: str | None) -> None:
    assert kind_of_records(value) == ref


def types(vault: lamina.Vault) -> dict[str, str]:
    return {chunk.id: chunk.type for chunk in vault.list(limit=None)}


def test_what_gh_and_jira_print_is_read_as_what_it_is(tmp_path: Path) -> None:  # findings, seeds-b 45 and gap 10
    folder = tmp_path / "exports"
    folder.mkdir()
    files = {
        "runs": [RUN],
        "prs": [REQUEST],
        "commits": [COMMIT],
        "releases": [RELEASE],
        "review": REST_REVIEW,
        "jira": JIRA,
    }
    for name, value in files.items():
        (folder / f"{name}.json").write_text(json.dumps(value))
    (folder / "other.json").write_text('{"number": "of things"}')
    with lamina.open(tmp_path / "v", create=True) as vault:
        report = vault.ingest(str(folder))
        assert (report.added, report.problems) == (8, [])
        found = types(vault)
        assert found["github:run:o/r:5"] == "github_ci_result"
        assert found["github:o/r#4"] == "github_pr"
        assert (found["github:o/r#4/review:R1"], found["github:o/r#4/review:9"]) == ("github_pr_review",) * 2
        assert (found[f"commit:{'d' * 40}"], found["jira:AB-1"]) == ("github_commit", "jira_issue")
        assert sorted(found.values()).count("implementation") == 1, "another JSON file stays code"
        run = vault.get("github:run:o/r:5")
        assert (run.success, run.project, run.collection, run.title) == (False, "r", "github", "CI: failure on main")
        assert (run.metadata["branch"], run.created_at_us) == ("main", 1772359200000000)
        again = vault.ingest(str(folder))
        assert (again.added, again.updated, again.chunks) == (0, 0, 0)


def test_logs_of_git_and_diffs(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()

    def git(*arguments: str) -> str:
        who = ("-c", "user.name=Ada", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false")
        return subprocess.run(
            ["git", "-C", str(work), *who, *arguments], capture_output=True, text=True, check=True
        ).stdout

    git("init", "-q")
    for number in (1, 2):
        (work / "a.txt").write_text(f"line {number}\n")
        git("add", ".")
        git(
            "commit",
            "-q",
            "-m",
            f"Change {number}\n\nBecause of {number}.",
            "--date",
            f"2026-03-0{number}T10:00:00+0100",
        )
    out = tmp_path / "out"
    out.mkdir()
    (out / "history.txt").write_text(git("log", "--name-status"))
    (out / "last.diff").write_text(git("show"))
    (out / "notes.txt").write_text("commit to the plan\nAuthor: nobody\n")
    with lamina.open(tmp_path / "v", create=True) as vault:
        vault.ingest(str(out))
        commits = [chunk for chunk in vault.list(limit=None) if chunk.type == "github_commit"]
        assert [(c.title, c.agent, c.metadata["files"]) for c in commits] == [
            (f"Change {n}", "Ada", ["a.txt"]) for n in (2, 1)
        ]
        assert [str(c.created_at) for c in commits] == ["2026-03-02 09:00:00+00:00", "2026-03-01 09:00:00+00:00"]
        assert commits[0].text == "Change 2\n\nBecause of 2."
        diff = next(chunk for chunk in vault.list(limit=None) if chunk.type == "github_pr_diff")
        assert (diff.title, diff.metadata["file"]) == ("last.diff · a.txt", "a.txt")
        assert "+line 2" in diff.text
        assert [c.source for c in vault.list(limit=None) if c.type == "note"] == ["notes.txt"]


def test_a_task_graph_without_a_kind(tmp_path: Path) -> None:  # findings, seeds-a 33
    file = tmp_path / "task_graph.json"
    file.write_text(json.dumps(TASKS))
    with lamina.open(tmp_path / "v", create=True) as vault:
        vault.ingest(str(file))
        assert types(vault) == {"t1": "agent_task"}
        TASK = {**TASKS["nodes"]["t1"], "title": "Build it twice"}  # type: ignore[index]
        file.write_text(json.dumps({"nodes": {"t1": TASK}, "edges": []}))
        assert vault.ingest(str(file)).updated == 1
        assert vault.get("t1").title == "Build it twice"


@pytest.mark.parametrize("content", ["hello", "[1, 2]", '{"nodes": 3}'])
def test_a_users_file_is_never_renamed_unless_asked(tmp_path: Path, content: str) -> None:  # findings, seeds-a gap 5
    file = tmp_path / "todo.txt"
    file.write_text(content)
    with lamina.open(tmp_path / "v", create=True) as vault:
        with pytest.raises(lamina.IngestError, match=r"was left as it is.*recover=True"):
            vault.ingest(str(file), kind="tasks")
        assert file.read_text() == content
        assert vault.ingest(str(file), kind="tasks", recover=True).problems[0].code == "corrupt"
    assert not file.exists()
    assert (tmp_path / "todo.txt.corrupt-1").read_text() == content


@pytest.mark.parametrize(("path", "kind"), [(".", "beads"), (".beads", "beads"), (".", "auto"), (".beads", "auto")])
def test_beads_from_a_project(tmp_path: Path, path: str, kind: SourceKind) -> None:  # findings, seeds-a 15 and gap 8
    project = tmp_path / "project"
    (project / ".beads").mkdir(parents=True)
    (project / ".beads" / "issues.jsonl").write_text(f"{json.dumps(ISSUE)}\n")
    with lamina.open(tmp_path / "v", create=True) as vault:
        assert vault.ingest(str(project / path), kind=kind).added == 1
        assert vault.get("bd-1").collection == "beads"
        empty = tmp_path / "empty"
        empty.mkdir()
        with pytest.raises(lamina.IngestError, match="bd export"):
            vault.ingest(str(empty), kind="beads")


def test_an_export_that_goes_is_no_longer_a_source_and_its_records_stay(tmp_path: Path) -> None:
    folder = tmp_path / "exports"
    folder.mkdir()
    (folder / "runs.json").write_text(json.dumps([RUN]))
    with lamina.open(tmp_path / "v", create=True) as vault:
        vault.ingest(str(folder))
        (folder / "runs.json").unlink()
        vault.ingest(str(folder))
        assert vault.get("github:run:o/r:5").status == "active"


def test_every_kind_can_be_named() -> None:
    assert {*get_args(SourceKind)} == {*ALL_KINDS}


def test_an_export_with_a_very_long_line_is_still_one(tmp_path: Path) -> None:
    issue = {**ISSUE, "description": "a pasted log\n" * 100_000}
    path = tmp_path / "issues.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in (issue, {**ISSUE, "id": "other"})))
    with lamina.open(tmp_path / "v", create=True, embedder="none") as vault:
        vault.ingest(path)
        assert "other" in types(vault)

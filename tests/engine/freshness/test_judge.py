"""Every way in which git changes what a memory came from: exact tier, reason and count for each."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from lamina import FixedClock, Vault
from lamina_engine.freshness.report import FreshnessItem
from tests.engine.freshness.repositories import Git, body


def stored(vault: Vault, folder: Path) -> None:
    report = vault.ingest(folder, links=False)
    assert report.problems == []


def only(vault: Vault, source: str = "a.md") -> FreshnessItem:
    items = {item for item in vault.freshness().items if item.source == source}
    assert len(items) == 1
    return items.pop()


def said(item: FreshnessItem) -> tuple[str, str, int | None, bool]:
    return item.tier, item.reason_code, item.commits, item.needs_review


@pytest.mark.parametrize(
    ("commits", "tier"),
    [
        (0, "fresh"),
        (1, "fresh"),
        (2, "fresh"),
        (3, "aging"),
        (9, "aging"),
        (10, "stale"),
        (24, "stale"),
        (25, "expired"),
    ],
)
def test_commits_to_the_file_set_the_tier(lexical_vault: Vault, git: Git, commits: int, tier: str) -> None:
    stored(lexical_vault, git.root)
    git.later()
    git.touch("b.md", 2)
    git.touch("a.md", commits)
    assert said(only(lexical_vault)) == (tier, "commits", commits, commits > 0)
    assert said(only(lexical_vault, "b.md")) == ("fresh", "commits", 2, True)


def test_commits_before_storing_do_not_count(lexical_vault: Vault, git: Git) -> None:
    git.touch("a.md", 12)
    stored(lexical_vault, git.root)
    assert said(only(lexical_vault)) == ("fresh", "commits", 0, False)


def test_what_counts_is_when_a_commit_was_made_and_not_when_it_was_first_seen(
    lexical_vault: Vault, git: Git, clock: FixedClock
) -> None:
    """The defect of counting by the time of a synchronisation: old commits are not new because a scan is late."""
    git.touch("a.md", 30)
    stored(lexical_vault, git.root)
    clock.advance(400 * 86_400)
    assert said(only(lexical_vault)) == ("fresh", "commits", 0, False)


def test_equal_paths_of_two_repositories_do_not_mix(lexical_vault: Vault, git: Git, tmp_path: Path) -> None:
    other = Git(tmp_path / "other")
    other.write("a.md", body("another a"))
    other.commit()
    stored(lexical_vault, git.root)
    stored(lexical_vault, other.root)
    git.later()
    git.touch("a.md", 12)
    got = {item.repository: said(item) for item in lexical_vault.freshness().items if item.source == "a.md"}
    assert got == {
        git.root.resolve().as_posix(): ("stale", "commits", 12, True),
        other.root.resolve().as_posix(): ("fresh", "commits", 0, False),
    }


def test_a_deleted_file(lexical_vault: Vault, git: Git) -> None:
    stored(lexical_vault, git.root)
    git.later()
    git("rm", "-q", "a.md")
    git.commit()
    item = only(lexical_vault)
    assert said(item) == ("expired", "deleted", 1, True)
    assert item.path == "a.md"


@pytest.mark.parametrize("staged", [True, False])
def test_a_file_deleted_and_not_committed(lexical_vault: Vault, git: Git, staged: bool) -> None:
    stored(lexical_vault, git.root)
    if staged:
        git("rm", "-q", "a.md")
    else:
        (git.root / "a.md").unlink()
    assert said(only(lexical_vault)) == ("expired", "deleted", 0, True)


def test_a_file_that_was_deleted_and_came_back(lexical_vault: Vault, git: Git) -> None:
    stored(lexical_vault, git.root)
    git.later()
    git("rm", "-q", "a.md")
    git.commit()
    git.write("a.md", body("a"))
    git.commit()
    item = only(lexical_vault)
    assert said(item) == ("fresh", "commits", 2, True)
    assert item.content_changed is False


def test_a_renamed_file_is_followed(lexical_vault: Vault, git: Git) -> None:
    stored(lexical_vault, git.root)
    git.later()
    (git.root / "deep").mkdir()
    git("mv", "a.md", "deep/c.md")
    git.commit()
    git.touch("deep/c.md", 1)
    item = only(lexical_vault)
    assert said(item) == ("fresh", "renamed", 2, True)
    assert item.path == "deep/c.md"
    assert "deep/c.md" in item.reason


def test_renamed_twice_and_then_deleted(lexical_vault: Vault, git: Git) -> None:
    stored(lexical_vault, git.root)
    git.later()
    for former, name in (("a.md", "c.md"), ("c.md", "d.md")):
        git("mv", former, name)
        git.commit()
    git("rm", "-q", "d.md")
    git.commit()
    item = only(lexical_vault)
    assert said(item) == ("expired", "deleted", 3, True)
    assert item.path == "d.md"


def test_a_new_file_under_the_former_name_is_another_file(lexical_vault: Vault, git: Git) -> None:
    stored(lexical_vault, git.root)
    git.later()
    git("mv", "a.md", "c.md")
    git.commit()
    git.write("a.md", body("something else"))
    git.commit()
    git.touch("a.md", 30)
    item = only(lexical_vault)
    assert said(item) == ("fresh", "renamed", 1, True)
    assert item.path == "c.md"


def test_a_rename_that_is_only_staged(lexical_vault: Vault, git: Git) -> None:
    stored(lexical_vault, git.root)
    git("mv", "a.md", "c.md")
    item = only(lexical_vault)
    assert (item.tier, item.reason_code, item.commits, item.path) == ("fresh", "renamed", 0, "c.md")
    assert item.content_changed is False


def test_merges_count_the_commits_of_their_branches_once(lexical_vault: Vault, git: Git) -> None:
    stored(lexical_vault, git.root)
    git.later()
    git("checkout", "-q", "-b", "work")
    git.touch("a.md", 3)
    git("checkout", "-q", "main")
    git.touch("b.md", 1)
    git("merge", "-q", "--no-ff", "-m", "merge", "work")
    assert said(only(lexical_vault)) == ("aging", "commits", 3, True)
    assert git("rev-list", "--count", f"{only(lexical_vault).commit}..HEAD", "--", "a.md") == "3"


def test_a_branch_that_was_merged_after_storing_but_begun_before(lexical_vault: Vault, git: Git) -> None:
    git("checkout", "-q", "-b", "work")
    git.touch("a.md", 4)
    git("checkout", "-q", "main")
    git.touch("b.md", 1)
    stored(lexical_vault, git.root)
    git.later()
    git("merge", "-q", "--no-ff", "-m", "merge", "work")
    assert said(only(lexical_vault)) == ("aging", "commits", 4, True)


def test_a_branch_that_knows_the_file_by_its_former_name(lexical_vault: Vault, git: Git) -> None:
    stored(lexical_vault, git.root)
    git.later()
    git("checkout", "-q", "-b", "work")
    git.touch("a.md", 2)
    git("checkout", "-q", "main")
    git("mv", "a.md", "c.md")
    git.commit()
    git("merge", "-q", "--no-ff", "-m", "merge", "work")
    item = only(lexical_vault)
    # two on the branch, the rename, and the merge, whose file is that of neither side
    assert said(item) == ("aging", "renamed", 4, True)
    assert git("rev-list", "--count", f"{item.commit}..HEAD", "--", "a.md", "c.md") == "4"
    assert item.path == "c.md"


def test_a_rebase_falls_back_to_the_date(lexical_vault: Vault, git: Git) -> None:
    git("checkout", "-q", "-b", "work")
    git.touch("a.md", 5)
    stored(lexical_vault, git.root)
    git("checkout", "-q", "main")
    git.touch("b.md", 1)
    git("checkout", "-q", "work")
    git.later()
    git("rebase", "-q", "main")
    git.touch("a.md", 3)
    item = only(lexical_vault)
    assert said(item) == ("aging", "history_rewritten", 3, True)
    assert item.counted_by == "date"


def test_a_force_pushed_history_falls_back_to_the_date(lexical_vault: Vault, git: Git, tmp_path: Path) -> None:
    clone = Git(tmp_path / "clone", init=False)
    clone("clone", "-q", str(git.root), ".")
    stored(lexical_vault, clone.root)
    git("commit", "-q", "--amend", "-m", "another beginning")
    git.later()
    git.touch("a.md", 11)
    clone("fetch", "-q", "--force", "origin")
    clone("reset", "-q", "--hard", "origin/main")
    assert said(only(lexical_vault)) == ("stale", "history_rewritten", 11, True)
    clone("reflog", "expire", "--expire=now", "--all")
    clone("gc", "-q", "--prune=now")
    assert said(only(lexical_vault)) == ("stale", "history_rewritten", 11, True)
    assert said(only(lexical_vault, "b.md")) == ("fresh", "history_rewritten", 0, False)


def test_another_branch_is_no_rewritten_history(lexical_vault: Vault, git: Git) -> None:
    git("checkout", "-q", "-b", "work")
    git.touch("a.md", 2)
    stored(lexical_vault, git.root)
    git("checkout", "-q", "main")
    item = only(lexical_vault)
    assert said(item) == ("fresh", "content_changed", 0, True)
    git.later()
    git.touch("a.md", 3)
    assert said(only(lexical_vault)) == ("aging", "commits", 3, True)


@pytest.mark.parametrize("staged", [True, False])
def test_edits_that_are_not_committed(lexical_vault: Vault, git: Git, staged: bool) -> None:
    stored(lexical_vault, git.root)
    git.write("a.md", body("a") + "more\n")
    if staged:
        git("add", "-A")
    item = only(lexical_vault)
    assert said(item) == ("fresh", "content_changed", 0, True)
    assert item.content_changed is True
    assert said(only(lexical_vault, "b.md")) == ("fresh", "commits", 0, False)


def test_what_was_read_is_what_counts_and_not_what_was_committed(lexical_vault: Vault, git: Git) -> None:
    """A memory is bound to the bytes that were seen: an edited work tree, read as it was, has not changed since."""
    git.write("a.md", body("a") + "not committed\n")
    stored(lexical_vault, git.root)
    item = only(lexical_vault)
    assert said(item) == ("fresh", "commits", 0, False)
    git("checkout", "-q", "a.md")
    assert said(only(lexical_vault)) == ("fresh", "content_changed", 0, True)


def test_other_line_ends_are_no_change(lexical_vault: Vault, git: Git) -> None:
    stored(lexical_vault, git.root)
    (git.root / "a.md").write_bytes(body("a").replace("\n", "\r\n").encode())
    assert said(only(lexical_vault)) == ("fresh", "commits", 0, False)


@pytest.mark.parametrize("name", ["with spaces/ä ö — notes.md", "日本語/メモ.md", "-rf.md", "a'b\"c.md", "[x]*.md"])
def test_paths_of_any_kind(lexical_vault: Vault, git: Git, name: str) -> None:
    git.write(name, body("c"))
    git.commit()
    stored(lexical_vault, git.root)
    git.later()
    git.touch(name, 10)
    item = only(lexical_vault, name)
    assert said(item) == ("stale", "commits", 10, True)
    assert item.path == name


def test_a_submodule_has_its_own_history(lexical_vault: Vault, git: Git, tmp_path: Path) -> None:
    part = Git(tmp_path / "part")
    part.write("s.md", body("s"))
    part.commit()
    git("submodule", "--quiet", "add", str(part.root), "part")
    git.commit()
    stored(lexical_vault, git.root)
    inner = Git(git.root / "part", init=False)
    inner.later()
    inner.touch("s.md", 10)
    item = only(lexical_vault, "part/s.md")
    assert said(item) == ("stale", "commits", 10, True)
    assert item.repository == (git.root / "part").resolve().as_posix()


def test_a_linked_work_tree(lexical_vault: Vault, git: Git, tmp_path: Path) -> None:
    git("worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    side = Git(tmp_path / "side", init=False)
    stored(lexical_vault, side.root)
    side.later()
    side.touch("a.md", 3)
    git.later()
    git.touch("b.md", 20)
    assert said(only(lexical_vault)) == ("aging", "commits", 3, True)
    assert said(only(lexical_vault, "b.md")) == ("fresh", "commits", 0, False)


def test_a_shallow_clone_with_the_commit(lexical_vault: Vault, git: Git, tmp_path: Path) -> None:
    git.touch("a.md", 5)
    clone = Git(tmp_path / "clone", init=False)
    clone("clone", "-q", "--depth", "1", f"file://{git.root}", ".")
    stored(lexical_vault, clone.root)
    git.later()
    git.touch("a.md", 3)
    clone("fetch", "-q", "origin")
    clone("reset", "-q", "--hard", "origin/main")
    assert said(only(lexical_vault)) == ("aging", "commits", 3, True)


def test_a_shallow_clone_without_the_commit(lexical_vault: Vault, git: Git) -> None:
    stored(lexical_vault, git.root)
    git.later()
    git.touch("a.md", 3)
    shallow = git.root.with_name("shallow")
    Git(shallow, init=False)("clone", "-q", "--depth", "1", f"file://{git.root}", ".")
    shutil.rmtree(git.root)
    shallow.rename(git.root)
    item = only(lexical_vault)
    assert said(item) == ("unknown", "no_history", None, True)
    assert "shallow" in item.reason
    assert said(only(lexical_vault, "b.md")) == ("unknown", "no_history", None, False)


def test_a_shallow_clone_that_moved_on(lexical_vault: Vault, git: Git, tmp_path: Path) -> None:
    clone = Git(tmp_path / "clone", init=False)
    clone("clone", "-q", "--depth", "1", f"file://{git.root}", ".")
    stored(lexical_vault, clone.root)
    git.later()
    git.touch("a.md", 3)
    clone("fetch", "-q", "--depth", "1", "origin")
    clone("reset", "-q", "--hard", "origin/main")
    assert said(only(lexical_vault)) == ("unknown", "no_history", None, True)


def test_another_work_tree_of_the_same_project_can_be_asked(lexical_vault: Vault, git: Git, tmp_path: Path) -> None:
    stored(lexical_vault, git.root)
    full, shallow = Git(tmp_path / "full", init=False), Git(tmp_path / "shallow", init=False)
    full("clone", "-q", str(git.root), ".")
    full.later()
    full.touch("a.md", 10)
    git.later()
    git.touch("b.md", 1)
    shallow("clone", "-q", "--depth", "1", f"file://{git.root}", ".")
    stranger = Git(tmp_path / "stranger")
    stranger.write("a.md", body("a stranger's a"))
    stranger.commit()

    def of(repo: Path) -> dict[str | None, tuple[str, str, int | None, bool]]:
        return {item.source: said(item) for item in lexical_vault.freshness(repo).items}

    assert of(git.root)["a.md"] == ("fresh", "commits", 0, False)
    assert of(full.root)["a.md"] == ("stale", "commits", 10, True)
    assert of(shallow.root)["a.md"] == ("unknown", "no_history", None, False)
    assert of(stranger.root) == {}


def test_commits_of_the_same_second_count_by_date(lexical_vault: Vault, git: Git, clock: FixedClock) -> None:
    """git's dates are whole seconds; what was committed in the very second of storing is counted rather than missed."""
    clock.advance(0.75)
    stored(lexical_vault, git.root)
    git("commit", "-q", "--amend", "-m", "another")
    git.date_s = clock.now_us() // 1_000_000 - 86_400
    git.touch("a.md", 1)
    assert said(only(lexical_vault)) == ("fresh", "history_rewritten", 1, True)


def test_a_folder_without_a_repository(lexical_vault: Vault, tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "a.md").write_text(body("a"))
    stored(lexical_vault, tmp_path / "plain")
    assert said(only(lexical_vault)) == ("unknown", "no_repo", None, False)


def test_a_machine_without_git(lexical_vault: Vault, git: Git, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stored(lexical_vault, git.root)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert said(only(lexical_vault)) == ("unknown", "no_git", None, False)
    assert len(lexical_vault.list()) == 2


def test_a_repository_without_commits(lexical_vault: Vault, tmp_path: Path) -> None:
    git = Git(tmp_path / "new")
    git.write("a.md", body("a"))
    stored(lexical_vault, git.root)
    assert said(only(lexical_vault)) == ("unknown", "no_history", None, False)
    git.later()
    git.commit()
    item = only(lexical_vault)
    assert said(item) == ("fresh", "commits", 1, True)
    assert item.counted_by == "date"


def test_an_untracked_file(lexical_vault: Vault, git: Git) -> None:
    git.write("c.md", body("c"))
    stored(lexical_vault, git.root)
    assert said(only(lexical_vault, "c.md")) == ("unknown", "no_history", None, False)
    git.write("c.md", body("another c"))
    assert said(only(lexical_vault, "c.md")) == ("unknown", "no_history", None, True)


def test_a_sparse_checkout_deletes_nothing(lexical_vault: Vault, git: Git) -> None:
    git.write("sub/c.md", body("c"))
    git.commit()
    stored(lexical_vault, git.root)
    git("sparse-checkout", "set", "--no-cone", "/*.md")
    assert not (git.root / "sub" / "c.md").exists()
    assert said(only(lexical_vault, "sub/c.md")) == ("fresh", "commits", 0, False)


def test_a_repository_that_others_own_is_not_read(
    lexical_vault: Vault, git: Git, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stored(lexical_vault, git.root)
    fake = tmp_path / "bin"
    fake.mkdir()
    (fake / "git").write_text("#!/bin/sh\necho 'fatal: detected dubious ownership' >&2\nexit 128\n")
    (fake / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(fake))
    item = only(lexical_vault)
    assert said(item) == ("unknown", "no_repo", None, False)
    assert "dubious" in item.reason


def test_git_that_fails_midway_gives_unknown_and_says_so(
    lexical_vault: Vault, git: Git, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stored(lexical_vault, git.root)
    fake = tmp_path / "bin"
    fake.mkdir()
    real = shutil.which("git")
    (fake / "git").write_text(f'#!/bin/sh\ncase "$*" in *" log "*|*" log") exit 3;; esac\nexec {real} "$@"\n')
    (fake / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake}{os.pathsep}{os.environ['PATH']}")
    report = lexical_vault.freshness()
    assert {said(item) for item in report.items} == {("unknown", "no_history", None, False)}
    assert len(report.problems) == 1


def test_a_damaged_base_is_not_passed_to_git(lexical_vault: Vault, git: Git) -> None:
    """What a vault says of a commit is data: nothing of it becomes an option of git."""
    from lamina_engine.freshness.history import History
    from lamina_engine.ingest.git import Repository, examine_repository

    repository = examine_repository(git.root)
    assert isinstance(repository, Repository)
    history = History(repository, {"--output=/tmp/x", "-n1", ""})
    assert history.locate("--output=/tmp/x") == "rewritten"


def test_nothing_of_the_repository_is_run(lexical_vault: Vault, git: Git, tmp_path: Path) -> None:
    """Every program that a repository's own configuration can name leaves a mark when it runs."""
    git.write(".gitattributes", "*.md diff=evil filter=evil\n")
    git.commit()
    stored(lexical_vault, git.root)
    (own,) = lexical_vault.add("words about b", source=str(git.root / "b.md"))
    git.later()
    git.touch("b.md", 3)
    git("mv", "a.md", "c.md")
    mark, program = tmp_path / "mark", tmp_path / "evil"
    program.write_text(f"#!/bin/sh\ntouch {mark}\ncat\n")
    program.chmod(0o755)
    for hook in ("post-index-change", "reference-transaction", "fsmonitor-watchman", "post-checkout"):
        (git.root / ".git" / "hooks").mkdir(exist_ok=True)
        shutil.copy(program, git.root / ".git" / "hooks" / hook)
    for key in (
        "core.fsmonitor", "core.pager", "pager.log", "diff.external", "diff.evil.command", "diff.evil.textconv",
        "filter.evil.clean", "filter.evil.smudge", "gpg.program", "core.sshCommand", "core.editor",
    ):  # fmt: skip
        git("config", key, str(program))
    git("config", "core.hooksPath", str(git.root / ".git" / "hooks"))
    os.utime(git.root / "b.md", (1, 1))
    mark.unlink(missing_ok=True)
    assert only(lexical_vault).reason_code == "renamed"
    assert [item.id for item in lexical_vault.refresh(own).work] == [own]
    lexical_vault.refresh(needs_review=True, dry_run=False)
    assert not mark.exists()
    git("log", "--oneline")
    git("diff", "HEAD~1")
    assert mark.exists()  # the trap works

"""The one pass over history against git's own counting, on random histories with branches and merges."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from lamina_engine.freshness.history import HERE, REWRITTEN, History
from lamina_engine.ingest.git import Repository, examine_repository
from tests.engine.freshness.repositories import Git, body


def history_of(git: Git, bases: set[str], *, complete: bool = False) -> History:
    repository = examine_repository(git.root)
    assert isinstance(repository, Repository)
    return History(repository, bases, complete=complete)


def grown(git: Git, seed: int, steps: int) -> list[str]:
    """Grow a history with branches and merges; return its commits."""
    chosen = random.Random(seed)
    names = ["a.md", "b.md", "c.md"]
    for name in names:
        git.write(name, body(name))
    git.commit()
    branches = ["main"]
    for step in range(steps):
        what = chosen.random()
        if what < 0.15 and len(branches) < 4:
            branches.append(f"work{step}")
            git("checkout", "-q", "-b", branches[-1])
        elif what < 0.3 and len(branches) > 1:
            git("checkout", "-q", "main")
            git(
                "merge", "-q", "-s", "ours" if chosen.random() < 0.2 else "ort", "-X", "ours", "-m", "m", branches.pop()
            )
        else:
            git("checkout", "-q", chosen.choice(branches))
            git.touch(chosen.choice(names))
    git("checkout", "-q", "main")
    return git("rev-list", "--all").split()


@pytest.mark.parametrize("seed", range(3))
def test_counts_are_those_of_git_whatever_the_branches(tmp_path: Path, seed: int) -> None:
    git = Git(tmp_path / "r")
    commits = grown(git, seed, 25)
    here = set(git("rev-list", "HEAD").split())
    for history in (history_of(git, set(commits)), history_of(git, {commits[3]} | here, complete=True)):
        for base in commits:
            if base not in here:
                continue
            assert history.locate(base) == HERE
            later = history.since(base)
            got = {history.commits[i].id for i in range(len(history.commits)) if later(i)}
            assert got == set(git("rev-list", f"{base}..HEAD").split())


def test_the_log_is_read_no_further_than_needed(git: Git) -> None:
    git.touch("a.md", 20)
    base = git("rev-parse", "HEAD")
    git.touch("a.md", 3)
    history = history_of(git, {base})
    assert len(history.commits) == 3
    assert history.follow("a.md", history.since(base)).commits == 3
    assert len(history_of(git, {base}, complete=True).commits) == 24
    assert len(history_of(git, set()).commits) == 24


def test_histories_without_a_common_commit(git: Git) -> None:
    old = git("rev-parse", "HEAD")
    git("checkout", "-q", "--orphan", "fresh")
    git.commit()
    history = history_of(git, {old})
    assert history.locate(old) == "elsewhere"
    assert history.follow("a.md", history.since(old)).commits == 1
    git("branch", "-q", "-D", "main")
    assert history_of(git, {old}).locate(old) == REWRITTEN
    assert history_of(git, {"0" * 40}).locate("0" * 40) == REWRITTEN

"""The real notes, ingested at an older commit and judged at the newest: exact counts, and quickly."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import lamina
from lamina import FixedClock, Vault

_BEHIND = 300
"""Commits between what was read and what is checked out."""


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(folder), *arguments], check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture(scope="module")
def notes(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Vault, Path]]:
    bundle = data / "notes-vault" / "til.bundle"
    if not bundle.is_file():
        pytest.skip("the notes are not beside the project")
    top = tmp_path_factory.mktemp("til")
    subprocess.run(["git", "clone", "-q", str(bundle), str(top / "notes")], check=True)
    newest = git(top / "notes", "rev-parse", "HEAD")
    git(top / "notes", "checkout", "-q", f"HEAD~{_BEHIND}")
    with lamina.open(top / "vault", create=True, clock=FixedClock("2030-01-01"), embedder="none") as vault:
        vault.ingest(top / "notes", links=False)
        git(top / "notes", "checkout", "-q", newest)
        yield vault, top / "notes"


def test_a_full_scan_takes_less_than_three_seconds(notes: tuple[Vault, Path]) -> None:
    vault, _ = notes
    vault.freshness()
    taken = []
    for _ in range(3):
        started = time.perf_counter()
        report = vault.freshness()
        taken.append(time.perf_counter() - started)
    assert report.checked == len(vault.list(limit=None)) > 1700
    assert report.counts["unknown"] == 0
    assert min(taken) <= 3.0


def test_counts_are_those_of_git(notes: tuple[Vault, Path]) -> None:
    vault, folder = notes
    items = {item.source: item for item in vault.freshness().items}
    changed = [item for item in items.values() if item.commits]
    assert len(changed) > 3
    for item in changed:
        if item.reason_code == "commits":
            ref = git(folder, "rev-list", "--count", f"{item.commit}..HEAD", "--", str(item.path))
            assert item.commits == int(ref), item.source
    quiet = [item for item in items.values() if not item.commits][::100]
    for item in quiet:
        assert git(folder, "rev-list", "--count", f"{item.commit}..HEAD", "--", str(item.path)) == "0"


def test_a_scan_with_a_base_for_each_commit_is_as_quick(notes: tuple[Vault, Path], tmp_path: Path) -> None:
    """Memories of many moments: each has its own commit to be counted from."""
    _, folder = notes
    commits = git(folder, "rev-list", "--max-count=1000", "HEAD").split()
    with lamina.open(tmp_path / "vault", create=True, embedder="none") as vault:
        memory = vault._memory
        ids = vault.add([{"text": f"memory {i}", "created_at": "2020-01-01"} for i in range(len(commits))])
        with memory.write() as (transaction, view):
            rows = view.rows_of_ids(ids)
            n = len(rows)
            transaction.append(
                "origins",
                {"chunk": ids, "row": rows, "repository": [folder.resolve().as_posix()] * n, "path": ["README.md"] * n,
                 "commit": commits, "blob": [None] * n},
                transaction.stamps(n),
            )  # fmt: skip
        taken = []
        for _ in range(2):
            started = time.perf_counter()
            report = vault.freshness()
            taken.append(time.perf_counter() - started)
        assert min(taken) <= 3.0
        got = {item.commit: item.commits for item in report.items}
        for commit in commits[::97]:
            assert got[commit] == int(git(folder, "rev-list", "--count", f"{commit}..HEAD", "--", "README.md"))

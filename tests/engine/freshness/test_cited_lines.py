"""Sources with a line, and the archive of a tier: findings, seeds-b rows 14 and 28 of 002."""

from __future__ import annotations

from pathlib import Path

import pytest

import lamina
from tests.engine.freshness.repositories import Git


@pytest.mark.parametrize("cited", ["src/e.py:12", "src/e.py:12-20", "src/e.py:12:5", "src/e.py#L12-L20", "src/e.py"])
def test_a_memory_that_cites_a_line_is_judged_by_its_file(
    git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cited: str
) -> None:
    git.write("src/e.py", "x = 1\n")
    git.commit()
    monkeypatch.chdir(git.root)
    with lamina.open(tmp_path / "vault", create=True, embedder="none") as vault:
        vault.add("the retry lives in e", id="cited", source=cited)
        git.write("src/e.py", "x = 2\n")
        git.commit()
        [item] = vault.freshness().items
        assert (item.id, item.commits, item.needs_review) == ("cited", 1, True)
        assert vault.recall("retry")[0].to_dict()["needs_review"] is True


def test_the_archive_takes_a_tier(git: Git, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(git.root)
    with lamina.open(tmp_path / "vault", create=True, embedder="none") as vault:
        vault.add("about a", id="a", source="a.md")
        vault.add("about b", id="b", source="b.md")
        vault.add("about b, pinned", id="c", source="b.md")
        vault.pin("c")
        (git.root / "b.md").unlink()
        git.commit()
        vault.freshness()
        assert vault.archive(tier="expired").ids == ("b",)
        assert vault.archive(tier="expired", dry_run=False).after_days is None
        assert vault.get("b").status == "archived"
        with pytest.raises(lamina.InvalidArgument, match="ids and a tier"):
            vault.archive("a", tier="expired")
        with pytest.raises(lamina.InvalidArgument, match="freshness"):
            vault.archive(tier="rotten")  # type: ignore[arg-type]

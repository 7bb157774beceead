"""Writes to a sharded vault reach the right shards, and its answers stay those of a local one given the same."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import lamina
from lamina import FixedClock, Vault
from tests.engine.shards.corpus import answers, change, reopened

LATER = "2026-06-20T08:00:00Z"


def require_equal(local: Vault, sharded: Vault) -> None:
    for (asked, ours), (_, theirs) in zip(answers(local), answers(sharded), strict=True):
        assert theirs == ours, asked


@pytest.fixture(scope="module")
def made(corpus_vault: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("local") / "vault"
    shutil.copytree(corpus_vault, place)
    return place


@pytest.mark.parametrize(("shards", "by"), [(1, "source"), (3, "project"), (8, "source")])
def test_writes_change_answers_as_in_a_local_vault(made: Path, tmp_path: Path, shards: int, by: str) -> None:
    shutil.copytree(made, tmp_path / "local")
    with reopened(made) as local:
        local.shard(tmp_path / "sharded", shards, by=by)  # type: ignore[arg-type]
    places = (tmp_path / "local", tmp_path / "sharded")
    notes = tmp_path / "notes"
    notes.mkdir()
    for name in ("a", "b", "c"):
        (notes / f"{name}.md").write_text(f"# {name}\n\nThe {name} note speaks of atlas.\n\n## More\n\nAnd of [[a]].\n")
    for place in places:
        with lamina.open(place, clock=FixedClock(LATER)) as vault:
            change(vault, 200)
            change(vault, 240)
            vault.build_links(["sequence", "semantic", "entity"])
            vault.invalidate("c0001", "no longer so")
            vault.snooze("c0002", until="2026-07-30")
            vault.review("c0008", "look again")
            ids = [f"c{start:04d}" for start in (7, 45, 203, 204)]
            report = vault.forget(ids=ids, dry_run=False)
            assert report.chunks == len(ids)
            vault.freshness()
            vault.ingest(notes)
    (notes / "a.md").write_text("# a\n\nThe a note speaks of the new atlas.\n")
    (notes / "b.md").rename(notes / "moved.md")
    for place in places:
        with lamina.open(place, clock=FixedClock(LATER)) as vault:
            vault.ingest(notes)
            assert vault.ingest(notes).unchanged
    with reopened(places[0]) as local, reopened(places[1]) as sharded:
        require_equal(local, sharded)
        assert local.list(limit=None) == sharded.list(limit=None)
        kept = ("chunks", "sources", "links", "facts", "entities", "topics", "status", "types", "rows")
        assert {k: sharded.stats()[k] for k in kept} == {k: local.stats()[k] for k in kept}  # type: ignore[literal-required]

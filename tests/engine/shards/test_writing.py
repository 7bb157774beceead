"""Writes to a sharded vault reach the right shards, and its answers stay those of a local one given the same."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

import lamina
from lamina import FixedClock
from tests.engine.shards.corpus import answers, change, reopened

LATER = "2026-06-20T08:00:00Z"


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of notes, the same for all vaults: paths are in their answers."""
    return tmp_path_factory.mktemp("writing") / "notes"


@pytest.fixture(scope="module")
def local(corpus_vault: Path, notes: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The local vault after all writes."""
    place = tmp_path_factory.mktemp("local") / "vault"
    shutil.copytree(corpus_vault, place)
    write(place, notes)
    return place


@pytest.fixture(scope="module")
def told(local: Path) -> list[Any]:
    """Every question with the local vault's own answer."""
    with reopened(local) as vault:
        return list(answers(vault))


def write(place: Path, notes: Path) -> None:
    """Write to a vault in every way."""
    shutil.rmtree(notes, ignore_errors=True)
    notes.mkdir()
    for name in ("a", "b", "c"):
        put(notes / f"{name}.md", f"# {name}\n\nThe {name} note speaks of atlas.\n\n## More\n\nAnd of [[a]].\n")
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
    put(notes / "a.md", "# a\n\nThe a note speaks of the new atlas.\n")
    (notes / "b.md").rename(notes / "moved.md")
    with lamina.open(place, clock=FixedClock(LATER)) as vault:
        vault.ingest(notes)
        assert vault.ingest(notes).unchanged


def put(path: Path, text: str) -> None:
    """Write a note with a time of change that is the same for every vault."""
    path.write_text(text)
    os.utime(path, (1_780_000_000, 1_780_000_000 + len(text)))


@pytest.mark.parametrize(("shards", "by"), [(1, "source"), (3, "project"), (8, "source")])
def test_writes_change_answers_as_in_a_local_vault(
    corpus_vault: Path, local: Path, told: list[Any], notes: Path, tmp_path: Path, shards: int, by: str
) -> None:
    shutil.copytree(corpus_vault, tmp_path / "local")
    with reopened(tmp_path / "local") as vault:
        vault.shard(tmp_path / "sharded", shards, by=by)  # type: ignore[arg-type]
    write(tmp_path / "sharded", notes)
    with reopened(local) as ours, reopened(tmp_path / "sharded") as sharded:
        every = 1 if shards == 3 else 5  # one in five has every profile with every filter, and all moments
        for (asked, answer), (_, theirs) in zip(told[::every], answers(sharded, every), strict=True):
            assert theirs == answer, asked
        assert ours.list(limit=None) == sharded.list(limit=None)
        kept = ("chunks", "sources", "links", "facts", "entities", "topics", "status", "types", "rows")
        assert {k: sharded.stats()[k] for k in kept} == {k: ours.stats()[k] for k in kept}  # type: ignore[literal-required]

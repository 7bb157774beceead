"""Resharding: a sharded vault cut into another number of shards is the same vault."""

from __future__ import annotations

import hashlib
import itertools
import shutil
from pathlib import Path
from typing import Any

import pytest

import lamina
from lamina import FixedClock, Vault
from lamina_engine.errors import InvalidArgument, VaultCorrupt
from tests.engine.shards.corpus import answers, change, plain, records, reopened
from tests.engine.store.objectstores import Machines

LATER = "2026-06-20T08:00:00Z"


@pytest.fixture(scope="module")
def made(corpus_vault: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The vault beside itself in eight shards."""
    place = tmp_path_factory.mktemp("made")
    shutil.copytree(corpus_vault, place / "local")
    with reopened(place / "local") as local:
        local.shard(place / "in-8", 8)
    return place


def told(vault: Vault) -> list[Any]:
    """Return what a vault answers, and what it knows of its chunks."""
    ids = [chunk.id for chunk in vault.list(limit=None)]
    found: list[Any] = list(answers(vault, 37))
    found += [chunk.to_dict() for chunk in vault.list({"status": {"exists": True}}, limit=None)]
    for one in itertools.islice(ids, 0, None, 17):
        found += [[e.to_dict() for e in vault.history(one)], vault.links(one), vault.timeline(one), vault.causes(one)]
    found += [[f.to_dict() for f in vault.facts.about("Anna")], vault.topics(), vault.projects()]
    found += [plain(vault.diff("database", since="2026-03-10").to_dict()), vault.bootstrap(budget=800).text]
    kept = ("chunks", "sources", "links", "facts", "entities", "topics", "status", "types", "rows")
    return [*found, {name: vault.stats()[name] for name in kept}]  # type: ignore[literal-required]


def digests(place: Path) -> dict[str, str]:
    files = (path for path in sorted(place.rglob("*")) if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_from_8_to_3_to_1_shard_and_on(made: Path, tmp_path: Path) -> None:
    before = digests(made / "in-8")
    with reopened(made / "in-8", mode="r") as vault:
        report = vault.shard(tmp_path / "in-3", 3, by="project")
    assert digests(made / "in-8") == before, "the source is left as it was"
    with reopened(made / "local", mode="r") as local, reopened(tmp_path / "in-3", mode="r") as vault:
        assert sum(report.rows) == local.stats()["rows"]
        assert told(vault) == told(local)
    for place in (made / "local", tmp_path / "in-3"):
        with lamina.open(place, clock=FixedClock(LATER)) as vault:
            change(vault, 200)
            vault.build_links(["sequence", "semantic", "entity"])
            vault.forget(ids=["c0007", "c0203"], dry_run=False)
            vault.freshness()
    with reopened(tmp_path / "in-3", mode="r") as vault:
        assert vault.shard(tmp_path / "in-1", 1).shards == 1
    with reopened(made / "local", mode="r") as local, reopened(tmp_path / "in-1", mode="r") as vault:
        assert told(vault) == told(local)
        assert vault.verify(deep=True).ok
    for place in (made / "local", tmp_path / "in-1"):
        with lamina.open(place, clock=FixedClock("2026-06-25")) as vault:
            change(vault, 240)
    with reopened(made / "local", mode="r") as local, reopened(tmp_path / "in-1", mode="r") as vault:
        assert told(vault) == told(local)


def test_it_is_read_in_pieces(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with reopened(made / "in-8", mode="r") as vault:
        vault.shard(tmp_path / "whole", 2)
        monkeypatch.setattr("lamina_engine.shards.union.SEGMENT_ROWS", 16)
        vault.shard(tmp_path / "pieces", 2)
    logs: list[object] = []
    for name in ("whole", "pieces"):
        with reopened(tmp_path / name, mode="r") as vault:
            snapshot = vault._memory.store.snapshot()
            logs.append({log: [r.rows for r in refs] for log, refs in snapshot.manifest.logs.items()})
            logs.append([chunk.to_dict() for chunk in vault.list(limit=None)])
    assert logs[:2] == logs[2:]


def test_vectors_of_a_model_that_is_not_used_stay_behind(made: Path, tmp_path: Path) -> None:
    with reopened(made / "in-8", mode="r") as vault:
        vault.shard(tmp_path / "copy", 2)
    with reopened(tmp_path / "copy") as vault:
        vault.reindex("wordllama-64", accept=True)
        vault.shard(tmp_path / "again", 2)
        with reopened(tmp_path / "again") as again:
            assert plain(again.recall("database").to_dict()) == plain(vault.recall("database").to_dict())
            assert len(again._memory.store.snapshot().manifest.spaces) == 1
            assert again.verify(deep=True).ok


def test_places_and_bytes_are_checked(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with reopened(made / "in-8", mode="r") as vault:
        with pytest.raises(InvalidArgument, match="lies inside the vault"):
            vault.shard(made / "in-8" / "shards" / "08", 2)
        vault.shard(tmp_path / "in-2", 2)
    path = next((tmp_path / "in-2" / "shards" / "01" / "log" / "chunks").iterdir())
    path.write_bytes(path.read_bytes().replace(b"database", b"databese", 1))
    monkeypatch.setattr("lamina_engine.store.segments.CHECKED_BYTES", 0)  # a large file is not read whole at opening
    with reopened(tmp_path / "in-2", mode="r") as vault, pytest.raises(VaultCorrupt, match="is damaged"):
        vault.shard(tmp_path / "new", 3)
    assert not (tmp_path / "new").exists()


def test_to_and_from_object_storage(machines: Machines, made: Path, tmp_path: Path) -> None:
    machines.use("a")
    with lamina.open(tmp_path / "local", create=True, embedder="none", clock=FixedClock(LATER)) as local:
        local.add(records(0, 40))
        local.shard(tmp_path / "in-4", 4)
        ours = [plain(local.recall(query).to_dict()) for query in ("database", "deploy token")]
    with lamina.open(tmp_path / "in-4", mode="r", embedder="none", clock=FixedClock(LATER)) as vault:
        vault.shard(machines.url, 2)
    with machines.open("b", mode="r", clock=FixedClock(LATER)) as vault:
        assert [plain(vault.recall(query).to_dict()) for query in ("database", "deploy token")] == ours
        vault.shard(tmp_path / "in-1", 1)
    with lamina.open(tmp_path / "in-1", mode="r", embedder="none", clock=FixedClock(LATER)) as vault:
        assert [plain(vault.recall(query).to_dict()) for query in ("database", "deploy token")] == ours

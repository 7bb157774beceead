"""A sharded vault answers as the vault that it was made of: hits, scores, explanations, byte for byte."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.engine.shards.corpus import answers, plain, reopened


@pytest.fixture(scope="module")
def made(corpus_vault: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A vault of everything."""
    place = tmp_path_factory.mktemp("local") / "vault"
    shutil.copytree(corpus_vault, place)
    return place


@pytest.fixture(scope="module")
def told(made: Path) -> list[Any]:
    """Every question with the vault's own answer."""
    with reopened(made) as local:
        return list(answers(local))


@pytest.mark.parametrize(("shards", "by"), [(1, "source"), (2, "project"), (3, "source"), (8, "source")])
def test_recall_gives_the_bytes_of_the_local_vault(
    made: Path, told: list[Any], tmp_path: Path, shards: int, by: str
) -> None:
    with reopened(made) as local:
        report = local.shard(tmp_path / "sharded", shards, by=by)  # type: ignore[arg-type]
        assert sum(report.rows) == local.stats()["rows"]
        with reopened(tmp_path / "sharded") as sharded:
            every = 1 if shards in (2, 8) else 5  # one in five has every profile with every filter, and all moments
            for (asked, ours), (_, theirs) in zip(told[::every], answers(sharded, every), strict=True):
                assert theirs == ours, asked


@pytest.fixture(scope="module")
def pair(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The vault beside itself in three shards."""
    place = tmp_path_factory.mktemp("pair")
    shutil.copytree(made, place / "local")
    with reopened(place / "local") as local:
        local.shard(place / "sharded", 3)
    return place


def test_every_other_reading_call_gives_the_same(pair: Path) -> None:
    with reopened(pair / "local", mode="r") as local, reopened(pair / "sharded", mode="r") as sharded:
        ids = [chunk.id for chunk in local.list(limit=None)]
        assert [chunk.to_dict() for chunk in sharded.list(limit=None)] == [
            chunk.to_dict() for chunk in local.list(limit=None)
        ]
        assert sharded.get_many(ids) == local.get_many(ids)
        assert [e.to_dict() for e in sharded.history("c0003")] == [e.to_dict() for e in local.history("c0003")]
        assert sharded.count({"project": "api"}) == local.count({"project": "api"})
        for one in itertools.islice(ids, 0, None, 7):
            assert sharded.links(one) == local.links(one)
            assert sharded.similar(one) == local.similar(one)
            assert sharded.timeline(one) == local.timeline(one)
            assert sharded.causes(one) == local.causes(one)
        asked = "why did we move the database"
        assert plain(sharded.chain(asked).to_dict()) == plain(local.chain(asked).to_dict())
        assert [f.to_dict() for f in sharded.facts.about("Anna")] == [f.to_dict() for f in local.facts.about("Anna")]
        port = "which port does atlas use"
        assert [a.to_dict() for a in sharded.facts.ask(port)] == [a.to_dict() for a in local.facts.ask(port)]
        assert sharded.topics() == local.topics()
        assert sharded.projects() == local.projects()
        for each in (local, sharded):
            each.freshness()
        assert sharded.list({"freshness": "fresh"}) == local.list({"freshness": "fresh"})
        kept = ("chunks", "sources", "links", "facts", "entities", "topics", "status", "types", "rows")
        assert {k: sharded.stats()[k] for k in kept} == {k: local.stats()[k] for k in kept}  # type: ignore[literal-required]
        assert sharded.why_not("postgres database", ids[3]) == local.why_not("postgres database", ids[3])
        moved = [plain(each.diff("database", since="2026-03-10").to_dict()) for each in (local, sharded)]
        assert moved[0] == moved[1]
        block = [each.bootstrap(budget=800).text for each in (local, sharded)]
        assert block[0] == block[1]

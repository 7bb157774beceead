"""Care of a sharded vault: verified, joined, copied, exported, forgotten from as a whole."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import lamina
from lamina import FixedClock
from lamina_engine.care.verify import verify
from tests.engine.shards.corpus import NOW, answers, plain, records, reopened


@pytest.fixture(scope="module")
def made(corpus_vault: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("pair")
    shutil.copytree(corpus_vault, place / "local")
    with reopened(place / "local") as local:
        local.shard(place / "sharded", 3)
    return place


@pytest.fixture
def place(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "pair")
    return tmp_path / "pair"


def some_answers(vault: lamina.Vault) -> list[Any]:
    return list(answers(vault, 23))


def test_every_shard_is_verified(place: Path) -> None:
    with reopened(place / "sharded") as vault:
        report = vault.verify(deep=True)
        assert report.ok
        assert report.checked["shards"] == 3
    path = next((place / "sharded" / "shards" / "01" / "log" / "chunks").iterdir())
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    assert [problem.where for problem in verify(place / "sharded", deep=True).problems] == [
        f"shards/01/log/chunks/{path.name}"
    ]


def test_what_the_root_names_is_compared(place: Path) -> None:
    old = place / "old"
    shutil.copytree(place / "sharded" / "shards" / "02", old)
    with lamina.open(place / "sharded", clock=FixedClock(NOW)) as vault:
        vault.add(records(400, 30))
        assert vault.verify().ok
    shutil.rmtree(place / "sharded" / "shards" / "02")
    shutil.copytree(old, place / "sharded" / "shards" / "02")
    with pytest.raises(lamina.VaultCorrupt, match=r"shards/02 is behind: it has commit \d+, and its root names \d+"):
        lamina.open(place / "sharded")
    assert [problem.code for problem in verify(place / "sharded").problems] == ["shard"]


def test_joining_files_changes_no_answer(place: Path) -> None:
    with reopened(place / "sharded") as vault:
        for start in range(500, 560, 10):
            vault.add(records(start, 10))
        before = some_answers(vault)
        report = vault.compact()
        assert report.segments_after < report.segments_before
        assert some_answers(vault) == before
        again = vault.compact()
        assert again.segments_after == again.segments_before == report.segments_after == vault.stats()["segments"]


def test_a_backup_is_the_sharded_vault_again(place: Path) -> None:
    with reopened(place / "sharded") as vault:
        report = vault.snapshot(place / "copy")
        assert report.rows == vault.stats()["rows"]
        with reopened(place / "copy") as copy:
            assert copy.verify(deep=True).ok
            assert some_answers(copy) == some_answers(vault)


def test_an_export_is_that_of_the_local_vault(place: Path) -> None:
    lines = []
    for name in ("local", "sharded"):
        with reopened(place / name) as vault:
            vault.export(place / f"{name}.jsonl")
        lines.append((place / f"{name}.jsonl").read_text().splitlines()[1:])  # the first says when and of which vault
    assert lines[0] == lines[1]
    with lamina.open(place / "new", create=True, clock=FixedClock(NOW)) as empty:
        empty.shard(place / "filled", 2)
    with lamina.open(place / "filled", clock=FixedClock(NOW)) as vault, reopened(place / "local") as local:
        vault.import_(place / "local.jsonl")
        assert vault.count() == local.count()
        assert min(sum(1 for _ in shard.view().created_us) for shard in vault._memory.shards) > 0


def test_clustering_gives_the_topics_of_the_local_vault(place: Path) -> None:
    topics = []
    for name in ("local", "sharded"):
        with reopened(place / name) as vault:
            vault.cluster(min_cluster_size=3)
            topics.append([plain(topic.to_dict()) for topic in vault.topics()])
    assert topics[0] == topics[1]


def test_forgetting_leaves_no_byte_in_any_shard(place: Path) -> None:
    words = ["Xyzzyplugh", "Frobnitzen", "Quuxinator"]
    with lamina.open(place / "sharded", clock=FixedClock(NOW)) as vault:
        ids = vault.add([{"text": f"The {word} is secret.", "source": f"{word}.md", "title": word} for word in words])
        vault.link(ids[0], "c0001", "related", note=words[0])
        vault.facts.add(words[1], "is", "secret", source=ids[1])
        homes = {shard.root.name for shard in vault._memory.shards for i in ids if shard.view().all_rows_of_id(i).size}
        assert len(homes) > 1, "they lie in several shards"
        report = vault.forget(ids=ids, dry_run=False)
        assert (report.chunks, report.links) == (3, 1)
    for path in (place / "sharded").rglob("*"):
        if path.is_file():
            content = path.read_bytes().lower()
            assert not [word for word in words if word.lower().encode() in content], path

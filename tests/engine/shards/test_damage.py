"""What is wrong with a sharded vault is said by a typed error, and never answered around."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import lamina
from lamina.vault import vault_place
from lamina_engine.care.verify import verify
from lamina_engine.errors import InvalidArgument, VaultCorrupt, VaultExists, VaultReadOnly
from tests.engine.shards.corpus import records, reopened


@pytest.fixture
def place(tmp_path: Path) -> Path:
    with reopened(tmp_path / "local", create=True) as local:
        local.add(records(0, 30))
        local.shard(tmp_path / "sharded", 3)
    return tmp_path / "sharded"


@pytest.mark.parametrize("shards", [0, -1, 257, True, 2.0, "8"])
def test_a_wrong_number_of_shards_is_refused(tmp_path: Path, shards: object) -> None:
    with reopened(tmp_path / "local", create=True) as local, pytest.raises(InvalidArgument, match="from 1 to 256"):
        local.shard(tmp_path / "sharded", shards)  # type: ignore[arg-type]
    assert not (tmp_path / "sharded").exists()


def test_other_keys_are_refused(tmp_path: Path) -> None:
    with reopened(tmp_path / "local", create=True) as local, pytest.raises(InvalidArgument, match="source, project"):
        local.shard(tmp_path / "sharded", 2, by="size")  # type: ignore[arg-type]


def test_what_is_there_is_not_overwritten(place: Path, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    with reopened(tmp_path / "local") as local:
        for target in (place, tmp_path / "local", tmp_path / "full"):
            with pytest.raises(VaultExists):
                local.shard(target, 2)


def test_a_place_inside_the_vault_is_refused(tmp_path: Path) -> None:
    with (
        reopened(tmp_path / "local", create=True) as local,
        pytest.raises(InvalidArgument, match="lies inside the vault"),
    ):
        local.shard(tmp_path / "local" / "inside", 2)
    assert not (tmp_path / "local" / "inside").exists()


def test_a_root_from_an_older_copy_takes_nothing_back(place: Path, tmp_path: Path) -> None:
    shutil.copytree(place, tmp_path / "older")
    for text in ("later one", "later two"):
        with reopened(place) as vault:
            vault.add([{"text": f"{text} {i}", "source": f"{i}.md"} for i in range(9)])  # some for each shard
    for name in ("manifests", "log"):
        shutil.rmtree(place / name, ignore_errors=True)
        if (tmp_path / "older" / name).exists():
            shutil.copytree(tmp_path / "older" / name, place / name)
    shutil.copy(tmp_path / "older" / "CURRENT", place / "CURRENT")
    with reopened(place) as vault, pytest.raises(VaultCorrupt, match="restored from an older copy than its shards"):
        vault.add("one more")
    with lamina.open(place, mode="r") as vault:
        assert "was written to after the root" in str(vault.verify().problems)
    # what the older root did not know is still there
    assert any(b"later two" in path.read_bytes() for path in place.rglob("*.arrow"))


def test_a_missing_shard_is_named(place: Path) -> None:
    shutil.rmtree(place / "shards" / "01")
    with pytest.raises(VaultCorrupt, match=r"has 3 shards, and shards/01 is missing: put it back from a copy$"):
        reopened(place)
    (problem,) = verify(place).problems
    assert (problem.where, problem.message) == ("shards/01", "it is missing")


def test_shards_of_other_vaults_are_refused(place: Path) -> None:
    shutil.rmtree(place / "shards" / "01")
    shutil.copytree(place / "shards" / "02", place / "shards" / "01")
    with pytest.raises(VaultCorrupt, match=r"shards/01 is vault \w+, and its root names \w+"):
        reopened(place)


def test_a_shard_that_is_a_link_is_refused(place: Path, tmp_path: Path) -> None:
    (place / "shards" / "01").rename(tmp_path / "elsewhere")
    (place / "shards" / "01").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(VaultCorrupt, match="must be a real folder"):
        reopened(place)


def test_one_shard_is_a_vault_by_itself(place: Path) -> None:
    held = 0
    for number in range(3):
        with lamina.open(place / "shards" / f"{number:02d}", mode="r") as shard:
            held += shard.count()
            assert shard.verify(deep=True).ok
        with (
            lamina.open(place / "shards" / f"{number:02d}") as shard,
            pytest.raises(VaultReadOnly, match="write to the whole"),
        ):
            shard.add("seen by nobody")
    with reopened(place) as sharded:
        assert held == sharded.count() == 30
    assert vault_place(place)[1] is None

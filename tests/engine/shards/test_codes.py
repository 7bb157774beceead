"""Saved codes of a sharded vault: read where they are of the vault's own rows, and made again where they are not."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamina
from lamina import FixedClock, Vault
from lamina_engine.index import helper, quantised, vectors
from lamina_engine.recall import retrieval
from tests.engine.shards import corpus
from tests.engine.shards.corpus import NOW, plain, records, reopened, small_codes
from tests.engine.store.objectstores import Machines

QUERIES = ("why did we move the database", "deploy tokn", "Datenbank Umzug", "which port does atlas use")
LATER = "2026-06-20T08:00:00Z"


@pytest.fixture(autouse=True, scope="module")
def small_indexes() -> Iterator[None]:
    with small_codes():
        yield


@pytest.fixture(scope="module")
def made(small_indexes: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The vault beside itself in three shards."""
    place = tmp_path_factory.mktemp("made")
    with lamina.open(place / "local", create=True, clock=FixedClock(NOW)) as local:
        local.add(records(0, 300))
        local.shard(place / "sharded", 3)
    return place


@pytest.fixture
def place(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "pair")
    return tmp_path / "pair"


@pytest.fixture
def coded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of rows that are coded from here on."""
    found: list[int] = []
    whole = quantised._add

    def add(index: Any, blocks: Any, stop: int, *rest: Any) -> bool:
        if stop > index.ntotal:
            found.append(stop - index.ntotal)
        return whole(index, blocks, stop, *rest)

    monkeypatch.setattr(quantised, "_add", add)
    return found


def files(place: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((place / "index").glob("codes-*"))}


def answers(vault: Vault) -> list[Any]:
    return [plain(vault.recall(query, profile="default", k=10).to_dict()) for query in QUERIES]


def require_equal(place: Path) -> None:
    with reopened(place / "local", mode="r") as local, reopened(place / "sharded", mode="r") as sharded:
        assert answers(sharded) == answers(local)


def test_a_fresh_process_reads_what_was_saved(place: Path, coded: list[int]) -> None:
    assert list(files(place / "sharded")) == ["codes-00.faiss", "codes-01.faiss", "codes-02.faiss"]
    require_equal(place)
    assert not coded
    with reopened(place / "sharded", mode="r") as vault:
        assert vault.verify(deep=True).ok


def test_appended_rows_alone_are_coded(place: Path, coded: list[int]) -> None:
    for name in ("local", "sharded"):
        coded.clear()
        with lamina.open(place / name, clock=FixedClock(LATER)) as vault:
            vault.add(records(400, 100))  # 256 rows had codes, 384 of 400 do
    assert sum(coded) == 128
    coded.clear()
    require_equal(place)
    assert not coded


def test_a_longer_training_prefix_codes_all_anew(place: Path, coded: list[int]) -> None:
    for name in ("local", "sharded"):
        coded.clear()
        with lamina.open(place / name, clock=FixedClock(LATER)) as vault:
            vault.add(records(400, 240))
    assert sum(coded) == 512
    coded.clear()
    require_equal(place)
    assert not coded


@pytest.mark.parametrize("damage", ["flipped", "torn", "empty", "missing", "another's"])
def test_what_is_not_the_vaults_own_is_not_read_and_made_again(place: Path, damage: str, coded: list[int]) -> None:
    before = files(place / "sharded")
    path = place / "sharded" / "index" / "codes-01.faiss"
    content = bytearray(before[path.name])
    if damage == "flipped":
        content[-100] ^= 1
    elif damage == "torn":
        del content[-100:]
    elif damage == "empty":
        content.clear()
    path.write_bytes(content)
    if damage == "missing":
        path.unlink()
    elif damage == "another's":
        path.write_bytes(before["codes-02.faiss"])
    require_equal(place)
    assert len(coded) == 1, "of one shard, by the codebook of the others"
    if damage == "flipped":
        with reopened(place / "sharded", mode="r") as vault:
            assert [each.where for each in vault.verify(deep=True).problems] == ["index/codes-01.faiss"]
    with lamina.open(place / "sharded", clock=FixedClock(LATER)) as vault:
        vault.pin("c0001")
    assert files(place / "sharded") == before
    coded.clear()
    require_equal(place)
    assert not coded


def test_a_reader_saves_nothing(place: Path) -> None:
    for path in (place / "sharded" / "index").glob("codes-*"):
        path.unlink()
    require_equal(place)
    assert not files(place / "sharded")


def test_codes_of_forgotten_rows_go(place: Path, coded: list[int]) -> None:
    before = files(place / "sharded")
    for name in ("local", "sharded"):
        with lamina.open(place / name, clock=FixedClock(LATER)) as vault:
            vault.forget(ids=["c0001", "c0002"], dry_run=False)
    after = files(place / "sharded")
    assert len(after) == 3
    assert not set(before.values()) & set(after.values())
    coded.clear()
    require_equal(place)
    assert not coded


def test_codes_of_an_older_copy_are_not_read(place: Path, coded: list[int]) -> None:
    """Two histories that part from one copy: the rows after it are others, in the same places."""
    shutil.copytree(place / "sharded", place / "other")
    for name, start, moment in (("local", 400, LATER), ("sharded", 400, LATER), ("other", 700, "2026-06-21")):
        with lamina.open(place / name, clock=FixedClock(moment)) as vault:
            vault.add(records(start, 100))
    for path in (place / "other" / "index").glob("codes-*"):
        shutil.copy(path, place / "sharded" / "index" / path.name)
    coded.clear()
    require_equal(place)
    assert coded


def test_a_reindex_saves_the_codes_of_its_model(place: Path, coded: list[int]) -> None:
    before = files(place / "sharded")
    for name in ("local", "sharded"):
        with reopened(place / name) as vault:
            vault.reindex("wordllama-64", accept=True)
    after = files(place / "sharded")
    assert list(after) == list(before)
    assert not set(before.values()) & set(after.values())
    coded.clear()
    require_equal(place)
    assert not coded


def test_each_machine_has_its_own_beside_its_cache(
    folder_machines: Machines, place: Path, tmp_path: Path, coded: list[int]
) -> None:
    machines = folder_machines
    machines.use("first")
    with reopened(place / "local") as local:
        local.shard(machines.url, 2)
        ours = answers(local)
    with machines.open("other", embedder=None, mode="r", clock=FixedClock(NOW)) as vault:
        root = vault._memory.root
        assert len(files(root)) == 2
        assert answers(vault) == ours
    coded.clear()
    with machines.open("other", embedder=None, mode="r", clock=FixedClock(NOW)) as vault:
        assert answers(vault) == ours
    assert not coded


@pytest.mark.parametrize("name", ["local", "sharded"])
@pytest.mark.parametrize("pieces", [1, 4])
def test_words_searched_beside_the_codes_change_no_answer(
    place: Path, monkeypatch: pytest.MonkeyPatch, name: str, pieces: int
) -> None:
    if pieces > 1:
        monkeypatch.setattr(quantised, "SPLIT_ROWS", 256)
        monkeypatch.setattr(quantised, "_PIECE_ROWS", 64)
    monkeypatch.setattr(helper, "usable_cpus", lambda: 2)
    monkeypatch.setattr(vectors, "_MOST", 1)  # so few rows would be scanned
    give, given = helper.Helper.give, list[Callable[[], Any]]()

    def note(self: helper.Helper, work: Callable[[], Any]) -> Any:
        given.append(work)
        return give(self, work)

    vector = np.random.default_rng(3).standard_normal(256).astype(np.float32)

    def ask(vault: Vault) -> list[Any]:
        found = [plain(vault.recall(query, vector=vector, k=10).to_dict()) for query in QUERIES]
        return [*corpus.answers(vault, every=7), *found]

    with reopened(place / name, mode="r") as vault:
        before = ask(vault)
        monkeypatch.setattr(helper.Helper, "give", note)
        for least in ("_HELPED_ROWS", "_HELPED_TEXT_ROWS"):
            monkeypatch.setattr(retrieval, least, 0)
        assert ask(vault) == before
        assert len(given) > 20

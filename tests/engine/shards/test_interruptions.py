"""A writer that dies between the commits of shards and root: nothing half visible, nothing acknowledged lost."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import lamina
from lamina import FixedClock, Vault
from lamina_engine.errors import VaultLocked
from lamina_engine.shards import store as stores
from lamina_engine.shards import writing
from tests.engine.shards.corpus import answers, records, reopened

LATER = "2026-06-20T08:00:00Z"


class Died(BaseException):
    """The process ends here."""


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


def some_answers(vault: Vault) -> list[Any]:
    return list(answers(vault, 41))


def die_at(step: int, act: Callable[[], object]) -> None:
    """Run a write whose process ends before the commit of a shard, or of the root (step 3)."""
    steps = iter(range(10))
    with pytest.MonkeyPatch.context() as patch:
        for owner, name in ((writing.UnionTransaction, "_commit_shard"), (stores.UnionStore, "root_transaction")):
            whole = getattr(owner, name)

            def stop(*given: Any, _whole: Any = whole) -> Any:
                if next(steps) == step:
                    raise Died
                return _whole(*given)

            patch.setattr(owner, name, stop)
        patch.setattr(stores.UnionStore, "repair", lambda self, timeout_s=0.0: None)
        with pytest.raises(Died):
            act()


@pytest.mark.parametrize("step", [0, 1, 2, 3])
def test_an_interrupted_add_is_not_seen_and_is_taken_back(place: Path, step: int) -> None:
    with lamina.open(place / "sharded", clock=FixedClock(LATER)) as vault:
        before = some_answers(vault)
        die_at(step, lambda: vault.add(records(400, 40)))
        assert some_answers(vault) == before, "this process sees nothing of it"
    with lamina.open(place / "sharded", mode="r", clock=FixedClock(LATER)) as vault:
        assert some_answers(vault) == before, "no other does"
    for name in ("local", "sharded"):
        with lamina.open(place / name, clock=FixedClock(LATER)) as vault:
            vault.add(records(500, 40))
            vault.update("c0501", text="It was told again.")
    with reopened(place / "local", mode="r") as local, reopened(place / "sharded", mode="r") as vault:
        assert some_answers(vault) == some_answers(local)
        assert vault.verify(deep=True).ok
        assert vault.stats()["rows"] == local.stats()["rows"]


@pytest.mark.parametrize("step", [1, 2, 4])
def test_an_interrupted_forget_goes_on(place: Path, step: int) -> None:
    ids = [f"c{n:04d}" for n in range(2, 20)]
    with lamina.open(place / "sharded", clock=FixedClock(LATER)) as vault:
        die_at(step, lambda: vault.forget(ids=ids, dry_run=False))
    with lamina.open(place / "sharded", clock=FixedClock(LATER)) as vault:
        assert not [
            hit.id for query in ("database", "deploy token") for hit in vault.recall(query, k=200) if not hit.text
        ]
        there = {chunk.id for chunk in vault.list({"status": {"in": ["active", "invalidated"]}}, limit=None)}
        left = [name for name in ids if name in there]
        assert (len(left) < len(ids)) == (step > 1)
        if left:
            vault.forget(ids=left, dry_run=False)
    with lamina.open(place / "local", clock=FixedClock(LATER)) as local:
        local.forget(ids=ids, dry_run=False)
    with reopened(place / "local", mode="r") as local, reopened(place / "sharded", mode="r") as vault:
        assert [c.id for c in vault.list(limit=None)] == [c.id for c in local.list(limit=None)]
        assert [each["hits"] for _, each in some_answers(vault)] == [each["hits"] for _, each in some_answers(local)]


def test_a_failed_write_takes_itself_back(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = writing.UnionTransaction._commit_shard
    with lamina.open(place / "sharded", clock=FixedClock(LATER)) as vault:
        rows = [shard.view().rows for shard in vault._memory.shards]

        def full(self: Any, number: int) -> Any:
            if number == 2:
                raise OSError(28, "No space left on device")
            return whole(self, number)

        monkeypatch.setattr(writing.UnionTransaction, "_commit_shard", full)
        with pytest.raises(OSError, match="No space"):
            vault.add(records(400, 40))
        monkeypatch.undo()
        assert [shard.view().rows for shard in vault._memory.shards] == rows
        assert len(vault.add(records(400, 40))) == 40


def test_a_second_writer_waits_and_is_told(place: Path) -> None:
    with (
        lamina.open(place / "sharded") as one,
        lamina.open(place / "sharded", lock_timeout_s=0.1) as other,
        one._memory.store.exclusive(),
        pytest.raises(VaultLocked),
    ):
        other.add("too early")

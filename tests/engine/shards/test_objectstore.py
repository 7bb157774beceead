"""Sharded vaults on object storage: machines see one vault, whatever fails."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path
from typing import Any

import pytest

import lamina
from lamina import FixedClock, Vault
from lamina_engine.errors import VaultCorrupt, VaultExists, VaultLocked
from lamina_engine.shards.store import UnionStore
from lamina_engine.shards.writing import UnionTransaction
from lamina_engine.store import publishing
from lamina_engine.store.objects import Objects
from lamina_engine.store.publishing import PublishedFiles
from tests.engine.shards.corpus import NOW, answers, change, records, reopened
from tests.engine.store.objectstores import Machines

CLOCK = FixedClock(NOW)
LATER = "2026-06-20T08:00:00Z"


@pytest.fixture(scope="module")
def made(corpus_vault: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("local") / "vault"
    shutil.copytree(corpus_vault, place)
    return place


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Readers look for newer commits at each call."""
    monkeypatch.setattr(publishing, "REFRESH_S", 0.0)


def some_answers(vault: Vault) -> list[Any]:
    return list(answers(vault, 31))


def test_machines_see_one_sharded_vault_and_answer_as_a_local_one(
    machines: Machines, made: Path, tmp_path: Path, at_once: None
) -> None:
    machines.use("first")
    with reopened(made) as local:
        assert local.shard(machines.url, 3).shards == 3
        with pytest.raises(VaultExists):
            local.shard(machines.url, 3)
        ours = some_answers(local)
        local.snapshot(tmp_path / "local")
    with machines.open("a", embedder=None, clock=CLOCK) as a, machines.open("b", embedder=None, clock=CLOCK) as b:
        machines.use("a")
        assert some_answers(a) == ours
    for place in (str(tmp_path / "local"), machines.url):
        machines.use("a")
        with lamina.open(place, clock=FixedClock(LATER)) as vault:
            change(vault, 300)
            ids = vault.add([{"text": f"Xyzzyplugh {n}", "source": f"x{n}.md"} for n in range(5)])
            vault.forget(ids=ids, dry_run=False)
    with lamina.open(tmp_path / "local", clock=CLOCK) as local, machines.open("b", embedder=None, clock=CLOCK) as b:
        assert some_answers(b) == some_answers(local)
        assert b.verify(deep=True).ok
        assert b.stats()["rows"] == local.stats()["rows"]
    objects = Objects(machines.url)
    for prefix in ("parts", "commits", *(f"shards/0{n}/{kind}" for n in range(3) for kind in ("parts", "commits"))):
        for path in objects.names(prefix):
            assert b"xyzzyplugh" not in (objects.read(path) or b"").lower(), path


def test_of_two_writers_one_commits_and_nothing_is_half_visible(
    folder_machines: Machines, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, at_once: None
) -> None:
    machines = folder_machines
    machines.use("a")
    with lamina.open(tmp_path / "local", create=True, embedder="none", clock=CLOCK) as local:
        local.add(records(0, 12))
        local.shard(machines.url, 3)
    monkeypatch.setattr(PublishedFiles, "lease", lambda self, timeout_s: contextlib.nullcontext())
    whole, waiting = UnionTransaction.commit, [True]
    with machines.open("a") as a, machines.open("b") as b:

        def commit(self: UnionTransaction) -> Any:
            if waiting and waiting.pop():
                b.add([{"text": f"from b {n}", "source": f"b{n}.md"} for n in range(6)])
            return whole(self)

        monkeypatch.setattr(UnionTransaction, "commit", commit)
        with pytest.raises(VaultLocked):
            a.add([{"text": f"from a {n}", "source": f"a{n}.md"} for n in range(6)])
        assert a.count() == b.count() == 18
        a.add([{"text": f"from a {n}", "source": f"a{n}.md"} for n in range(6)])
        assert a.count() == b.count() == 24
        assert b.verify(deep=True).ok


def test_a_writer_that_slept_takes_nothing_back(
    folder_machines: Machines, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, at_once: None
) -> None:
    """It wakes after it wrote to shards, and before the root: another has taken that back, and committed."""
    machines = folder_machines
    machines.use("a")
    with lamina.open(tmp_path / "local", create=True, embedder="none", clock=CLOCK) as local:
        local.add(records(0, 12))
        local.shard(machines.url, 3)
    monkeypatch.setattr(PublishedFiles, "lease", lambda self, timeout_s: contextlib.nullcontext())
    whole, waiting = UnionStore.root_transaction, [True]
    with machines.open("a") as a, machines.open("b") as b:

        def sleep(self: UnionStore, timeout_s: float) -> Any:
            if self is a._memory.store and waiting:
                waiting.pop()
                b.add([{"text": f"from b {n}", "source": f"b{n}.md"} for n in range(6)])
            return whole(self, timeout_s)

        monkeypatch.setattr(UnionStore, "root_transaction", sleep)
        with pytest.raises(VaultLocked):
            a.add([{"text": f"from a {n}", "source": f"a{n}.md"} for n in range(6)])
        assert a.count() == b.count() == 18
        assert b.verify(deep=True).ok


class Stopped(BaseException):
    """The machine is switched off."""


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # threads die with their machine
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_writer_that_dies_at_any_request_leaves_all_or_nothing(
    folder_machines: Machines, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, after: bool
) -> None:
    """At every third request of an add to three shards; the next machine sees all of it or nothing, and goes on."""
    monkeypatch.setattr(publishing, "LEASE_S", 0.05)
    monkeypatch.setattr(PublishedFiles, "_renew", lambda self, token, done: None)
    machines = folder_machines
    machines.use("first")
    with lamina.open(tmp_path / "local", create=True, embedder="none", clock=CLOCK) as local:
        local.add(records(0, 6))
        local.shard(machines.url, 3)
    real = {name: getattr(Objects, name) for name in ("create", "write", "delete", "read")}
    count, stop = [0], [0]

    def counted(name: str) -> Any:
        def act(self: Objects, *given: Any) -> Any:
            if stop[0] and count[0] >= stop[0]:
                raise Stopped
            count[0] += 1
            if count[0] == stop[0]:
                if after:
                    real[name](self, *given)
                raise Stopped
            return real[name](self, *given)

        return act

    for name in real:
        monkeypatch.setattr(Objects, name, counted(name))
    at, ended, known = 1, False, set[str]()
    while not ended:
        vault = machines.open(f"m{at}")
        batch = [{"text": f"say {at} {n}", "source": f"{at}-{n}.md"} for n in range(8)]
        count[0], stop[0] = 0, at
        try:
            vault.add(batch)
            ended = True
        except Stopped:
            pass
        stop[0] = 0
        with machines.open(f"n{at}", mode="r") as other:
            said = {chunk.text for chunk in other.list(limit=None) if chunk.text.startswith("say")}
        mine = {each["text"] for each in batch}
        assert said - mine == known, "what was acknowledged is there, and nothing of interrupted ones"
        assert said & mine in (set(), mine), "all or nothing"
        assert not ended or said & mine == mine
        known = said
        at += 3
    assert at > 12
    with machines.open("last") as last:
        last.add("and once more")
        assert {chunk.text for chunk in last.list(limit=None)} >= known | {"and once more"}
        assert last.verify(deep=True).ok


def test_a_shard_missing_from_the_storage_is_named(folder_machines: Machines, tmp_path: Path) -> None:
    machines = folder_machines
    machines.use("a")
    with lamina.open(tmp_path / "local", create=True, embedder="none", clock=CLOCK) as local:
        local.add(records(0, 12))
        local.shard(machines.url, 2)
    objects = Objects(machines.url)
    objects.delete(list(objects.names("shards/01/commits")))
    with pytest.raises(VaultCorrupt, match="has 2 shards, and shards/01 is missing"):
        machines.open("b")

"""Reindex of a sharded vault: all shards beside what serves, one gate, one commit; never a mixture of models."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import lamina
from lamina import FixedClock, Vault
from lamina_engine.errors import ReindexGateError, VaultCorrupt
from lamina_engine.reindex.sharded import ShardedJob
from lamina_engine.reports import Progress
from lamina_engine.store import publishing
from tests.engine.shards.corpus import answers, change, plain, records, reopened
from tests.engine.shards.test_interruptions import die_at
from tests.engine.store.objectstores import Machines
from tests.engine.test_reindex import constant, model

LATER = "2026-06-20T08:00:00Z"
AFTER = "2026-06-25T08:00:00Z"
"""When is written after a reindex: the clock has gone on past the moments of its vectors."""
QUERIES = ("why did we move the database", "deploy tokn", "Datenbank Umzug", "which port does atlas use")


@pytest.fixture(scope="module")
def made(corpus_vault: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The vault beside itself in three shards."""
    place = tmp_path_factory.mktemp("made")
    shutil.copytree(corpus_vault, place / "local")
    with reopened(place / "local") as local:
        local.shard(place / "sharded", 3)
    return place


@pytest.fixture
def place(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "pair")
    return tmp_path / "pair"


def some_answers(vault: Vault) -> list[Any]:
    return list(answers(vault, 83))


def few(vault: Vault) -> list[Any]:
    return [plain(vault.recall(query, k=8).to_dict()) for query in QUERIES]


def require_equal(place: Path, **options: Any) -> None:
    with (
        reopened(place / "local", mode="r", **options) as local,
        reopened(place / "sharded", mode="r", **options) as sharded,
    ):
        assert some_answers(sharded) == some_answers(local)


def spaces(place: Path) -> list[str]:
    """Return the models of the whole and of each shard by itself."""
    found = []
    for each in (place, *sorted((place / "shards").iterdir())):
        with lamina.open(each, mode="r", embedder=model()) as vault:
            space = vault._memory.store.last_seen.space
            found.append(space.identity if space else "")
    return found


def test_answers_are_those_of_one_vault_reindexed_alike(place: Path) -> None:
    for name in ("local", "sharded"):
        with lamina.open(place / name, clock=FixedClock(LATER)) as vault:
            before = some_answers(vault)
            report = vault.reindex(model(), batch_rows=32, accept=True)
            assert report.swapped
            assert report.rows == vault.stats()["rows"]
            assert some_answers(vault) != before
    require_equal(place, embedder=model())
    assert spaces(place / "sharded") == [model().identity] * 4
    for name in ("local", "sharded"):
        with lamina.open(place / name, embedder=model(), clock=FixedClock(AFTER)) as vault:
            change(vault, 300)
            vault.forget(ids=["c0303", "c0007"], dry_run=False)
            assert vault.verify(deep=True).ok
    require_equal(place, embedder=model())
    for number in range(3):
        with lamina.open(place / "sharded" / "shards" / f"0{number}", mode="r", embedder=model()) as shard:
            assert shard.verify(deep=True).ok
            assert shard.recall("database", k=3)


def test_what_follows_the_shards_rests_meanwhile(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rested: list[bool] = []
    build = ShardedJob._build

    def look(job: ShardedJob, folder: Path) -> None:
        rested.extend(part.memory.indexer.text.is_paused for part in job._parts)
        build(job, folder)

    monkeypatch.setattr(ShardedJob, "_build", look)
    with reopened(place / "sharded") as vault:
        assert vault.reindex(accept=True).swapped
        assert rested == [True] * 3
        assert not any(shard.indexer.text.is_paused for shard in vault._memory.shards)


@pytest.mark.parametrize("engine", [None, "lexical", "vectors", "keys"])
def test_indexes_alone_are_made_again(place: Path, engine: Any) -> None:
    told: list[Progress] = []
    with reopened(place / "local") as local, reopened(place / "sharded") as vault:
        report = vault.reindex(engine=engine, progress=told.append, workers=1 if engine else 2)
        assert report.gate == local.reindex(engine=engine).gate
        assert vault.verify(deep=True).ok
    require_equal(place)
    stages = {each.stage for each in told}
    assert "swap" in stages
    for stage in stages:
        last = [each for each in told if each.stage == stage][-1]
        assert last.done == last.total, stage


def test_models_can_be_given_up_and_taken_up(place: Path) -> None:
    for name in ("local", "sharded"):
        with lamina.open(place / name, clock=FixedClock(LATER)) as vault:
            vault.reindex("none", accept=True, drop_old=True)
        with lamina.open(place / name, embedder="none", clock=FixedClock(AFTER)) as vault:
            vault.add(records(500, 10))
    require_equal(place, embedder="none")
    for name in ("local", "sharded"):
        with lamina.open(place / name, clock=FixedClock(LATER)) as vault:
            vault.reindex(model(), accept=True)
            assert vault.reindex(model(), resume=False, accept=True).resumed == 0
    require_equal(place, embedder=model())


def test_the_gate_refuses_and_leaves_everything_as_it_was(place: Path) -> None:
    with reopened(place / "sharded") as vault:
        before, was = some_answers(vault), spaces(place / "sharded")
        with pytest.raises(ReindexGateError, match="vectors recall@10 falls"):
            vault.reindex(constant())
        assert some_answers(vault) == before
        assert vault.verify(deep=True).ok
    require_equal(place)
    assert spaces(place / "sharded") == was
    assert not list(place.rglob("building"))


def at(monkeypatch: pytest.MonkeyPatch, step: str, act: Callable[[int], None]) -> None:
    """Act before each call of a step, with the number of calls before it."""
    whole, count = getattr(ShardedJob, step), [0]

    def do(self: Any, *given: Any, **options: Any) -> Any:
        act(count[0])
        count[0] += 1
        return whole(self, *given, **options)

    monkeypatch.setattr(ShardedJob, step, do)


@pytest.mark.parametrize("drop_old", [False, True])
def test_readers_see_the_old_model_or_the_new_one(place: Path, monkeypatch: pytest.MonkeyPatch, drop_old: bool) -> None:
    new = {"embedder": model()}
    with reopened(place / "local") as local:
        old_answers = few(local)
        local.reindex(model(), accept=True)
        new_answers = few(local)
    assert old_answers != new_answers
    seen: list[str] = []
    with reopened(place / "sharded", mode="r") as open_reader, reopened(place / "sharded") as vault:
        open_reader._memory.cache_embedders(open_reader._memory.embedder, model())
        assert few(open_reader) == old_answers

        def look(wanted: list[Any], options: dict[str, Any], said: str) -> None:
            assert few(open_reader) == wanted, said
            with reopened(place / "sharded", mode="r", **options) as fresh:
                assert few(fresh) == wanted, said
            seen.append(said)

        at(monkeypatch, "_build", lambda _: look(old_answers, {}, "vectors made"))
        at(monkeypatch, "_commit_root", lambda _: look(old_answers, {}, "before the root"))
        at(monkeypatch, "_swap_part", lambda n: look(new_answers, new, f"before shard {n}"))
        vault.reindex(model(), accept=True, drop_old=drop_old)
        assert seen == ["vectors made", "before the root", *(f"before shard {n}" for n in range(3))]
        assert few(open_reader) == new_answers == few(vault)


class Killed(BaseException):
    """The process is gone."""


@pytest.mark.parametrize("step", ["_level", "_build", "_commit_root", "_swap_part"])
def test_a_job_that_dies_is_ended_by_the_next(place: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    asked: list[str] = []

    def die(number: int) -> None:
        if number == (1 if step == "_swap_part" else 0):
            raise Killed

    with monkeypatch.context() as patch, lamina.open(place / "sharded", clock=FixedClock(LATER)) as vault:
        at(patch, step, die)
        with pytest.raises(Killed):
            vault.reindex(model(log=asked), batch_rows=16, accept=True)
    known = model() if step == "_swap_part" else None
    for name in ("local", "sharded"):
        with lamina.open(place / name, clock=FixedClock(LATER)) as vault:
            if name == "local" and known:
                vault.reindex(known, accept=True)
    for name in ("local", "sharded"):
        with lamina.open(place / name, embedder=known, clock=FixedClock(AFTER)) as vault:
            vault.add(records(500, 30))
            vault.forget(ids=["c0501", "c0008"], dry_run=False)
    require_equal(place, embedder=known)
    if known:
        assert spaces(place / "sharded") == [known.identity] * 4
    else:
        assert len(asked) > 0 or step == "_level"
        before = len(asked)
        for name in ("local", "sharded"):
            with lamina.open(place / name, clock=FixedClock(LATER)) as vault:
                vault.reindex(model(log=asked if name == "sharded" else None), batch_rows=16, accept=True)
        if step != "_level":
            assert len(asked) - before <= 30, "only what came since"
        require_equal(place, embedder=model())
    with reopened(place / "sharded", embedder=model()) as vault:
        assert vault.verify(deep=True).ok


def test_a_shard_without_the_vectors_of_its_root_is_named(place: Path) -> None:
    with lamina.open(place / "sharded") as vault:
        store = vault._memory.shards[1].store
        with store.transaction() as transaction:
            name = transaction.snapshot.manifest.space
            transaction.use_space("")
            transaction.drop_space(name)
    with pytest.raises(VaultCorrupt, match="shards/01 has no vectors of"):
        lamina.open(place / "sharded")


def test_writers_go_on_meanwhile(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def write(where: str, start: int) -> None:
        with lamina.open(place / where, clock=FixedClock(f"2026-07-01T00:00:{start % 60:02d}Z")) as vault:
            vault.add(records(start, 30))
            vault.forget(ids=[f"c{start - 500 + 8:04d}"], dry_run=False)

    starts = (500, 530)

    def begin(number: int) -> None:
        if number == 0:
            write("sharded", starts[0])

    def judged(number: int) -> None:
        if number == 1:
            write("sharded", starts[1])

    at(monkeypatch, "_build", begin)
    at(monkeypatch, "_catch_up", judged)
    with lamina.open(place / "sharded", clock=FixedClock(LATER)) as vault:
        vault.reindex(model(), batch_rows=16, accept=True)
        assert vault.verify(deep=True).ok
    monkeypatch.undo()
    for start in starts:
        write("local", start)
    with lamina.open(place / "local", clock=FixedClock(LATER)) as vault:
        vault.reindex(model(), accept=True)
    require_equal(place, embedder=model())


def test_rows_that_are_taken_back_meanwhile_take_their_vectors_along(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer dies after it wrote to two shards; the job has met its rows by then, others come in their places."""

    def add(where: str) -> None:
        with lamina.open(place / where, clock=FixedClock(AFTER)) as vault:
            vault.add(records(500, 40)[:3:-1])

    def die(number: int) -> None:
        if number == 0:
            with lamina.open(place / "sharded", clock=FixedClock(LATER)) as vault:
                die_at(2, lambda: vault.add(records(500, 40)))

    at(monkeypatch, "_catch_up", die)
    at(monkeypatch, "_build", lambda _: add("sharded"))
    with lamina.open(place / "sharded", clock=FixedClock(LATER)) as vault:
        report = vault.reindex(model(), batch_rows=16, accept=True)
        assert report.embedded + report.cached > report.rows, "of the dead writer's rows, too"
        assert vault.verify(deep=True).ok
    add("local")
    with lamina.open(place / "local", clock=FixedClock(LATER)) as vault:
        vault.reindex(model(), accept=True)
    require_equal(place, embedder=model())


_JOB = textwrap.dedent(
    """
    import sys, time
    import lamina
    from lamina import FixedClock
    from tests.engine.test_reindex import bag

    def embed(texts):
        with open(sys.argv[2], "a") as file:
            file.write("".join(text.replace("\\n", " ") + "\\n" for text in texts) + "--\\n")
        time.sleep(0.02)
        return bag(texts)

    with lamina.open(sys.argv[1], clock=FixedClock("2026-06-20T08:00:00Z")) as vault:
        vault.reindex(lamina.CallableEmbedder(embed, 48, "bag;v1"), batch_rows=8, accept=True)
    """
)


def test_a_kill_costs_the_batch_in_flight_only(place: Path, tmp_path: Path) -> None:
    journal, draw = tmp_path / "calls", random.Random(5)
    environ = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[3]), os.environ.get("PYTHONPATH", "")]),
    }
    kills = 0
    for _ in range(10):
        job = subprocess.Popen([sys.executable, "-c", _JOB, str(place / "sharded"), str(journal)], env=environ)
        before = journal.stat().st_size if journal.exists() else 0
        while kills < 3 and job.poll() is None and (journal.stat().st_size if journal.exists() else 0) == before:
            time.sleep(0.002)
        if kills < 3 and job.poll() is None:
            time.sleep(draw.random() * 0.1)
            job.send_signal(signal.SIGKILL)
            kills += 1
        if job.wait() == 0:
            break
    assert kills == 3
    asked = [line for line in journal.read_text().splitlines() if line != "--"]
    assert len(asked) - len(set(asked)) <= kills * 8 + 3, "beside texts that are in several shards"
    with lamina.open(place / "local", clock=FixedClock(LATER)) as vault:
        vault.reindex(model(), accept=True)
    require_equal(place, embedder=model())
    assert spaces(place / "sharded") == [model().identity] * 4


def test_on_object_storage_machines_follow(machines: Machines, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publishing, "REFRESH_S", 0.0)
    machines.use("first")
    with reopened(place / "local") as local:
        local.shard(machines.url, 2)
        old_answers = few(local)
        local.reindex(model(), accept=True)
        new_answers = few(local)
    with machines.open("b", embedder=None, mode="r", clock=FixedClock("2026-06-01T12:00:00Z")) as b:
        b._memory.cache_embedders(b._memory.embedder, model())
        assert few(b) == old_answers
        with machines.open("a", embedder=None, clock=FixedClock("2026-06-01T12:00:00Z")) as a:
            machines.use("a")
            a.reindex(model(), batch_rows=64, accept=True, drop_old=True)
            assert few(a) == new_answers
        machines.use("b")
        b._memory.store.files._due = float("inf")  # type: ignore[attr-defined]  # it has not looked for newer roots yet
        assert few(b) == new_answers, "the shards have given the old model up"
    with machines.open("c", embedder=model(), mode="r", clock=FixedClock("2026-06-01T12:00:00Z")) as c:
        assert few(c) == new_answers
        assert c.verify(deep=True).ok

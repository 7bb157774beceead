"""A reader who wishes so goes on without shards that are missing, and is told which; nobody else does."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamina
from lamina import FixedClock, Vault
from lamina_engine.errors import ChunkNotFound, StoreDenied, VaultCorrupt, VaultIncomplete
from lamina_engine.shards import presence
from lamina_engine.store import publishing
from lamina_engine.store.objects import Objects
from tests.engine.shards.corpus import answers, change, plain, records, reopened
from tests.engine.store.objectstores import Machines

AWAY = "shards/01"


@pytest.fixture(scope="module")
def made(corpus_vault: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A vault of everything in three shards, beside itself in one."""
    place = tmp_path_factory.mktemp("made")
    shutil.copytree(corpus_vault, place / "local")
    with reopened(place / "local") as local:
        local.shard(place / "sharded", 3)
    return place


@pytest.fixture
def place(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made / "sharded", tmp_path / "sharded")
    return tmp_path / "sharded"


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Missing shards and newer commits are looked for at each call."""
    monkeypatch.setattr(presence, "AGAIN_S", 0.0)
    monkeypatch.setattr(publishing, "REFRESH_S", 0.0)


def damage(place: Path, log: str) -> None:
    """Change a byte in the middle of a log of the shard."""
    found = next((place / AWAY / "log" / log).glob("*.arrow"))
    content = bytearray(found.read_bytes())
    content[len(content) // 2] ^= 1
    found.write_bytes(content)


def cut(place: Path) -> None:
    found = next((place / AWAY / "log" / "chunks").glob("*.arrow"))
    found.write_bytes(found.read_bytes()[:-100])


def fall_behind(place: Path) -> None:
    shutil.copytree(place / AWAY, place.parent / "older")
    with reopened(place) as vault:
        vault.add([{"text": f"later {i}", "source": f"{i}.md"} for i in range(9)])  # some for each shard
    shutil.rmtree(place / AWAY)
    shutil.copytree(place.parent / "older", place / AWAY)


def mix_up(place: Path) -> None:
    shutil.rmtree(place / AWAY)
    shutil.copytree(place / "shards" / "02", place / AWAY)


MISHAPS: dict[str, Callable[[Path], object]] = {
    "missing": lambda place: shutil.rmtree(place / AWAY),
    "no manifest": lambda place: (place / AWAY / "CURRENT").unlink(),
    "bad settings": lambda place: (place / AWAY / "vault.toml").write_text("tz = [", "utf-8"),
    "damaged chunks": lambda place: damage(place, "chunks"),
    "damaged events": lambda place: damage(place, "events"),
    "damaged vectors": lambda place: damage(place, "vectors.default"),
    "cut": cut,
    "behind": fall_behind,
    "of another vault": mix_up,
}


def gone(vault: Vault, whole: Vault) -> list[str]:
    """Return the ids of chunks that are missing."""
    return sorted({chunk.id for chunk in whole.list(limit=None)} - {chunk.id for chunk in vault.list(limit=None)})


def ask_for_all(place: Path) -> None:
    with reopened(place, mode="r") as vault:
        ids = [chunk.id for chunk in vault.list(limit=None)]
        vault.recall("database", k=50)
        vault.vectors(ids)
        vault.history(ids[0])


@pytest.mark.parametrize("mishap", MISHAPS)
def test_what_is_wrong_with_a_shard_is_raised_and_gone_without_only_where_wished(place: Path, mishap: str) -> None:
    MISHAPS[mishap](place)
    with pytest.raises((OSError, lamina.InvalidConfig)):
        ask_for_all(place)
    with reopened(place, mode="r", incomplete=True) as vault:
        hits = vault.recall("why did we move the database")
        assert hits.incomplete == vault.incomplete == (AWAY,)
        assert hits.to_dict()["incomplete"] == hits.explain()["incomplete"] == [AWAY]
        assert repr(hits).endswith(f"ms, without {AWAY})")
        assert len(hits) > 3
        assert 0 < vault.count() < 160


def test_a_whole_vault_answers_as_ever_with_the_wish_and_says_that_it_is_whole(made: Path) -> None:
    with (
        reopened(made / "sharded", mode="r", incomplete=True) as vault,
        reopened(made / "local", mode="r", incomplete=True) as local,
    ):
        assert vault.incomplete == local.incomplete == ()
        for (asked, ours), (_, theirs) in zip(answers(vault, 17), answers(local, 17), strict=True):
            assert ours == theirs, asked
            assert ours["incomplete"] == []
        assert vault.recall("database").incomplete == vault.list().incomplete == ()
        assert vault.stats()["incomplete"] == []


def test_answers_are_those_of_a_vault_of_the_shards_that_are_there(tmp_path: Path) -> None:
    """Chunks and their events, in the same order; what only `recorded_at` tells apart is not compared."""
    everything = [{**record, "created_at": record["created_at"] or "2025-12-24"} for record in records(0, 240)]
    with lamina.open(tmp_path / "all", create=True, clock=FixedClock("2026-02-01T08:00:00Z")) as vault:
        vault.add(everything)
        for n in range(3, 240, 17):
            vault.invalidate(f"c{n:04d}", "wrong")
        vault.shard(tmp_path / "sharded", 4)
    shutil.rmtree(tmp_path / "sharded" / "shards" / "02")
    with reopened(tmp_path / "sharded", mode="r", incomplete=True) as sharded:
        there = {chunk.id for chunk in sharded.list({"status": {"in": ["active", "invalidated"]}}, limit=None)}
        assert 100 < len(there) < 240
        with lamina.open(tmp_path / "some", create=True, clock=FixedClock("2026-02-01T08:00:00Z")) as some:
            some.add([record for record in everything if record["id"] in there])
            for n in range(3, 240, 17):
                if f"c{n:04d}" in there:
                    some.invalidate(f"c{n:04d}", "wrong")
        with reopened(tmp_path / "some", mode="r") as some:
            for (asked, ours), (_, theirs) in zip(answers(some), answers(sharded), strict=True):
                assert theirs.pop("incomplete") == ["shards/02"]
                assert theirs["explained"].pop("incomplete") == ["shards/02"]
                assert ours.pop("incomplete") == []
                assert theirs == ours, asked
            ids = [chunk.id for chunk in some.list(limit=None)]
            assert [chunk.id for chunk in sharded.list(limit=None)] == ids
            assert np.array_equal(sharded.vectors(ids), some.vectors(ids))
            for one in ids[::9]:
                assert sharded.similar(one) == some.similar(one)
                assert plain(sharded.why_not("database", one).to_dict()) == plain(
                    some.why_not("database", one).to_dict()
                )
            assert sharded.projects() == some.projects()
            kept = ("chunks", "rows", "status", "types", "sources")
            assert {k: sharded.stats()[k] for k in kept} == {k: some.stats()[k] for k in kept}  # type: ignore[literal-required]


def test_links_facts_and_topics_that_name_missing_chunks_break_nothing(place: Path, made: Path) -> None:
    shutil.rmtree(place / AWAY)
    with reopened(place, mode="r", incomplete=True) as vault, reopened(made / "local", mode="r") as whole:
        lost = gone(vault, whole)
        assert 20 < len(lost) < 120
        there = [chunk.id for chunk in vault.list(limit=None)]
        assert vault.stats()["incomplete"] == [AWAY]
        assert vault.stats()["facts"] == whole.stats()["facts"]
        assert vault.list().incomplete == vault.topics().incomplete == (AWAY,)
        assert repr(vault.list(limit=2)) == f"<2 Chunks, without {AWAY}>"
        for one in there:
            found = vault.links(one)
            assert found.incomplete == (AWAY,)
            vault.neighbors(one)
            vault.causes(one)
            vault.timeline(one)
            vault.similar(one)
            vault.history(one)
            assert {each.id for each in vault.traverse(one)} <= set(there)
        for one in lost[:5]:
            with pytest.raises(ChunkNotFound, match=rf"may lie in {AWAY}, which is missing"):
                vault.get(one)
            with pytest.raises(ChunkNotFound):
                vault.links(one)
        members = {chunk.chunk for topic in vault.topics() for chunk in vault.topic(topic.id).members}
        known = {chunk.chunk for topic in whole.topics() for chunk in whole.topic(topic.id).members}
        assert members == known - set(lost)
        for topic in vault.topics():
            assert [m.chunk for m in vault.topic(topic.id).members] == [
                m.chunk for m in whole.topic(topic.id).members if m.chunk not in lost
            ]
        assert vault.topics.places().num_rows == len(there)
        assert [f.to_dict() for f in vault.facts.about("Anna")] == [f.to_dict() for f in whole.facts.about("Anna")]
        port = vault.facts.ask("which port does atlas use")
        assert port.incomplete == (AWAY,)
        assert len(port) == len(whole.facts.ask("which port does atlas use"))
        assert f", without {AWAY})" in repr(port)
        for _, answer in answers(vault, 5):  # one in five has every profile with every filter, and all moments
            assert not {hit["id"] for hit in answer["hits"]} & set(lost)
        vault.chain("why did we move the database")
        vault.diff("database", since="2026-03-10")
        vault.facts.contradictions()
        vault.links.graph()
        vault.facts.graph()
        vault.sessions()
        vault.content()
        vault.bootstrap(budget=800)
        vault.to_arrow()


def test_the_viewer_s_map_is_no_other_s(place: Path) -> None:
    """Rows have other numbers without a shard: places kept of them would be of other chunks when it is back."""
    with reopened(place) as vault:
        whole = vault.topics.places()
    shutil.move(place / AWAY, place.parent / "away")
    with reopened(place, incomplete=True) as vault:
        assert vault.topics.places().num_rows < whole.num_rows
    shutil.move(place.parent / "away", place / AWAY)
    with reopened(place) as vault:
        assert vault.topics.places().equals(whole)
    assert len(list((place / "index").glob("map-*.places"))) == 1


def test_nothing_is_written_or_copied_as_a_whole_meanwhile(place: Path, tmp_path: Path) -> None:
    shutil.move(place / AWAY, tmp_path / "away")
    before = {path: path.read_bytes() for path in place.rglob("*.arrow")}
    with reopened(place, incomplete=True) as vault:
        ids = [chunk.id for chunk in vault.list(limit=4)]
        for write in (
            lambda: vault.add("new"), lambda: vault.update(ids[0], text="new"), lambda: vault.forget(ids, dry_run=False),
            lambda: vault.link(ids[0], ids[1], "causal"), lambda: vault.facts.add("Anna", "owns", "x"), lambda: vault.pin(ids[0]),
            lambda: vault.compact(), lambda: vault.cluster(), lambda: vault.snapshot(tmp_path / "copy"),
            lambda: vault.shard(tmp_path / "again", 2), lambda: vault.build_links(["sequence"]),
        ):  # fmt: skip
            with pytest.raises(VaultIncomplete, match=rf"without {AWAY}.*is missing"):
                write()
        assert not (tmp_path / "copy").exists()
        assert not (tmp_path / "again").exists()
        assert {path: path.read_bytes() for path in place.rglob("*.arrow")} == before
        assert vault.verify().problems[0].where == AWAY
    shutil.move(tmp_path / "away", place / AWAY)
    with reopened(place, incomplete=True) as vault:  # whole again: who wished so may write as everybody
        vault.add("new")
        assert vault.incomplete == ()
    with reopened(place) as vault:
        assert vault.verify(deep=True).ok


def wait_for(vault: Vault, missing: tuple[str, ...]) -> None:
    deadline = time.monotonic() + 20
    while vault.incomplete != missing:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_shard_that_goes_and_comes_back_is_seen_by_who_has_the_vault_open(
    place: Path, made: Path, at_once: None, tmp_path: Path
) -> None:
    with reopened(place, mode="r", incomplete=True) as vault, reopened(made / "local", mode="r") as local:
        questions = list(answers(local, 29))

        def same() -> bool:
            found = list(answers(vault, 29))
            return found == questions

        assert same()
        for turn in range(2):
            shutil.move(place / AWAY, tmp_path / "away")
            assert vault.recall("database").incomplete == (AWAY,), turn
            assert not same()
            shutil.move(tmp_path / "away", place / AWAY)
            wait_for(vault, ())
            assert same()
        with reopened(place) as writer:
            change(writer, 400)
        assert vault.count() == reopened(place, mode="r").count()


def test_no_answer_of_many_threads_is_wrong_while_a_shard_goes_and_comes(
    place: Path, at_once: None, tmp_path: Path
) -> None:
    """Every answer is that of the whole and says so, or that of the rest and says so."""
    with reopened(place, mode="r") as vault:
        whole = plain(vault.recall("postgres database", k=30).to_dict())
    shutil.copytree(place, tmp_path / "part")
    shutil.rmtree(tmp_path / "part" / AWAY)
    with reopened(tmp_path / "part", mode="r", incomplete=True) as vault:
        part = plain(vault.recall("postgres database", k=30).to_dict())
    assert whole != part
    over, wrong, seen = threading.Event(), list[dict[str, Any]](), set[bool]()
    with reopened(place, mode="r", incomplete=True) as vault:

        def ask() -> None:
            while not over.is_set():
                found = plain(vault.recall("postgres database", k=30).to_dict())
                seen.add(bool(found["incomplete"]))
                if found not in (whole, part):
                    wrong.append(found)

        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        for _ in range(4):
            shutil.move(place / AWAY, tmp_path / "away")
            wait_for(vault, (AWAY,))
            time.sleep(0.1)
            shutil.move(tmp_path / "away", place / AWAY)
            wait_for(vault, ())
            time.sleep(0.1)
        over.set()
        for thread in threads:
            thread.join()
    assert not wrong
    assert seen == {True, False}


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "lamina", *arguments], capture_output=True, text=True, timeout=120, check=False
    )


def test_the_command_line_warns_and_names_them(place: Path) -> None:
    shutil.rmtree(place / AWAY)
    refused = run("recall", "database", "--vault", str(place))
    assert refused.returncode == 1
    assert "shards/01 is missing" in refused.stderr
    found = run("recall", "database", "--vault", str(place), "--incomplete")
    assert found.returncode == 0
    assert f"without {AWAY}" in found.stdout.splitlines()[0]
    assert f"lamina: warning: {AWAY} did not answer" in found.stderr
    document = json.loads(run("recall", "database", "--vault", str(place), "--incomplete", "--json").stdout)
    assert document["incomplete"] == [AWAY]
    listed = run("--incomplete", "list", "--vault", str(place), "--json")
    assert json.loads(listed.stdout)
    assert AWAY in listed.stderr
    assert json.loads(run("stats", "--vault", str(place), "--incomplete", "--json").stdout)["incomplete"] == [AWAY]
    added = run("add", "new text", "--vault", str(place), "--incomplete")
    assert added.returncode == 1
    assert f"open without {AWAY}" in added.stderr


@pytest.fixture
def published(machines: Machines, made: Path) -> Machines:
    machines.use("first")
    with reopened(made / "local") as local:
        local.shard(machines.url, 3)
    return machines


def test_objects_of_a_shard_that_are_removed(published: Machines, made: Path, at_once: None) -> None:
    objects = Objects(published.url)
    commits = {path: objects.read(path) or b"" for path in objects.names(f"{AWAY}/commits")}
    published.use("a")
    with reopened(published.url, mode="r", incomplete=True) as a, reopened(made / "local", mode="r") as local:
        ours = plain(local.recall("database").to_dict())
        assert plain(a.recall("database").to_dict()) == ours
        objects.delete(list(commits))
        assert a.recall("database").incomplete == (AWAY,)
        published.use("b")
        with pytest.raises(VaultCorrupt, match="shards/01 is missing"):
            reopened(published.url, mode="r")
        with reopened(published.url, mode="r", incomplete=True) as b:
            assert b.recall("database").incomplete == (AWAY,)
            assert plain(b.recall("database").to_dict()) == plain(a.recall("database").to_dict())
        for path, content in commits.items():
            assert objects.create(path, content)
        wait_for(a, ())
        assert plain(a.recall("database").to_dict()) == ours
        parts = list(objects.names(f"{AWAY}/parts"))
        objects.delete(parts[:1])  # who has it in the cache goes on
        assert plain(a.recall("database").to_dict()) == ours
        published.use("c")
        with reopened(published.url, mode="r", incomplete=True) as c:
            assert c.recall("database").incomplete == (AWAY,)


def test_storage_that_refuses_a_part(published: Machines, at_once: None, monkeypatch: pytest.MonkeyPatch) -> None:
    real, refused = Objects.names, [True]

    def names(self: Objects, *given: Any) -> Any:
        if refused and self.url.endswith(AWAY):
            raise StoreDenied(f"{self.url}: denied")
        return real(self, *given)

    monkeypatch.setattr(Objects, "names", names)
    published.use("b")
    with pytest.raises(StoreDenied):
        reopened(published.url, mode="r")
    with reopened(published.url, mode="r", incomplete=True) as vault:
        assert vault.recall("database").incomplete == (AWAY,)
        with reopened(published.url, incomplete=True) as writer, pytest.raises(VaultIncomplete, match="denied"):
            writer.add("new")
        refused.clear()
        wait_for(vault, ())
        assert vault.recall("database").incomplete == ()


def test_without_any_shard_there_is_nothing_and_all_are_named(place: Path) -> None:
    shutil.rmtree(place / "shards")
    with reopened(place, mode="r", incomplete=True) as vault:
        hits = vault.recall("database")
        assert len(hits) == vault.count() == 0
        assert hits.incomplete == ("shards/00", "shards/01", "shards/02")


def test_the_wish_is_true_or_false(place: Path) -> None:
    with pytest.raises(lamina.InvalidArgument, match="incomplete="):
        reopened(place, incomplete="yes")


def test_a_missing_shard_is_not_looked_for_at_every_call(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.rmtree(place / AWAY)
    looked = [0]
    with reopened(place, mode="r", incomplete=True) as vault:
        monkeypatch.setattr(presence.OpenShards, "_look_again", lambda *given: looked.__setitem__(0, looked[0] + 1))
        for _ in range(20):
            vault.recall("database")
        assert looked == [0]
        monkeypatch.setattr(presence, "AGAIN_S", 0.0)
        vault._memory.store.shards._away[1] = ("gone", 0.0)  # type: ignore[attr-defined]  # its time has come
        vault.recall("database")
    assert looked == [1]

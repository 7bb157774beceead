"""Vaults served by a real Ray cluster: answers, errors, too many calls, replicas and nodes that die."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import lamina
from lamina.cli.demo import tour
from lamina.serving import replicas
from tests.conftest import NOW
from tests.engine.rayclusters import Cluster, free_port

pytest.importorskip("ray.serve", reason="needs lamina[cluster]")
pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="a cluster of several nodes on one machine"),
    pytest.mark.filterwarnings("ignore"),  # Ray's own, at import and when it is left
]
TOKEN = "a-token-of-the-tests"
QUERIES = ("why PostgreSQL", "who is on call", "label_ttl_days", "what happened in January 2026", "depots upload scans")


class Served:
    """A cluster of two workers that serves one local vault, by the command."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "vault"
        for _ in tour(self.root):
            pass
        with lamina.open(self.root) as vault:
            vault.shard(folder / "sharded", shards=2)
        self.cluster = Cluster(folder)
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}/demo"
        self.sharded = f"http://127.0.0.1:{self.port}/sharded"

    def start(self, *options: str) -> dict[str, Any]:
        command = [
            sys.executable, "-m", "lamina", "serve-cluster", f"demo={self.root}", str(self.root.parent / "sharded"),
            "--ray", self.cluster.address,
            "--port", str(self.port), "--json", *options,
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LAMINA_SERVE_TOKEN", TOKEN)
        made = Served(tmp_path_factory.mktemp("serving"))
        ray = pytest.importorskip("ray")
        try:
            ray.init(
                address=made.cluster.address, _node_ip_address="127.0.0.1", log_to_driver=False, logging_level="ERROR"
            )
            for count in (1, 2):
                made.cluster.add_worker()
                made.cluster.wait_for(count)
            assert made.start("--replicas", "2")["addresses"] == [made.address, made.sharded]
            yield made
        finally:
            ray.shutdown()
            made.cluster.stop()


def document(hits: lamina.Hits) -> str:
    found = hits.to_dict()
    del found["took_ms"], found["snapshot"]  # what may differ between equal vaults
    return json.dumps(found)


def expected(served: Served) -> list[str]:
    with lamina.open(served.root, mode="r") as vault:
        return [document(vault.recall(query, now=NOW)) for query in QUERIES]


def test_recalls_are_those_of_the_vault_byte_for_byte(served: Served) -> None:
    with lamina.open(served.address) as vault:
        assert [document(vault.recall(query, now=NOW)) for query in QUERIES] == expected(served)
        assert vault.get("adr-001").title == "PostgreSQL instead of MongoDB"
        assert "adr-001" in vault
        assert vault.tz == "UTC"
        assert len(vault) == len(list(vault))
    with lamina.open(served.sharded) as vault:  # a shard or two: the same answers
        assert [document(vault.recall(query, now=NOW)) for query in QUERIES] == expected(served)
    found = subprocess.run(
        [sys.executable, "-m", "lamina", "recall", "why PostgreSQL", "--vault", served.address, "--json"],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    assert json.loads(found.stdout)["hits"][0]["id"] == "adr-001"


def test_a_missing_shard_is_gone_without_only_for_who_wishes_so(
    served: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = served.root.parent / "sharded" / "shards" / "01"
    with lamina.open(served.sharded, incomplete=True) as wishing, lamina.open(served.sharded) as strict:
        whole = document(strict.recall("why PostgreSQL", now=NOW))
        assert document(wishing.recall("why PostgreSQL", now=NOW)) == whole
        assert wishing.recall("x").incomplete == wishing.list().incomplete == ()
        away.rename(tmp_path / "away")
        with lamina.open(served.root.parent / "sharded", mode="r", incomplete=True) as local:
            part = document(local.recall("why PostgreSQL", now=NOW))
            known = local.list(limit=None)
        assert part != whole
        for _ in range(4):  # of either replica
            hits = wishing.recall("why PostgreSQL", now=NOW)
            assert document(hits) == part
            assert hits.incomplete == ("shards/01",)
            assert ", without shards/01)" in repr(hits)
            with pytest.raises((lamina.VaultCorrupt, lamina.VaultNotFound), match="shards/01"):
                strict.recall("why PostgreSQL")
        assert wishing.facts.ask("who is on call").incomplete == ("shards/01",)
        listed = wishing.list(limit=None)
        assert listed == known
        assert listed.incomplete == listed[:2].incomplete == ("shards/01",)
        assert wishing.stats()["incomplete"] == ["shards/01"]
        shown = subprocess.run(
            [sys.executable, "-m", "lamina", "recall", "why PostgreSQL", "--vault", served.sharded, "--incomplete"],
            capture_output=True, text=True, timeout=120, check=True,
        )  # fmt: skip
        assert "shards/01 did not answer" in shown.stderr
        (tmp_path / "away").rename(away)
        deadline = time.monotonic() + 40
        while wishing.list(limit=1).incomplete:
            assert time.monotonic() < deadline
            time.sleep(0.5)
        assert document(strict.recall("why PostgreSQL", now=NOW)) == whole


def test_what_writes_is_refused_and_errors_are_those_of_the_vault(served: Served) -> None:
    with lamina.open(served.address, mode="r") as vault:
        for write in (
            lambda: vault.add("text"), lambda: vault.forget(["adr-001"]), lambda: vault.facts.add("a", "b", "c"),
            lambda: vault.inject("prompt", "s"), lambda: vault.export("x.jsonl"), lambda: vault.links.build(),
            lambda: vault.facts.contradictions(judge=True), lambda: vault.path,
        ):  # fmt: skip
            with pytest.raises(lamina.VaultReadOnly):
                write()
        with pytest.raises(lamina.ChunkNotFound):
            vault.get("nobody")
        with pytest.raises(lamina.InvalidArgument, match="k="):
            vault.recall("x", k=-1)
        with pytest.raises(TypeError, match="limit"):
            vault.recall("x", limit=3)  # type: ignore[call-arg]
        with pytest.raises(lamina.InvalidArgument, match="cannot be sent"):
            vault.recall("x", where={"project": threading.Lock()})
    with pytest.raises(lamina.VaultNotFound, match=r"'other'.*there are demo, sharded"):
        lamina.open(served.address.replace("demo", "other"))
    with pytest.raises(lamina.ClusterUnreachable, match="serve-cluster"):
        lamina.open("http://127.0.0.1:9/demo")
    with pytest.raises(lamina.InvalidArgument, match="address of a served vault"):
        lamina.open("http://user:secret@127.0.0.1/demo")
    with pytest.raises(lamina.InvalidArgument, match="those of the cluster"):
        lamina.open(served.address, embedder="none")


def test_a_wrong_token_reads_nothing(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAMINA_SERVE_TOKEN", "another")
    with pytest.raises(lamina.StoreDenied, match="LAMINA_SERVE_TOKEN"):
        lamina.open(served.address)


def test_a_killed_replica_and_a_killed_node_are_replaced_and_no_answer_is_wrong(served: Served) -> None:
    right = expected(served)
    wrong: list[object] = []
    answered = [0]
    over = threading.Event()

    def ask() -> None:
        with lamina.open(served.address) as vault:
            while not over.is_set():
                for query, document_ in zip(QUERIES, right, strict=True):
                    found = document(vault.recall(query, now=NOW))
                    answered[0] += 1
                    if found != document_:
                        wrong.append((query, found))

    with ThreadPoolExecutor(2) as threads:
        asking = [threads.submit(ask) for _ in range(2)]
        time.sleep(1)
        served.cluster.kill_worker(0)
        time.sleep(1)
        served.cluster.add_worker()
        served.cluster.wait_for(2)
        time.sleep(3)
        over.set()
        for each in asking:
            each.result()
    assert not wrong
    assert answered[0] > 20


def test_too_many_calls_and_too_long_ones_are_told_so(served: Served) -> None:
    served.start("--replicas", "1", "--waiting", "1", "--timeout", "0.2")
    busy, late = [], []

    def ask(number: int) -> None:
        try:
            with lamina.open(served.address) as vault:
                for _ in range(5):
                    vault.why_not("PostgreSQL", "tokyo")
        except lamina.ClusterBusy as error:
            busy.append(error)
        except lamina.CallTimedOut as error:
            late.append(error)

    with ThreadPoolExecutor(24) as threads:
        list(threads.map(ask, range(24)))
    assert busy
    assert "try again" in str(busy[0])
    assert late


def test_serving_ends(served: Served) -> None:
    replicas.stop(served.cluster.address)
    with pytest.raises(lamina.ClusterUnreachable):
        lamina.open(served.address)


@pytest.mark.parametrize(
    ("places", "names"),
    [(["s3://bucket/team"], ["team"]), (["x=/a/b", "c/.lamina"], ["x", "c"]), (["file:///a/b/"], ["b"])],
)
def test_names(places: list[str], names: list[str]) -> None:
    assert list(replicas.name_vaults(places)) == names


@pytest.mark.parametrize("places", [["s3://"], ["a/team", "b/team"], ["a b=/x"], ["/"]])
def test_names_that_cannot_be(places: list[str]) -> None:
    with pytest.raises(lamina.InvalidArgument, match="NAME="):
        replicas.name_vaults(places)

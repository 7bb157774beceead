"""Served vaults whose shards lie with replicas of their own: the same bytes, whatever dies."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import lamina
from lamina import Vault
from tests.engine.rayclusters import Cluster, _descendants, free_port
from tests.engine.shards.corpus import FILTERS, MOMENTS, NOW, PROFILES, QUERIES, change, make, plain

pytest.importorskip("ray.serve", reason="needs lamina[cluster]")
pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="a cluster of several nodes on one machine"),
    pytest.mark.filterwarnings("ignore"),  # Ray's own, at import and when it is left
]


class Served:
    """A cluster of four workers that serves a vault in three shards, two of them by replicas of shards."""

    def __init__(self, folder: Path) -> None:
        self.local, self.place, self.folder = folder / "local", folder / "sharded", folder
        make(self.local)
        with lamina.open(self.local) as vault:
            vault.shard(self.place, 3)
        self.cluster, self.port = Cluster(folder), free_port()
        self.address = f"http://127.0.0.1:{self.port}/sharded"

    def start(self, *options: str) -> None:
        command = [
            sys.executable, "-m", "lamina", "serve-cluster", str(self.place), "--ray", self.cluster.address, "--port",
            str(self.port), "--shard-replicas", "2", *options,
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
        assert done.returncode == 0, done.stderr

    def kill_a_shard_replica(self) -> None:
        for worker in self.cluster.workers:
            for pid in _descendants(worker.pid):
                if "ServeReplica:lamina:shards" in Path(f"/proc/{pid}/cmdline").read_text(errors="replace"):
                    os.kill(pid, signal.SIGKILL)
                    return
        pytest.fail("there is no replica of shards")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LAMINA_SERVE_TOKEN", "token")
        made = Served(tmp_path_factory.mktemp("by_shard"))
        ray = pytest.importorskip("ray")
        try:
            ray.init(
                address=made.cluster.address, _node_ip_address="127.0.0.1", log_to_driver=False, logging_level="ERROR"
            )
            for count in range(1, 5):
                made.cluster.add_worker()
                made.cluster.wait_for(count)
            made.start()
            yield made
        finally:
            ray.shutdown()
            made.cluster.stop()


def answers(vault: Vault, every: int) -> list[str]:
    """Return recalls of every query, profile, filter and moment in turn."""
    found = []
    asked = itertools.islice(itertools.product(QUERIES, PROFILES, FILTERS), 0, None, every)
    for (query, profile, where), moment in zip(asked, itertools.cycle(MOMENTS), strict=False):
        hits = vault.recall(query, profile=profile, where=where, as_of=moment, k=12, now=None if moment else NOW)
        found.append(json.dumps({**plain(hits.to_dict()), "explained": hits.explain()}, default=str))
    return found


def test_every_answer_is_that_of_the_local_vault(served: Served) -> None:
    with lamina.open(served.local, mode="r") as local, lamina.open(served.address) as vault:
        assert answers(vault, 11) == answers(local, 11)  # every profile with every filter, and all moments
        ids = [chunk.id for chunk in local.list(limit=None)]
        assert vault.list(limit=None) == local.list(limit=None)
        assert vault.get_many(ids[::3]) == local.get_many(ids[::3])
        assert vault.topics() == local.topics()
        assert [each.to_dict() for each in vault.facts.about("Anna")] == [
            each.to_dict() for each in local.facts.about("Anna")
        ]
        assert vault.why_not("postgres database", ids[3], now=NOW) == local.why_not(
            "postgres database", ids[3], now=NOW
        )
        with pytest.raises(lamina.ChunkNotFound):
            vault.get("nobody")


def test_a_replica_of_shards_that_dies_is_another_s_turn(served: Served) -> None:
    with lamina.open(served.local, mode="r") as local:
        right = answers(local, 41)
    wrong, answered, over = list[str](), [0], threading.Event()

    def ask() -> None:
        with lamina.open(served.address) as vault:
            while not over.is_set():
                if answers(vault, 41) != right:
                    wrong.append("another answer")
                answered[0] += 1

    thread = threading.Thread(target=ask)
    thread.start()
    time.sleep(1)
    served.kill_a_shard_replica()
    time.sleep(6)
    over.set()
    thread.join()
    assert not wrong
    assert answered[0] > 1


def test_what_is_written_and_forgotten_is_seen(served: Served) -> None:
    for place in (served.local, served.place):
        with lamina.open(place, clock=lamina.FixedClock(NOW)) as vault:
            change(vault, 400)
            vault.forget(ids=["c0400", "c0002"], dry_run=False)
    with lamina.open(served.local, mode="r") as local, lamina.open(served.address) as vault:
        assert answers(vault, 37) == answers(local, 37)


def test_a_shard_that_stays_away_is_an_error_or_named_where_wished(served: Served) -> None:
    served.start("--timeout", "8")
    with lamina.open(served.address) as strict, lamina.open(served.address, incomplete=True) as wishing:
        whole = plain(strict.recall("database", now=NOW).to_dict())
        assert plain(wishing.recall("database", now=NOW).to_dict()) == whole
        (served.place / "shards" / "01").rename(served.folder / "away")
        with lamina.open(served.place, mode="r", incomplete=True) as local:
            part = plain(local.recall("database", now=NOW).to_dict())
        assert part != whole
        with pytest.raises(OSError, match="shards/01"):
            strict.recall("token auth release", now=NOW)
        assert plain(wishing.recall("database", now=NOW).to_dict()) == part
        assert wishing.recall("database").incomplete == ("shards/01",)
        (served.folder / "away").rename(served.place / "shards" / "01")
        deadline = time.monotonic() + 60
        while wishing.list(limit=1).incomplete:
            assert time.monotonic() < deadline
            time.sleep(0.5)
        assert plain(strict.recall("database", now=NOW).to_dict()) == whole

"""Work on a real Ray cluster: a head and workers as processes of their own, killed while they work."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamina
from lamina_engine.errors import ClusterUnreachable, InvalidArgument
from lamina_engine.executor import RayExecutor
from tests.conftest import NOW
from tests.engine.rayclusters import Cluster
from tests.engine.test_executor import process, square

pytest.importorskip("ray", reason="needs lamina[cluster]")
pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="a cluster of several nodes on one machine"),
    pytest.mark.filterwarnings("ignore"),  # Ray's own, at import and when it is left
]

WORDS = ("PostgreSQL", "Redis", "cheese", "bread", "wine", "harbour", "window", "garden")
RECORDS = [
    {"id": f"n{i}", "text": f"note {i} on {WORDS[i % 8]} and {WORDS[i // 8 % 8]}", "source": f"{i // 40}.md"}
    for i in range(1_200)
]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    started = Cluster(tmp_path_factory.mktemp("ray"))
    ray = pytest.importorskip("ray")
    try:
        ray.init(address=started.address, _node_ip_address="127.0.0.1", log_to_driver=False, logging_level="ERROR")
        started.add_worker('{"left": 1}')
        started.wait_for(1)
        started.add_worker()
        started.wait_for(2)
        yield started
    finally:
        ray.shutdown()
        started.stop()


def vectors_of(vault: lamina.Vault) -> np.ndarray[Any, Any]:
    view = vault._memory.view()
    return view.vectors.gather(np.arange(view.vector_rows, dtype=np.int64))


def answers(vault: lamina.Vault) -> list[Any]:
    queries = ("bread and wine", "where is the harbour", "note 77", "Redis")
    return [[(hit.id, hit.score, hit.terms) for hit in vault.recall(query, 10)] for query in queries]


def test_results_order_laziness_and_errors_are_those_of_every_executor(cluster: Cluster) -> None:
    executor = RayExecutor(cluster.address)
    assert list(executor.map(square, range(9))) == [i * i for i in range(9)]
    asked: list[int] = []

    def items() -> Iterator[int]:
        for number in range(50):
            asked.append(number)
            yield number

    results = executor.map(square, items())
    assert next(results) == 0
    assert len(asked) <= 5
    results.close()  # type: ignore[attr-defined]
    failing = executor.map(square, [1, -2, 3])
    assert next(failing) == 1
    with pytest.raises(ValueError, match="-2"):
        next(failing)
    assert os.getpid() not in set(executor.map(process, range(4)))
    assert executor.remote


def test_tasks_run_where_their_resource_is(cluster: Cluster) -> None:
    executor = RayExecutor(cluster.address, {"left": 1})
    assert len(set(executor.map(process, range(6)))) == 1
    with pytest.raises(ClusterUnreachable, match=r"no node with \{'gpu_memory': 2\}.*left"):
        RayExecutor(cluster.address, {"gpu_memory": 2})


def test_work_that_must_wait_for_a_cpu_says_so(cluster: Cluster, caplog: pytest.LogCaptureFixture) -> None:
    ray = pytest.importorskip("ray")

    class Holder:
        def ready(self) -> bool:
            return True

    await_free(2.0)
    RayExecutor(cluster.address)
    assert "CPU" not in caplog.text
    holders = [ray.remote(Holder).options(num_cpus=1).remote() for _ in range(2)]
    assert ray.get([each.ready.remote() for each in holders]) == [True, True]
    await_free(0.0)
    executor = RayExecutor(cluster.address)
    assert "no CPU of the Ray cluster" in caplog.text
    for each in holders:
        ray.kill(each)
    assert list(executor.map(square, range(3))) == [0, 1, 4]
    await_free(2.0)


def await_free(cpus: float) -> None:
    ray = pytest.importorskip("ray")
    deadline = time.monotonic() + 30
    while ray.available_resources().get("CPU", 0.0) != cpus:
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.parametrize("address", ["", "host", "host:port", "ray://host"])
def test_an_address_that_is_none(address: str) -> None:
    with pytest.raises(InvalidArgument, match="host:port"):
        RayExecutor(address)


def test_no_cluster_at_the_address() -> None:
    with pytest.raises(ClusterUnreachable, match="ray start --head"):
        RayExecutor("127.0.0.1:9")


def test_a_reindex_gives_what_it_gives_here_though_a_worker_is_killed(cluster: Cluster, tmp_path: Path) -> None:
    clock = lamina.FixedClock(NOW)
    with (
        lamina.open(tmp_path / "here", create=True, clock=clock) as here,
        lamina.open(tmp_path / "there", create=True, clock=clock) as there,
    ):
        for vault in (here, there):
            vault.add(RECORDS)
        here.reindex("wordllama-64", batch_rows=50)
        killed: list[int] = []

        def kill_one(step: Any) -> None:
            if not killed and step.stage == "embedding" and step.done >= 300:
                killed.append(step.done)
                cluster.kill_worker(1)
                cluster.add_worker()

        report = there.reindex("wordllama-64", batch_rows=50, ray=cluster.address, progress=kill_one)
        assert killed
        assert report.swapped
        assert report.embedded == len(RECORDS)
        np.testing.assert_array_equal(vectors_of(there), vectors_of(here))
        assert answers(there) == answers(here)
        assert there.verify(deep=True).ok
    cluster.wait_for(2)


def test_shards_are_reindexed_and_read_into_as_one_vault_is_though_a_worker_is_killed(
    cluster: Cluster, tmp_path: Path
) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for i in range(60):
        (folder / f"{i:02}.md").write_text(f"# Note {i}\n\nOn {WORDS[i % 8]}, see [[Note {i // 2}]].\n")
    clock = lamina.FixedClock(NOW)
    with lamina.open(tmp_path / "here", create=True, clock=clock) as here:
        here.add(RECORDS)
        here.shard(tmp_path / "there", 3)
        here.reindex("wordllama-64")
        here.ingest(folder)
        killed: list[int] = []

        def kill_one(step: Any) -> None:
            if not killed and step.stage == "embedding" and step.done >= 100:
                killed.append(step.done)
                cluster.kill_worker(1)
                cluster.add_worker()

        with lamina.open(tmp_path / "there", clock=clock) as there:
            report = there.reindex("wordllama-64", batch_rows=50, ray=cluster.address, progress=kill_one)
            assert killed
            assert report.swapped
            there.ingest(folder, ray=cluster.address)
            np.testing.assert_array_equal(vectors_of(there), vectors_of(here))
            assert answers(there) == answers(here)
            assert there.content() == here.content()
            assert there.verify(deep=True).ok
    cluster.wait_for(2)


def test_an_ingest_gives_what_it_gives_here_though_a_worker_is_killed(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lamina_engine.ingest.drafting.TASK_BYTES", 4_000)
    folder = tmp_path / "notes"
    folder.mkdir()
    for i in range(300):
        words = f"{WORDS[i % 8]} and {WORDS[i // 8 % 8]}"
        (folder / f"{i:03}.md").write_text(
            f"# Note {i}\n\nOn {words}, see [[Note {i // 2}]].\n\n" + f"More on {words}. " * 40
        )
    killed: list[int] = []

    def kill_one(step: Any) -> None:
        if not killed and step.stage == "reading" and step.done >= 60:
            killed.append(step.done)
            cluster.kill_worker(1)
            cluster.add_worker()

    clock = lamina.FixedClock(NOW)
    with (
        lamina.open(tmp_path / "here", create=True, clock=clock) as here,
        lamina.open(tmp_path / "there", create=True, clock=clock) as there,
    ):
        own = here.ingest(folder).to_dict()
        report = there.ingest(folder, ray=cluster.address, progress=kill_one).to_dict()
        assert killed
        assert {**report, "seconds": 0} == {**own, "seconds": 0}
        np.testing.assert_array_equal(vectors_of(there), vectors_of(here))
        assert answers(there) == answers(here)
        assert there.content() == here.content()
        assert there.ingest(folder, ray=cluster.address).unchanged == 300
    cluster.wait_for(2)


def test_links_and_topics_are_those_that_are_made_here(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lamina_engine.topics.parts.PART_ROWS", 300)
    clock = lamina.FixedClock(NOW)
    with (
        lamina.open(tmp_path / "here", create=True, clock=clock) as here,
        lamina.open(tmp_path / "there", create=True, clock=clock) as there,
    ):
        for vault in (here, there):
            vault.add(RECORDS, links=False)
        own, report = here.links.build(["semantic"]), there.links.build(["semantic"], ray=cluster.address)
        assert own.added == report.added > 100
        assert there.links.unresolved() == here.links.unresolved()
        for each in RECORDS[::60]:
            assert there.links(each["id"]) == here.links(each["id"])
        assert there.links.build(["semantic"], ray=cluster.address).kinds["semantic"].unchanged == own.added
        steps: list[str] = []
        found = there.cluster(
            method="parts", ray=cluster.address, progress=lambda step: steps.append(f"{step.stage} {step.done}")
        )
        assert found.topics == here.cluster(method="parts").topics > 1
        assert found.approximate
        assert "parts 2" in steps
        assert there.topics() == here.topics()
        with pytest.raises(InvalidArgument, match="give method='parts'"):
            there.cluster(ray=cluster.address)


def test_a_job_that_is_killed_goes_on_where_it_was(cluster: Cluster, tmp_path: Path) -> None:
    """`lamina reindex file://... --ray` is killed; the next run makes no vector twice, and the vault was whole meanwhile."""
    pytest.importorskip("obstore")
    url = f"file://{tmp_path / 'objects'}"
    environ = {**os.environ, "LAMINA_CACHE": str(tmp_path / "cache")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LAMINA_CACHE", str(tmp_path / "cache"))
        clock = lamina.FixedClock(NOW)
        with lamina.open(url, create=True, clock=clock) as vault:
            vault.add(RECORDS)
            before = answers(vault)
        events = tmp_path / "events.jsonl"
        command = [
            sys.executable, "-m", "lamina", "reindex", "--vault", url, "--embedder", "wordllama-64", "--batch-rows", "20",
            "--ray", cluster.address, "--events", str(events), "--json",
        ]  # fmt: skip
        job = subprocess.Popen(command, env=environ, cwd=tmp_path, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 120
        while _embedded(events) < 200:
            assert job.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)
        job.kill()
        job.wait()
        with lamina.open(url, mode="r", clock=clock) as vault:
            assert answers(vault) == before
        done = subprocess.run(
            command, env=environ, cwd=tmp_path, capture_output=True, text=True, timeout=240, check=False
        )
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)
        assert report["resumed"] >= 200
        assert report["embedded"] == len(RECORDS) - report["resumed"]
        with lamina.open(url, mode="r") as vault:
            assert vault.stats()["embedding"]["dim"] == 64
            assert len(vault) == len(RECORDS)
            assert vault.verify(deep=True).ok


def _embedded(events: Path) -> int:
    if not events.exists():
        return 0
    steps = [json.loads(line) for line in events.read_text().splitlines(keepends=True) if line.endswith("\n")]
    return max((step["done"] for step in steps if step["stage"] == "embedding"), default=0)

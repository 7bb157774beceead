"""Jobs and serving on a Ray cluster over an S3 server, while workers and the server are killed at random moments.

Jobs end, the vault is that of an undisturbed run, what was acknowledged is there, and no recall answers wrongly.
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lamina
from lamina.serving import replicas
from tests.engine.rayclusters import Cluster, free_port
from tests.engine.store.objectstores import BUCKET, KEY, SECRET, SeaweedFS

pytest.importorskip("ray.serve", reason="needs lamina[cluster]")
pytest.importorskip("obstore", reason="needs lamina[cluster]")
pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="a cluster of several nodes on one machine"),
    pytest.mark.filterwarnings("ignore"),  # Ray's own, at import and when it is left
]
WORKERS = 3
"""Of one CPU each: two for replicas, one for jobs."""
WORDS = ("PostgreSQL", "Redis", "cheese", "bread", "wine", "harbour", "window", "garden")
QUERIES = ("bread and wine", "where is the harbour", "note 77", "Redis")
NOW = "2030-01-01T00:00:00Z"
FAULTS = (
    lamina.StoreUnreachable, lamina.VaultLocked, lamina.ClusterUnreachable, lamina.ClusterBusy, lamina.CallTimedOut,
)  # fmt: skip
"""Errors that say: try again."""


class Disturber:
    """Kills a worker or the S3 server at random moments, and starts another one, or the same again."""

    def __init__(self, cluster: Cluster, server: SeaweedFS, moments: int, seed: int) -> None:
        self._cluster, self._server, self._moments = cluster, server, moments
        self._random = random.Random(seed)
        self.done: Counter[str] = Counter()
        self._failed: str | None = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    @property
    def active(self) -> bool:
        return self._thread.is_alive()

    def join(self) -> None:
        self._thread.join()
        assert self._failed is None, self._failed

    def _run(self) -> None:
        try:
            self._disturb()
        except BaseException as error:  # pytest's own are no exceptions
            self._failed = repr(error)
            self._server.kill()
            self._server.start()

    def _disturb(self) -> None:
        for _ in range(self._moments):
            time.sleep(self._random.uniform(0.5, 3.0))
            if self._random.random() < 0.5:
                self._cluster.kill_worker(self._random.randrange(WORKERS))
                self.done["worker"] += 1
                time.sleep(self._random.uniform(0.0, 1.0))
                self._cluster.add_worker()
                self._cluster.wait_for(WORKERS)
            else:
                self._server.kill()
                self.done["server"] += 1
                time.sleep(self._random.uniform(0.0, 3.0))
                _start(self._server)


def _start(server: SeaweedFS) -> None:
    """Start the server; on a full machine it may give up, or its ports may be taken for a moment."""
    for _ in range(4):
        try:
            server.start()
        except pytest.fail.Exception:
            continue
        return
    server.start()


class Places:
    """A cluster of workers, an S3 server, and folders."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.server = SeaweedFS(folder / "objects")
        self.server.start()
        self.patch = pytest.MonkeyPatch()
        for name, value in {
            "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_ENDPOINT_URL": self.server.endpoint,
            "AWS_ALLOW_HTTP": "true", "AWS_REGION": "us-east-1", "LAMINA_CACHE": str(folder / "cache"),
            "LAMINA_SERVE_TOKEN": "token",
        }.items():  # fmt: skip
            self.patch.setenv(name, value)
        self.cluster = Cluster(folder)

    def join(self) -> None:
        ray = pytest.importorskip("ray")
        ray.init(address=self.cluster.address, _node_ip_address="127.0.0.1", log_to_driver=False, logging_level="ERROR")
        for count in range(1, WORKERS + 1):
            self.cluster.add_worker()
            self.cluster.wait_for(count)

    def close(self) -> None:
        pytest.importorskip("ray").shutdown()
        self.cluster.stop()
        self.server.kill()
        self.patch.undo()


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Places]:
    folder = tmp_path_factory.mktemp("faults")
    (folder / "objects").mkdir()
    made = Places(folder)
    try:
        made.join()
        yield made
    finally:
        made.close()


def corpus(folder: Path, number: int) -> Path:
    part = folder / "corpus" / f"part-{number:02}"
    if not part.exists():
        part.mkdir(parents=True)
        for i in range(25):
            words = f"{WORDS[(i + number) % 8]} and {WORDS[i // 8 % 8]}"
            (part / f"{i:02}.md").write_text(
                f"# Part {number} note {i}\n\nOn {words}.\n\n" + f"More on {words} {i}. " * 40
            )
    return part


def try_until_done(work: Callable[[], object], errors: Counter[str]) -> None:
    deadline = time.monotonic() + 300
    while True:
        try:
            work()
        except FAULTS as error:
            errors[type(error).__name__] += 1
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
        else:
            return


def forget_rest(vault: lamina.Vault, ids: list[str]) -> None:
    """Forget what is still there: over shards, a call that failed may have come half way."""
    if rest := [each for each in ids if each in vault]:
        vault.forget(rest, dry_run=False)


def work_round(vault: lamina.Vault, folder: Path, number: int, ray: str | None, errors: Counter[str]) -> None:
    """Ingest, add, forget, and every third time a new model."""
    part = corpus(folder, number)
    try_until_done(lambda: vault.ingest(part, ray=ray, project=f"p{number}", links=False), errors)
    records = [
        {"id": f"a{number}-{i}", "text": f"added {number} {i} on {WORDS[i]}", "created_at": NOW} for i in range(5)
    ]
    try_until_done(lambda: vault.add(records), errors)
    held: list[bool] = []
    try_until_done(lambda: held.append(f"a{number}-4" in vault), errors)
    assert held.pop() or errors  # acknowledged; a fault may hide it for a moment
    if number:
        try_until_done(lambda: forget_rest(vault, [f"a{number - 1}-0", f"a{number - 1}-1"]), errors)
    if number % 3 == 2:
        model = "wordllama-64" if number % 2 else "wordllama-128"
        try_until_done(lambda: vault.reindex(model, ray=ray, batch_rows=50, accept=True), errors)


def content_of(vault: lamina.Vault) -> tuple[Any, str, list[Any]]:
    """Return counts, a digest of all chunks with their vectors, and some answers."""
    chunks = sorted(vault.list(limit=None), key=lambda chunk: chunk.id)
    vectors = vault.vectors([chunk.id for chunk in chunks])
    digest = hashlib.sha256(np.ascontiguousarray(vectors).tobytes())
    for chunk in chunks:
        found = chunk.to_dict()
        del found["recorded_at"]
        digest.update(json.dumps(found, sort_keys=True).encode())
    answers = [[(hit.id, hit.score, hit.text) for hit in vault.recall(query, now=NOW)] for query in QUERIES]
    counts = vault.content()
    return counts, digest.hexdigest(), answers


def document(hits: lamina.Hits) -> str:
    found = hits.to_dict()
    del found["took_ms"], found["snapshot"]
    return json.dumps(found)


def make_vault(url: str, records: list[dict[str, Any]], shards: int) -> str:
    """Return the address of a vault on the storage that holds records, whole or in shards."""
    with lamina.open(url, create=True) as vault:
        if records:
            vault.add(records)
        if not shards:
            return url
        vault.shard(f"{url}-sharded", shards)
    return f"{url}-sharded"


@pytest.mark.parametrize(
    ("moments", "seed", "shards"),
    [
        (3, 1, 0),
        pytest.param(3, 2, 2, marks=pytest.mark.slow),
        pytest.param(50, 22, 0, marks=pytest.mark.slow),
        pytest.param(50, 23, 3, marks=pytest.mark.slow),
    ],
)
def test_jobs_and_answers_are_those_of_an_undisturbed_run(
    places: Places, tmp_path: Path, capsys: pytest.CaptureFixture[str], moments: int, seed: int, shards: int
) -> None:
    """Shards are served by replicas of their own; the undisturbed run is one local vault."""
    notes = [{"id": f"n{i}", "text": f"note {i} on {WORDS[i % 8]}", "created_at": NOW} for i in range(400)]
    served_url = make_vault(f"s3://{BUCKET}/{seed}/served", notes, shards)
    url = make_vault(f"s3://{BUCKET}/{seed}/jobs", [], shards)
    with lamina.open(served_url, mode="r") as vault:
        right = [document(vault.recall(query, now=NOW)) for query in QUERIES]
    address = replicas.start(
        places.cluster.address, {"served": served_url}, token="token", replicas=1, shard_replicas=min(shards, 1),
        timeout_s=15.0, port=free_port(),
    )[0]  # fmt: skip
    asked: Counter[str] = Counter()
    wrong: list[Any] = []
    over = threading.Event()

    def ask() -> None:
        while not over.is_set():
            for query, expected in zip(QUERIES, right, strict=True):
                try:
                    with lamina.open(address) as vault:
                        found = document(vault.recall(query, now=NOW))
                except FAULTS as error:
                    asked[type(error).__name__] += 1
                    time.sleep(0.1)
                    continue
                asked["answered"] += 1
                if found != expected:
                    wrong.append((query, found))
                time.sleep(0.02)

    asking = threading.Thread(target=ask)
    asking.start()
    errors: Counter[str] = Counter()
    disturber = Disturber(places.cluster, places.server, moments, seed)
    rounds = 0
    try:
        with lamina.open(url) as vault:
            while disturber.active or rounds < 3:
                work_round(vault, tmp_path, rounds, places.cluster.address, errors)
                rounds += 1
            disturber.join()
            found = content_of(vault)
            assert vault.verify(deep=True).ok
        deadline = time.monotonic() + 120
        while asked["answered"] <= 10 and time.monotonic() < deadline:
            time.sleep(0.1)  # a slow machine answers few while others are killed
    finally:
        over.set()
        asking.join()
        with capsys.disabled():
            done, tried, calls = dict(disturber.done), dict(errors), dict(asked)
            print(
                f"\n{rounds} rounds, killed {done}, jobs tried again after {tried}, calls {calls}, wrong {len(wrong)}"
            )
    with lamina.open(tmp_path / "undisturbed", create=True) as vault:
        for number in range(rounds):
            work_round(vault, tmp_path, number, None, Counter())
        expected = content_of(vault)
    replicas.stop(places.cluster.address)
    assert sum(disturber.done.values()) == moments
    assert not wrong
    assert asked["answered"] > 10
    assert found == expected

"""A vault beyond one machine: object storage, cold replicas, shards, serving, jobs on workers.

``python -m bench.experiment_cluster --sizes 10k,30k,100k`` starts an S3 server and a Ray cluster on this machine and prints one
JSON line for each measurement; `bench.scale` fits its model on them. On one machine all share the cores: ratios count.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

import lamina
from bench.corpus import NOW_S, Corpus, K, load
from bench.rivals import Lance
from bench.timing import parse_size
from tests.engine.rayclusters import Cluster, free_port
from tests.engine.store.objectstores import BUCKET, KEY, SECRET, SeaweedFS

ASKED: Final = 100
SHARDS: Final = (1, 4, 16)
APART: Final = (1, 4, 8)
"""Shards that lie with processes of their own."""
EMBEDDED: Final = 400
"""Rows of the vault that is reindexed with MiniLM, with one worker and with two."""


REPLICA: Final = """
import json, sys, time
started = time.perf_counter()
import lamina
vault = lamina.open(sys.argv[1], mode="r")
opened = time.perf_counter() - started
vault.recall(sys.argv[2])
answered = time.perf_counter() - started
for query in sys.argv[2:]:
    vault.recall(query)
status = dict(line.split(":") for line in open("/proc/self/status") if line.startswith("Rss"))
memory = {name: int(status[key].split()[0]) * 1024 for name, key in (("own_bytes", "RssAnon"), ("mapped_bytes", "RssFile"))}
print(json.dumps({"open_s": opened, "first_answer_s": answered, **memory}))
"""
"""A process that opens a vault, at first with nothing of it on its machine, and answers."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print a line for each number."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="10k,30k,100k", help="rows of the vaults")
    parser.add_argument("--parts", default="storage,shards,served,apart,jobs,lance", help="what to measure")
    parser.add_argument("--cache", type=Path, default=Path(os.environ.get("LAMINA_BENCH_DIR", tempfile.gettempdir())))
    given = parser.parse_args(arguments)
    parts = set(given.parts.split(","))
    with tempfile.TemporaryDirectory() as name, _server(Path(name)) as server:
        folder = Path(name)
        for size in map(parse_size, given.sizes.split(",")):
            corpus = load(given.cache, size)
            if "storage" in parts:
                measure_storage(corpus, folder, keep="served" in parts)
            if "shards" in parts:
                measure_shards(corpus, folder)
            if "lance" in parts:
                measure_lance(corpus, server)
        if parts & {"served", "apart", "jobs"}:
            with _cluster(folder) as cluster:
                if "served" in parts:
                    measure_served(cluster, corpus)
                if "jobs" in parts:
                    measure_jobs(cluster, corpus, folder)
                if "apart" in parts:
                    measure_apart(cluster, corpus, folder)


def measure_storage(corpus: Corpus, folder: Path, *, keep: bool) -> None:
    """Measure a bulk add, a cold open and a small commit on object storage."""
    with lamina.open(_url(corpus), create=True) as vault:
        seconds = _seconds(lambda: vault.add(corpus.table()))
        _print("add", corpus.size, rows_per_s=corpus.size / seconds)
        small = [_seconds(lambda i=i: vault.add(f"note {i}", id=f"x{i}")) for i in range(10)]  # type: ignore[misc]
        _print("small add", corpus.size, ms=1e3 * statistics.median(small))
        vault.forget([f"x{i}" for i in range(10)], dry_run=False)
    sizes = lamina_objects(corpus)
    _print("objects", corpus.size, count=len(sizes), bytes_per_row=sum(sizes.values()) / corpus.size)
    shutil.rmtree(os.environ["LAMINA_CACHE"])
    for name in ("cold replica", "warm replica"):
        done = subprocess.run(
            [sys.executable, "-c", REPLICA, _url(corpus), *(query.text for query in corpus.queries[:30])],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        _print(name, corpus.size, **json.loads(done.stdout))
    with lamina.open(_url(corpus), mode="r") as vault:
        cache = sum(path.stat().st_size for path in Path(os.environ["LAMINA_CACHE"]).rglob("*") if path.is_file())
        _print("cache", corpus.size, bytes_per_row=cache / corpus.size)
        _print("recall", corpus.size, shards=1, **_recalls(vault, corpus))
    if not keep:
        shutil.rmtree(os.environ["LAMINA_CACHE"])


def measure_shards(corpus: Corpus, folder: Path) -> None:
    """Measure recall over a local vault and the same in shards."""
    own = folder / f"own-{corpus.size}"
    with lamina.open(own, create=True) as vault:
        vault.add(corpus.table())
        for count in SHARDS:
            place = folder / f"shards-{corpus.size}-{count}"
            seconds = _seconds(lambda place=place, count=count: vault.shard(place, shards=count))  # type: ignore[misc]
            _print("sharding", corpus.size, shards=count, rows_per_s=corpus.size / seconds)
            with lamina.open(place, mode="r") as sharded:
                assert [h.id for h in sharded.recall("harbour", K, now=NOW_S)] == [
                    h.id for h in vault.recall("harbour", K, now=NOW_S)
                ]
                _print("recall in shards", corpus.size, shards=count, **_recalls(sharded, corpus))
            shutil.rmtree(place)
    shutil.rmtree(own)


def measure_lance(corpus: Corpus, server: SeaweedFS) -> None:
    """Measure LanceDB's hybrid search on the same storage, without a cache of files, as it is meant to be used."""
    import lancedb

    options = {
        "aws_access_key_id": KEY, "aws_secret_access_key": SECRET, "aws_endpoint": server.endpoint, "allow_http": "true",
        "aws_region": "us-east-1",
    }  # fmt: skip
    place = f"s3://{BUCKET}/lance-{corpus.size}"
    started = time.perf_counter()
    rival = Lance.build_in(corpus, lancedb.connect(place, storage_options=options))
    _print("LanceDB build", corpus.size, rows_per_s=corpus.size / (time.perf_counter() - started))
    first = _seconds(lambda: rival.hybrid(corpus.queries[0]))
    asked = corpus.queries[1:61]
    _print("LanceDB hybrid", corpus.size, first_ms=1e3 * first, **_times(rival.hybrid, asked))
    rival.close()


def measure_served(cluster: Cluster, corpus: Corpus) -> None:
    """Measure a recall that is served over HTTP, beside the same one here."""
    from lamina.serving import replicas

    place = f"s3://{BUCKET}/{corpus.size}"
    started = time.perf_counter()
    address = _serve(cluster, place)
    _print("serving starts", corpus.size, s=time.perf_counter() - started)
    with lamina.open(address) as vault, lamina.open(place, mode="r") as own:
        _print("served recall", corpus.size, **_recalls(vault, corpus))
        _print("the same here", corpus.size, **_recalls(own, corpus))
        _print("served count", corpus.size, **_times(lambda _: vault.count(), corpus.queries[:ASKED]))
    replicas.stop(cluster.address)


def measure_apart(cluster: Cluster, corpus: Corpus, folder: Path) -> None:
    """Measure a recall over shards that lie with up to four processes of their own."""
    from lamina.serving import replicas

    with lamina.open(folder / "own", create=True) as vault:
        vault.add(corpus.table())
        for count in APART:
            place = folder / f"apart-{count}"
            vault.shard(place, shards=count)
            _grow(cluster, 1 + min(count, 4))
            address = _serve(cluster, str(place), shard_replicas=min(count, 4))
            with lamina.open(address) as served:
                _print("recall over replicas", corpus.size, shards=count, **_recalls(served, corpus))
            replicas.stop(cluster.address)


def measure_jobs(cluster: Cluster, corpus: Corpus, folder: Path) -> None:
    """Measure a reindex with MiniLM: here, and with one worker and two."""
    rows = [{"id": str(i), "text": text} for i, text in enumerate(corpus.texts[:EMBEDDED].to_pylist())]
    for workers in (0, 1, 2):
        _grow(cluster, workers)
        with lamina.open(folder / f"job-{workers}", create=True, embedder="none") as vault:
            vault.add(rows)
        with lamina.open(folder / f"job-{workers}") as vault:
            vault.reindex("wordllama-64", ray=cluster.address if workers else None, accept=True)  # workers are warm
            seconds = _seconds(
                lambda vault=vault, workers=workers: vault.reindex(  # type: ignore[misc]
                    "minilm", ray=cluster.address if workers else None, batch_rows=50, accept=True
                )
            )
            _print("reindex with MiniLM", len(rows), workers=workers, rows_per_s=len(rows) / seconds)


def _serve(cluster: Cluster, place: str, shard_replicas: int = 0) -> str:
    from lamina.serving import replicas

    os.environ["LAMINA_SERVE_TOKEN"] = "token"
    return replicas.start(
        cluster.address, {"bench": place}, token="token", replicas=1, shard_replicas=shard_replicas, timeout_s=120.0,
        port=free_port(),
    )[0]  # fmt: skip


def _grow(cluster: Cluster, workers: int) -> None:
    ray = __import__("ray")
    while ray.cluster_resources().get("CPU", 0) < workers:
        cluster.add_worker()
        cluster.wait_for(int(ray.cluster_resources().get("CPU", 0)) + 1)


def lamina_objects(corpus: Corpus) -> dict[str, int]:
    """Return the sizes of a vault's parts on the storage."""
    from lamina_engine.store.objects import Objects

    return Objects(_url(corpus)).names("parts")


def _url(corpus: Corpus) -> str:
    return f"s3://{BUCKET}/{corpus.size}"


def _recalls(vault: lamina.Vault, corpus: Corpus) -> dict[str, float]:
    vault.recall("warm", K, now=NOW_S)
    return _times(lambda query: vault.recall(query.text, K, now=NOW_S), corpus.queries[:ASKED])


def _times(ask: Callable[[Any], object], asked: Sequence[Any]) -> dict[str, float]:
    found = np.array([_seconds(lambda each=each: ask(each)) for each in asked])  # type: ignore[misc]
    p50, p95 = np.percentile(found, [50, 95])
    return {"p50_ms": 1e3 * float(p50), "p95_ms": 1e3 * float(p95)}


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _print(name: str, rows: int, **numbers: float) -> None:
    rounded = {key: float(f"{value:.4g}") for key, value in numbers.items()}
    print(json.dumps({"name": name, "rows": rows, **rounded}), flush=True)


@contextlib.contextmanager
def _server(folder: Path) -> Iterator[SeaweedFS]:
    (folder / "objects").mkdir()
    server = SeaweedFS(folder / "objects")
    server.start()
    os.environ.update(
        AWS_ACCESS_KEY_ID=KEY, AWS_SECRET_ACCESS_KEY=SECRET, AWS_ENDPOINT_URL=server.endpoint, AWS_ALLOW_HTTP="true",
        AWS_REGION="us-east-1", LAMINA_CACHE=str(folder / "cache"),
    )  # fmt: skip
    try:
        yield server
    finally:
        server.kill()


@contextlib.contextmanager
def _cluster(folder: Path) -> Iterator[Cluster]:
    import ray

    cluster = Cluster(folder)
    try:
        ray.init(address=cluster.address, _node_ip_address="127.0.0.1", log_to_driver=False, logging_level=40)
        cluster.add_worker()
        cluster.wait_for(1)
        yield cluster
    finally:
        ray.shutdown()
        cluster.stop()


if __name__ == "__main__":
    main()

"""A clustering that is killed or interrupted leaves the former generation, or the whole new one, in force."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lamina import FixedClock
from lamina_engine.care.verify import verify
from lamina_engine.memory import Memory
from lamina_engine.topics.catalog import current_topics
from lamina_engine.topics.clustering import cluster
from lamina_engine.topics.generation import latest, read_members, read_topics
from tests.engine.topics.vaults import Given, blobs, fill

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sends signals")

SIZES = (4, 9)
"""Fewest chunks of a topic, in turn: each makes a new generation."""

AGAIN = """
import sys
from itertools import count
from pathlib import Path
from lamina_engine.memory import Memory
from lamina_engine.topics.clustering import cluster
from tests.engine.topics.test_kill import SIZES
from tests.engine.topics.vaults import Given

memory = Memory(Path(sys.argv[1]), embedder=Given())
print("ready", flush=True)
for turn in count():
    report = cluster(memory, min_cluster_size=SIZES[turn % 2], full=True)
    print(report.generation, flush=True)
"""


@pytest.mark.parametrize("kills", [3, pytest.param(60, marks=pytest.mark.slow)], ids=["short", "long"])
def test_whoever_is_killed_while_clustering_leaves_a_whole_generation(
    tmp_path: Path, clock: FixedClock, kills: int
) -> None:
    root, moments = tmp_path / "vault", random.Random(7)
    memory = Memory(root, create=True, clock=clock, embedder=Given())
    fill(memory, *blobs((60, 40, 30, 20, 6)))
    whole = {size: _topics(memory, size) for size in SIZES}
    memory.close()
    assert len(set(whole.values())) == len(SIZES), "one generation can be told from the other"
    for _ in range(kills):
        said = _killed(root, moments.uniform(0.0, 0.1))
        memory = Memory(root, clock=clock, embedder=Given())
        now = latest(memory.view().snapshot)
        assert now is not None
        assert now.generation in (said, said + 1)
        assert _in_force(memory) == whole[now.min_cluster_size]
        assert current_topics(memory.view()).members.rows.size == sum(whole[now.min_cluster_size])
        report = verify(root)
        assert report.ok, report.problems
        assert cluster(memory, full=True).generation == now.generation + 1
        memory.close()


def _killed(root: Path, wait_s: float) -> int:
    """Let a process cluster again and again, kill it, and return the last generation that it told of."""
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[3]), *sys.path])}
    with subprocess.Popen(
        [sys.executable, "-c", AGAIN, str(root)], stdout=subprocess.PIPE, text=True, env=environ
    ) as job:
        assert job.stdout is not None
        assert job.stdout.readline() == "ready\n"
        said = [job.stdout.readline()]
        time.sleep(wait_s)
        job.send_signal(signal.SIGKILL)
        said += job.stdout.readlines()
    return int([line for line in said if line.endswith("\n")][-1])


def _topics(memory: Memory, size: int) -> tuple[int, ...]:
    cluster(memory, min_cluster_size=size, full=True)
    return _in_force(memory)


def _in_force(memory: Memory) -> tuple[int, ...]:
    """Return the sizes of the topics in force, as their members say, checked against what the topics say."""
    snapshot = memory.view().snapshot
    now = latest(snapshot)
    assert now is not None
    members = read_members(snapshot, now.generation)
    topics = read_topics(snapshot, now.generation)
    assert {topic.topic for topic in topics} >= set(members.topics)
    sizes = {topic.topic: topic.size for topic in topics if topic.topic in members.topics}
    assert {name: members.topics.count(name) for name in sizes} == sizes
    return tuple(sorted(sizes.values()))

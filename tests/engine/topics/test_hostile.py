"""Topics of a vault that somebody made: rows that there are not, topics below themselves (findings, attack 9)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lamina_engine.errors import VaultCorrupt
from lamina_engine.memory import Memory
from lamina_engine.topics import generation
from lamina_engine.topics.catalog import members_of, topics
from lamina_engine.topics.clustering import cluster
from tests.engine.topics.vaults import blobs, fill


@pytest.fixture
def clustered(memory: Memory) -> generation.Detail:
    fill(memory, *blobs([30, 30]))
    cluster(memory)
    found = generation.latest(memory.view().snapshot)
    assert found is not None
    return found


@pytest.mark.parametrize("row", [-1, 60, 2**40])
def test_members_of_rows_that_there_are_not(memory: Memory, clustered: generation.Detail, row: int) -> None:
    name = topics(memory)[0].id
    with memory.write() as (transaction, _):
        values = {
            "generation": np.array([clustered.generation]), "topic": [name], "chunk": ["c1"], "row": np.array([row]),
            "probability": np.array([1.0], np.float32), "origin": ["clustered"],
        }  # fmt: skip
        transaction.append("members", values, transaction.stamps(1))
    for read in (lambda: topics(memory), lambda: members_of(memory, [name]), lambda: cluster(memory, full=True)):
        with pytest.raises(VaultCorrupt, match="names rows that there are not"):
            read()


@pytest.mark.parametrize("length", [1, 2])
def test_topics_below_themselves_hang_nothing(memory: Memory, clustered: generation.Detail, length: int) -> None:
    rows = generation.read_topics(memory.view().snapshot, clustered.generation)
    ring = [replace(rows[0], topic=f"t{i}", parent=f"t{(i + 1) % length}") for i in range(length)]
    with memory.write() as (transaction, _):
        columns = generation._topic_columns(ring, [clustered.generation] * length)
        transaction.append("topics", columns, transaction.stamps(length))
    with pytest.raises(VaultCorrupt, match="lies below itself"):
        topics(memory)

"""Topics by parts: the same wherever they are clustered, and near those of everything at once."""

from __future__ import annotations

import numpy as np
import pytest

from lamina_engine.errors import InvalidArgument
from lamina_engine.executor import Executor, InlineExecutor, ProcessExecutor
from lamina_engine.memory import Memory
from lamina_engine.topics import parts
from lamina_engine.topics.catalog import topics
from lamina_engine.topics.clustering import cluster
from lamina_engine.topics.drift import adjusted_rand
from lamina_engine.topics.partition import Partition, Settings, fill_labels, partition
from lamina_kernels.layouts import F32
from tests.engine.topics.vaults import blobs, fill

SETTINGS = Settings(method="parts")
DIM = 48


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "PART_ROWS", 500)


def by_parts(rows: F32, executor: Executor | None = None, settings: Settings = SETTINGS) -> Partition:
    return parts.partition_by_parts(rows, settings, executor or InlineExecutor())


@pytest.fixture(scope="module")
def mixture() -> tuple[F32, list[int]]:
    """Forty topics of 20 to 98 rows, in the order of a shuffled history."""
    rows, owners = blobs([20 + 2 * i for i in range(40)], dim=DIM, spread=0.06)
    order = np.random.default_rng(3).permutation(len(rows))
    return rows[order], [owners[i] for i in order]


@pytest.mark.parametrize("count", [0, 1, 500, 501, 2360])
def test_parts_hold_every_row_once_and_none_holds_too_many(mixture: tuple[F32, list[int]], count: int) -> None:
    rows = mixture[0][:count]
    cut = parts.cut_parts(rows, np.arange(count))
    assert np.sort(np.concatenate([np.empty(0, np.int64), *cut])).tolist() == list(range(count))
    assert all(0 < part.size <= 1000 and (np.diff(part) > 0).all() for part in cut)
    assert len(cut) >= count // 1000


def test_equal_rows_and_rows_without_a_direction_end_in_some_part() -> None:
    rows = np.zeros((1_500, DIM), np.float32)
    rows[:1_200, 0] = 1.0
    assert sorted(part.size for part in parts.cut_parts(rows, np.arange(1_500))) == [300, 1_200]


def test_topics_of_parts_are_those_of_everything(mixture: tuple[F32, list[int]]) -> None:
    rows, owners = mixture
    whole = partition(rows.copy, Settings(), threshold=None)
    found = by_parts(rows)
    assert len(whole.centroids) == 40
    assert abs(len(found.centroids) - 40) <= 2
    assert adjusted_rand(fill_labels(rows, found), fill_labels(rows, whole)) >= 0.95
    assert adjusted_rand(fill_labels(rows, found), np.array(owners)) >= 0.95


def test_a_topic_of_few_chunks_is_found(mixture: tuple[F32, list[int]]) -> None:
    rows, _ = mixture
    few = np.zeros((6, DIM), np.float32)
    few[:, 47], few[np.arange(6), np.arange(6)] = 1.0, 0.01
    found = by_parts(np.concatenate([rows[:700], few, rows[700:]]))
    assert len(set(found.labels[700:706].tolist())) == 1
    assert np.bincount(found.labels[found.labels >= 0])[found.labels[700]] == 6


def test_no_topic_joins_two_of_one_part() -> None:
    """Between two near topics of a part stands one of another part: it joins the nearer alone."""
    angles = np.array([0.0, 0.2, 0.09])
    points = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    assert parts.join_topics([points[:2], points[2:]], [0.5, 0.5]).tolist() == [0, 1, 0]
    assert parts.join_topics([points[2:], points[:2]], [0.5, 0.5]).tolist() == [0, 0, 1]


def test_topics_beyond_the_threshold_stay_apart() -> None:
    left = np.array([[1.0, 0.0]], np.float32)
    right = np.array([[0.8, 0.6]], np.float32)  # .205 of half a turn
    assert parts.join_topics([left, right], [0.5, 0.2]).tolist() == [0, 1]
    assert parts.join_topics([left, right], [0.5, 0.21]).tolist() == [0, 0]
    assert parts.join_topics([left, right[:0]], [0.5, 0.5]).tolist() == [0]
    assert parts.join_topics([], []).tolist() == []


def test_near_topics_have_a_parent() -> None:
    # three families of four topics each: their own axes lean towards one of the family's
    rng = np.random.default_rng(1)
    families = np.eye(DIM, dtype=np.float32)[:3]
    axes = [families[f] + 0.5 * np.eye(DIM, dtype=np.float32)[3 + 4 * f + t] for f in range(3) for t in range(4)]
    rows = np.concatenate([axis + 0.03 * rng.standard_normal((80, DIM)) for axis in axes]).astype(np.float32)
    rows = rows[rng.permutation(len(rows))]
    found = by_parts((rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32))
    own = found.layers.parents[found.clusters]
    assert len(found.centroids) == 12
    assert np.bincount(own[own >= 0]).tolist() == [4, 4, 4]
    assert (found.layers.persistence[: own.max() + 1] > 0).all()


def test_where_parts_are_clustered_cannot_be_seen(mixture: tuple[F32, list[int]]) -> None:
    rows, _ = mixture
    here, there = by_parts(rows), by_parts(rows, ProcessExecutor(2))
    for name in ("labels", "probabilities", "centroids", "clusters"):
        assert np.array_equal(getattr(here, name), getattr(there, name)), name
    assert here.threshold == there.threshold


@pytest.mark.parametrize("count", [0, 1, 3])
def test_few_rows_have_no_topics(count: int) -> None:
    rows, _ = blobs([count], dim=DIM)
    found = by_parts(rows)
    assert (found.labels == -1).all()
    assert found.labels.size == count


@pytest.fixture
def filled(memory: Memory) -> Memory:
    rows, owners = blobs([60 + 5 * i for i in range(14)], spread=0.04)
    order = np.random.default_rng(5).permutation(len(rows))
    fill(memory, rows[order], [owners[i] for i in order])
    return memory


def test_a_vault_is_clustered_by_parts_and_says_so(filled: Memory) -> None:
    report = cluster(filled, method="parts")
    assert (report.approximate, report.written) == (True, True)
    made = {topic.id for topic in topics(filled)}
    exact = cluster(filled, method="exact")
    assert exact.approximate is False
    assert abs(report.topics - exact.topics) <= 3
    assert len(made & {topic.id for topic in topics(filled)}) == exact.kept >= 10  # ids and names stay
    steps: list[str] = []
    cluster(filled, method="parts", progress=lambda step: steps.append(f"{step.stage} {step.done}/{step.total}"))
    assert "parts 3/3" in steps


def test_workers_without_parts_are_refused(filled: Memory) -> None:
    with pytest.raises(InvalidArgument, match="give method='parts'"):
        cluster(filled, executor=ProcessExecutor(2))

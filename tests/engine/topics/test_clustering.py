from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from lamina import FixedClock
from lamina_engine.care.forgetting import forget
from lamina_engine.chunks import lifecycle, writing
from lamina_engine.errors import InvalidArgument, TopicNotFound, VaultCorrupt, VaultReadOnly
from lamina_engine.memory import Memory
from lamina_engine.reports import Progress
from lamina_engine.topics import catalog, clustering, generation
from lamina_engine.topics.assignment import angular
from lamina_engine.topics.catalog import current_topics, members_of, topics
from lamina_engine.topics.clustering import cluster
from lamina_engine.topics.generation import latest, read_members, read_topics
from tests.engine.topics.vaults import DIM, Given, blobs, fill


def owners_by_topic(memory: Memory, owners: dict[str, int]) -> list[set[int]]:
    found: dict[str, set[int]] = {}
    members = current_topics(memory.view()).members
    for name, chunk in zip(members.topics, members.chunks, strict=True):
        found.setdefault(name, set()).add(owners[chunk])
    return [found[name] for name in sorted(found)]


def filled_vault(memory: Memory, *sizes: int) -> dict[str, int]:
    vectors, owners = blobs(sizes)
    return dict(zip(fill(memory, vectors, owners), owners, strict=True))


def test_blobs_become_topics_with_words_examples_and_centroids(memory: Memory) -> None:
    owners = filled_vault(memory, 40, 30, 20)
    report = cluster(memory)
    assert (report.generation, report.topics, report.chunks) == (1, 3, 90)
    assert not report.incremental
    assert report.written
    assert report.members + report.noise == 90
    assert report.noise < 5
    assert sorted(map(tuple, owners_by_topic(memory, owners))) == [(0,), (1,), (2,)]
    largest = topics(memory)[0]
    assert largest.size >= 38
    assert {"garden", "rose"} <= set(largest.words[:3])
    assert largest.name == ", ".join(largest.words[:3])
    assert largest.medoid == largest.exemplars[0]
    assert {owners[e] for e in largest.exemplars} == {0}
    for row in read_topics(memory.view().snapshot, 1):
        assert np.linalg.norm(row.centroid) == pytest.approx(1.0, abs=1e-6)


def test_members_keep_to_the_threshold(memory: Memory) -> None:
    filled_vault(memory, 40, 30, 20)
    for threshold in ("auto", 0.15, 0.09):
        report = cluster(memory, threshold=threshold)
        view = memory.view()
        centroids = {t.topic: t.centroid for t in read_topics(view.snapshot, report.generation)}
        members = read_members(view.snapshot, report.generation)
        for name, row, origin in zip(members.topics, members.rows.tolist(), members.origins, strict=True):
            vector = view.vectors.gather(np.array([row]))
            assert angular(vector, centroids[name][None])[0, 0] < report.threshold, (threshold, origin)
    assert report.threshold == 0.09


def test_plain_selections_take_nothing_in(memory: Memory) -> None:
    filled_vault(memory, 40, 30, 20)
    for selection in ("eom", "leaf"):
        report = cluster(memory, selection=selection)
        origins = set(read_members(memory.view().snapshot, report.generation).origins)
        assert origins == {"tree"}
    cluster(memory)
    assert Counter(read_members(memory.view().snapshot, 3).origins)["smoothed"] > 60


def test_the_same_again_writes_nothing_and_full_makes_the_same(memory: Memory) -> None:
    filled_vault(memory, 30, 30)
    first = cluster(memory)
    version = memory.view().snapshot.version
    again = cluster(memory)
    assert (again.generation, again.written, again.members) == (first.generation, False, first.members)
    assert memory.view().snapshot.version == version
    before = topics(memory)
    full = cluster(memory, full=True)
    assert (full.generation, full.kept) == (2, full.topics + full.parents)
    assert topics(memory) == before


def test_two_vaults_with_the_same_chunks_get_the_same_bytes(tmp_path: Path, clock: FixedClock) -> None:
    found = []
    for name in ("a", "b"):
        memory = Memory(tmp_path / name, create=True, clock=clock, embedder=Given())
        filled_vault(memory, 30, 20, 10)
        cluster(memory, threads=1 if name == "a" else 2)
        found.append({path.name for log in ("topics", "members") for path in (tmp_path / name / "log" / log).iterdir()})
        memory.close()
    assert found[0] == found[1]  # a segment's name carries a digest of its bytes


def test_new_chunks_are_assigned_when_they_are_read(memory: Memory) -> None:
    owners = filled_vault(memory, 40, 30)
    cluster(memory)
    sizes = {t.id: t.size for t in topics(memory)}
    vectors, late = blobs([3, 0, 2], seed=9)
    owners |= dict(zip(fill(memory, vectors, late, prefix="late"), late, strict=True))
    version = memory.view().snapshot.version
    grown = {t.id: t.size - sizes[t.id] for t in topics(memory)}
    assert sorted(grown.values()) == [0, 3], "those far from every topic stay outside"
    assert all(len(found) == 1 for found in owners_by_topic(memory, owners))
    name = next(t for t, more in grown.items() if more)
    assert sum(member.origin == "assigned" for member in members_of(memory, [name])[0].members) == 3
    assert memory.view().snapshot.version == version


def test_up_to_thirty_percent_is_continued_and_more_is_not(memory: Memory) -> None:
    filled_vault(memory, 50, 50)
    first = cluster(memory)
    vectors, late = blobs([15, 15], seed=5)
    fill(memory, vectors, late, prefix="n")
    report = cluster(memory)
    assert (report.incremental, report.added, report.threshold) == (True, 30, first.threshold)
    assert {t.id for t in topics(memory)} == {t.topic for t in read_topics(memory.view().snapshot, 1)}
    more, one = blobs([1], seed=6)
    fill(memory, more, one, prefix="o")
    assert not cluster(memory).incremental


def test_a_topic_that_has_come_up_is_found(memory: Memory) -> None:
    filled_vault(memory, 50, 50)
    cluster(memory)
    vectors, late = blobs([0, 0, 25], seed=5)
    fill(memory, vectors, late, prefix="n")
    report = cluster(memory)
    assert (report.incremental, report.topics, report.kept) == (False, 3, 2)


def test_removed_and_updated_chunks_leave_and_come(memory: Memory) -> None:
    filled_vault(memory, 40, 30)
    cluster(memory)
    sizes = sum(t.size for t in topics(memory))
    members = current_topics(memory.view()).members
    lifecycle.invalidate(memory, members.chunks[0], "wrong")
    assert sum(t.size for t in topics(memory)) == sizes - 1
    report = cluster(memory)
    assert (report.incremental, report.removed, report.members) == (True, 1, sizes - 1)
    lifecycle.restore(memory, members.chunks[0])
    assert sum(t.size for t in topics(memory)) == sizes
    report = cluster(memory)
    assert (report.incremental, report.removed, report.members) == (True, 0, sizes)


def test_forgotten_chunks_are_gone_from_topics(memory: Memory) -> None:
    filled_vault(memory, 40, 30)
    cluster(memory)
    gone = topics(memory)[0].exemplars[0]
    forget(memory, ids=[gone], dry_run=False)
    assert gone not in {member.chunk for t in topics(memory) for member in members_of(memory, [t.id])[0].members}
    assert all(gone not in (t.medoid, *t.exemplars) for t in topics(memory))
    assert cluster(memory).removed == 1


def test_ids_and_names_are_kept_while_half_stays(memory: Memory) -> None:
    filled_vault(memory, 40, 30)
    cluster(memory)
    before = {t.id: t.name for t in topics(memory)}
    vectors, _ = blobs([20, 20], seed=5)
    fill(memory, vectors, [3] * 40, prefix="n")  # other words: a new name would be another
    report = cluster(memory)
    assert (report.incremental, report.kept) == (False, 2)
    assert {t.id: t.name for t in topics(memory)} == before


@pytest.mark.parametrize("sizes", [(), (1,), (2,), (3,), (12,)])
def test_few_chunks_have_no_topics(memory: Memory, sizes: tuple[int, ...]) -> None:
    filled_vault(memory, *sizes)
    report = cluster(memory)
    assert (report.generation, report.topics, report.members) == (1, 0, 0)
    assert topics(memory) == []
    assert cluster(memory).written is False


def test_equal_vectors_and_rows_without_any(memory: Memory) -> None:
    vectors = np.zeros((30, DIM), np.float32)
    vectors[:10, 0] = vectors[10:20, 1] = 1.0
    fill(memory, vectors, [0] * 10 + [1] * 10 + [2] * 10)
    report = cluster(memory)
    assert (report.chunks, report.topics, report.members) == (20, 2, 20)


def test_an_interrupted_run_leaves_the_vault_as_it_was(memory: Memory) -> None:
    filled_vault(memory, 40, 30)
    version = memory.view().snapshot.version

    def stop(step: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cluster(memory, progress=stop)
    assert memory.view().snapshot.version == version
    assert latest(memory.view().snapshot) is None
    assert cluster(memory).generation == 1


def test_steps_are_told_stage_by_stage_and_any_of_them_may_end_the_run(memory: Memory) -> None:
    vectors, owners = blobs([1100, 1100], spread=0.4)  # more than a sample
    fill(memory, vectors, owners)
    steps: list[Progress] = []
    cluster(memory, progress=steps.append, threads=1)
    stages = list(dict.fromkeys(step.stage for step in steps))
    assert stages[:2] == ["smoothing", "neighbours"]
    assert {"words", "agreement"} <= set(stages)
    assert all(0 <= step.done <= step.total for step in steps)
    version = memory.view().snapshot.version
    for stage in stages:

        def stop(step: Progress, at: str = stage) -> None:
            if step.stage == at:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            cluster(memory, full=True, progress=stop, threads=1)
        assert memory.view().snapshot.version == version


def test_a_crash_while_writing_leaves_the_former_generation(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    filled_vault(memory, 40, 30)
    cluster(memory)
    before = topics(memory)

    def crash(*_: object) -> None:
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(generation, "add_events", crash)
        with pytest.raises(OSError, match="disk full"):
            cluster(memory, min_cluster_size=8)
    found = latest(memory.view().snapshot)
    assert found is not None
    assert found.generation == 1
    assert topics(memory) == before


def test_what_cannot_be_read_is_named(memory: Memory) -> None:
    with memory.write() as (transaction, _):
        writing.add_events(
            transaction, generation.KIND, [""], np.array([-1]), transaction.stamps(1), [None], ["{}"]
        )  # fmt: skip
    with pytest.raises(VaultCorrupt, match="`generation`"):
        topics(memory)


@pytest.mark.parametrize(
    "wrong",
    [
        {"min_cluster_size": 1}, {"min_samples": 0}, {"min_samples": True}, {"threshold": 0}, {"threshold": "loose"},
        {"method": "fast"}, {"selection": "best"}, {"min_cluster_size": 4.0}, {"method": ["exact"]}, {"full": "no"},
        {"budget": 100}, {"names": None}, {"threshold": "0.09"}, {"threshold": float("nan")},
    ],
)  # fmt: skip
def test_wrong_settings_are_refused(memory: Memory, wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidArgument, match=next(iter(wrong))):
        cluster(memory, **wrong)  # type: ignore[arg-type]


def test_numbers_of_numpy_and_sizes_beyond_all_chunks(memory: Memory) -> None:
    filled_vault(memory, 40, 30)
    ref = cluster(memory, min_cluster_size=5, min_samples=3, threshold=0.25)
    got = cluster(memory, min_cluster_size=np.int64(5), min_samples=np.int8(3), threshold=np.float64(0.25))  # type: ignore[arg-type]
    assert (got.written, got.members) == (False, ref.members), "the same settings"
    for size in (71, 10**9, 10**30):
        report = cluster(memory, min_cluster_size=size, min_samples=3)
        assert (report.topics, report.noise) == (0, 70)
        assert topics(memory) == []
        assert cluster(memory, min_cluster_size=size, min_samples=3).written is False


def test_a_new_vault_has_no_topics_and_nothing_is_written(memory: Memory) -> None:
    version = memory.view().snapshot.version
    report = cluster(memory)
    assert (report.generation, report.topics, report.chunks, report.written) == (0, 0, 0, False)
    assert memory.view().snapshot.version == version
    assert topics(memory) == []


def test_threads_are_at_least_one(memory: Memory) -> None:
    filled_vault(memory, 5)
    with pytest.raises(InvalidArgument, match="threads"):
        cluster(memory, threads=0)


def test_readers_and_vaults_without_vectors_are_refused(tmp_path: Path, memory: Memory) -> None:
    filled_vault(memory, 5)
    reader = Memory(memory.root, mode="r", embedder=Given())
    with pytest.raises(VaultReadOnly):
        cluster(reader)
    assert topics(reader) == []
    words = Memory(tmp_path / "words", create=True, embedder="none")
    with pytest.raises(InvalidArgument, match="no vectors"):
        cluster(words)


def test_topics_of_another_space_are_shown_and_not_continued(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    filled_vault(memory, 40, 30)
    cluster(memory)
    before = topics(memory)
    vectors, owners = blobs([3], seed=9)
    fill(memory, vectors, owners, prefix="late")
    for module in (catalog, clustering):
        monkeypatch.setattr(module, "current_space", lambda _: "another model")
    assert topics(memory) == before, "vectors of another model are not compared with these centroids"
    report = cluster(memory)
    assert (report.incremental, report.kept) == (False, 2)


def test_unknown_topics_are_named(memory: Memory) -> None:
    with pytest.raises(TopicNotFound, match="lamina topics"):
        members_of(memory, ["t0"])[0]
    with pytest.raises(InvalidArgument):
        members_of(memory, [""])[0]


def test_members_of_a_wider_topic_are_those_below(memory: Memory) -> None:
    """Blobs in two groups: the groups come out as parents."""
    rng = np.random.default_rng(2)
    group = np.eye(DIM)[[0] * 90 + [1] * 90 + [2] * 60]
    inner = 0.45 * np.eye(DIM)[[4 + i // 30 for i in range(240)]]
    vectors = (group + inner + 0.05 * rng.standard_normal((240, DIM))).astype(np.float32)
    fill(memory, vectors / np.linalg.norm(vectors, axis=1, keepdims=True), [i // 30 for i in range(240)])
    cluster(memory)
    found = {t.id: t for t in topics(memory)}
    parents = [t for t in found.values() if t.children]
    assert parents
    for parent in parents:
        assert parent.size == sum(found[child].size for child in parent.children)
        members = members_of(memory, [parent.id])[0].members
        assert len(members) == parent.size
        assert {m.topic for m in members} <= set(found) - {parent.id}
        assert all(found[child].parent == parent.id for child in parent.children)

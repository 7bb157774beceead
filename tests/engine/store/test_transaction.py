from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lamina_engine.clock import FixedClock
from lamina_engine.errors import VaultCorrupt, VaultLocked
from lamina_engine.store import manifest as manifests
from lamina_engine.store import segments
from lamina_engine.store.manifest import KEPT_MANIFESTS, Space
from lamina_engine.store.store import Store
from tests.engine.store.appends import add_events, add_links, commit_links, link_sources
from tests.engine.store.faults import FaultyFiles, Quick, orphans


@pytest.fixture
def store(quick_path: Path) -> Store:
    return Store.create(quick_path / "vault", clock=FixedClock("2026-01-01"), files=Quick())


def test_nothing_appended_commits_nothing(store: Store) -> None:
    before = store.snapshot()
    with store.transaction() as transaction:
        assert add_links(transaction, []) == 0
    assert store.snapshot() is before


def test_a_block_that_raises_changes_nothing(store: Store) -> None:
    commit_links(store, "a")
    before = store.snapshot()
    with pytest.raises(KeyError), store.transaction() as transaction:  # noqa: PT012
        add_links(transaction, ["b"])
        raise KeyError
    assert store.snapshot() is before
    commit_links(store, "c")
    assert link_sources(store) == ["a", "c"]


def test_row_numbers_count_what_is_pending(store: Store) -> None:
    commit_links(store, "a", "b")
    with store.transaction() as transaction:
        assert add_links(transaction, ["c"]) == 2
        assert add_links(transaction, ["d", "e"]) == 3
        assert transaction.rows("links") == 5
    assert link_sources(store) == list("abcde")


def test_stamps_never_run_backwards(store: Store) -> None:
    clock = store.clock
    assert isinstance(clock, FixedClock)
    with store.transaction() as transaction:
        first = transaction.stamps(3)
        add_links(transaction, ["a"])
        [last] = transaction.stamps(1)
    clock.advance(-3600)
    with store.transaction() as transaction:
        again = transaction.stamps(1)
    assert first.tolist() == [first[0], first[0] + 1, first[0] + 2]
    assert last == first[0] + 4
    assert again[0] == last + 1


@pytest.mark.parametrize("n", [600, pytest.param(10_000, marks=pytest.mark.slow)])
def test_many_small_commits_leave_few_files_and_do_bounded_work(quick_path: Path, n: int) -> None:
    """Counted, not timed."""
    files = FaultyFiles()
    store = Store.create(quick_path / "counted", clock=FixedClock("2026-01-01"), files=files)
    steps = []
    for i in range(n):
        before = len(files.steps)
        commit_links(store, f"s{i}")
        steps.append(len([step for step in files.steps[before:] if step != "remove"]))
    # segment, manifest and CURRENT are written and flushed, three folders flushed, CURRENT renamed; always
    assert set(steps[1:]) == {10}
    found = [path for path in (quick_path / "counted").rglob("*") if path.is_file()]
    assert len(found) <= 7 * 5 + 2 * KEPT_MANIFESTS + 3
    assert (quick_path / "counted" / manifests.MANIFESTS / store.snapshot().name).stat().st_size < 10_000
    assert link_sources(store) == [f"s{i}" for i in range(n)]
    assert orphans(quick_path / "counted") == []


def test_dictionaries_are_one_after_a_merge(store: Store) -> None:
    kinds = [["pin", "unpin"], ["unpin"], ["restore"], ["pin", "restore"], ["x"], ["pin"], ["y", "x"], ["unpin"]]
    for group in kinds:
        with store.transaction() as transaction:
            add_events(transaction, group)
    snapshot = store.snapshot()
    (segment,) = snapshot.segments("events")
    column = segment.column("kind")
    assert isinstance(column, pa.DictionaryArray)
    assert column.to_pylist() == [kind for group in kinds for kind in group]
    assert sorted(column.dictionary.to_pylist()) == ["pin", "restore", "unpin", "x", "y"]


def test_a_batch_is_cut_into_segments(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "SEGMENT_ROWS", 10)
    commit_links(store, *[f"s{i}" for i in range(25)])
    assert [s.rows for s in store.snapshot().segments("links")] == [10, 10, 5]
    assert link_sources(store) == [f"s{i}" for i in range(25)]
    assert [s.ref.last_us for s in store.snapshot().segments("links")] == (
        store.snapshot().column("links", "recorded_at")[[9, 19, 24]].tolist()
    )


def test_spaces_and_indexes_are_carried_on(store: Store) -> None:
    with store.transaction() as transaction:
        transaction.set_space("default", Space("model", 3), default=True)
        transaction.set_index("keys", {"rows": 0})
    commit_links(store, "a")
    snapshot = store.snapshot()
    assert snapshot.space == Space("model", 3)
    assert snapshot.vector_log == "vectors.default"
    assert snapshot.manifest.indexes == {"keys": {"rows": 0}}
    with store.transaction() as transaction:
        transaction.set_index("keys", None)
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(np.eye(3, dtype=np.float32).reshape(-1)), 3)
        transaction.append("vectors.default", {"vector": vectors}, transaction.stamps(3))
    assert store.snapshot().manifest.indexes == {}
    assert store.snapshot().rows("vectors.default") == 3


def test_a_damaged_segment_is_never_merged(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    for i in range(7):
        commit_links(store, f"s{i}")
    damaged = store.snapshot().segments("links")[2].path
    content = bytearray(damaged.read_bytes())
    content[content.index(b"there")] ^= 1
    damaged.write_bytes(content)
    again = Store(store.root, clock=store.clock, files=Quick())
    with caplog.at_level(logging.WARNING):
        commit_links(again, "s7")
    assert "is not merged" in caplog.text
    assert damaged.exists()
    with pytest.raises(VaultCorrupt, match="rows 2 to 2 of links"):
        link_sources(again)


def test_what_this_process_wrote_is_merged_from_memory_and_so_repaired(store: Store) -> None:
    for i in range(7):
        commit_links(store, f"s{i}")
    segment = store.snapshot().segments("links")[2]
    assert segment.in_memory
    content = segment.path.read_bytes()
    assert bytes(segment.content()) == content
    segment.path.write_bytes(bytes(len(content)))
    commit_links(store, "s7")
    ref = [f"s{i}" for i in range(8)]
    assert link_sources(store) == ref
    assert link_sources(Store(store.root)) == ref


def test_a_large_segment_is_read_from_its_file(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "KEPT_BYTES", 10)
    commit_links(store, "a", "b")
    assert not store.snapshot().segments("links")[0].in_memory
    assert link_sources(store) == ["a", "b"]


def test_a_small_segment_does_not_keep_a_large_batch_in_memory(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "SEGMENT_ROWS", 9_990)
    commit_links(store, *[f"a source with a long name, number {i}" for i in range(10_000)])
    large, small = store.snapshot().segments("links")
    assert (large.rows, small.rows) == (9_990, 10)
    assert not large.in_memory
    assert not small.in_memory


def test_a_writer_opens_nothing_of_what_it_committed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifests, "load", None)
    before = store.snapshot()
    commit_links(store, "a")
    snapshot = store.snapshot()
    assert snapshot.version == before.version + 1
    assert snapshot is store.snapshot()
    monkeypatch.undo()
    other = Store(store.root).snapshot()
    assert (other.manifest, other.name) == (snapshot.manifest, snapshot.name)
    assert other.records("links", np.arange(1)) == snapshot.records("links", np.arange(1))


def test_a_version_that_cannot_be_opened_after_its_commit_is_committed(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr("lamina_engine.store.transaction.Transaction._segment", fails)
    commit_links(store, "a")
    assert link_sources(store) == ["a"]


def test_what_is_done_meanwhile_is_done_once_and_before_anything_is_seen(store: Store) -> None:
    seen: list[list[str]] = []
    with store.transaction() as transaction:
        add_links(transaction, ["a"])
        transaction.on_flush(lambda: seen.append(link_sources(Store(store.root))))
        transaction.on_flush(lambda: seen.append([]))
        assert seen == []
    assert seen == [[], []]
    assert link_sources(store) == ["a"]


def test_what_fails_meanwhile_commits_nothing(store: Store) -> None:
    def fails() -> None:
        raise KeyError("beside the disk")

    commit_links(store, "a")
    with pytest.raises(KeyError), store.transaction() as transaction:  # noqa: PT012
        add_links(transaction, ["b"])
        transaction.on_flush(fails)
    assert link_sources(store) == link_sources(Store(store.root)) == ["a"]
    assert orphans(store.root) == []
    commit_links(store, "c")
    assert link_sources(store) == ["a", "c"]


def test_what_is_to_go_soon_is_gone_where_rows_are_forgotten(quick_path: Path) -> None:
    class Late(Quick):
        def delete_in_background(self, paths: Any, on_failure: Any) -> None:
            """Never, as of a process that was killed."""

    store = Store.create(quick_path / "late", clock=FixedClock("2026-01-01"), files=Late())
    for i in range(8):
        commit_links(store, f"s{i}")
    assert len(orphans(store.root)) == 7
    with store.transaction() as transaction:
        (segment,) = transaction.snapshot.segments("links")
        transaction.replace(segment, lambda: segment.batch)
    assert orphans(store.root) == []
    assert link_sources(Store(store.root)) == [f"s{i}" for i in range(8)]


def test_a_nested_commit_is_not_lost_silently(store: Store) -> None:
    with pytest.raises(VaultLocked, match="try again"), store.transaction() as outer:  # noqa: PT012
        add_links(outer, ["outer"])
        commit_links(store, "inner")
    assert link_sources(store) == ["inner"]
    assert orphans(store.root) == []


def test_a_full_disk_gets_its_space_back_at_once(quick_path: Path) -> None:
    Store.create(quick_path / "vault", files=Quick())
    for at in range(1, 12):
        files = FaultyFiles(at, "nospace")
        store = Store(quick_path / "vault", files=files)
        with pytest.raises(OSError, match="space"):
            commit_links(store, f"at{at}")
        assert orphans(quick_path / "vault") == []


def test_leftovers_of_a_killed_writer_are_swept_by_the_next(store: Store) -> None:
    commit_links(store, "a")
    root = store.root
    name = store.snapshot().name
    left = [
        root / "log" / "links" / "000000000001-1-0123456789ab.arrow",
        root / "log" / "links" / "000000000001-1-0123456789ab.arrow.tmp",
        root / "manifests" / f"{int(name[:10]) + 1:010d}-0123456789abcdef.json",
        root / "manifests" / f"{name[:10]}-0123456789abcdef.json",
        root / "CURRENT.tmp",
        root / "manifests" / f"{name[:10]}-fedcba9876543210.json.tmp",
    ]
    for path in left:
        path.write_bytes(b"torn")
    (root / "log" / ".DS_Store").touch()
    assert link_sources(Store(root)) == ["a"]
    commit_links(Store(root), "b")
    assert not any(path.exists() for path in left)
    assert link_sources(store) == ["a", "b"]

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

import lamina
from lamina_engine.clock import FixedClock
from lamina_engine.store.snapshot import Snapshot
from lamina_engine.store.store import Store
from tests.engine.store.appends import add_events, commit_links
from tests.engine.store.faults import Quick


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.create(tmp_path / "vault", clock=FixedClock("2026-01-01"), files=Quick())


def test_an_empty_vault(store: Store) -> None:
    got = store.snapshot()
    assert (got.version, got.rows("links"), got.segments("links"), got.space) == (1, 0, (), None)
    assert got.watermark("links", 2**62) == 0
    none = np.empty(0, np.int64)
    assert got.numbers("links", "weight", none).tolist() == []
    assert got.records("links", none) == []
    assert got.column("links", "weight").tolist() == []


@pytest.mark.parametrize("n", [1, 2, 20])
def test_rows_come_in_the_order_asked_for_from_any_segments(store: Store, n: int) -> None:
    names = [f"s{i}" for i in range(n)]
    for name in names:
        commit_links(store, name)
    snapshot = store.snapshot()
    rows = np.random.default_rng(1).permutation(np.arange(n, dtype=np.int64).repeat(2))
    assert snapshot.values("links", "source", rows) == [names[row] for row in rows]
    assert [r["source"] for r in snapshot.records("links", rows, ("source",))] == [names[row] for row in rows]
    ref = snapshot.column("links", "recorded_at")
    assert snapshot.numbers("links", "recorded_at", rows).tolist() == ref[rows].tolist()
    assert snapshot.numbers("links", "created_at", rows, missing=-7).tolist() == [-7] * len(rows)
    assert snapshot.column("links", "recorded_at", start=n // 2).tolist() == ref[n // 2 :].tolist()


def test_rows_with_a_category_are_found_in_any_segments(store: Store) -> None:
    for kinds in (["pin", "review"], ["pin"], ["review", "unpin", "review"]):
        with store.transaction() as transaction:
            add_events(transaction, kinds)
    snapshot = store.snapshot()
    assert snapshot.rows_with("events", "kind", ("review",)).tolist() == [1, 3, 5]
    assert snapshot.rows_with("events", "kind", ("review", "unpin", "none"), start=2).tolist() == [3, 4, 5]
    assert snapshot.rows_with("events", "kind", ("none",)).tolist() == []
    assert snapshot.rows_with("links", "relation", ("next",)).tolist() == []


def test_watermarks_count_what_was_recorded_by_then(store: Store) -> None:
    clock = store.clock
    assert isinstance(clock, FixedClock)
    for i in range(20):
        commit_links(store, *[f"s{i}.{j}" for j in range(1 + i % 3)])
        clock.advance(i % 2 - 0.5)  # backwards, too
    snapshot = store.snapshot()
    stamps = snapshot.column("links", "recorded_at")
    assert (np.diff(stamps) > 0).all()
    for moment in [stamps[0] - 1, *stamps.tolist(), *(stamps + 1).tolist(), 2**62]:
        assert snapshot.watermark("links", int(moment)) == np.searchsorted(stamps, moment, side="right")


def test_events_appended_out_of_order_are_kept_by_time(store: Store) -> None:
    with store.transaction() as transaction:
        first = int(transaction.stamps(4)[0])
        add_events(transaction, ["a", "b", "c"], [first, first + 1, first + 2])
        add_events(transaction, ["d", "e"], [first, first + 2])
    snapshot = store.snapshot()
    rows = np.arange(5, dtype=np.int64)
    assert snapshot.values("events", "kind", rows) == ["a", "d", "b", "c", "e"]
    assert [snapshot.watermark("events", first + i) for i in range(3)] == [2, 3, 5]


def test_vectors_are_as_wide_as_their_space(tmp_path: Path) -> None:
    """A find of the fuzzer: a segment of other width, with digests that fit, was an untyped error of NumPy."""
    with lamina.open(tmp_path / "vault", create=True) as vault:
        vault.add("kafka")
    good = Store(tmp_path / "vault").snapshot()
    (segment,) = good.segments(good.vector_log)
    assert good.space is not None
    assert good.vectors(segment).shape == (1, good.space.dim)
    spaces = {good.manifest.space: msgspec.structs.replace(good.space, dim=5)}
    wrong = Snapshot(msgspec.structs.replace(good.manifest, spaces=spaces), {good.vector_log: (segment,)})
    with pytest.raises(lamina.VaultCorrupt, match="where the space 'default' has 5"):
        wrong.vectors(segment)

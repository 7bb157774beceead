from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lamina_engine.care.forgetting import forget
from lamina_engine.chunks import lifecycle
from lamina_engine.clock import FixedClock
from lamina_engine.index.view import View
from lamina_engine.memory import Memory
from lamina_engine.topics import places as room
from lamina_engine.topics.drift import usable_rows
from lamina_engine.topics.places import Places, chunk_places, places_table
from tests.engine.topics.vaults import blobs, fill


def file_of(memory: Memory) -> Path:
    [path] = memory.tables.folder.glob("map-*.places")
    return path


def as_bytes(places: Places) -> tuple[bytes, bytes]:
    return places.rows.tobytes(), places.places.tobytes()


def test_a_map_is_laid_out_once(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(memory, *blobs([30, 20]))
    first = chunk_places(memory.view())
    assert first.rows.size == 50
    monkeypatch.setattr(room, "lay_out", None)  # a second layout would fail
    assert as_bytes(chunk_places(memory.view())) == as_bytes(first)


def test_added_chunks_move_no_other_until_there_are_many(memory: Memory) -> None:
    vectors, owners = blobs([30, 20, 40])
    fill(memory, vectors[:50], owners[:50])
    first = chunk_places(memory.view())
    fill(memory, vectors[50:60], owners[50:60], prefix="d")
    second = chunk_places(memory.view())
    assert second.rows.size == 60
    assert second.places[:50].tobytes() == first.places.tobytes()
    fill(memory, vectors[60:], owners[60:], prefix="e")
    assert chunk_places(memory.view()).places[:50].tobytes() != first.places.tobytes()


def test_a_past_moment_lies_on_the_newest_map(memory: Memory, clock: FixedClock) -> None:
    ids = fill(memory, *blobs([30, 20]))
    clock.advance(60)
    then = clock.now_us()
    clock.advance(60)
    lifecycle.update(memory, ids[0], {"text": "another text of the same chunk"})
    newest = chunk_places(memory.view())
    past = chunk_places(memory.view(), usable_rows(View(memory.view().snapshot, memory.tables, as_of_us=then)))
    assert (past.rows.size, newest.rows.size) == (50, 49)  # the embedder gives the new text no vector
    common = np.intersect1d(past.rows, newest.rows)
    assert common.size == 49
    at = np.searchsorted(past.rows, common), np.searchsorted(newest.rows, common)
    assert past.places[at[0]].tobytes() == newest.places[at[1]].tobytes()


def test_a_damaged_map_is_laid_out_again(memory: Memory) -> None:
    fill(memory, *blobs([30, 20]))
    first = chunk_places(memory.view())
    path = file_of(memory)
    whole = path.read_bytes()
    for damaged in (b"", whole[:-1], whole[:200] + b"?" + whole[201:]):
        path.write_bytes(damaged)
        assert as_bytes(chunk_places(memory.view())) == as_bytes(first)
        assert path.read_bytes() == whole


def test_forgetting_removes_the_map(memory: Memory) -> None:
    ids = fill(memory, *blobs([30, 20]))
    chunk_places(memory.view())
    path = file_of(memory)
    forget(memory, ids=[ids[3]], dry_run=False)
    assert not path.exists()
    assert chunk_places(memory.view()).rows.size == 49


def test_a_vault_without_vectors_has_no_places(memory: Memory) -> None:
    assert chunk_places(memory.view()).rows.size == 0


def test_history_tells_when_each_version_was_known_as_the_state_of_any_moment_does(
    memory: Memory, clock: FixedClock
) -> None:
    vectors, owners = blobs([12, 9])
    ids = fill(memory, vectors, owners)
    moments = [clock.now_us()]
    for step in (
        lambda: lifecycle.invalidate(memory, ids[0], "wrong"),
        lambda: lifecycle.restore(memory, ids[0]),
        lambda: lifecycle.update(memory, ids[1], {"text": "another text of the same chunk"}),
        lambda: lifecycle.invalidate(memory, ids[0], "wrong again"),
        lambda: fill(memory, vectors[:3] + np.float32(0.01), owners[:3], prefix="late"),
    ):
        clock.advance(60)
        step()
        moments.append(clock.now_us())
        clock.advance(60)
    table = places_table(memory, history=True)
    rows = table.to_pylist()
    assert [row["id"] for row in rows].count(ids[0]) == 2
    for moment in (*moments, clock.now_us()):
        known = {
            row["id"] for row in rows if row["recorded_us"] <= moment and not (row["gone_us"] or moment + 1) <= moment
        }
        past = memory.at(moment)
        assert known == set(places_table(past)["id"].to_pylist())
        assert {row["id"] for row in places_table(past, history=True).to_pylist() if row["gone_us"] is None} == known
    assert places_table(memory)["gone_us"].null_count == len(places_table(memory))


def test_former_versions_on_the_map_do_not_make_it_anew(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = fill(memory, *blobs([30, 20]))
    for name in ids[:12]:
        lifecycle.invalidate(memory, name, "wrong")
    places_table(memory, history=True)
    monkeypatch.setattr(room, "lay_out", None)  # a second layout would fail
    assert len(places_table(memory, history=True)) == 50
    assert len(places_table(memory)) == 38
    lifecycle.invalidate(memory, ids[12], "wrong")
    assert len(places_table(memory)) == 37

"""Vector codes of a version that is read while a writer goes on to the next."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from lamina import Vault
from lamina_engine.index.quantised import QuantisedIndex
from lamina_engine.store.snapshot import Snapshot
from tests.engine.shards.corpus import records, reopened, small_codes


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    with small_codes():
        with reopened(tmp_path / "vault", create=True) as vault:
            vault.add(records(0, 300))
        yield tmp_path / "vault"


def codes(vault: Vault, snapshot: Snapshot) -> QuantisedIndex:
    found = vault._memory.tables.quantised(snapshot)
    assert found is not None
    return found


def test_codes_that_are_read_outlive_those_that_follow(place: Path, caplog: pytest.LogCaptureFixture) -> None:
    with reopened(place) as vault:
        before = vault._memory.view().snapshot
        first = codes(vault, before)
        vault.add(records(300, 100))
        after = vault._memory.view().snapshot
        assert codes(vault, after).rows > first.rows
        assert not (place / "index" / str(before.manifest.indexes["vectors"]["file"])).exists()
        assert codes(vault, before) is first
        assert codes(vault, after).rows > first.rows
    assert "cannot be read" not in caplog.text


def test_codes_that_a_writer_has_replaced_meanwhile_are_no_damage(
    place: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with reopened(place, mode="r") as reader, caplog.at_level(logging.WARNING):
        before = reader._memory.view().snapshot
        with reopened(place) as writer:
            writer.add(records(300, 100))
        assert reader._memory.tables.quantised(before) is None
        assert codes(reader, reader._memory.view().snapshot).rows > 256
    assert "cannot be read" not in caplog.text


def test_recalls_beside_a_writer_tell_of_no_damage(place: Path, caplog: pytest.LogCaptureFixture) -> None:
    with reopened(place) as vault, caplog.at_level(logging.WARNING):
        written = threading.Event()

        def ask() -> None:
            while not written.is_set():
                assert vault.recall("index cache", k=3)

        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        for start in range(300, 1500, 40):
            vault.add(records(start, 40))
        written.set()
        for thread in threads:
            thread.join()
    assert "cannot be read" not in caplog.text

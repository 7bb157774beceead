"""After a forget, forward lists are those of an analysis of the whole log, and only changed rows were analysed."""

from __future__ import annotations

import errno
from pathlib import Path

import numpy as np
import pytest

import lamina
from lamina_engine.index import indexer, reanalysis
from lamina_engine.index.analysis import Analyzer
from lamina_engine.index.tables import terms_path
from lamina_engine.index.terms import build_zones, open_terms
from lamina_engine.index.textbuilder import LARGE_ROWS
from lamina_engine.index.zones import Zones, zones_of
from lamina_engine.memory import Memory
from lamina_kernels.layouts import TermRows

ROWS = 5_000


def fill(vault: lamina.Vault) -> None:
    """Add chunks of sources, every fourth one short, so that it is indexed with the words before it."""
    vault.add(
        {
            "id": f"chunk-{i}",
            "text": f"short {i}" if i % 4 == 3 else f"The number {i} and word{i % 37} stand in a text. " * 3,
            "title": f"Title {i // 20}",
            "tags": [f"tag{i % 5}"],
            "source": f"notes/{i // 20}.md",
            "created_at": f"2026-01-{i % 28 + 1:02d}",
        }
        for i in range(ROWS)
    )


@pytest.fixture
def analysed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows each call of the reanalysis has analysed."""
    counts: list[int] = []

    def counted(zones: Zones, analyzer: Analyzer) -> TermRows:
        counts.append(len(zones.bodies))
        return build_zones(zones, analyzer)

    monkeypatch.setattr(reanalysis, "build_zones", counted)
    return counts


def check(vault: Path) -> None:
    """Compare the files of forward lists with an analysis of the log."""
    memory = Memory(vault, mode="r")
    snapshot = memory.store.snapshot()
    segments = [segment for segment in snapshot.segments("chunks") if segment.rows >= LARGE_ROWS]
    assert segments
    for segment in segments:
        found = open_terms(terms_path(memory.tables.folder, segment), verify=True)
        ref = build_zones(zones_of(snapshot, segment.start, segment.start + segment.rows))
        for name in TermRows._fields:
            np.testing.assert_array_equal(getattr(found, name), getattr(ref, name))
    memory.close()


@pytest.mark.parametrize("gone", [["chunk-100"], ["chunk-100", "chunk-101", "chunk-102", "chunk-103", "chunk-398"]])
def test_only_changed_rows_are_analysed_again(tmp_path: Path, analysed: list[int], gone: list[str]) -> None:
    with lamina.open(tmp_path / "vault", create=True) as vault:
        fill(vault)
    with lamina.open(tmp_path / "vault") as vault:
        vault.forget(gone, dry_run=False)
        assert not {hit.id for hit in vault.recall("+'number 100'", 50)} & set(gone)
    check(vault.path)
    assert len(analysed) == 1
    assert len(gone) <= analysed[0] <= 10 * len(gone)


def test_many_changed_rows_are_left_to_the_analysis_of_all(tmp_path: Path, analysed: list[int]) -> None:
    with lamina.open(tmp_path / "vault", create=True) as vault:
        fill(vault)
    with lamina.open(tmp_path / "vault") as vault:
        vault.forget([f"chunk-{i}" for i in range(90, 1_500)], dry_run=False)
    check(vault.path)
    assert analysed == []


def test_damaged_lists_are_not_carried_on(tmp_path: Path, analysed: list[int]) -> None:
    with lamina.open(tmp_path / "vault", create=True) as vault:
        fill(vault)
    files = list((tmp_path / "vault" / "index" / "terms").glob("*.terms"))
    assert files
    for file in files:
        content = bytearray(file.read_bytes())
        content[-5] ^= 1
        file.write_bytes(content)
    with lamina.open(tmp_path / "vault") as vault:
        vault.forget(["chunk-100"], dry_run=False)
    check(vault.path)
    assert analysed == []


def test_shards_keep_theirs(tmp_path: Path, analysed: list[int]) -> None:
    with lamina.open(tmp_path / "vault", create=True) as vault:
        fill(vault)
        vault.shard(tmp_path / "sharded", 1)
    with lamina.open(tmp_path / "sharded") as vault:
        vault.forget(["chunk-100"], dry_run=False)
        assert vault.recall("number 101", 3)
    assert len(analysed) == 1
    check(tmp_path / "sharded" / "shards" / "00")


def test_no_words_of_what_was_forgotten_stay_where_the_reanalysis_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # the error came before the files of the former segments were removed, which then stayed
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOMEM, "Cannot allocate memory")

    with lamina.open(tmp_path / "vault", create=True) as vault:
        fill(vault)
    files = tmp_path / "vault" / "index" / "terms"
    former = {path.name for path in files.glob("*.terms")}
    with lamina.open(tmp_path / "vault") as vault:
        monkeypatch.setattr(indexer, "find_former_terms", refuse)
        vault.forget(["chunk-100"], dry_run=False)
        assert former
        assert former.isdisjoint(path.name for path in files.iterdir())
    check(tmp_path / "vault")

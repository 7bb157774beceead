"""What hits show of rows: remembered between recalls, equal to what the log says, and nobody else's to change."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from msgspec.structs import asdict, astuple

import lamina
from lamina import Vault
from lamina_engine.chunks import reading
from lamina_engine.chunks.reading import _COLUMNS, chunks_at
from lamina_engine.index.view import View
from lamina_engine.results import Chunk
from lamina_engine.store.snapshot import Rows


def filled(vault: Vault, n: int = 30) -> None:
    vault.add(
        [{"text": f"note {i} about the pump", "id": f"n{i}", "metadata": {"n": [i]} if i % 3 else {}} for i in range(n)]
    )


def test_remembered_rows_are_those_of_the_log(lexical_vault: Vault) -> None:
    filled(lexical_vault)
    view = lexical_vault._memory.view()
    plain = ("id", "text", "title", "type", "source", "ordinal", "commit")
    assert set(plain) <= set(_COLUMNS)
    ref = view.snapshot.records("chunks", np.arange(30), plain)
    for rows in ([3, 1, 2], [2, 3, 29, 3], list(range(30))):
        got = chunks_at(view, np.array(rows))
        for name in plain:
            assert [getattr(chunk, name) for chunk in got] == [ref[row][name] for row in rows]
        assert [chunk.metadata for chunk in got] == [{"n": [row]} if row % 3 else {} for row in rows]


def test_what_a_caller_changes_is_not_shown_to_the_next(lexical_vault: Vault) -> None:
    filled(lexical_vault)
    first = lexical_vault.recall("pump", k=30)
    for hit in first:
        hit.metadata["n"] = "changed"
        hit.terms["own"] = -1.0
    again = lexical_vault.recall("pump", k=30)
    assert {tuple(cast("list[int]", hit.metadata.get("n", []))) for hit in again} == {
        (i,) for i in range(30) if i % 3
    } | {()}
    assert all(hit.terms["own"] >= 0.0 for hit in again)


def test_a_state_that_changes_is_shown_anew(lexical_vault: Vault) -> None:
    filled(lexical_vault)
    lexical_vault.add("a task", type="agent_task")
    assert lexical_vault.get("n3").status == "active"
    assert {hit.status for hit in lexical_vault.recall("pump", k=30, profile="task")} == {"active"}
    lexical_vault.invalidate("n3", reason="wrong")
    shown = {hit.id: hit.status for hit in lexical_vault.recall("pump", k=30, profile="task")}
    assert shown["n3"] == "invalidated"


def test_no_more_is_remembered_than_allowed(lexical_vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_KEPT_ROWS", 8)
    filled(lexical_vault)
    view = lexical_vault._memory.view()
    ref = [chunk.id for chunk in chunks_at(view, np.arange(30))]
    for start in range(0, 24, 3):
        got = [chunk.id for chunk in chunks_at(view, np.arange(start, start + 6))]
        assert got == ref[start : start + 6]
        assert len(view.tables.shown) <= 8


def test_long_texts_are_not_remembered(lexical_vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_KEPT_CHARS", 10)
    filled(lexical_vault, 3)
    view = lexical_vault._memory.view()
    assert [chunk.id for chunk in chunks_at(view, np.arange(3))] == ["n0", "n1", "n2"]
    assert not view.tables.shown


def test_threads_that_share_a_vault_see_whole_rows(lexical_vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_KEPT_ROWS", 4)  # emptied all the time
    filled(lexical_vault)
    view = lexical_vault._memory.view()

    def look(seed: int) -> bool:
        rows = np.random.default_rng(seed).integers(0, 30, 12)
        return [chunk.id for chunk in chunks_at(view, rows)] == [f"n{row}" for row in rows.tolist()]

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(look, range(400)))


class Team(StrEnum):
    PUMPS = "pumps"


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"title": "Pump", "tags": ["a", "b"], "metadata": {"n": 1}, "project": "p", "session": "s", "agent": "x"},
        {"success": True, "created_at": "2020-01-01", "source": "a.md", "id": "own"},
        {"project": Team.PUMPS},
    ],
)
def test_what_was_just_added_is_shown_as_the_log_shows_it(lexical_vault: Vault, fields: dict[str, Any]) -> None:
    filled(lexical_vault)
    lexical_vault.recall("pump")
    (identity,) = lexical_vault.add({"text": "a note about the valve", **fields}, type="note")
    lexical_vault.update(identity, title="Valve")
    memory = lexical_vault._memory
    rows = np.arange(30, memory.view().rows)
    ours = chunks_at(memory.view(), rows)
    with lamina.open(memory.root, mode="r", embedder="none") as other:
        assert chunks_at(other._memory.view(), rows) == ours
    plain = {str, int, bool, tuple, dict, type(None)}
    assert {type(value) for chunk in ours for value in astuple(chunk)} <= plain


def test_what_is_added_to_a_vault_that_is_read_is_remembered(lexical_vault: Vault) -> None:
    filled(lexical_vault)
    assert 30 not in lexical_vault._memory.tables.shown
    lexical_vault.recall("pump")
    lexical_vault.add("a note about the valve")
    assert lexical_vault._memory.tables.shown[30].fields["text"] == "a note about the valve"


def test_hits_show_what_chunks_show(lexical_vault: Vault, tmp_path: Path) -> None:
    (tmp_path / "guide.md").write_text("# Pump\n\nThe pump of the guide.\n")
    lexical_vault.ingest(tmp_path / "guide.md")
    filled(lexical_vault, 6)
    lexical_vault.add("a task about the pump", type="agent_task")
    lexical_vault.pin("n1")
    lexical_vault.snooze("n2", until="2100-01-01")
    lexical_vault.invalidate("n3", reason="wrong")
    lexical_vault.freshness.review("n4", "old")
    for _ in range(2):  # read from the log, and remembered
        hits = lexical_vault.recall("pump", k=30, profile="task", now="2101-01-01", fill=True)
        assert len(hits) == 8
        for hit in hits:
            shown, stored = asdict(hit), asdict(lexical_vault.get(hit.id))
            assert {name: shown[name] for name in stored} == stored


def test_pages_are_parts_of_the_whole_list(lexical_vault: Vault) -> None:
    days = ["2026-01-01"] * 7 + ["2026-01-02"] * 9 + ["2026-01-03"] + ["2026-01-04"] * 4
    lexical_vault.add(
        [{"text": f"text {i}", "id": f"r{i * 5 % 21:02}", "created_at": day} for i, day in enumerate(days)]
    )
    ref = [chunk.id for chunk in lexical_vault.list(limit=None)]
    assert ref == [chunk.id for chunk in sorted(lexical_vault, key=lambda c: (-(c.created_at_us or 0), c.id))]
    for size in (1, 2, 4, 20, 21, 30):
        got = [c.id for at in range(0, 25, size) for c in lexical_vault.list(limit=size, offset=at)]
        assert got == ref, size
    assert [c.id for c in lexical_vault.list(limit=None, offset=20)] == ref[20:]


def test_a_page_reads_its_own_chunks_alone(lexical_vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    # a page at 59,000 took two seconds, and so did the first one of chunks that all have one date
    lexical_vault.add([{"text": f"text {i}", "created_at": "2026-01-01"} for i in range(50)])
    read: list[int] = []

    def counted(view: View, rows: Rows) -> list[Chunk]:
        read.append(len(rows))
        return chunks_at(view, rows)

    monkeypatch.setattr(reading, "chunks_at", counted)
    assert len(lexical_vault.list(limit=3, offset=40)) == 3
    assert read == [3]

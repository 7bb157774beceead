"""What hits show of rows: remembered between recalls, equal to what the log says, and nobody else's to change."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from typing import Any, cast

import numpy as np
import pytest

import lamina
from lamina import Vault
from lamina_engine.chunks import reading
from lamina_engine.chunks.reading import _COLUMNS, fields_at


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
        got = fields_at(view, np.array(rows))
        for name in plain:
            assert [record[name] for record in got] == [ref[row][name] for row in rows]
        assert [record["metadata"] for record in got] == [{"n": [row]} if row % 3 else {} for row in rows]


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
    ref = [record["id"] for record in fields_at(view, np.arange(30))]
    for start in range(0, 24, 3):
        got = [record["id"] for record in fields_at(view, np.arange(start, start + 6))]
        assert got == ref[start : start + 6]
        assert len(view.tables.shown) <= 8


def test_long_texts_are_not_remembered(lexical_vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_KEPT_CHARS", 10)
    filled(lexical_vault, 3)
    view = lexical_vault._memory.view()
    assert [record["id"] for record in fields_at(view, np.arange(3))] == ["n0", "n1", "n2"]
    assert not view.tables.shown


def test_threads_that_share_a_vault_see_whole_rows(lexical_vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_KEPT_ROWS", 4)  # emptied all the time
    filled(lexical_vault)
    view = lexical_vault._memory.view()

    def look(seed: int) -> bool:
        rows = np.random.default_rng(seed).integers(0, 30, 12)
        return [record["id"] for record in fields_at(view, rows)] == [f"n{row}" for row in rows.tolist()]

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
    ours = fields_at(memory.view(), rows)
    with lamina.open(memory.root, mode="r", embedder="none") as other:
        assert fields_at(other._memory.view(), rows) == ours
    plain = {str, int, bool, tuple, dict, type(None)}
    assert {type(value) for record in ours for value in record.values()} <= plain


def test_what_is_added_to_a_vault_that_is_read_is_remembered(lexical_vault: Vault) -> None:
    filled(lexical_vault)
    assert 30 not in lexical_vault._memory.tables.shown
    lexical_vault.recall("pump")
    lexical_vault.add("a note about the valve")
    assert lexical_vault._memory.tables.shown[30]["text"] == "a note about the valve"

"""Snoozing and archiving: out of recall, still listed, and back again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import lamina
from lamina import FixedClock, Vault
from lamina_engine.clock import parse_instant
from lamina_engine.errors import ChunkNotFound, InvalidArgument, VaultReadOnly


def kinds(vault: Vault, id_: str) -> list[str]:
    return [entry["kind"] for entry in vault.history(id_)]


def found(vault: Vault, **options: object) -> list[str]:
    return sorted(hit.id for hit in vault.recall("words", **options))  # type: ignore[arg-type]


def test_a_snoozed_chunk_is_left_out_until_its_moment(lexical_vault: Vault, clock: FixedClock) -> None:
    a, b = (lexical_vault.add(f"words {name}", id=name)[0] for name in "ab")
    chunk = lexical_vault.snooze(a, "2026-04-01")
    assert chunk.snoozed_until_us is not None
    assert found(lexical_vault) == [b]
    assert [c.id for c in lexical_vault.list()] == [b, a]
    assert found(lexical_vault, now="2026-04-01") == [a, b]
    assert found(lexical_vault, now="2026-03-31T23:59:59Z") == [b]
    assert found(lexical_vault, where={"snoozed_until": "*"}) == [a]
    assert [c.id for c in lexical_vault.list({"snoozed_until": {"lt": "2026-05-01"}})] == [a]
    clock.advance(31 * 86_400)
    assert found(lexical_vault) == [a, b]
    assert lexical_vault.get(a).status == "active"


def test_waking_and_sleeping_twice(lexical_vault: Vault) -> None:
    (a,) = lexical_vault.add("words", id="a")
    lexical_vault.snooze(a, "2026-04-01")
    before = lexical_vault.stats()["snapshot"]
    lexical_vault.snooze(a, "2026-04-01")
    assert lexical_vault.stats()["snapshot"] == before
    assert lexical_vault.snooze(a, None).snoozed_until_us is None
    lexical_vault.snooze(a, None)
    assert kinds(lexical_vault, a) == ["added", "snooze", "wake"]
    assert found(lexical_vault) == [a]
    lexical_vault.snooze(a, "2026-04-01T00:00", tz="Europe/Berlin")
    assert found(lexical_vault, now="2026-03-31T22:00:00Z") == [a]
    assert lexical_vault.restore(a).snoozed_until_us is None
    for wrong in ("soon", object()):
        with pytest.raises(InvalidArgument):
            lexical_vault.snooze(a, wrong)  # type: ignore[arg-type]
    with pytest.raises(ChunkNotFound):
        lexical_vault.snooze("nothing", None)


def test_a_snooze_passes_to_the_new_version_and_survives_reopening(lexical_vault: Vault) -> None:
    (a,) = lexical_vault.add("words", id="a")
    lexical_vault.snooze(a, "2026-04-01")
    lexical_vault.update(a, text="other words")
    assert found(lexical_vault) == []
    with lamina.open(lexical_vault.path, mode="r", clock=FixedClock("2026-03-02")) as again:
        assert found(again) == []
        assert found(again, now="2026-04-02") == [a]


def test_the_past_knows_no_later_snooze(lexical_vault: Vault, clock: FixedClock) -> None:
    (a,) = lexical_vault.add("words", id="a")
    then = clock.now_us() / 1e6 + 1
    clock.advance(60)
    lexical_vault.snooze(a, "2026-04-01")
    assert found(lexical_vault, as_of=then) == [a]
    assert found(lexical_vault) == []


def test_archiving_named_chunks(lexical_vault: Vault) -> None:
    a, b = (lexical_vault.add(f"words {name}", id=name)[0] for name in "ab")
    dry = lexical_vault.archive(a)
    assert (dry.chunks, dry.ids, dry.dry_run) == (1, (a,), True)
    assert found(lexical_vault) == [a, b]
    assert lexical_vault.archive([a], dry_run=False).chunks == 1
    assert found(lexical_vault) == [b]
    assert [c.id for c in lexical_vault.list()] == [b]
    assert [c.id for c in lexical_vault.list({"status": "archived"})] == [a]
    assert found(lexical_vault, where={"status": "archived"}) == [a]
    assert lexical_vault.archive(a, dry_run=False).chunks == 0
    assert lexical_vault.restore(a).status == "active"
    assert kinds(lexical_vault, a) == ["added", "archive", "restore"]
    assert found(lexical_vault) == [a, b]
    assert lexical_vault.stats()["status"]["archived"] == 0


def test_the_policy_takes_what_is_old_and_nothing_else(lexical_vault: Vault, clock: FixedClock) -> None:
    for name, fields in {
        "old": {}, "preference": {"type": "preference"}, "pinned": {}, "asleep": {}, "future": {"created_at": "2030-01-01"},
        "task": {"type": "agent_task"},
    }.items():  # fmt: skip
        lexical_vault.add({"text": f"words {name}", "id": name, "created_at": "2025-06-01", **fields})
    lexical_vault.pin("pinned")
    assert lexical_vault.archive().ids == ("old", "asleep", "task")
    clock.advance(30 * 86_400)
    lexical_vault.snooze("asleep", "2027-01-01")
    lexical_vault.add("words new", id="new")
    assert lexical_vault.archive().ids == ("old", "task")
    assert lexical_vault.archive(types={"agent_task": None}).ids == ("old",)
    assert lexical_vault.archive(types={"preference": 10}).ids == ("old", "preference", "task")
    assert lexical_vault.archive(where={"type": "agent_task"}).ids == ("task",)
    assert lexical_vault.archive(after_days=400).ids == ()
    clock.advance(100 * 86_400)
    assert "future" in lexical_vault.archive().ids
    assert lexical_vault.archive(dry_run=False).chunks == len(lexical_vault.list({"status": "archived"}))
    assert lexical_vault.archive(dry_run=False).chunks == 0


def test_wrong_policies_are_refused(lexical_vault: Vault) -> None:
    (a,) = lexical_vault.add("words")
    wrongs: list[dict[str, Any]] = [
        {"after_days": 0}, {"after_days": float("inf")}, {"after_days": True}, {"types": {"note": -1}}, {"dry_run": 1},
        {"ids": a, "where": {"type": "note"}},
    ]  # fmt: skip
    for wrong in wrongs:
        with pytest.raises(InvalidArgument):
            lexical_vault.archive(**wrong)
    with lamina.open(lexical_vault.path, mode="r") as reader:
        assert reader.archive(a).chunks == 1
        with pytest.raises(VaultReadOnly):
            reader.archive(a, dry_run=False)


def test_an_export_of_what_is_archived_comes_back_archived(lexical_vault: Vault, tmp_path: Path) -> None:
    for name in "ab":
        lexical_vault.add(f"words {name}", id=name)
    lexical_vault.archive("a", dry_run=False)
    lexical_vault.export(tmp_path / "all.jsonl", where={"status": {"in": ["active", "archived"]}})
    with lamina.open(tmp_path / "again", create=True, embedder="none") as again:
        again.import_(tmp_path / "all.jsonl")
        assert {chunk.id: chunk.status for chunk in again.get_many(["a", "b"])} == {"a": "archived", "b": "active"}


def test_an_archived_chunk_stays_so_when_its_file_is_read_again(lexical_vault: Vault) -> None:
    lexical_vault.add("words", id="a")
    lexical_vault.archive("a", dry_run=False)
    lexical_vault.add("words", id="a")
    assert lexical_vault.get("a").status == "archived"
    assert lexical_vault.update("a", text="other words").status == "active"


def test_what_was_written_anew_is_not_old(lexical_vault: Vault) -> None:
    for name in "ab":
        lexical_vault.add({"text": f"words {name}", "id": name, "created_at": "2020-01-01"})
    lexical_vault.update("a", text="other words")
    assert lexical_vault.archive().ids == ("b",)


def test_an_export_leaves_nothing_out(lexical_vault: Vault, tmp_path: Path) -> None:
    for name in "abc":
        lexical_vault.add(f"words {name}", id=name)
    lexical_vault.archive("a", dry_run=False)
    lexical_vault.snooze("b", "2031-01-01")
    for name in ("all.jsonl", "all.parquet"):
        assert lexical_vault.export(tmp_path / name) == 3
        with lamina.open(tmp_path / f"again-{name}", create=True, embedder="none") as again:
            again.import_(tmp_path / name)
            again.import_(tmp_path / name)
            assert [chunk.status for chunk in again.get_many(["a", "b", "c"])] == ["archived", "active", "active"]
            assert again.get("b").snoozed_until_us == parse_instant("2031-01-01")
            assert again.export(tmp_path / f"second-{name}") == 3
            assert (tmp_path / f"second-{name}").read_bytes() == (tmp_path / name).read_bytes()
            assert len(again.history("b")) == 2  # the second import changed nothing


def test_a_snooze_until_the_past_is_refused(lexical_vault: Vault) -> None:
    lexical_vault.add("words", id="a")
    lexical_vault.snooze("a", "2031-01-01")
    with pytest.raises(InvalidArgument, match="past"):
        lexical_vault.snooze("a", "2020-01-01")
    assert lexical_vault.get("a").snoozed_until_us == parse_instant("2031-01-01")

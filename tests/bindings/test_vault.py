"""The surface of a vault: what goes in comes out, in the shapes that callers rely on."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import lamina
from lamina import FixedClock, Vault
from tests.conftest import NOW
from tests.notes import CountingEmbedder, write


def test_a_record_keeps_all_it_says(lexical_vault: Vault) -> None:
    (name,) = lexical_vault.add(
        "We moved to PostgreSQL 16.",
        type="decision",
        title="Database",
        project="api",
        session="s1",
        agent="ann",
        source="chat",
        created_at="2026-02-15",
        success=True,
        tags=["db"],
        metadata={"ticket": 7},
    )
    chunk = lexical_vault.get(name)
    assert (chunk.id, chunk.text, chunk.type) == (name, "We moved to PostgreSQL 16.", "decision")
    assert (chunk.title, chunk.project, chunk.session, chunk.agent) == ("Database", "api", "s1", "ann")
    assert (chunk.source, chunk.collection) == ("chat", "decisions")
    assert (chunk.success, chunk.tags, chunk.metadata) == (True, ("db",), {"ticket": 7})
    assert chunk.created_at_us == 1_771_113_600_000_000
    assert (chunk.status, chunk.pinned) == ("active", False)


def test_add_takes_texts_records_and_tables(lexical_vault: Vault) -> None:
    add = lexical_vault.add
    assert len(add({"text": "one", "color": "red"})) == 1
    assert len(add([{"text": "two"}, {"text": "three", "project": "b"}], project="a")) == 2
    assert add(pa.table({"id": ["x", "y"], "text": ["four", "five"]}), project="c") == ["x", "y"]
    assert add(pa.table({"id": ["z"], "text": ["six"]}).to_reader()) == ["z"]
    assert add([]) == []
    found = {chunk.text: chunk.project for chunk in lexical_vault.list(limit=None)}
    assert found == {"one": None, "two": "a", "three": "b", "four": "c", "five": "c", "six": None}
    assert lexical_vault.list({"color": "red"})[0].text == "one"


def test_the_same_again_changes_nothing(lexical_vault: Vault) -> None:
    records = [{"text": "one", "created_at": "2026-01-01"}, {"id": "x", "text": "two"}]
    ids = lexical_vault.add(records)
    before = lexical_vault.stats()
    assert lexical_vault.add(records) == ids
    after = lexical_vault.stats()
    assert {**after, "snapshot": 0, "bytes": 0} == {**before, "snapshot": 0, "bytes": 0}


def test_a_known_id_with_other_content_supersedes(lexical_vault: Vault, clock: FixedClock) -> None:
    lexical_vault.add({"id": "x", "text": "old words"})
    clock.advance(60)
    lexical_vault.add({"id": "x", "text": "new words"})
    assert lexical_vault.get("x").text == "new words"
    assert [hit.text for hit in lexical_vault.recall("words")] == ["new words"]
    assert [hit.text for hit in lexical_vault.recall("words", as_of=NOW)] == ["old words"]
    assert [chunk.text for chunk in lexical_vault.list({"status": "superseded"})] == ["old words"]


def test_get_by_full_and_short_ids(lexical_vault: Vault) -> None:
    ids = lexical_vault.add([{"id": f"{digit * 4}0000", "text": f"Text {digit}."} for digit in "ab"])
    twin = lexical_vault.add({"id": "aaaa1111", "text": "Another."})
    assert [chunk.id for chunk in lexical_vault.get_many([ids[1], ids[0]])] == [ids[1], ids[0]]
    assert lexical_vault.get_many([]) == []
    assert lexical_vault.get("#bbbb").id == ids[1]
    assert lexical_vault.get("aaaa1").id == twin[0]
    with pytest.raises(lamina.AmbiguousId, match="aaaa0000, aaaa1111"):
        lexical_vault.get("aaaa")
    for call in (lexical_vault.get, lexical_vault.history, lexical_vault.pin, lexical_vault.restore):
        with pytest.raises(lamina.ChunkNotFound) as caught:
            call("ffff0000")
        assert isinstance(caught.value, KeyError)
        assert "ffff0000" in str(caught.value)
    with pytest.raises(lamina.InvalidArgument):
        lexical_vault.get_many("aaaa")


def test_a_chunks_life(lexical_vault: Vault, clock: FixedClock) -> None:
    (name,) = lexical_vault.add("PostgreSQL 15 is used.", tags=["db"])
    clock.advance(1)
    changed = lexical_vault.update(name, text="PostgreSQL 16 is used.", metadata={"by": "ann"})
    assert (changed.id, changed.tags, changed.metadata) == (name, ("db",), {"by": "ann"})
    clock.advance(1)
    assert lexical_vault.pin(name).pinned
    assert lexical_vault.pin(name).pinned  # a second time changes nothing
    clock.advance(1)
    gone = lexical_vault.invalidate(name, "we moved on", stamp="m1")
    assert (gone.status, gone.pinned) == ("invalidated", True)
    assert list(lexical_vault.recall("PostgreSQL")) == []
    assert [hit.status for hit in lexical_vault.recall("PostgreSQL", where={"status": "invalidated"})] == [
        "invalidated"
    ]
    clock.advance(1)
    assert lexical_vault.restore(name).status == "active"
    assert not lexical_vault.pin(name, pinned=False).pinned
    entries = lexical_vault.history(name)
    assert [entry.kind for entry in entries] == ["added", "updated", "pin", "invalidate", "restore", "unpin"]
    assert entries[0].chunk is not None
    assert entries[0].chunk.text == "PostgreSQL 15 is used."
    assert entries[3].reason == "we moved on"
    stamps = [entry.recorded_at for entry in entries]
    assert stamps == sorted(set(stamps))


def test_an_update_that_cannot_be_made(lexical_vault: Vault) -> None:
    (name,) = lexical_vault.add("Words.")
    version = lexical_vault.stats()["snapshot"]
    for changes in ({}, {"nonsense": 1}, {"text": ""}, {"created_at": "never"}, {"success": "yes"}):
        with pytest.raises(lamina.InvalidArgument):
            lexical_vault.update(name, **changes)
    with pytest.raises(lamina.InvalidArgument):
        lexical_vault.invalidate(name, "  ")
    assert lexical_vault.stats()["snapshot"] == version


def test_a_list_is_newest_first_and_limited(lexical_vault: Vault) -> None:
    lexical_vault.add([{"id": f"r{i}", "text": f"Text {i}.", "created_at": f"2026-01-{i + 1:02}"} for i in range(9)])
    assert [chunk.id for chunk in lexical_vault.list(limit=3)] == ["r8", "r7", "r6"]
    assert len(lexical_vault.list(limit=None)) == 9
    got = lexical_vault.list({"created_at": {"gte": "2026-01-03", "lt": "2026-01-05"}})
    assert [chunk.id for chunk in got] == ["r3", "r2"]
    for limit in (0, -1, True, 1.5):
        with pytest.raises(lamina.InvalidArgument):
            lexical_vault.list(limit=limit)  # type: ignore[arg-type]


def test_stats_have_the_shape_of_the_command_line(vault: Vault, tmp_path: Path) -> None:
    write(tmp_path / "notes", "a.md", "A note.")
    vault.ingest(tmp_path / "notes")
    ids = vault.add([{"text": "one"}, {"text": "two"}])
    vault.invalidate(ids[0], "wrong")
    got = json.loads(json.dumps(vault.stats()))
    keys = {"chunks", "sources", "links", "facts", "entities", "topics", "segments", "bytes", "snapshot", "embedding"}
    assert keys | {"indexes"} <= set(got)
    assert (got["chunks"], got["sources"]) == (2, 1)
    assert got["embedding"]["dim"] == 256
    assert got["embedding"]["model"].startswith("wordllama")
    assert got["bytes"] > 0


def test_windows_are_half_open_and_dates_are_read_in_the_callers_zone(lexical_vault: Vault) -> None:
    lexical_vault.add(
        [{"id": hour, "text": "Same words.", "created_at": f"2026-01-02T{hour}:00:00Z"} for hour in ("04", "05", "06")]
    )

    def found(**options: str) -> set[str]:
        ids = {hit.id for hit in lexical_vault.recall("words", **options)}  # type: ignore[arg-type]
        return ids | {name for hit in lexical_vault.recall("words", **options) for name in hit.terms["folded"]}  # type: ignore[arg-type]

    assert found(since="2026-01-02T05:00:00Z", until="2026-01-02T06:00:00Z") == {"05"}
    assert found(since="2026-01-02", tz="America/New_York") == {"05", "06"}
    assert found(until="2026-01-02", tz="America/New_York") == {"04"}


def test_what_was_exported_can_be_imported(lexical_vault: Vault, tmp_path: Path) -> None:
    lexical_vault.add([{"id": f"r{i}", "text": f"Text {i}.", "tags": ["t"], "n": i, "success": True} for i in range(5)])
    for form in ("jsonl", "parquet"):
        assert lexical_vault.export(tmp_path / f"out.{form}", form) == 5
        with lamina.open(tmp_path / form, create=True, embedder="none") as other:
            assert sorted(other.import_(tmp_path / f"out.{form}")) == [f"r{i}" for i in range(5)]
            for i in range(5):
                ref, got = lexical_vault.get(f"r{i}"), other.get(f"r{i}")
                assert (got.text, got.tags, got.metadata, got.success) == (
                    ref.text,
                    ref.tags,
                    ref.metadata,
                    ref.success,
                )
                assert (got.created_at_us, got.version) == (ref.created_at_us, ref.version)


def test_a_callers_own_vectors(tmp_path: Path, clock: FixedClock) -> None:
    embedder = CountingEmbedder()
    model = lamina.CallableEmbedder(embedder, 8, "words;v1")
    with lamina.open(tmp_path / "v", create=True, clock=clock, embedder=model) as vault:
        vault.add([{"id": f"axis{i}", "text": f"text {i}", "vector": np.eye(8)[i]} for i in range(8)])
        assert vault.recall("other", k=1, vector=np.eye(8)[5], lanes=["vector"])[0].id == "axis5"
        assert embedder.texts == []


def test_the_path_of_a_vault_may_come_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAMINA_VAULT", str(tmp_path / "named"))
    with lamina.open(create=True, embedder="none") as vault:
        assert vault.path == tmp_path / "named"
    monkeypatch.delenv("LAMINA_VAULT")
    monkeypatch.chdir(tmp_path)
    with lamina.open(create=True, embedder="none"):
        assert (tmp_path / ".lamina" / "CURRENT").is_file()


def test_a_reader_sees_what_a_writer_commits_and_cannot_write(lexical_vault: Vault) -> None:
    with lamina.open(lexical_vault.path, mode="r", embedder="none") as reader:
        assert list(reader.recall("words")) == []
        (name,) = lexical_vault.add("Words.")
        assert [hit.id for hit in reader.recall("words")] == [name]
        for call in (
            lambda: reader.add("More."),
            lambda: reader.update(name, text="More."),
            lambda: reader.invalidate(name, "wrong"),
            lambda: reader.pin(name),
            lambda: reader.ingest(lexical_vault.path.parent),
        ):
            with pytest.raises(lamina.VaultReadOnly) as caught:
                call()
            assert isinstance(caught.value, PermissionError)


def test_ingest_takes_several_paths_of_several_types(lexical_vault: Vault, tmp_path: Path) -> None:
    paths = [write(tmp_path, f"{i}/{i}.md", f"Note {i}.") for i in range(3)]
    got = lexical_vault.ingest([paths[0], str(paths[1]), str(paths[2].parent)])
    assert got.added == 3
    assert {"added", "updated", "unchanged", "moved", "removed", "skipped", "links", "seconds", "problems"} <= set(
        json.loads(json.dumps(got.to_dict()))
    )


def test_a_package_offers_all_that_it_names() -> None:
    for name in lamina.__all__:
        assert getattr(lamina, name) is not None
    with pytest.raises(AttributeError, match="nonsense"):
        lamina.nonsense  # noqa: B018

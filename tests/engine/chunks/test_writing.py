""""""

from __future__ import annotations

from pathlib import Path

import pytest

import lamina
from lamina import InvalidArgument, Vault
from lamina_engine.chunks.writing import previous_rows
from lamina_engine.transfer.importing import _batch
from lamina_engine.transfer.records import Exported


def test_an_invalidation_survives_new_labels_but_not_new_text(tmp_path: Path) -> None:
    with lamina.open(tmp_path / "v", create=True, embedder="none") as vault:
        (name,) = vault.add("the cache lives for five minutes")
        vault.invalidate(name, "it changed")
        assert vault.update(name, title="Cache").status == "invalidated"
        assert vault.update(name, text="the cache lives for ten minutes").status == "active"


def test_an_invalidation_survives_a_move(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("# Cache\n\nIt lives for five minutes.\n")
    with lamina.open(tmp_path / "v", create=True, embedder="none") as vault:
        vault.ingest(notes)
        (chunk,) = vault.list()
        vault.invalidate(chunk.id, "it changed")
        (notes / "a.md").rename(notes / "b.md")
        assert vault.ingest(notes).moved == 1
        assert vault.get(chunk.id).source == "b.md"
        assert vault.get(chunk.id).status == "invalidated"


def test_a_secret_in_an_id_is_refused_and_in_a_collection_masked(tmp_path: Path) -> None:
    token = "ghp_" + "a1B2c3D4e5" * 3 + "F6g7H8"
    with lamina.open(tmp_path / "v", create=True, embedder="none") as vault:
        with pytest.raises(InvalidArgument, match="secret"):
            vault.add("words", id=token)
        (name,) = vault.add("words", collection=token)
        assert token not in vault.get(name).collection


def test_a_closed_vault_says_so(tmp_path: Path) -> None:
    vault = lamina.open(tmp_path / "v", create=True, embedder="none")
    vault.close()
    for call in (lambda: vault.recall("x"), lambda: vault.add("x"), lambda: vault.get("x")):
        with pytest.raises(InvalidArgument, match="closed"):
            call()


def previous(vault: Vault, id_: str) -> str | None:
    snapshot = vault._memory.view().snapshot
    row = vault._memory.view().rows_of_ids([id_])
    before = snapshot.numbers("chunks", "previous", row)
    return None if before[0] < 0 else str(snapshot.values("chunks", "text", before)[0])


def test_chunks_of_a_session_follow_each_other_within_their_project(lexical_vault: Vault) -> None:
    lexical_vault.add(
        [
            {"text": "a1", "id": "a1", "session": "a"},
            {"text": "b1", "id": "b1", "session": "b"},
            {"text": "n", "id": "n"},
        ]
    )
    lexical_vault.add([{"text": "a2", "id": "a2", "session": "a"}, {"text": "a3", "id": "a3", "session": "a"}])
    lexical_vault.add("other a", id="pa", session="a", project="p")
    got = {name: previous(lexical_vault, name) for name in ("a1", "b1", "n", "a2", "a3", "pa")}
    assert got == {"a1": None, "b1": None, "n": None, "a2": "a1", "a3": "a2", "pa": None}


def test_a_chunk_that_supersedes_keeps_its_place(lexical_vault: Vault) -> None:
    lexical_vault.add([{"text": f"t{i}", "id": f"t{i}", "session": "s"} for i in range(3)])
    lexical_vault.add("t0 again", id="t0", session="s")
    assert previous(lexical_vault, "t0") is None
    lexical_vault.add("t1 again", id="t1", session="s")
    assert previous(lexical_vault, "t1") == "t0"
    lexical_vault.update("t2", text="t2 again")
    assert previous(lexical_vault, "t2") == "t1 again"
    lexical_vault.add(
        [
            {"text": "t2 more", "id": "t2", "session": "s"},
            {"text": "t2 most", "id": "t2", "session": "s"},
            {"text": "t3", "id": "t3", "session": "s"},
        ]
    )
    assert previous(lexical_vault, "t2") == "t1 again"
    assert previous(lexical_vault, "t3") == "t2 most"


def test_no_chunk_is_its_own_context(lexical_vault: Vault) -> None:
    lexical_vault.add("we use zebra", id="x", session="s")
    lexical_vault.add("we use yak", id="x", session="s")
    assert [hit.id for hit in lexical_vault.recall("zebra")] == []


def test_a_chunk_that_moves_to_another_session_goes_to_its_end(lexical_vault: Vault) -> None:
    lexical_vault.add([{"text": "a", "id": "a", "session": "s"}, {"text": "b", "id": "b", "session": "t"}])
    lexical_vault.add("a", id="a", session="t")
    assert previous(lexical_vault, "a") == "b"


def test_chunks_that_are_gone_are_nobodys_predecessor(lexical_vault: Vault) -> None:
    lexical_vault.add([{"text": "a", "id": "a", "session": "s"}, {"text": "b", "id": "b", "session": "s"}])
    lexical_vault.invalidate("b", "wrong")
    lexical_vault.add("c", id="c", session="s")
    assert previous(lexical_vault, "c") == "a"


def test_a_declared_predecessor_must_come_before(lexical_vault: Vault) -> None:
    lexical_vault.add("known", id="known")
    names = ("x", "y", "known", "nobody", None)
    records = [
        Exported(id=f"r{i}", text="t", type="note", collection="notes", after=after) for i, after in enumerate(names)
    ]
    records += [
        Exported(id="x", text="t", type="note", collection="notes", after="r0"),
        Exported(id="y", text="t", type="note", collection="notes", after="y"),
    ]
    assert previous_rows(lexical_vault._memory.view(), _batch(records), 1) == [-1, -1, 0, -1, -1, 1, -1]


def test_following_words_bring_in_the_chunk_before(lexical_vault: Vault) -> None:
    lexical_vault.add(
        [
            {"text": "Which database shall we take?", "id": "q", "session": "s"},
            {"text": "Postgres.", "id": "a", "session": "s"},
        ]
    )
    hits = lexical_vault.recall("which database")
    assert {hit.id for hit in hits} == {"q", "a"}
    via = {hit.id: hit for hit in lexical_vault.recall("postgres")}
    assert via["q"].via == "following"
    assert via["q"].terms["received"] > 0
    assert via["a"].via is None

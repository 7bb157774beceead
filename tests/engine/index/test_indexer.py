"""Indexes follow the log; they may be late, broken or gone, and the log never suffers."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

import lamina
from lamina import FixedClock, Vault
from lamina_engine.index import indexer
from lamina_engine.index.ahead import Ahead
from lamina_engine.index.categories import facet
from lamina_engine.index.lexical import Appending, LexicalDamaged, LexicalIndex
from lamina_engine.index.terms import write_terms
from tests.conftest import NOW
from tests.engine.recall.corpus import QUERIES, records, same_part


def answers(vault: Vault) -> list[object]:
    return [same_part(vault.recall(query).to_dict()) for query in QUERIES[:6]]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexer, "BLOCK_ROWS", 16)


def files(vault: Vault, folder: str = "") -> set[str]:
    return {path.name for path in (vault.path / "index" / folder).iterdir()}


def test_every_segment_but_the_smallest_has_its_file_and_nothing_else_stays(lexical_vault: Vault) -> None:
    given = records(50)
    for start in range(0, 50, 3):
        lexical_vault.add(given[start : start + 3])
        names = {
            s.ref.name.removesuffix(".arrow") + ".terms"
            for s in lexical_vault._memory.view().snapshot.segments("chunks")
            if s.rows >= indexer.UNFILED_ROWS
        }
        assert files(lexical_vault, "terms") == names
    indexes = lexical_vault._memory.view().snapshot.manifest.indexes
    assert {name: record["rows"] for name, record in indexes.items()} == {"lexical": 48, "keys": 48}
    named = {str(value) for record in indexes.values() for value in record.values()}
    assert files(lexical_vault) - {"terms"} == {name for name in named if name in files(lexical_vault)}
    assert len(files(lexical_vault)) == 4  # terms, one folder of Tantivy's, two files of keys


def test_a_write_stands_where_its_indexes_fail_and_the_next_one_catches_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    given = records(40)
    with lamina.open(tmp_path / "ref", create=True, clock=FixedClock(NOW), embedder="none") as vault:
        vault.add(given[:20])
        middle = answers(vault)
        vault.add(given[20:])
        ref = answers(vault)
    with lamina.open(tmp_path / "got", create=True, clock=FixedClock(NOW), embedder="none") as vault:
        monkeypatch.setattr(indexer, "write_terms", full)
        with caplog.at_level(logging.WARNING):
            assert len(vault.add(given[:20])) == 20
        assert "behind" in caplog.text
        assert answers(vault) == middle
        monkeypatch.setattr(indexer, "write_terms", write_terms)
        vault.add(given[20:])
        assert answers(vault) == ref
        assert vault.stats()["indexes"]["lexical"]["rows"] == 32


@pytest.mark.parametrize(
    ("name", "how"),
    # a flipped byte in forward lists is found by `lamina verify`, not by opening them
    [
        ("terms", "gone"),
        ("terms", "cut"),
        *((name, how) for name in ("lexical", "keys") for how in ("gone", "cut", "flipped")),
    ],
)
def test_a_damaged_index_is_not_believed(tmp_path: Path, name: str, how: str) -> None:
    root = tmp_path / "vault"
    with lamina.open(root, create=True, clock=FixedClock(NOW), embedder="none") as vault:
        ids = vault.add(records(40))
        ref = answers(vault)
    for path in sorted((root / "index").rglob("*")):
        if path.is_file() and name in path.relative_to(root / "index").parts[0]:
            data = path.read_bytes()
            if how == "gone":
                path.unlink()
            elif how == "cut":
                path.write_bytes(data[: len(data) // 2])
            elif data:
                middle = len(data) // 2
                path.write_bytes(data[:middle] + bytes([data[middle] ^ 0xFF]) + data[middle + 1 :])
    with lamina.open(root, clock=FixedClock(NOW), embedder="none") as vault:
        assert answers(vault) == ref
        assert [c.id for c in vault.get_many(ids)] == ids
        vault.pin(ids[0])  # any write repairs
    with lamina.open(root, clock=FixedClock(NOW), embedder="none") as vault:
        assert answers(vault) == ref


def test_what_was_staged_for_a_failed_write_is_forgotten(lexical_vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    from lamina_engine.store.transaction import Transaction

    def refuses(_: Transaction) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(Transaction, "commit", refuses)
        with pytest.raises(OSError, match="Input/output"):
            lexical_vault.add("zebra first")
    lexical_vault.add("yak second")
    assert len(lexical_vault.recall("zebra")) == 0
    assert [hit.text for hit in lexical_vault.recall("yak")] == ["yak second"]


@pytest.fixture
def fed_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexer, "_AHEAD_ROWS", 8)
    monkeypatch.setattr(indexer, "_STAGED_AT_ONCE", 5)


def in_parts(path: Path) -> tuple[list[object], list[dict[str, object]]]:
    """Answers, and indexes, of a vault fed in parts of many sizes."""
    given = records(90)
    with lamina.open(path, create=True, clock=FixedClock(NOW), embedder="none") as vault:
        for start, stop in ((0, 3), (3, 40), (40, 45), (45, 61), (61, 90)):
            vault.add(given[start:stop])
        index = vault._memory.tables.lexical(vault._memory.view().snapshot)
        assert index is not None
        found = [
            index.search([word], 100, must).tolist()  # type: ignore[union-attr]
            for word in ("the", "a", "run")
            for must in ((), ("type=note",))
        ]
        return answers(vault), [dict(vault.stats()["indexes"]), {"found": found, "rows": index.rows}]


def test_documents_fed_ahead_give_the_same_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ref, ref_indexes = in_parts(tmp_path / "ref")
    fed: list[int] = []
    begin = Ahead.__init__

    def counted(self: Ahead, index: LexicalIndex, name: str) -> None:
        begin(self, index, name)
        fed.append(self.next)

    monkeypatch.setattr(Ahead, "__init__", counted)
    monkeypatch.setattr(indexer, "_AHEAD_ROWS", 8)
    monkeypatch.setattr(indexer, "_STAGED_AT_ONCE", 5)
    got, indexes = in_parts(tmp_path / "got")
    assert fed == [0, 32, 48]
    assert got == ref
    assert indexes[1] == ref_indexes[1]
    assert indexes[0]["lexical"]["rows"] == ref_indexes[0]["lexical"]["rows"] == 80  # type: ignore[index]


@pytest.mark.usefixtures("fed_ahead")
def test_a_failed_write_leaves_the_index_as_it_was(lexical_vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    from lamina_engine.store.transaction import Transaction

    def refuses(_: Transaction) -> None:
        raise OSError(5, "Input/output error")

    given = records(80)
    for start in (0, 40):  # a new index, and one that is there
        with monkeypatch.context() as patch:
            patch.setattr(Transaction, "commit", refuses)
            with pytest.raises(OSError, match="Input/output"):
                lexical_vault.add([{"text": f"zebra {i}"} for i in range(40)])
        lexical_vault.add(given[start : start + 40])
        index = lexical_vault._memory.tables.lexical(lexical_vault._memory.view().snapshot)
        assert index is not None
        assert index.rows == (start + 40) // 16 * 16
        assert index.doc_freq("zebra") == 0


@pytest.mark.usefixtures("fed_ahead")
@pytest.mark.parametrize("step", ["add", "commit"])
def test_documents_that_were_lost_are_added_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, step: str
) -> None:
    ref, ref_indexes = in_parts(tmp_path / "ref")
    failed: list[str] = []
    works = getattr(Appending, step)

    def fails_once(self: Appending, *args: object) -> None:
        if failed:
            works(self, *args)
            return
        failed.append(step)
        if step == "commit":
            self.abandon()  # as a commit that fails does
        raise LexicalDamaged("the disk is full")

    monkeypatch.setattr(Appending, step, fails_once)
    with caplog.at_level(logging.WARNING):
        got, indexes = in_parts(tmp_path / "got")
    assert "added again" in caplog.text
    assert (got, indexes[1]) == (ref, ref_indexes[1])


def test_codes_of_categories_are_shared_by_segments(lexical_vault: Vault) -> None:
    for project in ("a", None, "b"):
        lexical_vault.add(
            [{"text": f"text {project} {i}", "project": project, "session": f"{project}{i}"} for i in range(2)]
        )
    view = lexical_vault._memory.view()
    table = view.categories
    codes = table.column(view.snapshot, "project")
    assert [table.value("project", int(code)) for code in codes] == ["a", "a", None, None, "b", "b"]
    assert (table.code("project", "a"), table.code("project", "nobody")) == (int(codes[0]), -2)
    assert facet("project", "a") == "project=a"

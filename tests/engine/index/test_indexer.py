"""Indexes follow the log; they may be late, broken or gone, and the log never suffers."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import lamina
from lamina import FixedClock, Vault
from lamina_engine.chunks import writing
from lamina_engine.chunks.batch import ChunkBatch
from lamina_engine.chunks.writing import ChunkCounts
from lamina_engine.index import indexer, inverted, log_analysis, textbuilder
from lamina_engine.index.analysis import Analyzer
from lamina_engine.index.row_columns import facet
from lamina_engine.index.tables import BulkHint
from lamina_engine.index.terms import build_zones, write_terms
from lamina_engine.index.zones import zones_of
from lamina_engine.ingest import adding
from lamina_engine.memory import Memory
from tests.conftest import NOW
from tests.engine.index.building import build_at_once, never_build
from tests.engine.recall.corpus import QUERIES, records, same_part

WAKE = textbuilder.TextBuilder.wake


def answers(vault: Vault) -> list[object]:
    return [same_part(vault.recall(query).to_dict()) for query in QUERIES[:6]]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    build_at_once(monkeypatch, 16)


def files(vault: Vault, folder: str = "") -> set[str]:
    return {path.name for path in (vault.path / "index" / folder).iterdir()}


def test_every_segment_but_the_smallest_has_its_file_and_nothing_else_stays(lexical_vault: Vault) -> None:
    given = records(50)
    for start in range(0, 50, 3):
        lexical_vault.add(given[start : start + 3])
        names = {
            s.ref.name.removesuffix(".arrow") + suffix
            for s in lexical_vault._memory.view().snapshot.segments("chunks")
            for suffix, least in ((".terms", indexer.UNFILED_ROWS), (".lists", inverted.LEAST_ROWS))
            if s.rows >= least
        }
        assert files(lexical_vault, "terms") == names
    indexes = lexical_vault._memory.view().snapshot.manifest.indexes
    assert indexes["keys"]["rows"] == 48
    text = lexical_vault._memory.tables.text(lexical_vault._memory.view().snapshot)
    assert text is not None
    assert text.rows == 48
    named = {str(value) for record in indexes.values() for value in record.values()}
    assert files(lexical_vault) - {"terms"} == {name for name in named if name in files(lexical_vault)}
    assert len(files(lexical_vault)) == 4  # terms, one folder of the text index, two files of keys


def test_a_stream_of_unknown_length_saves_its_keys_a_few_times(
    lexical_vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of 1 GB saved them, and vector codes, with each of 120 commits: memory grew with what was copied."""
    monkeypatch.setattr(indexer, "_STREAM_ROWS", 32)
    memory, covered = lexical_vault._memory, [0]
    for number in range(40):
        texts = [f"note {number} {i} of the harbour" for i in range(16)]
        batch = ChunkBatch(texts, [None] * 16, ["note"] * 16, ["notes"] * 16)
        writing.write(memory, batch, BulkHint(more=number < 39))
        rows = int(memory.view().snapshot.manifest.indexes.get("keys", {"rows": 0})["rows"])
        assert memory.view().rows - rows < max(32, rows // 4)
        covered += [rows] if rows > covered[-1] else []
    assert covered[-1] == 640
    assert len(covered) < 16
    assert lexical_vault.recall("note 39 15", k=1)[0].text == "note 39 15 of the harbour"


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
        for room in (indexer, textbuilder):
            monkeypatch.setattr(room, "write_terms", full)
        with caplog.at_level(logging.WARNING):
            assert len(vault.add(given[:20])) == 20
        assert "behind" in caplog.text
        assert answers(vault) == middle
        for room in (indexer, textbuilder):
            monkeypatch.setattr(room, "write_terms", write_terms)
        vault.add(given[20:])
        assert answers(vault) == ref
        assert vault.stats()["indexes"]["lexical"]["rows"] == 32


def test_a_builder_that_failed_goes_on_where_it_was_woken_meanwhile(
    lexical_vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(textbuilder.TextBuilder, "wake", WAKE)
    builder = lexical_vault._memory.indexer.text
    failed: list[object] = []

    def full_once(*args: Any) -> None:
        if not failed:
            failed.append(args)
            builder.wake("nothing but what it follows already")  # as the next batch of a long add does
            raise OSError(28, "No space left on device")
        write_terms(*args)

    monkeypatch.setattr(textbuilder, "write_terms", full_once)
    lexical_vault.add(records(40))
    builder.join()
    assert failed
    assert lexical_vault.stats()["indexes"]["lexical"]["rows"] == 32
    assert files(lexical_vault, "terms")


def test_a_paused_builder_builds_nothing_and_goes_on_afterwards(
    lexical_vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(textbuilder.TextBuilder, "wake", WAKE)
    builder = lexical_vault._memory.indexer.text

    def rows() -> int:
        return int(lexical_vault.stats()["indexes"]["lexical"]["rows"] or 0)

    with builder.paused():
        lexical_vault.add(records(40))
        builder.join()
        assert rows() == 0
    builder.join()
    assert rows() == 32


def test_a_pause_ends_in_a_process_that_was_forked_meanwhile(
    lexical_vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(textbuilder.TextBuilder, "wake", WAKE)
    builder = lexical_vault._memory.indexer.text
    with builder.paused():
        monkeypatch.setattr(textbuilder, "os", SimpleNamespace(getpid=lambda: -1))
        lexical_vault.add(records(40))
        builder.join()
        assert lexical_vault.stats()["indexes"]["lexical"]["rows"] == 32


def test_a_pause_stops_what_is_being_built(lexical_vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(textbuilder.TextBuilder, "wake", WAKE)
    builder = lexical_vault._memory.indexer.text
    begun, go_on = threading.Event(), threading.Event()

    def slowly(*args: Any) -> None:
        begun.set()
        assert go_on.wait(30)
        write_terms(*args)

    monkeypatch.setattr(textbuilder, "write_terms", slowly)
    lexical_vault.add(records(40))
    assert begun.wait(30)
    threading.Timer(0.05, go_on.set).start()
    with builder.paused():
        assert lexical_vault.stats()["indexes"]["lexical"]["rows"] == 0
    builder.join()
    assert lexical_vault.stats()["indexes"]["lexical"]["rows"] == 32


@pytest.mark.parametrize("first", ["tables", "version"])
def test_a_builder_whose_folder_went_says_nothing(
    lexical_vault: Vault, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, first: str
) -> None:
    monkeypatch.setattr(textbuilder.TextBuilder, "wake", WAKE)
    builder = lexical_vault._memory.indexer.text

    def gone(*_: Any, **__: Any) -> None:
        if first == "tables":
            builder.give_up()  # as a forget does, after it has removed the folder
        else:
            with lexical_vault._memory.store.transaction() as transaction:
                transaction.set_index("lexical", None)
        raise FileNotFoundError("meta.json")

    monkeypatch.setattr(textbuilder, "write_part", gone)
    with caplog.at_level(logging.WARNING):
        lexical_vault.add(records(40))
        builder.join()
    assert not caplog.records


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


def test_many_rows_are_found_before_their_forward_lists_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # a process that dies right after a large add has written no list of it
    root = tmp_path / "vault"
    with monkeypatch.context() as patch:
        never_build(patch)
        with lamina.open(root, create=True, clock=FixedClock(NOW), embedder="none") as vault:
            vault.add(records(40))
            assert files(vault, "terms") == set()
            ref = answers(vault)
        with lamina.open(root, clock=FixedClock(NOW), embedder="none", mode="r") as vault:
            assert answers(vault) == ref
            assert files(vault, "terms") == set()  # readers never write
    with lamina.open(root, clock=FixedClock(NOW), embedder="none") as vault:
        vault.pin(vault.list(limit=1)[0].id)  # any write goes on with it
        assert sorted(name.rpartition(".")[2] for name in files(vault, "terms")) == ["lists", "terms"]
        assert answers(vault) == ref


@pytest.mark.parametrize(
    ("most", "ref"), [(1 << 19, [(20, 0, 0), (40, 0, 0), (50, 40, 48)]), (40, [(20, 0, 0), (40, 40, 32), (50, 40, 48)])]
)
def test_words_of_a_long_add_wait_for_its_end_or_until_many_wait(
    lexical_vault: Vault, monkeypatch: pytest.MonkeyPatch, most: int, ref: list[tuple[int, int, int]]
) -> None:
    monkeypatch.setattr(indexer, "_WAITING_ROWS", most)
    given = pa.Table.from_pylist([{"text": record["text"]} for record in records(50)])
    monkeypatch.setattr(adding, "SEGMENT_ROWS", 20)
    monkeypatch.setattr(adding, "_LEAD_ROWS", 20)
    seen: list[tuple[int, int, int]] = []
    write = writing.write

    def noted(memory: Memory, batch: ChunkBatch, hint: BulkHint, **options: Any) -> ChunkCounts:
        counts = write(memory, batch, hint, **options)
        snapshot = memory.view().snapshot
        text = memory.tables.text(snapshot)
        lists = memory.tables.inverted(snapshot).rows
        seen.append((snapshot.rows("chunks"), lists, 0 if text is None else text.rows))
        return counts

    monkeypatch.setattr(writing, "write", noted)
    lexical_vault.add(given)
    assert seen == ref
    with lamina.open(lexical_vault.path.parent / "other", create=True, clock=FixedClock(NOW), embedder="none") as other:
        monkeypatch.undo()
        other.add(given)
        assert answers(lexical_vault) == answers(other)


def test_forward_lists_do_not_depend_on_how_rows_are_dealt_out(
    lexical_vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_analysis, "_AT_ONCE", 7)
    lexical_vault.add(records(50))
    snapshot = lexical_vault._memory.view().snapshot
    one, three = (
        log_analysis.analyse_rows(snapshot, 3, 50, [Analyzer() for _ in range(threads)]) for threads in (1, 3)
    )
    ref = build_zones(zones_of(snapshot, 3, 50))
    for got in (one, three):
        assert [array.tobytes() for array in got] == [array.tobytes() for array in ref]


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

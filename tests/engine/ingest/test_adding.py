"""Adding and updating: what is new, what supersedes, what is there already, and what is refused whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import lamina
from lamina import FixedClock, Vault
from lamina_engine.chunks import writing
from lamina_engine.chunks.batch import ChunkBatch, check_vectors
from lamina_engine.chunks.writing import ChunkCounts
from lamina_engine.clock import parse_instant
from lamina_engine.embed.remote import CallableEmbedder
from lamina_engine.errors import InvalidArgument
from lamina_engine.index.tables import BulkHint
from lamina_engine.ingest import adding
from lamina_engine.memory import Memory
from tests.conftest import NOW


@pytest.fixture
def plane_vault(tmp_path: Path, clock: FixedClock) -> Iterator[Vault]:
    embedder = CallableEmbedder(lambda texts: [[float(len(text)), 1.0] for text in texts], 2, "length")
    with lamina.open(tmp_path / "plane", create=True, clock=clock, embedder=embedder) as vault:
        yield vault


def rows(vault: Vault) -> int:
    return int(vault.stats()["rows"])


RECORD: dict[str, Any] = {
    "text": "We moved to PostgreSQL 16.", "title": "Databases", "type": "decision", "collection": "discussions", "project": "api",
    "session": "s1", "agent": "ada", "source": "talk", "created_at": "2026-02-15", "success": True, "tags": ["db", "#infra"],
    "metadata": {"b": [1, None, {"x": "é"}], "a": 2.5}, "ticket": 7,
}  # fmt: skip


def test_a_record_comes_back_as_it_was_given(lexical_vault: Vault) -> None:
    (id_,) = lexical_vault.add([RECORD])
    got = lexical_vault.get(id_)
    for name in ("text", "title", "type", "collection", "project", "session", "agent", "source", "success"):
        assert getattr(got, name) == RECORD[name]
    assert got.tags == ("db", "infra")
    assert got.metadata == {"a": 2.5, "b": [1, None, {"x": "é"}], "ticket": 7}
    assert got.created_at_us == parse_instant("2026-02-15")
    assert (got.status, got.pinned, got.ordinal, got.start, got.stop) == ("active", False, -1, -1, -1)


def test_what_is_not_said_is_filled_in(lexical_vault: Vault, clock: FixedClock) -> None:
    a, b = lexical_vault.add([{"text": "a"}, {"text": "b", "type": "Decision"}])
    assert (lexical_vault.get(a).type, lexical_vault.get(a).collection) == ("note", "notes")
    assert (lexical_vault.get(b).type, lexical_vault.get(b).collection) == ("decision", "decisions")
    assert lexical_vault.get(a).created_at_us == clock.now_us()


@pytest.mark.parametrize("with_date", [True, False])
def test_adding_the_same_again_changes_nothing(lexical_vault: Vault, clock: FixedClock, with_date: bool) -> None:
    record = dict(RECORD) if with_date else {"text": "undated"}
    first = lexical_vault.add([record])
    clock.advance(3600)
    before = lexical_vault.stats()
    assert lexical_vault.add([record, record]) == first * 2
    assert lexical_vault.stats() == before
    assert [entry.kind for entry in lexical_vault.history(first[0])] == ["added"]


@pytest.mark.parametrize(
    "changed",
    [
        {"text": "x"},
        {"project": "web"},
        {"created_at": "2026-02-16"},
        {"tags": []},
        {"success": False},
        {"ticket": 8},
        {"session": None},
    ],
)
def test_a_record_that_differs_anywhere_is_another(lexical_vault: Vault, changed: dict[str, Any]) -> None:
    a, b = lexical_vault.add([RECORD, RECORD | changed])
    assert a != b
    assert rows(lexical_vault) == 2


@pytest.mark.parametrize(
    "changed",
    [
        {"text": "x"},
        {"project": "web"},
        {"created_at": "2026-02-16"},
        {"tags": []},
        {"success": False},
        {"ticket": 8},
        {"session": None},
    ],
)
def test_a_known_id_with_other_content_supersedes(
    lexical_vault: Vault, clock: FixedClock, changed: dict[str, Any]
) -> None:
    lexical_vault.add([RECORD | {"id": "one"}])
    clock.advance(60)
    assert lexical_vault.add([RECORD | {"id": "one"} | changed]) == ["one"]
    assert rows(lexical_vault) == 2
    assert lexical_vault.stats()["chunks"] == 1
    assert [entry.kind for entry in lexical_vault.history("one")] == ["added", "updated"]
    assert [entry.chunk.status for entry in lexical_vault.history("one") if entry.chunk] == ["superseded", "active"]
    assert lexical_vault.add([RECORD | {"id": "one"} | changed]) == ["one"]
    assert rows(lexical_vault) == 2


def test_duplicates_within_a_batch(lexical_vault: Vault) -> None:
    lexical_vault.add("old", id="x")
    lexical_vault.pin("x")
    got = lexical_vault.add(
        [
            {"text": t, "id": i}
            for t, i in (("old", "x"), ("a", "x"), ("a", "x"), ("b", "x"), ("n", "y"), ("n", "y"), ("m", "y"))
        ]
    )
    assert got == ["x", "x", "x", "x", "y", "y", "y"]
    assert (lexical_vault.get("x").text, lexical_vault.get("y").text) == ("b", "m")
    assert lexical_vault.get("x").pinned
    assert (rows(lexical_vault), lexical_vault.stats()["chunks"]) == (5, 2)
    assert [entry.chunk.text for entry in lexical_vault.history("x") if entry.chunk] == ["old", "a", "b"]


def test_adding_what_was_invalidated_leaves_it_so_and_what_was_removed_comes_back(lexical_vault: Vault) -> None:
    from lamina_engine.chunks import writing

    a, b = lexical_vault.add([{"text": "a"}, {"text": "b"}])
    lexical_vault.invalidate(a, "wrong")
    memory = lexical_vault._memory
    with memory.write() as (transaction, view):
        writing.add_events(transaction, "remove", [b], view.rows_of_ids([b]), transaction.stamps(1), [None])
    assert lexical_vault.get(b).status == "removed"
    lexical_vault.add([{"text": "a"}, {"text": "b"}, {"text": "b"}])
    assert (lexical_vault.get(a).status, lexical_vault.get(b).status) == ("invalidated", "active")
    assert [entry.kind for entry in lexical_vault.history(b)] == ["added", "remove", "restore"]


@pytest.mark.parametrize(
    ("records", "says"),
    [
        ([{"text": "fine"}, {"title": "no text"}], "record 1"),
        ([{"text": "fine"}, 3], "record 1 is an int"),
        ([{"text": "a", "vector": [1.0, 2.0]}, {"text": "b"}], "1 of 2"),
        ([{"text": "a", "vector": [1.0, 2.0]}, {"text": "b", "vector": [1.0]}], "differ in dimension"),
        ([{"text": "a", "vector": [1.0, 2.0, 3.0]}], "dimension 3"),
        ([{"text": "a", "vector": [float("nan"), 2.0]}], "finite"),
        ([{"text": "a", "vector": "no"}], "vector"),
        (b"bytes", "bytes"),
        (3, "int"),
    ],
)
def test_one_bad_record_refuses_the_call_and_nothing_is_written(plane_vault: Vault, records: Any, says: str) -> None:
    for _ in range(2):  # the very first write, and a later one
        before = plane_vault.stats()["snapshot"]
        with pytest.raises(InvalidArgument, match=says):
            plane_vault.add(records)
        assert plane_vault.stats()["snapshot"] == before
        assert rows(plane_vault) <= 1
        plane_vault.add("good")


def test_a_failing_model_writes_no_chunk(tmp_path: Path) -> None:
    def fails(texts: list[str]) -> list[list[float]]:
        raise RuntimeError("no battery")

    with lamina.open(tmp_path / "v", create=True, embedder=CallableEmbedder(fails, 2, "broken")) as vault:
        with pytest.raises(lamina.EmbeddingError, match="no battery"):
            vault.add("text")
        assert rows(vault) == 0
        assert vault.add("with its own", vector=[1.0, 0.0])


def test_vectors_without_a_space_are_refused_not_dropped(lexical_vault: Vault) -> None:
    with pytest.raises(InvalidArgument, match="words alone"):
        lexical_vault.add("a", vector=[1.0, 2.0])
    assert rows(lexical_vault) == 0


def test_vectors_that_come_along_are_used(plane_vault: Vault) -> None:
    plane_vault.add([{"text": "a", "id": "a", "vector": [0.0, 5.0]}, {"text": "b", "id": "b", "vector": [2.0, 0.0]}])
    hits = plane_vault.recall("", vector=[0.0, 1.0], lanes=["vector"])
    assert [(hit.id, hit.score) for hit in hits] == [("a", 1.0)]


def test_tables_are_taken_with_defaults(plane_vault: Vault) -> None:
    table = pa.table({"text": ["a", "b"], "project": ["x", None], "vector": [[1.0, 0.0], [0.0, 1.0]]})
    got = plane_vault.get_many(plane_vault.add(table, project="y", tags=["t"], created_at="2026-01-01"))
    assert [(c.text, c.project, c.tags, c.created_at_us) for c in got] == [
        (t, p, ("t",), parse_instant("2026-01-01")) for t, p in (("a", "x"), ("b", "y"))
    ]
    partly = pa.table({"text": ["a", "b"], "vector": [[1.0, 0.0], None]})
    with pytest.raises(InvalidArgument, match="record 1 has no vector"):
        plane_vault.add(partly)


def long_table(n: int, bad: int | None = None) -> pa.Table:
    texts = [" " if i == bad else f"row number {i} of a long table" for i in range(n)]
    vectors = np.random.default_rng(n).standard_normal((n, 2)).astype(np.float32)
    return pa.table({"text": texts, "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), 2)})


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adding, "SEGMENT_ROWS", 16)
    monkeypatch.setattr(adding, "_LEAD_ROWS", 5)


@pytest.mark.usefixtures("small_parts")
def test_a_long_table_is_written_in_parts_each_prepared_ahead(
    plane_vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[tuple[int, bool]] = []
    write = writing.write

    def noted(memory: Memory, batch: ChunkBatch, hint: BulkHint, **options: Any) -> ChunkCounts:
        written.append((len(batch), hint.more))
        return write(memory, batch, hint, **options)

    monkeypatch.setattr(writing, "write", noted)
    ids = plane_vault.add(long_table(40))
    assert written == [(5, True), (11, True), (16, True), (8, False)]
    with lamina.open(plane_vault.path.parent / "other", create=True, embedder=plane_vault._memory.embedder) as other:
        monkeypatch.setattr(adding, "SEGMENT_ROWS", 65_536)
        assert other.add(long_table(40)) == ids
    assert [chunk.text for chunk in plane_vault.list(limit=40)][::-1] == [
        f"row number {i} of a long table" for i in range(40)
    ]


@pytest.mark.usefixtures("small_parts")
def test_what_stands_before_a_bad_part_is_written_and_the_error_names_the_row(plane_vault: Vault) -> None:
    with pytest.raises(InvalidArgument, match="row 30: text=' ' is blank"):
        plane_vault.add(long_table(40, bad=30))
    assert rows(plane_vault) == 16


def test_a_table_that_fits_into_one_part_is_written_whole_or_not_at_all(plane_vault: Vault) -> None:
    with pytest.raises(InvalidArgument, match="row 30"):
        plane_vault.add(long_table(40, bad=30))
    assert rows(plane_vault) == 0


def test_an_empty_call_writes_nothing(plane_vault: Vault) -> None:
    before = plane_vault.stats()["snapshot"]
    assert plane_vault.add([]) == []
    assert plane_vault.stats()["snapshot"] == before
    with pytest.raises(InvalidArgument, match="weight"):
        plane_vault.add("a", weight=3)


def test_secrets_are_masked_before_anything_is_written(lexical_vault: Vault) -> None:
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "a1B2c3"
    a, b = lexical_vault.add(
        [
            {"text": f"the token is {secret}", "title": secret, "tags": [secret], "metadata": {"k": secret}},
            {"text": "clean"},
        ]
    )
    lexical_vault.update(b, text=f"now {secret}", title=secret, tags=[secret], metadata={"k": [secret]})
    lexical_vault.invalidate(a, f"leaked {secret}")
    assert lexical_vault.get(a).text.startswith("the token is ")
    for path in lexical_vault.path.rglob("*"):
        if path.is_file():
            assert secret.encode() not in path.read_bytes()


# ---------------------------------------------------------------- update


def test_an_update_keeps_id_pin_and_what_it_does_not_name(lexical_vault: Vault, clock: FixedClock) -> None:
    (id_,) = lexical_vault.add([RECORD])
    before = lexical_vault.pin(id_)
    clock.advance(60)
    got = lexical_vault.update(id_, text="We moved to PostgreSQL 17.")
    assert (got.id, got.text, got.pinned, got.status) == (id_, "We moved to PostgreSQL 17.", True, "active")
    for name in (
        "title",
        "type",
        "collection",
        "project",
        "session",
        "agent",
        "source",
        "tags",
        "success",
        "metadata",
        "created_at_us",
    ):
        assert getattr(got, name) == getattr(before, name)
    assert [hit.text for hit in lexical_vault.recall("PostgreSQL")] == ["We moved to PostgreSQL 17."]


@pytest.mark.parametrize("record", [RECORD, {"text": "undated"}, {"text": "dated", "created_at": "2026-01-01"}])
def test_an_update_to_what_is_there_changes_nothing(vault: Vault, record: dict[str, Any]) -> None:
    (id_,) = vault.add([record])
    before = vault.stats()
    vault.update(id_, text=record["text"])
    vault.update(id_, type=record.get("type", "note"), project=record.get("project"))
    assert vault.stats() == before


def test_an_update_embeds_what_adding_it_would_have_embedded(vault: Vault) -> None:
    (a,) = vault.add([{"text": "old", "created_at": "2026-01-05", "title": "T"}])
    (b,) = vault.add([{"text": "new", "created_at": "2026-01-05", "title": "T", "project": "p"}])
    assert vault.update(a, text="new").version == vault.get(b).version


def test_a_type_is_spelt_the_same_in_updates(lexical_vault: Vault) -> None:
    (id_,) = lexical_vault.add([{"text": "x"}])
    assert (
        lexical_vault.update(id_, type="GitHub Commit").type
        == lexical_vault.get(lexical_vault.add("y", type="GitHub Commit")[0]).type
        == "github_commit"
    )
    assert lexical_vault.update(id_, type=None, collection=None).type == "note"


@pytest.mark.parametrize(
    "changes", [{}, {"vector": [1.0]}, {"text": ""}, {"text": None}, {"created_at": "soon"}, {"tags": 3}]
)
def test_an_update_that_cannot_be_is_refused(lexical_vault: Vault, changes: dict[str, Any]) -> None:
    (id_,) = lexical_vault.add([RECORD])
    before = lexical_vault.stats()
    with pytest.raises(InvalidArgument):
        lexical_vault.update(id_, **changes)
    assert lexical_vault.stats() == before


# ---------------------------------------------------------------- vectors


def test_checked_vectors_are_unit_rows_and_zeros_stay() -> None:
    got = check_vectors(np.array([[3, 4], [0, 0]], np.float32), 2, 2)
    assert got.tolist() == [[pytest.approx(0.6), pytest.approx(0.8)], [0.0, 0.0]]
    assert np.array_equal(got[:1], check_vectors(np.array([[3, 4]], np.float32), 1, None))
    for bad, n, dim in (
        (np.ones((2, 2)), 3, 2),
        (np.ones(2), 2, None),
        (np.ones((2, 2)), 2, 3),
        (np.array([[np.inf, 1]]), 1, 2),
    ):
        with pytest.raises(InvalidArgument):
            check_vectors(bad.astype(np.float32), n, dim)
    assert check_vectors(np.empty((0, 2), np.float32), 0, 2).shape == (0, 2)


def test_a_fresh_clock_is_not_needed_for_distinct_moments(lexical_vault: Vault) -> None:
    ids = lexical_vault.add([{"text": f"t{i}"} for i in range(5)])
    lexical_vault.invalidate(ids[0], "x")
    stamps = [c.recorded_at_us for c in lexical_vault.get_many(ids)] + [
        lexical_vault.history(ids[0])[-1].recorded_at_us
    ]
    assert stamps == sorted(set(stamps))
    assert stamps[0] == parse_instant(NOW)


@pytest.mark.parametrize(
    ("type_", "collection"),
    [
        ("agent_handoff", "discussions"), ("agent_insight", "discussions"), ("agent_task", "discussions"),
        ("conversation", "discussions"), ("session_summary", "discussions"), ("preference", "discussions"),
        ("github_pr", "github"), ("github_commit", "github"), ("github_ci_result", "github"), ("github_code_blob", "github"),
        ("jira_issue", "jira-data"), ("rule", "conventions"), ("error_pattern", "code-patterns"), ("decision", "decisions"),
        ("note", "notes"),
    ],
)  # fmt: skip
def test_types_lie_in_the_collections_of_their_system(lexical_vault: Vault, type_: str, collection: str) -> None:
    # findings, seeds-b row 6
    (id_,) = lexical_vault.add("text", type=type_)
    assert lexical_vault.get(id_).collection == collection


def test_texts_are_added_as_they_are(lexical_vault: Vault) -> None:
    ids = lexical_vault.add(["one", {"text": "two", "project": "b"}, *(text for text in ("three",))], project="a")
    assert [(chunk.text, chunk.project) for chunk in lexical_vault.get_many(ids)] == [
        ("one", "a"),
        ("two", "b"),
        ("three", "a"),
    ]
    assert len(lexical_vault.add(f"text {i}" for i in range(3))) == 3
    with pytest.raises(InvalidArgument, match="records is a set"):
        lexical_vault.add({"one", "two"})  # type: ignore[arg-type]  # in what order?
    with pytest.raises(InvalidArgument, match="record 1: text='' is blank"):
        lexical_vault.add(["four", ""])


def test_a_column_is_no_table(lexical_vault: Vault) -> None:
    column = pytest.importorskip("polars").Series(["one"])
    with pytest.raises(InvalidArgument, match="records is a Series, not a table"):
        lexical_vault.add(column)


def test_names_of_columns_are_no_texts(lexical_vault: Vault) -> None:
    class Frame:
        """Like that of pandas 2.1: no stream, and an iterator over its columns."""

        def __dataframe__(self) -> object:
            raise NotImplementedError

        def __iter__(self) -> Iterator[str]:
            return iter(("text", "project"))

    with pytest.raises(InvalidArgument, match=r"records is a Frame, .* pyarrow\.Table\.from_pandas"):
        lexical_vault.add(Frame())  # type: ignore[arg-type]
    assert len(lexical_vault) == 0


def test_a_table_with_a_bad_row_is_refused_and_not_skipped(lexical_vault: Vault) -> None:
    with pytest.raises(InvalidArgument, match=r"^records: row 1: text=None is blank; give non-empty text; nothing of"):
        lexical_vault.add(pa.table({"text": ["a", None]}))
    assert len(lexical_vault) == 0

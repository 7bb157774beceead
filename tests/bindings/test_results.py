from __future__ import annotations

import copy
import json
import pickle
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
import pyarrow as pa
import pytest

import lamina
from lamina import Hit, Hits, Results, Vault
from lamina.options import Lane
from lamina_engine.clock import format_instant
from lamina_engine.recall import explain
from lamina_engine.recall.explain import recompute
from lamina_engine.recall.score import ages

FIELDS = [
    "id", "score", "text", "source", "path", "line", "end_line", "title", "headings", "type", "collection", "project",
    "session", "created_at", "status",
    "reason", "success", "freshness", "needs_review", "via", "terms",
]  # fmt: skip


@pytest.fixture
def hits(vault: Vault) -> Hits:
    vault.add(
        [
            {
                "id": "one",
                "text": "We moved to PostgreSQL 16.",
                "type": "decision",
                "created_at": "2026-02-15",
                "n": [1],
            },
            {"id": "two", "text": "The database is PostgreSQL.", "title": "Storage", "project": "api"},
            {"id": "three", "text": "Deploys happen on Friday."},
        ]
    )
    return vault.recall("which PostgreSQL database", k=3)


def test_hits_are_a_sequence(hits: Hits) -> None:
    assert isinstance(hits, Sequence)
    assert len(hits) == len(list(hits)) == len([*reversed(hits)]) > 1
    assert hits[0] == next(iter(hits))
    assert list(hits[:2]) == [hits[0], hits[1]]
    assert hits[-1] in hits
    assert hits.index(hits[1]) == 1
    with pytest.raises(IndexError):
        hits[len(hits)]
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert repr(hits).startswith(f"Hits({len(hits)} for 'which PostgreSQL database', profile=")


def test_a_hit_has_the_fields_that_callers_rely_on(hits: Hits) -> None:
    hit = next(hit for hit in hits if hit.id == "one")
    assert (hit.text, hit.type, hit.collection) == ("We moved to PostgreSQL 16.", "decision", "decisions")
    assert (hit.title, hit.project, hit.session, hit.source, hit.via, hit.freshness) == (None,) * 6
    assert (hit.to_dict()["created_at"], format_instant(hit.recorded_at_us), hit.status) == (
        "2026-02-15T00:00:00Z",
        "2026-03-01T12:00:00Z",
        "active",
    )
    assert hit.metadata == {"n": [1]}
    assert hit.score == pytest.approx(recompute(hit.terms), abs=1e-6)
    with pytest.raises(AttributeError):
        hit.score = 2.0  # type: ignore[misc]


def test_the_json_form_is_that_of_the_command_line(hits: Hits) -> None:
    got = json.loads(json.dumps(hits.to_dict(), allow_nan=False))
    assert list(got) == [
        "query",
        "profile",
        "snapshot",
        "as_of",
        "took_ms",
        "confidence",
        "time",
        "scope",
        "incomplete",
        "hits",
    ]
    assert (got["query"], got["as_of"], got["snapshot"]) == ("which PostgreSQL database", None, hits.snapshot)
    assert [list(hit) for hit in got["hits"]] == [[*FIELDS, "snippet"]] * len(hits)
    assert [hit["id"] for hit in got["hits"]] == [hit.id for hit in hits]


def test_explain_tells_the_terms_of_every_hit(hits: Hits) -> None:
    got = hits.explain()
    assert (got["query"], got["profile"]) == (hits.query, hits.profile)
    assert [(each["rank"], each["id"], each["score"]) for each in got["hits"]] == [
        (i, hit.id, hit.score) for i, hit in enumerate(hits, 1)
    ]
    assert got["hits"][0]["terms"] == hits[0].terms
    assert got["candidates"]["scored"] >= len(hits)


def test_hits_as_a_table(hits: Hits) -> None:
    table = hits.to_arrow()
    assert table.column_names[:2] == ["id", "score"]
    assert set(FIELDS) | {"recorded_at", "metadata"} <= set(table.column_names)
    assert table["id"].to_pylist() == [hit.id for hit in hits]
    assert table["score"].to_pylist() == [hit.score for hit in hits]
    assert table["created_at"].to_pylist() == [hit.created_at for hit in hits]
    assert str(table.schema.field("created_at").type) == "timestamp[us, tz=UTC]"
    assert [terms["coverage"] for terms in table["terms"].to_pylist()] == [hit.terms["coverage"] for hit in hits]
    assert [dict(terms["words"]) for terms in table["terms"].to_pylist()] == [hit.terms["words"] for hit in hits]
    assert json.loads(table["metadata"].to_pylist()[[hit.id for hit in hits].index("one")]) == {"n": [1]}
    empty = Hits(
        [], query="", profile="", snapshot=1, as_of=None, took_ms=0.0, missing=(), rate=float, describe=hits._describe, cut=hits._cut
    )  # fmt: skip
    assert empty.to_arrow().schema == table.schema
    assert (len(empty), empty.to_dict()["hits"], empty.explain()["hits"]) == (0, [], [])


def test_tables_of_every_kind_of_record_have_a_schema_of_their_own(vault: Vault, hits: Hits) -> None:
    vault.link("one", "two", "causal")
    vault.facts.add("Ann", "role", "lead", valid_from="2026-01-01")
    found: list[Results[Any]] = [
        hits, vault.list(), vault.links("one"), vault.neighbors("one"), vault.causes("one"), vault.history("one"),
        vault.facts.about("Ann"), vault.facts.ask("what is Ann's role?"), vault.facts.contradictions(), vault.topics(), vault.sessions(),
    ]  # fmt: skip
    for records in found:
        table = pa.table(records)
        assert table.num_rows == len(records)
        assert table.schema == records[:0].to_arrow().schema
        assert not [name for name in table.column_names if name.endswith("_us")]
        html = records._repr_html_()
        assert html.startswith("<p>")
        assert json.dumps(records.to_dicts())
    path = vault.neighbors("one").to_arrow()["path"].to_pylist()
    assert path == [[{"source": "one", "target": "two", "relation": "causal", "weight": 1.0, "outward": True}]]


def test_a_scan_of_the_vault_is_a_table(vault: Vault, hits: Hits) -> None:
    table = vault.to_arrow(where={"type": "decision"})
    assert table["id"].to_pylist() == ["one"]
    assert table["created_at"].to_pylist() == [vault.get("one").created_at]
    assert vault.to_arrow().num_rows == 3
    assert vault.to_arrow(where={"type": "nothing"}).schema == table.schema


def test_a_notebook_shows_text_as_text(vault: Vault) -> None:
    vault.add("<script>alert(1)</script> & more", id="<b>x</b>", title="<img src=x onerror=y>")
    for records in (vault.list(), vault.recall("alert script more")):
        html = records._repr_html_()
        assert "<script>" not in html
        assert "<b>" not in html
        assert "<img" not in html
        assert "&lt;script&gt;" in html


def test_a_notebook_shows_the_columns_that_people_want_first(hits: Hits) -> None:
    head = hits._repr_html_().split("</thead>")[0]
    names = [cell.removesuffix("</th>") for cell in head.split("<th>")[1:]]
    names[-1] = names[-1].split("<")[0]
    assert names[:5] == ["score", "created_at", "type", "title", "text"]
    assert "id" in names


def test_duckdb_and_polars_read_hits_as_they_are(vault: Vault, hits: Hits) -> None:
    duckdb = pytest.importorskip("duckdb")
    polars = pytest.importorskip("polars")
    chunks = vault.list()  # noqa: F841 - DuckDB finds it by its name
    rows = duckdb.sql("select id, typeof(created_at) from hits order by score desc").fetchall()
    assert rows == [(hit.id, "TIMESTAMP WITH TIME ZONE") for hit in hits]
    assert duckdb.sql("select count(*) from chunks where type = 'decision'").fetchall() == [(1,)]
    frame = hits.to_polars()
    assert frame.equals(polars.from_arrow(pa.table(hits)))
    assert frame["created_at"].to_list() == [hit.created_at for hit in hits]


def test_a_missing_package_is_named(hits: Hits, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(lamina.MissingExtra, match=r"\[polars\]"):
        hits.to_polars()


def test_results_are_immutable_sequences_that_say_what_they_are(vault: Vault, hits: Hits) -> None:
    chunks = vault.list()
    assert repr(chunks) == "<3 Chunks>"
    assert repr(chunks[:1]) == "<1 Chunk>"
    assert repr(vault) == f"<Vault {vault.path.name!r}: 3 chunks>"
    assert repr(vault.get("one")).startswith("<Chunk one · decision · 2026-02-15: 'We moved")
    assert chunks == list(chunks)
    assert chunks != hits
    with pytest.raises(TypeError):
        chunks[0] = chunks[1]  # type: ignore[index]
    chunk = vault.get("one")
    assert (chunk.created_at_us, chunk.created_at) == (1_771_113_600_000_000, datetime(2026, 2, 15, tzinfo=UTC))
    with pytest.raises(AttributeError):
        chunk.text = "other"  # type: ignore[misc]


def test_hits_as_a_data_frame(hits: Hits, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        import pandas  # noqa: F401
    except ImportError:
        with pytest.raises(lamina.MissingExtra, match="pip install") as caught:
            hits.to_pandas()
        assert isinstance(caught.value, ImportError)
    else:
        assert list(hits.to_pandas()["id"]) == [hit.id for hit in hits]


def test_equal_recalls_give_equal_bytes(vault: Vault, hits: Hits) -> None:
    def stable(given: Hits) -> dict[str, Any]:
        return {**given.to_dict(), "snapshot": None, "took_ms": None}

    assert json.dumps(stable(vault.recall(hits.query, k=3))) == json.dumps(stable(hits))


def test_terms_are_made_when_they_are_looked_at(vault: Vault, hits: Hits, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def count_rows(view: Any, rows: Any, *rest: Any) -> Any:
        made.append(len(rows))
        return ages(view, rows, *rest)

    monkeypatch.setattr(explain, "ages", count_rows)
    found = vault.recall("which PostgreSQL database", k=3)
    assert [hit.text for hit in found] == [hit.text for hit in hits]
    assert [hit.via for hit in found] == [hit.via for hit in hits]
    assert made == []
    assert [hit.terms for hit in found] == [hit.terms for hit in hits]
    assert made == [len(found), len(hits)]
    assert all(hit.terms is hit.terms for hit in found)


def test_terms_are_those_of_the_recall_whatever_became_of_the_vault(vault: Vault, hits: Hits) -> None:
    later = vault.recall("which PostgreSQL database", k=3)
    expected = [dict(hit.terms) for hit in vault.recall("which PostgreSQL database", k=3)]
    vault.update("one", text="Which database? PostgreSQL.")
    vault.add([{"text": f"note {i} of the database"} for i in range(50)])
    vault.forget(ids=["two"], dry_run=False)
    assert [hit.terms for hit in later] == expected
    vault.close()
    assert [hit.terms for hit in hits] == expected


@pytest.mark.parametrize("lanes", [None, ["vector"], ["lexical"]])
def test_confidence_is_that_of_the_recall_whatever_became_of_the_vault(
    vault: Vault, hits: Hits, lanes: list[Lane] | None
) -> None:
    first, later, last = (vault.recall("which PostgreSQL database", k=3, lanes=lanes) for _ in range(3))
    expected = first.confidence
    assert 0.0 < expected < 1.0
    vault.update("one", text="Which database? PostgreSQL.")
    vault.add([{"text": f"note {i} of the database"} for i in range(50)])
    vault.forget(ids=["two"], dry_run=False)
    vault.compact()
    assert later.confidence == expected
    vault.close()
    assert last.confidence == expected
    same = pickle.loads(pickle.dumps(last))
    assert (same, same.confidence, same.snippet(same[0])) == (last, expected, last.snippet(last[0]))


def test_hits_are_compared_copied_and_sent_with_their_terms(vault: Vault, hits: Hits) -> None:
    again = vault.recall("which PostgreSQL database", k=3)
    assert again == hits
    assert again[0] != hits[1]
    assert again[0] != msgspec.structs.replace(hits[0], _terms=dict)
    for same in (pickle.loads(pickle.dumps(hits[0])), copy.deepcopy(hits[0]), copy.copy(hits[0])):
        assert (same, same.terms, type(same)) == (hits[0], hits[0].terms, Hit)
    other = msgspec.structs.replace(hits[0], score=0.0)
    assert (other.score, other.terms) == (0.0, hits[0].terms)


def test_a_hit_needs_no_vault() -> None:
    hit = Hit(id="i", row=0, text="t", type="note", collection="notes", recorded_at_us=0, score=1.0)
    assert hit.metadata == {}
    assert hit.to_dict()["id"] == "i"

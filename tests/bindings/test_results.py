from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

import lamina
from lamina import Hit, Hits, Vault
from lamina_engine.recall.explain import recompute

FIELDS = [
    "id", "score", "text", "source", "title", "type", "collection", "project", "session", "created_at", "status",
    "freshness", "via", "terms",
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
    assert (hit.created_at, hit.recorded_at, hit.status) == ("2026-02-15T00:00:00Z", "2026-03-01T12:00:00Z", "active")
    assert hit.metadata == {"n": [1]}
    assert hit.score == pytest.approx(recompute(hit.terms), abs=1e-6)
    with pytest.raises(AttributeError):
        hit.score = 2.0  # type: ignore[misc]


def test_the_json_form_is_that_of_the_command_line(hits: Hits) -> None:
    got = json.loads(json.dumps(hits.to_dict(), allow_nan=False))
    assert list(got) == ["query", "profile", "snapshot", "as_of", "took_ms", "hits"]
    assert (got["query"], got["as_of"], got["snapshot"]) == ("which PostgreSQL database", None, hits.snapshot)
    assert [list(hit) for hit in got["hits"]] == [FIELDS] * len(hits)
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
    assert table.column_names == [*FIELDS, "recorded_at", "metadata"]
    assert table["id"].to_pylist() == [hit.id for hit in hits]
    assert table["score"].to_pylist() == [hit.score for hit in hits]
    assert json.loads(table["metadata"].to_pylist()[[hit.id for hit in hits].index("one")]) == {"n": [1]}
    empty = Hits([], query="", profile="", snapshot=1, as_of=None, took_ms=0.0, trace={})
    assert empty.to_arrow().schema == table.schema
    assert (len(empty), empty.to_dict()["hits"], empty.explain()["hits"]) == (0, [], [])


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


def test_a_hit_needs_no_vault() -> None:
    hit = Hit(
        "i", "t", 1.0, None, None, "note", "notes", None, None, None, "2026-01-01T00:00:00Z", "active", None, None, {}
    )
    assert hit.metadata == {}
    assert hit.to_dict()["id"] == "i"

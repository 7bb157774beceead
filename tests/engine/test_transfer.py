from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import lamina
from lamina import FixedClock, Vault
from lamina_engine.errors import IngestError, InvalidArgument
from tests.conftest import NOW
from tests.engine.recall.corpus import QUERIES, records, same_part

Open = Callable[[str], Vault]


@pytest.fixture
def opened(tmp_path: Path) -> Open:
    def open_(name: str) -> Vault:
        return lamina.open(tmp_path / name, create=True, clock=FixedClock(NOW))

    return open_


def fill(vault: Vault, folder: Path) -> None:
    ids = vault.add(records(60))
    notes = folder / "notes"
    notes.mkdir()
    (notes / "a.md").write_text(
        "# Alpha\n\nThe first part speaks of zebras.\n\n## Beta\n\nThe second of yaks. " + "More words here. " * 60
    )
    (notes / "b.txt").write_text("plain words about Redis\n")
    vault.ingest(notes)
    vault.update(ids[3], text="told again", created_at="2026-02-02")
    vault.invalidate(ids[4], "wrong")
    vault.pin(ids[4])
    vault.pin(ids[5])


def answers(vault: Vault) -> list[Any]:
    return [
        same_part(vault.recall(query, profile="temporal").to_dict())
        for query in (*QUERIES, "zebras", "yaks", "told again")
    ]


@pytest.mark.parametrize("name", ["x.jsonl", "x.parquet", "parquet.dat"])
def test_a_vault_carried_over_is_the_same_vault(opened: Open, tmp_path: Path, name: str) -> None:
    format_ = "jsonl" if name == "x.jsonl" else "parquet"
    with opened("one") as one, opened("two") as two:
        fill(one, tmp_path)
        first, second = tmp_path / name, tmp_path / f"again-{name}"
        n = one.export(first, format_)  # type: ignore[arg-type]
        assert len(two.import_(first)) == n == len(one.list({"status": {"in": ["active", "invalidated"]}}, limit=None))
        assert two.export(second, format_) == n  # type: ignore[arg-type]
        assert second.read_bytes() == first.read_bytes()
        assert two.stats()["status"]["invalidated"] == 1
        assert [c.id for c in two.list({"pinned": True})] == [c.id for c in one.list({"pinned": True})]
        ref = {c.id: (c.version, c.ordinal, c.start, c.stop, c.headings) for c in one.list(limit=None)}
        assert {c.id: (c.version, c.ordinal, c.start, c.stop, c.headings) for c in two.list(limit=None)} == ref
        before = two.stats()["snapshot"]
        two.import_(first)
        one.import_(first)
        assert (two.stats()["snapshot"], one.stats()["rows"]) == (before, n + 1)  # a second time changes nothing
        assert not [p.name for p in tmp_path.iterdir() if p.name.endswith(".tmp")]


def test_a_vault_carried_over_answers_the_same(opened: Open, tmp_path: Path) -> None:
    with opened("one") as one, opened("two") as two:
        one.add(records(60))
        one.export(tmp_path / "x.jsonl")
        two.import_(tmp_path / "x.jsonl")
        assert answers(two) == answers(one)


def test_a_part_can_be_exported(opened: Open, tmp_path: Path) -> None:
    with opened("one") as one, opened("two") as two:
        one.add(records(40))
        n = one.export(tmp_path / "x.jsonl", where={"project": "api"})
        two.import_(tmp_path / "x.jsonl")
        assert 0 < n == two.stats()["chunks"] < 40
        assert {c.project for c in two.list(limit=None)} == {"api"}


def test_records_in_the_file_are_what_add_takes_and_say_what_came_before(opened: Open, tmp_path: Path) -> None:
    with opened("one") as one:
        one.add(
            [
                {"text": "a", "id": "a", "session": "s", "metadata": {"z": 1, "b": 2}},
                {"text": "b", "id": "b", "session": "s"},
            ]
        )
        one.export(tmp_path / "x.jsonl")
    got = [json.loads(line) for line in (tmp_path / "x.jsonl").read_text().splitlines()]
    assert [(r["id"], r["text"], r["session"], r["after"], r["status"], r["pinned"]) for r in got] == [
        ("a", "a", "s", None, "active", False), ("b", "b", "s", "a", "active", False),
    ]  # fmt: skip
    assert list(got[0]["metadata"]) == ["b", "z"]


def test_an_undated_chunk_stays_undated(opened: Open, tmp_path: Path) -> None:
    record = {"id": "a", "text": "weather", "type": "note", "collection": "notes", "created_at": None}
    (tmp_path / "x.jsonl").write_text(json.dumps(record) + "\n\n")
    with opened("one") as one:
        one.import_(tmp_path / "x.jsonl")
        assert one.get("a").created_at_us is None
        hit = one.recall("weather", profile="temporal")[0]
        assert (hit.terms["date_missing"], hit.created_at) == (True, None)
        assert one.update("a", text="weather report").created_at_us is None


def test_imports_are_cleaned_of_secrets(opened: Open, tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "a1B2c3"
    (tmp_path / "x.jsonl").write_text(
        json.dumps({"id": "a", "text": f"token {secret}", "type": "note", "collection": "notes"})
    )
    with opened("one") as one:
        one.import_(tmp_path / "x.jsonl")
        assert secret not in one.get("a").text


FINE = {"id": "a", "text": "t", "type": "note", "collection": "notes"}


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", ":2"), ("3", ":2"), ("[]", ":2"), (json.dumps({"text": "only"}), "id"), (json.dumps(FINE | {"text": None}), "text"),
        (json.dumps(FINE | {"id": ""}), "id"), (json.dumps(FINE | {"tags": "x"}), "tags"), (json.dumps(FINE | {"created_at": "soon"}), "soon"),
        (json.dumps(FINE | {"metadata": [1]}), "metadata"), (json.dumps(FINE | {"pinned": "yes"}), "pinned"),
    ],
)  # fmt: skip
def test_a_line_that_is_no_record_is_named(opened: Open, tmp_path: Path, line: str, says: str) -> None:
    (tmp_path / "x.jsonl").write_text(json.dumps(FINE) + "\n" + line + "\n")
    with opened("one") as one, pytest.raises(InvalidArgument, match=says):
        one.import_(tmp_path / "x.jsonl")


def test_files_that_cannot_be_read(opened: Open, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and nothing more")
    pq.write_table(pa.table({"text": ["x"]}), tmp_path / "other.parquet")
    with opened("one") as one:
        for name, error in (
            ("absent", IngestError),
            ("broken.parquet", IngestError),
            ("other.parquet", InvalidArgument),
        ):
            with pytest.raises(error):
                one.import_(tmp_path / name)
        (tmp_path / "empty.jsonl").write_text("")
        assert one.import_(tmp_path / "empty.jsonl") == []
        with pytest.raises(InvalidArgument, match="jsonl, parquet"):
            one.export(tmp_path / "x", "xml")  # type: ignore[arg-type]
        with pytest.raises(InvalidArgument, match="nowhere"):
            one.export(tmp_path / "nowhere" / "x")
        assert one.stats()["rows"] == 0


def test_an_empty_vault_is_carried_over_too(opened: Open, tmp_path: Path) -> None:
    with opened("one") as one:
        for format_ in ("jsonl", "parquet"):
            assert one.export(tmp_path / format_, format_) == 0
            assert one.import_(tmp_path / format_) == []


AWKWARD: list[dict[str, Any]] = [
    {
        "id": "ünï/1 \u2028", "text": "naïve 日本 \u0000 🎉\r\nline", "title": "ti\ttle", "tags": ["a", "ü"],
        "created_at": "0001-01-01", "metadata": {"n": {"deep": [None, 1, 1.5, True, {"z": "é"}]}, "big": 2**60, "none": {}},
    },
    {"id": "long", "text": "x" * 100_000, "success": False, "agent": "me", "created_at": "9999-12-31T23:59:59.999999Z"},
    *({"id": name, "text": f"{name} text", "project": "p"} for name in ("edited", "wrong", "pinned", "asleep", "old")),
]  # fmt: skip


@pytest.mark.parametrize("format_", ["jsonl", "parquet"])
def test_awkward_values_and_every_state_are_carried_over_byte_for_byte(
    opened: Open, tmp_path: Path, format_: str
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    with opened("one") as one, opened("two") as two:
        one.add(AWKWARD)
        one.update("edited", text="edited text anew")
        one.invalidate("wrong", "it was")
        one.pin("pinned")
        one.snooze("asleep", "2099-01-01")
        assert one.archive(where={"title": "ti\ttle"}, after_days=1, dry_run=False).chunks == 1
        assert one.export(first, format_) == len(AWKWARD)  # type: ignore[arg-type]
        two.import_(first)
        two.export(second, format_)  # type: ignore[arg-type]
        assert second.read_bytes() == first.read_bytes()
        assert two.stats()["status"] == {**one.stats()["status"], "superseded": 0}
        assert two.get("ünï/1 \u2028").metadata == AWKWARD[0]["metadata"]


def test_links_and_facts_are_carried_over_after_their_chunks(opened: Open, tmp_path: Path) -> None:
    with opened("one") as one, opened("two") as two:
        ids = one.add(records(20))
        one.link(ids[0], ids[1], "causal", weight=0.3, note="nöte", created_at="2025-01-01")
        one.link(ids[2], ids[3], "related")
        one.build_links(kinds=["temporal"])
        one.facts.add("Keystone", "port", "7411", source=ids[0], valid_from="2026-01-01")
        counts = {}
        for format_ in ("jsonl", "links", "facts"):
            counts[format_] = one.export(tmp_path / f"1.{format_}", format_)
            two.import_(tmp_path / f"1.{format_}")
            two.export(tmp_path / f"2.{format_}", format_)
            assert (tmp_path / f"2.{format_}").read_bytes() == (tmp_path / f"1.{format_}").read_bytes(), format_
        assert counts["links"] > 2
        said = [[{**link.to_dict(), "recorded_at": None} for link in vault.links(ids[0])] for vault in (one, two)]
        assert said[0] == said[1]
        before = two.stats()["snapshot"]
        assert two.import_(tmp_path / "1.links") == []
        assert two.stats()["snapshot"] == before, "a second time changes nothing"
        with pytest.raises(InvalidArgument, match="all links"):
            one.export(tmp_path / "x", "links", where={"project": "p"})


def test_links_of_forgotten_chunks_are_not_exported_and_bad_lines_are_named(opened: Open, tmp_path: Path) -> None:
    with opened("one") as one, opened("two") as two:
        ids = one.add(records(4))
        assert one.export(tmp_path / "none", "links") == 0
        one.link(ids[0], ids[1], "causal")
        one.link(ids[1], ids[2], "causal")
        one.forget(ids[0], dry_run=False)
        assert one.export(tmp_path / "x", "links") == 1
        with pytest.raises(lamina.ChunkNotFound):
            two.import_(tmp_path / "x")
        with (tmp_path / "x").open("a") as file:
            file.write('{"record": "link", "source": "a"}\n')
        with pytest.raises(InvalidArgument, match=":2 is not a link"):
            one.import_(tmp_path / "x")


def test_a_line_that_is_not_utf_8_is_named(opened: Open, tmp_path: Path) -> None:
    chunk = json.dumps(FINE).encode() + b"\n"
    link = b'{"record": "link", "source": "a", "target": "b", "relation": "causal", "weight": 1.0, "origin": "user"}\n'
    (tmp_path / "chunks").write_bytes(chunk + chunk.replace(b'"t"', b'"\xff"'))
    (tmp_path / "links").write_bytes(link + link.replace(b'"causal"', b'"\xff"'))
    with opened("one") as one:
        one.add([{"id": name, "text": name} for name in "ab"])
        with pytest.raises(InvalidArgument, match="chunks:2 is not a record"):
            one.import_(tmp_path / "chunks")
        with pytest.raises(InvalidArgument, match="links:2 is not a link"):
            one.import_(tmp_path / "links")

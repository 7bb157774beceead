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


def records_of(path: Path) -> list[dict[str, Any]]:
    """Return the records of an export without what says when and where it was made."""
    import pyarrow.parquet as pq

    if path.read_bytes()[:4] == b"PAR1":
        found = pq.read_table(path).to_pylist()
    else:
        found = [json.loads(line) for line in path.read_text().split("\n") if line]
    return [{**record, "recorded_at": None} for record in found if record.get("record") != "export"]


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
        assert records_of(second) == records_of(first)
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
    got = [record for record in records_of(tmp_path / "x.jsonl") if "record" not in record]
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
        assert records_of(second) == records_of(first)
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
            assert records_of(tmp_path / f"2.{format_}") == records_of(tmp_path / f"1.{format_}"), format_
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
        with pytest.raises(InvalidArgument, match=":2 is not a record"):
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
        with pytest.raises(InvalidArgument, match="links:2 is not a record"):
            one.import_(tmp_path / "links")


# ---------------------------------------------------------------------- everything in one file


def everything(vault: Vault, folder: Path) -> None:
    """Fill a vault with something of each kind."""
    notes = folder / "notes"
    notes.mkdir()
    for i in range(40):
        text = f"# Note {i}\n\nThe {('pool', 'cache', 'queue', 'index')[i % 4]} of service {i} was mended, see [[Note {i // 2}]].\n"
        (notes / f"n{i}.md").write_text(text)
    vault.ingest(notes)
    (notes / "n39.md").unlink()
    vault.ingest(notes)
    vault.update(vault.add([*records(30), {"text": "the words of old"}])[-1], text="a former version stays behind")
    first, second, *rest = [chunk.id for chunk in vault.list(limit=None)]
    vault.link(first, second, "causal", note="because")
    vault.invalidate(first, "wrong at first")
    vault.restore(first, "right again")
    vault.invalidate(second, "wrong port")
    vault.pin(rest[0])
    vault.snooze(rest[1], "2099-01-01")
    vault.review(rest[2], "ask Anna")
    vault.facts.alias("Keystone", vault.facts.add("Keystone API", "port", "7411", source=rest[3]).subject)
    vault.facts.add("Anna", "works_on", "Keystone API", valid_from="2025-01-01", valid_to="2026-01-01")
    vault.freshness()
    vault.cluster(min_cluster_size=3, threshold=1.0)


@pytest.mark.parametrize("name", ["x.jsonl", "x.parquet"])
def test_one_export_holds_everything_and_ingesting_the_folder_finds_nothing_new(
    opened: Open, tmp_path: Path, name: str
) -> None:
    # findings, stranger 12; acceptance of issue: content equal, which leaves out versions, sizes and files
    with opened("one") as one, opened("two") as two:
        everything(one, tmp_path)
        one.export(tmp_path / name)
        two.import_(tmp_path / name)
        ref, got = one.content(), two.content()
        assert got == ref
        assert ref["topics"] > 0
        assert ref["sources"] == 39
        for chunk in one.list({"status": {"in": ["active", "invalidated"]}}, limit=None):
            mine, theirs = ({**vault.get(chunk.id).to_dict(), "recorded_at": 0, "row": 0} for vault in (one, two))
            assert theirs == mine
            history = [
                [
                    (event.kind, event.reason)
                    for event in vault.history(chunk.id)
                    if event.kind not in ("add", "version", "updated")
                ]
                for vault in (one, two)
            ]
            assert history[1] == history[0]
        assert [fact.to_dict() | {"recorded_at": 0} for fact in two.facts.about("Anna")] == [
            fact.to_dict() | {"recorded_at": 0} for fact in one.facts.about("Anna")
        ]
        assert [(topic.id, topic.name, topic.size) for topic in two.topics()] == [
            (topic.id, topic.name, topic.size) for topic in one.topics()
        ]
        again = two.ingest(tmp_path / "notes")
        assert (again.added, again.updated, again.unchanged) == (0, 0, 39)
        assert two.content() == ref
        before = two.stats()["snapshot"]
        two.import_(tmp_path / name)
        one.import_(tmp_path / name)
        assert two.stats()["snapshot"] == before
        two.export(tmp_path / f"again-{name}")
        assert len(records_of(tmp_path / f"again-{name}")) == len(records_of(tmp_path / name))


@pytest.mark.parametrize("elsewhere", [False, True])
def test_forgotten_chunks_come_back_only_when_told(opened: Open, tmp_path: Path, elsewhere: bool) -> None:
    with opened("one") as one, opened("two") as two:
        one.add([{"id": name, "text": f"text {name}"} for name in "abc"])
        one.link("a", "b", "causal")
        one.export(tmp_path / "old.jsonl")
        vault = two if elsewhere else one
        vault.import_(tmp_path / "old.jsonl")
        vault.forget("a", dry_run=False)
        vault.update("b", text="text b, edited")
        vault.import_(tmp_path / "old.jsonl")
        assert [chunk.id for chunk in vault.list({"status": "active"}, limit=None)] != []
        assert vault.stats()["chunks"] == 2
        assert vault.get("b").text == "text b, edited"
        one.add("text d", id="d")
        one.export(tmp_path / "newer.jsonl")  # of the vault that has "a" still, where it was forgotten elsewhere
        vault.import_(tmp_path / "newer.jsonl")
        assert sorted(chunk.id for chunk in vault.list(limit=None)) == ["b", "c", "d"]
        assert vault.get("b").text == "text b, edited"
        vault.import_(tmp_path / "old.jsonl", forgotten=True)
        assert sorted(chunk.id for chunk in vault.list(limit=None)) == ["a", "b", "c", "d"]
        assert vault.get("b").text == "text b, edited"


@pytest.mark.parametrize(
    ("name", "format_", "says"),
    [
        ("x.csv", None, "suffix '.csv', which is no format"),
        ("x.csv", "jsonl", r"'.csv', and format='jsonl' writes .jsonl"),
        ("x.parquet", "jsonl", "'.parquet', and format='jsonl'"),
        ("x.jsonl", "parquet", "'.jsonl', and format='parquet'"),
        ("x.json", None, "'.json', which is no format"),
        ("x.jsonl", "graph-json", "'.jsonl', and format='graph-json'"),
    ],
)
def test_a_suffix_of_another_format_is_refused(
    opened: Open, tmp_path: Path, name: str, format_: Any, says: str
) -> None:  # findings, stranger 12
    with opened("one") as one:
        with pytest.raises(InvalidArgument, match=says):
            one.export(tmp_path / name, format_)
        assert not (tmp_path / name).exists()


HEAD = {"record": "export", "vault": "v", "until_us": 5}


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ([HEAD | {"until_us": "x"}], "until_us"),
        ([{"record": "spell"}], "spell"),
        ([FINE | {"events": [{"kind": "forget"}]}], "event 'forget'"),
        ([FINE | {"events": [{"kind": "snooze", "detail": {"until_us": "soon"}}]}], "'soon'"),
        ([FINE | {"recorded_at": "never"}, HEAD], None),
        ([HEAD, FINE | {"recorded_at": "never"}], "recorded_at='never'"),
        ([{"record": "source", "source": "a", "root": "/r", "state": "gone"}], "state|digest"),
        ([{"record": "clustering", "detail": {}}], "clustering"),
        ([{"record": "member", "topic": "t", "chunk": "c", "probability": "x", "origin": "tree"}], "probability"),
    ],
)
def test_damaged_records_are_typed_errors(
    opened: Open, tmp_path: Path, lines: list[dict[str, Any]], says: str | None
) -> None:
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with opened("one") as one:
        if says is None:
            one.import_(tmp_path / "x.jsonl")
        else:
            with pytest.raises(InvalidArgument, match=says):
                one.import_(tmp_path / "x.jsonl")
        assert one.verify().ok


def test_an_export_cut_short_is_read_up_to_there_and_can_be_read_again(opened: Open, tmp_path: Path) -> None:
    with opened("one") as one, opened("two") as two:
        one.add(records(30))
        one.export(tmp_path / "x.jsonl")
        whole = (tmp_path / "x.jsonl").read_bytes()
        (tmp_path / "cut.jsonl").write_bytes(whole[: len(whole) * 2 // 3])
        with pytest.raises(InvalidArgument, match="is not a record"):
            two.import_(tmp_path / "cut.jsonl")
        assert len(two.import_(tmp_path / "x.jsonl")) == 30
        assert two.stats()["chunks"] == one.stats()["chunks"]


def test_every_column_of_the_logs_has_its_place_in_an_export() -> None:
    from lamina_engine import schema
    from lamina_engine.graph.transfer import LinkLine
    from lamina_engine.transfer import records as kinds

    placed = {"recorded_at", "row", "chunk", "generation", "previous", "active"}
    pairs: tuple[tuple[str, Any], ...] = (
        ("chunks", kinds.Exported), ("sources", kinds.SourceLine), ("links", LinkLine), ("topics", kinds.TopicLine),
        ("members", kinds.MemberLine), ("freshness", kinds.Scan), ("origins", kinds.FileOrigin),
    )  # fmt: skip
    for log, kind in pairs:
        left = {column.name for column in schema.LOGS[log]} - set(kind.__struct_fields__) - placed
        assert left == set(), f"{log} has columns that no export holds"

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from lamina_engine.errors import IngestError, InvalidArgument
from lamina_engine.evaluation.jsonlines import load_json_lines

RECORD = '{"kind": "record", "id": "a", "text": "one", "project": "p", "colour": "red"}'
QUERY = '{"kind": "query", "text": "which?", "gold": ["a", "a"], "category": "c", "where": {"project": "p"}}'


def write(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_one_file_with_both_kinds(tmp_path: Path) -> None:
    got = load_json_lines(write(tmp_path / "mine.jsonl", RECORD, "", QUERY, '{"kind":"query","text":"b","gold":"a"}'))
    assert got.name == "mine"
    assert got.records == [{"id": "a", "text": "one", "project": "p", "colour": "red"}]
    first, second = got.queries
    assert (first.text, first.gold, first.category, first.where) == ("which?", ("a",), "c", {"project": "p"})
    assert (second.gold, second.category, second.where) == (("a",), "all", None)
    assert got.problems == ()


def test_a_folder_needs_no_kinds(tmp_path: Path) -> None:
    write(tmp_path / "records.jsonl", '{"id": "a", "text": "one"}', RECORD.replace('"a"', '"b"'))
    write(tmp_path / "queries.jsonl", '{"text": "which?", "gold": []}', QUERY)
    got = load_json_lines(tmp_path)
    assert got.name == tmp_path.name
    assert [record["id"] for record in got.records] == ["a", "b"]
    assert [query.gold for query in got.queries] == [(), ("a",)]


def test_queries_alone_label_what_a_vault_holds(tmp_path: Path) -> None:
    write(tmp_path / "queries.jsonl", '{"text": "which?", "gold": ["in the vault"]}')
    got = load_json_lines(tmp_path)
    assert (got.records, got.problems) == ([], ())


def test_gold_that_names_no_record_stays_a_miss_and_is_reported(tmp_path: Path) -> None:
    got = load_json_lines(write(tmp_path / "a.jsonl", RECORD, QUERY.replace('["a", "a"]', '["a", "z"]')))
    assert got.queries[0].gold == ("a", "z")
    assert got.problem_counts() == {"gold_unknown": 1}


def test_line_separators_inside_strings_and_a_byte_order_mark_are_text(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    record = json.dumps({"kind": "record", "id": "a", "text": "one\u2028two"}, ensure_ascii=False)
    path.write_bytes(b"\xef\xbb\xbf" + record.encode() + b"\r\n" + QUERY.encode())
    assert load_json_lines(path).records[0]["text"] == "one\u2028two"


def test_gzip_is_read_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(f"{RECORD}\n{QUERY}\n".encode()))
    got = load_json_lines(path)
    assert (got.name, len(got.records), len(got.queries)) == ("a", 1, 1)
    path.write_bytes(b"not gzip")
    with pytest.raises(IngestError):
        load_json_lines(path)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[1]", "list"),
        ('{"text": "no kind"}', '"kind" is None'),
        ('{"kind": "note", "text": "x"}', "'note'"),
        ('{"kind": "record", "text": "x"}', '"id" is None'),
        ('{"kind": "record", "id": 3, "text": "x"}', '"id" is 3'),
        ('{"kind": "record", "id": "b"}', '"text" is None'),
        ('{"kind": "record", "id": "b", "text": "  "}', '"text" is'),
        (RECORD, r"already given at .*set\.jsonl:1"),
        ('{"kind": "query", "text": "q"}', '"gold" is None'),
        ('{"kind": "query", "text": "q", "gold": [1]}', '"gold" is'),
        ('{"kind": "query", "text": "q", "gold": [""]}', '"gold" is'),
        ('{"kind": "query", "text": "", "gold": []}', '"text" is'),
        ('{"kind": "query", "text": "q", "gold": [], "category": 4}', '"category" is 4'),
        ('{"kind": "query", "text": "q", "gold": [], "where": "p"}', '"where" is'),
    ],
)
def test_a_faulty_line_is_named(tmp_path: Path, line: str, said: str) -> None:
    path = write(tmp_path / "set.jsonl", RECORD, "", line, QUERY)
    with pytest.raises(InvalidArgument, match=rf"(?s)set\.jsonl:3: .*{said}"):
        load_json_lines(path)


def test_bytes_that_are_no_text_are_named(tmp_path: Path) -> None:
    path = tmp_path / "set.jsonl"
    path.write_bytes(RECORD.encode() + b'\n{"kind": "\xff"}')
    with pytest.raises(InvalidArgument, match=r"set\.jsonl:2: "):
        load_json_lines(path)


def test_a_kind_against_its_file_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "queries.jsonl", RECORD)
    with pytest.raises(InvalidArgument, match=r"queries\.jsonl:1: "):
        load_json_lines(tmp_path)


def test_a_set_needs_a_query(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="no query"):
        load_json_lines(write(tmp_path / "a.jsonl", RECORD))
    with pytest.raises(InvalidArgument, match="no query"):
        load_json_lines(write(tmp_path / "b.jsonl", ""))
    with pytest.raises(IngestError, match="missing"):
        load_json_lines(tmp_path / "missing.jsonl")
    with pytest.raises(IngestError, match=r"queries\.jsonl"):
        load_json_lines(tmp_path)

""""""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from lamina_engine.errors import IngestError, InvalidArgument
from lamina_engine.evaluation import load_set
from lamina_engine.evaluation.reader import load_json_lines

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


LOCOMO = {
    "sample_id": "s",
    "conversation": {"session_1": [{"speaker": "A", "dia_id": "D1:1", "text": "x"}]},
    "qa": [{"question": "q", "evidence": ["D1:1"], "category": 2}],
}
HOTPOT = {"question": "q", "supporting_facts": [["T", 0]]}
LINES = '{"kind": "record", "id": "a", "text": "x"}\n{"kind": "query", "text": "q", "gold": ["a"]}\n'


def locomo(folder: Path) -> Path:
    path = folder / "dialogues.json"
    path.write_text(json.dumps([LOCOMO]))
    return path


def hotpot(folder: Path) -> Path:
    (folder / "multi_corpus.json").write_text(json.dumps({"T": ["x"]}))
    path = folder / "multi.json"
    path.write_text(json.dumps([HOTPOT]))
    return path


def lines(folder: Path) -> Path:
    path = folder / "plain.jsonl"
    path.write_text(LINES)
    return path


@pytest.mark.parametrize(("form", "gold"), [(locomo, "s/D1:1"), (hotpot, "multi/0"), (lines, "a")])
def test_each_form_by_file_and_by_folder(tmp_path: Path, form: object, gold: str) -> None:
    assert callable(form)
    path = Path(str(form(tmp_path)))
    (tmp_path / "README.md").write_text("about")
    by_file, by_folder, by_name = load_set(path), load_set(tmp_path), load_set(str(path))
    assert by_file == by_folder == by_name
    assert by_file.queries[0].gold == (gold,)


def test_a_corpus_stands_for_its_questions(tmp_path: Path) -> None:
    questions = hotpot(tmp_path)
    assert load_set(tmp_path / "multi_corpus.json") == load_set(questions)


def test_one_dialogue_need_not_be_in_a_list(tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text(json.dumps(LOCOMO))
    assert load_set(tmp_path).queries[0].category == "temporal"


def test_a_folder_with_queries_is_json_lines_whatever_else_is_there(tmp_path: Path) -> None:
    locomo(tmp_path)
    (tmp_path / "queries.jsonl").write_text('{"text": "q", "gold": ["a"]}')
    assert load_set(tmp_path).queries[0].gold == ("a",)


def test_a_folder_with_no_set_or_two_names_what_it_holds(tmp_path: Path) -> None:
    with pytest.raises(IngestError, match="holds none"):
        load_set(tmp_path)
    locomo(tmp_path)
    lines(tmp_path)
    with pytest.raises(IngestError, match=r"dialogues\.json, plain\.jsonl"):
        load_set(tmp_path)


@pytest.mark.parametrize("content", ["[]", "{}", '[{"question": "q"}]', "3"])
def test_other_json_is_refused_with_the_known_forms(tmp_path: Path, content: str) -> None:
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(InvalidArgument, match=r"(?s)LoCoMo.*HotpotQA.*JSON lines"):
        load_set(tmp_path / "x.json")


def test_broken_and_missing_files(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"a": 1}\n{"a": 2}')
    with pytest.raises(InvalidArgument, match=r"\.jsonl"):
        load_set(tmp_path / "x.json")
    with pytest.raises(IngestError, match="does not exist"):
        load_set(tmp_path / "y.json")

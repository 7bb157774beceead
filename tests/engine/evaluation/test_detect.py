from __future__ import annotations

import json
from pathlib import Path

import pytest

from lamina_engine.errors import IngestError, InvalidArgument
from lamina_engine.evaluation import load_set

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

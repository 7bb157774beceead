from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from lamina_engine.errors import IngestError, InvalidArgument
from lamina_engine.evaluation.hotpot import is_hotpot, load_hotpot, questions_file
from lamina_engine.evaluation.sets import read_json

DEV = Path(__file__).parents[3].parent / "shared" / "data" / "multihop-dev" / "hotpotqa_train.json.gz"
QUESTION: dict[str, object] = {
    "question": "If Gallu is a demon Lilu is what?",
    "supporting_facts": [["Alû", 3], ["Lilu", 0], ["Alû", 1]],
}


def load(folder: Path, corpus: Any, *, questions: Any = (QUESTION,), zipped: bool = False) -> Any:
    data = json.dumps(corpus).encode()
    if zipped:
        (folder / "set_corpus.json.gz").write_bytes(gzip.compress(data))
    else:
        (folder / "set_corpus.json").write_bytes(data)
    return load_hotpot(folder / "set.json", list(questions))


def test_gold_are_the_passages_with_a_supporting_title(tmp_path: Path) -> None:
    got = load(tmp_path, {"Lilu": ["A spirit.", " Masculine."], "Other": ["x"], "Alû": ["A demon."]})
    assert got.name == "set"
    assert got.records[0] == {
        "id": "set/0",
        "title": "Lilu",
        "text": "A spirit. Masculine.",
        "collection": "passages",
    }
    assert got.queries[0].gold == ("set/2", "set/0")
    assert got.queries[0].where is None
    assert got.problems == ()


@pytest.mark.parametrize("zipped", [False, True])
def test_a_corpus_may_be_a_list_with_repeated_titles(tmp_path: Path, zipped: bool) -> None:
    corpus = [{"title": "Alû", "text": "one"}, {"title": "Alû", "text": "two"}, {"title": "Lilu", "text": ""}]
    got = load(tmp_path, corpus, zipped=zipped)
    assert got.queries[0].gold == ("set/0", "set/1", "set/2")
    assert got.records[2]["text"] == "Lilu"


def test_a_title_without_a_passage_is_reported(tmp_path: Path) -> None:
    got = load(tmp_path, {"Alû": ["A demon."]})
    assert got.queries[0].gold == ("set/0",)
    assert [(problem.code, "'Lilu'" in problem.message) for problem in got.problems] == [("gold_unknown", True)]


@pytest.mark.parametrize("corpus", ["text", [1], [{"title": "t"}], {"t": 3}])
def test_a_corpus_of_another_form_is_refused(tmp_path: Path, corpus: Any) -> None:
    with pytest.raises(InvalidArgument, match="set_corpus"):
        load(tmp_path, corpus)


@pytest.mark.parametrize("changes", [{"question": 3}, {"supporting_facts": "Alû"}, {"supporting_facts": [[]]}])
def test_a_question_of_another_form_is_refused(tmp_path: Path, changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument, match="supporting_facts"):
        load(tmp_path, {"Alû": ["A demon."]}, questions=[{**QUESTION, **changes}])


def test_without_a_corpus_the_message_names_the_file_wanted(tmp_path: Path) -> None:
    with pytest.raises(IngestError, match=r"set_corpus\.json"):
        load_hotpot(tmp_path / "set.json", [QUESTION])


def test_questions_are_found_from_their_corpus(tmp_path: Path) -> None:
    (tmp_path / "set.json.gz").touch()
    assert questions_file(tmp_path / "set_corpus.json") == tmp_path / "set.json.gz"
    assert questions_file(tmp_path / "set.json.gz") is None


@pytest.mark.parametrize("document", [[], {}, [1], [{"question": "q"}]])
def test_is_hotpot_wants_questions_with_supporting_facts(document: object) -> None:
    assert not is_hotpot(document)


@pytest.mark.skipif(not DEV.is_file(), reason="the HotpotQA dev questions are not beside the project")
def test_the_dev_questions() -> None:
    document = read_json(DEV)
    assert is_hotpot(document)
    got = load_hotpot(DEV, document)
    assert (got.name, len(got.records), len(got.queries), got.problems) == ("hotpotqa_train", 994, 100, ())
    assert all(len(query.gold) == 2 for query in got.queries)
    assert {query.category for query in got.queries} == {"bridge", "comparison"}

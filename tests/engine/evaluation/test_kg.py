from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from lamina_engine.errors import InvalidArgument
from lamina_engine.evaluation.kg import (
    METHODS,
    WORLDS,
    Outcome,
    Question,
    QuestionSet,
    World,
    evaluate_kg,
    fill,
    load_questions,
    load_world,
)
from lamina_engine.memory import Memory

COUNTS = {"PEOPLE": 10, "TOOLS": 10, "PROJECTS": 10, "FACTS": 10, "OPERATIONAL": 10, "IDENTITY": 5, "DAILY": 5}
BUILT_WITH = WORLDS[:-1]


@pytest.fixture(scope="module", params=BUILT_WITH)
def filled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[World, Memory]]:
    world = load_world(request.param)
    folder = tmp_path_factory.mktemp(request.param)
    world.write(folder)
    memory = Memory(folder / "vault", create=True)
    fill(memory, folder)
    yield world, memory
    memory.close()


@pytest.fixture
def memory_of_nothing(tmp_path: Path) -> Iterator[Memory]:
    memory = Memory(tmp_path / "vault", create=True)
    yield memory
    memory.close()


def test_hybrid_and_facts_reach_their_share(filled: tuple[World, Memory]) -> None:
    world, memory = filled
    hybrid, facts = (evaluate_kg(memory, world.question_set, method) for method in ("hybrid", "facts"))
    assert sum(outcome.passed for outcome in hybrid.answerable) >= 58, hybrid.table(verbose=True)
    assert facts.claimed >= 50, facts.table(verbose=True)  # not only found: said to be answers
    for report in (hybrid, facts):
        assert report.abstained_pct >= 95.0, report.table(verbose=True)
        # findings, seeds-a "smaller": the file alone cannot show a regression short of a broken parser
        assert report.right_pct is not None
        assert report.right_pct >= 95.0, [(o.question.query, o.answer) for o in report.judged if not o.is_right]


def test_words_alone_are_reported(filled: tuple[World, Memory]) -> None:
    world, memory = filled
    report = evaluate_kg(memory, world.question_set, "lexical", category="projects")
    assert len(report.outcomes) == 10
    assert "PROJECTS" in report.table(verbose=True)


def test_the_report_as_json(filled: tuple[World, Memory]) -> None:
    world, memory = filled
    document = evaluate_kg(memory, world.question_set, "facts").to_dict("2026-03-01T00:00:00Z")
    assert json.loads(json.dumps(document)) == document
    assert set(document) == {"timestamp", "config", "summary", "unanswerable", "categories", "queries"}
    assert document["config"] == {"top_k": 6, "total_queries": 80, "method": "facts", "set": world.question_set.name}
    assert set(document["summary"]) == {"total", "pass", "fail", "error", "recall_pct", "claimed", "right_pct"}
    assert document["summary"]["total"] == 60
    assert {name: row["total"] for name, row in document["categories"].items()} == COUNTS | {"UNANSWERABLE": 20}
    assert set(document["queries"][0]) >= {"query", "expected", "category", "hit", "results_count", "result_paths"}


def test_what_passes() -> None:
    asked, nothing = Question("q", "Notes/B.md", "X"), Question("q", None, "X")
    assert Outcome(asked, ("a.md", "x/notes/b.md"), answered=True).verdict == "pass"
    assert Outcome(asked, ("a.md",), answered=True).verdict == "fail"
    assert Outcome(asked, (), answered=False).verdict == "error"
    assert Outcome(nothing, ("a.md",), answered=False).verdict == "pass"
    assert Outcome(nothing, ("a.md",), answered=True).verdict == "fail"


def test_a_file_of_many_words_scores_no_more_than_an_answer(tmp_path: Path) -> None:
    # the source system's root files got 10 for each word of the question: 120 against an answer's 95
    notes = tmp_path / "notes"
    notes.mkdir()
    question = "please tell me right now which port it is that the old Keystone machine runs on today"
    (notes / "root.md").write_text(f"# Root\n\n{question}\n\n{question}\n")
    (notes / "keystone.md").write_text("---\ntitle: Keystone\nport: 3055\n---\n\nA stone.\n")
    (tmp_path / "seed.toml").write_text("")
    memory = Memory(tmp_path / "vault", create=True)
    fill(memory, tmp_path)
    report = evaluate_kg(memory, QuestionSet("s", (Question(question, "keystone.md", "X"),)), "hybrid")
    assert report.outcomes[0].paths[0] == "keystone.md"
    memory.close()


@pytest.mark.parametrize("text", [
    '{"identity": "I am"}\n{"query": "a?", "expected": "a.md", "category": "X"}\n\n{"query": "b?", "expected": null}\n',
    '[{"identity": "I am"}, ["a?", "a.md", "X"], {"query": "b?", "expected": "", "category": "ALL"}]',
])  # fmt: skip
def test_questions_of_one_s_own(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text(text)
    assert load_questions(path) == QuestionSet(
        "mine", (Question("a?", "a.md", "X"), Question("b?", None, "ALL")), "I am"
    )


@pytest.mark.parametrize(
    "text", ['{"query": ""}', '{"query": 7, "expected": "a"}', "not json", '["a"]', '[["a", 7, "X"]]', "{"]
)
def test_what_is_no_question_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text(text)
    with pytest.raises(InvalidArgument):
        load_questions(path)


def test_unknown_methods_categories_and_worlds(memory_of_nothing: Memory) -> None:
    asked = QuestionSet("s", (Question("a?", "a.md", "X"),))
    for method, category in (("magic", None), ("facts", "Y")):
        with pytest.raises(InvalidArgument):
            evaluate_kg(memory_of_nothing, asked, method, category=category)
    with pytest.raises(InvalidArgument):
        load_world("elsewhere")
    assert {evaluate_kg(memory_of_nothing, asked, method).recall_pct for method in METHODS} == {0.0}

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from lamina_engine.errors import InvalidArgument
from lamina_engine.evaluation.kg import (
    CATEGORIES,
    METHODS,
    Outcome,
    Question,
    QuestionSet,
    evaluate_kg,
    fill,
    load_questions,
    questions_of,
)
from lamina_engine.evaluation.kgworlds import WORLDS, World, make_world
from lamina_engine.evaluation.kgworlds.making import HELD_OUT
from lamina_engine.memory import Memory

COUNTS = {"PEOPLE": 10, "TOOLS": 10, "PROJECTS": 10, "FACTS": 10, "OPERATIONAL": 10, "IDENTITY": 5, "DAILY": 5}
BUILT_WITH = [name for name in WORLDS if name != HELD_OUT]


@pytest.fixture(scope="module", params=BUILT_WITH)
def filled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[World, Memory]]:
    world = make_world(request.param)
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


@pytest.mark.parametrize("name", WORLDS)
def test_the_form_of_a_world(name: str) -> None:
    world = make_world(name)
    counts = Counter(asked.category for asked in world.questions)
    assert counts.pop("UNANSWERABLE") == 20
    assert counts == COUNTS
    assert list(COUNTS) == list(CATEGORIES)
    assert all(asked.expected in world.files for asked in world.questions if asked.expected is not None)
    assert 40 <= len(world.files) <= 60


@pytest.mark.parametrize("name", WORLDS)
def test_the_same_seed_gives_the_same_bytes_and_another_does_not(name: str) -> None:
    first, again, other = make_world(name), make_world(name), make_world(name, seed=1)
    assert (first.files, first.seed(), first.questions) == (again.files, again.seed(), again.questions)
    assert first.files != other.files


def test_worlds_share_no_names_and_the_held_out_one_no_phrasing() -> None:
    from lamina_engine.evaluation.kgworlds.places import SETTINGS
    from lamina_engine.evaluation.kgworlds.wording import QUESTIONS

    names = [{name for name, _ in s.people} | set(s.tools) | {name for name, _ in s.projects} for s in SETTINGS]
    assert not names[0] & names[1] | names[0] & names[2] | names[1] & names[2]
    shared = [kind for kind, (*others, held_out) in QUESTIONS.items() if held_out in others]
    assert shared == ["name"]  # there is one way to ask for one's name


def test_facts_come_in_all_three_forms() -> None:
    for name in WORLDS:
        world = make_world(name)
        texts = world.files.values()
        assert len(world.facts) > 30
        assert sum(text.count(":: ") for text in texts) > 30
        assert sum(len(note.front) for note in world.notes.values()) > 30


def test_hybrid_and_facts_reach_their_share(filled: tuple[World, Memory]) -> None:
    world, memory = filled
    hybrid, facts = (evaluate_kg(memory, questions_of(world), method) for method in ("hybrid", "facts"))
    assert sum(outcome.passed for outcome in hybrid.answerable) >= 58, hybrid.table(verbose=True)
    assert facts.claimed >= 50, facts.table(verbose=True)  # not only found: said to be answers
    for report in (hybrid, facts):
        assert report.abstained_pct >= 95.0, report.table(verbose=True)


def test_words_alone_are_reported(filled: tuple[World, Memory]) -> None:
    world, memory = filled
    report = evaluate_kg(memory, questions_of(world), "lexical", category="projects")
    assert len(report.outcomes) == 10
    assert "PROJECTS" in report.table(verbose=True)


def test_the_report_as_json(filled: tuple[World, Memory]) -> None:
    world, memory = filled
    document = evaluate_kg(memory, questions_of(world), "facts").to_dict("2026-03-01T00:00:00Z")
    assert json.loads(json.dumps(document)) == document
    assert set(document) == {"timestamp", "config", "summary", "unanswerable", "categories", "queries"}
    assert document["config"] == {"top_k": 6, "total_queries": 80, "method": "facts", "set": world.name}
    assert set(document["summary"]) == {"total", "pass", "fail", "error", "recall_pct", "claimed"}
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
        make_world("elsewhere")
    assert {evaluate_kg(memory_of_nothing, asked, method).recall_pct for method in METHODS} == {0.0}

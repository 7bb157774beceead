"""The generator of invented worlds: their form, their bytes, and that what ships is what it makes."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from bench.kgworlds.generator import WORLDS, make_world
from lamina_engine.errors import InvalidArgument
from lamina_engine.evaluation import kg

COUNTS = {"PEOPLE": 10, "TOOLS": 10, "PROJECTS": 10, "FACTS": 10, "OPERATIONAL": 10, "IDENTITY": 5, "DAILY": 5}


@pytest.mark.parametrize("name", WORLDS)
def test_the_form_of_a_world(name: str) -> None:
    world = make_world(name)
    counts = Counter(asked.category for asked in world.questions)
    assert counts.pop("UNANSWERABLE") == 20
    assert counts == COUNTS
    assert list(COUNTS) == list(kg.CATEGORIES)
    assert all(asked.expected in world.files for asked in world.questions if asked.expected is not None)
    assert 40 <= len(world.files) <= 60


@pytest.mark.parametrize("name", WORLDS)
def test_the_same_seed_gives_the_same_bytes_and_another_does_not(name: str) -> None:
    first, again, other = make_world(name), make_world(name), make_world(name, seed=1)
    assert (first.files, first.seed(), first.questions) == (again.files, again.seed(), again.questions)
    assert first.files != other.files


def test_worlds_share_no_names_and_the_held_out_one_no_phrasing() -> None:
    from bench.kgworlds.phrasing import QUESTIONS
    from bench.kgworlds.settings import SETTINGS

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


def test_the_generator_makes_what_ships() -> None:
    assert kg.WORLDS == WORLDS
    for name in WORLDS:
        shipped = json.loads(kg.world_path(name).read_bytes())
        values = [(question[1], question.pop()) for question in shipped["questions"] if len(question) == 4]
        assert shipped == make_world(name).document(), "but for the values that answers are judged by"
        assert len(values) > 30


def test_a_world_is_written_with_its_questions(tmp_path: Path) -> None:
    world = kg.load_world("orchard")
    world.write(tmp_path)
    assert kg.load_questions(tmp_path / "questions.jsonl").questions == world.question_set.questions
    assert {path.relative_to(tmp_path / "notes").as_posix() for path in (tmp_path / "notes").rglob("*.md")} == {
        *world.files
    }


def test_an_unknown_world_is_refused() -> None:
    with pytest.raises(InvalidArgument):
        make_world("elsewhere")

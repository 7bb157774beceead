from __future__ import annotations

import pytest

from lamina_engine.facts.log import write
from lamina_engine.facts.questions import ask
from lamina_engine.facts.schema import Draft
from lamina_engine.memory import Memory


@pytest.mark.parametrize(
    ("predicate", "question", "answer"),
    [
        ("mentor", "Who mentors Ann?", "Ben"),
        ("mentor", "Who is Ann's mentor?", "Ben"),
        ("mentor", "Who does Ben mentor?", "Ann"),
        ("mentor", "Who mentors Ben?", None),
        ("mentor", "Who does Ann mentor?", None),
        ("reports_to", "Who does Ann report to?", "Ben"),
        ("reports_to", "Who reports to Ben?", "Ann"),
        ("reports_to", "Who reports to Ann?", None),
        ("reports_to", "Who does Ben report to?", None),
        ("trained_by", "Who trained Ann?", "Ben"),
        ("trained_by", "Who did Ben train?", "Ann"),
        ("trained_by", "Who did Ann train?", None),
        ("sequel_of", "What is Ann a sequel of?", "Ben"),
        ("sequel_of", "What is the sequel of Ben?", "Ann"),
        ("sequel_of", "What is the sequel of Ann?", None),
        ("depends_on", "What does Ann depend on?", "Ben"),
        ("depends_on", "What depends on Ben?", "Ann"),
        ("depends_on", "What depends on Ann?", None),
    ],
)
def test_the_place_of_the_verb_says_which_end_is_asked_for(
    memory: Memory, predicate: str, question: str, answer: str | None
) -> None:
    write(memory, [Draft("Ann", predicate, "Ben", kind="entity")])
    found = ask(memory, question)
    assert [each.value for each in found if each.asked] == ([answer] if answer else [])
    assert found.answered is (answer is not None)


def test_a_question_of_the_past_is_not_one_of_what_is(memory: Memory) -> None:
    write(memory, [Draft("Ann", "salary", "61,000 euro"), Draft("Ann", "hobby", "sailing")])
    assert ask(memory, "What salary does Ann get?").answered
    for question in ("What salary did Ann ask for?", "What hobby did Ann give up?"):
        assert not ask(memory, question).answered, question

from __future__ import annotations

import pytest

from lamina_engine.facts.intents import (
    ADDED,
    SHIPPED,
    TABLE,
    Intent,
    Intents,
    intents_from,
    matches_predicate,
    standard,
    words_of,
)


def find_triggers(text: str) -> list[str]:
    return [intent.name for intent in standard().of(words_of(text))]


POSITIVE = [
    ("birthday", "When is Dana's birthday?"), ("birthday", "when was Dana born"), ("phone", "Dana's phone number"),
    ("phone", "How can I reach Dana?"), ("email", "What is Dana's e-mail?"), ("email", "Which mail address has she"),
    ("address", "Where does Dana live?"), ("birthplace", "Where was Dana born?"), ("birthplace", "Where is Dana from?"),
    ("relationship", "Who is Dana?"), ("partner", "Dana's husband"), ("url", "the website of Keystone"),
    ("stack", "What is Keystone built with?"), ("stack", "Which tech stack?"), ("runs_on", "What port does Keystone run on?"),
    ("runs_on", "Where is it hosted?"), ("role", "What does Dana do?"), ("role", "Dana's job"),
    ("full_name", "What is her real name?"), ("status", "What is the status of Keystone?"),
    ("timezone", "What time zone is Dana in?"), ("version", "Which version do we run?"), ("schedule", "How often does it run?"),
    ("cost", "How much is it?"), ("owner", "Who owns Keystone?"), ("location", "Where is the server?"),
]  # fmt: skip
TRAPS = [
    ("runs_on", "Who gives support?"), ("runs_on", "What is important here?"), ("phone", "I recall nothing"),
    ("full_name", "Can we rename it?"), ("address", "When do they deliver?"), ("stack", "Which houses are red?"),
    ("url", "What is the opposite of north?"), ("url", "curl the endpoint"), ("phone", "the number of lights"),
]  # fmt: skip


@pytest.mark.parametrize(("intent", "question"), POSITIVE)
def test_an_intent_is_shown(intent: str, question: str) -> None:
    assert intent in find_triggers(question)


@pytest.mark.parametrize(("intent", "question"), TRAPS)
def test_no_intent_is_shown_inside_words(intent: str, question: str) -> None:
    assert intent not in find_triggers(question)


def test_every_shipped_row_has_a_positive_and_every_row_its_own_name() -> None:
    assert {intent.name for intent in SHIPPED} <= {intent for intent, _ in POSITIVE}
    assert len(SHIPPED) >= 11
    names = [intent.name for intent in TABLE]
    assert len(names) == len(set(names))
    assert {"status", "timezone", "version", "schedule", "cost", "owner", "location"} <= {i.name for i in ADDED}


def test_every_trigger_of_the_table_shows_its_intent() -> None:
    for intent in TABLE:
        for trigger in intent.triggers:
            words = [word for word in trigger.replace("*", "somebody").split() if not word.startswith("!")]
            assert intent in standard().of(words), (intent.name, trigger)


def test_triggers_with_gaps_and_with_words_that_must_not_follow() -> None:
    table = Intents((Intent("a", ("where does * live",), ("x",)), Intent("b", ("number !of",), ("y",))))
    assert [i.name for i in table.of(words_of("where does old Dana Frost live now"))] == ["a"]
    assert table.of(words_of("where does live")) == []
    assert [i.name for i in table.of(words_of("her number"))] == ["b"]
    assert table.of(words_of("number of lights")) == []


def test_apostrophes_of_both_kinds_are_one() -> None:
    assert words_of("Who’s Dana’s boss?") == words_of("who's dana's boss")


def test_longer_predicates_answer_too_and_parts_of_words_do_not() -> None:
    phone = next(i for i in TABLE if i.name == "phone")
    assert matches_predicate(phone, "work_phone", inverse=False)
    assert not matches_predicate(phone, "microphone", inverse=False)
    assert not matches_predicate(phone, "phone", inverse=True)


def test_a_configuration_adds_rows_and_replaces_them() -> None:
    table = intents_from(
        {"mood": {"triggers": ["how is * doing"], "predicates": ["mood"]}, "phone": {"triggers": ["ring"]}}
    )
    assert [i.name for i in table.of(words_of("How is Dana doing?"))] == ["mood"]
    assert table.of(words_of("phone")) == []
    assert intents_from({}) is standard()

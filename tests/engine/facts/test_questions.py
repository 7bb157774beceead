from __future__ import annotations

import random
from contextlib import closing
from typing import Any

import pytest

from lamina_engine.clock import US_PER_DAY, parse_instant
from lamina_engine.errors import InvalidArgument
from lamina_engine.facts import questions
from lamina_engine.facts.entities import add_alias, add_entity, remove_alias
from lamina_engine.facts.intents import intents_from
from lamina_engine.facts.log import close, write
from lamina_engine.facts.questions import TIERS, AnswerSet, ask
from lamina_engine.facts.schema import Draft
from lamina_engine.memory import Memory


def say(memory: Memory, *facts: str, **options: object) -> None:
    """Write facts given as ``"subject | predicate | object"``; ``=> object`` for an entity."""
    drafts = []
    for fact in facts:
        subject, predicate, value = (part.strip() for part in fact.split("|"))
        kind = "entity" if value.startswith("=>") else "auto"
        drafts.append(Draft(subject, predicate, value.removeprefix("=>").strip(), kind=kind, **options))  # type: ignore[arg-type]
    write(memory, drafts)


def found(answers: AnswerSet) -> list[tuple[float, str, str]]:
    return [(answer.score, answer.key, answer.value) for answer in answers]


@pytest.fixture
def harbor(memory: Memory) -> Memory:
    """The worked vector of the source system."""
    add_entity(memory, "Harbor Engine", "service", ["Harbor"])
    say(
        memory, "Harbor Engine | type | service", "Harbor Engine | stack | Rust", "Harbor Engine | runs_on | => port 4100",
        "Harbor Engine | uses | => SQLite", source="harbor.md",
    )  # fmt: skip
    return memory


@pytest.mark.parametrize("question", ["What port does Harbor run on?", "what port does harbor run on?"])
def test_the_worked_vector(harbor: Memory, question: str) -> None:
    answers = ask(harbor, question)
    assert [(a.score, a.method, a.predicate, a.object) for a in answers] == [
        (90.0, "entity+intent+rel", "runs_on", "port 4100"),
        (70.0, "entity", "stack", "Rust"),
        (70.0, "entity", "type", "service"),
        (65.0, "entity+rel", "uses", "SQLite"),
    ]
    assert {a.source for a in answers} == {"harbor.md"}
    assert answers.answered
    assert "runs_on" in answers.intents


def test_a_fact_that_was_asked_for_scores_95(harbor: Memory) -> None:
    assert found(ask(harbor, "What is the stack of Harbor?"))[0] == (95.0, "stack", "Rust")


def test_both_readings_of_the_phases_are_served(harbor: Memory) -> None:
    answers = ask(harbor, "What port does Harbor run on?", tiers="seed")
    assert found(answers) == [(95.0, "runs_on", "port 4100")]  # relations at 95, phase 2 only as a fallback
    assert [a.score for a in ask(harbor, "What colour has Harbor?", tiers="seed")] == [70.0, 70.0, 65.0, 65.0]
    assert (TIERS["shipped"].relation, TIERS["shipped"].others_always) == (90.0, True)


def test_an_inverse_is_found_from_the_other_end(memory: Memory) -> None:
    say(memory, "Dana Frost | owns | => Keystone", "Keystone | status | live")
    answers = ask(memory, "Who owns Keystone?")
    assert (answers[0].subject, answers[0].key, answers[0].value) == ("Dana Frost", "owned_by", "Dana Frost")
    assert (answers[0].score, answers.answered) == (90.0, True)
    assert ask(memory, "What does Dana Frost own?")[0].value == "Keystone"
    assert found(ask(memory, "who uses Keystone?"))[0][0] < 90


def test_who_uses_is_answered_by_what_names_it(harbor: Memory) -> None:
    assert found(ask(harbor, "who uses SQLite?"))[0] == (90.0, "used_by", "Harbor Engine")


def test_every_value_is_returned(memory: Memory) -> None:
    say(memory, "Dana | phone | 555-0101", "Dana | phone | 555-0202")
    assert {a.value for a in ask(memory, "Dana's phone number") if a.score == 95.0} == {"555-0101", "555-0202"}


def test_the_same_fact_twice_is_one_answer(memory: Memory) -> None:
    say(memory, "Dana | phone | 555-0101")
    say(memory, "Dana | phone | 555-0101")
    assert len(ask(memory, "Dana's phone")) == 1


@pytest.mark.parametrize("question", [
    "Dana's phone?", "Dana’s phone?", "phone of dana", "What's DANA's phone number?", "Dana' phone", "Call Dana!",
])  # fmt: skip
def test_possessives_case_and_apostrophes(memory: Memory, question: str) -> None:
    say(memory, "Dana | phone | 555-0101", "What | phone | 1", "Who | phone | 2")
    assert found(ask(memory, question))[0] == (95.0, "phone", "555-0101")


def test_names_of_two_words_win_over_their_first(memory: Memory) -> None:
    say(memory, "Dana | phone | 1", "Dana Frost | phone | 2")
    assert [a.value for a in ask(memory, "Dana Frost's phone")] == ["2"]


def test_short_for_is_owns_nothing(memory: Memory) -> None:
    say(memory, "Who | phone | 1", "It | phone | 2", "Keystone | owner | Dana")
    assert ask(memory, "who's the owner of Keystone").entities == ("Keystone",)
    assert ask(memory, "it's the owner of Keystone").entities == ("Keystone",)


def test_an_alias_inside_a_longer_word_is_none(memory: Memory) -> None:
    add_entity(memory, "Anna Bell", "person", ["Ann"])
    say(memory, "Anna Bell | phone | 1")
    assert ask(memory, "the annual phone list").entities == ()
    assert ask(memory, "the phone of ann").entities == ("Anna Bell",)


def test_an_alias_in_any_case_beyond_ascii(memory: Memory) -> None:
    add_entity(memory, "Élodie Ångström", "person", ["ÖMCHEN"])
    say(memory, "Élodie Ångström | phone | 1")
    for question in ("ömchen's phone", "phone of Ömchen", "ELODIE ANGSTROM phone", "élodie ångström’s phone"):
        assert found(ask(memory, question))[0] == (95.0, "phone", "1"), question
    remove_alias(memory, "ÖMCHEN")
    assert ask(memory, "ömchen's phone").entities == ()


def test_an_ambiguous_alias_gives_both_and_says_so(memory: Memory) -> None:
    add_entity(memory, "Zed Stone", "person", ["Ace"])
    add_entity(memory, "Abe Stone", "person", ["Ace"])
    say(memory, "Zed Stone | phone | 1", "Abe Stone | phone | 2")
    answers = ask(memory, "Ace's phone")
    assert {a.value for a in answers if a.score == 95.0} == {"1", "2"}
    assert answers.ambiguous
    assert all(a.ambiguous and a.resolution == "alias" for a in answers)


def test_a_name_is_not_hijacked_by_an_alias_of_another(memory: Memory) -> None:
    say(memory, "Mercury | phone | right", "Dana | phone | wrong")
    add_alias(memory, "Mercury", "Dana")
    answers = ask(memory, "phone of Mercury")
    assert [a.value for a in answers if a.score == 95.0] == ["right"]
    assert answers[0].resolution == "name"


def test_i_am_who_the_vault_says(memory: Memory) -> None:
    say(memory, "Lumen | principles | be plain", "Lumen | full_name | Lumen of the Bay")
    for question in ("Who am I?", "What are my principles?", "my name", "what do I care about?"):
        assert ask(memory, question).entities == ()
        assert ask(memory, question, identity="Lumen").entities == ("Lumen",), question
    assert list(ask(memory, "Who am I?")) == []
    assert found(ask(memory, "What are my principles?", identity="Lumen"))[0] == (95.0, "principles", "be plain")
    assert ask(memory, "Who is Dana?", identity="Lumen").entities == ()


def test_you_are_the_agent_and_i_am_its_user(memory: Memory) -> None:
    # findings, seeds-a table 3 row 14
    say(memory, "Pepper | role | assistant", "Lena | timezone | Europe/Berlin", "Lena | full_name | Lena Brandt")
    (memory.root / "vault.toml").write_text('[facts]\nidentity = "Pepper"\nuser = "Lena"\n')
    with closing(Memory(memory.root, mode="r", embedder="none")) as told:
        for question, entity, value in (
            ("my timezone", "Lena", "Europe/Berlin"), ("Who am I?", "Lena", None), ("Who are you?", "Pepper", None),
            ("What is your role?", "Pepper", "assistant"), ("what is my name", "Lena", "Lena Brandt"),
        ):  # fmt: skip
            answers = ask(told, question)
            assert (answers.entities, answers.answered) == ((entity,), True), question
            assert value is None or answers[0].value == value
        assert not ask(told, "Could you tell me what I should do now?").answered
        assert not ask(told, "What is your timezone?").answered
        assert ask(told, "my role", identity="Pepper").answered, "the caller says who asks"
    (memory.root / "vault.toml").write_text('[facts]\nidentity = "Pepper"\n')
    with closing(Memory(memory.root, mode="r", embedder="none")) as told:
        assert ask(told, "Who am I?").entities == ask(told, "Who are you?").entities == ("Pepper",)


def test_the_identity_of_the_configuration(memory: Memory) -> None:
    say(memory, "Lumen | principles | be plain")
    text = '[facts]\nidentity = "Lumen"\n[facts.intents.creed]\ntriggers = ["creed"]\npredicates = ["principles"]\n'
    (memory.root / "vault.toml").write_text(text)
    with_identity = Memory(memory.root, mode="r", embedder="none")
    assert found(ask(with_identity, "What is my creed?")) == [(95.0, "principles", "be plain")]
    with_identity.close()


def test_full_text_only_where_nothing_is_named(harbor: Memory) -> None:
    answers = ask(harbor, "is anything written with rust and sqlite databases")
    assert {a.method for a in answers} <= {
        "entity+rel",
        "entity+intent+rel",
        "entity",
        "entity+intent",
    }  # SQLite is named
    answers = ask(harbor, "anything with rust")
    assert [(a.score, a.method, a.object) for a in answers] == [(50.0, "fts", "Rust")]
    assert [(a.score, a.method) for a in ask(harbor, "something about 4100 ports")] == [(40.0, "fts_rel")]
    assert not ask(harbor, "anything with rust").answered


def test_full_text_goes_by_relevance_and_not_by_the_order_of_writing(memory: Memory) -> None:
    say(
        memory,
        "A1 | note | blue boats at sea",
        "B1 | note | red boats",
        "C1 | note | green boats at noon",
        "D1 | note | a red kite",
    )
    assert ask(memory, "which red boats")[0].subject == "B1"


def test_nothing_is_answered_about_names_that_nobody_has(harbor: Memory) -> None:
    for question in (
        "What port does Zorblax run on?",
        "What is Nessie's phone number?",
        "What is the capital of Peru?",
    ):
        answers = ask(harbor, question)
        assert all(a.score < 65 for a in answers)
        assert not answers.answered
    assert ask(harbor, "What port does Zorblax run on?").unknown == ("Zorblax",)


def test_what_is_not_said_of_a_known_thing_is_not_answered(harbor: Memory) -> None:
    for question in ("When is Harbor's birthday?", "What is the favourite colour of Harbor?", "How tall is Harbor?"):
        assert not ask(harbor, question).answered, question
    assert ask(harbor, "Tell me about Harbor").answered


def test_a_predicate_is_asked_for_by_its_own_words(memory: Memory) -> None:
    say(memory, "Nightly Job | shoe_size | 42", "Nightly Job | heartbeats | three")
    assert found(ask(memory, "which shoe size has the Nightly Job?"))[0] == (95.0, "shoe_size", "42")
    assert found(ask(memory, "heartbeat of Nightly Job"))[0] == (95.0, "heartbeats", "three")


def test_the_source_is_never_empty(memory: Memory) -> None:
    say(memory, "Dana | phone | 1", "Dana | friend_of | => Eve")
    assert all(a.source for a in ask(memory, "Dana"))
    assert all(a.source for a in ask(memory, "something with 1 phone"))


def test_answers_do_not_depend_on_the_order_of_writing(tmp_path_factory: pytest.TempPathFactory) -> None:
    facts = [f"Dana | {p} | {v}" for p in ("phone", "email", "likes", "notes") for v in ("x1", "x2", "x3")]
    seen = set()
    for seed in range(3):
        random.Random(seed).shuffle(facts)
        memory = Memory(tmp_path_factory.mktemp("v") / "vault", create=True, embedder="none")
        say(memory, *facts)
        seen.add(tuple(found(ask(memory, "Dana's phone", k=12))))
        memory.close()
    assert len(seen) == 1


def test_both_times(memory: Memory) -> None:
    march, june = parse_instant("2026-03-01"), parse_instant("2026-06-01")
    write(memory, [Draft("Keystone", "port", "3055", valid_from=march)])
    before = memory.clock.now_us()
    write(memory, [Draft("Keystone", "port", "4100", valid_from=june)])

    def port(**options: int) -> list[str]:
        return [a.value for a in ask(memory, "port of Keystone", **options) if a.score == 95.0]  # type: ignore[arg-type]

    assert port(valid_at_us=june - 1) == ["3055"]
    assert port(valid_at_us=june) == ["4100"]
    assert port(valid_at_us=march - 1) == []
    assert port(valid_at_us=june, as_of_us=before) in ([], ["3055"])


def test_what_was_closed_is_no_answer_any_more(memory: Memory) -> None:
    say(memory, "Dana | phone | 1")
    close(memory, "Dana", "phone")
    assert ask(memory, "Dana's phone", valid_at_us=memory.clock.now_us() + US_PER_DAY).answered is False


def test_near_names_only_where_asked(memory: Memory) -> None:
    say(memory, "Keystone | port | 3055")
    assert ask(memory, "the port of Keystnoe").entities == ()
    assert ask(memory, "the port of Keystones", fuzzy=True).entities == ("Keystone",)


def test_k_and_bad_arguments(memory: Memory) -> None:
    say(memory, *(f"Dana | likes | thing {i}" for i in range(9)))
    assert len(ask(memory, "Dana")) == 6
    assert len(ask(memory, "Dana", k=2)) == 2
    bad: list[dict[str, Any]] = [{"k": 0}, {"k": True}, {"k": "6"}, {"tiers": "other"}]
    for options in bad:
        with pytest.raises(InvalidArgument):
            ask(memory, "Dana", **options)
    with pytest.raises(InvalidArgument):
        ask(memory, 7)  # type: ignore[arg-type]


@pytest.mark.parametrize("question", ["", "?", "   ", "’s", "'", "a" * 5000, "\x00", "💥💥", "Who?", "X" * 300, "("])
def test_odd_questions_have_no_answer(memory: Memory, question: str) -> None:
    assert list(ask(memory, question)) == []
    say(memory, "Dana | phone | 1")
    assert not ask(memory, question).answered
    assert not ask(memory, question, fuzzy=True).answered


def test_another_table_of_intents(memory: Memory) -> None:
    say(memory, "Dana | mood | sunny")
    table = intents_from({"mood": {"triggers": ["how is * doing"], "predicates": ["mood"]}})
    assert found(ask(memory, "How is Dana doing?", intents=table)) == [(95.0, "mood", "sunny")]


def test_an_answer_as_json(memory: Memory) -> None:
    say(memory, "Dana | phone | 1")
    document: dict[str, Any] = ask(memory, "Dana's phone").to_dict()
    (answer,) = document["answers"]
    assert {"subject", "predicate", "object", "score", "method", "source", "resolution"} <= set(answer)
    assert (answer["object"], answer["valid_from"], document["answered"]) == ("1", None, True)


def test_of_what_very_much_points_at_only_what_is_asked_is_looked_at(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(questions, "_MANY_FACTS", 3)
    say(
        memory,
        "Python | version | 3.11",
        *(f"Project {i} | uses | => Python" for i in range(5)),
        "Dana | owns | => Python",
    )
    assert [a.value for a in ask(memory, "who owns Python?") if a.score == 90.0] == ["Dana"]
    assert len([a for a in ask(memory, "what uses Python?") if a.score == 90.0]) == 5
    assert found(ask(memory, "tell me about Python")) == [(70.0, "version", "3.11")]

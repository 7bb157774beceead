from __future__ import annotations

import pytest

from lamina_engine.errors import InvalidArgument
from lamina_engine.profiles import check_intent
from lamina_engine.recall.intent import classify


@pytest.mark.parametrize(
    ("question", "intent"),
    [
        ("why did we drop Redis", "why"),
        ("what caused the outage", "why"),
        ("which trade-off made us take gRPC instead of REST", "why"),
        ("how come the gate is closed", "why"),  # findings, seeds-a 001 row 30
        ("Warum ist das Tor zu?", "why"),
        ("Wieso nicht?", "why"),
        ("pourquoi la porte est-elle fermée", "why"),
        ("¿Por qué está cerrada la puerta?", "why"),
        ("perché è chiuso", "why"),
        ("por que está fechado", "why"),
        ("waarom is het dicht", "why"),
        ("почему закрыто", "why"),
        ("dlaczego zamknięte", "why"),
        ("varför är det stängt", "why"),
        ("kapı neden kapalı", "why"),
        ("なぜ閉まっているのか", "why"),
        ("为什么关着", "why"),
        ("왜 닫혀 있나요", "why"),
        ("what else supports the second plan", "why"),  # row 29
        ("which notes support the claim", "why"),
        ("was belegt die These", "why"),
        ("do you support IPv6", "what"),
        ("when was the cut-over", "when"),
        ("what happened 3 days ago", "when"),
        ("what did we change since March 2025", "when"),
        ("who owns billing", "entity"),
        ("everything about @dana", "entity"),
        ("which company runs the gateway", "entity"),
        ("postgres connection pool size", "what"),
        ("", "what"),
    ],
)
def test_questions_by_their_words(question: str, intent: str) -> None:
    assert classify(question) == intent


def test_ties_go_to_why_then_when_then_entity() -> None:
    assert classify("the reason and the date") == "why"
    assert classify("the date and the team") == "when"


def test_a_leading_question_word_decides() -> None:
    assert classify("who decided") == "entity"
    assert classify("when did the team meet") == "when"


@pytest.mark.parametrize(
    "question", ["unblockable update", "projectile speed", "a whole whoami", "became causal-ity", "e-mail to a@b"]
)
def test_parts_of_words_say_nothing(question: str) -> None:
    assert classify(question) == "what"


def test_a_given_intent_is_checked() -> None:
    assert check_intent("WHY") == "why"
    assert check_intent(None) is None
    for wrong in ("because", 3, ""):
        with pytest.raises(InvalidArgument, match="why, when, entity, what"):
            check_intent(wrong)

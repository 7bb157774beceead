"""German words of everyday in English, and English questions over German texts."""

from __future__ import annotations

import pytest

from lamina_engine.facts.asking import read_question
from lamina_engine.facts.german import in_english, in_german
from lamina_engine.facts.statements import sentences_of

PAGE = """Der Stall ist alt und liegt am Wald. Die Miete beträgt 310 Euro im Monat, und der Strom ist nicht dabei.

Seit März leitet Tove Ek den Chor. Ein voller Durchlauf dauert 6 Stunden und 20 Minuten, der Kurztest ist schneller.
Geplanter Marktstart ist der 1. Juni 2031. Der Hausmeister heißt Nils Ask und wohnt nebenan.
"""


@pytest.mark.parametrize(
    ("german", "english"),
    [
        ("Miete", "rent"),
        ("Garagenmiete", "garage rent"),
        ("Wohnungen", "flat"),
        ("vollen", "full"),
        ("Frau Maler", "Frau Maler"),
        ("seit", "since"),
        ("hof.maler.example", "hof.maler.example"),
        ("Xylofon", "Xylofon"),
    ],
)
def test_words_compounds_and_forms_are_read_in_english(german: str, english: str) -> None:
    assert in_english(german) == english


def test_an_english_word_has_its_german_ones() -> None:
    assert "miete" in in_german("rents")
    assert in_german("xylophone") == ()


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is the rent?", "310 Euro"),
        ("Who leads the choir?", "Tove Ek"),
        ("How long does a full run take?", "6 Stunden"),
        ("When is the planned market launch?", "1. Juni 2031"),
        ("Who is the caretaker?", "Nils Ask"),
    ],
)
def test_english_questions_are_answered_by_german_sentences_as_they_stand(question: str, answer: str) -> None:
    asking = read_question(question)
    assert asking is not None
    found = max(sentences_of(asking, PAGE, title="Stall"))[1].written
    assert answer in found
    assert found in PAGE.replace("\n", " ")


@pytest.mark.parametrize(
    "question", ["What is the deposit?", "Who leads the orchestra?", "When is the planned exhibition?"]
)
def test_what_a_german_text_does_not_say_is_not_answered(question: str) -> None:
    asking = read_question(question)
    assert asking is not None
    assert list(sentences_of(asking, PAGE, title="Stall")) == []

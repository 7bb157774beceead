"""Courtesy around a question: taken away at its ends, never from what is asked."""

from __future__ import annotations

import pytest

from lamina import Vault
from lamina_engine.profiles import BUILT_IN
from lamina_engine.recall.courtesy import strip_courtesy
from lamina_engine.recall.request import make_request


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        # findings, ranking: polite wrapping cost .082
        ("Hi! could you please tell me what broke the build? thanks a lot", "what broke the build?"),
        ("Hi, could you please tell me: What broke it? Thanks a lot!", "What broke it?"),
        ("could you please tell me what broke the build thanks a lot", "what broke the build"),
        ("Do you remember what we decided about sqlite", "what we decided about sqlite"),
        ("I was wondering if you could tell me how backups work, please", "how backups work"),
        ("Would you mind telling me when the deployment failed?", "when the deployment failed?"),
        ("excuse me, where is it documented? thanks in advance :)", "where is it documented?"),
        ("Could you list all cities Anna visited, thank you so much!", "list all cities Anna visited"),
        ("Hallo, kannst du mir bitte sagen, wo die Sicherungen liegen? Danke!", "wo die Sicherungen liegen?"),
        ("Bonjour, pourriez-vous me dire où sont les sauvegardes ? Merci", "où sont les sauvegardes ?"),
        ("Hola, ¿podrías decirme dónde están las copias? Gracias", "dónde están las copias?"),
    ],
)
def test_courtesy_is_taken_away(text: str, ref: str) -> None:
    assert strip_courtesy(text) == ref


@pytest.mark.parametrize(
    "text",
    [
        "hello world example",
        "good morning routine of John",
        "could not connect to server",
        "who said thank you",
        "when did she say thanks?",
        "what is the will of the testator",
        "Thanks",
        "tell me",
        "please",
        "Hey Melanie went where",
        "",
    ],
)
def test_what_is_asked_stays_as_it_is(text: str) -> None:
    assert strip_courtesy(text) == text


def test_a_request_reads_the_question_without_courtesy() -> None:
    pasted = "Hi, could you please tell me " + "why it fails " * 500 + "thanks a lot"
    for text, ref in (
        ("Hi, please tell me what broke", "what broke"),
        ("WHAT IS THE PORT OF SQLITE?", "what is the port of sqlite?"),
        ("ECONNREFUSED", "ECONNREFUSED"),
        (pasted, pasted),
    ):
        assert make_request(text, BUILT_IN["default@1"], now_us=0).text == ref


def test_a_polite_question_and_one_in_capitals_have_the_hits_of_the_plain_one(vault: Vault) -> None:
    vault.add([{"text": f"The {name} is backed up at {hour}."} for hour, name in enumerate(("SQLite file", "queue"))])
    plain = [(hit.id, hit.score) for hit in vault.recall("when is the sqlite file backed up?")]
    assert plain
    for text in (
        "WHEN IS THE SQLITE FILE BACKED UP?",
        "Hi! could you please tell me when is the sqlite file backed up? thanks a lot",
    ):
        assert [(hit.id, hit.score) for hit in vault.recall(text)] == plain

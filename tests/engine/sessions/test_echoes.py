"""Values of a person's words that the reply repeats: settled in no words of settling."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from lamina_engine.sessions.echoes import find_echoes, settles
from tests.engine.sessions.workday import days


@pytest.mark.parametrize(
    ("prompt", "reply"),
    [
        ("the landlord wants the deposit at 1800 euros", "Deposit: 1800 euros."),
        ("Die Heizung bitte auf 19 Grad stellen", "Die Heizung steht jetzt auf 19 Grad."),
        ("cap uploads 25 MB", "Uploads are capped at 25 MB now."),
        ("choir practice moves to Thursdays", "Choir practice is on Thursdays now."),
        ("the fee went up, it's 45 dollars", "Noted, 45 dollars."),
        ("der Kurs kostet ab März 80 Euro", "Kursgebühr: 80 Euro."),
        ("Sommer wants 0.05 back as the threshold", "The significance threshold is 0.05 again, with Bonferroni."),
        ("they pushed the exam to 3 December", "The exam is on 3 December now."),
    ],
)
def test_what_the_reply_repeats_as_it_is_now_is_settled(prompt: str, reply: str) -> None:
    assert any(settles(sentence, echo, ()) for sentence, echo in find_echoes(prompt, reply))


@pytest.mark.parametrize(
    ("prompt", "reply"),
    [
        ("why does it take 40 minutes?", "It takes 40 minutes because of the index."),
        (
            "run the load test for 10 minutes",
            "I ran the load test for 10 minutes, no errors turned up at any rate of requests.",
        ),
        ("I get 3 errors since 10:15", "3 errors began because the certificate expired."),
        ("the build fails with exit code 137", "Exit code 137 means that memory ran out."),
        ("show me the last 20 rows", "Here come the last 20 rows of the table, newest on top."),
        ("the page shows 404 for users", "The page shows 404 as the route was missing."),
        ("for this trip take 50 euros cash", "50 euros."),
        ("dentist on 14 October at 9:30", "Entered: dentist on 14 October, 9:30."),
        ("the export takes 40 minutes, make it faster", "It takes 4 minutes now, down from 40 minutes."),
        ("users wait 30 seconds at login", "The wait of 30 seconds is gone: an index was missing."),
        (
            "the test has a timeout of 5 seconds, look",
            "The timeout of 5 seconds is too short on CI; it is now 20 seconds.",
        ),
        ("fix issue #482", "Issue 482 is fixed now."),
        ("the last 3 commits are a mess, squash them", "The 3 commits are one now."),
        ("lies Kapitel 3", "Kapitel 3 ist jetzt gelesen."),
    ],
)
def test_what_is_asked_reported_done_once_or_an_appointment_is_not(prompt: str, reply: str) -> None:
    assert not any(settles(sentence, echo, ()) for sentence, echo in find_echoes(prompt, reply))


def test_the_first_sentence_that_repeats_a_value_is_taken() -> None:
    prompt = "The deposit is 1800 euros. Rent is 650 euros. And the 12 keys?"
    reply = "Is it 650 euros? Rent: 650 euros. Deposit: 1800 euros. The deposit stays at 1800 euros. Keys: 12."
    assert [*find_echoes(prompt, reply)] == [
        ("The deposit is 1800 euros.", "Deposit: 1800 euros."),
        ("Rent is 650 euros.", "Rent: 650 euros."),
    ]


def test_many_sentences_that_repeat_each_other_are_read_once() -> None:
    text = ". 4" * 10_000  # each against each took 278 seconds
    started = time.perf_counter()
    assert [*find_echoes(text, text)] == []
    assert time.perf_counter() - started < 20


def test_a_start_tells_the_newest_value_though_nobody_says_decided(tmp_path: Path) -> None:
    # a laboratory's transcripts: "30 days" was told as decided for weeks, 45 and 14 were not told at all
    vault = days(
        tmp_path,
        ("2026-10-09", [("how long are the raw traces kept?", "Ninety days at present."), ("that eats the disk. keep them for 30 days", "Raw traces are kept for 30 days now.")]),
        ("2026-10-20", [("the auditor was here, she wants the raw traces for 45 days", "Done, 45 days.")]),
        ("2026-11-17", [("disk is full. 14 days for the traces, the auditor agreed in writing", "Retention of raw traces is 14 days.")]),
        (
            "2026-11-19",
            [
                (
                    "make the label printing of the blood bank faster please",
                    "Done: 412 labels a minute. I decided to print in batches, because the printer waits for each.",
                )
            ],
        ),
    )  # fmt: skip
    (told,) = [item.text for item in vault.bootstrap(session="next").items if "traces" in item.text]
    assert told.startswith("The person decided")
    assert "14 days for the traces" in told.partition("It takes back")[0]
    assert "Retention of raw traces is 14 days" in told
    assert told.count("It takes back") == 2
    first = vault.inject("how long do we keep raw traces?", session="other").items[0]
    assert "14 days" in vault.get(first.id).text


def test_a_turn_tells_the_value_that_took_the_place_first_and_not_the_old_decision(tmp_path: Path) -> None:
    vault = days(
        tmp_path,
        ("2026-10-18", [("Die Kastration einer Katze kostet bei uns jetzt 120 Euro", "Kastration Katze: 120 Euro.")]),
        ("2026-10-25", [("Das Schild für den Hintereingang muss noch gemalt werden", "Ich merke es vor.")]),
        ("2026-11-07", [("Kastration einer Katze hebe ich auf 135 Euro an", "Kastration Katze: 135 Euro.")]),
    )  # fmt: skip
    items = vault.inject("Was kostet die Kastration einer Katze?", session="next").items
    texts = [vault.get(item.id).text for item in items]
    assert "135 Euro" in texts[0]
    assert not any(text.startswith("The person decided") and "120 Euro" in text for text in texts)

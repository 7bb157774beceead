"""A value answers only in the clause whose subject is asked about."""

from __future__ import annotations

import time

import pytest

from lamina_engine.facts.asking import read_question
from lamina_engine.facts.statements import sentences_of


def best(question: str, text: str, title: str = "") -> str | None:
    """Return the sentence of a text that answers a question best."""
    asking = read_question(question)
    found = max(sentences_of(asking, text, "", title), default=None) if asking else None
    return found[1].written if found else None


@pytest.mark.parametrize(
    ("text", "unanswered", "answered"),
    [
        ("The barge weighs 16 tonnes, twice as much as the crane.", "what is the weight of the crane", "how heavy is the barge"),
        ("The rent of the chapel is 450 EUR, less than the rent of the inn.", "what is the rent of the inn", "what is the rent of the chapel"),
        ("The lamp uses 12 W, a third of the power of the oven.", "what is the power of the oven", None),
        ("The queue holds 20 entries, as many as the cache.", "how many entries does the cache hold", "how many entries does the queue hold"),
        ("Unlike the tug, the ferry has a top speed of 18 knots.", "what is the top speed of the tug", "what is the top speed of the ferry"),
        ("Unlike the inn, whose price is secret, the mill costs 300 EUR.", "what is the price of the inn", None),
        ("The mill was sold in 2014, after the gate had closed.", "when did the gate close", "when was the mill sold"),
        ("The inn opened in 1998, three years before the cinema.", "when did the cinema open", "when did the inn open"),
        ("While the kiln was repaired in May, the loom stood still.", "when was the loom repaired", "when was the kiln repaired"),
        ("If the limit of the pool is below 20, raise it.", "what is the limit of the pool", None),
        ("The limit of the pool is 20 unless the queue is full.", "what is the limit of the queue", "what is the limit of the pool"),
        ("The inn, which is run by Lotte Sand, rents the chapel.", "who runs the chapel", "who runs the inn"),
        ("The inn was sold in 1990 to Otto, whose father founded the mill.", "when was the mill founded", "when was the inn sold"),
        ("Although the ferry has 40 seats, the tug is small.", "how many seats does the tug have", "how many seats does the ferry have"),
        ("Because the rent of the barn is 900 EUR, we use the shed.", "what is the rent of the shed", "what is the rent of the barn"),
        ("The dam was built in 1961, and the bridge is older.", "when was the bridge built", "when was the dam built"),
        ("The fence costs 40 EUR and was paid with the price of the barn.", "what is the price of the barn", "what does the fence cost"),
        ("The key to the vault weighs 2 kg.", "how heavy is the vault", None),
        ("Max works in Ulm, where the sister of Eva lives.", "where does Eva live", "where does Max work"),
        ("Table 54. Views", "how many tables do the views have", None),
        ("The owner cannot sell Heron, says Tove Ek.", "who is the owner of Heron", None),
        ("Der Speicher fasst 40 Liter, doppelt so viel wie der Kessel.", "wie viel Liter fasst der Kessel", "wie viel Liter fasst der Speicher"),
        ("Die Mühle wurde 1931 verkauft, bevor das Tor gebaut wurde.", "wann wurde das Tor gebaut", "wann wurde die Mühle verkauft"),
        ("Im Gegensatz zum Schuppen kostet das Haus 900 Euro Miete.", "was kostet der Schuppen", "was kostet das Haus"),
        ("Die Kapelle, die 1977 renoviert wurde, steht neben dem Gasthaus.", "wann wurde das Gasthaus renoviert", "wann wurde die Kapelle renoviert"),
        ("Der Schuppen hat 12 Plätze, während das Haus leer ist.", "wie viele Plätze hat das Haus", "wie viele Plätze hat der Schuppen"),
    ],
)  # fmt: skip
def test_what_a_sentence_only_compares_with_has_not_its_value(text: str, unanswered: str, answered: str | None) -> None:
    assert best(unanswered, text) is None
    if answered:
        assert best(answered, text) == text


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("how long do we wait when the queue jams?", "When the queue jams, we wait 5 minutes."),
        ("who is Heron named after?", "Heron is named after Tove Ek."),
        ("what is the maximum age of a flag?", "The maximum age of a flag is no more than 90 days."),
        ("how long is the inn closed?", "The inn is closed for 3 weeks, while the roof is repaired."),
        ("why is the pump slow?", "The pump is slow because the filter of the pump is full."),
        ("who owns the barn?", "Ann met Ben Li, who owns the barn."),
        ("what port does Parkwerk use?", "Parkwerk runs on pw-app-03 and the port is 8080."),
        ("how long does the timer wait?", "The hook waits 8 seconds, whereas the timer waits 20 seconds."),
        ("where do we keep the keys?", "We decided to keep keys in Lund."),
        ("who owns the barn, the shed and the mill?", "The barn, the shed and the mill are owned by Tove Ek."),
    ],
)
def test_a_clause_with_what_is_asked_still_answers(question: str, text: str) -> None:
    assert best(question, text) == text


@pytest.mark.parametrize(
    "text",
    [
        "See https://club.example/2019/05/regatta.html for the regatta.",
        "The regatta is in [the minutes](minutes/2019-05-04.html).",
        "Minutes of the regatta: /srv/minutes/2019-05-04/regatta.txt",
    ],
)
def test_a_date_in_an_address_or_a_path_is_none(text: str) -> None:
    assert best("when was the regatta?", text) is None
    assert (
        best("when was the regatta?", "The regatta was on 4 May 2019 (see https://club.example/2018/01).") is not None
    )


SETTINGS = """# Settings

retry_wait (integer)

Seconds between two tries. At most retry_count tries are made. The default is 12.

retry_count (integer)

How often a job is tried, a number below pool_size.

fsync (boolean)

Unlike retry_count, it has a default. The default value is sync.

pool_size (default: 30)

The default time unit of retry_count is d. The default setting of 5 takes a fifth of max_size.

use_pool_host

Default: nowhere
"""


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("retry_wait", "The default is 12."),
        ("retry_count", None),
        ("fsync", "The default value is sync."),
        ("pool_size", "pool_size (default: 30)"),
        ("max_size", None),
        ("use_pool_host", "Default: nowhere"),
        ("HOST", None),
        ("retry_limit", None),
    ],
)
def test_a_default_is_that_of_the_term_it_stands_below(name: str, answer: str | None) -> None:
    assert best(f"what is the default of {name}", SETTINGS) == answer


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        ("grace_time defaults to 15 seconds and may be raised.", True),
        ("The default value of grace_time is 15.", True),
        ("Set `grace_time` (default: 15) to less for tests.", True),
        ("Wait for 15 seconds (default, set by grace_time).", True),
        ("The grace_time should be 15 by day.", False),
        ("The default is less than grace_time, which is 15.", False),
        ("When grace_time is set, this says how to wait. The default is 15.", False),
        ("grace_time says how long to wait. The default is 15.", True),
        ("tls_time (default: $grace_time or 15)", False),
    ],
)
def test_a_default_is_said_to_be_one_and_of_which_setting(text: str, answers: bool) -> None:
    assert (best("what is the default of grace_time", text) is not None) is answers


def test_a_title_does_not_lend_its_name_to_what_another_thing_is_owned_by() -> None:
    text = "Illustra (later part of Informix, which is now owned by IBM) sold it."
    assert best("who owns Heron", text, "A history of Heron") is None
    assert best("who owns Informix", text, "A history of Heron") == text


@pytest.mark.parametrize("piece", ["and the x ", ", which ", "a-", "if (", "than the ", "a_b."])
def test_a_long_text_without_ends_is_read_in_no_time(piece: str) -> None:
    began = time.perf_counter()
    best("what is the default of x", piece * (200_000 // len(piece)))
    assert time.perf_counter() - began < 10

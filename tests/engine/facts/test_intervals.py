"""Questions of another time, answered from the intervals of facts, and those that a fact does not answer for all that."""

from __future__ import annotations

import pytest

from lamina_engine.clock import US_PER_DAY, format_instant, parse_instant
from lamina_engine.facts.intervals import read_earlier
from lamina_engine.facts.log import write
from lamina_engine.facts.questions import ask
from lamina_engine.facts.schema import Draft
from lamina_engine.memory import Memory

NOW = parse_instant("2026-11-28T12:00:00Z")


@pytest.fixture
def harbour(memory: Memory) -> Memory:
    for subject, predicate, value, since in (
        ("Beacon", "port", "7411", "2026-01-10"), ("Beacon", "port", "7500", "2026-05-01"), ("Beacon", "version", "2.4", "2026-01-05"),
        ("Beacon", "version", "2.5", "2026-06-05"), ("Beacon", "version", "3.0", "2026-10-01"), ("Pier 4", "owner", "Ada Obi", "2026-02-01"),
        ("Pier 4", "owner", "Ben Li", "2026-07-01"), ("Tove", "lives_in", "Malmö", "2019-01-01"), ("Tove", "lives_in", "Lund", "2026-05-02"),
    ):  # fmt: skip
        write(memory, [Draft(subject, predicate, value, valid_from=parse_instant(since))])
    write(memory, [Draft("Tove", "phone", "0471")])
    return memory


def answer(memory: Memory, question: str) -> list[str]:
    found = ask(memory, question, valid_at_us=NOW)
    return [each.value for each in found if each.asked] if found.answered else []


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("what port did Beacon run on in March 2026?", "7411"), ("what port did Beacon use until April?", "7411"),
        ("what port did Beacon use until June?", "7500"), ("what port was Beacon on before May 2026?", "7411"),
        ("which port did Beacon use on 2026-03-05?", "7411"), ("which port did Beacon use yesterday?", "7500"),
        ("what port did Beacon use before 7500?", "7411"), ("which port did Beacon use before ...?", "7411"), ("what was the old port of Beacon?", "7411"),
        ("what's Beacon's previous port?", "7411"), ("which port does Beacon no longer use?", "7411"),
        ("which port does Beacon not use any more?", "7411"), ("welchen Port hatte Beacon vorher?", "7411"),
        ("welchen Port hatte Beacon im März 2026?", "7411"), ("welchen Port hat Beacon nicht mehr?", "7411"),
        ("what version was Beacon before 2.5?", "2.4"), ("what was the previous version of Beacon?", "2.5"),
        ("welche Version hatte Beacon vor 3.0?", "2.5"), ("version of Beacon in July", "2.5"),
        ("who owned Pier 4 before Ben Li?", "Ada Obi"), ("Before Ben Li, who owned Pier 4?", "Ada Obi"),
        ("who owned Pier 4 before Ben took over?", "Ada Obi"), ("who was the previous owner of Pier 4?", "Ada Obi"),
        ("who used to own Pier 4?", "Ada Obi"), ("who owned Pier 4 in August 2026?", "Ben Li"), ("who owns Pier 4 after Ada Obi?", "Ben Li"),
        ("wem gehörte Pier 4 im März?", "Ada Obi"), ("wem gehörte Pier 4 vor Ben Li?", "Ada Obi"),
        ("where did Tove live in March?", "Malmö"), ("where did Tove use to live?", "Malmö"),
        ("where does Tove live?", "Lund"), ("what port does Beacon run on?", "7500"), ("what is the current version of Beacon?", "3.0"),
    ],
)  # fmt: skip
def test_questions_of_another_time_are_answered_from_the_intervals(harbour: Memory, question: str, value: str) -> None:
    assert answer(harbour, question) == [value]


@pytest.mark.parametrize(
    "question",
    [
        "who owned Pier 4 in 2025?", "who owned Pier 4 before Ada Obi?", "who owned Pier 4 before the storm?", "what was Tove's old phone?",
        "what was Tove's phone in 2015?", "who painted Pier 4 before Ben Li?", "who bought Pier 4 in March 2026?",
        "what port will Beacon use in 2027?", "how old is Beacon?", "which version of Beacon did Ann install in July?",
        "which port did Beacon run on after ...?", "before “”, which port did Beacon run on?",
    ],
)  # fmt: skip
def test_what_no_interval_tells_is_not_answered(harbour: Memory, question: str) -> None:
    assert answer(harbour, question) == []


@pytest.mark.parametrize(
    "question",
    [
        "what port does Beacon not run on?", "which port must Beacon never use?", "which port doesn't Beacon use?",
        "which port should Beacon not be on?", "welchen Port hat Beacon nicht?", "who is not the owner of Pier 4?", "who doesn't own Pier 4?",
        "where does Tove not live?", "what port besides 7500 does Beacon use?", "which port other than 7500 does Beacon use?",
    ],
)  # fmt: skip
def test_what_is_not_so_is_answered_by_nothing_that_is_so(harbour: Memory, question: str) -> None:
    assert answer(harbour, question) == []


@pytest.mark.parametrize(
    "question",
    ["I can't remember the port of Beacon", "don't you know which port Beacon runs on?", "isn't Beacon's port 7500?"],
)
def test_who_does_not_know_is_told(harbour: Memory, question: str) -> None:
    assert answer(harbour, question) == ["7500"]


def test_a_fact_without_a_start_is_known_from_when_it_was_stated(memory: Memory) -> None:
    write(memory, [Draft("Buoy 9", "owner", "Ada Obi")])
    since = memory.clock.now_us()
    later = since + 90 * US_PER_DAY
    write(memory, [Draft("Buoy 9", "owner", "Ben Li", valid_from=later)])

    def owner(question: str) -> list[str]:
        found = ask(memory, question, valid_at_us=later + US_PER_DAY)
        return [each.value for each in found if each.asked] if found.answered else []

    assert owner("who owned Buoy 9 before Ben Li?") == ["Ada Obi"]
    day = str(format_instant(since + 30 * US_PER_DAY))[:10]
    assert owner(f"who owned Buoy 9 on {day}?") == ["Ada Obi"]
    assert owner("who owned Buoy 9 in 2015?") == []


def test_a_time_is_read_in_the_zone_of_the_vault() -> None:
    (earlier,) = read_earlier("who owned it in March 2026?", (), NOW, "Europe/Berlin")
    assert earlier.span == (parse_instant("2026-02-28T23:00:00Z"), parse_instant("2026-03-31T22:00:00Z"))
    assert not list(read_earlier("who owns it since March 2026?", (), NOW, "UTC"))

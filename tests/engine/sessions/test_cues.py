"""Sentences of talk, and the cues that are found in them."""

from __future__ import annotations

import inspect
import re
import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_engine.sessions import cues, outcomes


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three? four… Five", ["One.", "Two!", "Three?", "four…", "Five"]),  # people ask in small letters,
        ('He said "stop." Then we did.', ['He said "stop."', "Then we did."]),
        ("See v1.2 and e.g. that. `code` runs.", ["See v1.2 and e.g. that. `code` runs."]),
        ("See that. `Code` runs. 3 rows are left.", ["See that.", "`Code` runs.", "3 rows are left."]),
        ("終わり。次は！ Next", ["終わり。", "次は！", "Next"]),
        ("- [x] done. Next\n2) It\u2019s **bold**. So", ["done.", "Next", "It's bold.", "So"]),
        ("Use _a, b_ and **kw, not *args. **Never** `**x**`.", ["Use _a, b_ and **kw, not *args.", "Never `**x**`."]),
        ("**Rule:** src/**/*.ts and **/gen/**, a**b, 2**3", ["Rule: src/**/*.ts and **/gen/**, a**b, 2**3"]),
        ("Am 3. März ist Abgabe. Am 4. Mai auch.", ["Am 3. März ist Abgabe.", "Am 4. Mai auch."]),
        ("Dr. Weiss and Mrs. Ames agree. So does Prof. Ito.", ["Dr. Weiss and Mrs. Ames agree.", "So does Prof. Ito."]),
        ("| a table. Row |\n# A head. Line\n> quoted. Line", []),
        ("Before.\n```\nNot. This\n```\nAfter.", ["Before.", "After."]),
        ("  . . .  ", [". . ."]),
        ("", []),
    ],
)
def test_sentences_of_a_text(text: str, sentences: list[str]) -> None:
    assert list(cues.sentences(text)) == sentences


@pytest.mark.parametrize(
    ("finds", "sentence"),
    [
        (cues.is_user_decision, "let's use postgres for the queue"),
        (cues.is_user_decision, "we'll stick with the old format"),
        (cues.is_user_decision, "the freeze is on march 3"),
        (cues.is_user_decision, "we'll go with postgres"),
        (cues.is_user_decision, "postgres it is"),
        (lambda sentence: cues.kept_words(sentence) == frozenset({"postgres"}), "we stay with postgres please"),
        (cues.is_agent_decision, "i went with a file a day because readers lock"),
        (cues.is_rule, "never commit to main"),
        (cues.is_rule, "*never* commit to _main_"),
        (cues.is_cause, "the real problem was the lock"),
        (cues.is_put_off, "that can wait, not before the release"),
        (cues.is_reversal, "let's do without that library after all"),
        (cues.has_second_thought, "port 80, hm, taken"),
        (cues.points_back, "forget the other thing"),
        (cues.decides_otherwise, "use the index instead"),
        (lambda sentence: cues.withdrawn_words(sentence) == {"cache"}, "forget about the cache"),
        (lambda sentence: [*cues.taken_keys(sentence)] == ["b"], "go with b"),
        (lambda sentence: [*cues.proposals(sentence)] == [sentence], "i would keep the table as it is for now"),
        (lambda sentence: [*cues.open_points(sentence)] == [sentence], "the importer is not yet tested"),
    ],
)
def test_cues_are_found_in_capitals(finds: Callable[[str], bool], sentence: str) -> None:
    assert finds(sentence)
    assert finds(sentence.upper())
    assert finds(sentence.capitalize())


@pytest.mark.parametrize(
    ("finds", "sentence"),
    [
        (cues.is_user_decision, "outlet's used up by now"),
        (cues.is_rule, "forever always"),
        (cues.is_cause, "subdue to nothing"),
        (cues.is_agent_decision, "undecided to this day"),
        (cues.has_second_thought, "awaiting butter"),
        (cues.is_user_decision, "the indecision is great"),
        (lambda sentence: cues.kept_words(sentence) is not None, "joysticks with cables"),
    ],
)
def test_no_cue_is_found_within_a_word(finds: Callable[[str], bool], sentence: str) -> None:
    assert not finds(sentence)


def test_patterns_of_cues_are_in_small_letters() -> None:
    searched = set(re.findall(r"_holds\((_[A-Z_]+)", inspect.getsource(cues)))
    assert len(searched) >= 12
    for name in sorted(searched):
        letters = re.sub(r"\\.", "", getattr(cues, name).pattern.pattern)
        assert letters == letters.lower(), name


@pytest.mark.parametrize(
    ("reply", "listed"),
    [
        ("1) sqlite, one file\n2) postgres", {"1": "sqlite, one file", "2": "postgres"}),
        ("Either (A) keep it (B) drop it", {"a": "keep it", "b": "drop it"}),
        ("2) only the second", {}),
        ("1) only the first", {}),
        ("the first version 1.0 is out", {}),
    ],
)
def test_options_that_a_reply_lists(reply: str, listed: dict[str, str]) -> None:
    assert cues.options(reply) == listed


CUES = {name: value for name, value in vars(cues).items() if isinstance(value, cues.Cue) and value.pieces != ("",)}


@pytest.mark.parametrize("name", sorted(CUES))
@given(data=st.data())
def test_what_a_cue_finds_holds_one_of_its_pieces(name: str, data: st.DataObject) -> None:
    cue = CUES[name]
    text = data.draw(st.from_regex(cue.pattern.pattern)).lower()
    assert (cue.search(text) is None) == (cue.pattern.search(text) is None), text


ASCII = st.characters(codec="ascii")


@given(st.from_regex(re.compile(cues._SAID_BY_OTHERS.pattern, cues._SAID_BY_OTHERS.flags), alphabet=ASCII))
def test_a_quotation_is_left_out(text: str) -> None:
    assert cues._unquoted(text) == cues._SAID_BY_OTHERS.sub(" ", text)


@given(st.from_regex(re.compile(outcomes._FAILURE.pattern, outcomes._FAILURE.flags), alphabet=ASCII))
def test_a_failure_is_told(output: str) -> None:
    assert outcomes.tells_failure(output)


@given(st.from_regex(re.compile(outcomes._VERDICT.pattern, outcomes._VERDICT.flags), alphabet=ASCII))
def test_a_verdict_is_found(output: str) -> None:
    found = outcomes._VERDICT.findall(output[-4000:])
    assert ("verdict" in outcomes.outcome_facts(output, None)) == bool(found)


def test_a_program_is_known_behind_those_that_run_it() -> None:
    assert outcomes.signature("uv run poetry run pytest tests/test_a.py") == ("pytest", frozenset({"tests/test_a.py"}))
    assert outcomes.signature("bundle exec rake spec") == ("rake spec", frozenset())
    assert outcomes.signature("uv run " * 2_000 + "pytest")[0] == "pytest"


@pytest.mark.parametrize(
    "sentence",
    [
        "Whenever you draft a letter to parents, keep it under one page",
        "Plain text when you write to the wards, no tables",
        "Jedes Mal wenn du einen Termin einträgst, bitte mit Adresse",
        "Wichtig: die Kasse wird nur von Petra gezählt",
        "bear in mind: Paula is vegetarian",
        "gelüftet wird nur morgens, nie bei laufender Maschine",
        "when you summarise meetings, no bullet points please",
        "use pnpm, not npm",
    ],
)
def test_what_is_said_of_a_kind_of_work_is_a_rule(sentence: str) -> None:
    assert cues.is_rule(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "for this run use staging, not production",
        "run the seed script, use staging, not production",
        "diesmal bitte per Post, nicht per Mail",
        "just this once, use Anna's card, not mine",
        "for this export use semicolons, not commas",
        "when you renamed the file it broke and I do not like it",
        "the server crashes whenever you send a request with no body",
        "es klappt nicht, wenn du das Fenster öffnest",
        "when you see the error, do not worry",
        "this is an important change",
    ],
)
def test_what_holds_for_one_occasion_or_reports_is_no_rule(sentence: str) -> None:
    assert not cues.is_rule(sentence)


@pytest.mark.parametrize("words", ["bitte nie ", "use a, ", "nur x, nie ", "when you "])
def test_a_text_without_end_is_read_in_parts(words: str) -> None:
    # dictated text has no full stops; one sentence of 40,000 characters took 4 seconds for each cue
    text = (words * (40_000 // len(words))).strip()
    started = time.perf_counter()
    parts = cues.sentences(text)
    for each in parts:
        cues.is_rule(each)
    assert time.perf_counter() - started < 2
    assert " ".join(parts) == text
    assert max(map(len, parts)) <= 1_000


def test_a_word_without_end_is_read_in_parts() -> None:
    assert "".join(cues.sentences("a" * 2_500)) == "a" * 2_500


def test_a_question_without_end_is_no_rule() -> None:
    text = f"should we always use pnpm {'and always lint ' * 100}or not?"
    (asked,) = cues.sentences(text)
    assert asked.endswith("or not?")
    assert not cues.is_rule(asked)


def test_ten_megabytes_without_a_full_stop_is_read_in_linear_time() -> None:
    text = ("word " * 2_000_000).strip()
    started = time.perf_counter()
    assert " ".join(cues.sentences(text)) == text
    assert time.perf_counter() - started < 20

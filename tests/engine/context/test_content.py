"""Prompts without content, in many languages; findings, stranger 3 and seeds-b gap 9."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from lamina.prompts import needs_context
from lamina_engine.context.content import asks, content_words, continues_work, has_content, owner_words

PROMPTS = Path(__file__).parent / "prompts"


def read(name: str) -> list[str]:
    return (PROMPTS / name).read_text(encoding="utf-8").splitlines()


def test_everyday_prompts_have_no_content() -> None:
    prompts = read("everyday.txt")
    assert len(prompts) >= 200
    assert [prompt for prompt in prompts if has_content(prompt)] == []


def test_most_that_were_written_after_the_words_have_none_either() -> None:
    """The rest is left to the gate, which sees that the vault knows nothing of them."""
    prompts = read("everyday-unseen.txt")
    assert len(prompts) >= 300
    assert sum(map(has_content, prompts)) <= len(prompts) / 4


@pytest.mark.parametrize("name", ["answered.tsv", "answered-unseen.tsv"])
def test_prompts_that_ask_for_something_have_content(name: str) -> None:
    assert sum(not has_content(line.partition("\t")[2]) for line in read(name)) <= 1


@pytest.mark.parametrize(
    ("prompt", "ref"),
    [
        ("what port does Beacon run on", True), ("PgBouncer?", True), ("TICKET-8841", True), ("rename foo_bar", True), ("fix src/a.py", True),
        ("how do we run the tests", True), ("run the tests", False), ("where are our docs?", True), ("error 4711", True), ("option 2", False),
        ("数据库连接池为什么耗尽", True), ("再试一次", False), ("", False), ("👍", False), ("...", False), ("C++", True),
    ],
)  # fmt: skip
def test_a_name_a_number_and_a_question_of_ours_are_content(prompt: str, ref: bool) -> None:
    assert has_content(prompt) is ref


def test_words_are_those_that_say_something() -> None:
    assert content_words("Please add a column for the price, I'd use float for now.") == [
        "add",
        "column",
        "price",
        "float",
    ]


@pytest.mark.parametrize(
    ("prompt", "ref"),
    [
        ("continue where we left off", True), ("what's next?", True), ("what was I working on", True), ("weiter geht's", True), ("继续", True),
        ("thanks", False), ("continue the PgBouncer migration", False), ("commit this", False),
    ],
)  # fmt: skip
def test_going_on_is_told_from_the_rest(prompt: str, ref: bool) -> None:
    assert continues_work(prompt) is ref
    if ref:
        assert needs_context(prompt)


@pytest.mark.parametrize(
    ("prompt", "ref"),
    [
        ("what is still open?", True), ("what still needs to be done?", True), ("what did we do yesterday?", True), ("was ist gestern passiert?", True), ("where did we leave off?", True),
        ("was ist noch offen?", True), ("open the file", False), ("what did you change?", False), ("do that tomorrow", False), ("which file is open?", False),
        ("who is on call?", True), ("who did this?", False), ("wer war das?", False),
    ],
)  # fmt: skip
def test_questions_about_the_work_itself_need_a_memory(prompt: str, ref: bool) -> None:
    assert needs_context(prompt) is ref


def test_a_pasted_log_costs_no_more_than_its_beginning() -> None:
    log = "2026-11-27 ERROR pool exhausted at worker.py:12\n" * 25_000
    started = time.process_time()
    assert needs_context(f"what did we decide about Redis? {log}")
    assert time.process_time() - started < 0.3


def test_a_hook_decides_before_anything_heavy_is_imported() -> None:
    code = (
        "import sys; from lamina.prompts import needs_context; assert not needs_context('commit this');"
        "print(sorted({'numpy', 'pyarrow', 'msgspec', 'click', 'numba'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.parametrize(
    ("prompt", "ref"),
    [
        ("Where does the exporter write?", True), ("It fails on the second run. Why is that", True), ("draw it as ascii", False),
        ("can you draw that as ascii?", False), ("Nice. Could you repeat your last answer?", False), ("Would you rather use tabs?", False),
        ("can you tell me which port Beacon has?", True), ("Can you draw it? Where is the exporter?", True),
        ("I seem to remember a magic incantation for the driver.", True), ("wasn't there a limit of nomad jobs", True),
        ("labels look mixed up, how do I switch that off fast", True), ("you forgot to save", False),
        ("did we hire Marek", True), ("is Marek hired", True), ("have we moved off Redis", True), ("do we use Redis", True),
        ("do the tests first", False), ("have the tests run twice", False), ("are you done", False),
    ],
)  # fmt: skip
def test_an_order_said_as_a_question_asks_nothing_and_a_memory_sought_does(prompt: str, ref: bool) -> None:
    """Findings, stranger 3: orders are about what agent and user have before them."""
    assert asks(prompt) is ref


@pytest.mark.parametrize(
    "prompt",
    [
        "whats the api port", "wheres the log kept", "hows the cache invalidated", "and what was the limit", "tell me the api port",
        "give me our tax number", "wieso haben wir das so", "weshalb der Umzug", "weswegen ging das nicht", "wofür steht der Schalter",
        "woran lag der Ausfall", "worauf läuft die Datenbank", "gib mir den Port", "sag mir bitte nochmal das Limit", "nenn mir die Adresse vom Broker",
    ],
)  # fmt: skip
def test_questions_are_known_as_people_type_them(prompt: str) -> None:
    assert asks(prompt)


@pytest.mark.parametrize(
    "prompt",
    ["give me a joke", "gib mir fünf Namen", "tell me a story", "show me the diff", "use the new port", "whatsoever"],
)
def test_what_is_to_be_made_is_no_question(prompt: str) -> None:
    assert not asks(prompt)


@pytest.mark.parametrize(
    ("prompt", "owners"),
    [
        ("which Redis version do we use", ["redis"]), ("welche Redis-Version nutzen wir", ["redis"]), ("what is the port of the mail relay?", ["mail"]),
        ("wie ist der Port vom Broker?", ["broker"]), ("the billing API's key", ["api"]), ("why did we leave SQLite?", []), ("what port does the planner use", ["planner"]),
        ("what version are we on", []),
    ],
)  # fmt: skip
def test_an_attribute_is_asked_of_something(prompt: str, owners: list[str]) -> None:
    assert owner_words(prompt) == owners


@pytest.mark.parametrize("blank", ["\n", "\r\n", " \n", "\t", "\n\t"])
def test_empty_lines_cost_no_time(blank: str) -> None:
    """From each of four thousand line ends the search read on to the last: half a minute for a prompt."""
    started = time.perf_counter()
    assert not asks(blank * 20_000)
    assert not asks(f"tidy the table{blank * 20_000}then push it")
    assert asks(f"tidy the table{blank * 20_000}\nwhat is the port of the broker")
    assert not asks("!and " * 4_000)
    assert time.perf_counter() - started < 5.0


@pytest.mark.parametrize(
    ("prompt", "named"),
    [
        ("what did I promise Hope?", True),
        ("who told Hope about it?", True),
        ("I hope it works now", False),
        ("is there a Problem with this?", False),
        ("remind me on Monday", False),
        ("what about the Next one", False),
    ],
)
def test_a_word_of_talk_with_a_capital_within_a_sentence_is_a_name(prompt: str, named: bool) -> None:
    assert has_content(prompt) is named

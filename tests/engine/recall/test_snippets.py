"""Snippets: they hold what matched, begin where a reader would, and mark whole words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina_engine.index.analysis import Analyzer
from lamina_engine.recall.snippets import cut_snippet
from lamina_engine.results import Snippet

ANALYZER = Analyzer()
FILLER = "Nothing of note happened on that day. " * 20


def marked(snippet: Snippet) -> list[str]:
    return [snippet.text[start:stop] for start, stop in snippet.ranges]


def cut(text: str, *stems: str, width: int = 120) -> Snippet:
    return cut_snippet(text, dict.fromkeys(stems, 1.0), ANALYZER, width=width)


def test_the_window_is_where_the_words_are() -> None:
    text = f"{FILLER}PgBouncer ran out of connections at noon. {FILLER}"
    snippet = cut(text, "pgbouncer", "connect")
    assert marked(snippet) == ["PgBouncer", "connections"]
    assert text[snippet.start :].startswith(snippet.text)
    assert len(snippet.text) <= 120


def test_rare_words_outweigh_frequent_ones() -> None:
    text = f"The day, the day, the day. {FILLER} Kafka stopped."
    assert marked(cut_snippet(text, {"day": 0.1, "kafka": 5.0}, ANALYZER, width=60))[-1] == "Kafka"


def test_a_short_text_is_whole_and_lines_are_kept() -> None:
    text = "def open(path):\n    return path.open()\n"
    snippet = cut(text, "path")
    assert snippet.text == text
    assert marked(snippet) == ["path", "path"] or marked(snippet) == ["path", "path.open"]


def test_a_text_without_a_match_gives_its_beginning() -> None:
    snippet = cut(FILLER, "kafka", width=50)
    assert snippet.start == 0
    assert snippet.ranges == ()
    assert snippet.text == "Nothing of note happened on that day. Nothing of"


@pytest.mark.parametrize(
    ("text", "stems", "words"),
    [
        ("Say `foo_bar` twice: foo_bar.", ["foo"], ["foo_bar", "foo_bar"]),
        ("Größe und Café", ["große", "cafe"], ["Café"]),
        ("我们决定使用数据库", ["数据"], ["数据"]),
        ("(running) runs, ran", ["run"], ["running", "runs"]),
        ("don't stop", ["dont"], ["don't"]),
    ],
)
def test_words_are_marked_whole(text: str, stems: list[str], words: list[str]) -> None:
    assert marked(cut(text, *stems)) == words


@given(st.text(alphabet="ab c\n.据数-_", max_size=400), st.integers(1, 80))
def test_ranges_lie_in_the_window_and_do_not_overlap(text: str, width: int) -> None:
    snippet = cut(text, "a", "ab", "数据", width=width)
    assert text[snippet.start : snippet.start + len(snippet.text)] == snippet.text
    stops = [0, *(stop for _, stop in snippet.ranges)]
    for before, (start, stop) in zip(stops, snippet.ranges, strict=False):
        assert before <= start < stop <= len(snippet.text)


def test_of_windows_with_equal_words_in_another_order_the_first_is_cut() -> None:
    weights = {"alpha": 0.1, "beta": 0.2, "gamma": 0.3}  # whose sum depends on the order of the additions
    filler = "nothing of note " * 20
    text = f"{filler}gamma beta alpha {filler}alpha beta gamma {filler}beta alpha gamma {filler}"
    assert cut_snippet(text, weights, ANALYZER, width=60).start < 2 * len(filler)


TABLE = "".join(f"| svc-{number} | {7000 + 3 * number} | team-{number % 7} |\n" for number in range(100, 300))


@pytest.mark.parametrize("number", [101, 217, 298])
def test_of_a_table_the_row_with_the_rare_word_is_shown(number: int) -> None:
    # a word of every row weighs little, and counts once however many rows the window holds
    snippet = cut_snippet(TABLE, {"port": 2.0, "svc": 0.5, str(number): 3.0}, ANALYZER)
    row = f"svc-{number}"
    assert snippet.text[slice(*snippet.best)] == row
    if 110 < number < 290:
        assert 0.2 < snippet.text.index(row) / len(snippet.text) < 0.7
    narrow = cut_snippet(TABLE, {"port": 2.0, "svc": 0.5, str(number): 3.0}, ANALYZER, width=40)
    assert f"{row} | {7000 + 3 * number}" in narrow.text


def test_words_near_each_other_are_chosen_before_the_same_words_apart() -> None:
    text = f"The pool is old. {FILLER[:60]} A kafka of ours. {FILLER}The kafka pool is full. {FILLER}"
    snippet = cut(text, "pool", "kafka", width=150)
    assert snippet.text[slice(*snippet.best)] == "kafka pool"

"""Snippets on a terminal: matched words bold, everything else only readable."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.cli import recalling, terminal
from lamina.cli.recalling import snippet_lines
from lamina_engine.results import Snippet

BOLD, END = "\x1b[1m", "\x1b[0m"


@pytest.fixture
def coloured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "has_colour", lambda _stream: True)


@pytest.mark.usefixtures("coloured")
def test_matched_words_are_bold() -> None:
    text = "It ran.\n  The cache   is\x1b[31m full\x07."
    snippet = Snippet(text[8:], 8, ((6, 11), (22, 26)))
    assert [snippet.text[start:stop] for start, stop in snippet.ranges] == ["cache", "full"]
    [line] = snippet_lines(snippet, text, 80, 3)
    assert line.replace(BOLD, "[").replace(END, "]").startswith("…The [cache] is\\x1b[31m [full]")
    assert "\x07" not in line


@pytest.mark.usefixtures("coloured")
def test_words_at_the_edge_of_a_line_stay_bold() -> None:
    text = "one two three four five six seven eight"
    ranges = tuple((text.index(word), text.index(word) + len(word)) for word in text.split())
    lines = snippet_lines(Snippet(text, 0, ranges), text, 14, 9)
    assert [line.replace(BOLD, "<").replace(END, ">") for line in lines] == [
        "<one> <two> <three>", "<four> <five> <six>", "<seven> <eight>",
    ]  # fmt: skip


def test_the_best_line_is_shown_where_all_lines_match() -> None:
    text = "".join(f"| svc-{number} | {number} |\n" for number in range(10, 20))
    ranges = tuple((at, at + 6) for at in range(2, len(text), len("| svc-10 | 10 |\n")))
    lines = snippet_lines(Snippet(text, 0, ranges, ranges[7]), text, 80, 3)
    assert "| svc-17 | 17 |" in lines[-1]


def test_elsewhere_it_is_plain() -> None:
    assert snippet_lines(Snippet("the cache", 0, ((4, 9),)), "the cache", 80, 3) == ["the cache"]


@given(st.text(max_size=80), st.integers(0, 9), st.integers(0, 40), st.integers(1, 20), st.integers(4, 30))
def test_any_text_is_readable_and_whole(text: str, start: int, first: int, size: int, room: int) -> None:
    window = text[start:]
    ranges = ((first, first + size),) if first + size <= len(window) else ()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recalling, "bold", lambda part: f"<b>{part}</b>")
        lines = snippet_lines(Snippet(window, start, ranges), text, room, 1000)
    bare = "".join(lines).replace("<b>", "").replace("</b>", "")
    wanted = "".join(terminal.printable(line) for line in window.splitlines() if not recalling.is_rule(line))
    assert "".join(bare.split()).removeprefix("…") == "".join(wanted.split()).removeprefix("…") or start

from __future__ import annotations

import io
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamina.cli.terminal import clip, has_colour, place_of, printable, table, width, wrap
from lamina_engine.results import Chunk


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        ("", ""),
        ("plain words", "plain words"),
        ("two\n lines\tand tabs", "two lines and tabs"),
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("\x9b31mred", r"\x9b31mred"),
        ("a\x07b\x00c\x7f", r"a\x07b\x00c\x7f"),
        ("\x1b]8;;http://evil\x07link", r"\x1b]8;;http://evil\x07link"),
        ("over\u202eride", r"over\u202eride"),
        ("zero\u200bwidth", r"zero\u200bwidth"),
        ("tag\U000e0041s", r"tag\U000e0041s"),
        ("half \udcff byte", r"half \udcff byte"),
        ("[bold]markup[/bold]", "[bold]markup[/bold]"),
        ("東京\u3000倉庫", "東京 倉庫"),
        ("नि\u200dया 👩\u200d🚀", "नि\u200dया 👩\u200d🚀"),
    ],
)
def test_only_what_can_be_read_is_left(text: str, ref: str) -> None:
    assert printable(text) == ref


def test_lines_are_kept_where_they_are_wanted() -> None:
    assert printable("a\r\n\tb\x1b[2J\n", lines=True) == "a\n    b\\x1b[2J\n"


@given(st.text())
def test_no_text_holds_a_control_afterwards(text: str) -> None:
    got = printable(text, lines=True)
    assert not [c for c in got if unicodedata.category(c) in ("Cc", "Cs") and c != "\n"]
    assert "\n" not in printable(text)


@pytest.mark.parametrize(("text", "ref"), [("", 0), ("abc", 3), ("東京", 4), ("e\u0301", 1), ("ｱ", 1), ("Ａ", 2)])
def test_width_counts_columns(text: str, ref: int) -> None:
    assert width(text) == ref


@pytest.mark.parametrize(
    ("text", "columns", "ref"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("東京都", 5, "東京…"),
        ("東京都", 4, "東…"),
        ("ab cd", 4, "ab…"),
        ("", 1, ""),
    ],
)
def test_a_clipped_text_fits(text: str, columns: int, ref: str) -> None:
    assert clip(text, columns) == ref


def test_words_stay_whole_and_other_scripts_fill_the_line() -> None:
    assert wrap("one two three", 8) == ["one two", "three"]
    assert wrap("東京の倉庫は", 5) == ["東京", "の倉", "庫は"]
    assert wrap("one two three four", 8, most=2) == ["one two", "three f…"]
    assert wrap("x" * 50, 20) == ["x" * 20, "x" * 20, "x" * 10]
    assert wrap("", 20) == []


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"])), st.integers(2, 40))
def test_wrapping_loses_nothing_and_fits(text: str, columns: int) -> None:
    shown = printable(text)
    got = wrap(shown, columns)
    assert "".join("".join(got).split()) == "".join(shown.split())
    assert all(width(line) <= columns for line in got)


def test_values_stand_under_each_other() -> None:
    assert table([("a", "1"), ("none", ""), ("long", "2")], indent=2) == ["  a     1", "  long  2"]


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_colour_is_for_terminals_that_want_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert has_colour(_Terminal())
    assert not has_colour(io.StringIO())
    monkeypatch.setenv("NO_COLOR", "1")
    assert not has_colour(_Terminal())


def chunk_at(path: str | None, line: int | None = None, source: str | None = None) -> Chunk:
    return Chunk(
        id="a", row=0, text="t", type="note", collection="notes", recorded_at_us=0, path=path, line=line, source=source
    )


def test_a_place_is_as_short_as_people_write_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    home, here = tmp_path / "home", tmp_path / "here"
    for folder in (home, here):
        folder.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv("HOME", str(home))
    assert place_of(chunk_at(f"{here}/git/undo.md", 12), 80) == "git/undo.md:12"
    assert place_of(chunk_at(f"{home}/til/git/undo.md", 12), 80) == "~/til/git/undo.md:12"
    assert place_of(chunk_at("/srv/til/git/undo.md"), 80) == "/srv/til/git/undo.md"
    assert place_of(chunk_at("/srv/til/git/undo.md", 12), 14) == "…it/undo.md:12"
    assert place_of(chunk_at(None, source="incident 12"), 80) == "incident 12"
    assert place_of(chunk_at(None), 80) == ""


def test_a_place_is_a_link_on_a_terminal_and_its_name_cannot_end_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lamina.cli.terminal.has_colour", lambda _: True)
    shown = place_of(chunk_at("/srv/til/evil\x1b\\\x07 name.md", 3), 80)
    opening, text, closing = shown.split("\x1b\\")[0], shown.split("\x1b\\")[1], shown.split("\x1b\\")[2]
    assert opening == "\x1b]8;;file:///srv/til/evil%1B%5C%07%20name.md"
    assert text.removesuffix("\x1b]8;;") == r"/srv/til/evil\x1b\\x07 name.md:3"
    assert closing == ""

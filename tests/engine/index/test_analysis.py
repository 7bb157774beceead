from __future__ import annotations

import threading
import unicodedata
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina_engine.index import analysis
from lamina_engine.index.analysis import (
    MAX_TERM_CHARS,
    STOP_WORDS,
    Analyzer,
    fold,
    query_analyzer,
    surface_hash,
    term_hash,
)


@pytest.fixture(scope="module")
def analyzer() -> Analyzer:
    return Analyzer()


def stems(analyzer: Analyzer, text: str) -> list[str]:
    return [term.stem for term in analyzer.tokens(text)]


def finds(analyzer: Analyzer, query: str, text: str) -> bool:
    """Whether every term of the query stands in the text."""
    return {term.stem for term in analyzer.query(query)} <= set(stems(analyzer, text))


@pytest.mark.parametrize(
    "text", ["foo_bar", "fooBar", "foo-bar", "src/foo/bar.py", "foo.bar", "FooBar()", "`foo__bar`"]
)
def test_every_spelling_of_an_identifier_is_found_by_its_words(analyzer: Analyzer, text: str) -> None:
    assert finds(analyzer, "foo bar", text)


@pytest.mark.parametrize("query", ["foo_bar", "fooBar", "foo-bar", "foobar", "FOO_BAR", "foo.bar"])
@pytest.mark.parametrize("text", ["call foo_bar now", "fooBar(x)", "a foobar", "FOO_BAR=1"])
def test_each_spelling_of_an_identifier_finds_the_joined_form_of_the_others(
    analyzer: Analyzer, query: str, text: str
) -> None:
    assert "foobar" in {term.stem for term in analyzer.query(query)}
    assert "foobar" in stems(analyzer, text)


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        ("HTTPServer", ["http", "server", "httpserver"]),
        ("fooBar2", ["foo", "bar", "2", "foobar2"]),
        ("IDs", ["id"]),
        ("v1.2.3", ["1.2.3", "1", "2", "3"]),
        ("1.2.3", ["1.2.3", "1", "2", "3"]),
        ("10,000", ["10000"]),
        ("2024-05-12", ["2024", "05", "12", "20240512"]),
        ("550e8400f00d", ["550e8400f00d"]),
        ("C++ or C#", ["c", "c++", "or", "c", "c#"]),
        ("Caroline's don't", ["carolin", "dont"]),
        ("a b .. -- __", ["a", "b"]),
        ("🎉️ 👍🏽 → ∑", []),
        ("", []),
    ],
)
def test_terms_of_pieces(analyzer: Analyzer, text: str, ref: list[str]) -> None:
    assert stems(analyzer, text) == ref


def test_a_version_with_v_and_without_are_the_same(analyzer: Analyzer) -> None:
    assert analyzer.tokens("v1.2.3") == analyzer.tokens("1.2.3")


def test_the_surface_of_an_identifier_is_as_written(analyzer: Analyzer) -> None:
    assert [term.surface for term in analyzer.tokens("foo_bar")][-1] == "foo_bar"
    assert [term.surface for term in analyzer.tokens("databases")] == ["databases"]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("数据", "使用PostgreSQL数据库"),
        ("PostgreSQL", "使用PostgreSQL数据库"),
        ("postgresql", "使用PostgreSQL数据库"),
        ("東京", "昨日は東京タワーに行った"),
        ("猫", "大きな猫がいる"),
        ("검색", "전문검색엔진"),
        ("ไทย", "ภาษาไทยง่าย"),
        ("が", "カ\u3099 か\u3099"),
        ("ﾃﾞｰﾀ", "データ"),
    ],
)
def test_a_short_query_finds_text_inside_a_run_without_spaces(analyzer: Analyzer, query: str, text: str) -> None:
    assert finds(analyzer, query, text)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("naïve Ångström", "NAIVE angstrom"),
        ("straße", "STRASSE"),
        ("ﬁne", "fine"),
        ("ｆｏｏ＿ｂａｒ", "foo_bar"),
        ("O’Brien’s", "O'Brien's"),
        ("ёлка", "ЕЛКА"),
        ("العَرَبِيَّة", "العربية"),
        ("co\u00adoperate", "cooperate"),
        ("e\u2011mail", "e-mail"),
        ("١٢", "12"),
    ],
)
def test_spellings_that_fold_together(analyzer: Analyzer, left: str, right: str) -> None:
    assert analyzer.tokens(left) == analyzer.tokens(right)


def test_marks_that_are_vowels_stay(analyzer: Analyzer) -> None:
    assert stems(analyzer, "हिन्दी") == ["हिन्दी"]


def test_long_terms_stay_apart_and_short(analyzer: Analyzer) -> None:
    left, right = stems(analyzer, "a" * 500 + " " + "a" * 499 + "b")
    assert left != right
    assert max(len(left), len(right)) <= MAX_TERM_CHARS


def test_a_query_weighs_an_identifier_like_a_word_and_its_joined_form(analyzer: Analyzer) -> None:
    got = {term.stem: term.weight for term in analyzer.query("fooBar timeout timeout")}
    assert got == {"foo": 0.5, "bar": 0.5, "foobar": 1.0, "timeout": 2.0}


def test_a_query_asks_for_bigrams_and_for_single_characters_only_alone(analyzer: Analyzer) -> None:
    assert [term.stem for term in analyzer.query("数据库 猫")] == ["数据", "据库", "猫"]


def test_stop_words_are_marked_not_dropped(analyzer: Analyzer) -> None:
    got = analyzer.query("What IS the database?")
    assert [(term.stem, term.stop) for term in got] == [
        ("what", True),
        ("is", True),
        ("the", True),
        ("databas", False),
    ]
    assert all(word == fold(word) for word in STOP_WORDS)


def test_hashes_keep_stems_and_surfaces_apart() -> None:
    assert term_hash("run") != surface_hash("run")
    assert len({term_hash(f"{i:x}") for i in range(100_000)}) >= 99_990  # two are expected to collide


@settings(deadline=None)
@given(st.text())
def test_no_text_breaks_it_and_terms_hold_no_white_space(text: str) -> None:
    analyzer = Analyzer()
    for term in analyzer.tokens(text):
        assert term.stem
        assert term.surface
        assert term.stem.split() == [term.stem]
        assert len(term.stem) <= MAX_TERM_CHARS
        term.stem.encode()
    assert {term.stem for term in analyzer.query(text)} <= set(stems(analyzer, text))


@settings(deadline=None)
@given(st.text(st.characters(categories=["L", "M", "N", "P", "Zs"]), max_size=30))
def test_canonically_equal_texts_give_equal_terms(text: str) -> None:
    ref = Analyzer().tokens(unicodedata.normalize("NFC", text))
    got = Analyzer().tokens(unicodedata.normalize("NFD", text))
    assert got == ref


@settings(deadline=None)
@given(st.text("aB_.-'1 éé数+#,"), st.text("aB_.-'1 éé数+#,"))
def test_texts_side_by_side_give_their_terms_side_by_side(left: str, right: str) -> None:
    analyzer = Analyzer()
    assert analyzer.tokens(f"{left} {right}") == analyzer.tokens(left) + analyzer.tokens(right)


PIECES = st.lists(
    st.sampled_from(
        [*"aTX1_.-'+#,(=é数", "ing", "HTTP", "Server", "IDs", "23", "000", "'s", "n't", "++", "v1.2", "a" * 70]
    ),
    max_size=8,
).map("".join)


def assert_pieces_are_words(got: analysis.Pieces, pieces: list[str], language: str = "english") -> None:
    """Compare a table of pieces with the general path, which sees one piece at a time."""
    for piece, number in zip(pieces, got.numbers(pieces), strict=True):
        ref = Analyzer(language).words(piece)
        hashes = got.hashes[got.starts[number] : got.starts[number + 1]]
        terms = [term for word in ref for term in word]
        keys = [term_hash(term.stem) for term in terms]
        keys += [surface_hash(term.surface) for term in terms if term.surface != term.stem]
        assert Counter(hashes) == Counter(keys), piece
        assert got.surfaces[number].split() == [term.surface for term in terms], piece
        assert got.found[number] == len(terms), piece


@settings(deadline=None)
@given(st.lists(PIECES, max_size=12), st.lists(PIECES, max_size=12))
def test_pieces_analysed_together_are_pieces_analysed_alone(first: list[str], second: list[str]) -> None:
    analyzer = Analyzer()
    assert_pieces_are_words(analyzer.pieces(), first)
    assert_pieces_are_words(analyzer.pieces(), second + first)


@settings(deadline=None)
@given(st.lists(st.text(st.characters(max_codepoint=0x7E, min_codepoint=0x21)), max_size=12))
def test_any_ascii_pieces_analysed_together_are_pieces_analysed_alone(pieces: list[str]) -> None:
    assert_pieces_are_words(Analyzer().pieces(), pieces)


FOREIGN = st.lists(
    st.sampled_from(
        [*"aéß1_.-'(", "Häuser", "strasse", "STRASSE", "qu'", "élèves", "travaillaient", "Übergrößen", "foo", "Bar", "ﬁn", "İ", "数",
         "running", "v1.2", "b" * 70]
    ),
    max_size=5,
).map("".join)  # fmt: skip


@pytest.mark.parametrize("language", ["german", "french", "russian"])
@settings(deadline=None)
@given(pieces=st.lists(FOREIGN, max_size=12))
def test_pieces_of_other_languages_are_stemmed_together_as_alone(language: str, pieces: list[str]) -> None:
    assert_pieces_are_words(Analyzer(language).pieces(), pieces, language)


def test_a_long_piece_is_forgotten_with_the_next_batch_and_found_again() -> None:
    analyzer = Analyzer()
    pieces = analyzer.pieces()
    first = pieces.numbers(["x" * 49, "word", "x" * 49])
    assert first == [0, 1, 0]
    assert analyzer.pieces().numbers(["word", "x" * 49]) == [1, 2]


def test_a_full_table_starts_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analysis, "_MEMO_LIMIT", 2)
    analyzer = Analyzer()
    full = analyzer.pieces()
    full.numbers(["one", "two"])
    assert analyzer.pieces() is not full


def test_threads_share_the_analyzer_of_questions() -> None:
    among = ("german", "french")
    words = [
        f"{head}{i}{tail}" for i in range(60) for head in ("über", "l'eau", "Back_up") for tail in ("", "en", "ing")
    ]
    texts = [" ".join(words[i : i + 5]) for i in range(0, len(words), 3)]
    expected = {text: Analyzer().query(text, among) for text in texts}
    failed: list[str] = []

    def ask(step: int) -> None:
        failed.extend(text for text in texts[::step] if query_analyzer().query(text, among) != expected[text])

    threads = [threading.Thread(target=ask, args=(step,)) for step in (1, -1, 2, -2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert query_analyzer() is query_analyzer()

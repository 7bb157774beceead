"""Literal scan against a slow search; a batch gives what each text alone gives, on every path of the scan."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from re import _constants, _parser  # type: ignore[attr-defined]
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina_engine.errors import InvalidArgument
from lamina_engine.redact import search
from lamina_engine.redact.assignments import _BOUNDARY, WORDS
from lamina_engine.redact.patterns import PATTERNS, Pattern
from lamina_engine.redact.redactor import Redactor
from lamina_engine.redact.search import LiteralScan, as_bytes
from lamina_kernels.literals import _TOKENS, TOKEN_BYTES

GRAMS = ("abcd", "ghp_", "://x", "AAAA", '"d":', "a1b2")
SCAN = LiteralScan(GRAMS)


def fold(text: str) -> bytes:
    return bytes(byte | 0x20 for byte in text.encode("ascii", "replace"))


def oracle(text: str) -> list[tuple[int, int]]:
    numbers = {fold(word): SCAN.number(word) for word in GRAMS}
    raw = fold(text)
    return [(i, numbers[raw[i : i + 4]]) for i in range(len(raw) - 3) if raw[i : i + 4] in numbers]


def pairs(text: str) -> list[tuple[int, int]]:
    positions, numbers = SCAN.hits(as_bytes(text))
    return list(zip(positions.tolist(), numbers.tolist(), strict=True))


@given(st.lists(st.sampled_from([*GRAMS, *'aAbB1_:/x"é密\ud800 \n'])).map("".join))
@settings(max_examples=300, deadline=None)
def test_hits_are_those_of_a_slow_search(text: str) -> None:
    assert pairs(text) == oracle(text)


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 5, 7, 8])
def test_short_texts(size: int) -> None:
    assert pairs("aaaaaaaa"[:size]) == oracle("aaaaaaaa"[:size])


@pytest.mark.parametrize("offset", range(-6, 3))
def test_a_literal_across_the_border_of_two_blocks(offset: int) -> None:
    start = (1 << 17) + offset
    assert pairs(" " * start + "ghp_" + " " * 10) == [(start, SCAN.number("ghp_"))]


def test_case_is_ignored_and_numbers_are_shared() -> None:
    scan = LiteralScan(["AbCd", "aBcD", "zzzz"])
    assert scan.size == 2
    assert scan.number("ABCD") == scan.number("abcd")
    with pytest.raises(KeyError):
        scan.number("none")


@pytest.mark.parametrize("literal", ["", "abc", "abcde", "abcé"])
def test_a_literal_of_another_length_or_alphabet_is_refused(literal: str) -> None:
    with pytest.raises(InvalidArgument, match="4 ASCII"):
        LiteralScan([literal])


SIZE = 8
LITERALS = sorted({literal for pattern in PATTERNS for literal in pattern.literals} | set(WORDS))
BODY = "Ab3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1eF3hJ5kL7nP9rS"
FRAGMENTS = [
    *(" ", "\n", "\\n", "%3D", "%3d", "_", "a", "Z", "9", "é", "密", "=", ": ", '"', "'", "@", "/", ".", "-"),
    *("https://user:", "https://", "s3cr3t-Pa55", "ghp_", "github_pat_", "AKIA", "sk-ant-", "xoxb-", "eyJ", ".eyJ"),
    *("password", "dbPassword", "api_key", "apiKey", "API-KEY", "token", "auth", "pwd", "pass", "secret", "class="),
    *("Bearer ", "curl -u me:", "mysql -p", "-----BEGIN PRIVATE KEY-----", "12345678:AA", BODY, BODY[:20].upper()),
]
TEXTS = st.lists(st.one_of(st.sampled_from(FRAGMENTS), st.sampled_from(LITERALS)), max_size=6).map("".join)


def findings(texts: list[str]) -> dict[int, tuple[str, object]]:
    return {index: (clean, found) for index, clean, found in Redactor().clean_batch(texts)}


def alone(texts: list[str]) -> dict[int, tuple[str, object]]:
    redactor = Redactor()
    cleaned = enumerate(map(redactor.clean, texts))
    return {index: (clean, found) for index, (clean, found) in cleaned if found}


@settings(deadline=None, max_examples=150)
@given(st.lists(TEXTS, min_size=SIZE, max_size=SIZE + 1))
def test_a_batch_finds_what_each_text_alone_gives(texts: list[str]) -> None:
    assert findings(texts) == alone(texts)


@pytest.mark.parametrize("before", ["", " ", "\\n", "%3D", "é", "=", "_"])
def test_borders_before_a_token(before: str) -> None:
    text = f"{before}ghp_{BODY[:36]}"
    assert [found.kind for found in Redactor().find(text)] == ["github-token"]
    assert list(findings(["plain words"] * SIZE + [text])) == [SIZE]


@pytest.mark.parametrize("text", ["", "a", "ass=", "://", "é" * 5])
def test_short_texts_of_a_batch(text: str) -> None:
    assert findings([text] * SIZE) == {}


def test_the_kernel_and_numpy_and_one_by_one_see_the_same() -> None:
    scan = search._SCAN
    raw = as_bytes(" ".join([*LITERALS, *FRAGMENTS]) * 3)
    ref = scan._hits_one_by_one(raw)
    ways = [scan._hits_by_kernel(raw), scan._hits_with_numpy(raw)]
    for got in ways:
        for left, right in zip(got, ref, strict=True):
            assert left.dtype == np.int64
            np.testing.assert_array_equal(left, right)


def test_real_notes(notes_vault: Path) -> None:
    texts = [path.read_text("utf-8", "replace") for path in sorted(notes_vault.rglob("*.md"))]
    assert findings(texts) == alone(texts)


def test_leaving_out_places_changes_no_finding(notes_vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [path.read_text("utf-8", "replace") for path in sorted(notes_vault.rglob("*.md"))]
    texts += [f"{before}{literal}{after}" for literal in LITERALS for before in ("", "x", "\n") for after in FRAGMENTS]
    search.load_kernel().join()
    got = findings(texts)
    monkeypatch.setattr(search, "is_ready", lambda kernel: False)
    assert findings(texts) == got


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.kind)
def test_a_pattern_without_gaps_matches_nothing_that_its_surroundings_leave_out(pattern: Pattern) -> None:
    tree = _parser.parse(pattern.regex)
    other = _letters(tree) - set(np.flatnonzero(_TOKENS).tolist())
    assert pattern.gaps or (tree.getwidth()[0] >= TOKEN_BYTES and not other)


def _letters(items: Iterable[tuple[object, Any]]) -> set[int]:
    """Return the ASCII letters that may stand anywhere in a match."""
    found: set[int] = set()
    for kind, value in items:
        if kind is _constants.LITERAL:
            found.add(value)
        elif kind is _constants.IN:
            found |= {code for code in range(128) if _in_class(code, value)}
        elif kind in (_constants.MAX_REPEAT, _constants.MIN_REPEAT, _constants.POSSESSIVE_REPEAT):
            found |= _letters(value[2])
        elif kind is _constants.SUBPATTERN:
            found |= _letters(value[3])
        elif kind is _constants.BRANCH:
            found |= set().union(*map(_letters, value[1]))
        else:
            assert kind in (_constants.ASSERT, _constants.ASSERT_NOT, _constants.AT), kind
    return found


def _in_class(code: int, items: Iterable[tuple[object, Any]]) -> bool:
    parts = list(items)
    inside = any(
        (kind is _constants.LITERAL and value == code)
        or (kind is _constants.RANGE and value[0] <= code <= value[1])
        or (kind is _constants.CATEGORY and re.fullmatch(_CATEGORIES[value], chr(code)) is not None)
        for kind, value in parts
    )
    return inside != (parts[0][0] is _constants.NEGATE)


_CATEGORIES = {
    _constants.CATEGORY_DIGIT: r"\d",
    _constants.CATEGORY_SPACE: r"\s",
    _constants.CATEGORY_WORD: r"\w",
}


def test_a_key_word_begins_with_its_lead() -> None:
    for rows in WORDS.values():
        for _, word in rows:
            assert word.lead
            found = word.regex.pattern.removeprefix(_BOUNDARY)
            assert found.startswith(word.lead)
            assert found[len(word.lead)] not in "?*{|"

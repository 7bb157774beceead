"""What expressions must begin with: read from them, and never narrower than they are."""

from __future__ import annotations

import importlib
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina_engine.ingest.literal_scan import as_bytes
from lamina_engine.ingest.secret_contexts import CONTEXTS
from lamina_engine.ingest.secret_leads import DEPTH, Leads, beginning
from lamina_engine.ingest.secret_patterns import PATTERNS

REGEXES = [
    re.compile(r"abc"),
    re.compile(r"(?:(?<![a-z])|(?<=\\n))tok[0-9]{2}[^x]?y"),
    re.compile(r"(?:my|maria)sql\b"),
    re.compile(r"(?:ab|cd)e"),
    re.compile(r"k[es]y", re.IGNORECASE),
    re.compile(r"k[es]y", re.IGNORECASE | re.ASCII),
    re.compile(r"\d\s\w\D\S\W", re.ASCII),
    re.compile(r"[^a\d]."),
    re.compile(r"a?b"),
    re.compile(r"(?>x{2})\uff1a(?i:z)"),
    re.compile(r"(a)\1"),
    re.compile(r""),
]
TEXTS = st.text("abcdetokmrisqlyxzKEY0 9\\n?\uff1aſ\u212aé", max_size=DEPTH + 2)


def shown(regex: str, flags: int = 0) -> list[str]:
    return ["".join(map(chr, np.flatnonzero(members[:0x80]))) for members in beginning(re.compile(regex, flags))]


def test_beginnings_are_read() -> None:
    assert shown("ab[0-2]c+d") == ["a", "b", "012", "c"]  # what repeats freely ends it
    assert shown("a{2}b") == ["a", "a", "b"]
    assert shown("(?:cat|dog)s") == ["cd", "ao", "gt", "s"]
    assert shown("(?:cat|do)s") == ["cd", "ao"]
    assert shown("k", re.IGNORECASE) == ["?Kk"]  # the Kelvin sign
    assert shown("k", re.IGNORECASE | re.ASCII) == ["Kk"]
    assert len(shown("x" * 100)) == DEPTH


def test_another_python_leaves_nothing_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: str) -> None:
        raise ImportError

    monkeypatch.setattr(importlib, "import_module", missing)
    assert beginning(REGEXES[0]) == []


@settings(max_examples=300)
@given(TEXTS)
def test_no_match_is_left_out(text: str) -> None:
    raw = as_bytes(text + "\n")
    at = np.arange(len(text) + 1)
    for number, regex in enumerate(REGEXES):
        fits = Leads(REGEXES).fit(raw, at, np.full(at.size, number))
        assert all(fits[i] for i in at.tolist() if regex.match(text, i))


def test_what_cannot_begin_is_left_out() -> None:
    raw = as_bytes("abd abc tok12")
    assert Leads([REGEXES[0], None]).fit(raw, np.array([0, 4, 0]), np.array([0, 0, 1])).tolist() == [False, True, True]


def test_all_expressions_of_the_tables_can_be_read() -> None:
    regexes = [re.compile(pattern.regex, re.ASCII) for pattern in PATTERNS]
    regexes += [context.regex for context in CONTEXTS if context.regex is not None]
    assert sum(len(beginning(regex)) >= 3 for regex in regexes) > 0.8 * len(regexes)

""""""

from __future__ import annotations

import re

import pytest

from lamina_engine.redact.patterns import PATTERNS, Pattern
from lamina_engine.redact.search import GRAM

IDS = [f"{number}-{pattern.kind}" for number, pattern in enumerate(PATTERNS)]


@pytest.mark.parametrize("pattern", PATTERNS, ids=IDS)
def test_row_is_well_formed(pattern: Pattern) -> None:
    regex = re.compile(pattern.regex, re.ASCII)
    assert regex.groups <= 1
    assert regex.match("") is None
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", pattern.kind)
    assert pattern.literals
    assert all(len(literal) == GRAM and literal.isascii() for literal in pattern.literals)
    assert all(back >= 0 for back in pattern.back)


@pytest.mark.parametrize("pattern", PATTERNS, ids=IDS)
def test_no_unbounded_repeat(pattern: Pattern) -> None:
    """A run over the rest of the text from every literal would make bad input quadratic."""
    bare = re.sub(r"\[[^\]]*\]", "c", pattern.regex)
    assert not re.search(r"(?<!\\)[*+](?!\])|\{\d+,\}", bare.replace("=*", "").replace(r"\$", "")), pattern.regex


def test_kinds_are_many_and_rows_are_distinct() -> None:
    assert len({pattern.kind for pattern in PATTERNS}) >= 60
    assert len({(pattern.regex, pattern.literals) for pattern in PATTERNS}) == len(PATTERNS)


@pytest.mark.parametrize(
    ("kind", "text", "secret"),
    [
        ("telegram-token", "bot123456789:A" + "A" + "b1" * 17, None),
        ("terraform-token", "x abcdefgh123456.atl" + "asv1." + "Zz9" * 22, "abcdefgh123456.atlasv1." + "Zz9" * 22),
        ("mailchimp-key", "k=" + "0a" * 16 + "-us7", "0a" * 16 + "-us7"),
        ("slack-webhook", "https://hooks.sla" + "ck.com/services/T0/B0/" + "aZ9" * 8, "T0/B0/" + "aZ9" * 8),
        ("pgpass", "db:5432:shop:me:s3cret\n", "s3cret"),
    ],
)
def test_the_literal_stands_where_the_row_says(kind: str, text: str, secret: str | None) -> None:
    found: list[str] = []
    for pattern in PATTERNS:
        if pattern.kind != kind:
            continue
        regex = re.compile(pattern.regex, re.ASCII)
        places = [
            i for literal in pattern.literals for i in range(len(text)) if text[i : i + GRAM].lower() == literal.lower()
        ]
        matches = [regex.match(text, i - back) for i in places for back in pattern.back if i >= back]
        found += [match[min(regex.groups, 1)] for match in matches if match]
    assert (secret in found) if secret else found

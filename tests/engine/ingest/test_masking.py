from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from lamina_engine.ingest.masking import Masked, mask

FAST = settings(max_examples=60, deadline=None)


@dataclass(frozen=True)
class Hit:
    start: int
    stop: int
    kind: str


@dataclass
class Fake:
    pattern: str = r"s3cr\w*"
    policy: str = "mask"

    def find(self, text: str) -> Sequence[Hit]:
        return [Hit(*match.span(), "token") for match in re.finditer(self.pattern, text)]

    def mask(self, finding: Hit) -> str:
        return f"[redacted:{finding.kind}]"

    def clean_value(self, value: Any) -> tuple[Any, Sequence[Hit]]:
        cleaned = mask(value, self)
        return cleaned.text, self.find(value)


def test_masks_and_leads_back() -> None:
    got = mask("a s3cret b s3cr3t c", Fake())
    assert got.text == "a [redacted:token] b [redacted:token] c"
    assert got.kinds == ("token", "token")
    assert [got.original(p) for p in (0, 2, 10, 18, 21, 37, 39)] == [0, 2, 2, 8, 11, 17, 19]
    assert [got.touches(*span) for span in ((0, 2), (0, 3), (17, 18), (18, 21), (30, 31))] == [
        False,
        True,
        True,
        False,
        True,
    ]


def test_without_redactor_or_with_allow_nothing_changes() -> None:
    assert mask("s3cret", None) == Masked("s3cret")
    assert mask("s3cret", Fake(policy="allow")) == Masked("s3cret")


@FAST
@given(st.text("s3cr \n", max_size=60))
def test_original_is_monotone_and_exact_outside_masks(text: str) -> None:
    got = mask(text, Fake())
    back = [got.original(p) for p in range(len(got.text) + 1)]
    assert back == sorted(back)
    assert back[-1] == len(text)
    inside = {p for start, stop in got.spans for p in range(start, stop)}
    for p, letter in enumerate(got.text):
        if p not in inside:
            assert text[back[p]] == letter

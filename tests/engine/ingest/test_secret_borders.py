"""What batches leave out gives no finding: batches find what each text alone gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lamina_engine.ingest import secret_search
from lamina_engine.ingest.literal_scan import as_bytes
from lamina_engine.ingest.redact import Redactor
from lamina_engine.ingest.secret_assignments import WORDS
from lamina_engine.ingest.secret_patterns import PATTERNS
from lamina_engine.ingest.secret_search import batch_places, candidates, places

FEW = secret_search._FEW
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
@given(st.lists(TEXTS, min_size=FEW, max_size=FEW + 1))
def test_a_batch_finds_what_each_text_alone_gives(texts: list[str]) -> None:
    assert findings(texts) == alone(texts)


@pytest.mark.parametrize("many", [False, True], ids=["few", "many"])
@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(TEXTS, min_size=FEW, max_size=FEW + 1))
def test_places_left_out_give_nothing(monkeypatch: pytest.MonkeyPatch, texts: list[str], many: bool) -> None:
    monkeypatch.setattr(secret_search, "_MANY", 0 if many else 1 << 60)
    kept = dict(batch_places(texts))
    for index, text in enumerate(texts):
        everywhere = places(text)
        here = kept.get(index, [])
        assert list(candidates(text, here)) == list(candidates(text, everywhere))


def test_prose_and_addresses_are_left_out_and_secrets_are_not() -> None:
    prose = "see https://example.org/?class=x and the index; syntax of contexts, asked of a mask" + " and so on" * 60
    secret = f"https://user:{BODY}@example.org"
    kept = dict(batch_places([prose] * FEW + [secret]))
    assert set(kept) == {FEW}


@pytest.mark.parametrize("before", ["", " ", "\\n", "%3D", "é", "=", "_"])
def test_borders_before_a_token(before: str) -> None:
    text = f"{before}ghp_{BODY[:36]}"
    assert [found.kind for found in Redactor().find(text)] == ["github-token"]
    assert list(findings(["plain words"] * FEW + [text])) == [FEW]


@pytest.mark.parametrize("text", ["", "a", "ass=", "://", "é" * 5])
def test_short_texts(text: str) -> None:
    assert findings([text] * FEW) == {}


def test_the_kernel_and_numpy_and_one_by_one_see_the_same() -> None:
    scan = secret_search._SCAN
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
